"""Products of 64-bit integers in 128 bits, of which not every target has registers."""

from __future__ import annotations

from llvmlite import ir

from .types import integer_constant


def wide_product(builder: ir.IRBuilder, x: ir.Value, y: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The low and the high word of the product of unsigned words of 64 bits, or of vectors of them.

    Method: D. E. Knuth, "The Art of Computer Programming", vol. 2, 4.3.1, with digits of 32 bits.
    """
    b = builder
    half, mask = integer_constant(x.type, 32), integer_constant(x.type, 0xFFFFFFFF)
    (x_low, x_high), (y_low, y_high) = ((b.and_(one, mask), b.lshr(one, half)) for one in (x, y))
    low, high = b.mul(x_low, y_low), b.mul(x_high, y_high)
    first, second = b.mul(x_low, y_high), b.mul(x_high, y_low)
    middle = b.add(b.add(b.lshr(low, half), b.and_(first, mask)), b.and_(second, mask))
    carried = b.add(b.add(b.lshr(first, half), b.lshr(second, half)), b.lshr(middle, half))
    return b.or_(b.shl(middle, half), b.and_(low, mask)), b.add(high, carried)
