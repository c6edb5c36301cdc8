"""What a function sets outside, done behind a call."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from typing import Any

from .entries import exchange_elements, put_entries
from .paths import MISSING, Objects, Path


def in_order(changes: Iterable[tuple[str, Path, Any]]) -> list[tuple[str, Path, Any]]:
    """What a function sets, so that no place is set through which another one is found later: `x.y.append(1); x.y = []`."""
    return sorted(changes, key=lambda change: -_depth(change[1]) - (change[0] not in ("write", "delete")))


def _depth(path: Path) -> int:
    """How many steps lead to a place."""
    holder = getattr(path, "holder", None)
    return 0 if holder is None else 1 + _depth(holder)


def take_effect(how: str, path: Path, objects: Objects, value: Any) -> None:
    """Put a value to a place, append values to the list there, exchange its contents or entries, or delete what is there."""
    if how == "write":
        path.write(objects, value)
    elif how == "delete":
        path.write(objects, MISSING)
    else:
        holder = path.read(objects)
        if how == "append":
            holder.extend(value)
        elif how == "entries":
            put_entries(holder, value)
        elif isinstance(holder, list):
            holder[:] = value
        elif isinstance(holder, set):
            exchange_elements(holder, value)
        elif isinstance(holder, deque):
            holder.clear()
            holder.extend(value)
        elif isinstance(holder, dict):
            exchange_items(holder, value)
        else:
            holder.clear()
            holder.update(value)


def exchange_items(holder: dict, value: dict) -> None:
    """Give a dict these items; keys that it has in the same order stay the objects that they are."""
    if not _have_same_keys(holder, value):
        holder.clear()
    if isinstance(holder, Counter):  # whose update adds
        dict.update(holder, value)
    else:
        holder.update(value)


def _have_same_keys(one: dict, other: dict) -> bool:
    """Whether two dicts have the same keys in one order."""
    return len(one) == len(other) and all(map(_is_same_key, one, other))


def _is_same_key(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if type(one) is not type(other) or one != other:
        return False
    if isinstance(one, tuple):
        return all(map(_is_same_key, one, other))
    return not isinstance(one, (float, complex)) or repr(one) == repr(other)  # the sign of zero counts
