"""Conversions between element types, and to formats of fewer bits, on registers.

As the emitters of elementwise.py, which they belong to: for scalars and vectors, and without the rounding to the result's type,
where that is narrower than its registers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llvmlite import ir

from ...hlo import ElementType, component_type
from .arithmetic import constant, intrinsic
from .elementary.wide_registers import floats_as_words, words_as_floats
from .module import declaration, lacks
from .small_types import FORMATS, POWERS_OF_TWO, is_small_float, is_small_integer
from .types import (
    ComplexValue,
    RegisterValue,
    integer_constant,
    is_narrow_float,
    register_type,
    type_suffix,
    vector_of,
)

if TYPE_CHECKING:
    from .elementwise import ElementwiseContext


def convert(context: ElementwiseContext, x: RegisterValue) -> RegisterValue:
    """The operand in the result's element type, but for the rounding to a narrow one."""
    return convert_value(context, x, context.operand_type, context.result_type)


def convert_value(context: ElementwiseContext, x: RegisterValue, source: ElementType, target: ElementType) -> RegisterValue:
    """A value of one type as another."""
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
        # A choice of numbers: LLVM converts no vectors of conditions to floats for all devices.
        return b.zext(x, type_) if target.is_integer else b.select(x, constant(type_, 1.0), constant(type_, 0.0))
    if source.is_integer and target.is_integer:
        if type_ == x.type:
            return x
        if target.bits < source.bits:
            return b.trunc(x, type_)
        return (b.sext if source.kind == "signed" else b.zext)(x, type_)
    if source.is_integer:
        return _integer_to_float(context, x, source, target, type_)
    if target.is_integer:
        return _saturating(b, x, type_, target)
    return _float_to_float(b, x, source, target, type_)


def _integer_to_float(context, x, source, target, type_):
    b = context.builder
    signed = source.kind == "signed"
    if not is_narrow_float(target) or source.bits < 32:
        return words_as_floats(b, x, type_, signed)
    # Two roundings, to float and then to the narrow type, could go wrong; to odd and then to nearest cannot.
    if source.bits == 64:
        x = _odd_beyond_53_bits(b, x, signed)
    return _narrow_to_odd(b, words_as_floats(b, x, vector_of(ir.DoubleType(), context.lanes), signed), type_)


def _odd_beyond_53_bits(b: ir.IRBuilder, x: ir.Value, signed: bool) -> ir.Value:
    """Integers of 64 bits that a double holds: those that none holds become the odd one of the two around them."""
    kind = x.type
    limit, low = 1 << 53, integer_constant(kind, 0x7FF)
    fits = b.icmp_unsigned(
        "<=", b.add(x, integer_constant(kind, limit)) if signed else x, integer_constant(kind, 2 * limit if signed else limit)
    )
    inexact = b.icmp_unsigned("!=", b.and_(x, low), integer_constant(kind, 0))
    sticky = b.select(inexact, integer_constant(kind, 0x800), integer_constant(kind, 0))
    return b.select(fits, x, b.or_(b.and_(x, integer_constant(kind, -0x800)), sticky))


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


def _saturating(b: ir.IRBuilder, x: ir.Value, type_: ir.Type, target: ElementType) -> ir.Value:
    """Truncated towards zero into the limits of the integer type; NaN gives 0."""
    integer = _saturating_call(b, "s" if target.kind == "signed" else "u", x, type_)
    if not is_small_integer(target):
        return integer
    low, high = (integer_constant(type_, int(limit)) for limit in integer_limits(target))
    compare = b.icmp_signed if target.kind == "signed" else b.icmp_unsigned
    raised = b.select(compare("<", integer, low), low, integer)
    return b.select(compare(">", raised, high), high, raised)


def _saturating_call(b: ir.IRBuilder, sign: str, x: ir.Value, type_: ir.Type) -> ir.Value:
    if isinstance(type_, ir.VectorType) or lacks(b.module, "saturation"):
        return _saturating_lanes(b, sign == "s", x, type_)
    name = f"llvm.fpto{sign}i.sat.{type_suffix(type_)}.{type_suffix(x.type)}"
    return b.call(declaration(b.module, name, type_, [x.type]), [x])


