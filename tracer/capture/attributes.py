"""``holder.name``, read, set and deleted: where the holder comes from outside it stays as it is until the program has run."""

from __future__ import annotations

import builtins
import enum
import functools
import importlib.util
import os
import sys
import types
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np

from ..functions.array_attributes import owner_of
from ..indexing.masked_selection import MaskedSelection
from ..outside.ownership import is_of_the_user
from ..outside.paths import MISSING, Attribute, Item, Path
from ..recording.array import TracedArray, require_trace
from ..recording.attributes import is_generated, is_record
from ..recording.dynamic_array import DynamicArray
from ..recording.errors import TracerError, name_of_type
from . import journals, places
from .branches import choose
from .calls.dispatch import call
from .calls.meanings import MEANINGS, implements
from .choices import Choice, Maybe
from .copies import require_own
from .distribution import each, truth_of
from .lists import records
from .origins import attribute_read
from .outside import streams
from .outside.attribute_dicts import OutsideAttribute, require_surely_set
from .outside.containers import OutsideDict, OutsideList
from .outside.kinds import OUTSIDE_CONTAINERS, OutsideDeque
from .outside.libraries import attribute_of_library, is_looked_at, note_class
from .outside.sets import OutsideSet
from .outside.surroundings import Surroundings, current_surroundings
from .texts.deferred import Deferred, DeferredObject, DeferredParts, WrittenText
from .texts.methods import method_of_text

_NOTHING_GIVEN = object()


_OF_PYTHON = frozenset({list, dict, set, int, float, str, tuple})
_PLAIN_NAMES = frozenset({"__doc__", "__name__", "__qualname__", "__module__", "__annotations__"})
_FIELDS = (types.MemberDescriptorType, type(namedtuple("Fields", "field").field))


def _on_class(kind: type, name: str) -> Any:
    """What a class, or one that it inherits from, has under a name."""
    for base in kind.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return MISSING


def _user_method(owner: Any, name: str) -> types.FunctionType | None:
    """A method of the user's that a descriptor's class has."""
    method = getattr(type(owner), name, None)
    return method if type(method) is types.FunctionType and is_of_the_user(method.__code__.co_filename) else None


def getattr_(holder: Any, name: str) -> Any:
    """``holder.name``"""
    if type(holder) in _OF_PYTHON:
        return getattr(holder, name)
    found = _read(holder, name)
    return _bound(found, holder, name) if type(found) is Maybe and found.absent is places.UNBOUND else attribute_read(found)


def _bound(found: Maybe, holder: Any, name: str) -> Any:
    """An attribute that the function sets, or deletes, under a condition."""
    if _is_of_class(holder, name):
        of_class = _on_class(type(holder), name)
        return choose(found.is_there, lambda: found.value, lambda: _read_of_class(holder, name, of_class))
    if (method := _user_method(holder, "__getattr__")) is not None:
        return choose(found.is_there, lambda: found.value, lambda: call(method, holder, name))
    return found.required(AttributeError, f"'{type(holder).__name__}' object has no attribute '{name}'")


def _is_of_class(holder: Any, name: str) -> bool:
    """Whether the class has the attribute, where the object has none of its own."""
    of_class = _on_class(type(holder), name)
    return of_class is not MISSING and not hasattr(type(of_class), "__set__")


