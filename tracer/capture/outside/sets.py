"""Sets from outside as the traced function sees them: copies, which are gone over in the order of the sets themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...outside.guards import SameContents
from ...outside.paths import Path
from ...outside.tables_of_sets import NothingPopped, SameTable, table_of
from ...recording.errors import TracerError
from ..entries import OPEN, contents_of, elements_of_set, is_open_set, opened
from ..places import PUT_BACK
from .open_containers import Change, OpenEntries, open_entries, require_entries

if TYPE_CHECKING:
    from .surroundings import Surroundings

_ADDING = frozenset({"add", "update", "or_", "symmetric_difference_update", "xor", "__ior__", "__ixor__"})


class OutsideSet(set):
    """A set from outside. ``entries`` are those of one whose elements are inputs of the program.

    Its elements are those of a copy, whose table may be another one: what Python goes over it by is the order of the original.
    """

    __slots__ = ("surroundings", "path", "original", "entries", "in_order", "table", "has_the_same_table")

    @property
    def users_own(self) -> set:
        return self.original

    def __init__(self, surroundings: Surroundings, original: set, path: Path, entries: OpenEntries | None) -> None:
        super().__init__(original if entries is None else elements_of_set({OPEN: [entries.run]}))
        self.surroundings, self.path, self.original, self.entries = surroundings, path, original, entries
        self.in_order = () if entries is not None else tuple(original)
        self.table = table_of(original)
        self.has_the_same_table = False
        if entries is None:
            surroundings.guard(SameContents(path, original))
            if self.table is not None and table_of(self) != self.table:
                self.clear()
                self.update(list(original))  # one after the other, as it may have been filled
            self.has_the_same_table = self.table is not None and table_of(self) == self.table

    def __iter__(self) -> Iterator[Any]:
        if is_open_set(self):
            return set.__iter__(self)
        if self._has_known_order():
            return iter([one for one in self.in_order if set.__contains__(self, one)])
        if self._is_as_python_has_it():
            self.surroundings.guard(SameTable(self.path, self.table))
            return set.__iter__(self)
        error = TracerError(
            f"{self.path.text}, a set, gets elements while the function is traced, and is gone over then: in which order "
            "Python does not tell of a set that has held others before. Fix: sorted(...) of it, or a dict in its place "
            "(dict.fromkeys), which has an order"
        )
        error.is_of_order = True
        raise error

    def _has_known_order(self) -> bool:
        """Whether nothing has been put there, so that what is left has the order that it had."""
        return _ADDING.isdisjoint(self._changes()) and set(self.in_order).issuperset(set.__iter__(self))

    def _is_as_python_has_it(self) -> bool:
        """Whether the original and the copy had one table, and what is done to both is the same."""
        return self.has_the_same_table and PUT_BACK not in self._changes()

    def popped(self) -> Any:
        """The element that Python takes out of it."""
        self.require_first_is_popped()
        if self._is_as_python_has_it():
            if not self._has_known_order():
                self.surroundings.guard(SameTable(self.path, self.table))
            return set.pop(self)
        for first in self:
            self.discard(first)
            return first
        raise KeyError("pop from an empty set")

    def require_first_is_popped(self) -> None:
        """To be called before an element is taken that nobody names: the first one, if none has been taken so before."""
        if self.table is None or self.table.finger:
            raise TracerError(
                f"an element of {self.path.text} is popped, a set out of which others have been: which one is next Python does "
                "not tell. Fix: pop from a copy (set(x))"
            )
        self.surroundings.guard(NothingPopped(self.path))

    def _changes(self) -> frozenset[str]:
        """By which methods it has been changed."""
        return frozenset(self.surroundings.trace.program.changes_of_sets.get(id(self), (self, ()))[1])

    def __repr__(self) -> str:
        return repr(set(self)) if len(self) < 2 else f"{{{', '.join(map(repr, self))}}}"

    __str__ = __repr__
    __hash__ = None  # type: ignore[assignment]

    def effects(self) -> Iterator[Change]:
        """What is to be done behind each call."""
        if self.entries is not None:
            ((_, items),) = opened(contents_of(self)).items()
            yield from self.entries.change(self.path, items, self)
        elif is_open_set(self):
            require_entries(self.surroundings, self.original, self.path)
            yield "contents", self.path, self
        elif frozenset(self.in_order) != frozenset(set.__iter__(self)):
            yield "contents", self.path, list(set.__iter__(self))


def outside_set(surroundings: Surroundings, value: set, path: Path) -> OutsideSet:
    """What stands for a set from outside."""
    return OutsideSet(surroundings, value, path, open_entries(surroundings, value, path))
