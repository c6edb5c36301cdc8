"""Floats of 4 and 8 bits, integers of 2 and 4 bits in native code: exhaustively against ml_dtypes and against the reference."""

import ml_dtypes
import numpy as np
import pytest
from phlox.backends.registry import get_backend
from phlox.hlo import (
    BF16,
    C64,
    F16,
    F32,
    F64,
    OPERATIONS,
    PRED,
    S8,
    S16,
    S32,
    S64,
    U8,
    U16,
    U32,
    U64,
    Shape,
    evaluate,
    evaluate_operation,
    scalar_computation,
)
from phlox.hlo.element_type import ELEMENT_TYPES
from phlox.xla_builder import XlaBuilder

FLOATS = [t for t in ELEMENT_TYPES.values() if t.is_float and t.bits <= 8]
INTEGERS = [ELEMENT_TYPES[n] for n in ("s2", "s4", "u2", "u4")]
of_float = pytest.mark.parametrize("element_type", FLOATS, ids=str)
of_integer = pytest.mark.parametrize("element_type", INTEGERS, ids=str)
of_any = pytest.mark.parametrize("element_type", FLOATS + INTEGERS, ids=str)


def every_value(element_type):
    """One element for each code of the type."""
    return np.arange(2**element_type.bits, dtype=np.uint8).view(element_type.dtype)


def codes(array):
    """The bytes that hold the elements."""
    return np.asarray(array).view(np.uint8)


def wide(array):
    with np.errstate(invalid="ignore"):
        return np.asarray(array).astype(np.float64)


def assert_same(actual, expected, message=""):
    """Equal codes, but for the payloads of NaN."""
    assert actual.dtype == expected.dtype
    if expected.dtype.kind in "iub":
        np.testing.assert_array_equal(actual, expected, err_msg=message)
        return
    numbers = ~np.isnan(wide(expected))
    np.testing.assert_array_equal(np.isnan(wide(actual)), ~numbers, err_msg=message)
    np.testing.assert_array_equal(wide(actual)[numbers], wide(expected)[numbers], err_msg=message)
    np.testing.assert_array_equal(np.signbit(wide(actual)[numbers]), np.signbit(wide(expected)[numbers]), err_msg=message)


def elementwise_module(opcode, element_type, size, arity, result=None, **attributes):
    b = XlaBuilder(opcode)
    operands = [b.parameter(Shape(element_type, (size,))) for _ in range(arity)]
    shape = None if result is None else Shape(result, (size,))
    return b.build_module(b.emit(opcode, *operands, shape=shape, **attributes))


def run(module, *arguments):
    results = get_backend("cpu").compile(module)(*arguments)
    return results if len(results) > 1 else results[0]


def convert(array, source, target):
    """By native code."""
    return convert_to_all(array, source, [target])[0]


def convert_to_all(array, source, targets):
    """The array in each of the types, by one native function."""
    b = XlaBuilder("conversions")
    x = b.parameter(Shape(source, array.shape))
    results = [b.emit("convert", x, shape=Shape(target, array.shape)) for target in targets]
    return get_backend("cpu").compile(b.build_module(b.emit("tuple", *results)))(array)


def convert_all(sources, target):
    """Each of the arrays, given with their types, in the type, by one native function."""
    b = XlaBuilder("conversions")
    parameters = [b.parameter(Shape(source, array.shape)) for source, array in sources]
    results = [b.emit("convert", x, shape=x.shape.with_element_type(target)) for x in parameters]
    return get_backend("cpu").compile(b.build_module(b.emit("tuple", *results)))(*(array for _, array in sources))


# --- conversions ---


@of_float
def test_every_value_as_wider_floats_and_back(element_type):
    values = every_value(element_type)
    # Powers of two are beyond the range of f16; the rounding is tested below.
    targets = (BF16, F32, F64) if element_type.name == "f8e8m0fnu" else (BF16, F16, F32, F64)
    results = convert_to_all(values, element_type, targets)
    back = convert_all(list(zip(targets, results)), element_type)
    for target, result, again in zip(targets, results, back):
        assert_same(result, values.astype(np.float32).astype(target.dtype), str(target))
        assert_same(again, values, str(target))


