"""Arrays that are moved along a dimension by what the program decides: ``dynamic_slice(pad(x), start)``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..hlo import S64, Instruction
from ..hlo.attributes import PaddingDimension
from ..hlo.operation import ELEMENTWISE
from .traversal import scalar_under

# So many operations are gone through for what is moved.
_MOST_OPERATIONS = 64


class Shift(NamedTuple):
    """``value`` moved along a dimension, by the difference of ``start`` and the padding in front."""

    value: Instruction
    dimension: int
    start: Instruction


def shift_of(value: Instruction, is_back: bool) -> Shift | None:
    """What is moved along one dimension, with room behind it, or, where it is moved back, on either side."""
    if value.opcode != "dynamic-slice" or value.operands[0].opcode != "pad":
        return None
    pad, *starts = value.operands
    sizes = value.shape.dimensions
    if pad.operands[0].shape.dimensions != sizes:
        return None
    padded = [d for d, padding in enumerate(pad.attributes["padding"]) if padding != (0, 0, 0)]
    if len(padded) != 1 or starts[padded[0]].shape.element_type is not S64:
        return None
    (dimension,), size = padded, sizes[padded[0]]
    if pad.attributes["padding"][dimension] != PaddingDimension(size if is_back else 0, size, 0):
        return None
    return Shift(pad.operands[0], dimension, starts[dimension])


def start_of_taken(shift: Shift) -> Instruction | None:
    """The start, between 0 and the size, of which a shift back takes what is missing to the size."""
    start, size = shift.start, shift.value.shape.dimensions[shift.dimension]
    if start.opcode != "subtract" or not _is_number(start.operands[0], size):
        return None
    taken = start.operands[1]
    is_within = taken.opcode == "clamp" and _is_number(taken.operands[0], 0) and _is_number(taken.operands[2], size)
    return taken if is_within else None


def _is_number(scalar: Instruction, number: int) -> bool:
    return scalar.opcode == "constant" and scalar.attributes["literal"] == number


def starts_of_mask(mask: Instruction) -> Iterator[tuple[int, Instruction]]:
    """By dimension the scalar in front of which a mask is false."""
    for dimension, start, bound in _compared(mask, "GE"):
        if _is_number(bound, 0):
            yield dimension, start


def sizes_from_starts(mask: Instruction) -> dict[tuple[int, Instruction], Instruction]:
    """By dimension, and scalar from which on a mask may be true, behind how many places it is false."""
    return {(dimension, start): bound for dimension, start, bound in _compared(mask, "LT")}


def _compared(mask: Instruction, direction: str) -> Iterator[tuple[int, Instruction, Instruction]]:
    """Of comparisons that all hold where a mask is true, of ``places - start`` with a bound: dimension, start and bound."""
    if mask.opcode == "and":
        for operand in mask.operands:
            yield from _compared(operand, direction)
    elif mask.opcode == "broadcast":
        for dimension, start, bound in _compared(mask.operands[0], direction):
            yield mask.attributes["dimensions"][dimension], start, bound
    elif mask.opcode == "compare" and mask.attributes["direction"] == direction:
        place, bound = mask.operands[0], scalar_under(mask.operands[1])
        if bound is not None and place.opcode == "subtract" and place.operands[0].opcode == "iota":
            start = scalar_under(place.operands[1])
            if start is not None:
                yield place.operands[0].attributes["iota_dimension"], start, bound


# The scalars in front of which, by dimension, something that is written is needed; None where all of it is.
_Sizes = dict[int, Instruction | None]


def written_between(
    select: Instruction, outside: Callable[[Instruction], Instruction | None] = lambda scalar: scalar
) -> Iterator[tuple[list[Instruction], Instruction, _Sizes]]:
    """What ``x[i:j] = y`` moves to where a mask writes it: what does that, the array, and how far that is needed.

    ``outside`` gives the scalars outside of a computation that those in it stand for.
    """
    if select.opcode != "select" or not select.operands[0].shape.rank:
        return
    mask, value, _ = select.operands
    begins, sizes = dict(starts_of_mask(mask)), sizes_from_starts(mask)
    if not begins:
        return
    pending, seen = [value], {value}
    while pending and len(seen) < _MOST_OPERATIONS:
        value, moving, needed = pending.pop(), [], {}
        while (shift := shift_of(value, is_back=True)) is not None and shift.dimension not in needed:
            start, begin = outside(shift.start), begins.get(shift.dimension)
            taken = None if start is None else start_of_taken(shift._replace(start=start))
            if taken is None or begin is None or taken is not outside(begin):
                break
            size = sizes.get((shift.dimension, begin))
            needed[shift.dimension] = None if size is None else outside(size)
            moving += [value, value.operands[0]]
            value = shift.value
        if moving:
            yield moving, value, needed
        elif ELEMENTWISE in value.operation.traits:
            pending += [one for one in value.operands if one.shape.rank and one not in seen]
            seen.update(pending)
