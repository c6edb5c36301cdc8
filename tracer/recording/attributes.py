"""The attributes that an object has of its own: in a dict, or in slots."""

from __future__ import annotations

import builtins
import dataclasses
import types
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Any


class Unbound:
    """The value of a name, or of an attribute, that has none."""

    def __repr__(self) -> str:
        return "UNBOUND"


UNBOUND = Unbound()


def slots_of(kind: type) -> dict[str, types.MemberDescriptorType]:
    slotted = [vars(base) for base in kind.__mro__ if "__slots__" in vars(base)]
    return {name: slot for held in slotted for name, slot in held.items() if isinstance(slot, types.MemberDescriptorType)}


def is_record(kind: type) -> bool:
    """Whether the attributes of an object of this class lie in a table (capture/lists/records.py)."""
    return "names_of_record" in kind.__dict__


def attributes_of(value: Any) -> dict[str, Any]:
    """The names of an object's attributes, and what they hold."""
    if is_record(kind := type(value)):
        return {name: getattr(value, name) for name in kind.names_of_record}
    held = dict(getattr(value, "__dict__", {}))
    for name, slot in slots_of(type(value)).items():
        with suppress(AttributeError):  # it holds nothing
            held[name] = slot.__get__(value)
    return held


def is_property(kind: type, name: str) -> bool:
    """Whether a class has a property of this name; what its objects hold under it lies in their ``__dict__``."""
    return isinstance(getattr(kind, name, None), property)


def set_held(value: Any, name: str, held: Any) -> None:
    """Let an attribute hold what it has held, past what its class does when one is set."""
    if is_property(type(value), name):
        value.__dict__[name] = held
    else:
        _of_c(type(value), "__setattr__")(value, name, held)


def delete_held(value: Any, name: str) -> None:
    """Let an attribute hold nothing, past what its class does when one is deleted."""
    if is_property(type(value), name):
        del value.__dict__[name]
    else:
        _of_c(type(value), "__delattr__")(value, name)


def _of_c(kind: type, name: str) -> Callable[..., None]:
    """What the first class written in C does: Python lets its objects be changed by no method of object's."""
    if not kind.__flags__ & _HEAP_TYPE:  # some of these have no such method, but a slot
        return setattr if name == "__setattr__" else delattr
    found = (vars(base).get(name) for base in kind.__mro__)
    return next(method for method in found if type(method) is types.WrapperDescriptorType)


def has_attributes_alone(kind: type) -> bool:
    """Whether an object of a class is what `object.__new__` makes, and its attributes; the class may have a ``__new__``."""
    if kind.__new__ is object.__new__:
        return True
    is_written = type(kind.__new__) is types.FunctionType and type(kind).__call__ is type.__call__  # as those of enums are not
    return is_written and all(base is object or base.__flags__ & _HEAP_TYPE for base in kind.__mro__)


# Classes of Python's whose subclasses have attributes besides what these hold.
_CONTAINERS = (OrderedDict, dict, list, tuple, set, frozenset, str, BaseException)


def container_behind(kind: type) -> type | None:
    """The class of Python's that says what objects of a class hold besides attributes; None where there is more to them."""
    base = next((base for base in _CONTAINERS if issubclass(kind, base)), None)
    if base is None or not kind.__flags__ & _HEAP_TYPE:
        return None
    is_changed = base in (OrderedDict, dict, list, set)  # what one of these holds is not handed to its `__new__`
    if is_changed and kind.__new__ is not base.__new__:
        return None
    pythons = {object, *base.__mro__, *_EXCEPTIONS} if base is BaseException else {object, *base.__mro__}
    return base if all(one in pythons or one.__flags__ & _HEAP_TYPE for one in kind.__mro__) else None


# Of these, objects hold their arguments and nothing else.
_EXCEPTIONS = {
    one
    for one in vars(builtins).values()
    if isinstance(one, type) and issubclass(one, BaseException) and one.__basicsize__ == Exception.__basicsize__
}
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: written in Python


def class_of(kind: type) -> type:
    """The user's own class, of one that may be a subclass that follows special methods (capture/outside/objects.py)."""
    return kind.__dict__.get("followed_class", kind)


def is_generated(method: Any) -> bool:
    """Whether `dataclass` has written a method."""
    return type(method) is types.FunctionType and method.__code__.co_filename == "<string>"


def factories_of(kind: type) -> list[dataclasses.Field]:
    """The fields of a dataclass that have a ``default_factory``; none of other classes."""
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    return [one for one in fields if one.default_factory is not dataclasses.MISSING]


def factories_left_out(
    fields: list[dataclasses.Field], initialize: types.FunctionType, args: tuple, kwargs: dict
) -> dict[str, Callable[[], Any]]:
    """The factories of those fields that a call of a dataclass's own ``__init__`` does not give."""
    code = initialize.__code__
    given = {*code.co_varnames[1 : code.co_argcount][: len(args)], *kwargs}
    return {one.name: one.default_factory for one in fields if one.init and one.name not in given}
