"""Bit casts between types of different widths, one of them below 8 bits, as shifts.

In memory these elements have a byte each, so that their bits do not lie side by side.
"""

from __future__ import annotations

import numpy as np

from ... import hlo
from ...hlo import ElementType, Instruction, Shape, scalar_computation
from ...hlo.element_type import ELEMENT_TYPES
from ..traversal import on_operands
from .table import expansion


@expansion("bitcast-convert")
def expand_bitcast_convert(cast: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """s4[n,2] from s8[n]: broadcast, shift right by 0 and 4, convert. s8[n] from s4[n,2]: convert, shift left, reduce by or."""
    (operand,) = operands
    source, target = operand.shape.element_type, cast.shape.element_type
    if source.bits == target.bits:
        return on_operands(cast, operands)
    bits = _bit_cast(operand, _unsigned(source))
    result = _split(bits, cast.shape) if source.bits > target.bits else _joined(bits, _unsigned(target))
    return _bit_cast(result, target)


def _unsigned(element_type: ElementType) -> ElementType:
    return ELEMENT_TYPES[f"u{element_type.bits}"]


def _bit_cast(operand: Instruction, element_type: ElementType) -> Instruction:
    shape = operand.shape
    if shape.element_type is element_type:
        return operand
    return hlo.emit("bitcast-convert", operand, shape=shape.with_element_type(element_type))


def _shifts(shape: Shape, step: int) -> Instruction:
    """0, step, 2 * step, ... along the last dimension."""
    # Counted in a type that holds them all.
    positions = hlo.iota(shape.with_element_type(ELEMENT_TYPES["u8"]), shape.rank - 1)
    steps = hlo.broadcast(hlo.constant(np.uint8(step)), shape.dimensions, ())
    return hlo.convert(hlo.multiply(positions, steps), shape.element_type)


def _split(bits: Instruction, shape: Shape) -> Instruction:
    repeated = hlo.broadcast(bits, shape.dimensions, range(bits.shape.rank))
    target = _unsigned(shape.element_type)
    return hlo.convert(hlo.shift_right_logical(repeated, _shifts(repeated.shape, target.bits)), target)


def _joined(bits: Instruction, target: ElementType) -> Instruction:
    wide = hlo.convert(bits, target)
    moved = hlo.shift_left(wide, _shifts(wide.shape, bits.shape.element_type.bits))
    zero = hlo.constant(np.zeros((), target.dtype))
    return hlo.reduce(moved, zero, dimensions=(moved.shape.rank - 1,), to_apply=scalar_computation("or", target))
