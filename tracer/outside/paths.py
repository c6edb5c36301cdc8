"""Where a value comes from that a function reads from outside, so that it can be read again: ``cfg['lr']``, ``self.w``."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from ...hlo.interrupts import not_of_a_signal

# The objects among the arguments of a call, by the names of their arguments.
Objects = Mapping[str, Any]
NO_OBJECTS: Objects = {}


class Missing:
    """What is read where there is nothing."""

    def __repr__(self) -> str:
        return "nothing"


MISSING = Missing()


class Path:
    """A place outside; ``text`` is what messages call it, ``key`` is the same for the same place."""

    __slots__ = ("text", "key")
    text: str
    key: tuple

    def read(self, objects: Objects) -> Any:
        """What stands there now, MISSING if nothing does."""
        raise NotImplementedError

    def write(self, objects: Objects, value: Any) -> None:
        """Put a value there; MISSING takes away what is there."""
        raise NotImplementedError

    @property
    def root(self) -> Path:
        """Where the way to this place begins."""
        return self

    @property
    def known_by(self) -> tuple:
        """The key by which a policy knows that what is read there has to be known to the trace."""
        return self.key

    def __repr__(self) -> str:
        return f"<path {self.text}>"


class Global(Path):
    """A global name of a module."""

    __slots__ = ("namespace", "name")

    def __init__(self, namespace: dict, name: str) -> None:
        self.namespace, self.name = namespace, name
        self.text, self.key = f"global {name}", ("global", id(namespace), name)

    def read(self, objects: Objects) -> Any:
        return self.namespace.get(self.name, MISSING)

    def write(self, objects: Objects, value: Any) -> None:
        if value is MISSING:
            self.namespace.pop(self.name, None)
        else:
            self.namespace[self.name] = value


class Cell(Path):
    """A variable of a function around the traced one."""

    __slots__ = ("cell",)

    def __init__(self, cell: types.CellType, name: str) -> None:
        self.cell = cell
        self.text, self.key = f"closure variable {name}", ("cell", id(cell))

    def read(self, objects: Objects) -> Any:
        try:
            return self.cell.cell_contents
        except ValueError:
            return MISSING

    def write(self, objects: Objects, value: Any) -> None:
        if value is MISSING:
            del self.cell.cell_contents
        else:
            self.cell.cell_contents = value


class Argument(Path):
    """An argument that is an object."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name
        self.text, self.key = name, ("argument", name)

    def read(self, objects: Objects) -> Any:
        return objects.get(self.name, MISSING)


class Fixed(Path):
    """An object that cannot become another one: a module, a class, the object of a bound method."""

    __slots__ = ("value",)

    def __init__(self, value: Any, text: str) -> None:
        self.value = value
        self.text, self.key = text, ("fixed", id(value))

    def read(self, objects: Objects) -> Any:
        return self.value


class NewList(Path):
    """A list of its own for each call."""

    __slots__ = ()

    def __init__(self) -> None:
        self.text, self.key = "a new list", ("new list",)

    def read(self, objects: Objects) -> Any:
        return []


class Attribute(Path):
    """An attribute of what stands at another place."""

    __slots__ = ("holder", "name")

    def __init__(self, holder: Path, name: str) -> None:
        self.holder, self.name = holder, name
        self.text, self.key = f"{holder.text}.{name}", (holder.key, "attribute", name)

    @property
    def root(self) -> Path:
        return self.holder.root

    def read(self, objects: Objects) -> Any:
        holder = self.holder.read(objects)
        return MISSING if holder is MISSING else getattr(holder, self.name, MISSING)

    def write(self, objects: Objects, value: Any) -> None:
        holder = self.holder.read(objects)
        if value is MISSING:
            with suppress(AttributeError):
                delattr(holder, self.name)
        else:
            setattr(holder, self.name, value)


class Item(Path):
    """An item of the dict, list or tuple, or what else has items, that stands at another place."""

    __slots__ = ("holder", "index")

    def __init__(self, holder: Path, index: Any) -> None:
        self.holder, self.index = holder, index
        self.text, self.key = f"{holder.text}[{index!r}]", (holder.key, "item", type(index), index)

    @property
    def root(self) -> Path:
        return self.holder.root

    def read(self, objects: Objects) -> Any:
        holder = self.holder.read(objects)
        if isinstance(holder, dict):
            return dict.get(holder, self.index, MISSING)
        if holder is MISSING:
            return MISSING
        try:
            return holder[self.index]
        except (IndexError, KeyError, TypeError):
            return MISSING

    def write(self, objects: Objects, value: Any) -> None:
        holder = self.holder.read(objects)
        if value is MISSING:
            with suppress(LookupError):
                del holder[self.index]
        else:
            holder[self.index] = value


class Length(Path):
    """The length of the list that stands at another place."""

    __slots__ = ("holder",)

    def __init__(self, holder: Path) -> None:
        self.holder = holder
        self.text, self.key = f"len({holder.text})", (holder.key, "length")

    @property
    def root(self) -> Path:
        return self.holder.root

    def read(self, objects: Objects) -> Any:
        holder = self.holder.read(objects)
        return len(holder) if type(holder) is list else MISSING


class Derived(Path):
    """What a function makes of what stands at another place: a view of it, or MISSING."""

    __slots__ = ("holder", "function")

    def __init__(self, holder: Path, function: Callable[[Any], Any]) -> None:
        self.holder, self.function = holder, function
        self.text, self.key = holder.text, (holder.key, function)

    @property
    def root(self) -> Path:
        return self.holder.root

    def read(self, objects: Objects) -> Any:
        return self.function(self.holder.read(objects))


class Called(Path):
    """What a function returns that is called with these arguments, which are known; it changes nothing."""

    __slots__ = ("function", "args", "keywords")

    def __init__(self, function: Callable[..., Any], *args: Any, **keywords: Any) -> None:
        self.function, self.args, self.keywords = function, args, keywords
        given = ", ".join([*map(repr, args), *[f"{name}={value!r}" for name, value in keywords.items()]])
        self.text = f"{getattr(function, '__qualname__', type(function).__name__)}({given})"
        self.key = ("called", id(function), given)

    def read(self, objects: Objects) -> Any:
        try:
            return self.function(*self.args, **self.keywords)
        except not_of_a_signal(Exception):
            return MISSING
