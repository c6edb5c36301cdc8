"""Calls with arrays on a device that are like earlier ones take a short way, which notices all that has changed."""

import operator
import threading
import types

import device_with_memory
import numpy as np
import phlox
import pytest
from device_with_memory import same
from phlox import MixedDevicesError, debug, device_put, jit
from phlox.tracer.calls.diversion import diverted
from phlox.tracer.calls.jitted_function import JittedFunctionBase

NAME = device_with_memory.NAME
X = np.arange(12.0).reshape(3, 4)
SCALE = 2.0
TABLE = np.arange(4.0)


@pytest.fixture
def long_way(monkeypatch):
    """The names of the functions whose calls took the other way, in order."""
    taken, run = [], JittedFunctionBase.run_compiled

    def run_compiled(self, *args, **kwargs):
        taken.append(self.__name__)
        return run(self, *args, **kwargs)

    monkeypatch.setattr(JittedFunctionBase, "run_compiled", run_compiled)
    return taken


def with_scale(x):
    return x * SCALE


def with_table(x):
    return x + TABLE


OPERATIONS = {
    "two arrays": lambda x: x + x,
    "an integer": lambda x: x + 1,
    "a float before": lambda x: 1.5 * x,
    "a complex number": lambda x: x * 2j,
    "a scalar of NumPy's": lambda x: x + np.float32(3),
    "a host array": lambda x: x + np.ones(4),
    "a truth value": lambda x: x * True,
    "a ufunc": np.sin,
    "a ufunc's method": lambda x: np.add.reduce(x, axis=1),
    "several results": np.modf,
    "a function": lambda x: np.sum(x, axis=0, keepdims=True),
    "a method": lambda x: x.sum(axis=1),
    "a static argument by position": lambda x: x.sum(0),
    "a dtype": lambda x: x.astype(np.float32),
    "a view": lambda x: x.T,
    "a scalar": lambda x: x.max() * 2,
}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_the_short_way_gives_what_the_long_one_gives(operation, put, long_way):
    for values in (X, X + 1):
        found, expected = operation(put(values)), operation(values)
        del long_way[:]
    found = operation(put(X - 1))
    assert not long_way
    expected = operation(X - 1)
    if isinstance(expected, tuple):
        list(map(same, found, expected))
    else:
        same(found, expected)


def test_functions_of_the_user(put, long_way):
    @jit
    def parts(x, factor, y, *, offset):
        return {"sum": x * factor + y, "none": None, "first": x}, offset

    for factor in (2, 3, 4):
        x = put(X * factor)
        found, offset = parts(x, factor, TABLE, offset=0.5)
        same(found["sum"], X * factor * factor + TABLE)
        assert (found["none"], found["first"] is x, offset) == (None, True, 0.5)
    assert long_way == ["parts"]
    assert parts.cache_info().misses == 1 and parts.cache_info().hits == 2


def test_keywords_in_another_order(put):
    difference = jit(lambda x, y: x - y)
    x, y = put(X), put(X * X)
    for _ in range(3):
        same(difference(x, y), X - X * X)
        same(difference(y=y, x=x), X - X * X)
        same(difference(x=y, y=x), X * X - X)
        same(difference(y, y=x), X * X - X)


def test_other_forms(put):
    f = jit(lambda x, n: (x + n, n))
    for array in (X, X[:2], X.astype(np.float32), X.astype(np.int32), np.array(3.0), X[:0], X > 3):
        for number in (1, 1.0, True, 2j, np.float32(1), np.int8(1), 2**30, -3, np.float64(1)):
            for _ in range(2):
                found, n = f(put(array), number)
                same(found, array + number)
                if isinstance(number, np.generic):
                    same(n, number)
                else:
                    assert (type(n), n) == (type(number), number)


def test_scalars_and_arrays_of_no_dimensions_are_told_apart(put):
    @jit
    def increased(x):
        x += 1
        return x * 1

    array, scalar = put(np.array(1.0)), put(X).max()
    for number in range(1, 4):
        same(increased(array), 1.0 + number)
        same(increased(scalar), 12.0)
        same(array, 1.0 + number)
        same(scalar, 11.0)


