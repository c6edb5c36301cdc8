"""Containers that stand at several places of what a function returns or sets outside: one object does, as in Python."""

from __future__ import annotations

import dataclasses
import threading
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from ..recording import pytree
from ..recording.attributes import attributes_of, class_of
from .choices import Choice, Maybe
from .lists.references import try_objects
from .parts import AttributeNames, Parts, parts_of, set_attributes
from .texts.deferred import Deferred


class First:
    """A container at the first of its places."""

    def __init__(self, mark: object, value: Any) -> None:
        self.mark, self.value = mark, value


class Circle:
    """A container at the first of its places that holds itself, or what holds it: its kind, what pytree or `Parts` knows of it,
    and its parts. It is made before these, empty."""

    def __init__(self, mark: object, kind: type, auxiliary: Any, parts: Sequence[Any]) -> None:
        self.mark, self.kind, self.auxiliary, self.parts = mark, kind, auxiliary, parts


class Opened:
    """Such a container, made in front of its parts."""

    def __init__(self, mark: object, kind: type, auxiliary: Any) -> None:
        self.mark, self.kind, self.auxiliary = mark, kind, auxiliary


class Other:
    """The container with this mark at another place."""

    def __init__(self, mark: object) -> None:
        self.mark = mark


class Behind:
    """A value in front of which containers are made that it may hold; where it is the last one, what lets go of these marks."""

    def __init__(self, firsts: list[First | Circle], value: Any, last_of: tuple[object, ...] = ()) -> None:
        self.firsts, self.value, self.last_of = firsts, value, last_of


class _Thread(threading.local):
    def __init__(self) -> None:
        self.made: dict[object, Any] = {}


_thread = _Thread()


def _remembered(mark: object, parts: list[Any]) -> Any:
    _thread.made[mark] = parts[0]
    return parts[0]


def _opened(about: tuple[object, type, Any], _: Sequence[Any]) -> Any:
    mark, kind, auxiliary = about
    empty = object.__new__(class_of(kind)) if _is_object(kind, auxiliary) else pytree.put_together(kind, auxiliary, ())
    return _remembered(mark, [empty])


def _filled(about: tuple[type, Any], parts: Sequence[Any]) -> Any:
    kind, auxiliary = about
    opened, *held = parts
    if isinstance(auxiliary, AttributeNames):
        set_attributes(opened, auxiliary, held)
        return opened
    whole = pytree.put_together(kind, auxiliary, held)
    if _is_object(kind, auxiliary):
        set_attributes(opened, attributes_of(whole), attributes_of(whole).values())
    elif kind is list:
        opened += whole
    else:
        opened.update(whole)
    return opened


def _is_object(kind: type, auxiliary: Any) -> bool:
    return isinstance(auxiliary, AttributeNames) or dataclasses.is_dataclass(kind)


def _behind(last_of: tuple[object, ...], parts: list[Any]) -> Any:
    for mark in last_of:
        _thread.made.pop(mark, None)
    return parts[-1]


# A call puts the container together at the first place, and finds it at the others.
pytree.register_pytree(First, lambda one: ((one.value,), one.mark), _remembered)
pytree.register_pytree(Other, lambda one: ((), one.mark), lambda mark, _: _thread.made[mark])
pytree.register_pytree(Opened, lambda one: ((), (one.mark, one.kind, one.auxiliary)), _opened)
pytree.register_pytree(
    Circle,
    lambda one: ((Opened(one.mark, one.kind, one.auxiliary), *one.parts), (one.kind, one.auxiliary)),
    _filled,
)
pytree.register_pytree(Behind, lambda one: ((*one.firsts, one.value), one.last_of), _behind)


def with_shared(values: list[Any], is_leaf: Callable[[Any], bool]) -> list[Any]:
    """Values, put together in this order, in which one object will stand wherever one container does that can be changed."""
    kept: list[Any] = []  # which Python may make anew, so that their ids stay theirs
    counts: Counter[int] = Counter()

    def count(value: Any, depth: int = 0) -> None:
        apart = None if is_leaf(value) else _taken_apart(value)
        if apart is None:
            return
        if _can_be_changed(value):
            kept.append(value)
            counts[id(value)] += 1
            if counts[id(value)] > 1:
                return
        if depth > _DEEP and _object_parts(value) is not None:
            try_objects(type(value))
        for part in apart[1]:
            count(part, depth + 1)

    for value in values:
        count(value)
    if all(number == 1 for number in counts.values()):
        return values
    marks: dict[int, object] = {}
    early: list[First | Circle] = []  # what no call makes at its first place that takes another way
    around: set[int] = set()  # what is being taken apart
    circles: set[int] = set()  # which of these hold themselves

    def marked(value: Any, may_be_left_out: bool = False) -> Any:
        apart = None if is_leaf(value) else _taken_apart(value)
        if apart is None:
            return value
        if id(value) in marks:
            circles.update({id(value)} & around)
            return Other(marks[id(value)])
        is_shared = counts[id(value)] > 1
        if is_shared:
            marks[id(value)] = object()
            around.add(id(value))
        some_alone = not is_shared and (may_be_left_out or type(value) in (Choice, Maybe))
        parts = [marked(part, some_alone) for part in apart[1]]
        if not is_shared:
            return _with_parts(value, apart[0], parts)
        around.remove(id(value))
        if id(value) in circles:
            circles.remove(id(value))
            first = _circle(marks[id(value)], value, apart[0], parts)
        else:
            first = First(marks[id(value)], _with_parts(value, apart[0], parts))
        if not may_be_left_out:
            return first
        if circles:
            raise NotImplementedError(_CIRCLES_OF_CHOICES)
        early.append(first)
        return Other(first.mark)

    found = []
    for value in values:
        made = marked(value)
        found.append(Behind(early, made) if early else made)
        early = []
    found[-1] = Behind([], found[-1], tuple(marks.values()))
    return found


# Objects within so many others are rows of a table, if they can be, as those of a long linked list.
_DEEP = 60

_CIRCLES_OF_CHOICES = (
    "a function returns, or keeps outside, objects that hold one another where the program decides which ones: this is not "
    "implemented. Fix: return what they hold, as lists of numbers"
)


def _circle(mark: object, value: Any, auxiliary: Any, parts: Sequence[Any]) -> Circle:
    kind = type(value)
    can_be_filled = _is_object(kind, auxiliary) or kind in (list, dict, OrderedDict, defaultdict)
    if not can_be_filled or "as_result" in vars(kind):
        raise NotImplementedError(
            f"a function returns, or keeps outside, a {kind.__name__} that holds itself: this is implemented for lists, dicts "
            "and objects"
        )
    return Circle(mark, kind, auxiliary, parts)


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
