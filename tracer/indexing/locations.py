"""Where in an array a view lies: what views by basic indices have in common, and the positions that tell them apart."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..recording.array import TracedArray
from ..recording.operands import as_traced
from .basic import Range, Selection, Taken, view


class Start(NamedTuple):
    """Where a range begins: a number, and multiples of traced ones, which are added up where that is needed."""

    constant: int
    terms: tuple[tuple[int, TracedArray], ...] = ()

    def value(self) -> Any:
        found: Any = self.constant
        for factor, index in self.terms:
            found = found + index * factor
        return found


class Location(NamedTuple):
    """A view of an array by basic indices. ``selection`` begins everywhere at 0; ``starts`` say where it does begin."""

    array: TracedArray
    selection: Selection
    starts: tuple[Start, ...]

    def is_alike(self, other: Location) -> bool:
        """Whether views there differ in their positions alone."""
        if self.selection != other.selection:
            return False
        one, two = self.array, other.array
        return one is two or one.base is None and two.base is None and one.storage is two.storage and one.shape == two.shape

    def view_at(self, starts: list[Any]) -> TracedArray:
        """The view that begins there, with integers or traced ones."""
        ranges = [
            one._replace(start=as_traced(start) if isinstance(start, TracedArray) else start)
            for one, start in zip(self.selection.ranges, starts)
        ]
        return view(self.array, self.selection._replace(ranges=tuple(ranges)))


def location(array: TracedArray) -> Location | None:
    """Where a view lies in the array that it is a view of at last; None of what is no view by basic indices."""
    found = None
    while type(array.view_reader) is Taken and not array.base.is_dynamic and array.base.shape == array.base_shape:
        own = _of(array.base, array.view_reader.selection)
        both = own if found is None else _composed(own, found)
        if both is None:
            break
        found, array = both, array.base
    return found


def _of(array: TracedArray, selection: Selection) -> Location:
    starts = [
        Start(0, ((1, one.start),)) if isinstance(one.start, TracedArray) else Start(one.start) for one in selection.ranges
    ]
    return Location(array, selection._replace(ranges=tuple([one._replace(start=0) for one in selection.ranges])), tuple(starts))


def _composed(outer: Location, inner: Location) -> Location | None:
    """What the inner location selects of the outer one."""
    if None in outer.selection.kept:
        return None
    ranges, starts = list(outer.selection.ranges), list(outer.starts)
    for dimension, one, start in zip(outer.selection.kept, inner.selection.ranges, inner.starts):
        step = ranges[dimension].step
        ranges[dimension] = Range(0, step * one.step, one.length, one.dropped)
        terms = tuple([(factor * step, index) for factor, index in start.terms])
        before = starts[dimension]
        starts[dimension] = Start(before.constant + step * start.constant, before.terms + terms)
    kept = tuple([None if one is None else outer.selection.kept[one] for one in inner.selection.kept])
    ellipsis = outer.selection.has_ellipsis or inner.selection.has_ellipsis
    return Location(outer.array, Selection(tuple(ranges), kept, ellipsis), tuple(starts))