def test_results_are_of_their_own(put):
    x = put(X)
    total = x.sum()
    for _ in range(3):
        total = x.sum()
        kept = total
        total += 1
        same(kept, 66.0)
        same(total, 67.0)
    zero = jit(lambda x: np.array(x.sum()) * 0 + np.zeros(()))
    for _ in range(3):
        y = x + 1
        y += 1
        same(x + 1, X + 1)
        same(y, X + 2)
        same(zero(x), 0.0)


def test_zeros_of_either_sign(put):
    x = put(np.zeros(2))
    for _ in range(3):
        for zero in (0.0, -0.0):
            assert np.signbit(np.asarray(np.copysign(x, zero))).tolist() == [bool(np.signbit(zero))] * 2
            assert np.signbit(np.asarray(jit(np.copysign)(x, np.float64(zero)))).all() == np.signbit(zero)


def test_numbers_stay_on_the_device(far):
    x = far(X)
    memory = x.device.memory
    x + 1.5, x * 1.5, x + 7
    before = memory.transfers
    for _ in range(3):
        x + 1.5, x * 1.5, x + 7
    assert memory.transfers == before
    for number in range(600):  # more than are kept
        found = x + (number + 0.25)
    same(found, X + 599.25)
    same(x + 1.5, X + 1.5)


# --- what changes outside of the arguments ---


def test_a_global_number(put, monkeypatch):
    f, x = jit(with_scale), put(X)
    for scale in (2.0, 2.0, 3.0, 3, 3, np.float32(3), 2.0, 2.0):
        monkeypatch.setitem(globals(), "SCALE", scale)
        same(f(x), X * scale)


def test_a_global_array(put, monkeypatch):
    f, x = jit(with_table), put(X)
    changed = np.arange(4.0)
    tables = (TABLE, TABLE, changed, changed, np.ones(4, np.float32), np.ones((3, 4)), put(TABLE), put(TABLE), 1.0)
    for number, table in enumerate(tables):
        monkeypatch.setitem(globals(), "TABLE", table)
        changed += number
        same(f(x), X + np.asarray(table))


def test_a_global_array_that_has_gone_elsewhere(far, monkeypatch):
    f, x = jit(with_table), far(X)
    monkeypatch.setitem(globals(), "TABLE", far(TABLE))
    for _ in range(3):
        same(f(x), X + np.arange(4.0))
    with monkeypatch.context() as patched:
        patched.setitem(globals(), "TABLE", device_put(np.arange(4.0), "cpu"))
        with pytest.raises(MixedDevicesError, match="global TABLE is on cpu:0|global TABLE on cpu:0"):
            f(x)
    same(f(x), X + np.arange(4.0))


def test_a_variable_around_and_an_attribute(put):
    x, settings = put(X), types.SimpleNamespace(sign=1)
    factor = 2

    @jit
    def f(x):
        return (x if settings.sign > 0 else -x) * factor

    for factor in (2, 2, 5, 5):
        for sign in (1, -1):
            settings.sign = sign
            same(f(x), sign * X * factor)


def test_code_and_defaults(put):
    def shifted(x, by=1):
        return x + by

    f, x = jit(shifted), put(X)
    for _ in range(3):
        same(f(x), X + 1)
    shifted.__defaults__ = (2,)
    for _ in range(3):
        same(f(x), X + 2)
    shifted.__code__ = (lambda x, by: x - by).__code__
    for _ in range(3):
        same(f(x), X - 2)


def test_what_is_done_with_errors_of_arithmetic(put):
    f, x, zero = jit(lambda x, y: x / y), put(X + 1), put(np.zeros(4))
    with np.errstate(divide="ignore"):
        for _ in range(3):
            assert np.isinf(np.asarray(f(x, zero))).all()
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            f(x, zero)
        assert np.isinf(np.asarray(f(x, zero))).all()
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            f(x, zero)
        assert np.isinf(np.asarray(x / zero)).all()


