"""Python's own numbers under jit have Python's arithmetic: any size, exceptions, types of results."""

import itertools
import operator

import numpy as np
import pytest
from jitted_calls import compiled
from phlox import fori_loop, jit

INTEGERS = [0, 1, -1, 2, -7, 64, 2**31 - 1, -(2**31) - 1, 2**53 + 1, 2**63 - 1, -(2**63), 2**70]
FLOATS = [0.0, -0.0, 1.0, -2.5, 1e300, float("inf"), float("nan"), 2.0**53]
BINARY = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv, "%": operator.mod,
    "divmod": divmod, "&": operator.and_, "|": operator.or_, "^": operator.xor, "<": operator.lt, "<=": operator.le,
    "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def outcome(function, *args):
    """The result, its type, and that of an exception."""
    try:
        result = function(*args)
    except (ArithmeticError, ValueError, TypeError) as error:
        return type(error)
    return [(type(one), repr(one)) for one in (result if isinstance(result, tuple) else (result,))]


@pytest.mark.parametrize("name", BINARY)
def test_operators_on_integers(name):
    operate = BINARY[name]
    jitted = compiled(lambda x, y: operate(x, y))
    for x, y in itertools.product(INTEGERS, [0, 2, -1, -7, 2**53 + 1, 2**63 - 1, 2**70]):
        assert outcome(jitted, x, y) == outcome(operate, x, y), (x, y)


@pytest.mark.parametrize("name", ["+", "-", "*", "/", "//", "%", "divmod", "<", "=="])
def test_operators_on_floats_and_integers(name):
    operate = BINARY[name]
    jitted = compiled(lambda x, y: operate(x, y))
    for x, y in itertools.product(FLOATS, [*FLOATS, 3, 0, True]):
        assert outcome(jitted, x, y) == outcome(operate, x, y), (x, y)
        assert outcome(jitted, y, x) == outcome(operate, y, x), (y, x)


@pytest.mark.parametrize("operate", [operator.neg, operator.pos, abs, operator.invert])
def test_unary_operators(operate):
    jitted = compiled(lambda x: operate(x))
    for x in INTEGERS:
        assert outcome(jitted, x) == outcome(operate, x), x


@pytest.mark.parametrize("operate", [pow, operator.lshift, operator.rshift])
def test_powers_and_shifts(operate):
    jitted = compiled(lambda x, y: operate(x, y))
    for x, y in itertools.product([0, 1, -1, 2, -3, 10, 2**40], [0, 1, 2, 5, 62, 63, 64, -1, -2]):
        assert outcome(jitted, x, y) == outcome(operate, x, y), (x, y)


def test_an_integer_of_any_size():
    assert compiled(lambda n: n * 10**18 * 100)(3) == 3 * 10**20
    assert compiled(lambda n: 2**-n)(3) == 0.125
    assert compiled(lambda n: n)(2**70) == 2**70
    assert compiled(lambda n: (n < 2**70, n == 2**70, n + 2**70))(1) == (True, False, 1 + 2**70)


def test_sequences_are_repeated():
    f = compiled(lambda n, x: ([0] * n, n * (1, 2), "ab" * n, [x] * n))
    assert f(2, 1.5) == ([0, 0], (1, 2, 1, 2), "abab", [1.5, 1.5])
    assert f(0, 1.5) == ([], (), "", [])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize("name", ["+", "*", "==", "<", "&"])
def test_integers_beside_arrays(dtype, name):
    operate = BINARY[name]
    x = np.array([0, 1, np.iinfo(dtype).max], dtype)
    jitted = compiled(lambda x, n: operate(x, n))
    for n in (0, 1, -1, 127, 128, 255, 300, 2**31, 2**40, 2**63, -(2**63), 2**64 - 1, 2**64):
        try:
            expected = operate(x, n)
        except OverflowError:
            with pytest.raises(OverflowError):
                jitted(x, n)
        else:
            actual = jitted(x, n)
            assert actual.dtype == expected.dtype
            np.testing.assert_array_equal(actual, expected)


def test_integers_as_elements():
    def assign(x, n):
        x[0] = n
        return x

    for function in (assign, lambda x, n: x.__iadd__(n), lambda x, n: x[0] + n):
        jitted = compiled(function)
        with pytest.raises(OverflowError):
            jitted(np.uint8([1, 2]), 300)
        np.testing.assert_array_equal(jitted(np.uint8([1, 2]), 30), function(np.uint8([1, 2]), 30))


def test_the_state_of_a_loop_is_checked_when_it_runs():
    factorial = compiled(lambda n: fori_loop(1, n, lambda i, product: product * (i + 1), 1))
    assert factorial(20) == 2432902008176640000
    with pytest.raises(OverflowError, match="beyond 64 bits"):
        factorial(21)


def test_one_piece_of_code_for_small_integers():
    f = compiled(lambda n, m: n * m + 1)
    for n in range(-3, 4):
        assert f(n, 5) == 5 * n + 1
    assert f.cache_info().misses == 1
    assert f(2**40, 2**40) == 2**80 + 1
    assert f(3, 4) == 13 and f(5, 6) == 31
    assert f.cache_info().misses == 2


def test_handlers_do_not_keep_a_function_from_being_traced_again():
    def power(n):
        try:
            return 2**n
        except BaseException:
            return 0

    f = compiled(power)
    assert (f(3), f(-1), f(100)) == (8, 0.5, 2**100)


def test_errors_of_numbers_in_native_calls():
    f = jit(lambda a, b: a / b)
    assert [f(3, 2), f(3.0, 2.0)] == [1.5, 1.5]
    for _ in range(3):
        with pytest.raises(ZeroDivisionError, match="float division by zero|division by zero"):
            f(3.0, 0.0)
    g = jit(lambda a: (a, a**2, a * 2))
    assert g(3.0) == (3.0, 9.0, 6.0)
    for _ in range(3):
        with pytest.raises(OverflowError):
            g(1e200)
    assert g(2.0) == (2.0, 4.0, 4.0)


def test_lowered_code_takes_the_values_that_it_was_made_for():
    run = compiled(lambda n: 2**n).compile(5)
    assert run(6) == 64
    with pytest.raises(TypeError, match="argument n"):
        run(-1)
