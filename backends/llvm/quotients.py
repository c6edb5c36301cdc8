"""Quotients of floats by one divisor, where a device has fast doubles, but no instruction for division.

An assembler makes a call of a function of each division, which takes it longer than all else of a short kernel. Here lanes,
and vectors, share the reciprocal of their divisor, a double: a quotient is a product, rounded to a float, to the same bits.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir

from .arithmetic import (
    DOUBLE,
    FLOAT,
    SplatConstant,
    approximated,
    compare,
    constant,
    divide,
    element_type,
    fma,
    from_bits,
    lane_count,
    multiply,
    narrow,
    negate,
    select,
    to_bits,
    widen,
)
from .module import approximation
from .types import broadcast_lanes, broadcast_scalar

RECIPROCAL = "reciprocal of doubles"
_NAME = "double_reciprocal"


def quotient(builder: ir.IRBuilder, x: ir.Value, y: ir.Value) -> ir.Value:
    """x / y of floats, doubles or vectors of them, rounded once."""
    is_single = element_type(x.type) == FLOAT
    divisor = _scalar_divisor(y) if is_single and approximation(builder.module, RECIPROCAL) else None
    if divisor is None:
        return divide(builder, x, y)
    reciprocal = broadcast_lanes(builder, _reciprocal(builder, divisor), lane_count(x.type))
    product = multiply(builder, widen(builder, x), reciprocal)
    # Without its last three bits it is below the quotient by less than 2**-49 of it, which is further from the middle of two
    # floats; but for those that lie there, which are subnormal: their last three bits are zeros, and nothing is below them.
    bits = to_bits(builder, product)
    return narrow(builder, from_bits(builder, builder.and_(bits, constant(bits.type, -8)), product.type))


def _scalar_divisor(y: ir.Value) -> ir.Value | None:
    """The number that all lanes are, where it is a constant, or has been broadcast; None elsewhere."""
    if isinstance(y, SplatConstant):
        return y.constant
    if isinstance(y, ir.Constant):
        return y if isinstance(y.constant, (int, float)) else None
    return broadcast_scalar(y)


def _reciprocal(builder: ir.IRBuilder, divisor: ir.Value) -> ir.Value:
    """1 / divisor, a double: that number, or up to two ulp larger in magnitude."""
    if isinstance(divisor, ir.Constant):
        with np.errstate(divide="ignore"):
            nearest = 1 / np.float64(np.float32(divisor.constant))
        return constant(DOUBLE, float(nearest if nearest == 0 else np.nextafter(nearest, np.copysign(np.inf, nearest))))
    # What is known rides on the register, for the block that is being emitted.
    block, known = getattr(divisor, _NAME, (None, None))
    if block is not builder.block:
        known = _corrected_reciprocal(builder, widen(builder, divisor))
        setattr(divisor, _NAME, (builder.block, known))
    return known


def _corrected_reciprocal(builder: ir.IRBuilder, x: ir.Value) -> ir.Value:
    first = approximated(builder, RECIPROCAL, x)
    negated = negate(builder, x)
    rest = fma(builder, negated, first, 1.0)
    second = fma(builder, fma(builder, rest, rest, rest), first, first)
    third = fma(builder, fma(builder, negated, second, 1.0), second, second)
    bits = to_bits(builder, third)
    larger = from_bits(builder, builder.add(bits, constant(bits.type, 1)), third.type)
    # That of zeros, infinities and NaN leaves no rest, and is right.
    return select(builder, compare(builder, "==", rest, rest), larger, first)
