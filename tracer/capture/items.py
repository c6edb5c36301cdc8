"""``holder[index]``, read and set, where the holder or the index may be traced."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..recording.array import TracedArray
from ..recording.errors import HINTS, ConcretizationError
from ..recording.operands import as_traced, has_traced
from . import places
from .merging import is_number


def getitem(holder: Any, index: Any) -> Any:
    """``holder[index]``: arrays and lists of numbers take traced indices."""
    if type(holder) is TracedArray or not _needs_values(index):
        return holder[index]
    if isinstance(holder, np.ndarray):
        return as_traced(holder)[index]
    if isinstance(holder, (list, tuple)) and isinstance(index, TracedArray):
        if index.known_value is None and holder and all(map(is_number, holder)):
            return np.stack([as_traced(part) for part in holder])[index]
        return holder[index]
    if isinstance(holder, dict) and isinstance(index, TracedArray):
        if index.known_value is None:
            raise ConcretizationError(index, "as the key of a dict", HINTS["range"])
        return holder[index.item()]
    return holder[index]


def _needs_values(index: Any) -> bool:
    if isinstance(index, (TracedArray, list)):
        return has_traced(index)
    if isinstance(index, tuple):
        return any(map(_needs_values, index))
    return isinstance(index, slice) and any(isinstance(bound, TracedArray) for bound in (index.start, index.stop, index.step))


def setitem(value: Any, holder: Any, index: Any) -> None:
    """``holder[index] = value``"""
    if places.is_journaling() and isinstance(holder, (list, dict)):
        places.note(places.Contents(holder))
    if type(holder) is dict and isinstance(index, TracedArray):
        index = index.item()
    holder[index] = value
