"""Guards as native code can check them: that dicts, closure variables and functions hold the very objects that they held."""

from __future__ import annotations

import functools
import gc
import types
from collections.abc import Mapping
from typing import Any

from .guards import (
    Guard,
    SameAs,
    SameClass,
    SameErrorHandling,
    SameFunction,
    SameMethod,
    SameNames,
    SameObject,
    SameType,
    SameValue,
    error_handling,
)
from .paths import MISSING, NO_OBJECTS, Attribute, Cell, Fixed, Global, Item, Path


def facts_of(guard: Guard) -> list[tuple[Any, ...]] | None:
    """What together means that a guard holds; None where more than identities have to be looked at.

    The facts are ("item", dict, key, value), ("absent", dict, key), ("names", dict, what is to hold of it), ("class", class,
    what is to hold of it), ("type", object, its type), ("cell", cell,
    value), ("function", function) and ("variable", context variable, what says whether another object there is as good).
    """
    if isinstance(guard, SameErrorHandling):
        holds = functools.partial(_holds, guard)
        return [("variable", error_handling(), holds)] if holds() else None
    if isinstance(guard, SameNames):
        if guard.difference(NO_OBJECTS) is not None:
            return None
        names = _dict_of(guard.names)
        return [("names", names, [_item(names, name, value) for name, value in guard.held.items()])]
    if isinstance(guard, SameClass):
        return None if guard.difference(NO_OBJECTS) is not None else [("class", guard.path.read(NO_OBJECTS), _within(guard))]
    if isinstance(guard, SameType) and isinstance(guard.path, Fixed):
        return [("type", guard.path.value, guard.kind)]
    if not isinstance(guard, (SameAs, SameFunction, SameObject, SameType, SameValue)) or isinstance(guard, SameMethod):
        return None
    if guard.difference(NO_OBJECTS) is not None:
        return None
    found: list[tuple[Any, ...]] = []
    for path in (guard.path, guard.other) if isinstance(guard, SameAs) else (guard.path,):
        facts = _identities(path)
        if facts is None:
            return None
        found += facts
    if isinstance(guard, SameFunction):
        found.append(("function", guard.value))
    return found


def _within(guard: SameClass) -> list[tuple[Any, ...]]:
    """What means of each of the classes that it has the same methods."""
    facts = []
    for base, held in zip(guard.bases, guard.held):
        names = _dict_of(vars(base))
        facts.append(_item(names, " ", MISSING))  # which no name is: nothing has been added
        facts += [_item(names, name, value) for name, value in held.items() if (base, name) not in guard.is_set]
    return facts


def _dict_of(names: Mapping[str, Any]) -> dict[str, Any]:
    """The dict itself, for one of a class, which Python shows as a view of it."""
    return names if type(names) is dict else gc.get_referents(names)[0]


def _holds(guard: Guard) -> bool:
    return guard.holds(guard.path.read(NO_OBJECTS))


def _identities(path: Path) -> list[tuple[Any, ...]] | None:
    """What means that the same object stands at a place; None where that cannot be said so."""
    value = path.read(NO_OBJECTS)
    if isinstance(path, Fixed):
        return []
    if isinstance(path, Global):
        return [_item(path.namespace, path.name, value)]
    if isinstance(path, Cell):
        return None if value is MISSING else [("cell", path.cell, value)]
    if not isinstance(path, (Attribute, Item)):
        return None
    holder, facts = path.holder.read(NO_OBJECTS), _identities(path.holder)
    if facts is None:
        return None
    if isinstance(path, Item) and type(holder) is tuple:
        return facts
    if isinstance(path, Item) and type(holder) is dict:
        return [*facts, _item(holder, path.index, value)]
    if isinstance(path, Attribute) and isinstance(holder, (types.ModuleType, types.SimpleNamespace)):
        attributes = vars(holder)
        return [*facts, ("item", attributes, path.name, value)] if attributes.get(path.name, MISSING) is value else None
    return None


def _item(holder: dict, key: Any, value: Any) -> tuple[Any, ...]:
    return ("absent", holder, key) if value is MISSING else ("item", holder, key, value)
