"""The elementary functions of the LLVM backends against higher precision, and their special values against C99 Annex F."""

import functools
import math
import re

import elementary_accuracy as accuracy
import numpy as np
import pytest
from llvmlite import binding as llvm
from llvmlite import ir
from phlox import jit
from phlox.backends.llvm.elementary import ELEMENTARY_FUNCTIONS
from phlox.backends.llvm.elementary.huge_argument import two_over_pi_words
from phlox.hlo import OPERATIONS
from phlox.hlo.operation import TRANSCENDENTAL

NAMES = sorted(ELEMENTARY_FUNCTIONS)
UNARY = [name for name in NAMES if name not in accuracy.BINARY]
INF, NAN = math.inf, math.nan
PI = math.pi
TINY = {"f4": 2.0**-149, "f8": 2.0**-1074}
LARGEST = {"f4": float(np.finfo("f4").max), "f8": float(np.finfo("f8").max)}


def test_every_transcendental_operation_has_a_function():
    transcendental = {name for name, operation in OPERATIONS.items() if TRANSCENDENTAL in operation.traits}
    assert transcendental == set(NAMES) - {"remainder"}


def lane_choices(dtype):
    """One lane, parts of a register, a register, and two."""
    return 1, 2, 4, accuracy.native_lanes(dtype), 2 * accuracy.native_lanes(dtype)


@functools.cache
def unary_samples(dtype):
    """Every 65521st bit pattern for f32, random ones for f64, and dense samples where the methods change."""
    random = np.random.default_rng(7)
    if dtype == "f4":
        patterns = np.arange(0, 2**32, 65521, dtype=np.uint64).astype("u4").view("f4")
    else:
        patterns = random.integers(0, 2**64, 65536, dtype="u8").view("f8")
    dense = [random.uniform(-bound, bound, 20000) for bound in (1, 4, 20, 120, 800, 1e5)]
    near_one = 1 + random.choice([-1, 1], 10000) * np.exp2(random.uniform(-52, -1, 10000))
    multiples = np.arange(1, 20001) * (PI / 2)
    specials = [0.0, -0.0, INF, -INF, NAN, TINY[dtype], -TINY[dtype], LARGEST[dtype], -LARGEST[dtype], 1.0, -1.0]
    with np.errstate(all="ignore"):
        return np.concatenate([patterns, *dense, near_one, -near_one, multiples, specials]).astype(dtype)


@functools.cache
def binary_samples(name, dtype):
    if dtype == "f4":
        return accuracy.single_samples(name, 20000, seed=7)
    return accuracy.double_samples(name, 10000, seed=7)


def samples(name, dtype):
    return binary_samples(name, dtype) if name in accuracy.BINARY else (unary_samples(dtype),)


def wide_reference(name, operands):
    with np.errstate(all="ignore"):
        wide = operands if name == "remainder" else [operand.astype("f8") for operand in operands]
        return accuracy.wide_reference(name)(*wide).astype("f8")


def same_bits(x, y):
    """Equality that tells zeros apart and takes any two NaNs as equal."""
    return ((x == y) & (np.signbit(x) == np.signbit(y))) | (np.isnan(x) & np.isnan(y))


@pytest.mark.parametrize("name", NAMES)
def test_f32_is_within_one_ulp(name):
    operands = samples(name, "f4")
    result = accuracy.compile_function(name, "f4", accuracy.native_lanes("f4"))(*operands)
    error, where = accuracy.largest_error(accuracy.single_errors(result, wide_reference(name, operands)), *operands)
    assert error <= 1.0, f"{name} of f32: {error} ULP at {where}"