def neighbours(element_type):
    """Floats of f64 in and around every number of the type, the middles between them, and beyond the largest and smallest."""
    numbers = wide(every_value(element_type))
    numbers = np.unique(numbers[np.isfinite(numbers)])
    points = np.concatenate([numbers, (numbers[1:] + numbers[:-1]) / 2, 2 * numbers, numbers / 2, numbers * 1.5])
    points = np.concatenate([points, [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-300, -1e-300, 1e300, -1e300, 5e-324]])
    with np.errstate(over="ignore", invalid="ignore"):
        moved = [points * (1 + factor) for factor in (0, 2.0**-50, -(2.0**-50), 2.0**-20, -(2.0**-20), 2.0**-7, -(2.0**-7))]
    return np.concatenate(moved)


def nearest(element_type, values):
    """The codes of numbers rounded to nearest, ties to even codes (of powers of two: up); -1 stands for NaN.

    The middle between two numbers of a type is a float of f64, so the comparisons are exact. Too large is what would be
    rounded to the number that follows the largest one, if there were one.
    """
    has_zero = element_type.name != "f8e8m0fnu"
    half = 1 << (element_type.bits - 1) if has_zero else 256
    magnitudes = wide(every_value(element_type))[:half]
    magnitudes = magnitudes[np.isfinite(magnitudes)]  # ascending, with their codes 0, 1, ...
    following = 2 * magnitudes[-1] - magnitudes[-2] if has_zero else 2 * magnitudes[-1]
    extended = np.append(magnitudes, following)
    middles = (extended[1:] + extended[:-1]) / 2
    code = np.searchsorted(middles, np.abs(values))
    tie = np.isin(np.abs(values), middles)
    code = code + (tie & ((code % 2 == 1) | (not has_zero)))
    has_infinity = np.isinf(wide(every_value(element_type))).any()
    saturated = len(magnitudes) - 1 if element_type.name == "f4e2m1fn" else len(magnitudes) if has_infinity else -1
    code = np.where(code >= len(magnitudes), saturated, code)
    if not has_zero:
        return np.where(values > 0, code, -1)
    signed = np.where((code >= 0) & np.signbit(values), code | half, code)
    return np.where(code == 0, 0, signed) if element_type.name.endswith("fnuz") else signed


@of_float
def test_rounding_is_exact(element_type):
    """From f64 and f32, native code and reference, against exact arithmetic."""
    points = neighbours(element_type)
    points = points[~np.isnan(points)]
    with np.errstate(over="ignore"):
        singles = points.astype(np.float32)
    sources = [(F64, points), (F32, singles)]
    for (_, values), native in zip(sources, convert_all(sources, element_type)):
        expected = nearest(element_type, values.astype(np.float64))
        reference = evaluate_operation("convert", values, shape=Shape(element_type, values.shape))
        for result in (native, reference):
            found = np.where(np.isnan(wide(result)), -1, codes(result).astype(int))
            np.testing.assert_array_equal(found, expected)


@of_float
def test_what_ml_dtypes_rounds_once_agrees_with_it(element_type):
    """f32, f16, bf16 and integers of up to 16 bits, which all pass through float32 unchanged."""
    random = np.random.default_rng(3)
    with np.errstate(all="ignore"):
        singles = np.concatenate([neighbours(element_type).astype(np.float32), random.normal(size=3000).astype(np.float32)])
        singles = np.concatenate([singles, random.integers(0, 2**32, 5000, dtype=np.uint32).view(np.float32)])
        if element_type.name == "f8e8m0fnu":  # ml_dtypes is wrong between the two smallest powers
            singles = singles[~((np.abs(singles) > 2.0**-127) & (np.abs(singles) < 2.0**-126))]
        sources = [(F32, singles), (F16, singles.astype(np.float16)), (BF16, singles.astype(ml_dtypes.bfloat16))]
    for source in (S8, U8, S16, U16):
        limits = np.iinfo(source.dtype)
        sources.append((source, np.arange(limits.min, limits.max + 1, 1 + (source.bits == 16) * 7).astype(source.dtype)))
    for (source, values), result in zip(sources, convert_all(sources, element_type)):
        with np.errstate(all="ignore"):
            expected = values.astype(np.float32).astype(element_type.dtype)
        if element_type.name == "f4e2m1fn":
            expected = np.where(np.isnan(wide(values)), expected.dtype.type(-0.0), expected)
        assert_same(result, expected, str(source))


