"""What containers, sets and objects that the function makes consist of, and how they are put together from it again."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..recording import pytree
from ..recording.attributes import attributes_of, class_of, container_behind, has_attributes_alone, is_property, set_held
from ..recording.current_trace import current_trace
from ..recording.makers import register_attributes
from .entries import contents_of, elements_of_set, is_open_set
from .journals import note_made
from .places import UNBOUND, Contents, is_frozen, where_container_made, where_made


class AttributeNames(tuple):
    """The names of an object's attributes."""


@dataclass(frozen=True)
class Besides:
    """What is known of a container that has attributes: keys, elements of a set, a text, or nothing; and their names."""

    keys: tuple[Any, ...] | None
    names: AttributeNames

    def labels(self, count: int) -> list[str]:
        keys = range(count - len(self.names)) if self.keys is None else self.keys
        return [*[f"[{key!r}]" for key in keys], *["." + name for name in self.names]]


def taken_apart(value: Any) -> tuple[Any, Sequence[Any]] | None:
    """As pytree's; of other objects that the function makes, the names of the attributes and what they hold."""
    if is_open_set(value):
        ((mark, entries),) = contents_of(value).items()
        return mark, (entries,)
    apart = pytree.taken_apart(value)
    if apart is None and (where_made(value) is not None or "as_result" in type(value).__dict__):
        attributes = attributes_of(value)
        return AttributeNames(attributes), tuple(attributes.values())
    if apart is None and where_container_made(value) is not None:
        (keys, held), attributes = _held_by(value), attributes_of(value)
        return Besides(keys, AttributeNames(attributes)), (*held, *attributes.values())
    return apart


def _held_by(value: Any) -> tuple[tuple[Any, ...] | None, Sequence[Any]]:
    """What is known of what a container with attributes holds, as keys of a dict, elements of a set, a text; and the rest."""
    if isinstance(value, BaseException):
        return None, value.args
    if isinstance(value, str):
        return (str.__str__(value),), ()
    held = tuple(tuple.__iter__(value)) if isinstance(value, tuple) else Contents(value).get()
    if isinstance(held, dict):
        return tuple(held), () if isinstance(value, (set, frozenset)) else tuple(held.values())
    return None, held


def put_together(kind: type, auxiliary: Any, parts: Sequence[Any]) -> Any:
    made = _put_together(kind, auxiliary, parts)
    if isinstance(auxiliary, AttributeNames) or hasattr(made, "__dict__"):
        note_made(made)
    if is_frozen(kind):  # nobody knows which one it is
        current_trace().program.copies[id(made)] = made
    return made


def _put_together(kind: type, auxiliary: Any, parts: Sequence[Any]) -> Any:
    if issubclass(kind, (set, frozenset)) and not isinstance(auxiliary, Besides):
        return (set if issubclass(kind, set) else kind)(elements_of_set({auxiliary: parts[0]}))
    if isinstance(auxiliary, Besides):
        return _container_with_attributes(kind, auxiliary, parts)
    if not isinstance(auxiliary, AttributeNames):
        made = pytree.put_together(kind, auxiliary, parts)
        if type(made) is not kind:  # the user's own class, of one whose special methods are followed
            object.__setattr__(made, "__class__", kind)
        return made
    made = _new_of(kind)(kind)
    set_attributes(made, auxiliary, parts)
    return made


def _container_with_attributes(kind: type, besides: Besides, parts: Sequence[Any]) -> Any:
    """Past the methods of the class, which may do more than hold something."""
    count, base = len(parts) - len(besides.names), container_behind(class_of(kind))
    held = parts[:count]
    if base in (tuple, frozenset, str, BaseException):
        made = base.__new__(kind, *{tuple: (held,), frozenset: (besides.keys,), str: besides.keys}.get(base, held))
    else:
        made = kind.__new__(kind)
        if base is list:
            list.extend(made, held)
        elif base is set:
            set.update(made, besides.keys)
        else:
            for key, part in zip(besides.keys, held):
                base.__setitem__(made, key, part)
    set_attributes(made, besides.names, parts[count:])
    return made


def set_attributes(made: Any, names: Iterable[str], parts: Iterable[Any]) -> None:
    """Give an object attributes that have these names, but for what is unbound."""
    for name, part in zip(names, parts):
        if part is not UNBOUND:
            set_held(made, name, part)


def _new_of(kind: type) -> Callable[[type], Any]:
    """What makes an object of a class that has no attributes yet; what the class itself does is done."""
    return (object if has_attributes_alone(kind) else kind).__new__


class Parts:
    """In the place of an object that the function makes, or a set, of which `pytree` knows nothing: what it consists of."""

    def __init__(self, kind: type, auxiliary: Any, parts: Sequence[Any]) -> None:
        self.kind, self.auxiliary, self.parts = kind, auxiliary, parts


def parts_of(value: Any) -> Parts | None:
    """What such an object or set consists of, None for others."""
    apart = taken_apart(value) if pytree.taken_apart(value) is None else None
    return None if apart is None else Parts(type(value), *apart)


def _made_of(about: tuple[type, Any], parts: Sequence[Any]) -> Any:
    kind, auxiliary = about
    if current_trace() is None:  # the program has run
        made = _put_together(class_of(kind), auxiliary, parts)
        return made.as_result() if "as_result" in kind.__dict__ else made
    return put_together(kind, auxiliary, parts)


def _attributes_of(about: tuple[type, Any]) -> tuple[Any, ...] | None:
    """The same as `makers.attributes_of` has it, when the program has run."""
    kind, auxiliary = about
    kind = class_of(kind)
    is_plain = isinstance(auxiliary, AttributeNames) and "as_result" not in kind.__dict__
    is_plain = is_plain and not any(is_property(kind, name) for name in auxiliary)
    return (functools.partial(_new_of(kind), kind), *auxiliary) if is_plain else None


pytree.register_pytree(Parts, lambda one: (one.parts, (one.kind, one.auxiliary)), _made_of)
register_attributes(Parts, _attributes_of)