@pytest.mark.parametrize("name", NAMES)
def test_f64_is_within_two_ulp(name):
    operands = accuracy.double_samples(name, 40, seed=11)
    result = accuracy.compile_function(name, "f8", accuracy.native_lanes("f8"))(*operands)
    error, where = accuracy.largest_error(accuracy.double_errors(name, result, *operands), *operands)
    assert error <= 2.0, f"{name} of f64: {error} ULP at {where}"


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="long double has no more digits than f64 here")
@pytest.mark.parametrize("name", sorted(accuracy.WIDE_REFERENCES.keys() - {"logistic"}))
def test_f64_agrees_with_long_double_on_many_samples(name):
    operands = samples(name, "f8")
    result = accuracy.compile_function(name, "f8", accuracy.native_lanes("f8"))(*operands)
    with np.errstate(all="ignore"):
        exact = accuracy.WIDE_REFERENCES[name](*(operand.astype(np.longdouble) for operand in operands))
        rounded = exact.astype("f8")
        finite = np.isfinite(rounded) & np.isfinite(result)
        exponent = np.frexp(np.where(finite, np.abs(exact), 1))[1]
        ulp = np.ldexp(np.longdouble(1), np.maximum(exponent, -1021) - 53)
        error = np.where(finite, np.abs(result.astype(np.longdouble) - exact) / ulp, 0)
    assert np.max(error) <= 2.0, f"{name}: {accuracy.largest_error(error, *operands)}"
    assert np.array_equal(np.isnan(result), np.isnan(rounded))
    # At the border of overflow, one side may be the largest number.
    largest = np.finfo("f8").max * (1 - 2.0**-51)
    overflow = np.isinf(result) | np.isinf(rounded)
    assert np.all(np.abs(result[overflow]) >= largest) and np.all(np.abs(rounded[overflow]) >= largest)
    zero = (result == 0) & (rounded == 0)
    assert np.array_equal(np.signbit(result[zero]), np.signbit(rounded[zero]))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", NAMES)
def test_every_width_gives_the_same_bits(name, dtype):
    operands = [operand[::7] for operand in samples(name, dtype)]
    first, *others = (accuracy.compile_function(name, dtype, lanes)(*operands) for lanes in lane_choices(dtype))
    for other in others:
        assert np.all(same_bits(first, other))


@pytest.mark.parametrize("name", ["log", "power"])
def test_other_vector_registers_give_the_same_bits(name):
    operands = [operand[::3] for operand in samples(name, "f8")]
    expected = accuracy.compile_function(name, "f8", accuracy.native_lanes("f8"))(*operands)
    for lanes in (2, 4):
        assert np.all(same_bits(expected, accuracy.compile_function(name, "f8", lanes, vector_bytes=32)(*operands)))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_remainder_is_exact(dtype):
    x, y = samples("remainder", dtype)
    largest, smallest = LARGEST[dtype], TINY[dtype]
    x = np.append(x, np.array([largest, -largest, largest, 5.5, -5.5], dtype))
    y = np.append(y, np.array([3 * smallest, 7 * smallest, 1.5, -2.0, 2.0], dtype))
    result = accuracy.compile_function("remainder", dtype, accuracy.native_lanes(dtype))(x, y)
    with np.errstate(invalid="ignore"):
        assert np.all(same_bits(result, np.fmod(x, y)))


def test_sqrt_is_correctly_rounded():
    for dtype in ("f4", "f8"):
        x = unary_samples(dtype)
        with np.errstate(invalid="ignore"):
            assert np.all(same_bits(accuracy.compile_function("sqrt", dtype, 1)(x), np.sqrt(x)))


