"""Elementwise operations on registers, one emitter an opcode, for scalars and vectors alike.

``ELEMENTWISE_EMITTERS[opcode](context, *operands)`` returns the result. The context knows the instruction (its attributes,
its element types) and the builder. Complex operands come as ComplexValue and have a table of their own in
complex_arithmetic.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from ...hlo import ElementType, Instruction, component_type
from . import complex_arithmetic
from .elementary import ELEMENTARY_FUNCTIONS
from .elementary.arithmetic import any_lane, constant, intrinsic
from .types import (
    I1,
    ComplexValue,
    RegisterValue,
    integer_constant,
    is_narrow_float,
    register_type,
    round_to_type,
    type_suffix,
    vector_of,
)


@dataclass(frozen=True, slots=True)
class ElementwiseContext:
    """The instruction being emitted, the builder, and the number of lanes."""

    builder: ir.IRBuilder
    instruction: Instruction
    lanes: int

    @property
    def operand_type(self) -> ElementType:
        return self.instruction.operands[0].shape.element_type

    @property
    def result_type(self) -> ElementType:
        return self.instruction.shape.element_type

    @property
    def attributes(self) -> dict[str, Any]:
        return self.instruction.attributes


Emitter = Callable[..., RegisterValue]
ELEMENTWISE_EMITTERS: dict[str, Emitter] = {}


def emitter(*opcodes: str) -> Callable[[Emitter], Emitter]:
    def register(function: Emitter) -> Emitter:
        for opcode in opcodes:
            ELEMENTWISE_EMITTERS[opcode] = function
        return function

    return register


def emit_elementwise(
    builder: ir.IRBuilder, instruction: Instruction, operands: list[RegisterValue], lanes: int
) -> RegisterValue:
    """The instruction's result on these register values, rounded to its type."""
    context = ElementwiseContext(builder, instruction, lanes)
    opcode = instruction.opcode
    if any(isinstance(operand, ComplexValue) for operand in operands) and opcode in complex_arithmetic.COMPLEX_EMITTERS:
        return complex_arithmetic.COMPLEX_EMITTERS[opcode](context, *operands)
    emit = ELEMENTWISE_EMITTERS.get(opcode)
    if emit is None:
        raise NotImplementedError(f"operation {opcode} has no native code")
    result = emit(context, *operands)
    if not isinstance(result, ComplexValue) and is_narrow_float(context.result_type) and opcode not in _EXACT:
        return round_to_type(builder, context.result_type, result)
    return result


# Operations whose result is exact in the operand's type: nothing to round.
_EXACT = frozenset(
    (
        "abs",
        "negate",
        "sign",
        "maximum",
        "minimum",
        "clamp",
        "select",
        "floor",
        "ceil",
        "round-nearest-afz",
        "round-nearest-even",
    )
)


def _float_intrinsic(name: str) -> Emitter:
    return lambda context, *operands: intrinsic(context.builder, name, *operands)


for _opcode, _name in (
    ("ceil", "ceil"), ("floor", "floor"), ("round-nearest-afz", "round"), ("round-nearest-even", "roundeven"), ("sqrt", "sqrt"),
):  # fmt: skip
    ELEMENTWISE_EMITTERS[_opcode] = _float_intrinsic(_name)


def _elementary(opcode: str) -> Emitter:
    def emit(context: ElementwiseContext, *operands: ir.Value) -> ir.Value:
        if opcode not in ELEMENTARY_FUNCTIONS:
            raise NotImplementedError(f"operation {opcode} has no native code")
        return ELEMENTARY_FUNCTIONS[opcode](context.builder, *operands)

    return emit


for _opcode in (
    "exponential", "exponential-minus-one", "log", "log-plus-one", "rsqrt", "cbrt", "sine", "cosine", "tan", "tanh", "logistic",
    "erf", "atan2",
):  # fmt: skip
    ELEMENTWISE_EMITTERS[_opcode] = _elementary(_opcode)


