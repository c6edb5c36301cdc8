"""Integers to negative integer powers raise ValueError: at once where the exponent is known, else when the program runs."""

from __future__ import annotations

from typing import Any

from ... import hlo
from ..recording.operands import broadcast, broadcast_shapes, instruction_of, prepare, scalar_constant
from ..recording.trace import Trace

_MESSAGE = "Integers to negative integer powers are not allowed."


def require_nonnegative_exponent(trace: Trace, exponent: Any, operand: hlo.Instruction, where: Any = True) -> None:
    """Of the exponent, and of what was made of it, where a mask holds."""
    if operand.shape.element_type.kind != "signed":
        return
    known = scalar_constant(exponent)
    if known is not None and known >= 0:
        return
    if known is not None and where is True:
        raise ValueError(_MESSAGE)
    negative = hlo.lt(operand, 0)
    if where is not True:
        mask = instruction_of(trace, prepare(where), hlo.PRED)
        shape = broadcast_shapes(mask.shape.dimensions, negative.shape.dimensions)
        negative = hlo.and_(broadcast(negative, shape), broadcast(mask, shape))
    trace.add_error_flag(_any(negative), ValueError, _MESSAGE)


def require_nonnegative_behind_first(trace: Trace, operand: hlo.Instruction, axes: tuple[int, ...], first: int) -> None:
    """Of the elements from ``first`` on along the axes, which are the exponents where all are combined in order."""
    sizes = operand.shape.dimensions
    if operand.shape.element_type.kind == "signed" and (axes or not first) and all(sizes[axis] >= first for axis in axes):
        exponents = hlo.slice(operand, [first if d in axes else 0 for d in range(len(sizes))], sizes)
        trace.add_error_flag(_any(hlo.lt(exponents, 0)), ValueError, _MESSAGE)


def require_nonnegative_in_segments(
    trace: Trace, operand: hlo.Instruction, starts: hlo.Instruction, following: hlo.Instruction
) -> None:
    """Of the elements behind the first one of each of these segments of the first dimension."""
    if operand.shape.element_type.kind != "signed":
        return
    sizes = (operand.shape.dimensions[0], starts.shape.dimensions[0])
    place = hlo.iota(hlo.Shape(hlo.S64, sizes), 0)
    starts, following = (hlo.broadcast(one, sizes, dimensions=(1,)) for one in (starts, following))
    is_exponent = _any(hlo.and_(hlo.gt(place, starts), hlo.lt(place, following)), (1,))
    is_exponent = hlo.broadcast(is_exponent, operand.shape.dimensions, dimensions=(0,))
    trace.add_error_flag(_any(hlo.and_(is_exponent, hlo.lt(operand, 0))), ValueError, _MESSAGE)


def _any(found: hlo.Instruction, dimensions: tuple[int, ...] | None = None) -> hlo.Instruction:
    if not found.shape.rank:
        return found
    return hlo.reduce(
        found, hlo.constant(False, hlo.PRED), dimensions=tuple(range(found.shape.rank)) if dimensions is None else dimensions,
        to_apply=hlo.scalar_computation("or", hlo.PRED),
    )  # fmt: skip
