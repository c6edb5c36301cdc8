"""The elements that a mask selects, moved together: an array whose size is known at run time only."""

from __future__ import annotations

from math import prod

import numpy as np

from ... import hlo
from ..recording.array import TracedArray
from ..recording.dynamic_array import dynamic
from ..recording.trace import Trace
from .index_arrays import second

Instruction = hlo.Instruction


def compressed(trace: Trace, whole: TracedArray | None, mask: TracedArray) -> TracedArray:
    """The elements (or slices) of the whole at which the mask is true, in order; without a whole, their row-major positions.

    The mask covers the leading dimensions of the whole. A running count of the mask says where each element goes.
    """
    count = mask.size
    if whole is None:
        values = hlo.iota(hlo.Shape(hlo.S64, (count,)), 0)
    else:
        values = hlo.reshape(whole.instruction(trace), (count, *whole.shape[mask.ndim :]))
    flat = hlo.reshape(mask.instruction(trace), (count,))
    if count == 0:
        return dynamic(trace, values, {0: hlo.constant(np.int32(0))})
    moved, total = moved_together(trace, values, flat)
    return dynamic(trace, moved, {0: total})


def moved_together(trace: Trace, values: Instruction, flat: Instruction) -> tuple[Instruction, Instruction]:
    """The elements (or slices) at which a mask of one dimension is true, in order, in front of others; how many there are."""
    count = flat.shape.size
    number = hlo.S32 if count < 2**31 else hlo.S64
    counts = np.cumsum(TracedArray.from_instruction(trace, flat, is_scalar=False), dtype=number.dtype).instruction(trace)
    total = hlo.reshape(hlo.emit("slice", counts, slice=[(count - 1, count, 1)]), ())
    total = hlo.convert(total, hlo.S32)
    rest = values.shape.dimensions[1:]
    if rest:
        places = hlo.select(flat, hlo.subtract(counts, 1), hlo.full_like(counts, count))
    else:  # an element that is not selected goes where the next selected one comes behind it: quicker than leaving it out
        places = hlo.subtract(counts, hlo.convert(flat, number))
    if prod(rest) == 0:
        return values, total
    moved = hlo.scatter(
        hlo.full_like(values, 0), places, values, update_window_dims=tuple(range(1, 1 + len(rest))),
        inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), index_vector_dim=1,
        to_apply=second(values.shape.element_type),
    )  # fmt: skip
    return moved, total
