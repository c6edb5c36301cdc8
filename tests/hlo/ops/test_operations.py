"""Every operation, by its record: the samples that it gives, and elementwise results at special values against closed forms."""

import math
import re
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from environments import prepared_environment
from phlox import hlo
from phlox.hlo import OPERATIONS, Module, Shape, ShapeError, TupleShape, evaluate_operation, make_instruction, shape_of
from phlox.hlo.element_type import BF16, C64, C128, ELEMENT_TYPES, F16, F32, F64, PRED, S8, S32, S64, U8, U16, U32, U64
from phlox.hlo.operation import ELEMENTWISE
from retyped_samples import operand_shape

INTEGER_TYPES = [element_type for element_type in ELEMENT_TYPES.values() if element_type.is_integer]
FLOAT_TYPES = [BF16, F16, F32, F64]
# Parameters are bound by whoever runs the computation; the random state is of the environment.
WITHOUT_SAMPLES = {"parameter", "rng-get-and-update-state"}


def value_of_operand(operand, random):
    """The operand itself, or values of all signs and sizes for a shape."""
    if isinstance(operand, TupleShape):
        return tuple(value_of_operand(element, random) for element in operand.elements)
    if not isinstance(operand, Shape):
        return operand
    kind = operand.element_type.kind
    if kind == "pred":
        return random.integers(0, 2, operand.dimensions).astype(np.bool_)
    if kind in ("signed", "unsigned"):
        low = -9 if kind == "signed" else 0
        return random.integers(low, 10, operand.dimensions).astype(operand.dtype)
    values = random.normal(scale=4, size=operand.dimensions)
    if kind == "complex":
        values = values + 1j * random.normal(scale=4, size=operand.dimensions)
    return np.asarray(values).astype(operand.dtype)


def one_instruction(record, sample):
    """The module that does only this operation, on parameters."""
    shapes = [operand_shape(operand) for operand in sample.operands]
    operands = [make_instruction("parameter", (), {"number": i}, shape) for i, shape in enumerate(shapes)]
    instruction = make_instruction(record.opcode, operands, sample.attributes, sample.shape)
    return Module(record.opcode, hlo.Computation("main", (*operands, instruction), instruction))


def assert_same(actual, expected):
    """Equal in type, shape and every value, NaN included, zeros with their signs."""
    if isinstance(expected, tuple):
        assert isinstance(actual, tuple) and len(actual) == len(expected)
        for mine, wanted in zip(actual, expected):
            assert_same(mine, wanted)
        return
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.dtype == expected.dtype
    is_float = hlo.element_type_of(expected.dtype).is_float
    if is_float:
        with np.errstate(invalid="ignore"):
            actual, expected = actual.astype(np.float64), expected.astype(np.float64)
        number = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(actual[number]), np.signbit(expected[number]))
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("record", OPERATIONS.values(), ids=OPERATIONS)
class TestSamples:
    def test_there_are_samples(self, record):
        assert record.samples() or record.opcode in WITHOUT_SAMPLES
        assert record.evaluate_function is not None or record.opcode in WITHOUT_SAMPLES
        assert record.documentation

    def test_evaluation(self, record):
        random = np.random.default_rng(len(record.opcode))
        for sample in record.samples():
            module = one_instruction(record, sample)
            hlo.verify(module)
            operands = [value_of_operand(operand, random) for operand in sample.operands]
            result = hlo.evaluate(module.entry, *operands, environment=prepared_environment(module))
            assert hlo.compatible(shape_of(result), module.entry.shape)
            if sample.expected is not None:
                assert_same(result, sample.expected)

    def test_constraints(self, record):
        for sample in record.invalid_samples():
            with pytest.raises(ShapeError, match=sample.match):
                one_instruction(record, sample)

    def test_text(self, record):
        for sample in record.samples():
            module = one_instruction(record, sample)
            text = module.as_text()
            again = hlo.parse_module(text)
            assert again == module
            assert again.as_text() == text

    def test_operand_count(self, record):
        named = [name for name in record.operand_names if not name.startswith("*")]
        x = make_instruction("parameter", (), {"number": 0}, Shape(F32, (2,)))
        counts = [len(named) - 1] if record.is_variadic else [len(named) - 1, len(named) + 1]
        for count in counts:
            if count >= 0:
                with pytest.raises(ShapeError, match=f"^{record.opcode}: .*{count} given"):
                    make_instruction(record.opcode, [x] * count)

    def test_unknown_attributes(self, record):
        sample = next(iter(record.samples()), None)
        if sample is not None:
            operands = [make_instruction("parameter", (), {"number": 0}, operand_shape(o)) for o in sample.operands]
            with pytest.raises(ShapeError, match=f"^{record.opcode}: no attribute named unknown"):
                make_instruction(record.opcode, operands, {**sample.attributes, "unknown": 1}, sample.shape)


