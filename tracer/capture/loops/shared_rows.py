"""Containers that a round appends to a list and leaves elsewhere, too: behind the loop they would be several objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...recording import pytree
from ...recording.errors import CarryTypeError
from ...recording.trace import Trace
from ..choices import Choice, Maybe
from ..lists.tables import is_made_before


def shared_places(left: Mapping[Any, list[Any]], appended: Iterable[Any], held: Mapping[Any, Any], outer: Trace) -> set[Any]:
    """The keys of the places that have a container which a round appends, where there are several such places for one.

    left: what a round leaves at each place, and, of the lists with the keys ``appended``, what it appends there; held: what
    containers held, by their ids, before they were put back. Raises CarryTypeError for a container from before the loop.
    """
    rows = {id(one): one for key in appended for value in left[key] for one in _containers_in(value, held)}
    if not rows:
        return set()
    for one in rows.values():
        if is_made_before(one, outer):
            raise CarryTypeError(f"a {type(one).__name__} from before a loop is put into a list in each of its rounds")
    found = {key: [one for value in values for one in _containers_in(value, held)] for key, values in left.items()}
    counts = Counter(id(one) for containers in found.values() for one in containers)
    return {key for key, containers in found.items() if any(id(one) in rows and counts[id(one)] > 1 for one in containers)}


def _containers_in(value: Any, held: Mapping[Any, Any]) -> Iterator[Any]:
    """The lists, dicts and sets that a value is, or has in it, as often as it does; containers from outside are not read."""
    if isinstance(value, (list, dict, set)):
        yield value
        value = held.get(id(value), value)
        parts = dict.values(value) if isinstance(value, dict) else list.__iter__(value) if isinstance(value, list) else ()
    elif type(value) is Choice:
        parts = value.values
    elif type(value) is Maybe:
        parts = (value.value,)
    elif isinstance(value, tuple):
        parts = value
    else:
        apart = pytree.taken_apart(value)
        parts = () if apart is None else apart[1]
    for part in parts:
        yield from _containers_in(part, held)