def _read(holder: Any, name: str) -> Any:
    kind = type(holder)
    read = _READ.get(kind)
    if read is not None:
        return read(holder, name)
    surroundings = current_surroundings()
    if surroundings is None:
        return getattr(holder, name)
    if name == "__class__":
        return call(type, holder)
    if kind is types.ModuleType and is_looked_at(surroundings, holder, name):
        return getattr(holder, name)
    path = surroundings.path_of(holder)
    is_instance = kind is not types.ModuleType and not isinstance(holder, type)
    if path is None:
        if (kind, name) in surroundings.methods:
            return getattr(holder, name)
        is_own = is_instance and name in getattr(holder, "__dict__", ()) and not is_record(kind)
        if is_own and _on_class(kind, name) is MISSING:
            return getattr(holder, name)
    if isinstance(holder, OUTSIDE_CONTAINERS) and hasattr(kind.__base__.__base__, name):
        return getattr(holder, name)
    if is_instance and is_record(kind):
        if name in kind.names_of_record:
            return records.attribute(holder, name)
        if name == "__dict__":
            records.delete_attribute(holder, name)
    if name == "__dict__" and path is None and places.where_made(holder) is not None and hasattr(holder, "__dict__"):
        return _dict_of(holder)
    if (setter := _class_that_sets(surroundings, holder, name)) is not None:
        return _bound_to(holder, surroundings.attribute(setter, surroundings.path_of(setter), name))
    if not is_instance:
        if path is not None:
            return surroundings.attribute(holder, path, name)
        value = attribute_of_library(surroundings, holder, name)
        return streams.OutsideEnvironment() if value is os.environ else value
    found = _on_class(kind, name)
    if type(found) is property:
        if type(found.fget) is types.FunctionType:
            return call(found.fget, holder)
    elif isinstance(found, functools.cached_property):
        if not _has_own(surroundings, holder, path, name):
            return _cached(surroundings, holder, path, name, call(found.func, holder))
        held = holder.__dict__[name] if path is None else surroundings.attribute(holder, path, name)
        if type(held) is Maybe and held.absent is places.UNBOUND:
            value = choose(held.is_there, lambda: held.value, lambda: call(found.func, holder))
            return _cached(surroundings, holder, path, name, value)
    elif found is not MISSING and (method := _user_method(found, "__get__")) is not None:
        return call(method, _descriptor(surroundings, kind, name, found), holder, kind)
    if path is not None:
        return surroundings.attribute(holder, path, name)
    if name not in getattr(holder, "__dict__", ()):
        if found is not MISSING:
            return _of_class(surroundings, holder, kind, name, found)
        note_class(surroundings, kind, name)
        if (method := _user_method(holder, "__getattr__")) is not None:
            return call(method, holder, name)
    return getattr(holder, name)


def _cached(surroundings: Surroundings, holder: Any, path: Path | None, name: str, value: Any) -> Any:
    """The value of a cached property, which is kept."""
    if is_record(type(holder)):
        records.delete_attribute(holder, name)
    if path is None:
        journals.note(places.Attribute(holder, name))
        holder.__dict__[name] = value
    else:
        journals.note(OutsideAttribute(surroundings, holder, path, name))
        surroundings.set_attribute(holder, path, name, value)
    return value


def _descriptor(surroundings: Surroundings, kind: type, name: str, found: Any) -> Any:
    """A descriptor of the user's, whose own attributes are looked at, too."""
    base = next(base for base in kind.__mro__ if name in base.__dict__)
    path = surroundings.path_of(base)
    return found if path is None else surroundings.convert(found, Item(Attribute(path, "__dict__"), name))


def _bound_to(holder: Any, value: Any) -> Any:
    """What an object, or a class, has of an attribute that the function has given its class."""
    is_class = isinstance(holder, type)
    if isinstance(value, staticmethod):
        return value.__func__
    if isinstance(value, classmethod):
        return types.MethodType(value.__func__, holder if is_class else type(holder))
    if is_class:
        return value
    if type(value) is property and value.fget is not None:
        return call(value.fget, holder)
    if type(value) is types.FunctionType:
        return types.MethodType(value, holder)
    if hasattr(type(value), "__get__") and not isinstance(value, (types.BuiltinFunctionType, type)):
        raise TracerError(
            f"a {type(value).__name__} is made an attribute of the class {type(holder).__name__} by the traced function, which "
            "is followed for functions, properties, class methods and static methods. Fix: make the class have it before"
        )
    return value


def _class_that_sets(surroundings: Surroundings, holder: Any, name: str) -> type | None:
    """The class whose attribute the function has set that this object, or class, has of it."""
    classes = type(holder).__mro__
    if isinstance(holder, type):
        classes = holder.__mro__
    elif name in getattr(holder, "__dict__", ()) or surroundings.has_attribute(holder, name, is_set=True):
        return None
    for one in classes:
        if surroundings.has_attribute(one, name, is_set=True):
            return one
        if name in one.__dict__:
            return None
    return None