@pytest.mark.parametrize("record", [r for r in OPERATIONS.values() if ELEMENTWISE in r.traits], ids=str)
def test_elementwise_means_element_by_element(record):
    """Element i of the result is the operation on elements i."""
    random = np.random.default_rng(7)
    for sample in record.samples():
        shapes = [operand_shape(operand) for operand in sample.operands]
        result_shape = one_instruction(record, sample).entry.shape
        if result_shape.is_tuple or any(shape.dimensions != result_shape.dimensions for shape in shapes):
            continue
        if not 1 < result_shape.size < 20:
            continue
        values = [np.asarray(value_of_operand(operand, random)) for operand in sample.operands]
        stated = None if sample.shape is None else Shape(sample.shape.element_type)
        whole = evaluate_operation(record.opcode, *values, shape=sample.shape, **sample.attributes)
        for index in np.ndindex(*result_shape.dimensions):
            single = evaluate_operation(record.opcode, *(value[index] for value in values), shape=stated, **sample.attributes)
            # NumPy's vector and scalar code of elementary functions may differ in the last place.
            tolerance = 4 * float(ml_dtypes.finfo(whole.dtype).eps) if whole.dtype.kind in "fc" else 0
            np.testing.assert_allclose(
                single.astype(np.complex128), whole[index].astype(np.complex128), rtol=tolerance, atol=tolerance
            )


# --- integers ---


