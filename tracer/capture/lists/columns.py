"""The columns in which lists of run-time length lie: arrays with a row for each element, and one more."""

from __future__ import annotations

import numpy as np

from .... import hlo
from ...indexing.index_arrays import second

Instruction = hlo.Instruction


def with_rest(column: Instruction, row: Instruction) -> list[Instruction]:
    """The start indices of a row."""
    return [row, *[hlo.constant(np.int64(0))] * (column.shape.rank - 1)]


def longer(column: Instruction, count: int) -> Instruction:
    """The column with so many more rows."""
    rest = [(0, 0, 0)] * (column.shape.rank - 1)
    return hlo.pad(column, hlo.constant(0, column.shape.element_type), padding=[(0, count, 0), *rest])


def rows_at(column: Instruction, begin: Instruction, count: int) -> Instruction:
    """So many rows from one on that the program decides."""
    return hlo.dynamic_slice(column, *with_rest(column, begin), sizes=(count, *column.shape.dimensions[1:]))


def rows_between(column: Instruction, begin: int, end: int) -> Instruction:
    rest = column.shape.dimensions[1:]
    return hlo.slice(column, (begin, *[0] * len(rest)), (end, *rest))


def with_block(column: Instruction, begin: Instruction, block: Instruction, count: Instruction | None) -> Instruction:
    """The column with the rows of a block from this row on, the first ``count`` of them or all; it stays in its memory.

    That they have room is not seen to here.
    """
    if count is None:
        return hlo.dynamic_update_slice(column, block, *with_rest(column, begin))
    numbers = hlo.iota(hlo.Shape(hlo.S64, block.shape.dimensions[:1]), 0)
    count, begin = (hlo.broadcast_in_dim(one, numbers.shape.dimensions, ()) for one in (count, begin))
    outside = hlo.full_like(numbers, column.shape.dimensions[0])
    return hlo.scatter(
        column, hlo.select(hlo.lt(numbers, count), hlo.add(numbers, begin), outside), block,
        update_window_dims=tuple(range(1, column.shape.rank)), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,),
        index_vector_dim=1, to_apply=second(column.shape.element_type),
    )  # fmt: skip
