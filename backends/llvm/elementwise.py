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

from ...hlo import ElementType, Instruction
from ...hlo.operation import SELECTING
from . import complex_arithmetic, conversion, elementary_calls
from .arithmetic import any_lane, constant, intrinsic
from .elementary import ELEMENTARY_FUNCTIONS, SHORT_FUNCTIONS
from .elementary.exponential import exponential_of_two
from .elementary.wide_registers import extremum
from .integer_quotients import WIDTHS, quotient_by_constant
from .known_ranges import decided_comparison, note_result
from .loops import while_loop
from .module import lacks, may_contract
from .quotients import quotient as float_quotient
from .small_types import is_small_float, is_small_integer, low_bits
from .types import (
    I1,
    ComplexValue,
    RegisterValue,
    integer_constant,
    is_narrow,
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

# Operations whose result is exact in the operand's type, if that has zeros of both signs and more than a few numbers.
_EXACT_IN_16_BITS: set[str] = set()


def emitter(*opcodes: str, exact_in_16_bits: bool = False) -> Callable[[Emitter], Emitter]:
    """Decorator: the function emits these operations on register values."""

    def register(function: Emitter) -> Emitter:
        ELEMENTWISE_EMITTERS.update(dict.fromkeys(opcodes, function))
        if exact_in_16_bits:
            _EXACT_IN_16_BITS.update(opcodes)
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
    if opcode == "compare" and lanes == 1 and (decided := decided_comparison(instruction, operands)) is not None:
        return I1(int(decided))
    if opcode == "select" and lanes == 1 and isinstance(operands[0], ir.Constant):
        return operands[1 if operands[0].constant else 2]
    result = emit(context, *operands)
    if lanes == 1:
        note_result(instruction, operands, result)
    if isinstance(result, ComplexValue) or not is_narrow(context.result_type) or _is_exact(context):
        return result
    return round_to_type(builder, context.result_type, result)


def _is_exact(context: ElementwiseContext) -> bool:
    """Whether there is nothing to round or to wrap."""
    instruction = context.instruction
    return instruction.has_trait(SELECTING) or instruction.opcode in _EXACT_IN_16_BITS and context.result_type.bits == 16


def _float_intrinsic(name: str) -> Emitter:
    return lambda context, *operands: intrinsic(context.builder, name, *operands)


_FLOAT_INTRINSICS = {"ceil": "ceil", "floor": "floor", "round-nearest-afz": "round", "round-nearest-even": "roundeven"}

for _opcode, _name in _FLOAT_INTRINSICS.items():
    emitter(_opcode, exact_in_16_bits=True)(_float_intrinsic(_name))


# Each elementary function is the emitter of its operation, except for those below that do integers, too, or are short.
@emitter(*ELEMENTARY_FUNCTIONS)
def _call_elementary(context: ElementwiseContext, *operands: ir.Value) -> ir.Value:
    opcode = context.instruction.opcode
    return elementary_calls.apply(context.builder, opcode, ELEMENTARY_FUNCTIONS[opcode], operands, operands[0])


@emitter(*SHORT_FUNCTIONS)
def _inline_elementary(context, x):
    return ELEMENTARY_FUNCTIONS[context.instruction.opcode](context.builder, x)


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
    emit = getattr(context.builder, _BINARY[context.instruction.opcode][context.operand_type.kind])
    return (
        emit(x, y, flags=("contract",))
        if may_contract(context.builder.module) and context.operand_type.is_float
        else emit(x, y)
    )


@emitter("negate", exact_in_16_bits=True)
def _negate(context, x):
    if context.operand_type.is_float:
        return context.builder.fneg(x)
    return context.builder.sub(integer_constant(x.type, 0), x)


@emitter("abs", exact_in_16_bits=True)
def _abs(context, x):
    if context.operand_type.is_float:
        return intrinsic(context.builder, "fabs", x)
    if context.operand_type.kind == "unsigned":
        return x
    negative = context.builder.icmp_signed("<", x, integer_constant(x.type, 0))
    return context.builder.select(negative, context.builder.sub(integer_constant(x.type, 0), x), x)


@emitter("sign", exact_in_16_bits=True)
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


def _own_bits(context: ElementwiseContext, x: ir.Value) -> ir.Value:
    """An integer with zeros above the bits of its type."""
    element_type = context.operand_type
    return low_bits(context.builder, element_type, x) if is_small_integer(element_type) else x


@emitter("popcnt")
def _population_count(context, x):
    return _integer_intrinsic(context.builder, "ctpop", _own_bits(context, x))


@emitter("count-leading-zeros")
def _count_leading_zeros(context, x):
    count = _integer_intrinsic(context.builder, "ctlz", _own_bits(context, x), I1(0))
    unused = max(0, 8 - context.operand_type.bits)
    return context.builder.sub(count, integer_constant(x.type, unused)) if unused else count


@emitter("mulhi")
def _multiply_high(context, x, y):
    b, lanes, bits = context.builder, context.lanes, context.operand_type.bits
    signed = context.operand_type.kind == "signed"
    shift_right = b.ashr if signed else b.lshr
    if bits < 64:
        wide = vector_of(ir.IntType(16 if bits < 8 else 2 * bits), lanes)
        product = b.mul(*((b.sext if signed else b.zext)(operand, wide) for operand in (x, y)))
        return b.trunc(shift_right(product, integer_constant(wide, bits)), x.type)
    # By halves of 32 bits: x = high * 2**32 + low, the low half unsigned.
    half, mask = integer_constant(x.type, 32), integer_constant(x.type, 0xFFFFFFFF)
    (x_low, y_low), (x_high, y_high) = ([b.and_(v, mask) for v in (x, y)], [shift_right(v, half) for v in (x, y)])
    middle = b.add(b.mul(x_high, y_low), b.lshr(b.mul(x_low, y_low), half))
    other = b.add(b.mul(x_low, y_high), b.and_(middle, mask))
    return b.add(b.mul(x_high, y_high), b.add(shift_right(middle, half), shift_right(other, half)))


@emitter("divide")
def _divide(context, x, y):
    b = context.builder
    if context.operand_type.is_float:
        return float_quotient(b, x, y)
    if _is_usual_divisor(context):
        return _usual_quotient(context, x, y)
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
        return _call_elementary(context, x, y)
    if _is_usual_divisor(context):
        if _divides_by_products(context, x):
            return b.sub(x, b.mul(_usual_quotient(context, x, y), y))
        return (b.urem if context.operand_type.kind == "unsigned" else b.srem)(x, y)
    zero = integer_constant(y.type, 0)
    by_zero = b.icmp_signed("==", y, zero)
    if context.operand_type.kind == "unsigned":
        return b.select(by_zero, x, b.urem(x, b.select(by_zero, integer_constant(y.type, 1), y)))
    special = b.or_(by_zero, b.icmp_signed("==", y, integer_constant(y.type, -1)))
    remainder = b.srem(x, b.select(special, integer_constant(y.type, 1), y))
    return b.select(by_zero, x, remainder)


def _is_usual_divisor(context: ElementwiseContext) -> bool:
    """Whether all lanes are divided by one constant with which nothing special happens: it takes no division."""
    divisor = _constant_scalar(context.instruction.operands[1])
    return divisor is not None and divisor not in (0, -1)


def _divides_by_products(context: ElementwiseContext, x: ir.Value) -> bool:
    is_vector = isinstance(x.type, ir.VectorType) and context.operand_type.bits in WIDTHS
    return is_vector and lacks(context.builder.module, "integer quotients")


def _usual_quotient(context: ElementwiseContext, x: ir.Value, y: ir.Value) -> ir.Value:
    b, signed = context.builder, context.operand_type.kind == "signed"
    if _divides_by_products(context, x):
        return quotient_by_constant(b, x, int(_constant_scalar(context.instruction.operands[1])), signed)
    return (b.sdiv if signed else b.udiv)(x, y)


@emitter("power")
def _power(context, x, y):
    if not context.operand_type.is_float:
        return _integer_power(context, x, y)
    exponent = _constant_scalar(context.instruction.operands[1])
    if may_contract(context.builder.module) and exponent is not None and exponent == int(exponent) and 1 <= abs(exponent) <= 16:
        return _small_power(context.builder, x, int(exponent))
    if _constant_scalar(context.instruction.operands[0]) == 2:
        return elementary_calls.apply(context.builder, "exponential-of-two", exponential_of_two, (y,), y)
    return _call_elementary(context, x, y)


def _constant_scalar(instruction: Instruction) -> Any:
    """The number that all elements are; None where they are no constant."""
    while instruction.opcode == "broadcast":
        (instruction,) = instruction.operands
    return instruction.attributes["literal"] if instruction.opcode == "constant" and not instruction.shape.rank else None


def _small_power(b: ir.IRBuilder, x: ir.Value, exponent: int) -> ir.Value:
    """By squares and products, which are rounded more often than a power is."""
    found, square, left = None, x, abs(exponent)
    while left:
        if left & 1:
            found = square if found is None else b.fmul(found, square)
        left >>= 1
        square = b.fmul(square, square) if left else square
    return found if exponent > 0 else b.fdiv(constant(x.type, 1.0), found)


def _integer_power(context: ElementwiseContext, x: ir.Value, y: ir.Value) -> ir.Value:
    """Square and multiply, until every lane's exponent is used up."""
    b = context.builder
    zero, one = integer_constant(x.type, 0), integer_constant(x.type, 1)
    signed = context.operand_type.kind == "signed"
    negative = b.icmp_signed("<", y, zero) if signed else None
    exponent = b.select(negative, zero, y) if signed else y
    with while_loop(b, [one, x, exponent], "power", most=context.operand_type.bits) as loop:
        result, base, left = loop.values
        odd = b.icmp_signed("!=", b.and_(left, one), zero)
        product = b.select(odd, b.mul(result, base), result)
        square, rest = b.mul(base, base), b.lshr(left, one)
        loop.leave_unless(any_lane(b, b.icmp_signed("!=", rest, zero)))
        loop.carry([product, square, rest])
    if not signed:
        return product
    # The truncated reciprocal: nonzero for 1 and -1 only.
    minus_one = integer_constant(x.type, -1)
    odd = b.icmp_signed("!=", b.and_(y, one), zero)
    of_minus_one = b.select(odd, minus_one, one)
    reciprocal = b.select(b.icmp_signed("==", x, minus_one), of_minus_one, zero)
    reciprocal = b.select(b.icmp_signed("==", x, one), one, reciprocal)
    return b.select(negative, reciprocal, product)


@emitter("maximum", "minimum")
def _extremum(context, x, y):
    b, name, kind = context.builder, context.instruction.opcode, context.operand_type.kind
    if kind == "float":
        return extremum(b, x, y, name == "maximum")
    if kind == "pred":
        return b.or_(x, y) if name == "maximum" else b.and_(x, y)
    relation = ">" if name == "maximum" else "<"
    compare = b.icmp_signed if kind == "signed" else b.icmp_unsigned
    return b.select(compare(relation, x, y), x, y)


@emitter("clamp")
def _clamp(context, low, x, high):
    b, kind = context.builder, context.result_type.kind
    if kind == "float":
        return extremum(b, extremum(b, x, low, True), high, False)
    if kind == "pred":
        return b.and_(b.or_(x, low), high)
    compare = b.icmp_signed if kind == "signed" else b.icmp_unsigned
    raised = b.select(compare(">", x, low), x, low)
    return b.select(compare("<", raised, high), raised, high)


def _shift(context: ElementwiseContext, x: ir.Value, y: ir.Value, shift: Callable, overflow: ir.Value) -> ir.Value:
    b = context.builder
    inside = b.icmp_unsigned("<", y, integer_constant(y.type, context.operand_type.bits))
    # Of a selected distance LLVM 22 makes none at all for PTX, and cuts it to 32 bits.
    distance = b.and_(y, integer_constant(y.type, getattr(y.type, "element", y.type).width - 1))
    return b.select(inside, shift(x, distance), overflow)


@emitter("shift-left")
def _shift_left(context, x, y):
    return _shift(context, x, y, context.builder.shl, integer_constant(x.type, 0))


@emitter("shift-right-logical")
def _shift_right_logical(context, x, y):
    return _shift(context, _own_bits(context, x), y, context.builder.lshr, integer_constant(x.type, 0))


@emitter("shift-right-arithmetic")
def _shift_right_arithmetic(context, x, y):
    unused = integer_constant(x.type, max(0, 8 - context.operand_type.bits))
    x = context.builder.ashr(context.builder.shl(x, unused), unused) if is_small_integer(context.operand_type) else x
    sign = context.builder.ashr(x, integer_constant(x.type, context.operand_type.bits - 1))
    return _shift(context, x, y, context.builder.ashr, sign)


_RELATIONS = {"EQ": "==", "NE": "!=", "GE": ">=", "GT": ">", "LE": "<=", "LT": "<"}
# The order of truth values, of which LLVM compares no vectors for all devices.
_OF_TRUTHS: dict[str, Callable[[ir.IRBuilder, ir.Value, ir.Value], ir.Value]] = {
    "<": lambda b, x, y: b.and_(b.not_(x), y),
    "<=": lambda b, x, y: b.or_(b.not_(x), y),
    ">": lambda b, x, y: b.and_(x, b.not_(y)),
    ">=": lambda b, x, y: b.or_(x, b.not_(y)),
}


@emitter("compare")
def _compare(context, x, y):
    b, kind = context.builder, context.operand_type.kind
    relation = _RELATIONS[context.attributes["direction"]]
    if kind == "float" and context.attributes["type"] == "TOTALORDER":
        return b.icmp_signed(relation, _total_order_key(context, x), _total_order_key(context, y))
    if kind == "float":
        compare = b.fcmp_unordered if relation == "!=" else b.fcmp_ordered
        return compare(relation, x, y)
    if kind == "pred" and relation in _OF_TRUTHS:
        return _OF_TRUTHS[relation](b, x, y)
    return (b.icmp_signed if kind == "signed" else b.icmp_unsigned)(relation, x, y)


def _total_order_key(context: ElementwiseContext, x: ir.Value) -> ir.Value:
    """Signed integers in the total order of the floats: the bits, those of negative numbers flipped below the sign."""
    b = context.builder
    if is_small_float(context.operand_type):
        x = round_to_type(b, context.operand_type, x)  # of several NaN of one meaning, the one
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
    neither = _neither(b, condition)
    return b.select(condition, on_true, on_false) if neither is None else b.select(neither, on_false, on_true)


# When a comparison of floats does not hold: the one that does then.
_OTHERWISE = {"oeq": "une", "une": "oeq", "olt": "uge", "oge": "ult", "ogt": "ule", "ole": "ugt"}
_OF_PREDICATE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _neither(b: ir.IRBuilder, condition: ir.Value) -> ir.Value | None:
    """Where the condition is that one of two comparisons of floats holds: that none does.

    A comparison whose lanes are masked by another one takes no more than it does alone, but there is no such "or".
    """
    if getattr(condition, "opname", None) != "or":
        return None
    comparisons = condition.operands
    if not all(getattr(one, "opname", None) == "fcmp" and one.op in _OTHERWISE for one in comparisons):
        return None
    inverted = []
    for one in comparisons:
        predicate = _OTHERWISE[one.op]
        compare = b.fcmp_unordered if predicate.startswith("u") else b.fcmp_ordered
        inverted.append(compare(_OF_PREDICATE[predicate[1:]], *one.operands))
    return b.and_(*inverted)


@emitter("complex")
def _complex(context, real, imag):
    return ComplexValue(real, imag)


@emitter("real")
def _real(context, x):
    return x


@emitter("imag")
def _imag(context, x):
    return constant(x.type, 0.0)


emitter("convert")(conversion.convert)
emitter("reduce-precision")(conversion.reduce_precision)
emitter("stochastic-convert")(conversion.stochastic_convert)