# The LLVM instruction of a binary operation, by the kind of its element type.
_BINARY: dict[str, dict[str, str]] = {
    "add": {"float": "fadd", "signed": "add", "unsigned": "add", "pred": "or_"},
    "subtract": {"float": "fsub", "signed": "sub", "unsigned": "sub"},
    "multiply": {"float": "fmul", "signed": "mul", "unsigned": "mul", "pred": "and_"},
    "and": {"signed": "and_", "unsigned": "and_", "pred": "and_"},
    "or": {"signed": "or_", "unsigned": "or_", "pred": "or_"},
    "xor": {"signed": "xor", "unsigned": "xor", "pred": "xor"},
}


@emitter(*_BINARY)
def _binary(context, x, y):
    return getattr(context.builder, _BINARY[context.instruction.opcode][context.operand_type.kind])(x, y)


@emitter("negate")
def _negate(context, x):
    if context.operand_type.is_float:
        return context.builder.fneg(x)
    return context.builder.sub(integer_constant(x.type, 0), x)


@emitter("abs")
def _abs(context, x):
    if context.operand_type.is_float:
        return intrinsic(context.builder, "fabs", x)
    if context.operand_type.kind == "unsigned":
        return x
    negative = context.builder.icmp_signed("<", x, integer_constant(x.type, 0))
    return context.builder.select(negative, context.builder.sub(integer_constant(x.type, 0), x), x)


@emitter("sign")
def _sign(context, x):
    b = context.builder
    if context.operand_type.is_float:
        one = intrinsic(b, "copysign", constant(x.type, 1.0), x)
        is_nonzero = b.fcmp_ordered("one", x, constant(x.type, 0.0))
        return b.select(is_nonzero, one, x)
    zero, one = integer_constant(x.type, 0), integer_constant(x.type, 1)
    positive = b.select(b.icmp_signed("!=", x, zero), one, zero)
    if context.operand_type.kind == "unsigned":
        return positive
    return b.select(b.icmp_signed("<", x, zero), integer_constant(x.type, -1), positive)


@emitter("not")
def _not(context, x):
    return (
        context.builder.not_(x)
        if not isinstance(x.type, ir.VectorType)
        else context.builder.xor(x, integer_constant(x.type, -1))
    )


@emitter("is-finite")
def _is_finite(context, x):
    magnitude = intrinsic(context.builder, "fabs", x)
    return context.builder.fcmp_ordered("<", magnitude, constant(x.type, float("inf")))


def _integer_intrinsic(builder: ir.IRBuilder, name: str, x: ir.Value, *flags: ir.Value) -> ir.Value:
    full = f"llvm.{name}.{type_suffix(x.type)}"
    module = builder.module
    if full in module.globals:
        function = module.globals[full]
    else:
        function = ir.Function(module, ir.FunctionType(x.type, [x.type, *(flag.type for flag in flags)]), full)
    return builder.call(function, [x, *flags])


@emitter("popcnt")
def _population_count(context, x):
    return _integer_intrinsic(context.builder, "ctpop", x)


@emitter("count-leading-zeros")
def _count_leading_zeros(context, x):
    return _integer_intrinsic(context.builder, "ctlz", x, I1(0))


@emitter("divide")
def _divide(context, x, y):
    b = context.builder
    if context.operand_type.is_float:
        return b.fdiv(x, y)
    zero, ones = integer_constant(y.type, 0), integer_constant(y.type, -1)
    by_zero = b.icmp_signed("==", y, zero)
    if context.operand_type.kind == "unsigned":
        return b.select(by_zero, ones, b.udiv(x, b.select(by_zero, integer_constant(y.type, 1), y)))
    # Division by -1 is negation, which wraps where the machine's division would trap.
    by_minus_one = b.icmp_signed("==", y, ones)
    special = b.or_(by_zero, by_minus_one)
    quotient = b.sdiv(x, b.select(special, integer_constant(y.type, 1), y))
    return b.select(by_zero, ones, b.select(by_minus_one, b.sub(zero, x), quotient))


