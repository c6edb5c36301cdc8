"""``a, b = x`` and ``zip(*x)`` of lists whose length the program decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .... import hlo
from ...recording.array import require_trace
from ...recording.errors import HINTS, ConcretizationError
from .access import fail_where, item_at, items_of, leave_empty_to_python, sliced
from .elements import parts_of
from .runs import instruction_of, instructions, length_of, made, plus, read, settled


def unpacked(items: Sequence[Any], before: int, behind: int | None) -> list[Any]:
    """``a, b = x``, or with ``behind`` names behind one with a star, as a list that Python's own unpacking takes."""
    items = read(items)
    length = length_of(items)
    count = before + (behind or 0)
    if isinstance(length, int):
        wrong = None if length == count or behind is not None and length >= count else length < count
        if wrong is not None:
            raise ValueError(_unpacking_message(count, behind, wrong).format(length))
    else:
        number = instruction_of(length)
        require_trace().add_error_flag(hlo.lt(number, count), ValueError, _unpacking_message(count, behind, True), number)
        if behind is None:
            fail_where(hlo.gt(number, count), ValueError(_unpacking_message(count, behind, False)))
    found = [item_at(items, place) for place in range(before)]
    if behind is None:
        return found
    last = [item_at(items, plus(length, place - behind)) for place in range(behind)]
    return [*found, *sliced(items, slice(before, -behind or None)), *last]


def elements_of(holder: list) -> list[Any]:
    """All elements, where it is known how many there are. Raises ConcretizationError elsewhere."""
    items = items_of(holder)
    length = length_of(items)
    if not isinstance(length, int):
        raise ConcretizationError(length, "as the number of elements behind a star", HINTS["range"])
    return [item_at(items, place) for place in range(length)]


def zipped(holder: list) -> list[tuple]:
    """``zip(*holder)``: a tuple of each part of the elements."""
    run = settled(items_of(holder))
    kinds, pending = parts_of(run.type), instructions(run)
    if not kinds:
        raise NotImplementedError(f"zip(*x) of a list of {run.type} whose length the program decides is not implemented")
    leave_empty_to_python(run, "zip(*x)")
    found = []
    for kind in kinds:
        count = len(kind.columns)
        found.append((made(kind, pending[:count], run.length, run.form.place, run.start),))
        del pending[:count]
    return found


def _unpacking_message(count: int, behind: int | None, too_few: bool) -> str:
    if too_few:
        return f"not enough values to unpack (expected {'' if behind is None else 'at least '}{count}, got {{}})"
    return f"too many values to unpack (expected {count})"
