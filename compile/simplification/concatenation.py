"""Rules of concatenates: that put together again what was taken apart, lie in one another, or are of one value."""

from __future__ import annotations

from typing import NamedTuple

from ... import hlo
from ...hlo import Instruction
from ..traversal import scalar_under
from .rule import f32, rule

# A concatenate of more operands may have been divided for a backend.
_MOST_JOINED = 128


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


@rule(
    "concatenate",
    fires=[
        lambda: hlo.concatenate(f32(3), dimensions=(0,)),
        lambda: hlo.concatenate(f32(2, 0), f32(2, 3), f32(2, 4), dimensions=(1,)),
    ],
    unchanged=lambda: hlo.concatenate(f32(3), f32(2), dimensions=(0,)),
)
def concatenate_of_nothing(concatenate: Instruction) -> Instruction | None:
    """concatenate(x) -> x; operands without elements are left out"""
    (along,) = concatenate.attributes["dimensions"]
    kept = [x for x in concatenate.operands if x.shape.dimensions[along]]
    if len(kept) == 1:
        return kept[0]
    return hlo.concatenate(*kept, dimensions=(along,)) if 0 < len(kept) < len(concatenate.operands) else None


@rule(
    "concatenate",
    fires=lambda: hlo.concatenate(f32(2), hlo.concatenate(f32(3), f32(4), dimensions=(0,)), dimensions=(0,)),
    unchanged=lambda: hlo.concatenate(f32(2), hlo.concatenate(*[f32(1)] * _MOST_JOINED, dimensions=(0,)), dimensions=(0,)),
)
def concatenate_of_concatenate(concatenate: Instruction) -> Instruction | None:
    """concatenate(x, concatenate(y, z)) -> concatenate(x, y, z), along the same dimension, where these are not too many"""
    operands: list[Instruction] = []
    for x in concatenate.operands:
        nested = x.opcode == "concatenate" and x.attributes == concatenate.attributes
        operands.extend(x.operands if nested else (x,))
    if not len(concatenate.operands) < len(operands) <= _MOST_JOINED:
        return None
    return hlo.concatenate(*operands, dimensions=concatenate.attributes["dimensions"])


@rule(
    "concatenate",
    fires=lambda: hlo.concatenate(hlo.broadcast(v := f32(), (2,), ()), hlo.broadcast(v, (3,), ()), dimensions=(0,)),
    unchanged=lambda: hlo.concatenate(hlo.broadcast(f32(), (2,), ()), hlo.broadcast(f32(), (3,), ()), dimensions=(0,)),
)
def concatenate_of_same_value(concatenate: Instruction) -> Instruction | None:
    """concatenate(broadcast(v), broadcast(v)) -> broadcast(v), for a scalar v"""
    scalar = scalar_under(concatenate.operands[0])
    if scalar is None or any(scalar_under(x) is not scalar for x in concatenate.operands):
        return None
    return hlo.broadcast_in_dim(scalar, concatenate.shape.dimensions, ())