@emitter("remainder")
def _remainder(context, x, y):
    b = context.builder
    if context.operand_type.is_float:
        return ELEMENTARY_FUNCTIONS["remainder"](b, x, y)
    zero = integer_constant(y.type, 0)
    by_zero = b.icmp_signed("==", y, zero)
    if context.operand_type.kind == "unsigned":
        return b.select(by_zero, x, b.urem(x, b.select(by_zero, integer_constant(y.type, 1), y)))
    special = b.or_(by_zero, b.icmp_signed("==", y, integer_constant(y.type, -1)))
    remainder = b.srem(x, b.select(special, integer_constant(y.type, 1), y))
    return b.select(by_zero, x, remainder)


@emitter("power")
def _power(context, x, y):
    if context.operand_type.is_float:
        return ELEMENTARY_FUNCTIONS["power"](context.builder, x, y)
    return _integer_power(context, x, y)


def _integer_power(context: ElementwiseContext, x: ir.Value, y: ir.Value) -> ir.Value:
    """Square and multiply, until every lane's exponent is used up."""
    b = context.builder
    zero, one = integer_constant(x.type, 0), integer_constant(x.type, 1)
    signed = context.operand_type.kind == "signed"
    negative = b.icmp_signed("<", y, zero) if signed else None
    exponent = b.select(negative, zero, y) if signed else y
    before = b.block
    head, done = b.append_basic_block("power"), b.append_basic_block("power.done")
    b.branch(head)
    b.position_at_end(head)
    result, base, left = b.phi(x.type), b.phi(x.type), b.phi(x.type)
    odd = b.icmp_signed("!=", b.and_(left, one), zero)
    next_result = b.select(odd, b.mul(result, base), result)
    next_base = b.mul(base, base)
    next_left = b.lshr(left, one)
    for phi, first, following in ((result, one, next_result), (base, x, next_base), (left, exponent, next_left)):
        phi.add_incoming(first, before)
        phi.add_incoming(following, head)
    more = b.icmp_signed("!=", next_left, zero)
    b.cbranch(more if context.lanes == 1 else any_lane(b, more), head, done)
    b.position_at_end(done)
    if not signed:
        return next_result
    # The truncated reciprocal: nonzero for 1 and -1 only.
    minus_one = integer_constant(x.type, -1)
    odd = b.icmp_signed("!=", b.and_(y, one), zero)
    of_minus_one = b.select(odd, minus_one, one)
    reciprocal = b.select(b.icmp_signed("==", x, minus_one), of_minus_one, zero)
    reciprocal = b.select(b.icmp_signed("==", x, one), one, reciprocal)
    return b.select(negative, reciprocal, next_result)


@emitter("maximum", "minimum")
def _extremum(context, x, y):
    b, name, kind = context.builder, context.instruction.opcode, context.operand_type.kind
    if kind == "float":
        return intrinsic(b, name, x, y)
    if kind == "pred":
        return b.or_(x, y) if name == "maximum" else b.and_(x, y)
    relation = ">" if name == "maximum" else "<"
    compare = b.icmp_signed if kind == "signed" else b.icmp_unsigned
    return b.select(compare(relation, x, y), x, y)


@emitter("clamp")
def _clamp(context, low, x, high):
    b, kind = context.builder, context.result_type.kind
    if kind == "float":
        return intrinsic(b, "minimum", intrinsic(b, "maximum", x, low), high)
    compare = b.icmp_signed if kind == "signed" else b.icmp_unsigned
    raised = b.select(compare(">", x, low), x, low)
    return b.select(compare("<", raised, high), raised, high)


def _shift(context: ElementwiseContext, x: ir.Value, y: ir.Value, shift: Callable, overflow: ir.Value) -> ir.Value:
    b = context.builder
    inside = b.icmp_unsigned("<", y, integer_constant(y.type, context.operand_type.bits))
    return b.select(inside, shift(x, b.select(inside, y, integer_constant(y.type, 0))), overflow)


@emitter("shift-left")
def _shift_left(context, x, y):
    return _shift(context, x, y, context.builder.shl, integer_constant(x.type, 0))


@emitter("shift-right-logical")
def _shift_right_logical(context, x, y):
    return _shift(context, x, y, context.builder.lshr, integer_constant(x.type, 0))


@emitter("shift-right-arithmetic")
def _shift_right_arithmetic(context, x, y):
    sign = context.builder.ashr(x, integer_constant(x.type, context.operand_type.bits - 1))
    return _shift(context, x, y, context.builder.ashr, sign)


