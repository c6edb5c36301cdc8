"""What a jitted function has learned of the numbers and arrays that it reads from outside."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .entries import entries_key
from .guards import Guard, SameContents, SameKeys, SameLength, SameNames, SameValue, is_number
from .paths import Attribute, Item, Length, Objects

_OF_WHOLE = (SameKeys, SameLength, SameContents)


@dataclass
class Policy:
    """Which numbers are inputs of the compiled code, and whose values it needs; by the keys of their paths.

    A number is a constant of the program as long as it stays the same: so Python can use it, and the compiler. Once it has
    changed it is an ``hidden`` input, unless Python needs its value (``known``).
    """

    hidden: set[tuple] = field(default_factory=set)
    known: set[tuple] = field(default_factory=set)

    def is_hidden(self, key: tuple) -> bool:
        return key in self.hidden and key not in self.known

    def learn(self, guards: Iterable[Guard], objects: Objects) -> None:
        """Numbers that have become others of the same type are inputs from now on, so are lengths of lists, and entries."""
        guards = list(guards)
        are_read = {guard.path.holder.key for guard in guards if isinstance(guard.path, Item)}  # containers with their elements
        for guard in guards:
            if isinstance(guard, _OF_WHOLE) and guard.difference(objects) is not None:
                if isinstance(guard, SameLength):
                    self.hidden.add(Length(guard.path).key)
                if not isinstance(guard, SameLength) or guard.path.key in are_read:
                    self.hidden.add(entries_key(guard.path))
            if isinstance(guard, SameValue) and is_number(guard.value):
                found = guard.path.read(objects)
                if type(found) is type(guard.value) and not guard.holds(found):
                    self.hidden.add(guard.path.key)

            if isinstance(guard, SameNames):
                for name, value in guard.held.items():
                    found = guard.names.get(name)
                    if found is not value and type(found) is type(value) and is_number(value):
                        self.hidden.add(Attribute(guard.path, name).key)

    def clear(self) -> None:
        self.hidden.clear()
        self.known.clear()


class OpenedInVain(Exception):
    """Arguments that hold other things than numbers cannot be read as columns: what is known of these places says which."""


class HiddenNeeded(Exception):
    """Numbers that the function reads and sets; they change at each call."""

    def __init__(self, keys: set[tuple]) -> None:
        super().__init__()
        self.keys = keys
