"""host_call: Python functions that run with the program, every time, in order, on the values that they would get."""

import gc
import threading

import numpy as np
import pytest
from phlox import ShapeDtype, cond, fori_loop, host_call, jit, load_hlo, while_loop

BACKENDS = pytest.mark.parametrize("backend", ["cpu", "reference"])


@BACKENDS
def test_every_call_in_order(backend):
    log = []

    def f(x):
        reversed_ = host_call(lambda a: (log.append(a.tolist()), a[::-1].copy())[1], x, x)
        host_call(lambda: log.append("second"), None)
        return 2 * reversed_

    jitted = jit(f, backend=backend)
    for start in (0.0, 1.0, 2.0):
        log.clear()
        np.testing.assert_array_equal(jitted(np.array([start, 5.0])), [10.0, 2 * start])
        assert log == [[start, 5.0], "second"]
    assert jitted.cache_info().misses == 1


@BACKENDS
def test_values_are_what_they_would_be_without_jit(backend):
    seen = []

    def f(n, s, z, x):
        host_call(lambda *a, **k: seen.append((a, k)), None, n, s, z, x, n > 2, s > 2, z > 1, "text", {"x": (x, n)}, k=z[()])

    arguments = 3, np.float32(2), np.array(2.0), np.arange(3)
    for _ in range(2):
        seen.clear()
        jit(f, backend=backend)(*arguments)
        compiled_seen = seen.pop()
        f(*arguments)
        assert repr(compiled_seen) == repr(seen.pop())


def test_results():
    def results(x):
        number, scalar, array, nothing = host_call(
            lambda: (3, np.float32(2), np.ones((2, 3), np.int8), None), (int, np.float32, ShapeDtype((2, 3), np.int8), None)
        )
        assert nothing is None
        return number + 1, scalar, array + x, number > 2

    number, scalar, array, test = jit(results)(np.int8(1))
    assert (type(number), number, type(scalar), type(test)) == (int, 4, np.float32, bool)
    np.testing.assert_array_equal(array, np.full((2, 3), 2))


@pytest.mark.parametrize(
    "described, returned, given",
    [
        (ShapeDtype((3,), float), np.zeros(2), r"float64\[2\]"),
        (ShapeDtype((3,), float), np.zeros(3, np.float32), r"float32\[3\]"),
        (float, 3, "int"),
        (int, True, "bool"),
        ((int, int), (1,), "tuple"),
        (None, 3, "3|leaf|number|int"),
    ],
)
def test_results_that_differ_from_their_description(described, returned, given):
    with pytest.raises(TypeError, match=given):
        jit(lambda: host_call(lambda: returned, described))()


NUMBERS = [
    (int, [5, -(1 << 63), (1 << 63) - 1, 1 << 63, -(1 << 63) - 1, 1.0, True, np.int64(3), None]),
    (float, [2.5, -0.0, float("inf"), 1, np.float64(1.5), "2.5"]),
    (bool, [True, False, 1, np.True_, None]),
]


@BACKENDS
@pytest.mark.parametrize(("kind", "returned"), NUMBERS, ids=["int", "float", "bool"])
def test_numbers_are_of_their_type_and_fit(kind, returned, backend):
    def second(_, number):
        return returned[number]

    def f(number, x):
        return host_call(second, kind, x, number), x + 1

    jitted = jit(f, backend=backend)
    for number in [*range(len(returned)), 0]:
        outcomes = []
        for function in (f, jitted):
            try:
                value, _ = function(number, 0.5)
                outcomes.append((type(value), repr(value)))
            except (TypeError, OverflowError) as error:
                outcomes.append((type(error), str(error)))
        assert outcomes[1] == outcomes[0]


OF_SHAPE = np.arange(6.0).reshape(2, 3)
RETURNED = [
    OF_SHAPE,
    np.asfortranarray(OF_SHAPE),
    np.arange(12.0).reshape(2, 6)[:, ::2],
    np.arange(6.0)[::-1].reshape(2, 3),
    OF_SHAPE.view(np.matrix),
    OF_SHAPE.astype(">f8"),
    OF_SHAPE.astype(np.float32),
    OF_SHAPE.T,
    OF_SHAPE[:, :2],
    OF_SHAPE.tolist(),
    1.0,
    None,
]


@BACKENDS
@pytest.mark.parametrize("described", [np.float64, np.int64, np.bool_, np.complex64])
def test_arrays_are_of_their_form_in_any_order(described, backend):
    def chosen(number):
        return RETURNED[number] if described is np.float64 or number > 4 else RETURNED[number].astype(described)

    def f(number):
        found = np.asarray(host_call(chosen, ShapeDtype((2, 3), described), number))
        return found, found.T.copy()

    jitted = jit(f, backend=backend)
    for number in [*range(len(RETURNED)), 0]:
        outcomes = []
        for function in (f, jitted):
            try:
                outcomes.append([(one.dtype, one.tolist()) for one in function(number)])
            except TypeError as error:
                outcomes.append(str(error))
        assert outcomes[1] == outcomes[0]


def test_what_does_not_describe_a_result():
    with pytest.raises(TypeError, match="a result is described by"):
        jit(lambda: host_call(lambda: "a", "a"))()


@BACKENDS
def test_exceptions_come_out_as_they_are(backend):
    error = KeyError("mine")

    calls = []

    def fail(value):
        calls.append(value)
        if value > 0:
            raise error

    def f(x):
        x[1] = 5
        host_call(fail, None, x[0])
        x[1] = 6
        return x

    jitted = jit(f, backend=backend)
    jitted(np.array([-1.0, 2.0]))
    for _ in range(2):
        x = np.array([1.0, 2.0])
        with pytest.raises(KeyError) as caught:
            jitted(x)
        assert caught.value is error and not getattr(error, "__notes__", None)
        np.testing.assert_array_equal(x, [1.0, 5.0])
    assert calls == [-1, 1, 1]