def test_what_is_done_with_errors_in_threads(put):
    f, x, zero = jit(lambda x, y: x / y), put(X + 1), put(np.zeros(4))
    with np.errstate(divide="ignore"):
        for _ in range(3):
            f(x, zero)
    raised = []

    def work():
        with np.errstate(divide="raise"):
            try:
                f(x, zero)
            except FloatingPointError:
                raised.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert raised == [True]


# --- where it runs ---


def test_devices_are_told_apart(registered):
    device_with_memory.register()
    f = jit(lambda x, y: x + y)
    near, far = device_put(X, "reference"), device_put(X, NAME)
    for _ in range(3):
        for x in (near, far):
            found = f(x, x)
            same(found, 2 * X)
            assert found.device.name == x.device.name
            with phlox.device("reference" if x is far else NAME):
                assert f(x, 1.0).device.name == (x + 1).device.name == x.device.name
        with pytest.raises(MixedDevicesError, match="argument x is on reference:0 and argument y on device_with_memory:0"):
            f(near, far)
        with pytest.raises(MixedDevicesError):
            near + far
        assert type(f(X, X)) is np.ndarray


def test_a_backend_that_is_registered_anew(far):
    f = jit(lambda x: x * 2)
    for _ in range(3):
        first = far(X)
        same(f(first), 2 * X)
    device_with_memory.register()
    second = far(X + 1)
    assert second.device.memory is not first.device.memory
    for _ in range(3):
        same(f(second), 2 * X + 2)
        same(f(first), 2 * X)
        assert f(second).device.memory is second.device.memory


def test_the_call_before_is_not_taken_for_this_one(put):
    """Where forms and devices of all arrays are the very same, it is that which is run."""
    f = jit(lambda x, y=None, z=None: x + 1 if y is None and z is None else x * 2 if z is None else x * z)
    x = put(X)
    for _ in range(3):
        first = f(x)
        same(f(first), X + 2)  # of the same form, and no longer that of the argument's
        same(f(f(first)), X + 3)
        same(f(first, first), 2 * X + 2)
        same(f(first, z=first), (X + 1) ** 2)
        same(f(first.T), X.T + 1 + 1)
        same(f(first[0]), X[0] + 2)
        same(f(first.sum()), X.sum() + X.size + 1)


def test_a_setting_that_changes_after_a_call_counts(far, monkeypatch):
    """Code of a backend whose results may differ from run to run is made for each setting."""
    x = far(X)
    monkeypatch.setattr(x.device.backend, "is_deterministic", False, raising=False)
    f = jit(lambda x: x + 1)
    for asked in (False, False, True, True, False):
        with phlox.config(deterministic=asked):
            for _ in range(3):
                same(f(x), X + 1)
    assert (f.cache_info().misses, f.cache_info().hits) == (2, 13)


def test_operators_of_numpy_scalars_and_of_others(put):
    x = put(X)
    for _ in range(3):
        same(x + x, X + X)
        same(2.0 - x, 2.0 - X)
        same(x**2, X**2)
        same(X / (x + 1), X / (X + 1))
        same(np.float64(3) * x, 3 * X)
        same(x <= 3, X <= 3)
        same(x @ x.T, X @ X.T)
        same(True * x, X)
    with pytest.raises(TypeError):
        x + "text"


@pytest.mark.parametrize("other", [None, "text", b"bytes"])
def test_no_number_equals(put, other):
    for compare in (operator.eq, operator.ne):
        same(compare(put(X), other), compare(X, other))
        found, expected = compare(put(X).sum(), other), compare(X.sum(), other)
        assert found == expected and type(found) is type(expected)


def test_within_a_trace(put):
    f, x = jit(lambda x, n: x * n), put(X)
    for _ in range(3):
        f(x, 2)

    @jit
    def outer(y):
        return f(x, 2) + y

    for number in range(3):
        same(outer(put(X + number)), 3 * X + number)


def test_calls_that_take_another_way_for_a_while(put):
    f, x = jit(lambda x: x + 1), put(X)
    for _ in range(3):
        f(x)
    with diverted(lambda function, args, kwargs: "elsewhere"):
        assert type(f(x)) is str  # and no array, whose comparison would go there, too
    same(f(x), X + 1)