# Argument and result, from C99 Annex F.9 and IEEE 754-2019 section 9.2; the results are exact in every format.
ODD_AT_ZERO = [(0.0, 0.0), (-0.0, -0.0), (NAN, NAN)]
SPECIAL_VALUES = {
    "acos": [(1.0, 0.0), (1.5, NAN), (-1.5, NAN), (INF, NAN), (NAN, NAN)],
    "acosh": [(1.0, 0.0), (0.5, NAN), (-3.0, NAN), (-INF, NAN), (INF, INF), (NAN, NAN)],
    "asin": [*ODD_AT_ZERO, (1.5, NAN), (-INF, NAN)],
    "asinh": [*ODD_AT_ZERO, (INF, INF), (-INF, -INF)],
    "atan": ODD_AT_ZERO,
    "atanh": [*ODD_AT_ZERO, (1.0, INF), (-1.0, -INF), (1.5, NAN), (-INF, NAN)],
    "cbrt": [*ODD_AT_ZERO, (INF, INF), (-INF, -INF), (27.0, 3.0), (-0.125, -0.5)],
    "cosh": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF), (NAN, NAN), (1000.0, INF)],
    "cosine": [(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (NAN, NAN)],
    "erf": [*ODD_AT_ZERO, (INF, 1.0), (-INF, -1.0), (50.0, 1.0)],
    "exponential": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (NAN, NAN), (1000.0, INF), (-1000.0, 0.0)],
    "exponential-minus-one": [*ODD_AT_ZERO, (INF, INF), (-INF, -1.0), (1000.0, INF), (-1000.0, -1.0)],
    "log": [(0.0, -INF), (-0.0, -INF), (1.0, 0.0), (-1.0, NAN), (-INF, NAN), (INF, INF), (NAN, NAN)],
    "log-plus-one": [*ODD_AT_ZERO, (-1.0, -INF), (-2.0, NAN), (-INF, NAN), (INF, INF)],
    "logistic": [(0.0, 0.5), (-0.0, 0.5), (INF, 1.0), (-INF, 0.0), (NAN, NAN), (1000.0, 1.0), (-1000.0, 0.0)],
    "rsqrt": [(0.0, INF), (-0.0, -INF), (INF, 0.0), (4.0, 0.5), (-1.0, NAN), (-INF, NAN), (NAN, NAN)],
    "sine": [*ODD_AT_ZERO, (INF, NAN), (-INF, NAN)],
    "sinh": [*ODD_AT_ZERO, (INF, INF), (-INF, -INF), (-1000.0, -INF)],
    "sqrt": [*ODD_AT_ZERO, (INF, INF), (-1.0, NAN), (-INF, NAN), (6.25, 2.5)],
    "tan": [*ODD_AT_ZERO, (INF, NAN), (-INF, NAN)],
    "tanh": [*ODD_AT_ZERO, (INF, 1.0), (-INF, -1.0), (50.0, 1.0)],
}
# C99 F.9.4.4
POWER_VALUES = [
    (0.0, -3.0, INF), (-0.0, -3.0, -INF), (0.0, -2.0, INF), (-0.0, -2.0, INF), (-0.0, -2.5, INF), (-0.0, -INF, INF),
    (0.0, 3.0, 0.0), (-0.0, 3.0, -0.0), (0.0, 2.0, 0.0), (-0.0, 2.0, 0.0), (-0.0, 2.5, 0.0), (-1.0, INF, 1.0),
    (-1.0, -INF, 1.0), (1.0, NAN, 1.0), (1.0, INF, 1.0), (NAN, 0.0, 1.0), (INF, -0.0, 1.0), (0.0, 0.0, 1.0),
    (-2.0, 0.5, NAN), (-0.5, -2.5, NAN), (0.5, -INF, INF), (-0.5, -INF, INF), (2.0, -INF, 0.0), (-2.0, -INF, 0.0),
    (0.5, INF, 0.0), (2.0, INF, INF), (-INF, -3.0, -0.0), (-INF, -2.0, 0.0), (-INF, -2.5, 0.0), (-INF, 3.0, -INF),
    (-INF, 2.0, INF), (-INF, 2.5, INF), (INF, -0.5, 0.0), (INF, 0.5, INF), (NAN, 1.0, NAN), (2.0, NAN, NAN), (-1.0, NAN, NAN),
    (NAN, NAN, NAN), (3.0, 2.0, 9.0), (-3.0, 3.0, -27.0), (-1.0, 16777215.0, -1.0), (-1.0, 16777216.0, 1.0), (2.0, -2.0, 0.25),
]  # fmt: skip
# C99 F.9.1.4; the results other than zeros are those of pi rounded to the format.
ATAN2_VALUES = [
    (0.0, -0.0, PI), (-0.0, -0.0, -PI), (0.0, 0.0, 0.0), (-0.0, 0.0, -0.0), (0.0, -1.0, PI), (-0.0, -1.0, -PI),
    (0.0, 1.0, 0.0), (-0.0, 1.0, -0.0), (-1.0, 0.0, -PI / 2), (-1.0, -0.0, -PI / 2), (1.0, 0.0, PI / 2), (1.0, -0.0, PI / 2),
    (1.0, -INF, PI), (-1.0, -INF, -PI), (1.0, INF, 0.0), (-1.0, INF, -0.0), (INF, 1.0, PI / 2), (-INF, -1.0, -PI / 2),
    (INF, -INF, 3 * PI / 4), (-INF, -INF, -3 * PI / 4), (INF, INF, PI / 4), (-INF, INF, -PI / 4), (NAN, 1.0, NAN),
    (1.0, NAN, NAN), (INF, NAN, NAN), (1.0, 1.0, PI / 4), (1.0, -1.0, 3 * PI / 4),
]  # fmt: skip
# C99 F.9.7.1
REMAINDER_VALUES = [
    (0.0, 2.0, 0.0), (-0.0, 2.0, -0.0), (0.0, -2.0, 0.0), (0.0, INF, 0.0), (INF, 2.0, NAN), (-INF, 2.0, NAN), (1.0, 0.0, NAN),
    (1.0, -0.0, NAN), (0.0, 0.0, NAN), (1.5, INF, 1.5), (-1.5, -INF, -1.5), (NAN, 1.0, NAN), (1.0, NAN, NAN), (6.0, 2.0, 0.0),
    (-6.0, 2.0, -0.0), (7.0, -4.0, 3.0), (-7.0, 4.0, -3.0),
]  # fmt: skip