def test_nothing_is_called_behind_an_error():
    log = []

    def f(x, i):
        value = x[i]
        host_call(log.append, None, value)
        return value

    jitted = jit(f)
    assert jitted(np.arange(3.0), 1) == 1 and log == [1.0]
    with pytest.raises(IndexError):
        jitted(np.arange(3.0), 7)
    assert log == [1.0]


@BACKENDS
def test_in_loops_and_branches(backend):
    log = []

    def f(n, x):
        def body(i, total):
            host_call(log.append, None, i)
            return total + cond(i > 1, lambda: host_call(lambda i: i * 10.0, float, i), lambda: 0.0)

        total = fori_loop(0, n, body, 0.0)
        return while_loop(lambda s: host_call(lambda s: s < 100, bool, s), lambda s: s + 30, total + x)

    jitted = jit(f, backend=backend)
    for _ in range(2):
        log.clear()
        assert jitted(4, 0.5) == 110.5
        assert log == [0, 1, 2, 3]


def test_random_numbers_of_every_call():
    generator = np.random.default_rng(5)
    draw = jit(lambda x: x + host_call(generator.normal, ShapeDtype((3,), float), size=3))
    expected = np.random.default_rng(5)
    for _ in range(4):
        np.testing.assert_array_equal(draw(np.zeros(3)), expected.normal(size=3))


def test_functions_may_call_jitted_ones_and_keep_what_they_get():
    kept = []
    inner = jit(lambda x: x * 2)

    def outer(x):
        kept.append(x)
        return inner(x)

    f = jit(lambda x: host_call(outer, x, x + 1))
    np.testing.assert_array_equal(f(np.zeros(3)), [2, 2, 2])
    np.testing.assert_array_equal(f(np.ones(3)), [4, 4, 4])
    np.testing.assert_array_equal(kept, [[1, 1, 1], [2, 2, 2]])
    with pytest.raises(ValueError, match="read-only"):
        kept[0][0] = 1


def test_threads():
    f = jit(lambda x, n: host_call(lambda x, n: x + n, x, x, n))
    wrong = []

    def run(n):
        for _ in range(100):
            if not np.array_equal(f(np.zeros(4), n), np.full(4, n)):
                wrong.append(n)

    threads = [threading.Thread(target=run, args=(float(n),)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def _refusing(x):
    if x > 1:
        raise ValueError(f"no {x}")
    return x * 2


def _caught(x):
    total = 0.0
    for v in x:
        try:
            print("before", v)
            total += host_call(_refusing, np.float64, v)
            print("behind", v)
        except (KeyError, ValueError) as error:
            print(error)
            x[0] = 5
    return total


def _caught_in_a_loop(x):
    total = 0.0
    for i in range(100):
        try:
            total += host_call(_refusing, np.float64, x[i % 4])
        except ValueError:
            total -= 1
    return total


def _not_caught(x):
    try:
        return host_call(_refusing, np.float64, x[1])
    except KeyError:
        return 0.0
    finally:
        x[1] = 7


@pytest.mark.parametrize("function", [_caught, _caught_in_a_loop, _not_caught])
def test_handlers_see_what_is_raised(function, capsys):
    jitted = jit(function)
    for scale in (0.0, 1.0, 3.0):
        outcomes = []
        for run in (function, jitted):
            x = np.array([0.5, 2.0, 0.1, 3.0]) * scale
            try:
                found = run(x)
            except ValueError as error:
                found = str(error)
            outcomes.append((found, x.tolist(), capsys.readouterr().out))
        assert outcomes[0] == outcomes[1]


def test_errors_of_numpy_are_those_of_the_caller():
    f = jit(lambda x: host_call(lambda x: np.divide(1.0, x), x, x))
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        f(np.zeros(2))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(f(np.zeros(2)), [np.inf, np.inf])


def test_without_jit():
    np.testing.assert_array_equal(host_call(np.cumsum, np.zeros(3), np.ones(3)), [1, 2, 3])
    with pytest.raises(TypeError, match="is required"):
        host_call(np.cumsum, np.zeros(2), np.ones(3))


def test_a_program_that_lost_its_function():
    lowered = jit(lambda x: host_call(lambda x: x, x, x)).lower(np.ones(2))
    text = lowered.as_text()
    del lowered
    gc.collect()
    with pytest.raises(NotImplementedError, match="or one that is no more"):
        load_hlo(text)(np.ones(2))


@BACKENDS
def test_the_function_gets_what_it_gets_without_jit(backend):
    def called(x, where):
        given = [x.copy(), x[0], x.sum(), where, x[0] > 1, x.astype(np.complex64), x[:0], np.float32(x[1])]
        given += [float(x[0]), int(x[1]), bool(x[0] > 1), complex(x[0]), x.reshape(1, 2), x[:1].reshape(()).copy()]
        host_call(take, None, *given)
        host_call(take, None, {"a": [x[0], None], "b": (where, "text")}, last=x)
        return x

    def take(*args, **kwargs):
        taken.append((args, kwargs))

    taken = []
    x = np.array([1.5, 2.0])
    decorated = jit(backend=backend)(called)
    for function in (called, decorated, decorated):
        function(x.copy(), 3)
    assert repr(taken[2:4]) == repr(taken[4:]) == repr(taken[:2])
    for one, other in zip(taken[0][0], taken[2][0], strict=True):
        assert type(other) is type(one)
        if isinstance(one, np.ndarray):
            assert other.dtype == one.dtype and other.shape == one.shape and not other.flags.writeable
    assert taken[3][0][0] is not taken[5][0][0]
