"""What passes remember of computations and instructions."""

from __future__ import annotations

import weakref
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")

_FEWEST = 256


class Memo(Generic[Key, Value]):
    """A value for each object, by identity, while the object lives.

    No Python code runs when one goes, as it does for the keys of a `WeakKeyDictionary`: an exception that a signal's handler
    raises there would be lost. What is known of objects that are gone is forgotten when there is much of it.

    >>> class Computation: ...
    >>> sizes, computation = Memo(), Computation()
    >>> sizes[computation] = 3
    >>> sizes.get(computation), sizes.get(Computation())
    (3, None)
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Key], Value]] = {}
        self._limit = _FEWEST

    def get(self, key: Key) -> Value | None:
        found = self._known.get(id(key))
        return found[1] if found is not None and found[0]() is key else None

    def __getitem__(self, key: Key) -> Value:
        found = self._known[id(key)]
        if found[0]() is not key:
            raise KeyError(key)
        return found[1]

    def __contains__(self, key: Key) -> bool:
        found = self._known.get(id(key))
        return found is not None and found[0]() is key

    def __setitem__(self, key: Key, value: Value) -> None:
        if len(self._known) >= self._limit:
            for number, held in list(self._known.items()):
                if held[0]() is None and self._known.get(number) is held:
                    del self._known[number]
            self._limit = max(_FEWEST, 2 * len(self._known))
        self._known[id(key)] = weakref.ref(key), value
