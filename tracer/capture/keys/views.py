"""What dicts and sets are gone over as whose keys the program computes: rows of their entries, as they are then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .... import hlo
from ...recording.array import require_trace
from ..entries import contents_of, opened
from ..lists.access import fail_where, item_at
from ..lists.references import keys_in
from ..lists.runs import Run, instruction_of, length_of, settled
from ..loops.iteration import Lazy, Rows
from .known_keys import items_of
from .lookup import in_one, keys_of, values_of

KEYS, VALUES, ITEMS = 0, 1, None


def as_they_are(holder: Any) -> list[Any]:
    """The entries of a dict, or of a set, as (key, value); some may wait behind those that they change."""
    if keys_in(holder):
        return list(items_of(holder).items())
    ((_, entries),) = opened(contents_of(holder)).items()
    return entries


def entries_of(holder: Any) -> list[Any]:
    """The same, each of another key."""
    return in_one(as_they_are(holder))


class DictRows(Rows):
    """The keys, the values or the entries, while somebody goes over them."""

    def __init__(self, holder: Any, part: int | None) -> None:
        self.holder, self.part = holder, part
        self.length = length_of(entries_of(holder))
        self.count_shown = require_trace().program.sets_shown.get(id(holder), (holder, None))[1]
        self.length_shown = None if self.count_shown is None else self.count_shown()

    def element(self, position: Any) -> Any:
        entries = entries_of(self.holder)
        self.require_same_length(length_of(entries))
        entry = item_at(entries, position)
        return entry if self.part is None else entry[self.part]

    def require_same_length(self, now: Any) -> None:
        """To be called before an element is taken."""
        if self.count_shown is not None:
            self._require_same(self.count_shown(), self.length_shown)
        self._require_same(now, self.length)

    def _require_same(self, now: Any, before: Any) -> None:
        if now is before or type(now) is int and type(before) is int and now == before:
            return
        numbers = [instruction_of(length) for length in (now, before)]
        if numbers[0] is not numbers[1]:
            kind = "dictionary" if isinstance(self.holder, dict) else "Set"
            fail_where(hlo.ne(*numbers), RuntimeError(f"{kind} changed size during iteration"))


class DictView(Lazy):
    """``d.keys()``, ``d.values()`` and ``d.items()``; sets are gone over as dicts by their keys."""

    def __init__(self, holder: Any, part: int | None) -> None:
        self.holder, self.part = holder, part

    def rows(self) -> Rows:
        return DictRows(self.holder, self.part)

    @property
    def length(self) -> Any:
        return length_of(entries_of(self.holder))

    def listed(self) -> list[Any]:
        """All of them as a list."""
        if keys_in(self.holder):
            return [entry if self.part is None else entry[self.part] for entry in as_they_are(self.holder)]
        return parts_of(entries_of(self.holder), self.part)


def parts_of(entries: Sequence[Any], part: int | None) -> list[Any]:
    """A list of the keys, or of the values, of these entries."""
    if not entries:
        return []
    run = settled(entries)
    if part is None:
        return [Run(replace(run.form, key_columns=None), run.columns, run.length, run.start)]
    return [keys_of(run) if part == KEYS else values_of(run)]
