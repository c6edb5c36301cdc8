"""Python's own numbers under jit have Python's arithmetic: any size, exceptions, types of results."""

import itertools
import math
import operator
from collections import Counter

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


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.uint64])
def test_integers_of_loops_beside_arrays(dtype):
    def ranks(x, limits):
        below = equal = 0
        for limit in limits.tolist():
            below += limit > x
            equal += int(x[1] == limit)
        return below, equal

    x = np.array([0, 1, np.iinfo(dtype).max], dtype)
    limits = np.array([0, 1, -1, 127, 128, 255, 300, 2**40, -(2**63), 2**63 - 1])
    for actual, expected in zip(compiled(ranks)(x, limits), ranks(x, limits)):
        np.testing.assert_array_equal(actual, expected, strict=True)
    with pytest.raises(OverflowError, match="^Python integer 300 out of bounds for uint8$"):
        compiled(lambda x, numbers: [x + number for number in numbers.tolist()])(np.uint8([1]), np.array([3] * 40 + [300]))


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


SPECIAL_FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.5, 1e4, -1e4, 1e308, math.inf, -math.inf, math.nan]


def is_alike(found, expected):
    """Whether outcomes are the same, of floats but for rounding."""
    if isinstance(found, type) or isinstance(expected, type):
        return found == expected
    for (kind, one), (expected_kind, other) in zip(found, expected, strict=True):
        if kind is not expected_kind or one != other and not (kind is float and math.isclose(float(one), float(other))):
            return False
    return True


@pytest.mark.parametrize("name", [
    "sqrt", "exp", "log", "log2", "log10", "log1p", "expm1", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
    "tanh", "asinh", "acosh", "atanh", "fabs", "degrees", "radians", "isnan", "isinf", "isfinite", "exp2", "cbrt", "erf",
    "lgamma", "modf",
])  # fmt: skip
def test_functions_of_math(name):
    function = getattr(math, name)
    jitted = compiled(lambda x: function(x))
    for x in SPECIAL_FLOATS:
        assert is_alike(outcome(jitted, x), outcome(function, x)), x


@pytest.mark.parametrize("name", ["atan2", "hypot", "pow", "fmod", "copysign", "isclose", "log"])
def test_functions_of_math_of_two_numbers(name):
    function = getattr(math, name)
    jitted = compiled(lambda x, y: function(x, y))
    for x, y in itertools.product(SPECIAL_FLOATS, SPECIAL_FLOATS):
        assert is_alike(outcome(jitted, x, y), outcome(function, x, y)), (x, y)


@pytest.mark.parametrize("function", [int, round, math.floor, math.ceil])
def test_floats_become_integers(function):
    jitted = compiled(lambda x: function(x))
    for x in (1.5, -2.5, math.nan, math.inf, -math.inf, 7, 2**40, np.float32(2.5), np.int8(-3), np.uint8(200)):
        assert outcome(jitted, x) == outcome(function, x), x
    with pytest.raises(OverflowError, match="beyond 64 bits"):
        jitted(1e30)


@pytest.mark.parametrize("digits", [2, 0, 5, 15, -1, -2])
def test_floats_are_rounded_correctly(digits):
    rng = np.random.default_rng(0)
    jitted = compiled(lambda x: round(x, digits))
    values = [2.675, 1.005, -0.125, 0.125, 1e300, -0.001, 5e-324, 45035996273704.975, 45035996273704.965, 250.0, -150.0, 1e22]
    values += [*rng.uniform(-1e3, 1e3, 100).tolist(), *(rng.integers(-(10**6), 10**6, 100) / 200).tolist()]
    values += [
        *(rng.uniform(-1, 1, 200) * 10.0 ** rng.integers(-5, 17, 200)).tolist(),
        *(rng.integers(2**52, 2**53, 99) * 1e-2),
    ]
    for x in [*map(float, values), math.inf, math.nan]:
        assert repr(jitted(x)) == repr(round(x, digits)), x


