"""Lists to which each round of a captured loop appends numbers: what it appends is stacked, row by row."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from ...recording import pytree
from ...recording.array import TracedArray
from ...recording.current_trace import current_trace
from ...recording.trace import Trace
from ..copies import note_copies
from ..forms import is_written_text, unchanged
from ..journals import note
from ..lists.references import Unread
from ..lists.runs import is_open_list
from ..places import Contents, Place
from .aliases import LoopAliases
from .carried_places import carried_row
from .iteration import Rows
from .shared_rows import shared_places
from .stacked_rows import may_be_row, stacked

# What a round has appended to each list.
Appended = dict[Any, list[Any]]


def is_growing(place: Place, before: Any, end: Any) -> bool:
    """Whether a round appends numbers to a list, or containers of numbers."""
    if not isinstance(place, Contents) or not isinstance(before, list) or len(end) <= len(before) or is_open_list(end):
        return False
    appended = pytree.flatten(end[len(before) :], is_written_text)[0]
    return all(map(unchanged, before, end[: len(before)])) and all(map(may_be_row, appended))


class GrowingLists:
    """Those of one loop, by the keys of their contents; none is read within a round."""

    def __init__(self) -> None:
        self._lists: dict[Any, tuple[Contents, list[Any], list[Any]]] = {}  # with what they hold before a round and behind it
        self._stacks: dict[Any, list[Any]] = {}

    def __contains__(self, key: Any) -> bool:
        return key in self._lists

    def __bool__(self) -> bool:
        return bool(self._lists)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._lists))

    def places(self) -> list[Contents]:
        return [place for place, _, _ in self._lists.values()]

    def add(self, place: Contents, before: list[Any], end: list[Any]) -> None:
        self._lists[place.key] = place, before, end

    def pop(self, key: Any) -> tuple[Contents, list[Any], list[Any]]:
        """The place, and what it holds before a round and behind it."""
        return self._lists.pop(key)

    def reset(self) -> None:
        """Let the lists hold what they held before the loop."""
        for place, before, _ in self._lists.values():
            place.set(before)

    def enter(self, read: Callable[[Any], Any]) -> None:
        """As they are in a round; ``read`` is called with the key of one that is read."""
        for key, (place, before, _) in self._lists.items():
            place.set([*before, Unread(partial(read, key))])

    def appended(self, changed: Mapping[Any, tuple[Place, Any, Any]]) -> Appended:
        """What a round has appended to each, of the places with what they held before it and hold behind it."""
        return {key: end[len(before) :] for key, (_, before, end) in changed.items() if key in self._lists}

    def shared(self, appended: Appended, ends: Mapping[Any, Any], held: Mapping[Any, Any], outer: Trace) -> set[Any]:
        """The places of containers that a round appends, and that have several places."""
        begins = {key: len(self._lists[key][1]) for key in appended}
        left = {key: end[begins[key] :] if key in appended else [end] for key, end in ends.items()}
        return shared_places(left, appended, held, outer)

    def stack(self, appended: Appended, rows: Rows | None, outer: Trace, position: TracedArray, aliases: LoopAliases) -> None:
        """Write what the round at this position appends into arrays of one row for each, which are made in the outer trace."""
        for key, values in appended.items():
            bases = (aliases.end_bases.get((key, number), ()) for number in itertools.count())
            appending = partial(stacked, outer=outer, position=position, carried=carried_row, bases=bases)
            self._stacks[key] = [appending(value, rows.length) for value in values]

    def leave(self, rows: Rows | None, shared: set[Any]) -> None:
        """As they are behind the loop; elements of those with ``shared`` keys must not be changed."""
        for place in self.places():
            note(place)
            grown = place.get()
            for number in range(rows.length):
                grown += [stack.element(number) for stack in self._stacks[place.key]]
            for element in grown if place.key in shared else ():
                note_copies(current_trace(), element)
            place.set(grown)
