"""Deques that are changed where they are elements of lists, or values of dicts: `library.listed_deques`."""

from __future__ import annotations

from collections import deque
from typing import Any

from .. import journals
from ..calls.dispatch import call
from ..calls.meanings import implements
from ..library import listed_deques
from ..library.listed_deques import ListedDeque
from ..loops.iteration import UNLISTED
from .access import items_of
from .deques import TracedDeque
from .listed import own_list


@implements(listed_deques.as_deque)
def as_deque(value: Any) -> Any:
    """A deque of the elements of such an object; anything else as it is."""
    if not isinstance(value, ListedDeque):
        return value
    made = TracedDeque(items_of(call(getattr, value, "elements")), value.maxlen)
    journals.note_made(made)
    return made


UNLISTED[deque] = as_deque


@implements(listed_deques.no_elements)
def no_elements(holder: ListedDeque) -> list[Any]:
    return own_list(holder)