@pytest.mark.parametrize("element_type", [*FLOATS, BF16], ids=str)
def test_large_integers_are_rounded_once(element_type):
    mantissas, exponents = (1.5, 1.125, 1.0625, 1.00390625, 1.01171875), range(23, 62)
    middles = [int(mantissa * 2**e) + d for mantissa in mantissas for e in exponents for d in (-1, 0, 1)]
    signed, sources = [sign * middle for sign in (1, -1) for middle in middles], []
    for source in (S64, U64, S32, U32):
        limits = np.iinfo(source.dtype)
        sources.append((source, np.array([v for v in signed if limits.min <= v <= limits.max], source.dtype)))
    for (source, values), result in zip(sources, convert_all(sources, element_type)):
        actual = wide(result)
        reference = wide(evaluate_operation("convert", values, shape=Shape(element_type, values.shape)))
        np.testing.assert_array_equal(actual, reference, err_msg=str(source))
        if element_type is BF16:
            for value, result in zip(values.tolist(), actual.tolist()):
                step = 2 ** (abs(value).bit_length() - 8)
                assert abs(int(result) - value) * 2 <= step


@of_any
def test_conversions_to_integers_saturate(element_type):
    values = every_value(element_type)
    targets = (S8, U8, S32, U64, *INTEGERS)
    for target, result in zip(targets, convert_to_all(values, element_type, targets)):
        assert_same(result, evaluate_operation("convert", values, shape=Shape(target, values.shape)), str(target))
        if element_type.is_float:
            low, high = int(ml_dtypes.iinfo(target.dtype).min), int(ml_dtypes.iinfo(target.dtype).max)
            for value, integer in zip(wide(values).tolist(), result.tolist()):
                whole = int(np.clip(value, -(2.0**70), 2.0**70)) if not np.isnan(value) else 0
                assert int(integer) == max(low, min(high, whole))


@of_integer
def test_every_integer_converts_to_every_type(element_type):
    values = every_value(element_type)
    wanted = [int(value) for value in values]
    targets = (S8, U16, S32, S64, F16, BF16, F32, F64, *INTEGERS, ELEMENT_TYPES["f8e5m2"], ELEMENT_TYPES["f4e2m1fn"])
    for target, result in zip(targets, convert_to_all(values, element_type, targets)):
        assert_same(result, np.array(wanted).astype(target.dtype), str(target))
    np.testing.assert_array_equal(convert(values, element_type, C64), np.array(wanted, np.complex64))
    np.testing.assert_array_equal(convert(values, element_type, PRED), np.array(wanted) != 0)
    sources = [(source, np.arange(-40, 40).astype(source.dtype)) for source in (S8, U8, S32, S64, U64)]
    for (source, numbers), result in zip(sources, convert_all(sources, element_type)):
        assert_same(result, numbers.astype(np.int8).astype(element_type.dtype), str(source))
    numbers = np.array([-1e9, -9, -8.5, -2.5, -1, -0.5, 0.99, 1.5, 2.9, 7.5, 8, 15.9, 16, 1e9, np.inf, -np.inf, np.nan])
    low, high = int(ml_dtypes.iinfo(element_type.dtype).min), int(ml_dtypes.iinfo(element_type.dtype).max)
    expected = np.clip(np.trunc(np.nan_to_num(numbers)), low, high).astype(np.int8).astype(element_type.dtype)
    assert_same(convert(numbers, F64, element_type), expected)


# --- arithmetic ---

FLOAT_BINARY = "add subtract multiply divide maximum minimum remainder".split()
INTEGER_BINARY = (
    "add subtract multiply divide remainder power maximum minimum and or xor mulhi "
    "shift-left shift-right-arithmetic shift-right-logical"
).split()
FLOAT_UNARY = "abs negate sign ceil floor round-nearest-afz round-nearest-even sqrt is-finite exponential tanh".split()
INTEGER_UNARY = "abs negate sign not popcnt count-leading-zeros".split()


def results_of_all(opcodes, element_type, operands):
    """{opcode: native result}, all in one function."""
    b = XlaBuilder("all")
    parameters = [b.parameter(Shape(element_type, operand.shape)) for operand in operands]
    root = b.emit("tuple", *(b.emit(opcode, *parameters) for opcode in opcodes))
    return dict(zip(opcodes, get_backend("cpu").compile(b.build_module(root))(*operands)))


