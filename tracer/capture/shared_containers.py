"""Containers that stand at several places of what a function returns or sets outside: one object does, as in Python."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from ..recording import pytree
from .choices import Choice, Maybe
from .parts import Parts, parts_of
from .texts.deferred import Deferred


class First:
    """A container at the first of its places."""

    def __init__(self, mark: object, value: Any) -> None:
        self.mark, self.value = mark, value


class Other:
    """The container with this mark at another place."""

    def __init__(self, mark: object) -> None:
        self.mark = mark


class Behind:
    """A value in front of which containers are made that it may hold; where it is the last one, what lets go of these marks."""

    def __init__(self, firsts: list[First], value: Any, last_of: tuple[object, ...] = ()) -> None:
        self.firsts, self.value, self.last_of = firsts, value, last_of


class _Thread(threading.local):
    def __init__(self) -> None:
        self.made: dict[object, Any] = {}


_thread = _Thread()


def _remembered(mark: object, parts: list[Any]) -> Any:
    _thread.made[mark] = parts[0]
    return parts[0]


def _behind(last_of: tuple[object, ...], parts: list[Any]) -> Any:
    for mark in last_of:
        _thread.made.pop(mark, None)
    return parts[-1]


# A call puts the container together at the first place, and finds it at the others.
pytree.register_pytree(First, lambda one: ((one.value,), one.mark), _remembered)
pytree.register_pytree(Other, lambda one: ((), one.mark), lambda mark, _: _thread.made[mark])
pytree.register_pytree(Behind, lambda one: ((*one.firsts, one.value), one.last_of), _behind)


def with_shared(values: list[Any], is_leaf: Callable[[Any], bool]) -> list[Any]:
    """Values, put together in this order, in which one object will stand wherever one container does that can be changed."""
    kept: list[Any] = []  # which Python may make anew, so that their ids stay theirs
    counts: Counter[int] = Counter()

    def count(value: Any) -> None:
        apart = None if is_leaf(value) else _taken_apart(value)
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
    early: list[First] = []  # what no call makes at its first place that takes another way

    def marked(value: Any, may_be_left_out: bool = False) -> Any:
        apart = None if is_leaf(value) else _taken_apart(value)
        if apart is None:
            return value
        if id(value) in marks:
            return Other(marks[id(value)])
        is_shared = counts[id(value)] > 1
        if is_shared:
            marks[id(value)] = object()
        some_alone = not is_shared and (may_be_left_out or type(value) in (Choice, Maybe))
        made = _with_parts(value, apart[0], [marked(part, some_alone) for part in apart[1]])
        if not is_shared:
            return made
        first = First(marks[id(value)], made)
        if not may_be_left_out:
            return first
        early.append(first)
        return Other(first.mark)

    found = []
    for value in values:
        made = marked(value)
        found.append(Behind(early, made) if early else made)
        early = []
    found[-1] = Behind([], found[-1], tuple(marks.values()))
    return found


def _object_parts(value: Any) -> Parts | None:
    """What an object that the function has made consists of."""
    return None if isinstance(value, (set, frozenset)) else parts_of(value)


def _taken_apart(value: Any) -> tuple[Any, Sequence[Any]] | None:
    if isinstance(value, Deferred):  # nobody sees the containers that a text is made of
        return None
    made = _object_parts(value)
    return pytree.taken_apart(value) if made is None else (made.auxiliary, made.parts)


def _with_parts(value: Any, auxiliary: Any, parts: Sequence[Any]) -> Any:
    if _object_parts(value) is not None:
        return Parts(type(value), auxiliary, parts)
    return pytree.put_together(type(value), auxiliary, parts)


def _can_be_changed(value: Any) -> bool:
    if isinstance(value, (list, dict)) or _object_parts(value) is not None:
        return True
    # Not by hasattr, which would ask what the value stands for.
    return bool(type(value).__dictoffset__) and not isinstance(value, tuple)
