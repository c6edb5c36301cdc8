"""Sets that are changed where they are elements of lists, or values of dicts: `library.listed_sets`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...recording.current_trace import current_trace
from ...recording.errors import RecordedAgain
from ..calls.dispatch import call
from ..calls.meanings import implements
from ..copies import TRY_LISTED
from ..entries import INSERTED, UNORDERED
from ..library import listed_sets
from ..library.listed_sets import ListedSet
from ..lists.growing import note_list
from ..lists.mapping import mapped
from ..lists.references import make_records
from ..lists.runs import is_open_list, length_of
from ..loops.iteration import UNLISTED, rows_of, unlisted
from . import sets
from .lookup import require_hashable, require_ordinary
from .set_makers import maker_of_sets

_LISTED = "what makes sets whose elements lie in lists"
_HAVE_GAPS = "elements are taken out of such sets"


def made_listed(elements: Iterable[Any]) -> ListedSet | None:
    """The object that stands for a set that the function makes here; None where that is a set."""
    if (trace := current_trace()) is None or maker_of_sets() not in trace.program.guessed_bounds.get(_LISTED, ()):
        return None
    made = call(ListedSet)
    call(call(getattr, made, "update"), elements)
    return made


def note_set(made: set) -> None:
    """To be called with a set that the function has just made."""
    if (trace := current_trace()) is not None:
        trace.program.set_makers[id(made)] = maker_of_sets()


def set_of(elements: Iterable[Any], kind: type = set) -> Any:
    """``set(elements)``, and what is written ``{a, b}``."""
    elements = unlisted(elements)
    if (listed := made_listed(elements)) is not None:
        return listed
    made = sets.set_of(elements, kind)
    note_set(made)
    return made


@implements(set)
def set_(iterable: Any = (), /) -> Any:
    return set_of(iterable)


def try_listed() -> None:
    """To be called where a set is changed that is a copy. Raises RecordedAgain where sets have become such objects."""
    program = current_trace().program
    _list(program.makers_of_copied_sets or set(program.set_makers.values()))


def _list(makers: set[Any]) -> None:
    program = current_trace().program
    known = program.guessed_bounds.setdefault(_LISTED, set())
    new = makers - known
    if new:
        known |= new
        make_records(program, ListedSet)
        raise RecordedAgain


@implements(listed_sets.as_set)
def as_set(value: Any) -> Any:
    """A set of the elements of such an object; anything else as it is."""
    if not isinstance(value, ListedSet):
        return value
    elements = call(getattr, value, "elements")
    mark = UNORDERED if _HAVE_GAPS in current_trace().program.guessed_bounds else INSERTED
    if is_open_list(elements):
        made = sets.of_entries(mapped(lambda one: (one, None), rows_of(elements)), mark)
    else:
        made = sets.of_entries([(one, None) for one in elements], mark) if elements else set()
    shown = current_trace().program.sets_shown
    shown[id(made)] = made, lambda: length_of(call(getattr, value, "elements"))
    return made


UNLISTED[set] = as_set
TRY_LISTED.append(try_listed)


@implements(listed_sets.no_elements)
def no_elements() -> list[Any]:
    """All of these lists lie in one table."""
    made: list[Any] = []
    note_list(made, ("sets", 0))
    return made


@implements(listed_sets.is_any_set)
def is_any_set(value: Any) -> bool:
    return isinstance(value, (set, frozenset, ListedSet))


@implements(listed_sets.require_key)
def require_key(value: Any) -> None:
    require_hashable(value)
    require_ordinary(value)


@implements(listed_sets.require_set)
def require_set(value: Any) -> Any:
    if not is_any_set(value):
        raise TypeError(f"unsupported operand type(s): 'set' and '{call(type, value).__name__}'")
    return value


@implements(listed_sets.note_gap)
def note_gap() -> None:
    guessed = current_trace().program.guessed_bounds
    if _HAVE_GAPS not in guessed:
        guessed[_HAVE_GAPS] = True
        raise RecordedAgain