def check_all(opcodes, element_type, operands):
    for opcode, result in results_of_all(opcodes, element_type, operands).items():
        expected = np.asarray(evaluate_operation(opcode, *operands))
        if opcode in ("exponential", "tanh"):  # computed in f32 on both sides, to within an ULP of that
            close = np.abs(codes(result).astype(int) - codes(expected)) <= 1
            assert np.all(close | np.isnan(wide(expected)) & np.isnan(wide(result))), opcode
        elif element_type.name == "f4e2m1fn" and opcode in ("divide", "remainder"):
            assert_same(result, expected, opcode)
        else:
            assert_same(result, expected, opcode)


def all_pairs(element_type):
    values = every_value(element_type)
    return np.repeat(values, len(values)), np.tile(values, len(values))


@of_float
def test_all_pairs_of_floats(element_type):
    """Also as the exact result rounded once, for sums and products."""
    operands = all_pairs(element_type)
    check_all(FLOAT_BINARY, element_type, operands)
    x, y = map(wide, operands)
    results = results_of_all(["add", "multiply"], element_type, operands)
    with np.errstate(all="ignore"):
        for opcode, exact in (("add", x + y), ("multiply", x * y)):  # exact in f64, but for the sums of distant powers of two
            if element_type.name == "f8e8m0fnu":
                exact = exact.astype(np.float32)  # in which products underflow to 0, which this type does not have
            expected = evaluate_operation("convert", exact, shape=Shape(element_type, exact.shape))
            assert_same(results[opcode], expected, opcode)


@of_integer
def test_all_pairs_of_integers(element_type):
    check_all(INTEGER_BINARY, element_type, all_pairs(element_type))


@of_any
def test_unary_functions_of_every_value(element_type):
    check_all(FLOAT_UNARY if element_type.is_float else INTEGER_UNARY, element_type, [every_value(element_type)])


@of_any
def test_comparisons_of_all_pairs(element_type):
    lhs, rhs = all_pairs(element_type)
    types = ("FLOAT", "TOTALORDER") if element_type.is_float else ("",)
    b = XlaBuilder("comparisons")
    x, y = (b.parameter(Shape(element_type, lhs.shape)) for _ in range(2))
    cases = [(d, t) for d in ("EQ", "NE", "GE", "GT", "LE", "LT") for t in types]
    root = b.emit("tuple", *(b.emit("compare", x, y, direction=d, type=t) for d, t in cases))
    results = get_backend("cpu").compile(b.build_module(root))(lhs, rhs)
    for (direction, type_), result in zip(cases, results):
        expected = evaluate_operation("compare", lhs, rhs, direction=direction, type=type_)
        np.testing.assert_array_equal(result, expected, err_msg=f"{direction} {type_}")


@of_float
def test_total_order_is_that_of_the_numbers(element_type):
    """NaN without a sign, or with a positive one, comes last, and zeros in order."""
    values = every_value(element_type)
    order = sorted(
        values,
        key=lambda v: int(
            evaluate_operation("compare", values, np.full_like(values, v), direction="LT", type="TOTALORDER").sum()
        ),
    )
    numbers = [float(v) for v in order if np.isfinite(float(v))]
    assert numbers == sorted(numbers)
    if np.isnan(wide(values)).any():
        assert np.isnan(float(order[-1]))


@of_any
def test_select_and_clamp(element_type):
    values = every_value(element_type)
    b = XlaBuilder("f")
    x = b.parameter(Shape(element_type, values.shape))
    p = b.parameter(Shape(PRED, values.shape))
    low, high = b.parameter(Shape(element_type)), b.parameter(Shape(element_type))
    module = b.build_module(b.emit("tuple", b.Select(p, x, b.Rev(x, dimensions=(0,))), b.emit("clamp", low, x, high)))
    chosen = np.arange(len(values)) % 3 == 0
    bounds = [np.array(value).astype(element_type.dtype) for value in ((1, 3) if element_type.name != "s2" else (-1, 1))]
    selected, clamped = get_backend("cpu").compile(module)(values, chosen, *bounds)
    np.testing.assert_array_equal(codes(selected), np.where(chosen, codes(values), codes(values)[::-1]))
    assert_same(clamped, evaluate_operation("clamp", bounds[0], values, bounds[1]))


