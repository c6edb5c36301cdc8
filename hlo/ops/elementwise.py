"""Elementwise operations: element i of the result is made of the elements i of the operands.

Source of the semantics: "Element-wise unary functions", "Element-wise binary arithmetic operations", "Element-wise comparison
operations", "Clamp", "Select" and "ConvertElementType" of XLA's Operation Semantics. Where that page leaves a value to the
implementation, the choice is XLA's on the CPU: integer division by zero gives -1 (all bits set), its remainder the dividend;
the quotient of the most negative integer and -1 is itself, the remainder 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import numpy as np

from ..attributes import Choice, Integer
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
    element_type_of,
)  # fmt: skip
from ..errors import require
from ..operation import (
    ACTUAL_SIZES,
    ASSOCIATIVE,
    COMMUTATIVE,
    ELEMENTWISE,
    FOLDABLE,
    TRANSCENDENTAL,
    Identity,
    InvalidSample,
    Operation,
    Sample,
    no_identity,
    operation,
)  # fmt: skip
from ..shape import AnyShape, Shape, TupleShape
from . import identities, numerics
from .constraints import (
    PRED_SCALAR,
    require_array,
    require_kind,
    require_same_shape,
    require_static,
    with_dynamic_dimensions_of,
)
from .elementwise_examples import elementwise_example
from .elementwise_meanings import BINARY_MEANINGS, BINARY_SHAPES, UNARY_MEANINGS

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


def _elementwise_samples(arity: int, kinds: tuple[str, ...]) -> Iterator[Sample | InvalidSample]:
    for element_type, dimensions in product(sample_types(kinds), _SAMPLE_DIMENSIONS):
        yield Sample([Shape(element_type, dimensions)] * arity)
    for kind in (kind for kind in _SAMPLE_TYPES if kind not in kinds):
        yield InvalidSample([Shape(_SAMPLE_TYPES[kind][0], (3,))] * arity, {}, "must have a .* element type")
    if arity == 2:
        first = _SAMPLE_TYPES[kinds[0]][0]
        yield InvalidSample([Shape(first, (3,)), Shape(first, (4,))], {}, "must have the same shape")


def _unary(
    opcode: str,
    builder: str,
    kinds: tuple[str, ...],
    evaluate: Callable,
    result: Callable | None = None,
    traits: tuple[str, ...] = (),
    cost: float = 1.0,
    aliases: tuple[str, ...] = (),
) -> Operation:
    """Declare a unary operation; ``result`` maps the operand's element type to the result's, where they differ."""

    def shape_function(operand: AnyShape) -> Shape:
        require_kind(opcode, "operand", operand, kinds)
        shape = operand.without_layout()
        return shape if result is None else shape.with_element_type(result(shape.element_type))

    shape_function.__doc__ = f"{builder}(operand): element by element, {UNARY_MEANINGS[opcode]}."
    declare = operation(opcode, "operand", builder=builder, aliases=aliases, traits={ELEMENTWISE, *traits}, cost=cost)
    record = declare(shape_function)
    record.evaluation(numerics.in_wider_type(evaluate))
    record.sampling(lambda: [elementwise_example(opcode), *_elementwise_samples(1, kinds)])
    return record


def _binary(
    opcode: str,
    builder: str,
    kinds: tuple[str, ...],
    evaluate: Callable,
    traits: tuple[str, ...] = (),
    identity: Identity = no_identity,
    cost: float = 1.0,
    aliases: tuple[str, ...] = (),
) -> Operation:
    def shape_function(lhs: AnyShape, rhs: AnyShape) -> Shape:
        require_kind(opcode, "lhs", lhs, kinds)
        return require_same_shape(opcode, lhs=lhs, rhs=rhs)

    shape_function.__doc__ = f"{builder}(lhs, rhs): element by element, {BINARY_MEANINGS[opcode]}.\n\n{BINARY_SHAPES}"
    facts = {"traits": {ELEMENTWISE, *traits}, "cost": cost, "identity": identity}
    declare = operation(opcode, "lhs", "rhs", builder=builder, aliases=aliases, **facts)
    record = declare(shape_function)
    record.evaluation(numerics.in_wider_type(evaluate))
    record.sampling(lambda: [elementwise_example(opcode), *_elementwise_samples(2, kinds)])
    return record


# As long as most of them are.
_COST_OF_TRANSCENDENTAL = 20.0
_transcendental = partial(_unary, traits=(TRANSCENDENTAL,), cost=_COST_OF_TRANSCENDENTAL)

ABS = _unary("abs", "Abs", NUMBERS, numerics.absolute, component_type)
NEGATE = _unary("negate", "Neg", NUMBERS, np.negative)
SIGN = _unary("sign", "Sign", NUMBERS, numerics.sign)
EXPONENTIAL = _transcendental("exponential", "Exp", FLOATS, np.exp)
EXPONENTIAL_MINUS_ONE = _transcendental("exponential-minus-one", "Expm1", FLOATS, numerics.exponential_minus_one)
LOG = _transcendental("log", "Log", FLOATS, np.log)
LOG_PLUS_ONE = _transcendental("log-plus-one", "Log1p", FLOATS, numerics.log_plus_one)
SQRT = _transcendental("sqrt", "Sqrt", FLOATS, np.sqrt, cost=6.0, aliases=("SqrtF32",))
RSQRT = _transcendental("rsqrt", "Rsqrt", FLOATS, numerics.rsqrt, cost=10.0)
CBRT = _transcendental("cbrt", "Cbrt", ("float",), np.cbrt)
SINE = _transcendental("sine", "Sin", FLOATS, np.sin)
COSINE = _transcendental("cosine", "Cos", FLOATS, np.cos)
TAN = _transcendental("tan", "Tan", FLOATS, np.tan)
ACOS = _transcendental("acos", "Acos", FLOATS, np.arccos)
ASIN = _transcendental("asin", "Asin", FLOATS, np.arcsin)
ATAN = _transcendental("atan", "Atan", FLOATS, np.arctan)
COSH = _transcendental("cosh", "Cosh", FLOATS, np.cosh)
SINH = _transcendental("sinh", "Sinh", FLOATS, np.sinh)
TANH = _transcendental("tanh", "Tanh", FLOATS, np.tanh)
ACOSH = _transcendental("acosh", "Acosh", FLOATS, np.arccosh)
ASINH = _transcendental("asinh", "Asinh", FLOATS, np.arcsinh)
ATANH = _transcendental("atanh", "Atanh", FLOATS, np.arctanh)
LOGISTIC = _transcendental("logistic", "Logistic", FLOATS, numerics.logistic)
ERF = _transcendental("erf", "Erf", ("float",), numerics.erf)
CEIL = _unary("ceil", "Ceil", ("float",), np.ceil)
FLOOR = _unary("floor", "Floor", ("float",), np.floor)
ROUND = _unary("round-nearest-afz", "Round", ("float",), numerics.round_away_from_zero)
ROUND_NEAREST_EVEN = _unary("round-nearest-even", "RoundNearestEven", ("float",), np.rint)
REAL = _unary("real", "Real", FLOATS, np.real, component_type)
IMAG = _unary("imag", "Imag", FLOATS, np.imag, component_type)
IS_FINITE = _unary("is-finite", "IsFinite", ("float",), np.isfinite, lambda element_type: PRED)
NOT = _unary("not", "Not", ("pred", *INTEGERS), np.invert)
POPULATION_COUNT = _unary("popcnt", "PopulationCount", INTEGERS, numerics.population_count)
COUNT_LEADING_ZEROS = _unary("count-leading-zeros", "Clz", INTEGERS, numerics.count_leading_zeros)

_ALGEBRA = (COMMUTATIVE, ASSOCIATIVE)

ADD = _binary("add", "Add", ANY, np.add, _ALGEBRA, identities.of_sums)
SUBTRACT = _binary("subtract", "Sub", NUMBERS, np.subtract)
MULTIPLY = _binary("multiply", "Mul", ANY, np.multiply, _ALGEBRA, identities.of_products, aliases=("SquareF32",))
MULTIPLY_HIGH = _binary("mulhi", "MulHi", INTEGERS, numerics.multiply_high, (COMMUTATIVE,))
DIVIDE = _binary("divide", "Div", NUMBERS, numerics.divide, cost=6.0, aliases=("ReciprocalF32",))
REMAINDER = _binary("remainder", "Rem", (*INTEGERS, "float"), numerics.remainder, cost=10.0)
POWER = _binary("power", "Pow", NUMBERS, numerics.power, (TRANSCENDENTAL,), cost=_COST_OF_TRANSCENDENTAL)
MAXIMUM = _binary("maximum", "Max", ("pred", *INTEGERS, "float"), numerics.maximum, _ALGEBRA, identities.of_maxima)
MINIMUM = _binary("minimum", "Min", ("pred", *INTEGERS, "float"), numerics.minimum, _ALGEBRA, identities.of_minima)
ATAN2 = _binary("atan2", "Atan2", FLOATS, numerics.atan2, (TRANSCENDENTAL,), cost=_COST_OF_TRANSCENDENTAL)
AND = _binary("and", "And", ("pred", *INTEGERS), np.bitwise_and, _ALGEBRA, identities.of_conjunctions)
OR = _binary("or", "Or", ("pred", *INTEGERS), np.bitwise_or, _ALGEBRA, identities.of_disjunctions)
XOR = _binary("xor", "Xor", ("pred", *INTEGERS), np.bitwise_xor, _ALGEBRA, identities.of_disjunctions)
SHIFT_LEFT = _binary("shift-left", "ShiftLeft", INTEGERS, numerics.shift_left)
SHIFT_RIGHT_ARITHMETIC = _binary("shift-right-arithmetic", "ShiftRightArithmetic", INTEGERS, numerics.shift_right_arithmetic)
SHIFT_RIGHT_LOGICAL = _binary("shift-right-logical", "ShiftRightLogical", INTEGERS, numerics.shift_right_logical)


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


_DIRECTIONS = ("EQ", "NE", "GE", "GT", "LE", "LT")


@operation(
    "compare", "lhs", "rhs", builder="Compare", traits={ELEMENTWISE},
    aliases=[relation.capitalize() + order for relation in _DIRECTIONS for order in ("", "TotalOrder")],
    direction=Choice(*_DIRECTIONS), type=Choice("", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED", default=""),
)  # fmt: skip
def compare(lhs, rhs, *, direction, type):
    """Compare(lhs, rhs, direction, type): whether the relation holds, element by element, as pred.

    TOTALORDER compares floats in the order -NaN < -Inf < -Finite < -0 < +0 < +Finite < +Inf < +NaN; without it, IEEE 754
    comparison holds (NaN is unequal to everything). The other types (FLOAT, SIGNED, UNSIGNED) add nothing to what the element
    type says, whichever is given. Complex numbers have no order: they are compared by EQ and NE. The builder's Eq, Ne, Ge, Gt,
    Le and Lt name the direction, and with TotalOrder behind it the type; they broadcast as the arithmetic operations do.
    """
    require_kind("compare", "lhs", lhs, ANY)
    shape = require_same_shape("compare", lhs=lhs, rhs=rhs)
    kind = shape.element_type.kind
    if kind == "complex":
        require(direction in ("EQ", "NE"), f"compare: complex numbers have no order: EQ or NE required, got {direction}")
        require(type != "TOTALORDER", f"compare: complex numbers have no order: TOTALORDER does not fit {shape}")
    return shape.with_element_type(PRED)


@compare.evaluation
def _(lhs, rhs, *, direction, type):
    if type == "TOTALORDER" and element_type_of(np.asarray(lhs).dtype).is_float:
        lhs, rhs = numerics.total_order_key(lhs), numerics.total_order_key(rhs)
    functions = (np.equal, np.not_equal, np.greater_equal, np.greater, np.less_equal, np.less)
    with np.errstate(invalid="ignore"):
        return functions[_DIRECTIONS.index(direction)](lhs, rhs)


@compare.sampling
def _():
    operands = [np.array([1, 2, np.nan], np.float32), np.array([1, 3, np.nan], np.float32)]
    yield Sample(operands, {"direction": "GE"}, expected=np.array([True, False, False]))
    for element_type, direction in product(sample_types(("pred", *INTEGERS, "float")), _DIRECTIONS):
        yield Sample([Shape(element_type, (3, 5))] * 2, {"direction": direction})
    for element_type, direction in product((BF16, F16, F32, F64), _DIRECTIONS):
        yield Sample([Shape(element_type, (35,))] * 2, {"direction": direction, "type": "TOTALORDER"})
    for direction in ("EQ", "NE"):
        yield Sample([Shape(C64, (4,))] * 2, {"direction": direction})
    yield InvalidSample([Shape(C64)] * 2, {"direction": "LT"}, "complex numbers have no order")
    for element_type, type in product((PRED, S8, U32, S64, F32), ("FLOAT", "SIGNED", "UNSIGNED", "TOTALORDER")):
        yield Sample([Shape(element_type, (5,))] * 2, {"direction": "LT", "type": type})
    yield InvalidSample([Shape(C64)] * 2, {"direction": "EQ", "type": "TOTALORDER"}, "TOTALORDER does not fit")
    yield InvalidSample([Shape(S32)] * 2, {"direction": "LESS"}, "one of EQ, NE, GE, GT, LE, LT is required")
    yield InvalidSample([Shape(S32), Shape(U32)], {"direction": "LT"}, "must have the same shape")


@operation("clamp", "min", "operand", "max", builder="Clamp", traits={ELEMENTWISE})
def clamp(min, operand, max):
    """Clamp(min, operand, max): the operand moved into [min, max]; the bounds may be scalars.

    NaN in any of the three gives NaN.

    >>> from phlox import hlo
    >>> hlo.evaluate_operation("clamp", np.int32(0), np.array([-1, 5, 9], np.int32), np.int32(6))
    array([0, 5, 6], dtype=int32)
    """
    require_kind("clamp", "operand", operand, (*INTEGERS, "float"))
    shape = operand.without_layout()
    for name, bound in (("min", min), ("max", max)):
        require_array("clamp", name, bound)
        fits = bound.element_type is shape.element_type and bound.dimensions in ((), shape.dimensions)
        require(fits, f"clamp: {name} must have the operand's shape {shape} or be its scalar, got {bound}")
    return with_dynamic_dimensions_of(shape, (min, operand, max))


@clamp.evaluation
@numerics.in_wider_type
def _(min, operand, max):
    return numerics.minimum(numerics.maximum(operand, min), max)


@clamp.sampling
def _():
    for element_type in sample_types((*INTEGERS, "float")):
        array, scalar = Shape(element_type, (3, 5)), Shape(element_type)
        yield Sample([array, array, array])
        yield Sample([scalar, array, scalar])
        yield Sample([scalar, scalar, scalar])
    bounds = [np.int32(0), np.array([-1, 5, 9], np.int32), np.int32(6)]
    yield Sample(bounds, expected=np.array([0, 5, 6], np.int32))
    yield InvalidSample([Shape(F32, (2,)), Shape(F32, (3,)), Shape(F32)], {}, "min must have the operand's shape")
    yield InvalidSample([Shape(F32), Shape(F32, (3,)), Shape(S32)], {}, "max must have the operand's shape")


@operation("select", "pred", "on_true", "on_false", builder="Select", traits={ELEMENTWISE})
def select(pred, on_true, on_false):
    """Select(pred, on_true, on_false): the element of on_true where pred holds, of on_false elsewhere; pred may be a scalar.

    Both have the same shape, which is the result's; pred has its dimensions or is a scalar, which then chooses the whole.
    Tuples count as scalars: their elements are selected together.
    """
    shape = require_same_shape("select", on_true=on_true, on_false=on_false)
    require_kind("select", "pred", pred, ("pred",))
    dimensions = () if shape.is_tuple else shape.dimensions
    require(pred.dimensions in ((), dimensions), f"select: pred must be a scalar or have the dimensions of {shape}, got {pred}")
    return with_dynamic_dimensions_of(shape, (pred, shape))


@select.evaluation
def _(pred, on_true, on_false):
    if isinstance(on_true, tuple):
        return on_true if pred else on_false
    return np.where(pred, on_true, on_false).astype(on_true.dtype, copy=False)


@select.sampling
def _():
    for element_type in sample_types(ANY):
        yield Sample([Shape(PRED, (3, 5)), Shape(element_type, (3, 5)), Shape(element_type, (3, 5))])
        yield Sample([PRED_SCALAR, Shape(element_type, (7,)), Shape(element_type, (7,))])
    v1, v2 = np.array([1, 2, 3, 4], np.int32), np.array([100, 200, 300, 400], np.int32)
    yield Sample([np.array([True, False, False, True]), v1, v2], expected=np.array([1, 200, 300, 4], np.int32))
    yield Sample([np.True_, v1, v2], expected=v1)
    pair = TupleShape((Shape(F32, (3,)), TupleShape((Shape(S32),))))
    yield Sample([np.True_, pair, pair])
    yield Sample([np.False_, (v1, (np.int32(1),)), (v2, (np.int32(2),))], expected=(v2, (np.int32(2),)))
    yield InvalidSample([Shape(PRED, (3,)), pair, pair], {}, "pred must be a scalar or")
    yield InvalidSample([Shape(PRED, (2,)), Shape(F32, (3,)), Shape(F32, (3,))], {}, "pred must be a scalar or")
    yield InvalidSample([Shape(S32), Shape(F32), Shape(F32)], {}, "pred must have a pred element type")
    yield InvalidSample([PRED_SCALAR, Shape(F32), Shape(F64)], {}, "must have the same shape")


@operation("convert", "operand", builder="ConvertElementType", traits={ELEMENTWISE})
def convert(operand, *, stated):
    """ConvertElementType(operand, new_element_type): the value in another type.

    Floats become integers by truncation towards zero, saturating at the limits, NaN giving 0; integers become other integers by
    keeping the low bits, and floats by rounding to nearest even, as floats do where they become narrower. Everything becomes
    pred by comparison with 0. A complex number becomes real by dropping its imaginary part. The dimensions stay.
    """
    require_kind("convert", "operand", operand, ANY)
    require(stated is not None, "convert: a result shape is required")
    require_kind("convert", "result", stated, ANY)
    same = stated.dimensions == operand.dimensions and stated.dynamic_dimensions == operand.dynamic_dimensions
    require(same, f"convert: operand {operand} and result {stated} must have the same dimensions")
    return stated.without_layout()


@convert.evaluation
def _(operand, *, shape):
    return numerics.convert(operand, shape.element_type)


@convert.sampling
def _():
    types = sample_types(ANY)
    for source, target in product(types, types):
        yield Sample([Shape(source, (3, 17))], shape=Shape(target, (3, 17)))
    integers = np.array([0, 1, 2], np.int32)
    yield Sample([integers], shape=Shape(F32, (3,)), expected=np.array([0, 1, 2], np.float32))
    yield InvalidSample([Shape(F32, (2,))], {}, "must have the same dimensions", shape=Shape(S32, (3,)))


@operation(
    "reduce-precision", "operand", builder="ReducePrecision", traits={ELEMENTWISE},
    exponent_bits=Integer(), mantissa_bits=Integer(),
)  # fmt: skip
def reduce_precision(operand, *, exponent_bits, mantissa_bits):
    """ReducePrecision(operand, exponent_bits, mantissa_bits): rounded to nearest even to a float of that format.

    The element type stays. Values too large become infinite; values below the format's smallest normal number become zero of
    their sign. Exponents have at least one bit; bits beyond those of the element type change nothing.
    """
    require_kind("reduce-precision", "operand", operand, ("float",))
    require(exponent_bits >= 1, f"reduce-precision: exponent_bits must be at least 1, got {exponent_bits}")
    require(mantissa_bits >= 0, f"reduce-precision: mantissa_bits must not be negative, got {mantissa_bits}")
    return operand.without_layout()


@reduce_precision.evaluation
def _(operand, *, exponent_bits, mantissa_bits):
    return numerics.reduce_precision(operand, exponent_bits, mantissa_bits)


@reduce_precision.sampling
def _():
    x, rounded = np.array([1 / 3, 70000, -1e-5], np.float32), np.array([1365 / 4096, np.inf, -0.0], np.float32)
    yield Sample([x], {"exponent_bits": 5, "mantissa_bits": 10}, expected=rounded)
    for element_type, bits in product((F16, BF16, F32, F64), ((5, 10), (8, 7), (4, 3), (11, 52), (2, 0))):
        yield Sample([Shape(element_type, (65,))], {"exponent_bits": bits[0], "mantissa_bits": bits[1]})
    yield InvalidSample([Shape(F32)], {"exponent_bits": 0, "mantissa_bits": 3}, "exponent_bits must be at least 1")
    yield InvalidSample([Shape(F32)], {"exponent_bits": 5, "mantissa_bits": -1}, "mantissa_bits must not be negative")


@operation("bitcast-convert", "operand", builder="BitcastConvertType", traits={FOLDABLE}, cost=0.0, dynamic=ACTUAL_SIZES)
def bitcast_convert(operand, *, stated):
    """BitcastConvertType(operand, new_element_type): the same bits read as another type.

    A narrower result type adds a minor dimension, a wider one drops it; the first element holds the lowest bits. A complex
    number is read as complex numbers only, and pred as pred: XLA counts one bit for it in shapes, and stores eight.
    """
    require_kind("bitcast-convert", "operand", operand, ("pred", *NUMBERS))
    require(stated is not None, "bitcast-convert: a result shape is required")
    require_kind("bitcast-convert", "result", stated, ("pred", *NUMBERS))
    old, new = operand.element_type, stated.element_type
    same = (old is PRED) == (new is PRED)
    require(same, f"bitcast-convert: cannot convert between pred and another type, {operand} to {stated}")
    require(
        old.is_complex == new.is_complex, f"bitcast-convert: cannot convert between complex and real, {operand} to {stated}"
    )
    if old.bits == new.bits:
        expected = operand.dimensions
    elif old.bits > new.bits:
        expected = (*operand.dimensions, old.bits // new.bits)
    else:
        ratio = new.bits // old.bits
        fits = operand.rank > 0 and operand.dimensions[-1] == ratio
        require(fits, f"bitcast-convert: {operand} to {new.name} needs a minor dimension of {ratio}")
        expected = operand.dimensions[:-1]
    dynamic = operand.dynamic_dimensions and (*operand.dynamic_dimensions, False)[: len(expected)]
    wanted = stated.with_dimensions(expected, dynamic)
    fits = stated.without_layout() == wanted
    require(fits, f"bitcast-convert: {operand} to {new.name} gives {expected}, but {stated} was stated")
    require_static("bitcast-convert", "operand", operand, range(len(expected), operand.rank), "as its elements become one")
    return stated.without_layout()


@bitcast_convert.evaluation
def _(operand, *, shape):
    return numerics.bitcast_convert(np.asarray(operand), shape)


@bitcast_convert.sampling
def _():
    bits = np.array([0x3F800000, -0x40000000], np.int32)
    yield Sample([np.array([1, -2], np.float32)], shape=Shape(S32, (2,)), expected=bits)
    yield Sample([Shape(F32, (3, 5))], shape=Shape(S32, (3, 5)))
    yield Sample([Shape(F32, (10,))], shape=Shape(F16, (10, 2)))
    yield Sample([Shape(F32)], shape=Shape(F16, (2,)))
    yield Sample([Shape(F16, (10, 2))], shape=Shape(F32, (10,)))
    yield Sample([Shape(U64, (2, 0))], shape=Shape(U8, (2, 0, 8)))
    yield Sample([Shape(PRED, (2, 3))], shape=Shape(PRED, (2, 3)))
    yield InvalidSample([Shape(PRED, (8,))], {}, "between pred and another type", shape=Shape(U8, (8,)))
    yield InvalidSample([Shape(U8, (8,))], {}, "between pred and another type", shape=Shape(PRED, (8,)))
    yield InvalidSample([Shape(F32, (2,))], {}, "gives", shape=Shape(F16, (2,)))
    yield InvalidSample([Shape(F16, (2, 3))], {}, "needs a minor dimension of 2", shape=Shape(F32, (2,)))
    yield InvalidSample([Shape(C64)], {}, "between complex and real", shape=Shape(F64))