def check_special_values(name, dtype, rows):
    *operands, expected = (np.array(column, dtype) for column in zip(*rows))
    for lanes in lane_choices(dtype):
        result = accuracy.compile_function(name, dtype, lanes)(*operands)
        wrong = [(row, float(value)) for row, value, fine in zip(rows, result, same_bits(result, expected)) if not fine]
        assert not wrong, f"{name} of {dtype} in {lanes} lanes: {wrong}"


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", sorted(SPECIAL_VALUES))
def test_special_values(name, dtype):
    check_special_values(name, dtype, SPECIAL_VALUES[name])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", [name for name in UNARY if name not in SPECIAL_VALUES])
def test_special_values_of_the_record(name, dtype):
    """The record's samples with results, where there are no others."""
    rows = [
        row
        for sample in OPERATIONS[name].samples()
        if sample.expected is not None
        for row in zip(*sample.operands, sample.expected)
    ]
    assert any(np.isnan(row[0]) for row in rows) and {-INF, -0.0, 0.0, INF} <= {float(row[0]) for row in rows}
    check_special_values(name, dtype, rows)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name, rows", [("power", POWER_VALUES), ("atan2", ATAN2_VALUES), ("remainder", REMAINDER_VALUES)])
def test_special_values_of_two_operands(name, rows, dtype):
    check_special_values(name, dtype, rows)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_powers_of_two(dtype):
    """`power` with the base 2 has code of its own: exact at integers, else within 1 ULP, subnormal results included."""
    random, least = np.random.default_rng(3), -151 if dtype == "f4" else -1076
    whole = np.arange(least, -least).astype(dtype)
    x = np.concatenate([random.uniform(least, -least, 300), random.uniform(-2, 2, 300)]).astype(dtype)
    power = jit(lambda y: 2.0**y)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(power(whole), np.ldexp(np.ones(1, dtype), whole.astype(int)))
    found = power(x)
    with accuracy.mpmath.workprec(200):
        exact = [accuracy.mpmath.mpf(2) ** accuracy.mpmath.mpf(float(y)) for y in x]
        errors = [abs(accuracy.mpmath.mpf(float(y)) - z) / float(np.spacing(y)) for y, z in zip(found, exact) if np.isfinite(y)]
    assert len(errors) > 400 and max(errors) < 1
    special = np.array([INF, -INF, NAN, 1e30, -1e30, 0.0, -0.0], dtype)
    np.testing.assert_array_equal(power(special), np.array([INF, 0, NAN, INF, 0, 1, 1], dtype))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    "name", ["asin", "asinh", "atan", "atanh", "exponential-minus-one", "log-plus-one", "sine", "sinh", "tan", "tanh"]
)
def test_small_arguments_are_their_own_result(name, dtype):
    """f(x) = x + O(x**2) or O(x**3): exact far below the precision of the format, subnormal numbers included."""
    tiny = TINY[dtype]
    x = np.array([tiny, -tiny, 3 * tiny, 12345 * tiny, 2.0**-120, -(2.0**-100) / 3], dtype)
    assert np.all(same_bits(accuracy.compile_function(name, dtype, accuracy.native_lanes(dtype))(x), x))


