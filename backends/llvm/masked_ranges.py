"""Where masks may be true: of ``select(mask, value, array)``, written over the array, the rest is as it lies.

``x[i:j] = v`` of traced bounds selects between the value and what was there, with ``i <= position < j`` as mask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from llvmlite import ir

from ...compile.traversal import scalar_under
from ...hlo import S32, S64, Instruction
from . import index as indices
from .types import I64

# By dimension the first index, or the one behind the last.
Bounds = dict[int, ir.Value]
# What computes a scalar.
Scalar = Callable[[Instruction], ir.Value]


def masked_ranges(builder: ir.IRBuilder, mask: Instruction, scalar: Scalar) -> tuple[Bounds, Bounds]:
    """Indices in front of which a mask is false, none of them negative, and behind which it is, none above the size."""
    starts: Bounds = {}
    stops: Bounds = {}
    sizes = mask.shape.dimensions
    for dimension, is_start, bound in _bounds(builder, mask, sizes, scalar):
        found = starts if is_start else stops
        first = found.get(dimension, I64(0) if is_start else I64(sizes[dimension]))
        found[dimension] = (indices.greatest if is_start else indices.least)(builder, first, bound)
    return starts, stops


def _bounds(
    builder: ir.IRBuilder, mask: Instruction, sizes: tuple[int, ...], scalar: Scalar
) -> Iterator[tuple[int, bool, ir.Value]]:
    if mask.opcode == "and":
        for operand in mask.operands:
            yield from _bounds(builder, operand, sizes, scalar)
    if mask.opcode != "compare" or mask.attributes["direction"] not in ("GE", "LT"):
        return
    position, bound = mask.operands[0], scalar_under(mask.operands[1])
    origin = None
    if position.opcode == "subtract":
        position, origin = position.operands[0], scalar_under(position.operands[1])
        if origin is None:
            return
    if bound is None or position.opcode != "iota" or position.shape.element_type not in (S32, S64):
        return
    dimension, is_start = position.attributes["iota_dimension"], mask.attributes["direction"] == "GE"
    size = I64(sizes[dimension])
    limit = _wide(builder, scalar(bound))
    if origin is None:
        yield dimension, is_start, limit
        return
    first = _wide(builder, scalar(origin))
    # Differences are those of positions where nothing overflows.
    is_near = _is_between(builder, first, I64(0), size)
    is_near = builder.and_(is_near, _is_between(builder, limit, builder.neg(size), size))
    yield dimension, is_start, builder.select(is_near, builder.add(first, limit), I64(0) if is_start else size)


def _wide(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    return value if value.type == I64 else builder.sext(value, I64)


def _is_between(builder: ir.IRBuilder, value: ir.Value, least: ir.Value, greatest: ir.Value) -> ir.Value:
    return builder.and_(builder.icmp_signed(">=", value, least), builder.icmp_signed("<=", value, greatest))
