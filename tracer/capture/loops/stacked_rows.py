"""Elements of a list that a captured loop has appended: rows of one array, of which np.array makes that array again."""

from __future__ import annotations

from typing import Any

import numpy as np

from .... import hlo
from ...control_flow.bodies import ValueType
from ...recording.array import TracedArray
from ...recording.operands import shape_of
from ...recording.trace import Trace


class _Row:
    """How a row is read and written: a position in its array."""

    def __init__(self, position: int) -> None:
        self.position = position

    def __call__(self, trace: Trace, base: hlo.Instruction) -> hlo.Instruction:
        sizes = base.shape.dimensions
        starts, limits = (self.position, *[0] * (len(sizes) - 1)), (self.position + 1, *sizes[1:])
        return hlo.reshape(hlo.slice(base, starts, limits), sizes[1:])

    def write(self, trace: Trace, base: hlo.Instruction, value: hlo.Instruction) -> hlo.Instruction:
        starts = [hlo.constant(np.int64(start)) for start in (self.position, *[0] * value.shape.rank)]
        return hlo.dynamic_update_slice(base, hlo.reshape(value, (1, *value.shape.dimensions)), *starts)


def row_of(array: TracedArray, position: int, kind: ValueType) -> TracedArray:
    """A row of an array to which rows alone write; it costs nothing until it is used."""
    place = _Row(position)
    row = TracedArray.view_of(array, array.shape[1:], place, place.write)
    row.weak_type, row.is_scalar = kind.weak_type, kind.is_scalar
    return row


def is_row(value: Any) -> bool:
    return isinstance(value, TracedArray) and type(value.view_reader) is _Row


def whole_array(values: Any) -> TracedArray | None:
    """The array whose rows these are, all of them in order; None for anything else."""
    if type(values) not in (list, tuple) or not values or not all(isinstance(value, TracedArray) for value in values):
        return None
    base = values[0].base
    if not is_row(values[0]) or shape_of(base)[0] != len(values):
        return None
    for position, value in enumerate(values):
        read = value.view_reader
        if value.base is not base or type(read) is not _Row or read.position != position:
            return None
    return base
