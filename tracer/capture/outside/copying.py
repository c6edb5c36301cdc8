"""``copy.copy`` and ``copy.deepcopy`` of what comes from outside, and of what holds it.

Python's own would copy what stands outside while the function is traced, and not what the function has put there.
"""

from __future__ import annotations

import copy
import functools
import types
from collections.abc import Iterator
from typing import Any

from ...outside.ownership import belongs_to_the_user
from ...recording import pytree
from ...recording.attributes import attributes_of, class_of, set_held, slots_of
from ...recording.errors import TracerError
from .. import journals
from ..attributes import getattr_, hasattr_
from ..branches import choose
from ..calls.dispatch import call
from ..calls.meanings import TAKE_MAYBES, implements
from ..choices import Maybe
from ..entries import contents_of, has_open_keys
from ..lists.access import items_of
from ..lists.deques import TracedDeque
from ..lists.records import keep
from ..lists.references import keys_in
from ..lists.runs import is_open_list, settled
from ..texts.deferred import AS_THE_USERS
from .kinds import OUTSIDE_CONTAINERS, OutsideDeque
from .surroundings import Surroundings, current_surroundings

# Where a class has one of these of its own, it decides itself what a copy is.
_DECIDING = ("__reduce_ex__", "__reduce__", "__getstate__", "__setstate__", "__getnewargs__", "__getnewargs_ex__", "__new__")

TAKE_MAYBES.update({copy.copy, copy.deepcopy})


@implements(copy.copy)
def shallow(value: Any) -> Any:
    """``copy.copy(value)``"""
    if type(value) is Maybe:
        return choose(value.is_there, lambda: shallow(value.value), lambda: value.absent)
    if (method := getattr(type(value), "__copy__", None)) is not None and belongs_to_the_user(class_of(type(value))):
        return call(method, value)
    if is_open_list(value) or has_open_keys(value) or keys_in(value) or isinstance(value, TracedDeque):
        return value if isinstance(value, (tuple, frozenset)) else call(value.copy)
    surroundings = current_surroundings()
    if surroundings is None or not _is_copied_by_attributes(class_of(type(value))):
        return copy.copy(_as_it_is(surroundings, value))
    made = _empty_one(surroundings, value)
    for name, part in _attributes(surroundings, value):
        set_held(made, name, part)
    keep(made)
    return made


@implements(copy.deepcopy)
def deep(value: Any, memo: dict[int, Any] | None = None) -> Any:
    """``copy.deepcopy(value, memo)``"""
    if type(value) is Maybe:
        return choose(value.is_there, lambda: deep(value.value, memo), lambda: value.absent)
    memo = {} if memo is None else memo
    if id(value) in memo:
        return memo[id(value)]
    memo.setdefault(id(memo), []).append(value)  # as Python's does: nothing else gets its id
    surroundings, kind = current_surroundings(), class_of(type(value))
    if (method := getattr(kind, "__deepcopy__", None)) is not None and belongs_to_the_user(kind):
        memo[id(value)] = made = call(method, value, memo)
    elif keys_in(value):
        memo[id(value)] = made = deep(call(dict, value), memo)
    elif is_open_list(value) or has_open_keys(value):
        is_flat = _is_flat(_structure_of_elements(value))
        memo[id(value)] = made = shallow(value) if is_flat else copy.deepcopy(value, memo)
    elif isinstance(value, OUTSIDE_CONTAINERS) or kind is list or kind is TracedDeque or kind is dict:
        memo[id(value)] = made = value.copy()
        for key, part in list(made.items() if isinstance(made, dict) else enumerate(made)):
            made[key] = deep(part, memo)
    elif kind is tuple:
        parts = tuple([deep(part, memo) for part in value])
        made = value if all(one is other for one, other in zip(parts, value)) else parts
        made = memo.setdefault(id(value), made)
    elif surroundings is not None and _is_copied_by_attributes(kind):
        memo[id(value)] = made = _empty_one(surroundings, value)
        for name, part in _attributes(surroundings, value):
            set_held(made, name, deep(part, memo))
        keep(made)
    else:
        made = copy.deepcopy(_as_it_is(surroundings, value), memo)
    return made


def as_the_users(value: Any) -> Any:
    """A container from outside as one of the user's kind with what it holds now, and so those in it; others as they are."""
    if not isinstance(value, OUTSIDE_CONTAINERS):
        return value
    if isinstance(value, OutsideDeque):
        made = TracedDeque(value, value.maxlen)
    else:
        made = call(value.copy) if isinstance(value, dict) or is_open_list(value) else [*value]
    if not is_open_list(made) and not has_open_keys(made):
        for key, part in list(made.items() if isinstance(made, dict) else enumerate(made)):
            made[key] = pytree.tree_map(as_the_users, part)
    return made


AS_THE_USERS.append(as_the_users)


def _structure_of_elements(value: Any) -> pytree.Structure:
    entries = value if is_open_list(value) else next(iter(contents_of(value).values()))
    return settled(items_of(entries)).form.structure


def _is_flat(structure: pytree.Structure) -> bool:
    """Whether nothing can change the elements."""
    return structure is pytree.LEAF or structure[0] is tuple and all(map(_is_flat, structure[2]))


@functools.cache
def _is_copied_by_attributes(kind: type) -> bool:
    """Whether a copy of an object of this class is one of the class with the same attributes, whatever these are."""
    if kind is types.SimpleNamespace:
        return True
    return belongs_to_the_user(kind) and all(getattr(kind, name, None) is getattr(object, name, None) for name in _DECIDING)


def _empty_one(surroundings: Surroundings, value: Any) -> Any:
    kind = surroundings.class_to_make(class_of(type(value)))
    made = kind.__new__(kind)
    journals.note_made(made)
    return made


def _attributes(surroundings: Surroundings, value: Any) -> Iterator[tuple[str, Any]]:
    if surroundings.path_of(value) is None:
        yield from attributes_of(value).items()
        return
    if hasattr(value, "__dict__"):
        yield from getattr_(value, "__dict__").items()
    yield from [(name, getattr_(value, name)) for name in slots_of(type(value)) if hasattr_(value, name)]


def _as_it_is(surroundings: Surroundings | None, value: Any) -> Any:
    """An object for Python to copy: while it is in the state in which it is now."""
    if surroundings is None or not surroundings.is_object(value):
        return value
    if surroundings.names_set(value):
        raise TracerError(
            f"{surroundings.path_of(value).text}, a {class_of(type(value)).__name__}, is copied by the traced function, which "
            "has set attributes of it, and its class says what a copy is. Fix: copy it before it is changed, or outside"
        )
    surroundings.guard_state(value)
    return surroundings.original(value)
