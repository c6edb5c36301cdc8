"""Lists of known elements, at positions that the program decides: numbers, texts, and tuples of these become arrays once.

That is done where the elements are known, in front of the loops that ask for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...recording import pytree
from ...recording.array import TracedArray, require_trace
from ...recording.dynamic_array import DynamicArray
from ...recording.errors import CarryTypeError
from ...recording.intervals import Interval, hull, interval_of, is_traced_integer, note_interval
from ...recording.trace import Trace
from ..forms import is_around
from .runs import Run, element, settled, type_of_items
from .tables import recording_in

_FIXED = frozenset({float, int, bool, complex, str})
# Fewer elements are put together wherever one is asked for.
_MANY = 8


def element_at(items: Sequence[Any], position: Any) -> Any:
    """The element at a position that is in range."""
    if len(items) < _MANY or any(not _is_fixed(item) for item in items):
        _require_one_size(items)
        return element(settled(items), position)
    trace = require_trace()
    known, key = trace.program.settled_lists, tuple(map(id, items))
    if key not in known or not is_around(known[key].trace, trace):
        known[key] = _Settled(items)
    return known[key].element(position)


def _require_one_size(items: Sequence[Any]) -> None:
    """Raises CarryTypeError of arrays of known sizes that differ, as of a network's layers: loops over these are unrolled."""
    if any(type(item) is Run for item in items):
        return
    leaves = [leaf for item in items for leaf in _leaves(item)]
    is_static = not any(isinstance(leaf, DynamicArray) for leaf in leaves)
    if is_static and type_of_items(items).holds_sized_arrays:
        raise CarryTypeError(
            "one of several arrays of known sizes, which differ, is asked for where the program decides which one"
        )


def _is_fixed(item: Any) -> bool:
    """Whether an element is a number, a text, or a tuple of such."""
    if type(item) is TracedArray:
        return item.is_scalar and item.exact is None
    return all(map(_is_fixed, item)) if type(item) is tuple else type(item) in _FIXED


class _Settled:
    """Elements in arrays of the innermost trace to which one of them belongs."""

    def __init__(self, items: Sequence[Any]) -> None:
        self.items = list(items)  # which stay, and their ids with them
        self.trace = _where_known(items)
        with recording_in(self.trace):
            self.run: Run = settled(items)
            self.intervals = [_interval(self.trace, leaves) for leaves in zip(*map(_leaves, items))]

    def element(self, position: Any) -> Any:
        found = element(self.run, position)
        for leaf, interval in zip(_leaves(found), self.intervals):
            if interval is not None and is_traced_integer(leaf):
                note_interval(require_trace(), leaf, interval)
        return found


def _leaves(item: Any) -> list[Any]:
    return pytree.flatten(item)[0]


def _where_known(items: Sequence[Any]) -> Trace:
    traces = {leaf.root_storage.trace for item in items for leaf in _leaves(item) if isinstance(leaf, TracedArray)}
    if not traces:  # constants, which stay such where they are
        return require_trace()
    found, *others = traces
    for trace in others:
        found = trace if is_around(found, trace) else found
    return found


def _interval(trace: Trace, numbers: Sequence[Any]) -> Interval | None:
    """In which interval all of these lie, if they are integers."""
    if not all(type(one) is int or isinstance(one, TracedArray) and is_traced_integer(one) for one in numbers):
        return None
    return hull(*[interval_of(trace, one) for one in numbers])
