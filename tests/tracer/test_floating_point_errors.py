"""np.errstate in traced functions: what raises FloatingPointError, with NumPy's text."""

import contextvars
import operator
import threading
import time
import warnings

import numpy as np
import pytest
from jitted_calls import assert_same, compiled
from phlox import TracerError, jit
from thinning import one_in_all

from ..support.native_calls import calls_noted

HANDLING = [{"all": "raise"}, {"divide": "raise"}, {"invalid": "raise"}, {"over": "raise"}, {"under": "raise"}, {}]
ARRAYS = [
    np.array([1.0, 2.0]), np.array([0.0, 1.0]), np.array([-1.0]), np.array([1e200, 3.0]), np.array([np.inf, np.nan]),
    np.array([-1e4]), np.array([1e-200]), np.array([[0.5], [np.inf]]), np.array([1.0, 0.0], np.float32),
]  # fmt: skip
FUNCTIONS = [
    lambda x: 1 / x, lambda x: x / x, np.log, np.sqrt, np.exp, np.exp2, lambda x: x * x, lambda x: x - x, lambda x: x**-1.5,
    lambda x: x // 0.0, lambda x: x % 0.0, lambda x: np.arctanh(x / 2), np.log1p, lambda x: np.arcsin(x[0]), lambda x: 1 / x[0],
    lambda x: x[0] * x[0], lambda x: np.sum(x * 1.0), lambda x: np.prod(x), lambda x: np.sum(x, axis=0), np.square,
    np.reciprocal, lambda x: np.cosh(x), lambda x: np.hypot(x, x),
    lambda x: np.add(x, x), lambda x: np.array([1, 2]) // (x > 5).sum(), lambda x: np.array([4]) % (x > 5).sum(),
    lambda x: np.divide(1, x, where=x != 0, out=np.zeros_like(x)), lambda x: x.mean(), lambda x: (x[x > 0.25] - 1.0) / 3,
]  # fmt: skip


@pytest.mark.parametrize(("handling", "function"), one_in_all(3, HANDLING, FUNCTIONS))
def test_error_states(function, handling):
    def f(x):
        with np.errstate(**({"all": "ignore"} | handling)):
            return function(x)

    jitted = jit(f) if handling == {"all": "raise"} else compiled(f)
    for x in ARRAYS:
        try:
            expected = f(x)
        except FloatingPointError as error:
            with pytest.raises(FloatingPointError) as caught:
                jitted(x)
            assert str(caught.value) == str(error)
        else:
            np.testing.assert_allclose(jitted(x), expected, rtol=1e-6)


BYTE = np.int8
OF_INTEGERS = [
    (operator.floordiv, (np.array([-128], BYTE), np.array([-1], BYTE))), (operator.floordiv, (BYTE(-128), BYTE(-1))),
    (divmod, (np.array([-128], BYTE), np.array([-1], BYTE))), (operator.mod, (np.array([-128], BYTE), np.array([-1], BYTE))),
    (np.reciprocal, (np.array([0, 1]),)), (operator.add, (BYTE(127), BYTE(1))), (np.add, (BYTE(127), BYTE(1))),
    (operator.add, (np.array([127], BYTE), BYTE(1))), (lambda x: x[0] + 1, (np.array([127], BYTE),)),
    (operator.sub, (np.uint8(0), np.uint8(1))), (operator.sub, (np.int64(-(2**63)), np.int64(1))),
    (operator.mul, (np.uint64(2**63), np.uint64(2))), (operator.mul, (np.int64(2**31), np.int64(2**31))),
    (operator.mul, (np.int64(-(2**63)), np.int64(-1))), (operator.mul, (np.int16(2**8), np.int16(2**7))),
    (operator.neg, (BYTE(-128),)), (operator.neg, (np.uint8(1),)), (abs, (BYTE(-128),)), (abs, (np.uint8(1),)),
]  # fmt: skip
VALUES = (-1.0, 300.0, 5e9, 1e19, 2e19, 1e300, -1e300, 1e-7, 1e-42, np.inf, np.nan, 0.5, 70000)
TYPES = (np.int8, np.uint32, np.int64, np.uint64, np.float16, np.float32, np.complex64)


def assert_same_with_errors(function, arguments):
    with np.errstate(all="raise"):
        try:
            expected = function(*arguments)
        except FloatingPointError as error:
            with pytest.raises(FloatingPointError) as caught:
                jit(function)(*arguments)
            assert str(caught.value) == str(error)
        else:
            assert_same(jit(function)(*arguments), expected)


@pytest.mark.parametrize(("function", "arguments"), OF_INTEGERS)
def test_integers(function, arguments):
    assert_same_with_errors(lambda *arguments: function(*arguments), arguments)


@pytest.mark.parametrize(("value", "dtype"), [(1e300j, np.complex64), *one_in_all(3, VALUES, TYPES)])
def test_casts(value, dtype):
    assert_same_with_errors(lambda x: x.astype(dtype), (np.array([1, value]),))


@pytest.mark.parametrize(("value", "dtype"), [(1e10, np.int32), (1e10, np.float16)])
def test_casts_of_what_is_stored(value, dtype):
    def store(x):
        y = np.zeros(3, dtype)
        y[1:] = x
        return y

    assert_same_with_errors(store, (np.array([value]),))
    assert_same_with_errors(lambda x: np.add(x, x, dtype=dtype, casting="unsafe"), (np.array([value]),))


