"""The bits of elements as integers that order as a comparator's key does."""

from __future__ import annotations

from llvmlite import ir

from ...compile.comparators import SortKey
from ...hlo import ElementType
from .types import integer_constant


def order_bits(builder: ir.IRBuilder, key: SortKey, bits: ir.Value) -> ir.Value:
    """The bits of an element (or a vector of elements) as an unsigned integer that orders as the key does."""
    return _in_order(builder, key, _canonical_bits(builder, key.element_type, bits) if key.zeros_equal else bits)


def order_of_values(builder: ir.IRBuilder, key: SortKey, bits: ir.Value) -> ir.Value:
    """As order_bits, but of different integers for different elements; those that are equal in the key come in some order.

    NaN loses its sign where the key has none of it.
    """
    return _in_order(builder, key, _without_sign_of_nan(builder, key.element_type, bits) if key.zeros_equal else bits)


def value_of_order(builder: ir.IRBuilder, key: SortKey, order: ir.Value) -> ir.Value:
    """The bits of the element with this order_of_values."""
    b, element_type = builder, key.element_type
    integer, width = order.type, max(8, element_type.bits)
    sign = integer_constant(integer, 1 << (width - 1))
    if key.is_descending:
        order = b.xor(order, integer_constant(integer, (1 << width) - 1))
    if element_type.is_float:
        positive = b.ashr(order, integer_constant(integer, width - 1))
        return b.xor(order, b.or_(b.xor(positive, integer_constant(integer, (1 << width) - 1)), sign))
    return b.xor(order, sign) if element_type.kind == "signed" else order


def _in_order(builder: ir.IRBuilder, key: SortKey, bits: ir.Value) -> ir.Value:
    b, element_type = builder, key.element_type
    integer, width = bits.type, max(8, element_type.bits)
    sign = integer_constant(integer, 1 << (width - 1))
    if element_type.is_float:
        negative = b.ashr(bits, integer_constant(integer, width - 1))
        bits = b.xor(bits, b.or_(negative, sign))
    elif element_type.kind == "signed":
        bits = b.xor(bits, sign)
    return b.xor(bits, integer_constant(integer, (1 << width) - 1)) if key.is_descending else bits


def _without_sign_of_nan(builder: ir.IRBuilder, element_type: ElementType, bits: ir.Value) -> ir.Value:
    magnitude = _magnitude(builder, element_type, bits)
    return builder.select(_is_nan(builder, element_type, magnitude), magnitude, bits)


def _canonical_bits(builder: ir.IRBuilder, element_type: ElementType, bits: ir.Value) -> ir.Value:
    """The bits of a float with +0 for -0, and one NaN, the greatest number, for all."""
    b, integer = builder, bits.type
    magnitude = _magnitude(builder, element_type, bits)
    bits = b.select(b.icmp_unsigned("==", magnitude, integer_constant(integer, 0)), magnitude, bits)
    greatest = integer_constant(integer, (1 << (element_type.bits - 1)) - 1)
    return b.select(_is_nan(b, element_type, magnitude), greatest, bits)


def _magnitude(builder: ir.IRBuilder, element_type: ElementType, bits: ir.Value) -> ir.Value:
    return builder.and_(bits, integer_constant(bits.type, (1 << (element_type.bits - 1)) - 1))


def _is_nan(builder: ir.IRBuilder, element_type: ElementType, magnitude: ir.Value) -> ir.Value:
    infinity = int.from_bytes(element_type.dtype.type("inf").tobytes(), "little")
    return builder.icmp_unsigned(">", magnitude, integer_constant(magnitude.type, infinity))