_RELATIONS = {"EQ": "==", "NE": "!=", "GE": ">=", "GT": ">", "LE": "<=", "LT": "<"}


@emitter("compare")
def _compare(context, x, y):
    b, kind = context.builder, context.operand_type.kind
    relation = _RELATIONS[context.attributes["direction"]]
    if kind == "float" and context.attributes["type"] == "TOTALORDER":
        return b.icmp_signed(relation, _total_order_key(context, x), _total_order_key(context, y))
    if kind == "float":
        compare = b.fcmp_unordered if relation == "!=" else b.fcmp_ordered
        return compare(relation, x, y)
    return (b.icmp_signed if kind == "signed" else b.icmp_unsigned)(relation, x, y)


def _total_order_key(context: ElementwiseContext, x: ir.Value) -> ir.Value:
    """Signed integers in the total order of the floats: the bits, those of negative numbers flipped below the sign."""
    b = context.builder
    lanes = x.type.count if isinstance(x.type, ir.VectorType) else 1
    width = 64 if "double" in str(x.type) else 32
    bits = b.bitcast(x, vector_of(ir.IntType(width), lanes))
    sign = b.ashr(bits, integer_constant(bits.type, width - 1))
    return b.xor(bits, b.lshr(sign, integer_constant(bits.type, 1)))


@emitter("select")
def _select(context, condition, on_true, on_false):
    b = context.builder
    if isinstance(on_true, ComplexValue):
        parts = (b.select(condition, t, f) for t, f in zip(on_true, on_false))
        return ComplexValue(*parts)
    return b.select(condition, on_true, on_false)


@emitter("complex")
def _complex(context, real, imag):
    return ComplexValue(real, imag)


@emitter("real")
def _real(context, x):
    return x


@emitter("imag")
def _imag(context, x):
    return constant(x.type, 0.0)


@emitter("convert")
def _convert(context, x):
    source, target = context.operand_type, context.result_type
    if isinstance(x, ComplexValue):
        if target.kind == "pred":
            parts = [_to_pred(context, part, "float") for part in x]
            return context.builder.or_(*parts)
        if target.is_complex:
            part_type = component_type(target)
            return ComplexValue(*(convert_real(context, part, component_type(source), part_type) for part in x))
        return convert_real(context, x.real, component_type(source), target)
    if target.is_complex:
        real = convert_real(context, x, source, component_type(target))
        return ComplexValue(real, constant(real.type, 0.0))
    return convert_real(context, x, source, target)


def _to_pred(context: ElementwiseContext, x: ir.Value, kind: str) -> ir.Value:
    if kind == "float":
        return context.builder.fcmp_unordered("!=", x, constant(x.type, 0.0))
    return context.builder.icmp_signed("!=", x, integer_constant(x.type, 0))


def convert_real(context: ElementwiseContext, x: ir.Value, source: ElementType, target: ElementType) -> ir.Value:
    """A value of one real type as another."""
    b = context.builder
    type_ = register_type(target, context.lanes)
    if target.kind == "pred":
        return x if source.kind == "pred" else _to_pred(context, x, source.kind)
    if source.kind == "pred":
        return b.zext(x, type_) if target.is_integer else b.uitofp(x, type_)
    if source.is_integer and target.is_integer:
        if target.bits == source.bits:
            return x
        if target.bits < source.bits:
            return b.trunc(x, type_)
        return (b.sext if source.kind == "signed" else b.zext)(x, type_)
    if source.is_integer:
        return _integer_to_float(context, x, source, target, type_)
    if target.is_integer:
        return _saturating(b, x, type_, target.kind == "signed")
    return _float_to_float(b, x, source, target, type_)


def _integer_to_float(context, x, source, target, type_):
    b = context.builder
    convert = b.sitofp if source.kind == "signed" else b.uitofp
    if is_narrow_float(target) and source.bits >= 32:
        # Two roundings, to float and then to the narrow type, could go wrong; to odd and then to nearest cannot.
        wide = convert(x, vector_of(ir.DoubleType(), context.lanes))
        return _narrow_to_odd(b, wide, type_)
    return convert(x, type_)


