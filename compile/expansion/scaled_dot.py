"""Scaled dot as a dot of the operands times their scales."""

from __future__ import annotations

from ... import hlo
from ...hlo import F32, F64, ElementType, Instruction
from .table import expansion


@expansion("scaled-dot")
def expand_scaled_dot(dot: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """scaled-dot(x, y, s, t) -> dot(x * blocks(s), y * blocks(t))"""
    lhs, rhs, lhs_scale, rhs_scale = operands
    shape = dot.shape
    wide = F64 if shape.element_type is F64 else F32
    scaled = [_scaled(x, scale, wide) for x, scale in ((lhs, lhs_scale), (rhs, rhs_scale))]
    result = hlo.dot(*scaled, shape=shape.with_element_type(wide), **dot.attributes)
    return hlo.convert(result, shape.element_type)


def _scaled(x: Instruction, scale: Instruction, element_type: ElementType) -> Instruction:
    """Each element of the scale for the elements of its block: broadcast along new dimensions, which a reshape joins."""
    sizes, blocks = x.shape.dimensions, scale.shape.dimensions
    split = [part for size, count in zip(sizes, blocks) for part in (count, size // count if count else 1)]
    repeated = hlo.broadcast(hlo.convert(scale, element_type), split, range(0, 2 * len(sizes), 2))
    return hlo.multiply(hlo.convert(x, element_type), hlo.reshape(repeated, sizes))