def integers_of(element_type):
    """All values of the narrow types; zeros, units, limits and their neighbours of the others."""
    limits = ml_dtypes.iinfo(element_type.dtype)
    low, high = int(limits.min), int(limits.max)
    if element_type.bits <= 4:
        return list(range(low, high + 1))
    wanted = [0, 1, 2, 3, 5, 7, 8, 16, 31, 32, 33, 63, 64, 100, -1, -2, -3, -7, -100]
    wanted += [low, low + 1, low // 2, high, high - 1, high // 2 + 1]
    return sorted({value for value in wanted if low <= value <= high})


def wrapped(value, element_type):
    """The integer modulo 2**width, as the type represents it."""
    value %= 2**element_type.bits
    is_negative = element_type.kind == "signed" and value >= 2 ** (element_type.bits - 1)
    return value - 2**element_type.bits if is_negative else value


def array_of(values, element_type):
    wide = np.uint64 if element_type.kind == "unsigned" else np.int64
    return np.array(values, wide).astype(element_type.dtype)


def truncated_quotient(x, y):
    if y == 0:
        return -1
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def truncated_remainder(x, y):
    return x if y == 0 else x - truncated_quotient(x, y) * y


def integer_power(x, y):
    if y >= 0:
        return pow(x, y, 2**64)
    return {1: 1, -1: -1 if y % 2 else 1}.get(x, 0)


def shifted_left(x, y, width):
    return x << (y % 2**width) if y % 2**width < width else 0


def shifted_right_arithmetic(x, y, width):
    signed = x - 2**width if x >= 2 ** (width - 1) else x
    return signed >> min(y % 2**width, width - 1)


def shifted_right_logical(x, y, width):
    return (x % 2**width) >> (y % 2**width) if y % 2**width < width else 0


INTEGER_BINARY = {
    "add": lambda x, y, width: x + y,
    "subtract": lambda x, y, width: x - y,
    "multiply": lambda x, y, width: x * y,
    "divide": lambda x, y, width: truncated_quotient(x, y),
    "remainder": lambda x, y, width: truncated_remainder(x, y),
    "power": lambda x, y, width: integer_power(x, y),
    "maximum": lambda x, y, width: max(x, y),
    "minimum": lambda x, y, width: min(x, y),
    "and": lambda x, y, width: x & y,
    "or": lambda x, y, width: x | y,
    "xor": lambda x, y, width: x ^ y,
    "shift-left": shifted_left,
    "shift-right-arithmetic": shifted_right_arithmetic,
    "shift-right-logical": shifted_right_logical,
}
INTEGER_UNARY = {
    "abs": lambda x, width: abs(x),
    "negate": lambda x, width: -x,
    "sign": lambda x, width: (x > 0) - (x < 0),
    "not": lambda x, width: ~x,
    "popcnt": lambda x, width: bin(x % 2**width).count("1"),
    "count-leading-zeros": lambda x, width: width - (x % 2**width).bit_length(),
}


@pytest.mark.parametrize("element_type", INTEGER_TYPES, ids=str)
@pytest.mark.parametrize("opcode", INTEGER_BINARY)
def test_integer_arithmetic(opcode, element_type):
    """On integers of Python, which do not overflow, wrapped into the type."""
    pairs = [(x, y) for x in integers_of(element_type) for y in integers_of(element_type)]
    meaning = INTEGER_BINARY[opcode]
    expected = [wrapped(meaning(x, y, element_type.bits), element_type) for x, y in pairs]
    lhs, rhs = (array_of(column, element_type) for column in zip(*pairs))
    assert_same(evaluate_operation(opcode, lhs, rhs), array_of(expected, element_type))


@pytest.mark.parametrize("element_type", INTEGER_TYPES, ids=str)
@pytest.mark.parametrize("opcode", INTEGER_UNARY)
def test_integer_functions(opcode, element_type):
    values = integers_of(element_type)
    expected = [wrapped(INTEGER_UNARY[opcode](x, element_type.bits), element_type) for x in values]
    assert_same(evaluate_operation(opcode, array_of(values, element_type)), array_of(expected, element_type))


@pytest.mark.parametrize("direction", ["EQ", "NE", "GE", "GT", "LE", "LT"])
@pytest.mark.parametrize("element_type", INTEGER_TYPES, ids=str)
def test_integer_comparison(element_type, direction):
    pairs = [(x, y) for x in integers_of(element_type) for y in integers_of(element_type)]
    lhs, rhs = (array_of(column, element_type) for column in zip(*pairs))
    expected = [getattr(x, f"__{direction.lower()}__")(y) for x, y in pairs]
    assert_same(evaluate_operation("compare", lhs, rhs, direction=direction), np.array(expected))


@pytest.mark.parametrize("target", INTEGER_TYPES, ids=str)
@pytest.mark.parametrize("source", INTEGER_TYPES, ids=str)
def test_integers_wrap_when_converted(source, target):
    values = integers_of(source)
    result = evaluate_operation("convert", array_of(values, source), shape=Shape(target, (len(values),)))
    assert_same(result, array_of([wrapped(value, target) for value in values], target))


def test_logic():
    p, q = np.array([False, False, True, True]), np.array([False, True, False, True])
    truth = {"and": [0, 0, 0, 1], "or": [0, 1, 1, 1], "xor": [0, 1, 1, 0], "add": [0, 1, 1, 1], "multiply": [0, 0, 0, 1]}
    truth |= {"maximum": [0, 1, 1, 1], "minimum": [0, 0, 0, 1]}
    for opcode, expected in truth.items():
        assert_same(evaluate_operation(opcode, p, q), np.array(expected, np.bool_))
    assert_same(evaluate_operation("not", p), np.array([True, True, False, False]))


# --- floats ---

NAN, INF = math.nan, math.inf


def floats(values, element_type):
    with np.errstate(over="ignore"):
        return np.array(values, np.float64).astype(element_type.dtype)


def doubles(array):
    """The values as floats of Python."""
    with np.errstate(invalid="ignore"):
        return array.astype(np.float64).tolist()


@pytest.mark.parametrize("element_type", FLOAT_TYPES, ids=str)
def test_maximum_and_minimum_order_zeros_and_keep_nan(element_type):
    lhs = [-0.0, 0.0, -0.0, 0.0, NAN, 1, NAN, -INF, INF, NAN, 2]
    rhs = [0.0, -0.0, -0.0, 0.0, 1, NAN, NAN, INF, -INF, -INF, 3]
    larger = [0.0, 0.0, -0.0, 0.0, NAN, NAN, NAN, INF, INF, NAN, 3]
    smaller = [-0.0, -0.0, -0.0, 0.0, NAN, NAN, NAN, -INF, -INF, NAN, 2]
    operands = floats(lhs, element_type), floats(rhs, element_type)
    assert_same(evaluate_operation("maximum", *operands), floats(larger, element_type))
    assert_same(evaluate_operation("minimum", *operands), floats(smaller, element_type))


@pytest.mark.parametrize("element_type", FLOAT_TYPES, ids=str)
def test_clamp(element_type):
    low = floats([0, 0, 0, NAN, 0, 3], element_type)
    x = floats([-1, 5, NAN, 1, 1, 1], element_type)
    high = floats([2, 2, 2, 2, NAN, 2], element_type)
    # Where the bounds cross, the upper one wins: it is applied last.
    assert_same(evaluate_operation("clamp", low, x, high), floats([0, 2, NAN, NAN, NAN, 2], element_type))


@pytest.mark.parametrize("element_type", FLOAT_TYPES, ids=str)
def test_sign(element_type):
    x = floats([-0.0, 0.0, -3, 0.25, NAN, INF, -INF], element_type)
    assert_same(evaluate_operation("sign", x), floats([-0.0, 0.0, -1, 1, NAN, 1, -1], element_type))
    assert_same(evaluate_operation("abs", x), floats([0.0, 0.0, 3, 0.25, NAN, INF, INF], element_type))
    assert_same(evaluate_operation("negate", x), floats([0.0, -0.0, 3, -0.25, NAN, -INF, INF], element_type))


@pytest.mark.parametrize("element_type", [C64, C128], ids=str)
def test_complex_sign_and_modulus(element_type):
    z = np.array([0, 3 + 4j, -2, 5j, -5 - 12j], element_type.dtype)
    unit = np.array([0, 0.6 + 0.8j, -1, 1j, (-5 - 12j) / 13], element_type.dtype)
    np.testing.assert_allclose(evaluate_operation("sign", z), unit, rtol=1e-6, atol=1e-6)
    real = np.float32 if element_type is C64 else np.float64
    np.testing.assert_allclose(evaluate_operation("abs", z), np.array([0, 5, 2, 5, 13], real), rtol=2e-7)
    assert_same(evaluate_operation("real", z), np.array([0, 3, -2, 0, -5], real))
    assert_same(evaluate_operation("imag", z), np.array([0, 4, 0, 5, -12], real))


def test_complex_functions_near_their_zeros():
    """The sign of a subnormal number, and log(1 + z) = z - z**2 / 2 + ... where 1 + z rounds to 1."""
    for z in (1e-40 + 0j, -1e-40 + 0j, 3e-40 - 4e-40j):
        np.testing.assert_allclose(evaluate_operation("sign", np.complex64(z)), z / abs(z), rtol=1e-4)
    for dtype, tiny in ((np.complex64, 1e-10), (np.complex128, 1e-20)):
        for z in (tiny, -tiny, tiny * 1j, (3 - 4j) * tiny):
            np.testing.assert_allclose(evaluate_operation("log-plus-one", dtype(z)), z, rtol=1e-6)
    z = np.array([0.25 + 0.5j, 3 - 4j, -0.125 + 0.0625j])
    np.testing.assert_allclose(np.exp(evaluate_operation("log-plus-one", z)), 1 + z, rtol=1e-14)


@pytest.mark.parametrize("element_type", FLOAT_TYPES, ids=str)
def test_rounding_to_integers(element_type):
    x = [0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 0.25, -0.25, 0.75, -0.75, 0.0, -0.0, INF, -INF, NAN, 100]
    away = [1, -1, 2, -2, 3, -3, 0.0, -0.0, 1, -1, 0.0, -0.0, INF, -INF, NAN, 100]
    even = [0.0, -0.0, 2, -2, 2, -2, 0.0, -0.0, 1, -1, 0.0, -0.0, INF, -INF, NAN, 100]
    down = [0.0, -1, 1, -2, 2, -3, 0.0, -1, 0.0, -1, 0.0, -0.0, INF, -INF, NAN, 100]
    up = [1, -0.0, 2, -1, 3, -2, 1, -0.0, 1, -0.0, 0.0, -0.0, INF, -INF, NAN, 100]
    opcodes = {"round-nearest-afz": away, "round-nearest-even": even, "floor": down, "ceil": up}
    for opcode, expected in opcodes.items():
        assert_same(evaluate_operation(opcode, floats(x, element_type)), floats(expected, element_type))


@pytest.mark.parametrize("element_type", [F16, F32, F64, BF16], ids=str)
def test_rounding_away_from_zero_does_not_round_twice(element_type):
    """The number just below 1/2 (0.49999997 in f32) plus 1/2 rounds to 1; odd numbers near the precision must stay."""
    below = 0.5 - float(ml_dtypes.finfo(element_type.dtype).epsneg) / 2
    odd = 2.0 ** int(ml_dtypes.finfo(element_type.dtype).nmant) + 1
    x = floats([below, -below, odd, -odd], element_type)
    assert doubles(x) == [below, -below, odd, -odd]
    for opcode in ("round-nearest-afz", "round-nearest-even"):
        assert_same(evaluate_operation(opcode, x), floats([0.0, -0.0, odd, -odd], element_type))


def test_the_number_below_one_half():
    assert_same(evaluate_operation("round-nearest-afz", np.float32(0.49999997)), np.float32(0))
    assert_same(evaluate_operation("round-nearest-afz", np.float32(8388609)), np.float32(8388609))


@pytest.mark.parametrize("element_type", FLOAT_TYPES, ids=str)
def test_total_order(element_type):
    """-NaN < -Inf < -Finite < -0 < +0 < +Finite < +Inf < +NaN"""
    info = ml_dtypes.finfo(element_type.dtype)
    tiny = float(info.smallest_subnormal)
    chain = floats([-NAN, -INF, -2, -1, -tiny, -0.0, 0.0, tiny, 1, 2, INF, NAN], element_type)
    chain[0], chain[-1] = -np.abs(chain[0]), np.abs(chain[-1])
    assert np.signbit(chain).tolist() == [True] * 6 + [False] * 6
    position = np.arange(len(chain))
    i, j = (grid.ravel() for grid in np.meshgrid(position, position))
    relations = {"EQ": i == j, "NE": i != j, "GE": i >= j, "GT": i > j, "LE": i <= j, "LT": i < j}
    for direction, expected in relations.items():
        result = evaluate_operation("compare", chain[i], chain[j], direction=direction, type="TOTALORDER")
        assert_same(result, expected)


@pytest.mark.parametrize("element_type", FLOAT_TYPES, ids=str)
def test_partial_order(element_type):
    x, y = floats([NAN, NAN, 0.0, 1, -INF], element_type), floats([NAN, 1, -0.0, 2, INF], element_type)
    relations = {"EQ": "00100", "NE": "11011", "GE": "00100", "GT": "00000", "LE": "00111", "LT": "00011"}
    for direction, expected in relations.items():
        result = evaluate_operation("compare", x, y, direction=direction)
        assert_same(result, np.array([character == "1" for character in expected]))


@pytest.mark.parametrize("element_type", FLOAT_TYPES, ids=str)
def test_remainder_has_the_sign_of_the_dividend(element_type):
    x = floats([5, -5, 5, -5, 1, INF, 4, -4, NAN], element_type)
    y = floats([3, 3, -3, -3, INF, 1, 2, 2, 1], element_type)
    assert_same(evaluate_operation("remainder", x, y), floats([2, -2, 2, -2, 1, NAN, 0.0, -0.0, NAN], element_type))
    assert_same(evaluate_operation("remainder", floats(1, element_type), floats(0, element_type)), floats(NAN, element_type))


@pytest.mark.parametrize("element_type", FLOAT_TYPES, ids=str)
def test_is_finite(element_type):
    x = floats([0, -0.0, 1, INF, -INF, NAN, float(ml_dtypes.finfo(element_type.dtype).max)], element_type)
    assert_same(evaluate_operation("is-finite", x), np.array([True, True, True, False, False, False, True]))


@pytest.mark.parametrize("target", INTEGER_TYPES, ids=str)
@pytest.mark.parametrize("source", FLOAT_TYPES, ids=str)
def test_floats_become_integers_by_truncation_and_saturation(source, target):
    limits = ml_dtypes.iinfo(target.dtype)
    low, high = int(limits.min), int(limits.max)
    values = [0.0, -0.0, 0.75, -0.75, 1.5, -1.5, 2.5, 3, -4, 100.5, 255, 256, 60000, INF, -INF, NAN]
    values += [float(limit) + offset for limit in (low, high, 2 * high, high // 2) for offset in (-1, -0.5, 0, 0.5, 1)]
    x = floats(values, source)
    expected = []
    for value in doubles(x):
        whole = 0 if math.isnan(value) else math.copysign(2**70, value) if math.isinf(value) else math.trunc(value)
        expected.append(int(min(max(whole, low), high)))
    assert_same(evaluate_operation("convert", x, shape=Shape(target, x.shape)), array_of(expected, target))


@pytest.mark.parametrize("target", [F32, F64], ids=str)
@pytest.mark.parametrize("source", [S32, S64, U32, U64], ids=str)
def test_integers_become_the_nearest_floats(source, target):
    mantissa = int(ml_dtypes.finfo(target.dtype).nmant)
    # Just above the precision: odd numbers are ties, which go to the even neighbour.
    values = [2 ** (mantissa + 1) + k for k in range(8)] + integers_of(source)
    limits = ml_dtypes.iinfo(source.dtype)
    values = [value for value in values if int(limits.min) <= value <= int(limits.max)]
    result = evaluate_operation("convert", array_of(values, source), shape=Shape(target, (len(values),)))
    for value, rounded in zip(values, result.tolist()):
        step = Fraction(math.ulp(float(value))) if target is F64 else Fraction(2) ** max(abs(value).bit_length() - 24, 0)
        assert abs(Fraction(rounded) - value) <= step / 2
        if abs(Fraction(rounded) - value) == step / 2:
            assert Fraction(rounded) / step % 2 == 0


def test_other_conversions():
    def convert(value, element_type):
        return evaluate_operation("convert", np.asarray(value), shape=Shape(element_type, np.shape(value)))

    assert_same(convert([0.0, -0.0, 0.5, NAN, -INF], PRED), np.array([False, False, True, True, True]))
    assert_same(convert([0, 256, -1], PRED), np.array([False, True, True]))
    assert_same(convert([True, False], F32), np.array([1, 0], np.float32))
    assert_same(convert([True, False], S8), np.array([1, 0], np.int8))
    assert_same(convert([1 + 2j, -3.75 - 1j], F32), np.array([1, -3.75], np.float32))
    assert_same(convert([300.5 + 2j, -3.75 - 1j], U8), np.array([255, 0], np.uint8))
    assert_same(convert([1.5, -2], C64), np.array([1.5, -2], np.complex64))
    assert_same(convert([65519.0, 65520.0, 2.0**-25, 2.0**-24], F16), np.array([65504, INF, 0, 2.0**-24], np.float16))


# --- reduce-precision ---


def reduced(value, exponent_bits, mantissa_bits, own):
    """The nearest number of the format, ties to even, exactly; zero below its normal numbers, infinity above all."""
    if value == 0 or not math.isfinite(value):
        return value
    info = ml_dtypes.finfo(own.dtype)
    own_exponent_bits = own.bits - 1 - int(info.nmant)
    magnitude = Fraction(abs(value))
    exponent = math.frexp(abs(value))[1] - 1
    lowest = 2 - 2 ** (own_exponent_bits - 1)
    step = Fraction(2) ** (max(exponent, lowest) - min(mantissa_bits, int(info.nmant)))
    rounded = round(magnitude / step) * step  # round() on fractions is to nearest even
    bias = 2 ** (min(exponent_bits, own_exponent_bits) - 1) - 1
    if rounded >= Fraction(2) ** (bias + 1):
        return math.copysign(INF, value)
    if exponent_bits < own_exponent_bits and rounded < Fraction(2) ** (1 - bias):
        return math.copysign(0.0, value)
    return math.copysign(float(rounded), value)


@pytest.mark.parametrize("mantissa_bits", [1, 2, 3, 7, 10, 23, 52])
@pytest.mark.parametrize("exponent_bits", [2, 4, 5, 8, 11])
@pytest.mark.parametrize("element_type", FLOAT_TYPES, ids=str)
def test_reduce_precision(element_type, exponent_bits, mantissa_bits):
    random = np.random.default_rng(exponent_bits * 64 + mantissa_bits)
    dtype = element_type.dtype
    x = random.integers(0, 256, 200 * dtype.itemsize, dtype=np.uint8).view(dtype)
    exponents, mantissas = (-1, 0, 1, 2, 3, 8, -6, -14, -15, -16, 15, 16), (1, 1.25, 1.5, 1.75, 1.9990234375)
    near_limits = [sign * 2.0**e * m for sign in (1, -1) for e in exponents for m in mantissas]
    x = np.concatenate([x, floats([0.0, -0.0, INF, -INF, NAN, *near_limits], element_type)])
    expected = [reduced(value, exponent_bits, mantissa_bits, element_type) for value in doubles(x)]
    result = evaluate_operation("reduce-precision", x, exponent_bits=exponent_bits, mantissa_bits=mantissa_bits)
    assert_same(result, floats(expected, element_type))


def test_reduce_precision_to_half_is_rounding_to_half():
    x = np.array([65504, 65519.996, 65520, 1.0009766, 1.00048828125, 1.0004883, 2.0**-14, 2.0**-15], np.float32)
    result = evaluate_operation("reduce-precision", x, exponent_bits=5, mantissa_bits=10)
    expected = floats(x, F16).astype(np.float32)
    expected[-1] = 0  # subnormal in half precision
    assert_same(result, expected)


# --- the rest of the language ---


def test_bitcasts():
    x = np.array([1.0, -0.0, np.inf], np.float32)
    bits = np.array([0x3F800000, 0x80000000, 0x7F800000], np.uint32)
    assert_same(evaluate_operation("bitcast-convert", x, shape=Shape(U32, (3,))), bits)
    halves = np.array([[0, 0x3F80], [0, 0x8000], [0, 0x7F80]], np.uint16)
    assert_same(evaluate_operation("bitcast-convert", x, shape=Shape(U16, (3, 2))), halves)
    assert_same(evaluate_operation("bitcast-convert", halves, shape=Shape(F32, (3,))), x)


def test_every_message_names_its_operation():
    for record in OPERATIONS.values():
        for sample in record.invalid_samples():
            with pytest.raises(ShapeError) as caught:
                one_instruction(record, sample)
            assert re.match(rf"{re.escape(record.opcode)}: ", str(caught.value))