def _of_traced(holder: TracedArray, name: str) -> Any:
    """Numbers have no attributes of arrays."""
    if name == "__class__":
        return holder.run_time_type
    if holder.is_scalar and not hasattr(kind := holder.run_time_type, name):
        raise AttributeError(f"'{name_of_type(kind)}' object has no attribute '{name}'", name=name, obj=holder)
    if holder.is_scalar and holder.weak_type and (method := MEANINGS.get(getattr(holder.run_time_type, name))) is not None:
        return functools.partial(method, holder)  # a special method of Python's numbers
    if name == "dtype" and holder.has_other_order:
        return holder.dtype.newbyteorder()
    return owner_of(holder) if name == "base" else getattr(holder, name)


def _of_container(holder: Any, name: str) -> Any:
    return call(type, holder) if name == "__class__" else getattr(holder, name)


# How attributes are read of objects of these classes: of containers and numbers there are methods only.
_READ: dict[type, Callable[[Any, str], Any]] = {
    Maybe: lambda holder, name: getattr_(holder.required(), name),
    Choice: lambda holder, name: each(lambda one: getattr_(one, name), holder),
    Deferred: method_of_text,
    DeferredParts: method_of_text,
    DeferredObject: method_of_text,
    WrittenText: method_of_text,
    TracedArray: _of_traced,
    DynamicArray: _of_traced,
    MaskedSelection: _of_traced,
    **dict.fromkeys((OutsideDict, OutsideList, OutsideDeque, OutsideSet), _of_container),
    **dict.fromkeys((super, *_OF_PYTHON), getattr),
}


def _of_class(surroundings: Surroundings, holder: Any, kind: type, name: str, found: Any) -> Any:
    """What an object that the function has made has of its class; what its slots and its named fields hold is its own."""
    if isinstance(found, _FIELDS):
        return getattr(holder, name)
    base = next(base for base in kind.__mro__ if name in base.__dict__)
    path = surroundings.path_of(base)
    if path is None:
        note_class(surroundings, kind, name)
    elif not isinstance(holder, enum.Enum):
        if not hasattr(type(found), "__get__"):
            return surroundings.attribute(kind, surroundings.path_of(kind), name)
        if type(found) is types.FunctionType and base is kind:
            surroundings.methods.add((kind, name))
    return getattr(holder, name)


def _read_of_class(holder: Any, name: str, found: Any) -> Any:
    """What an object has of its class where it has no attribute of this name itself."""
    if not hasattr(type(found), "__get__"):
        return getattr_(type(holder), name)
    return found.__get__(holder, type(holder))


def imported(module: str, name: str, value: Any) -> Any:
    """``from module import name``, which is done: the value, as it is at each call."""
    if current_surroundings() is None:
        return value
    holder = sys.modules.get(importlib.util.resolve_name(module, sys._getframe(1).f_globals.get("__package__")))
    return getattr_(holder, name) if hasattr(holder, name) else value


def _has_own(surroundings: Surroundings, holder: Any, path: Path | None, name: str) -> bool:
    if path is None:
        return name in holder.__dict__
    if surroundings.has_attribute(holder, name):
        return True
    return surroundings.convert(holder.__dict__.get(name, MISSING), Item(Attribute(path, "__dict__"), name)) is not MISSING


def _require_of_arrays(holder: TracedArray, name: str) -> None:
    kind = holder.run_time_type
    if not hasattr(kind, name):
        try:
            setattr(np.ndarray(0) if kind is np.ndarray else kind(), name, None)
        except AttributeError as error:  # in the words of this version of Python
            raise AttributeError(str(error), name=name, obj=holder) from None


