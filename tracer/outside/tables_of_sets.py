"""What CPython keeps of a set's table, and Python does not tell: it decides on the order of what is put there later, and taken.

As `PySetObject` of CPython's Include/cpython/setobject.h has it; that is tried on sets before it is relied on.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from .guards import Guard

_WORD = ctypes.sizeof(ctypes.c_ssize_t)
# Behind the head of the object: how many places are filled, how many hold elements, the mask, the table, a hash, the finger.
_FILLED, _MASK, _TABLE, _FINGER = (object.__basicsize__ + number * _WORD for number in (0, 2, 3, 5))


@dataclass(frozen=True, slots=True)
class TableOfSet:
    """How many places are filled, with elements or what has been one; the mask; where `pop` looks first; and the places,
    which of them are empty and the hashes of what stands there."""

    filled: int
    mask: int
    finger: int
    places: bytes


def table_of(value: set[Any]) -> TableOfSet | None:
    """The table of a set, None where it is not known how to read that."""
    return _read(value) if _is_known() else None


def _read(value: set[Any]) -> TableOfSet:
    filled, mask, finger = _words(value)
    table = ctypes.c_ssize_t.from_address(id(value) + _TABLE).value
    places = np.frombuffer(ctypes.string_at(table, (mask + 1) * 2 * _WORD), np.intp).reshape(-1, 2)
    return TableOfSet(filled, mask, finger, (places[:, 0] != 0).tobytes() + places[:, 1].tobytes())


def _words(value: set[Any]) -> tuple[int, ...]:
    return tuple([ctypes.c_ssize_t.from_address(id(value) + at).value for at in (_FILLED, _MASK, _FINGER)])


@functools.cache
def _is_known() -> bool:
    if sys.implementation.name != "cpython" or set.__basicsize__ < _FINGER + _WORD:
        return False
    tried = {0, 1, 2, 3}
    found = [_words(tried)]
    tried.discard(2)
    found.append(_words(tried))
    tried.pop()
    found.append(_words(tried))
    if found != [(4, 7, 0), (4, 7, 0), (4, 7, 1)]:
        return False
    tried = {3, 8, 1}
    hashes = [8, 1, 0, 3, 0, 0, 0, 0]
    return _read(tried).places == np.array([hash != 0 for hash in hashes]).tobytes() + np.array(hashes, np.intp).tobytes()


@dataclass(eq=False, slots=True)
class SameTable(Guard):
    """The table of a set whose contents are the same."""

    table: TableOfSet

    def holds(self, found: Any) -> bool:
        return type(found) is set and table_of(found) == self.table

    def words(self, found: Any) -> str:
        return f"{self.path.text}: another order of what is put there"


@dataclass(eq=False, slots=True)
class NothingPopped(Guard):
    """A set of which `pop` takes the first element that it is gone over by."""

    def holds(self, found: Any) -> bool:
        return type(found) is set and (table := table_of(found)) is not None and table.finger == 0

    def words(self, found: Any) -> str:
        return f"{self.path.text}: elements have been popped"
