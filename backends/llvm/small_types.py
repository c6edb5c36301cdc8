"""Floats of 4, 8 and 16 bits and integers of 2 and 4 bits: how they are read, written and rounded.

A small float is carried as float, a small integer as i8 with its value extended to all bits; both are rounded, or wrapped, to
their type after every operation. In memory each element has a byte, as in ``ml_dtypes``; of a type below 8 bits the low bits
count, and the others are written as 0.

Source of the formats: IEEE P3109 interim report; P. Micikevicius et al., "FP8 formats for deep learning", 2022 (e5m2, e4m3fn);
B. Noune et al., "8-bit numerical formats for deep neural networks", 2022 (fnuz); OCP Microscaling Formats (MX)
Specification 1.0, 2023 (f4e2m1fn, f8e8m0fnu).
"""

from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir

from ...hlo import ElementType
from .arithmetic import absolute, add, constant, from_bits, integer_type, subtract, to_bits, with_element_type

I8 = ir.IntType(8)
# Of the float that carries a value.
_MANTISSA_BITS, _BIAS, _INFINITY, _QUIET_NAN = 23, 127, 0x7F800000, 0x7FC00000


@dataclass(frozen=True)
class Format:
    """A binary format with a sign. ``largest`` is the code of the largest number, ``overflow`` and ``nan`` those of what has no
    other; codes are without the sign. With ``has_payloads`` all codes above that of infinity are NaN.

    A format without negative zero (``unsigned_zero``) uses its code for the only NaN.
    """

    bits: int
    mantissa_bits: int
    bias: int
    largest: int
    overflow: int
    nan: int
    has_payloads: bool = False
    unsigned_zero: bool = False


FORMATS = {
    "f4e2m1fn": Format(4, 1, 1, largest=0x7, overflow=0x7, nan=0x8),  # without NaN: -0 stands for it
    "f8e3m4": Format(8, 4, 3, largest=0x6F, overflow=0x70, nan=0x78, has_payloads=True),
    "f8e4m3": Format(8, 3, 7, largest=0x77, overflow=0x78, nan=0x7C, has_payloads=True),
    "f8e4m3fn": Format(8, 3, 7, largest=0x7E, overflow=0x7F, nan=0x7F),
    "f8e4m3fnuz": Format(8, 3, 8, largest=0x7F, overflow=0x80, nan=0x80, unsigned_zero=True),
    "f8e4m3b11fnuz": Format(8, 3, 11, largest=0x7F, overflow=0x80, nan=0x80, unsigned_zero=True),
    "f8e5m2": Format(8, 2, 15, largest=0x7B, overflow=0x7C, nan=0x7E, has_payloads=True),
    "f8e5m2fnuz": Format(8, 2, 16, largest=0x7F, overflow=0x80, nan=0x80, unsigned_zero=True),
}
# For processors without instructions that convert it.
_HALF = Format(16, 10, 15, largest=0x7BFF, overflow=0x7C00, nan=0x7E00, has_payloads=True)
# The powers of two from 2**-127 to 2**127, and NaN: no zero, no sign.
POWERS_OF_TWO = "f8e8m0fnu"


def is_small_float(element_type: ElementType) -> bool:
    return element_type.name in FORMATS or element_type.name == POWERS_OF_TWO


def is_small_integer(element_type: ElementType) -> bool:
    return element_type.is_integer and element_type.bits < 8


def decode(builder: ir.IRBuilder, element_type: ElementType, code: ir.Value) -> ir.Value:
    """The float that a byte in memory stands for; of f16, that two bytes do."""
    b, wide = builder, with_element_type(code.type, ir.IntType(32))
    code, float_type = b.zext(code, wide), with_element_type(code.type, ir.FloatType())
    if element_type.name == POWERS_OF_TWO:
        bits = b.shl(code, constant(wide, _MANTISSA_BITS))
        bits = _replace(b, bits, b.icmp_unsigned("==", code, constant(wide, 0)), 1 << (_MANTISSA_BITS - 1))
        return b.bitcast(_replace(b, bits, b.icmp_unsigned("==", code, constant(wide, 0xFF)), _QUIET_NAN), float_type)
    f = FORMATS.get(element_type.name, _HALF)
    sign_bit = 1 << (f.bits - 1)
    magnitude = b.and_(code, constant(wide, sign_bit - 1))
    sign = b.shl(b.and_(code, constant(wide, sign_bit)), constant(wide, 32 - f.bits))
    shift = _MANTISSA_BITS - f.mantissa_bits
    shifted = b.shl(magnitude, constant(wide, shift))
    normal = b.add(shifted, constant(wide, (_BIAS - f.bias) << _MANTISSA_BITS))
    # A subnormal number is the mantissa behind a leading 1, less that 1.
    leading = (_BIAS - f.bias + 1) << _MANTISSA_BITS
    with_leading = b.bitcast(b.or_(shifted, constant(wide, leading)), float_type)
    subnormal = to_bits(b, subtract(b, with_leading, from_bits(b, constant(wide, leading), float_type)))
    is_subnormal = b.icmp_unsigned("<", magnitude, constant(wide, 1 << f.mantissa_bits))
    bits = b.select(is_subnormal, subnormal, normal)
    if f.has_payloads:
        special = b.or_(shifted, constant(wide, _INFINITY))
        bits = b.select(b.icmp_unsigned(">=", magnitude, constant(wide, f.overflow)), special, bits)
    elif not f.unsigned_zero and f.nan < sign_bit:
        bits = _replace(b, bits, b.icmp_unsigned("==", magnitude, constant(wide, f.nan)), _QUIET_NAN)
    bits = b.or_(bits, sign)
    if f.unsigned_zero:
        bits = _replace(b, bits, b.icmp_unsigned("==", code, constant(wide, f.nan)), _QUIET_NAN)
    return b.bitcast(bits, float_type)