def setattr_(holder: Any, name: str, value: Any) -> None:
    """``holder.name = value``"""
    if type(holder) is Maybe:
        holder = holder.required()
    if type(holder) is Choice:
        each(lambda one: setattr_(one, name, value), holder)
        return
    surroundings = current_surroundings()
    require_own(holder, name)
    if isinstance(holder, TracedArray):
        _require_of_arrays(holder, name)
    if surroundings is None or isinstance(holder, TracedArray):
        setattr(holder, name, value)
        return
    kind, path = type(holder), surroundings.path_of(holder)
    if path is None and (method := _method_that_changes(kind, "__setattr__")) is not None:
        call(method, holder, name, value)
        return
    found = _on_class(kind, name)
    if _is_done_by(found, *_SETTING, surroundings, holder, name, value):
        return
    if path is None:
        if journals.is_journaling() and not is_record(kind):
            journals.note(places.Attribute(holder, name))
        setattr(holder, name, value)
        return
    _require_settable(holder, kind, name, found, path)
    if journals.is_journaling():
        journals.note(OutsideAttribute(surroundings, holder, path, name))
    surroundings.set_attribute(holder, path, name, value)


def _is_done_by(
    found: Any, of_property: str, of_descriptor: str, surroundings: Surroundings, holder: Any, name: str, *value: Any
) -> bool:
    """Whether a property of the class, or another descriptor, sets or deletes the attribute, which is then done."""
    if type(found) is property:
        function = getattr(found, of_property)
        if type(function) is types.FunctionType:
            call(function, holder, *value)
            return True
    elif found is not MISSING and (method := _user_method(found, of_descriptor)) is not None:
        call(method, _descriptor(surroundings, type(holder), name, found), holder, *value)
        return True
    return False


_SETTING, _DELETING = ("fset", "__set__"), ("fdel", "__delete__")
_OF_CONTAINERS = (dict.__setitem__, dict.__delitem__)


def _method_that_changes(kind: type, name: str) -> Any:
    """What a class has in the place of Python's own ``__setattr__`` or ``__delattr__``: a method of the user's, or of dicts."""
    method = getattr(kind, name)
    if type(method) is types.FunctionType:
        return method if is_of_the_user(method.__code__.co_filename) and not is_generated(method) else None
    return method if method in _OF_CONTAINERS else None


def _require_settable(holder: Any, kind: type, name: str, found: Any, path: Path) -> None:
    if name == "__dict__":
        raise TracerError(
            f"{path.text}.__dict__ is set by the traced function: that is followed for what the dict holds. Fix: change the "
            f"dict that it is (vars({path.text}).update(...)), or its attributes one by one"
        )
    if type(kind.__setattr__) is types.FunctionType:
        parameters = getattr(kind, "__dataclass_params__", None)
        if parameters is not None and parameters.frozen:
            setattr(holder, name, None)  # raises
        raise TracerError(
            f"{path.text}.{name} is set by the traced function, and {kind.__name__} has a __setattr__ of its own, which would "
            "run when the function is traced, and not at each call. Fix: return the value, and set the attribute outside"
        )
    if isinstance(holder, type) and name.startswith("__") and name.endswith("__") and name not in _PLAIN_NAMES:
        raise TracerError(
            f"{path.text}.{name} is set, or deleted, by the traced function: what Python calls by itself is that which the "
            "class has before. Fix: set it outside of the function"
        )
    if found is MISSING and not hasattr(holder, "__dict__"):
        raise AttributeError(f"'{kind.__name__}' object has no attribute '{name}'")
    if (
        type(found) is property
        or found is not MISSING
        and not hasattr(type(found), "__set__")
        and not hasattr(holder, "__dict__")
    ):
        raise AttributeError(f"property '{name}' of '{kind.__name__}' object has no setter")