def test_what_stands_outside_of_the_statement_is_not_flagged():
    @jit
    def f(x):
        with np.errstate(all="raise"):
            y = x + 1
        return y / x

    assert f(np.zeros(1))[0] == np.inf


def test_what_is_in_force_where_the_function_is_called():
    f, zero = jit(lambda x: 1 / x), np.zeros(1)
    for number in range(6):
        if number % 3 == 1:
            with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
                f(zero)
        elif number % 3 == 2:
            before = np.seterr(all="raise")
            try:
                with pytest.raises(FloatingPointError):
                    f(zero)
            finally:
                np.seterr(**before)
        assert f(zero)[0] == np.inf
    assert "called natively" in str(f.cache_info()) and f.cache_info().misses == 3


def test_a_function_that_says_what_holds_behind_it_is_refused():
    @jit
    def f(x):
        np.seterr(all="raise")
        return 1 / x

    before = np.geterr()
    with pytest.raises(TracerError, match="np.seterr in a traced function"):
        f(np.ones(1))
    assert np.geterr() == before


def test_a_function_may_say_and_take_back():
    @jit
    def f(x):
        before = np.seterr(divide="raise")
        y = 1 / x
        np.seterr(**before)
        return y / 0

    assert f(np.ones(1))[0] == np.inf
    with pytest.raises(FloatingPointError, match="divide by zero"):
        f(np.zeros(1))


def test_in_loops_branches_and_handlers():
    def f(x):
        found = 0
        with np.errstate(divide="raise"):
            for k in range(200):
                try:
                    if x[k % 3] < 5:
                        x[k % 3] = 1 / (x[k % 3] - k)
                except FloatingPointError:
                    found += 1
        return found

    for x in (np.array([3.0, 1.0, 2.0]), np.array([0.0, 1.0, 0.5]), np.array([9.0, 9.0, 2.0])):
        copy = x.copy()
        assert jit(f)(copy) == f(x)
        np.testing.assert_allclose(copy, x)


def test_handling_that_changes_within_a_function():
    def f(x):
        with np.errstate(divide="raise"):
            with np.errstate(divide="ignore"):
                y = 1 / x
            return y + 1 / (x + 1)

    assert jit(f)(np.zeros(1))[0] == np.inf
    with pytest.raises(FloatingPointError, match="^divide by zero encountered in divide$"):
        jit(f)(np.full(1, -1.0))


def test_what_is_in_force_in_this_thread():
    f, zero, ones = jit(lambda x: 1 / x), np.zeros(1), np.ones(1)
    begun, strict, quiet = threading.Barrier(2), [], []

    def with_errors():
        with np.errstate(divide="raise"):
            f(ones)  # a native entry for this state
            for _ in range(20):
                begun.wait()
                try:
                    strict.append(f(zero))
                except FloatingPointError:
                    strict.append("raised")
                begun.wait()

    def without():
        with np.errstate(divide="ignore"):
            f(ones)
            for _ in range(20):
                np.geterr()  # who looked last must not matter
                begun.wait()
                begun.wait()
                quiet.append(f(zero)[0])

    threads = [threading.Thread(target=target) for target in (with_errors, without)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert strict == ["raised"] * 20 and quiet == [np.inf] * 20


def test_each_statement_has_a_state_of_its_own_and_the_same_code():
    f, zero, called = jit(lambda x: 1 / x), np.zeros(1), []
    for number in range(12):
        with np.errstate(divide=("raise", "ignore", "warn")[number % 3], over="call" if number % 2 else "ignore"):
            with calls_noted() as names:
                try:
                    found = f(zero)[0]
                except FloatingPointError:
                    found = "raised"
        called += names if number > 5 else []
        assert found == ("raised" if number % 3 == 0 else np.inf)
    assert "call_in_python" not in called
    assert f.cache_info().misses == 2


def test_threads_that_enter_and_leave():
    f, zero = jit(lambda x: 1 / x), np.zeros(1)
    wrong, ends = [], threading.Event()

    def call(handling):
        while not ends.is_set():
            with np.errstate(divide=handling):
                try:
                    found = f(zero)[0]
                except FloatingPointError:
                    found = "raise"
            if found != ("raise" if handling == "raise" else np.inf):
                wrong.append((handling, found))

    threads = [threading.Thread(target=call, args=(handling,)) for handling in ("raise", "ignore", "warn", "raise")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for thread in threads:
            thread.start()
        time.sleep(0.5)
        ends.set()
        for thread in threads:
            thread.join()
    assert not wrong


def test_what_is_in_force_in_this_context():
    f, zero, ones = jit(lambda x: 1 / x), np.zeros(1), np.ones(1)
    with np.errstate(divide="ignore"):
        context = contextvars.copy_context()
        context.run(np.seterr, divide="raise")
        context.run(f, ones)
        assert f(ones)[0] == 1 and np.geterr()["divide"] == "ignore"
        with pytest.raises(FloatingPointError):
            context.run(f, zero)
        assert f(zero)[0] == np.inf