def encode(builder: ir.IRBuilder, element_type: ElementType, value: ir.Value) -> ir.Value:
    """The code of the number nearest to a float, ties to even (of a power of two, up), with the type's own overflow and NaN."""
    b, bits = builder, to_bits(builder, value)
    wide = integer_type(value.type)
    if element_type.name == POWERS_OF_TWO:
        code = b.lshr(b.add(bits, constant(wide, 1 << (_MANTISSA_BITS - 1))), constant(wide, _MANTISSA_BITS))
        code = _replace(b, code, b.icmp_unsigned("<", bits, constant(wide, 3 << (_MANTISSA_BITS - 2))), 0)
        # Zero, negative numbers and NaN: as unsigned numbers less 1, their bits are those from infinity on.
        invalid = b.icmp_unsigned(">=", b.sub(bits, constant(wide, 1)), constant(wide, _INFINITY - 1))
        return b.trunc(_replace(b, code, invalid, 0xFF), with_element_type(wide, I8))
    f = FORMATS.get(element_type.name, _HALF)
    sign_bit = 1 << (f.bits - 1)
    magnitude = b.and_(bits, constant(wide, 0x7FFFFFFF))
    sign = b.and_(b.lshr(bits, constant(wide, 32 - f.bits)), constant(wide, sign_bit))
    shift = constant(wide, _MANTISSA_BITS - f.mantissa_bits)
    odd = b.and_(b.lshr(magnitude, shift), constant(wide, 1))
    half = (1 << (_MANTISSA_BITS - f.mantissa_bits - 1)) - 1
    rebias = half - ((_BIAS - f.bias) << _MANTISSA_BITS)
    normal = b.lshr(b.add(b.add(magnitude, odd), constant(wide, rebias)), shift)
    # Where the last bit of this number has the weight of the format's smallest, the sum rounds to it.
    smallest_normal = (_BIAS - f.bias + 1) << _MANTISSA_BITS
    rounder = constant(wide, smallest_normal + ((_MANTISSA_BITS - f.mantissa_bits) << _MANTISSA_BITS))
    total = add(b, absolute(b, value), from_bits(b, rounder, value.type))
    subnormal = b.sub(to_bits(b, total), rounder)
    code = b.select(b.icmp_unsigned("<", magnitude, constant(wide, smallest_normal)), subnormal, normal)
    code = _replace(b, code, b.icmp_unsigned(">", code, constant(wide, f.largest)), f.overflow)
    nan = constant(wide, f.nan)
    if f.has_payloads:
        payload = b.and_(b.lshr(magnitude, shift), constant(wide, (1 << f.mantissa_bits) - 1))
        none = b.icmp_unsigned("==", payload, constant(wide, 0))
        nan = b.select(none, nan, b.or_(payload, constant(wide, f.overflow)))
    is_nan = b.icmp_unsigned(">", magnitude, constant(wide, _INFINITY))
    if f.unsigned_zero:
        # Neither zero nor NaN has a sign.
        signless = b.icmp_unsigned("==", b.and_(code, constant(wide, sign_bit - 1)), constant(wide, 0))
        code = b.select(signless, code, b.or_(code, sign))
        code = b.select(is_nan, nan, code)
    elif f.nan == sign_bit:
        code = b.select(is_nan, nan, b.or_(code, sign))
    else:
        code = b.or_(b.select(is_nan, nan, code), sign)
    return b.trunc(code, with_element_type(wide, ir.IntType(max(8, f.bits))))


def _replace(builder: ir.IRBuilder, value: ir.Value, condition: ir.Value, replacement: int) -> ir.Value:
    return builder.select(condition, constant(value.type, replacement), value)


def wrap(builder: ir.IRBuilder, element_type: ElementType, value: ir.Value) -> ir.Value:
    """The low bits of a byte as an integer of 2 or 4 bits, extended to the whole byte."""
    unused = constant(value.type, 8 - element_type.bits)
    if element_type.kind == "signed":
        return builder.ashr(builder.shl(value, unused), unused)
    return builder.and_(value, constant(value.type, (1 << element_type.bits) - 1))


def low_bits(builder: ir.IRBuilder, element_type: ElementType, value: ir.Value) -> ir.Value:
    """An integer of 2 or 4 bits with zeros above its bits, as it is stored."""
    if element_type.kind == "unsigned":
        return value
    return builder.and_(value, constant(value.type, (1 << element_type.bits) - 1))