def delattr_(holder: Any, name: str) -> None:
    """``del holder.name``"""
    if type(holder) is Maybe:
        holder = holder.required()
    if type(holder) is Choice:
        each(lambda one: delattr_(one, name), holder)
        return
    surroundings = current_surroundings()
    path = None if surroundings is None else surroundings.path_of(holder)
    if path is None:
        require_own(holder, name)
        if (method := _method_that_changes(type(holder), "__delattr__")) is not None:
            call(method, holder, name)
            return
    if surroundings is not None and _is_done_by(_on_class(type(holder), name), *_DELETING, surroundings, holder, name):
        return
    if path is None:
        if not is_record(type(holder)):
            journals.note(places.Attribute(holder, name))
        delattr(holder, name)
        return
    surroundings.attribute(holder, path, name)  # raises where there is none
    if isinstance(holder, type) and hasattr(type(found := holder.__dict__.get(name)), "__get__") and found is not None:
        raise TracerError(
            f"{path.text}.{name} is deleted by the traced function, which is followed for attributes of classes that are no "
            "methods. Fix: delete it outside of the function"
        )
    if journals.is_journaling():
        journals.note(OutsideAttribute(surroundings, holder, path, name))
    surroundings.set_attribute(holder, path, name, MISSING)


@implements(object.__setattr__)
def plain_setattr(holder: Any, name: str, value: Any) -> None:
    """``object.__setattr__(holder, name, value)``, by which a class that cannot be set otherwise sets its attributes."""
    surroundings = current_surroundings()
    if surroundings is not None and surroundings.path_of(holder) is not None or is_record(type(holder)):
        setattr_(holder, name, value)
        return
    require_own(holder, name)
    if surroundings is not None and _is_done_by(_on_class(type(holder), name), *_SETTING, surroundings, holder, name, value):
        return
    journals.note(places.Attribute(holder, name))
    object.__setattr__(holder, name, value)


@implements(object.__new__)
def new(kind: type, *args: Any, **kwargs: Any) -> Any:
    """``object.__new__(kind)``, of which the class is that of what the function makes."""
    surroundings = current_surroundings()
    if kind.__new__ is object.__new__ and (args or kwargs) or surroundings is None:
        return object.__new__(kind, *args, **kwargs)
    made = object.__new__(surroundings.class_to_make(kind))
    journals.note_made(made)
    return made


@implements(object.__getattribute__)
def plain_getattr(holder: Any, name: str) -> Any:
    """``object.__getattribute__(holder, name)``, by which a class reads what it would read otherwise."""
    return (getattr_ if _user_method(holder, "__getattribute__") is None else object.__getattribute__)(holder, name)


@implements(object.__delattr__)
def plain_delattr(holder: Any, name: str) -> None:
    """``object.__delattr__(holder, name)``"""
    surroundings = current_surroundings()
    if surroundings is not None and surroundings.path_of(holder) is not None or is_record(type(holder)):
        delattr_(holder, name)
        return
    if surroundings is not None and _is_done_by(_on_class(type(holder), name), *_DELETING, surroundings, holder, name):
        return
    journals.note(places.Attribute(holder, name))
    object.__delattr__(holder, name)


implements(builtins.setattr)(setattr_)
implements(builtins.delattr)(delattr_)


@implements(builtins.getattr)
def getattr_or_default(holder: Any, name: str, default: Any = _NOTHING_GIVEN) -> Any:
    try:
        found = _read(holder, name)
    except AttributeError:
        if default is _NOTHING_GIVEN:
            raise
        return default
    if type(found) is not Maybe or found.absent is not places.UNBOUND:
        return attribute_read(found)
    if default is _NOTHING_GIVEN or _is_of_class(holder, name):
        return _bound(found, holder, name)
    return choose(found.is_there, lambda: found.value, lambda: default)


@implements(builtins.hasattr)
def hasattr_(holder: Any, name: str) -> Any:
    try:
        found = _read(holder, name)
    except AttributeError:
        return False
    attribute_read(found)
    if type(found) is not Maybe or found.absent is not places.UNBOUND or _is_of_class(holder, name):
        return True
    return truth_of(found.is_there)


@implements(builtins.vars)
def vars_(holder: Any) -> Any:
    return getattr_(holder, "__dict__")


def _dict_of(holder: Any) -> dict:
    """``holder.__dict__``, of an object that the function has made; what is changed there are attributes."""
    for name, value in holder.__dict__.items():
        attribute_read(value)
        require_surely_set(holder, name, value)
    found = holder.__dict__
    require_trace().program.attribute_dicts[id(found)] = found, holder
    return found