def _narrow_to_odd(b: ir.IRBuilder, wide: ir.Value, type_: ir.Type) -> ir.Value:
    """A double rounded to float such that a second rounding, to fewer bits, gives what one rounding would have given."""
    narrow = b.fptrunc(wide, type_)
    back = b.fpext(narrow, wide.type)
    lanes = type_.count if isinstance(type_, ir.VectorType) else 1
    bits = b.bitcast(narrow, vector_of(ir.IntType(32), lanes))
    one = integer_constant(bits.type, 1)
    inexact = b.fcmp_ordered("one", back, wide)
    even = b.icmp_unsigned("==", b.and_(bits, one), integer_constant(bits.type, 0))
    too_large = b.fcmp_ordered(">", intrinsic(b, "fabs", back), intrinsic(b, "fabs", wide))
    # Of the two floats around the value one is odd: the neighbour, where the nearest is even.
    moved = b.select(too_large, b.sub(bits, one), b.add(bits, one))
    finite = b.fcmp_ordered("<", intrinsic(b, "fabs", narrow), constant(type_, float("inf")))
    odd = b.select(b.and_(b.and_(inexact, even), finite), moved, bits)
    return b.bitcast(odd, type_)


def _float_to_float(b, x, source, target, type_):
    if source.bits == 64 and target.bits == 64 or x.type == type_:
        return x
    if target.bits == 64:
        return b.fpext(x, type_)
    if is_narrow_float(target) and source.bits == 64:
        return _narrow_to_odd(b, x, type_)
    return b.fptrunc(x, type_)


def _saturating(b: ir.IRBuilder, x: ir.Value, type_: ir.Type, signed: bool) -> ir.Value:
    name = f"llvm.fpto{'s' if signed else 'u'}i.sat.{type_suffix(type_)}.{type_suffix(x.type)}"
    module = b.module
    function = module.globals.get(name) or ir.Function(module, ir.FunctionType(type_, [x.type]), name)
    return b.call(function, [x])


@emitter("reduce-precision")
def _reduce_precision(context, x):
    """Round the mantissa in the integer bits, then replace what the exponent cannot hold."""
    b, element_type = context.builder, context.operand_type
    exponent_bits, mantissa_bits = context.attributes["exponent_bits"], context.attributes["mantissa_bits"]
    own_exponent, own_mantissa = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}[element_type.name]
    if exponent_bits >= own_exponent and mantissa_bits >= own_mantissa:
        return x
    lanes = context.lanes
    width, register_mantissa = (64, 52) if element_type.bits == 64 else (32, 23)
    integer = vector_of(ir.IntType(width), lanes)
    bits = b.bitcast(x, integer)
    kept = min(mantissa_bits, own_mantissa)
    dropped = register_mantissa - kept
    result = x
    if dropped > 0:
        odd = b.and_(b.lshr(bits, integer_constant(integer, dropped)), integer_constant(integer, 1))
        bias = b.add(odd, integer_constant(integer, (1 << (dropped - 1)) - 1))
        rounded = b.and_(b.add(bits, bias), integer_constant(integer, -(1 << dropped)))
        result = b.bitcast(rounded, x.type)
    magnitude = intrinsic(b, "fabs", result)
    exponent_bias = 2 ** (min(exponent_bits, 12) - 1) - 1
    if exponent_bits <= own_exponent:
        largest = (2 - 2.0**-kept) * 2.0**exponent_bias if exponent_bias < 1024 else None
        if largest is not None:
            infinite = intrinsic(b, "copysign", constant(x.type, float("inf")), x)
            result = b.select(b.fcmp_ordered(">", magnitude, constant(x.type, largest)), infinite, result)
    if exponent_bits < own_exponent:
        smallest = 2.0 ** (1 - exponent_bias)
        zero = intrinsic(b, "copysign", constant(x.type, 0.0), x)
        result = b.select(b.fcmp_ordered("<", magnitude, constant(x.type, smallest)), zero, result)
    is_finite = b.fcmp_ordered("<", intrinsic(b, "fabs", x), constant(x.type, float("inf")))
    return b.select(is_finite, result, x)
