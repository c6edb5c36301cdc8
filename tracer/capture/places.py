"""Where a function keeps what it computes: local names, attributes, lists and dicts; and how to put them back as they were."""

from __future__ import annotations

import dataclasses
import operator
import types
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..recording.attributes import (
    UNBOUND,
    attributes_of,
    container_behind,
    delete_held,
    has_attributes_alone,
    set_held,
    slots_of,
)
from ..recording.current_trace import current_trace
from ..recording.trace import Trace
from .entries import contents_of, elements_of_set, is_open_dict

# What a statement binds: the names that may be read behind it, the others, and those that are certainly bound there.
Names = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
NO_NAMES: Names = ((), (), ())


class Place:
    """Something that holds a value; ``name`` is what messages call it, ``holder`` the object that it is a part of, if any."""

    name: str
    holder: Any = None

    def get(self) -> Any:
        raise NotImplementedError

    def set(self, value: Any) -> None:
        raise NotImplementedError


class _Variable(Place):
    """A variable in a cell."""

    def __init__(self, name: str, cell: types.CellType) -> None:
        self.name, self.cell = name, cell

    @property
    def key(self) -> Any:
        return id(self.cell)

    def get(self) -> Any:
        try:
            return self.cell.cell_contents
        except ValueError:
            return UNBOUND

    def set(self, value: Any) -> None:
        if value is UNBOUND:
            del self.cell.cell_contents
        else:
            self.cell.cell_contents = value


class LocalName(_Variable):
    """A local variable that a block function shares."""


class OuterName(_Variable):
    """A variable of a function around the one that sets it: whose loops and branches do not know its name."""


class Attribute(Place):
    """An attribute of an object."""

    def __init__(self, holder: Any, attribute: str) -> None:
        self.holder, self.attribute = holder, attribute
        self.name = f"{type(holder).__name__}.{attribute}"

    @property
    def key(self) -> Any:
        return id(self.holder), self.attribute

    def get(self) -> Any:
        if not isinstance(self.holder, type):
            return attributes_of(self.holder).get(self.attribute, UNBOUND)  # and not what its class has, or would compute now
        return vars(self.holder).get(self.attribute, UNBOUND)

    def set(self, value: Any) -> None:
        if value is not UNBOUND:
            set_held(self.holder, self.attribute, value)
        elif self.get() is not UNBOUND:
            delete_held(self.holder, self.attribute)


def dict_type(holder: dict) -> type[dict]:
    """The class whose methods change a dict itself; an OrderedDict has an order of its own."""
    return OrderedDict if isinstance(holder, OrderedDict) else dict


class Item(Place):
    """What a dict holds under a key that it has; once the program decides on its keys all are one place, its `Contents`."""

    def __init__(self, holder: dict, index: Any) -> None:
        self.holder, self.index = holder, index
        self.name = f"a {type(holder).__name__}[{index!r}]"

    @property
    def key(self) -> Any:
        return id(self.holder), Item, self.index

    def get(self) -> Any:
        return dict.get(self.holder, self.index, UNBOUND)

    def set(self, value: Any) -> None:
        if is_open_dict(self.holder):
            return
        if value is not UNBOUND:
            dict_type(self.holder).__setitem__(self.holder, self.index, value)
        else:
            dict_type(self.holder).pop(self.holder, self.index, None)


class Contents(Place):
    """What a list, a dict or a set holds, as a list or a dict of its own; of a set, a dict with its elements as keys."""

    def __init__(self, holder: Any) -> None:
        self.holder = holder
        self.name = f"a {type(holder).__name__}"

    @property
    def key(self) -> Any:
        return id(self.holder)

    def get(self) -> Any:
        return [*list.__iter__(self.holder)] if isinstance(self.holder, list) else contents_of(self.holder)

    def set(self, value: Any) -> None:
        """Past the methods of the class, which may do more than change what it holds, or refuse."""
        if isinstance(self.holder, list):
            list.__setitem__(self.holder, slice(None), value)
        elif isinstance(self.holder, dict):
            kind = dict_type(self.holder)
            kind.clear(self.holder)
            for key, held in value.items():
                kind.__setitem__(self.holder, key, held)
        else:
            note_change_of_set(self.holder, PUT_BACK)
            set.clear(self.holder)
            set.update(self.holder, elements_of_set(value))


def holds_the_same(place: Place, before: Any, after: Any) -> bool:
    """Whether a list or a dict holds the very objects that it held before, in their order."""
    if not isinstance(place, Contents) or type(before) is not type(after) or len(before) != len(after):
        return False
    if isinstance(before, dict):
        return all(map(operator.is_, before, after)) and all(map(operator.is_, before.values(), after.values()))
    return all(map(operator.is_, before, after))


class ContentsOfArray(Contents):
    """What an array of objects holds."""

    def get(self) -> Any:
        return self.holder.ravel().tolist()

    def set(self, value: Any) -> None:
        for position, one in zip(np.ndindex(self.holder.shape), value):
            self.holder[position] = one


def local_names(functions: Iterable[Callable | None], names: Iterable[str]) -> list[Place]:
    """The variables with these names that the block functions share."""
    cells: dict[str, types.CellType] = {}
    for function in functions:
        if isinstance(function, types.FunctionType) and function.__closure__:
            cells.update(zip(function.__code__.co_freevars, function.__closure__))
    return [LocalName(name, cells[name]) for name in names if name in cells]


def owner_of(holder: Any) -> Any:
    """The object whose attributes a dict holds, None where it is no such dict."""
    trace = current_trace()
    return None if trace is None else trace.program.attribute_dicts.get(id(holder), (None, None))[1]


def places_of(value: Any) -> list[Place]:
    """Where a container, or an object that the function has made, keeps what it holds."""
    if isinstance(value, (list, dict, set)):
        return [Contents(value)]
    return [Attribute(value, name) for name in attributes_of(value)] if where_made(value) is not None else []


def is_noted_made(value: Any) -> bool:
    """Whether `note_made` has been called with an object."""
    return id(value) in current_trace().program.made_objects


PUT_BACK = "put back"


def note_change_of_set(holder: Any, method: str) -> None:
    """To be called before this method changes a container: the order of a set depends on what has been done to it."""
    if isinstance(holder, set) and (trace := current_trace()) is not None:
        trace.program.changes_of_sets.setdefault(id(holder), (holder, set()))[1].add(method)


def _has_attributes(value: Any) -> bool:
    """Whether an object has attributes of its own that can be set: in a dict, or in slots."""
    return hasattr(value, "__dict__") or bool(slots_of(type(value)))


def where_made(value: Any) -> Trace | None:
    """The trace in which the function has made this object of a class that can be changed; None for others."""
    trace, kind = current_trace(), type(value)
    found = None if trace is None else trace.program.made_objects.get(id(value))
    if found is None or not (has_attributes_alone(kind) or kind is types.SimpleNamespace) or not _has_attributes(value):
        return None
    return None if is_frozen(kind) else found[1]


def is_frozen(kind: type) -> bool:
    return dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen


def where_container_made(value: Any) -> Trace | None:
    """The trace in which the function has made this dict, tuple or the like of a class of its own; None for others."""
    trace = current_trace()
    made = None if trace is None else trace.program.made_objects.get(id(value))
    return None if made is None or container_behind(type(value)) is None else made[1]