def _saturating_lanes(b: ir.IRBuilder, signed: bool, x: ir.Value, type_: ir.Type) -> ir.Value:
    """As the intrinsic, which LLVM computes lane by lane where it is one of vectors."""
    bits = getattr(type_, "element", type_).width
    least, beyond = (-(1 << (bits - 1)), 1 << (bits - 1)) if signed else (0, 1 << bits)
    # What does not fit is poison, which a selection does not look at that takes the other side.
    integer = floats_as_words(b, x, type_, signed)
    fits = b.fcmp_ordered(">=", x, constant(x.type, float(least))) if signed else b.fcmp_ordered(">", x, constant(x.type, -1.0))
    integer = b.select(fits, integer, integer_constant(type_, least))
    is_number = b.fcmp_ordered("ord", x, x)
    otherwise = b.select(is_number, integer_constant(type_, beyond - 1), integer_constant(type_, 0))
    return b.select(b.fcmp_ordered("<", x, constant(x.type, float(beyond))), integer, otherwise)


def integer_limits(element_type: ElementType) -> tuple[int, int]:
    """The least and the greatest value of an integer type."""
    if element_type.kind == "signed":
        return -(1 << (element_type.bits - 1)), (1 << (element_type.bits - 1)) - 1
    return 0, (1 << element_type.bits) - 1


def stochastic_convert(context: ElementwiseContext, x: ir.Value, random: ir.Value) -> ir.Value:
    """The integer below or above |x|: above where the fraction, in units of the random number's type, exceeds that number."""
    b, source = context.builder, context.operand_type
    magnitude = intrinsic(b, "fabs", x)
    whole = intrinsic(b, "trunc", magnitude)
    fraction = b.fmul(b.fsub(magnitude, whole), constant(x.type, 2.0**source.bits))
    above = b.icmp_unsigned("<", random, _saturating_call(b, "u", fraction, random.type))
    chosen = b.fadd(whole, b.select(above, constant(x.type, 1.0), constant(x.type, 0.0)))
    return convert_real(context, intrinsic(b, "copysign", chosen, x), source, context.result_type)


def reduce_precision(context: ElementwiseContext, x: ir.Value) -> ir.Value:
    """Round the mantissa in the integer bits, then replace what the exponent cannot hold."""
    b, element_type = context.builder, context.operand_type
    exponent_bits, mantissa_bits = context.attributes["exponent_bits"], context.attributes["mantissa_bits"]
    own_exponent, own_mantissa = _exponent_and_mantissa_bits(element_type)
    if is_small_float(element_type) and exponent_bits >= own_exponent:
        # The biases and limits of these types are their own; rounding to the type applies them.
        exponent_bits = own_exponent = 8
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
    if element_type.name == "f16" and kept < own_mantissa:
        is_subnormal = b.fcmp_ordered("<", intrinsic(b, "fabs", x), constant(x.type, 2.0**-14))
        result = b.select(is_subnormal, _in_units(b, x, kept), result)
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


def _in_units(b: ir.IRBuilder, x: ir.Value, mantissa_bits: int) -> ir.Value:
    """A subnormal number of f16, which is a normal one of f32, rounded to the last of so many bits behind its fixed point."""
    # Behind the sum's own last bit nothing is left.
    shift = constant(x.type, 1.5 * 2.0 ** (23 - 14 - mantissa_bits))
    return intrinsic(b, "copysign", b.fsub(b.fadd(x, shift), shift), x)


def _exponent_and_mantissa_bits(element_type: ElementType) -> tuple[int, int]:
    if element_type.name == POWERS_OF_TWO:
        return 8, 0
    if is_small_float(element_type):
        mantissa_bits = FORMATS[element_type.name].mantissa_bits
        return element_type.bits - 1 - mantissa_bits, mantissa_bits
    return {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}[element_type.name]
