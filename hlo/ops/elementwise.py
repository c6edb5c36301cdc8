"""Elementwise operations: element i of the result is made of the elements i of the operands.

Source of the semantics: "Element-wise unary functions" and "Element-wise binary arithmetic operations" of XLA's Operation
Semantics. Where that page leaves a value to the implementation, the choice is XLA's on the CPU: integer division by zero gives
-1 (all bits set), its remainder the dividend; the quotient of the most negative integer and -1 is itself, the remainder 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import numpy as np

from ..element_type import (
    BF16,
    C64,
    C128,
    F16,
    F32,
    F64,
    PRED,
    S8,
    S16,
    S32,
    S64,
    U8,
    U16,
    U32,
    U64,
    ElementType,
    component_type,
)  # fmt: skip
from ..errors import require
from ..operation import (
    ASSOCIATIVE,
    COMMUTATIVE,
    ELEMENTWISE,
    SELECTING,
    TRANSCENDENTAL,
    Identity,
    InvalidSample,
    Operation,
    Sample,
    no_identity,
    operation,
)  # fmt: skip
from ..shape import AnyShape, Shape
from . import identities, numerics
from .constraints import require_kind, require_same_shape

INTEGERS = ("signed", "unsigned")
FLOATS = ("float", "complex")
NUMBERS = (*INTEGERS, *FLOATS)
ANY = ("pred", *NUMBERS)

_SAMPLE_TYPES = {
    "pred": (PRED,),
    "signed": (S8, S16, S32, S64),
    "unsigned": (U8, U16, U32, U64),
    "float": (BF16, F16, F32, F64),
    "complex": (C64, C128),
}
_SAMPLE_DIMENSIONS = ((), (7,), (3, 5), (0, 2), (1, 2, 1, 33))


def sample_types(kinds: tuple[str, ...]) -> list[ElementType]:
    return [element_type for kind in kinds for element_type in _SAMPLE_TYPES[kind]]


def elementwise_samples(arity: int, kinds: tuple[str, ...]) -> Iterator[Sample | InvalidSample]:
    for element_type, dimensions in product(sample_types(kinds), _SAMPLE_DIMENSIONS):
        yield Sample([Shape(element_type, dimensions)] * arity)
    for kind in (kind for kind in _SAMPLE_TYPES if kind not in kinds):
        yield InvalidSample([Shape(_SAMPLE_TYPES[kind][0], (3,))] * arity, {}, "must have a .* element type")
    if arity == 2:
        first = _SAMPLE_TYPES[kinds[0]][0]
        yield InvalidSample([Shape(first, (3,)), Shape(first, (4,))], {}, "must have the same shape")


INF, NAN = np.inf, np.nan


def _f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def _s32(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def _u8(*values: int) -> np.ndarray:
    return np.array(values, np.uint8)


def _unary(
    opcode: str,
    builder: str,
    meaning: str,
    kinds: tuple[str, ...],
    evaluate: Callable,
    result: Callable | None = None,
    *,
    example: tuple[np.ndarray, ...],
    traits: tuple[str, ...] = (),
    cost: float = 1.0,
    aliases: tuple[str, ...] = (),
) -> Operation:
    """Declare a unary operation; ``result`` maps the operand's element type to the result's, where they differ.

    ``example`` is an operand and the result, which is exact by the operation's definition.
    """

    def shape_function(operand: AnyShape) -> Shape:
        require_kind(opcode, "operand", operand, kinds)
        shape = operand.without_layout()
        return shape if result is None else shape.with_element_type(result(shape.element_type))

    shape_function.__doc__ = f"{builder}(operand): element by element, {meaning}."
    declare = operation(opcode, "operand", builder=builder, aliases=aliases, traits={ELEMENTWISE, *traits}, cost=cost)
    record = declare(shape_function)
    record.evaluation(numerics.in_wider_type(evaluate))
    record.sampling(lambda: [Sample([example[0]], expected=example[1]), *elementwise_samples(1, kinds)])
    return record


_BINARY_SHAPES = """Both operands have the same shape, which is the result's. The builder's method takes others too: it
broadcasts scalars, the operand of lower rank along ``broadcast_dimensions``, and dimensions of size 1."""


def _binary(
    opcode: str,
    builder: str,
    meaning: str,
    kinds: tuple[str, ...],
    evaluate: Callable,
    traits: tuple[str, ...] = (),
    identity: Identity = no_identity,
    *,
    example: tuple[np.ndarray, ...],
    cost: float = 1.0,
    aliases: tuple[str, ...] = (),
) -> Operation:
    def shape_function(lhs: AnyShape, rhs: AnyShape) -> Shape:
        require_kind(opcode, "lhs", lhs, kinds)
        return require_same_shape(opcode, lhs=lhs, rhs=rhs)

    shape_function.__doc__ = f"{builder}(lhs, rhs): element by element, {meaning}.\n\n{_BINARY_SHAPES}"
    facts = {"traits": {ELEMENTWISE, *traits}, "cost": cost, "identity": identity}
    declare = operation(opcode, "lhs", "rhs", builder=builder, aliases=aliases, **facts)
    record = declare(shape_function)
    record.evaluation(numerics.in_wider_type(evaluate))
    record.sampling(lambda: [Sample([*example[:2]], expected=example[2]), *elementwise_samples(2, kinds)])
    return record


# As long as most of them are.
_COST_OF_TRANSCENDENTAL = 20.0
_transcendental = partial(_unary, traits=(TRANSCENDENTAL,), cost=_COST_OF_TRANSCENDENTAL)

ABS = _unary(
    "abs", "Abs", "the absolute value; of the most negative integer, itself; of a complex number, its real modulus",
    NUMBERS, numerics.absolute, component_type, example=(_s32(-3, 0, 5), _s32(3, 0, 5)),
)  # fmt: skip
NEGATE = _unary(
    "negate", "Neg", "the negative; integers wrap",
    NUMBERS, np.negative, example=(_s32(1, -2), _s32(-1, 2)),
)  # fmt: skip
SIGN = _unary(
    "sign", "Sign", "-1, 0 or 1; keeps -0, +0 and NaN; of a complex number z/|z|, and 0 of 0",
    NUMBERS, numerics.sign, example=(_f32(-3, -0.0, 7), _f32(-1, -0.0, 1)),
)  # fmt: skip
EXPONENTIAL = _transcendental(
    "exponential", "Exp", "e to the power x",
    FLOATS, np.exp, example=(_f32(0, -INF, INF), _f32(1, 0, INF)),
)  # fmt: skip
EXPONENTIAL_MINUS_ONE = _transcendental(
    "exponential-minus-one", "Expm1", "e to the power x, minus 1, accurate near 0",
    FLOATS, numerics.exponential_minus_one, example=(_f32(0, -INF), _f32(0, -1)),
)  # fmt: skip
LOG = _transcendental(
    "log", "Log", "the natural logarithm",
    FLOATS, np.log, example=(_f32(1, 0, INF), _f32(0, -INF, INF)),
)  # fmt: skip
LOG_PLUS_ONE = _transcendental(
    "log-plus-one", "Log1p", "the natural logarithm of 1 + x, accurate near 0",
    FLOATS, numerics.log_plus_one, example=(_f32(0, -1), _f32(0, -INF)),
)  # fmt: skip
SQRT = _transcendental(
    "sqrt", "Sqrt", "the square root",
    FLOATS, np.sqrt, cost=6.0, aliases=("SqrtF32",), example=(_f32(4, 0.25, 0), _f32(2, 0.5, 0)),
)  # fmt: skip
RSQRT = _transcendental(
    "rsqrt", "Rsqrt", "1 / sqrt(x)",
    FLOATS, numerics.rsqrt, cost=10.0, example=(_f32(4, 0.25, 0), _f32(0.5, 2, INF)),
)  # fmt: skip
CBRT = _transcendental(
    "cbrt", "Cbrt", "the cube root, with the sign of x",
    ("float",), np.cbrt, example=(_f32(8, -1), _f32(2, -1)),
)  # fmt: skip
SINE = _transcendental(
    "sine", "Sin", "the sine of x in radians",
    FLOATS, np.sin, example=(_f32(0, -0.0), _f32(0, -0.0)),
)  # fmt: skip
COSINE = _transcendental(
    "cosine", "Cos", "the cosine of x in radians",
    FLOATS, np.cos, example=(_f32(0, -0.0), _f32(1, 1)),
)  # fmt: skip
TAN = _transcendental(
    "tan", "Tan", "the tangent of x in radians",
    FLOATS, np.tan, example=(_f32(0, -0.0), _f32(0, -0.0)),
)  # fmt: skip
ACOS = _transcendental(
    "acos", "Acos", "the angle in radians whose cosine is x, in [0, pi]",
    FLOATS, np.arccos, example=(_f32(1), _f32(0)),
)  # fmt: skip
ASIN = _transcendental(
    "asin", "Asin", "the angle in radians whose sine is x, in [-pi/2, pi/2]",
    FLOATS, np.arcsin, example=(_f32(0, -0.0), _f32(0, -0.0)),
)  # fmt: skip
ATAN = _transcendental(
    "atan", "Atan", "the angle in radians whose tangent is x, in [-pi/2, pi/2]",
    FLOATS, np.arctan, example=(_f32(0, -0.0), _f32(0, -0.0)),
)  # fmt: skip
COSH = _transcendental(
    "cosh", "Cosh", "the hyperbolic cosine",
    FLOATS, np.cosh, example=(_f32(0, -INF), _f32(1, INF)),
)  # fmt: skip
SINH = _transcendental(
    "sinh", "Sinh", "the hyperbolic sine",
    FLOATS, np.sinh, example=(_f32(0, -INF), _f32(0, -INF)),
)  # fmt: skip
TANH = _transcendental(
    "tanh", "Tanh", "the hyperbolic tangent",
    FLOATS, np.tanh, example=(_f32(0, INF, -INF), _f32(0, 1, -1)),
)  # fmt: skip
ACOSH = _transcendental(
    "acosh", "Acosh", "the number of nonnegative real part whose hyperbolic cosine is x",
    FLOATS, np.arccosh, example=(_f32(1, INF), _f32(0, INF)),
)  # fmt: skip
ASINH = _transcendental(
    "asinh", "Asinh", "the number whose hyperbolic sine is x",
    FLOATS, np.arcsinh, example=(_f32(0, -INF), _f32(0, -INF)),
)  # fmt: skip
ATANH = _transcendental(
    "atanh", "Atanh", "the number whose hyperbolic tangent is x",
    FLOATS, np.arctanh, example=(_f32(0, 1, -1), _f32(0, INF, -INF)),
)  # fmt: skip
LOGISTIC = _transcendental(
    "logistic", "Logistic", "1 / (1 + exp(-x))",
    FLOATS, numerics.logistic, example=(_f32(0, INF, -INF), _f32(0.5, 1, 0)),
)  # fmt: skip
ERF = _transcendental(
    "erf", "Erf", "the error function",
    ("float",), numerics.erf, example=(_f32(0, INF, -INF), _f32(0, 1, -1)),
)  # fmt: skip
CEIL = _unary(
    "ceil", "Ceil", "the least integer not below x",
    ("float",), np.ceil, example=(_f32(-1.5, 0.5, 2), _f32(-1, 1, 2)),
)  # fmt: skip
FLOOR = _unary(
    "floor", "Floor", "the greatest integer not above x",
    ("float",), np.floor, example=(_f32(-1.5, 0.5, 2), _f32(-2, 0, 2)),
)  # fmt: skip
ROUND = _unary(
    "round-nearest-afz", "Round", "the nearest integer, ties away from zero",
    ("float",), numerics.round_away_from_zero, example=(_f32(-1.5, 0.5, 2.5), _f32(-2, 1, 3)),
)  # fmt: skip
ROUND_NEAREST_EVEN = _unary(
    "round-nearest-even", "RoundNearestEven", "the nearest integer, ties to even",
    ("float",), np.rint, example=(_f32(-1.5, 0.5, 2.5), _f32(-2, 0, 2)),
)  # fmt: skip
_PARTS = np.array([1 + 2j, 3 - 4j], np.complex64)

REAL = _unary(
    "real", "Real", "the real part; of a real number, itself",
    FLOATS, np.real, component_type, example=(_PARTS, _f32(1, 3)),
)  # fmt: skip
IMAG = _unary(
    "imag", "Imag", "the imaginary part; of a real number, 0",
    FLOATS, np.imag, component_type, example=(_PARTS, _f32(2, -4)),
)  # fmt: skip
IS_FINITE = _unary(
    "is-finite", "IsFinite", "whether x is neither infinite nor NaN",
    ("float",), np.isfinite, lambda element_type: PRED, example=(_f32(1, INF, NAN), np.array([True, False, False])),
)  # fmt: skip
NOT = _unary(
    "not", "Not", "logical not of pred, bitwise not of integers",
    ("pred", *INTEGERS), np.invert, example=(_s32(0, 5), _s32(-1, -6)),
)  # fmt: skip
POPULATION_COUNT = _unary(
    "popcnt", "PopulationCount", "the number of bits set",
    INTEGERS, numerics.population_count, example=(_u8(0, 7, 255), _u8(0, 3, 8)),
)  # fmt: skip
COUNT_LEADING_ZEROS = _unary(
    "count-leading-zeros", "Clz", "the number of zero bits above the highest bit set",
    INTEGERS, numerics.count_leading_zeros, example=(_u8(0, 1, 255), _u8(8, 7, 0)),
)  # fmt: skip

_ALGEBRA = (COMMUTATIVE, ASSOCIATIVE)

ADD = _binary(
    "add", "Add", "the sum; integers wrap; of pred, logical or",
    ANY, np.add, _ALGEBRA, identities.of_sums,
    example=(np.array([100, 1], np.int8), np.array([100, 1], np.int8), np.array([-56, 2], np.int8)),
)  # fmt: skip
SUBTRACT = _binary(
    "subtract", "Sub", "the difference; integers wrap",
    NUMBERS, np.subtract, example=(_u8(1, 5), _u8(2, 3), _u8(255, 2)),
)  # fmt: skip
MULTIPLY = _binary(
    "multiply", "Mul", "the product; integers wrap; of pred, logical and",
    ANY, np.multiply, _ALGEBRA, identities.of_products, aliases=("SquareF32",), example=(_s32(2, -3), _s32(4, 5), _s32(8, -15)),
)  # fmt: skip
MULTIPLY_HIGH = _binary(
    "mulhi", "MulHi", "the high half of the product of two integers, which has twice their width",
    INTEGERS, numerics.multiply_high, (COMMUTATIVE,), example=(_s32(2**30, -1), _s32(8, 1), _s32(2, -1)),
)  # fmt: skip
DIVIDE = _binary(
    "divide", "Div",
    "the quotient; of integers, truncated towards zero; of complex infinities and by complex zero, as in C99 G.5.1",
    NUMBERS, numerics.divide, cost=6.0, aliases=("ReciprocalF32",), example=(_s32(7, -7, 1), _s32(2, 2, 0), _s32(3, -3, -1)),
)  # fmt: skip
REMAINDER = _binary(
    "remainder", "Rem", "what remains of the truncated quotient; it has the dividend's sign",
    (*INTEGERS, "float"), numerics.remainder, cost=10.0, example=(_s32(7, -7, 1), _s32(2, 2, 0), _s32(1, -1, 1)),
)  # fmt: skip
POWER = _binary(
    "power", "Pow", "lhs to the power rhs; of complex numbers, exp(rhs log(lhs)), a product for small whole exponents",
    NUMBERS, numerics.power, (TRANSCENDENTAL,), cost=_COST_OF_TRANSCENDENTAL,
    example=(_f32(2, 2, 9), _f32(3, -1, 0.5), _f32(8, 0.5, 3)),
)  # fmt: skip
MAXIMUM = _binary(
    "maximum", "Max", "the larger; NaN if either is; +0 is larger than -0",
    ("pred", *INTEGERS, "float"), numerics.maximum, (*_ALGEBRA, SELECTING), identities.of_maxima,
    example=(_f32(1, 2, -0.0), _f32(3, -1, 0), _f32(3, 2, 0)),
)  # fmt: skip
MINIMUM = _binary(
    "minimum", "Min", "the smaller; NaN if either is; -0 is smaller than +0",
    ("pred", *INTEGERS, "float"), numerics.minimum, (*_ALGEBRA, SELECTING), identities.of_minima,
    example=(_f32(1, 2, -0.0), _f32(3, -1, 0), _f32(1, -1, -0.0)),
)  # fmt: skip
ATAN2 = _binary(
    "atan2", "Atan2", "the angle of the point (rhs, lhs) in radians; of complex y and x, -i log((x + iy) / sqrt(x**2 + y**2))",
    FLOATS, numerics.atan2, (TRANSCENDENTAL,), cost=_COST_OF_TRANSCENDENTAL,
    example=(_f32(0, 0, -0.0), _f32(1, -1, -1), _f32(0, np.pi, -np.pi)),
)  # fmt: skip
AND = _binary(
    "and", "And", "logical and of pred, bitwise and of integers",
    ("pred", *INTEGERS), np.bitwise_and, _ALGEBRA, identities.of_conjunctions, example=(_s32(12, -1), _s32(10, 7), _s32(8, 7)),
)  # fmt: skip
OR = _binary(
    "or", "Or", "logical or of pred, bitwise or of integers",
    ("pred", *INTEGERS), np.bitwise_or, _ALGEBRA, identities.of_disjunctions, example=(_s32(12, -1), _s32(10, 7), _s32(14, -1)),
)  # fmt: skip
XOR = _binary(
    "xor", "Xor", "logical exclusive or of pred, bitwise of integers",
    ("pred", *INTEGERS), np.bitwise_xor, _ALGEBRA, identities.of_disjunctions, example=(_s32(12, -1), _s32(10, 7), _s32(6, -8)),
)  # fmt: skip
SHIFT_LEFT = _binary(
    "shift-left", "ShiftLeft", "lhs shifted left by rhs bits; 0 where rhs is not below the width",
    INTEGERS, numerics.shift_left, example=(_s32(1, 1, 1), _s32(3, 31, 32), _s32(8, -(2**31), 0)),
)  # fmt: skip
SHIFT_RIGHT_ARITHMETIC = _binary(
    "shift-right-arithmetic", "ShiftRightArithmetic",
    "lhs shifted right by rhs bits, filled with the sign; all sign where rhs is not below the width",
    INTEGERS, numerics.shift_right_arithmetic, example=(_s32(-8, -8), _s32(1, 40), _s32(-4, -1)),
)  # fmt: skip
SHIFT_RIGHT_LOGICAL = _binary(
    "shift-right-logical", "ShiftRightLogical",
    "lhs shifted right by rhs bits, filled with zeros; 0 where rhs is not below the width",
    INTEGERS, numerics.shift_right_logical, example=(_s32(-8, -8), _s32(1, 40), _s32(2**31 - 4, 0)),
)  # fmt: skip


@operation("complex", "real", "imag", builder="Complex", aliases=("Conj",), traits={ELEMENTWISE})
def complex_(real, imag):
    """Complex(real, imag): the complex number with these parts, element by element.

    Parts of type f32 make numbers of type c64, those of f64 c128. Both have the same shape.
    """
    require_kind("complex", "real", real, ("float",))
    shape = require_same_shape("complex", real=real, imag=imag)
    require(shape.element_type in (F32, F64), f"complex: parts must be f32 or f64, got {shape}")
    return shape.with_element_type(C64 if shape.element_type is F32 else C128)


@complex_.evaluation
def _(real, imag):
    return numerics.complex_of(real, imag)


@complex_.sampling
def _():
    parts = [np.array([1, 3], np.float32), np.array([2, -4], np.float32)]
    yield Sample(parts, expected=np.array([1 + 2j, 3 - 4j], np.complex64))
    yield from (Sample([Shape(t, d), Shape(t, d)]) for t in (F32, F64) for d in _SAMPLE_DIMENSIONS)
    yield InvalidSample([Shape(F16), Shape(F16)], {}, "parts must be f32 or f64")
    yield InvalidSample([Shape(F32), Shape(F64)], {}, "must have the same shape")