@of_float
def test_reduce_precision(element_type):
    values = every_value(element_type)
    for exponent_bits, mantissa_bits in ((2, 1), (4, 1), (3, 2), (5, 0), (8, 7)):
        attributes = {"exponent_bits": exponent_bits, "mantissa_bits": mantissa_bits}
        result = run(elementwise_module("reduce-precision", element_type, len(values), 1, **attributes), values)
        assert_same(result, np.asarray(evaluate_operation("reduce-precision", values, **attributes)), str(attributes))


def test_reduce_precision_of_subnormal_numbers():
    """In f16 they are multiples of 2**-24; with three bits less, of 2**-21."""
    values = np.arange(1024, dtype=np.uint16).view(np.float16)
    module = elementwise_module("reduce-precision", F16, len(values), 1, exponent_bits=8, mantissa_bits=7)
    expected = np.rint(values.astype(np.float64) * 2.0**21) / 2.0**21
    np.testing.assert_array_equal(run(module, values), expected.astype(np.float16))


# --- arrays ---


@of_any
def test_movement_keeps_every_code(element_type):
    """Payloads of NaN too, through loads, stores and vectors."""
    values = every_value(element_type)
    rows = 4 if element_type.bits > 2 else 2
    b = XlaBuilder("moved")
    x = b.Reshape(b.parameter(Shape(element_type, values.shape)), (rows, -1 % (len(values) // rows + 1)))
    moved = b.emit("transpose", b.Rev(x, dimensions=(0, 1)), dimensions=(1, 0))
    module = b.build_module(b.ConcatInDim([moved, moved], 1))
    (result,) = get_backend("cpu").compile(module)(values)
    expected = codes(values).reshape(rows, -1)[::-1, ::-1].T
    np.testing.assert_array_equal(codes(result), np.concatenate([expected, expected], axis=1))


@of_any
def test_constants_iota_and_scalars(element_type):
    values = every_value(element_type)
    b = XlaBuilder("f")
    iota = b.emit("iota", shape=Shape(element_type, (37,)), iota_dimension=0)
    literal = b.emit("constant", literal=values)
    scalar = b.parameter(Shape(element_type))
    module = b.build_module(b.emit("tuple", literal, iota, b.Add(scalar, b.constant(values[1])), b.Broadcast(scalar, (5,))))
    executable = get_backend("cpu").compile(module)
    for value in values[:: max(1, len(values) // 16)]:
        constants, counted, total, repeated = executable(np.array(value))
        np.testing.assert_array_equal(codes(constants), codes(values))
        assert_same(counted, np.asarray(evaluate_operation("iota", shape=Shape(element_type, (37,)), iota_dimension=0)))
        assert_same(np.asarray(total), np.asarray(evaluate_operation("add", np.array(value), values[1])))
        np.testing.assert_array_equal(codes(repeated), np.repeat(codes(value), 5))


@of_integer
def test_unused_bits_do_not_count(element_type):
    """Integers of ml_dtypes may have any bits above their own."""
    dirty = np.arange(256, dtype=np.uint8)
    b = XlaBuilder("f")
    x = b.parameter(Shape(element_type, (256,)))
    one = b.Broadcast(b.constant(np.ones((), np.int8).astype(element_type.dtype)), (256,))
    result = run(b.build_module(b.Xor(x, one)), dirty.view(element_type.dtype))
    np.testing.assert_array_equal(codes(result), (dirty ^ 1) & (2**element_type.bits - 1))


@of_any
def test_reductions_and_contractions(element_type):
    """On small values, whose sums are exact in any order."""
    random = np.random.default_rng(1)
    choices = {"f8e8m0fnu": [1], "u2": [0, 1], "u4": [0, 1], "s2": [0, 1, -1], "f4e2m1fn": [0, 1, -1]}
    picked = random.choice(choices.get(element_type.name, [0, 1, -1, 0, 0]), (9, 4)).astype(np.float32)
    picked[3:] = 1 if element_type.name == "f8e8m0fnu" else 0
    x = picked.astype(np.int8).astype(element_type.dtype) if element_type.is_integer else picked.astype(element_type.dtype)
    one = np.ones((), np.int8).astype(element_type.dtype)
    b = XlaBuilder("f")
    p = b.parameter(Shape(element_type, x.shape))
    init = b.constant(one)
    results = [
        b.Reduce(p, init, scalar_computation(opcode, element_type), dimensions)
        for opcode in ("multiply", "maximum", "minimum")
        for dimensions in ((0,), (1,), (0, 1))
    ]
    if element_type.name != "f8e8m0fnu":
        results += [b.Reduce(p, init, scalar_computation("add", element_type), (1,)), b.Dot(b.Trans(p), p)]
        results += [
            b.DotGeneral(
                b.Trans(p),
                p,
                F32 if element_type.is_float else S32,
                lhs_contracting_dimensions=(1,),
                rhs_contracting_dimensions=(0,),
            )
        ]
    module = b.build_module(b.emit("tuple", *results))
    actual = get_backend("cpu").compile(module)(x)
    for mine, wanted in zip(actual, evaluate(module.entry, x)):
        if np.asarray(wanted).dtype == element_type.dtype:
            assert_same(np.asarray(mine), np.asarray(wanted))
        else:
            np.testing.assert_array_equal(mine, wanted)


@of_any
@pytest.mark.parametrize("descending", [False, True])
def test_sort(element_type, descending):
    values = np.random.default_rng(5).permutation(every_value(element_type))
    values = values[np.arange(300) % len(values)]
    b = XlaBuilder("f")
    c = XlaBuilder("comparator")
    first, second = (c.parameter(Shape(element_type), name) for name in "ab")
    type_ = "TOTALORDER" if element_type.is_float else ""
    comparator = c.build(c.Compare(first, second, "GT" if descending else "LT", type_))
    x = b.parameter(Shape(element_type, values.shape))
    module = b.build_module(b.Sort(x, comparator, is_stable=True))
    np.testing.assert_array_equal(codes(run(module, values)), codes(evaluate(module.entry, values)))


WIDTHS = [
    ("s8", "s4", 2), ("u8", "u2", 4), ("f8e4m3fn", "f4e2m1fn", 2), ("f32", "u4", 8), ("s16", "s2", 8), ("u4", "u2", 2),
    ("f64", "f4e2m1fn", 16), ("f16", "f8e5m2", 2), ("s4", "u4", 1), ("f4e2m1fn", "s4", 1), ("f8e5m2", "u8", 1),
]  # fmt: skip


@pytest.mark.parametrize(("large", "small", "ratio"), WIDTHS)
def test_bitcast_convert(large, small, ratio):
    """The first small element holds the lowest bits; expected values from Python's integers."""
    large, small = ELEMENT_TYPES[large], ELEMENT_TYPES[small]
    bits = np.random.default_rng(2).integers(0, 2 ** min(large.bits, 62), 33, dtype=np.uint64)
    values = bits.astype(f"u{large.byte_size}").view(large.dtype)
    parts = [[int(b) >> (i * small.bits) & (2**small.bits - 1) for i in range(ratio)] for b in bits]
    dimensions = (33, ratio) if ratio > 1 else (33,)
    parts = np.array(parts, np.uint64).astype(f"u{small.byte_size}").reshape(dimensions).view(small.dtype)
    for source, target, before, after in ((large, small, values, parts), (small, large, parts, values)):
        b = XlaBuilder("f")
        module = b.build_module(b.BitcastConvertType(b.parameter(Shape(source, before.shape)), target))
        assert module.entry.shape == Shape(target, after.shape)
        for result in (run(module, before), np.asarray(evaluate(module.entry, before))):
            assert result.tobytes() == after.tobytes()


def test_every_elementwise_operation_has_native_code_for_small_types():
    """Whatever takes a float or an integer takes the small ones: none refuses."""
    b = XlaBuilder("f")
    results = []
    for opcode, record in OPERATIONS.items():
        if "elementwise" not in record.traits or record.attributes or opcode in ("complex", "convert", "stochastic-convert"):
            continue
        kinds = {sample.operands[0].element_type.kind for sample in record.samples() if isinstance(sample.operands[0], Shape)}
        for element_type in (ELEMENT_TYPES["f8e4m3"], ELEMENT_TYPES["s4"]):
            if element_type.kind in kinds:
                results.append(b.emit(opcode, *(b.parameter(Shape(element_type, (5,))) for _ in record.operand_names)))
    assert len(results) > 60
    get_backend("cpu").compile(b.build_module(b.emit("tuple", *results)))
