"""Containers that stand at several places of what a function returns or sets outside: one object does, as in Python."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from ..recording import pytree


class First:
    """A container at the first of its places."""

    def __init__(self, mark: object, value: Any) -> None:
        self.mark, self.value = mark, value


class Other:
    """The container with this mark at another place, the last of which lets go of it."""

    def __init__(self, mark: object, is_last: bool) -> None:
        self.mark, self.is_last = mark, is_last


class _Thread(threading.local):
    def __init__(self) -> None:
        self.made: dict[object, Any] = {}


_thread = _Thread()


def _remembered(mark: object, parts: list[Any]) -> Any:
    _thread.made[mark] = parts[0]
    return parts[0]


def _found(place: tuple[object, bool], _: list[Any]) -> Any:
    mark, is_last = place
    return _thread.made.pop(mark) if is_last else _thread.made[mark]


# A call puts the container together at the first place, and finds it at the others.
pytree.register_pytree(First, lambda one: ((one.value,), one.mark), _remembered)
pytree.register_pytree(Other, lambda one: ((), (one.mark, one.is_last)), _found)


def with_shared(values: list[Any], is_leaf: Callable[[Any], bool]) -> list[Any]:
    """Values, put together in this order, in which one object will stand wherever one container does that can be changed."""
    kept: list[Any] = []  # which Python may make anew, so that their ids stay theirs
    counts: Counter[int] = Counter()

    def count(value: Any) -> None:
        apart = None if is_leaf(value) else pytree.taken_apart(value)
        if apart is None:
            return
        if _can_be_changed(value):
            kept.append(value)
            counts[id(value)] += 1
            if counts[id(value)] > 1:
                return
        for part in apart[1]:
            count(part)

    for value in values:
        count(value)
    if all(number == 1 for number in counts.values()):
        return values
    marks: dict[int, object] = {}

    def marked(value: Any) -> Any:
        apart = None if is_leaf(value) else pytree.taken_apart(value)
        if apart is None:
            return value
        if id(value) in marks:
            counts[id(value)] -= 1
            return Other(marks[id(value)], counts[id(value)] == 1)
        is_shared = counts[id(value)] > 1
        if is_shared:
            marks[id(value)] = object()
        made = pytree.put_together(type(value), apart[0], [marked(part) for part in apart[1]])
        return First(marks[id(value)], made) if is_shared else made

    return [marked(value) for value in values]


def _can_be_changed(value: Any) -> bool:
    # Not by hasattr, which would ask what the value stands for.
    return isinstance(value, (list, dict)) or bool(type(value).__dictoffset__) and not isinstance(value, tuple)