@pytest.mark.parametrize("name, shift", [("sine", 0), ("cosine", 1)])
def test_huge_arguments_against_exact_integer_reduction(name, shift):
    """Powers of two, reduced with pi to 1400 bits in integers by mpmath."""
    x = np.ldexp(1.0, np.arange(1024))
    mpmath = accuracy.mpmath
    with mpmath.workprec(1400):
        exact = [mpmath.sin(mpmath.ldexp(1, k) + shift * mpmath.pi / 2) for k in range(1024)]
    result = accuracy.compile_function(name, "f8", accuracy.native_lanes("f8"))(x)
    assert max(accuracy.double_error(float(value), target) for value, target in zip(result, exact)) <= 2.0


def test_the_bits_of_two_over_pi():
    mpmath = accuracy.mpmath
    with mpmath.workprec(1500):
        bits = int(mpmath.floor(mpmath.ldexp(2 / mpmath.pi, 64 * 19)))
    assert two_over_pi_words() == [bits >> 64 * (19 - i) & (2**64 - 1) for i in range(20)]


@pytest.mark.parametrize("name", NAMES)
def test_no_call_into_a_math_library(name):
    """What the code calls is an LLVM intrinsic or defined in the same module, and no intrinsic becomes a library call."""
    module = accuracy.loop_module(name, "f4", accuracy.native_lanes("f4"))
    for function in module.functions:
        assert not function.is_declaration or function.name.startswith("llvm."), function.name
    features = llvm.get_host_cpu_features()
    if not (features.get("fma") or features.get("neon")):
        pytest.skip("a host without a fused multiply-add calls a library for it")
    assembly = accuracy.target_machine().emit_assembly(llvm.parse_assembly(str(module)))
    library = r"(?<![.\w])(?:fma|fmod|exp2?|expm1|log1p|log2?|sinh?|cosh?|tanh?|pow|trunc|sqrt|ldexp|rint)f?(?![.\w])"
    assert not re.findall(library, assembly)


@pytest.mark.parametrize("name", NAMES)
def test_operand_type_is_checked(name):
    module = ir.Module()
    half = ir.VectorType(ir.HalfType(), 4)
    operand_count = 2 if name in accuracy.BINARY else 1
    function = ir.Function(module, ir.FunctionType(half, [half] * operand_count), "f")
    builder = ir.IRBuilder(function.append_basic_block())
    with pytest.raises(TypeError, match="float, double or a vector of them, got <4 x half>"):
        ELEMENTARY_FUNCTIONS[name](builder, *function.args)


@pytest.mark.slow
@pytest.mark.parametrize("name", UNARY)
def test_f32_sweep(name):
    error, where = accuracy.sweep_single(name, 97)
    assert error <= 1.0, f"{name} of f32: {error} ULP at {where}"