def test_checks_for_nans():
    f, x = jit(lambda x: np.log(x)), device_put(-1 - X, "cpu")
    with np.errstate(invalid="ignore"):
        for _ in range(3):
            f(x)
        with debug.nans(), pytest.raises(FloatingPointError):
            f(x)
        assert np.isnan(np.asarray(f(x))).all()


def test_a_cleared_cache(put):
    f, x = jit(lambda x: x + 1), put(X)
    for _ in range(3):
        f(x)
    f.cache_clear()
    assert f.cache_info().misses == 0
    same(f(x), X + 1)
    assert f.cache_info().misses == 1


# --- errors, and threads ---


def test_an_exception_of_the_device(far, monkeypatch):
    f, x = jit(lambda x: x + 1), far(X)
    for _ in range(3):
        f(x)

    def allocate(shape):
        raise MemoryError("the device is full")

    with monkeypatch.context() as patched:
        patched.setattr(x.device.memory, "allocate", allocate)
        with pytest.raises(MemoryError, match="the device is full"):
            f(x)
    same(f(x), X + 1)


def test_errors_of_the_function(put, long_way):
    """Calls that raise take the long way, others do not."""

    @jit
    def checked(x, n):
        if x.sum() > 100:
            raise ValueError("too much")
        return x + n, x[0]

    @jit
    def alone(x):
        if x.sum() > 100:
            raise ValueError("too much")

    for number in range(3):
        del long_way[:]
        for found, expected in zip(checked(put(X), 1), (X + 1, X[0]), strict=True):
            same(found, expected)
        assert alone(put(X)) is None
        assert (long_way == []) is (number > 0)
        for call in (lambda: checked(put(X * 100), 1), lambda: alone(put(X * 100))):
            with pytest.raises(ValueError, match="too much"):
                call()
        assert long_way[-2:] == ["checked", "alone"]
    for _ in range(3):
        with pytest.raises(TypeError, match="positional argument"):
            checked(put(X))


def test_changes_in_place_take_the_long_way(put, long_way):
    @jit
    def shift(x, by):
        x += by

    x = put(X)
    for number in range(1, 4):
        assert shift(x, 1) is None
        same(x, X + number)
    assert long_way == ["shift"] * 3


def test_integers_that_decide_on_a_shape(put):
    first = jit(lambda x, count: x[:count] * 2)
    x = put(X)
    for count in (1, 2, 1, 3, 2, 1, True):
        same(first(x, count), X[:count] * 2)
    rows = jit(lambda x, *sizes: np.broadcast_to(x, sizes) + 1)
    for sizes in ((2, 3, 4), (3, 3, 4), (2, 3, 4), (3, 4), (2, 3, 4)):
        same(rows(x, *sizes), np.broadcast_to(X, sizes) + 1)


def test_views_are_read_as_they_are_now(put):
    f, x = jit(lambda x, y: x + y), put(X)
    row, column = x[1], x[:, :1]
    for number in range(4):
        same(f(row, column), X[1] + X[:, :1] + 2 * number)
        x += 1
    same(f(row, 1), X[1] + 5)


def test_integers_of_python_that_grow(put):
    total = jit(lambda x, n: (x + n, n * n))
    x = put(X)
    for n in (2, 3, 2**20, 2**33, 2**35, 3, -(2**40), 2**70):
        try:
            found, square = total(x, n)
        except OverflowError:
            assert n == 2**70
            continue
        same(found, X + n)
        assert square == n * n


def test_threads(put):
    f, x, wrong = jit(lambda x, y, n: x * n + y), put(X), []

    def work(number):
        y = put(np.full(4, float(number)))
        for n in range(30):
            found = f(x, y, n) if n % 3 else f(x, np.full(4, float(number)), float(n))
            if not np.array_equal(np.asarray(found), X * n + number):
                wrong.append((number, n))
            if n == 15:
                f.cache_clear()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_none_among_the_arguments_is_no_array(put, long_way):
    x = put(X)
    for _ in range(3):
        same(np.sort(x, axis=None), np.sort(X, axis=None))
        same(np.clip(x, None, 5.0), np.clip(X, None, 5.0))
        same(x.sum(None, None), X.sum())
    assert len(long_way) == 3
