"""Quotients of vectors of integers by a constant, as products, for drivers that call a library for such.

Source: T. Granlund and P. L. Montgomery, "Division by Invariant Integers using Multiplication", figures 4.2 and 5.2.
"""

from __future__ import annotations

from llvmlite import ir

from .types import integer_constant, vector_of

# Wider ones have no product of twice the width.
WIDTHS = (8, 16, 32)


def quotient_by_constant(builder: ir.IRBuilder, x: ir.Value, divisor: int, signed: bool) -> ir.Value:
    """x / divisor, rounded to zero: of a vector of integers of one of the WIDTHS; the divisor is neither 0 nor -1."""
    return (_signed if signed else _unsigned)(builder, x, divisor)


def _signed(b: ir.IRBuilder, x: ir.Value, divisor: int) -> ir.Value:
    width, magnitude = x.type.element.width, abs(divisor)
    length = max((magnitude - 1).bit_length(), 1)
    factor = 1 + (1 << width + length - 1) // magnitude - (1 << width)
    sum_of_high = b.add(x, _high_product(b, x, factor, signed=True))
    sign = b.ashr(x, integer_constant(x.type, width - 1))
    quotient = b.sub(b.ashr(sum_of_high, integer_constant(x.type, length - 1)), sign)
    return b.sub(integer_constant(x.type, 0), quotient) if divisor < 0 else quotient


def _unsigned(b: ir.IRBuilder, x: ir.Value, divisor: int) -> ir.Value:
    width, length = x.type.element.width, (divisor - 1).bit_length()
    factor = (1 << width) * ((1 << length) - divisor) // divisor + 1
    high = _high_product(b, x, factor, signed=False)
    half = b.lshr(b.sub(x, high), integer_constant(x.type, min(length, 1)))
    return b.lshr(b.add(high, half), integer_constant(x.type, max(length - 1, 0)))


def _high_product(b: ir.IRBuilder, x: ir.Value, factor: int, signed: bool) -> ir.Value:
    width = x.type.element.width
    wide = vector_of(ir.IntType(2 * width), x.type.count)
    product = b.mul((b.sext if signed else b.zext)(x, wide), integer_constant(wide, factor))
    return b.trunc(b.lshr(product, integer_constant(wide, width)), x.type)
