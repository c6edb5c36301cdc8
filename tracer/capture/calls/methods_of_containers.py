"""Which calls of methods of lists, dicts and sets meet what the program decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...recording.array import TracedArray
from ...recording.operands import has_traced
from .. import unknown_values
from ..choices import Choice, Maybe
from ..entries import has_open_keys
from ..keys.lookup import holds_unknown
from ..lists.runs import is_open_list
from ..loops.iteration import TracedRange, is_captured, is_of_open_length, unlisted
from ..outside.sets import OutsideSet
from ..special_methods import is_compared_by_program
from ..texts.deferred import Deferred, is_made_text

_SEARCHING = ("index", "count", "remove")
_COMPARING = (*_SEARCHING, "sort")


def is_open_call(method: Any, holder: list, args: tuple, kwargs: Mapping[str, Any]) -> bool:
    """Whether a method of a list needs what the program knows when it runs."""
    if is_open_list(holder):
        return True
    if method.__name__ in _COMPARING and (has_traced(holder) or any(map(is_open_list, holder))):
        return True
    if method.__name__ in _COMPARING and any(type(one) in (Maybe, Choice) or is_made_text(one) for one in (*holder, *args)):
        return True
    if method.__name__ in _SEARCHING and any(map(unknown_values.holds_unknown, (*holder, *args))):
        return True
    if method.__name__ == "sort":
        return kwargs.get("key") is not None or any(map(is_compared_by_program, holder))
    if method.__name__ == "extend":
        return any(is_open_list(one) or is_of_open_length(one) for one in args)
    if method.__name__ == "append":
        return False
    places = args[:1] if method.__name__ == "insert" else args
    return any(isinstance(value, TracedArray) and value.known_value is None for value in places)


_OF_ONE_KEY = {"get", "setdefault", "pop", "add", "discard", "remove"}


def is_keyed_call(method: Any, holder: Any, args: tuple) -> bool:
    """Whether a method of a dict or a set meets keys that the program computes."""
    if has_open_keys(holder) or method.__name__ == "pop" and isinstance(holder, OutsideSet):
        return True
    if method.__name__ in _OF_ONE_KEY:
        return holds_unknown(args[0]) if args else False
    return any(may_give_keys(value) for value in args)


def listed_iterator(value: Any) -> Any:
    """A list of what an iterator gives, in its place; anything else as it is."""
    return list(value) if isinstance(value, Iterator) and not is_captured(value) else value


def may_give_keys(value: Any) -> bool:
    """Whether what is gone over may give keys, or pairs with keys, that the program computes."""
    if isinstance(value, (list, tuple)) and not is_open_list(value):
        return any(map(holds_unknown, value))
    return is_captured(unlisted(value))


def holds_open_list(value: Any) -> bool:
    """Whether a list, a range or a text that the program decides on stands in the place of an array, or at any depth within."""
    if type(value) is TracedRange or is_open_list(value) or isinstance(value, Deferred):
        return True
    return isinstance(value, (list, tuple)) and any(map(holds_open_list, value))
