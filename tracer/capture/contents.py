"""What containers held on a side of a branch, or behind a round, before that was put back: copies of theirs stand for them."""

from __future__ import annotations

import dataclasses
import operator
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..recording import pytree
from ..recording.attributes import attributes_of
from ..recording.trace import Trace
from .choices import Choice, Maybe
from .entries import elements_of_set
from .forms import Fixed, form_of, is_around, with_holder
from .parts import AttributeNames, put_together, taken_apart
from .places import Item, where_made

_DICTS = (dict, OrderedDict, Counter, defaultdict)


def with_contents(
    value: Any,
    ends: Mapping[Any, Any],
    inside: Callable[[list], None] | None = None,
    outer: Trace | None = None,
    of_side: bool = False,
) -> Any:
    """A value with what containers in it held before they were put back, which is in ``ends`` by the keys of places.

    ``inside`` is called with each list in another container of which a copy takes the place. ``outer`` is the trace that goes
    on with what is left: objects that the current one has made hold what they held, too; of those ``of_side`` attributes that
    were set are merged by themselves.
    """
    return _Ends(ends, inside, outer, of_side, []).held_by(value, False) if ends else value


class _Ends(NamedTuple):
    ends: Mapping[Any, Any]
    inside: Callable[[list], None] | None
    outer: Trace | None
    of_side: bool
    holders: list[Any]  # the objects of which the parts are looked at

    def held_by(self, value: Any, is_inside: bool, is_copied: bool = False) -> Any:
        if isinstance(value, list) and id(value) in self.ends:
            if is_inside and self.inside is not None:
                self.inside(value)
            return list_like(value, [self.held_by(item, True) for item in self.ends[id(value)]])
        if isinstance(value, set):
            return set(elements_of_set(self.ends[id(value)])) if id(value) in self.ends else value
        if type(value) in _DICTS:
            held = self.ends.get(id(value), value)
            items = {key: self.held_by(self.ends.get((id(value), Item, key), item), True) for key, item in held.items()}
            same = held is value and all(item is held[key] for key, item in items.items())
            return value if same else dict_like(value, items)
        if type(value) is Choice:
            # Where identity does not tell an object from the others in its place, what it consists of does.
            forms = (form_of(item, self.outer) for item in value.values)
            are_copied = self.outer is not None and not all(isinstance(form, Fixed) for form in forms)
            parts = [self.held_by(item, is_inside, are_copied) for item in value.values]
            return value if all(map(operator.is_, parts, value.values)) else Choice(value.number, parts)
        if type(value) is Maybe:
            part = self.held_by(value.value, is_inside)
            return value if part is value.value else Maybe(value.is_there, part, value.absent)
        if isinstance(value, (list, tuple)) and (apart := pytree.taken_apart(value)) is not None:
            parts = [self.held_by(item, True) for item in apart[1]]
            return value if all(map(operator.is_, parts, apart[1])) else pytree.put_together(type(value), apart[0], parts)
        if self.outer is not None and (where_made(value) is not None or dataclasses.is_dataclass(type(value))):
            return self.object_held(value, is_copied)
        return value

    def object_held(self, value: Any, is_copied: bool) -> Any:
        where = where_made(value)
        if where is not None and not is_copied and is_around(where, self.outer):
            return value
        names, parts = AttributeNames(attributes_of(value)), attributes_of(value).values()
        self.holders[:], before = with_holder(tuple(self.holders), value), self.holders[:]
        set_to = [self.ends.get((id(value), name), part) for name, part in zip(names, parts)]
        held = [self.held_by(part, True, is_copied) for part in set_to]
        self.holders[:] = before
        is_same = all(map(operator.is_, held, set_to if self.of_side else parts))
        return value if is_same else put_together(type(value), names, held)


def list_like(holder: Any, items: Sequence[Any]) -> Any:
    """A list of the same class with these items, or a tuple; of a deque one of the same greatest length."""
    if type(holder) in (list, tuple):
        return type(holder)(items)
    if (apart := pytree.taken_apart(holder)) is not None:
        return pytree.put_together(type(holder), apart[0], items)
    if (apart := taken_apart(holder)) is None:
        return list(items)
    attributes = apart[1][len(apart[1]) - len(apart[0].names) :]
    return put_together(type(holder), apart[0], (*items, *attributes))


def dict_like(holder: dict, items: Any) -> dict:
    """A dict of the same class with these items."""
    made = type(holder)(holder.default_factory) if isinstance(holder, defaultdict) else type(holder)()
    made.update(items)
    return made
