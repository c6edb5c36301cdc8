"""Calls of jitted functions that take another way for a while, for debugging."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ...backends.registry import remove_native_entries

Way = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]

# All jitted functions that there are: their native entries know of no other way.
_functions: weakref.WeakSet[Any] = weakref.WeakSet()
_ways: list[Way] = []


def note_function(function: Any) -> None:
    """A jitted function has been made."""
    _functions.add(function)


def current_way() -> Way | None:
    """What calls do in the place of running compiled code, None outside of `diverted`."""
    return _ways[-1] if _ways else None


@contextmanager
def diverted(way: Way) -> Iterator[None]:
    """Let calls of jitted functions, in all threads, be ``way(function, args, kwargs)``."""
    _ways.append(way)
    try:
        for function in list(_functions):
            remove_native_entries(function)
        yield
    finally:
        _ways.remove(way)
