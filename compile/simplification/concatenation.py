"""Rules of concatenates that put together again what was taken apart."""

from __future__ import annotations

from typing import NamedTuple

from ... import hlo
from ...hlo import Instruction
from .rule import f32, rule


class _Rows(NamedTuple):
    """Consecutive indices of an array's first dimension."""

    array: Instruction
    start: int
    limit: int


def _rows(operand: Instruction) -> _Rows | None:
    """The rows of an array that the operand is, in whatever dimensions."""
    taken = operand.operands[0] if operand.opcode == "reshape" else operand
    if taken.opcode != "slice" or not taken.shape.dimensions:
        return None
    (array,) = taken.operands
    (start, limit, stride), *others = taken.attributes["slice"]
    whole = all(tuple(one) == (0, size, 1) for one, size in zip(others, array.shape.dimensions[1:]))
    return _Rows(array, start, limit) if whole and stride == 1 else None


@rule(
    "concatenate",
    fires=[
        lambda: (x := f32(6, 3), hlo.concatenate(*[hlo.slice(x, (k, 0), (k + 2, 3)) for k in (0, 2, 4)], dimensions=(0,)))[-1],
        lambda: (
            x := f32(6, 2, 3),
            hlo.concatenate(*[hlo.reshape(hlo.slice(x, (k, 0, 0), (k + 1, 2, 3)), (2, 3)) for k in (1, 2)], dimensions=(0,)),
        )[-1],
    ],
    unchanged=[
        lambda: (x := f32(6), hlo.concatenate(*[hlo.slice(x, (k,), (k + 2,)) for k in (0, 3)], dimensions=(0,)))[-1],
        lambda: (x := f32(6, 3), hlo.concatenate(*[hlo.slice(x, (k, 0), (k + 2, 3)) for k in (0, 2)], dimensions=(1,)))[-1],
    ],
)
def concatenate_of_consecutive_rows(concatenate: Instruction) -> Instruction | None:
    """concatenate(x[0:2], x[2:5]) -> x[0:5], along the first dimension"""
    if concatenate.attributes["dimensions"] != (0,):
        return None
    groups: list[tuple[int, _Rows | None]] = []  # the number of the first operand of each, and its rows
    for number, operand in enumerate(concatenate.operands):
        rows, before = _rows(operand), groups[-1][1] if groups else None
        if rows is not None and before is not None and before.array is rows.array and before.limit == rows.start:
            groups[-1] = groups[-1][0], before._replace(limit=rows.limit)
        else:
            groups.append((number, rows))
    if len(groups) == len(concatenate.operands):
        return None
    ends = [number for number, _ in groups[1:]] + [len(concatenate.operands)]
    parts = [_joined(concatenate.operands[number:end], rows) for (number, rows), end in zip(groups, ends)]
    return parts[0] if len(parts) == 1 else hlo.concatenate(*parts, dimensions=(0,))


def _joined(operands: tuple[Instruction, ...], rows: _Rows | None) -> Instruction:
    if len(operands) == 1 or rows is None:
        return operands[0]
    sizes = rows.array.shape.dimensions
    block = hlo.emit("slice", rows.array, slice=[(rows.start, rows.limit, 1), *((0, size, 1) for size in sizes[1:])])
    count = sum(operand.shape.dimensions[0] for operand in operands)
    return hlo.reshape(block, (count, *operands[0].shape.dimensions[1:]))
