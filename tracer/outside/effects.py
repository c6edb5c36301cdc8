"""What a function sets outside, done behind a call."""

from __future__ import annotations

from collections import deque
from typing import Any

from .entries import exchange_elements, put_entries
from .paths import MISSING, Objects, Path


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
        else:
            holder.clear()
            holder.update(value)
