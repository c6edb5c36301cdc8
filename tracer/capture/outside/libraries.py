"""Classes, and names of libraries' modules and of Python's built-in functions: what they have, as long as they have it."""

from __future__ import annotations

import builtins
import sys
import types
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from ...outside.guards import SameClass, SameNames, SameType, is_number
from ...outside.ownership import belongs_to_the_user
from ...outside.paths import MISSING, Attribute, Fixed
from ...recording.current_trace import current_trace

if TYPE_CHECKING:
    from .surroundings import Surroundings

_IS_IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE
_OWN = f"{__name__.partition('.')[0]}."


def is_looked_at(surroundings: Surroundings, holder: types.ModuleType, name: str) -> bool:
    """Whether what a library's module has under a name has been read before, and is no number that may be another one."""
    guard = surroundings.guards.get((("fixed", id(holder)), SameNames))
    return guard is not None and name in guard.held


def attribute_of_library(surroundings: Surroundings, holder: types.ModuleType | type, name: str) -> Any:
    """An attribute of a library's module or class. Raises AttributeError."""
    if holder is sys and name in _STREAMS:
        return getattr(sys, name)
    if isinstance(holder, types.ModuleType):
        found, path = vars(holder).get(name, MISSING), Fixed(holder, holder.__name__)
        is_input = is_number(found) and surroundings.policy.is_hidden(Attribute(path, name).key)
        if is_input or type(found) in _HOLDING:
            return surroundings.attribute(holder, path, name)
        _noted(surroundings, holder, name)
    else:
        note_class(surroundings, holder, name)
    return getattr(holder, name)


_STREAMS = ("stdout", "stderr")  # what is written goes to what they are at the call
_HOLDING = frozenset({dict, list, set, deque, np.ndarray})  # whose contents change


def note_class(surroundings: Surroundings, kind: type, name: str) -> None:
    """What a class of a library's has under a name, or inherits; one that the function makes is another one at each call."""
    made = current_trace().program.made_objects
    for base in kind.__mro__:
        if base.__flags__ & _IS_IMMUTABLE or base.__module__.startswith(_OWN) or id(base) in made:
            found = vars(base).get(name, MISSING)
        else:
            found = _noted(surroundings, base, name)
        if found is not MISSING:
            return


def meet(surroundings: Surroundings, kind: type) -> None:
    """A class, of which the function uses instances, or what it has: it stays as it is."""
    path = Fixed(kind, kind.__name__)
    if (path.key, SameClass) in surroundings.guards:
        return
    bases = tuple([base for base in kind.__mro__ if not base.__flags__ & _IS_IMMUTABLE and belongs_to_the_user(base)])
    if bases:
        surroundings.guard(SameClass(path, bases, surroundings.names_set_of_classes))
        if type(kind) is not type:
            meet(surroundings, type(kind))


def meet_object(surroundings: Surroundings, value: Any) -> None:
    """An object that will be the same at each call."""
    if isinstance(value, type):
        meet(surroundings, value)
    elif not isinstance(value, types.ModuleType):
        kind = type(value)
        meet(surroundings, kind)
        if not kind.__flags__ & _IS_IMMUTABLE:
            surroundings.guard(SameType(Fixed(value, f"the {kind.__name__}"), kind))


def note_builtin(surroundings: Surroundings, holder: types.ModuleType | dict, name: str) -> None:
    """What a function's built-in names, a module or a dict, have under a name."""
    _noted(surroundings, builtins if holder is vars(builtins) else holder, name)


def _noted(surroundings: Surroundings, holder: Any, name: str) -> Any:
    key = ("fixed", id(holder)), SameNames
    guard = surroundings.guards.get(key)
    if guard is None:
        text = getattr(holder, "__name__", "__builtins__")
        guard = surroundings.guards[key] = SameNames(Fixed(holder, text))
    return guard.held.setdefault(name, guard.names.get(name, MISSING))
