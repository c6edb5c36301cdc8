"""Dicts that are changed where they are elements of lists, or values of dicts: `library.listed_dicts`."""

from __future__ import annotations

import types
from collections import Counter, OrderedDict, defaultdict
from typing import Any

import numpy as np

from .... import hlo
from ...recording.current_trace import current_trace
from .. import journals, places
from ..calls.dispatch import call
from ..calls.meanings import implements
from ..entries import OPEN
from ..library import listed_dicts
from ..library.listed_dicts import ListedCounter, ListedDefaultDict, ListedDict, ListedOrderedDict
from ..lists.access import items_of
from ..lists.listed import made_listed, note_container, own_list
from ..lists.references import kept, notes_dicts
from ..lists.runs import length_of, number_of
from ..loops.iteration import UNLISTED
from ..texts.interned import are_written, as_key
from .lookup import found, require_hashable, require_ordinary
from .set_makers import made_by

_KINDS = {dict: ListedDict, Counter: ListedCounter, OrderedDict: ListedOrderedDict, defaultdict: ListedDefaultDict}
_FACTORY = "what defaultdict calls"


def listed_dict(kind: type, factory: Any = None) -> ListedDict | None:
    """The object that stands for an empty dict which the function makes here; None where that is a dict."""
    if kind is defaultdict:
        told_apart = factory if isinstance(factory, type) else getattr(factory, "__code__", id(factory))
        return made_listed(ListedDefaultDict, told_apart, factory=(factory,))
    return made_listed(_KINDS[kind])


def note_dict(made: dict, is_empty: bool = True) -> None:
    """To be called with a dict that the function has just made; one with keys is no such object unless it has to be."""
    if type(made) in _KINDS and (trace := current_trace()) and (is_empty or notes_dicts(trace.program)):
        note_container(made, _KINDS[type(made)], is_empty)


def made_dict(new: dict) -> Any:
    """A dict that the function has just made, of known keys, or what stands for it."""
    if type(new) is dict and (listed := listed_dict(dict)) is not None:
        call(listed.update, list(new.items()))
        return listed
    journals.note_made(new)
    note_dict(new, not new)
    return kept(new)


def made_by_factory(factory: Any) -> Any:
    """What a defaultdict puts under a key that is missing."""
    return _made_by(factory, _FACTORY, False)


def _made_by(factory: Any, maker: Any, makes_lists: bool) -> Any:
    """What a factory makes: a class makes the same wherever it is called, a function has instructions of its own."""
    if type(factory) is types.FunctionType:
        return call(factory)
    with made_by(maker, makes_lists):
        return call(factory)


@implements(listed_dicts.made_by_factory)
def _made_by_factory(holder: ListedDefaultDict) -> Any:
    return _made_by(type(holder).factory[0], ("the factory of", type(holder).__qualname__), True)


@implements(listed_dicts.as_dict)
def as_dict(value: Any) -> Any:
    """A dict of the entries of such an object; anything else as it is."""
    if not isinstance(value, ListedDict):
        return value
    entries = items_of(call(getattr, value, "entries"))
    kind = type(value).listed_as
    made = kind(type(value).factory[0]) if kind is defaultdict else kind()
    journals.note_made(made)
    if entries:
        places.Contents(made).set({OPEN: list(entries)})
        shown = current_trace().program.sets_shown
        shown[id(made)] = made, lambda: length_of(call(getattr, value, "entries"))
    return made


UNLISTED.update(dict.fromkeys(_KINDS, as_dict))


@implements(listed_dicts.no_entries)
def no_entries(holder: ListedDict) -> list[Any]:
    return own_list(holder)


@implements(listed_dicts.place_of)
def place_of(entries: list, key: Any) -> Any:
    at = found(items_of(entries), key)
    if at is None:
        return -1
    _, place, is_there = at
    return number_of(hlo.select(is_there, place, hlo.constant(np.int64(-1))))


@implements(listed_dicts.entry)
def entry(key: Any, value: Any) -> tuple[Any, Any]:
    require_hashable(key)
    require_ordinary(key)
    return (as_key(key) if are_written() else key), value


@implements(listed_dicts.is_any_dict)
def is_any_dict(value: Any) -> bool:
    return isinstance(value, (dict, ListedDict))
