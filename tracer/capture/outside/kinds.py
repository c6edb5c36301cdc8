"""Queues from outside, and containers whose classes are the user's, as the traced function sees them."""

from __future__ import annotations

import functools
from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ...outside.guards import SameLength, SameType
from ...outside.paths import Attribute, Item, Path
from ..journals import is_journaling, note
from ..lists.runs import Run
from .attribute_dicts import OutsideAttributes
from .containers import KINDS, HeldItems, OutsideDict, OutsideList

if TYPE_CHECKING:
    from .surroundings import Surroundings


class _DequeItems(HeldItems):
    def get(self) -> Any:
        return list(deque.__iter__(self.holder))

    def set(self, value: Any) -> None:
        deque.clear(self.holder)
        deque.extend(self.holder, value)


class OutsideDeque(deque):
    """A deque from outside. It is not read where the function only appends to it."""

    def __init__(self, surroundings: Surroundings, original: deque, path: Path) -> None:
        super().__init__(original, original.maxlen)
        self.surroundings, self.original, self.path = surroundings, list(original), path
        self._users_own = original
        self.as_read: list[Any] | None = None
        self.appended, self.is_changed = 0, False
        surroundings.guard(SameType(path, type(original)))

    @property
    def users_own(self) -> deque:
        return self._users_own

    def _read_all(self) -> None:
        if self.as_read is not None:
            return
        self.surroundings.guard(SameLength(self.path, len(self.original)))
        self.as_read = [
            self.surroundings.convert(item, Item(self.path, position)) for position, item in enumerate(self.original)
        ]
        held = list(deque.__iter__(self))
        kept = len(held) - self.appended
        deque.clear(self)
        deque.extend(self, [*self.as_read[len(self.original) - kept :], *held[kept:]])

    def require_known(self) -> None:
        """To be called before its elements are asked for."""
        if any(type(item) is Run for item in deque.__iter__(self)):
            raise NotImplementedError(
                f"{self.path.text} is asked for its elements behind a branch or a loop that gives it others on some ways only, "
                "which is not implemented for a deque from outside. Fix: a list, or a deque that the function makes"
            )

    def append(self, value: Any) -> None:
        self.extend([value])

    def extend(self, values: Any) -> None:
        values = list(values)
        if is_journaling():
            self._read_all()
            note(_DequeItems(self))
            self.is_changed = True
        if self.maxlen is not None:  # as many elements at its other end go
            self.require_known()
        self.appended += len(values)
        deque.extend(self, values)
        if self.maxlen is not None:
            self.appended = min(self.appended, self.maxlen)

    def __iadd__(self, values: Any) -> OutsideDeque:
        self.extend(values)
        return self

    def copy(self) -> deque:
        return deque(self, self.maxlen)

    __copy__ = copy
    __hash__ = None  # type: ignore[assignment]

    def effects(self) -> Iterator[tuple[str, Path, Any]]:
        """What is to be done behind each call."""
        items = list(deque.__iter__(self))
        if self.is_changed:
            if len(items) != len(self.as_read) or any(one is not other for one, other in zip(items, self.as_read)):
                yield "contents", self.path, items
        elif self.appended:
            yield "append", self.path, items[len(items) - self.appended :]


def _reads_whole(name: str, changes: bool) -> Callable[..., Any]:
    plain = getattr(deque, name)

    @functools.wraps(plain)
    def method(self: OutsideDeque, *args: Any, **kwargs: Any) -> Any:
        self._read_all()
        self.require_known()
        if changes:
            note(_DequeItems(self))
            self.is_changed = True
        return plain(self, *args, **kwargs)

    return method


for _name in (
    "__getitem__", "__iter__", "__len__", "__contains__", "__reversed__", "__eq__", "__lt__", "__le__", "__gt__", "__ge__",
    "__add__", "__mul__", "__rmul__", "__repr__", "count", "index",
):  # fmt: skip
    setattr(OutsideDeque, _name, _reads_whole(_name, changes=False))
for _name in (
    "__setitem__", "__delitem__", "__imul__", "appendleft", "clear", "extendleft", "insert", "pop", "popleft", "remove",
    "reverse", "rotate",
):  # fmt: skip
    setattr(OutsideDeque, _name, _reads_whole(_name, changes=True))

OUTSIDE_CONTAINERS = (OutsideDict, OutsideList, OutsideDeque)


def container_for(surroundings: Surroundings, value: Any, path: Path) -> Any:
    """What stands for a dict, a list or a deque from outside; None for one that is guarded as a whole."""
    kind = type(value)
    following = OutsideDict if isinstance(value, dict) else OutsideList if isinstance(value, list) else OutsideDeque
    if kind is dict and isinstance(path, Attribute) and path.name == "__dict__":
        return OutsideAttributes(surroundings, value, path)
    if kind in KINDS or kind is deque:
        return following(surroundings, value, path)
    made_of = _class_for(kind, following)
    if made_of is None:
        return None
    made = made_of.__new__(made_of)
    following.__init__(made, surroundings, value, path)
    if not vars(made).keys().isdisjoint(vars(value)):
        return None  # the user's attributes have names that the copy needs for itself
    vars(made).update(vars(value))
    return made


@functools.cache
def _class_for(kind: type, following: type) -> type | None:
    """A class of both kinds."""
    plain = following.__base__
    attributes = {"__getattribute__", "__getattr__", "__setattr__", "__delattr__", "__slots__"}
    for base in kind.__mro__[: kind.__mro__.index(plain)]:
        if base is not Counter and not attributes.union(vars(plain)).isdisjoint(set(vars(base)) - {"__init__", "__doc__"}):
            return None
    return type(kind.__name__, (kind, following), {"copy": lambda self: kind(self), "__hash__": None})