def test_integers_are_rounded():
    jitted = compiled(lambda n: round(n, -2))
    for n in (150, 250, -250, 149, -151, 50, 0, 2**40 + 50, 10**30 + 50):
        assert jitted(n) == round(n, -2), n


@pytest.mark.parametrize("values", [
    [1.0, math.nan, 3.0], [math.nan, 1.0, 3.0], [0.0, -0.0], [-0.0, 0.0], [-math.inf, math.nan], [math.nan], [3, 1, 2],
])  # fmt: skip
def test_extremes_of_arrays(values):
    x = np.array(values)
    assert outcome(compiled(lambda x: max(x)), x) == outcome(max, x)
    assert outcome(compiled(lambda x: min(x)), x) == outcome(min, x)


def sorted_tuple(x):
    return tuple(sorted(x))


def sorted_from_the_end(x):
    return tuple(sorted(x, reverse=True))


@pytest.mark.parametrize("function", [sum, any, all, max, min, sorted_tuple, sorted_from_the_end])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, bool, np.float32, np.int64, np.uint64, np.float16])
def test_builtins_of_arrays(function, dtype):
    x = np.array([3, 200, 100, 0]).astype(dtype)
    with np.errstate(over="ignore"):
        assert outcome(compiled(lambda x: function(x)), x) == outcome(function, x)


@pytest.mark.parametrize("operate", [operator.add, operator.mul, operator.truediv, operator.eq])
def test_a_complex_number_takes_elements_for_floats(operate):
    jitted = compiled(lambda x, y: operate(x, y))
    for x in (np.float64(2.5), np.float32(2.5), np.complex128(1j)):
        assert outcome(jitted, 1 + 2j, x) == outcome(operate, 1 + 2j, x), x
        assert outcome(jitted, x, 1 + 2j) == outcome(operate, x, 1 + 2j), x


def test_what_stands_at_a_place_that_arguments_decide_does_not_make_them_static():
    def most_frequent(pairs, weight):
        counts = Counter()
        for a, b in pairs:
            counts[a, b] += weight
        return counts.most_common(2)

    compiled = jit(most_frequent)
    for seed in range(6):
        pairs = [tuple(pair) for pair in np.random.default_rng(seed).integers(0, 3, (5, 2)).tolist()]
        assert compiled(pairs, seed + 1) == most_frequent(pairs, seed + 1)
    assert compiled.cache_info().misses == 1


def test_what_comes_out_of_loops_is_checked_when_the_program_runs():
    """Smaller intervals of the arguments would tell no more of it."""

    def powers(n, m):
        a = b = 1
        for _ in range(n):
            a *= 2
        for _ in range(m):
            b *= 2
        return a + b, (a + b) * 3 - 1

    compiled = jit(powers)
    for n, m in ((3, 4), (7, 5), (9, 1)):
        assert compiled(n, m) == powers(n, m)
    assert compiled.cache_info().misses == 1
    assert compiled(62, 62) == powers(62, 62)


def test_numbers_of_a_table_of_constants_are_python_integers_of_any_size():
    def scaled(k, n):
        return [3, 10**18, -(10**18)][k] * n, {1: 10**18, 2: 5}.get(k, 7) * n

    compiled = jit(scaled)
    for k, n in ((0, 3), (1, 2), (1, 200), (2, 5), (2, 10**6)):
        assert compiled(k, n) == scaled(k, n)


@pytest.mark.parametrize("size", [2, 40])
def test_what_loops_and_lists_give_does_not_make_arguments_static(size):
    def mean(n):
        total, found = 0, [n]
        for k in range(n):
            total += k
            if k % 2:
                found.append(k)
        return total / n, found[0] * found[0] * found[-1] * found[-1] / 3

    jitted = jit(mean)
    assert [jitted(n) for n in range(size, size + 5)] == [mean(n) for n in range(size, size + 5)]
    assert jitted.cache_info().misses == 1
