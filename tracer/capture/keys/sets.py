"""Sets whose elements the program computes: dicts without values. They are returned as sets, and have no order of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .... import hlo
from ...recording.array import TracedArray, require_trace
from .. import journals, places
from ..calls.meanings import SET_METHODS, implements
from ..calls.methods_of_containers import listed_iterator, may_give_keys
from ..choices import Choice
from ..distribution import each
from ..entries import (
    INSERTED,
    OPEN,
    UNORDERED,
    common_mark,
    contents_of,
    elements_of_set,
    has_open_keys,
    is_open_set,
    mark_of,
    type_of_set,
)
from ..lists.mapping import mapped
from ..lists.runs import Run, instruction_of, is_open_list, length_of, settled
from ..lists.text_ranks import in_groups
from ..loops.unrolling import for_
from ..outside.sets import OutsideSet
from ..places import NO_NAMES
from ..texts.deferred import concrete, is_made_text
from .dicts import change, contains_key, raise_where
from .lookup import found, holds_unknown, put_behind, with_last_in_place_of, without_row
from .set_views import SetView, is_order_kept, view_of_set
from .views import KEYS, DictRows, DictView, as_they_are, entries_of

# Fewer texts are put into a set one by one.
_MANY_TEXTS = 8


def of_entries(entries: list[Any], mark: Any) -> set[Any]:
    """A new set of these entries."""
    return _of(set, entries, mark)


def _of(kind: type, entries: list[Any], mark: Any = UNORDERED) -> Any:
    """A new set of these entries, whose order is not Python's if nothing else is said."""
    made = kind(elements_of_set({mark: entries}))
    journals.note_made(made)
    return made


def set_of(elements: Iterable[Any], kind: type = set) -> Any:
    """``set(elements)``, and what is written ``{a, b}``."""
    elements = listed_iterator(elements)
    if not may_give_keys(elements):
        made = kind(elements)
        journals.note_made(made)
        return made
    made: set[Any] = set()
    journals.note_made(made)
    update(made, elements)
    return made if kind is set else _of(kind, entries_of(made), mark_of(contents_of(made)))


@implements(frozenset)
def frozenset_(iterable: Any = (), /) -> frozenset[Any]:
    return set_of(iterable, frozenset)


def _rows_of_elements(elements: Any) -> Any:
    """What a set, or what is put into one, is gone over by, where the order does not matter; many texts as one run of these."""
    if is_open_set(elements):
        return view_of_set(elements, any_order=True).rows()
    if is_open_list(elements):
        return elements
    is_long = isinstance(elements, (list, tuple)) and len(elements) >= _MANY_TEXTS
    return in_groups(elements) if is_long and all(map(is_made_text, elements)) else elements


# --- methods ---


def _method(name: str) -> Callable:
    def register(function: Callable) -> Callable:
        SET_METHODS[name] = function
        return function

    return register


@_method("add")
def add(holder: set, value: Any) -> None:
    if not has_open_keys(holder) and not holds_unknown(value):
        journals.note(places.Contents(holder))
        holder.add(concrete(value))
        return
    contents = contents_of(holder)
    mark = common_mark(contents, {INSERTED: ()}) if has_open_keys(holder) or _is_new(holder) else UNORDERED
    change(holder, {mark: put_behind(as_they_are(holder), value, None)})


def _is_new(holder: set) -> bool:
    """Whether nothing has been taken out of a set that the function has made."""
    program = require_trace().program
    changes = program.changes_of_sets.get(id(holder), (holder, set()))[1]
    return id(holder) in program.made_objects and changes <= {"add", "update", places.PUT_BACK}


@_method("remove")
def remove(holder: set, value: Any) -> None:
    at = found(entries_of(holder), value)
    if at is None:
        raise KeyError(value)
    run, place, is_there = at
    raise_where(hlo.not_(is_there), KeyError(value))
    _take_out(holder, run, place, hlo.constant(np.bool_(True)))


@_method("discard")
def discard(holder: set, value: Any) -> None:
    at = found(entries_of(holder), value)
    if at is not None:
        run, place, is_there = at
        end = hlo.constant(np.int64(run.form.capacity))
        _take_out(holder, run, hlo.select(is_there, place, end), is_there)


def _take_out(holder: set, run: Run, place: hlo.Instruction, is_there: hlo.Instruction) -> None:
    """Take the element in a row out of a set, if it is there; the others stay in order where that is asked for later."""
    if is_order_kept(mark_of(contents_of(holder)) or OPEN):
        _keep(holder, without_row(run, place, is_there))
    else:
        change(holder, {UNORDERED: with_last_in_place_of(run, place, is_there)})


def _keep(holder: set, entries: list[Any]) -> None:
    """Give the set the rest of its elements, which keep their order."""
    mark = mark_of(contents_of(holder)) or OPEN
    change(holder, {UNORDERED if mark is INSERTED else mark: entries})


@_method("pop")
def pop(holder: set) -> Any:
    """The first one in the order that Python has, where that is known."""
    if isinstance(holder, OutsideSet):
        if not is_open_set(holder):
            journals.note(places.Contents(holder))
            return holder.popped()
        holder.require_first_is_popped()
    view = view_of_set(holder)
    if isinstance(view, SetView):
        change(holder, {OPEN: view.in_order})
    error = KeyError("pop from an empty set")
    entries = entries_of(holder)
    if not entries:
        raise error
    run = settled(entries)
    raise_where(hlo.le(instruction_of(run.length), 0), error)
    value = DictRows(holder, KEYS).element(0)
    _keep(holder, without_row(run, hlo.constant(np.int64(0))))
    return value


@_method("clear")
def clear(holder: set) -> None:
    change(holder, {})


@_method("copy")
def copy(holder: Any) -> Any:
    return _of(type_of_set(holder), entries_of(holder))  # in a table of another size


@_method("update")
def update(holder: set, *others: Any) -> None:
    for other in others:
        for_(_rows_of_elements(other), lambda value: add(holder, value), None, NO_NAMES)
        if isinstance(other, (set, frozenset, dict)) and has_open_keys(holder):  # the table may have grown at once
            change(holder, {UNORDERED: as_they_are(holder)})


# Of more sets the program decides which one is taken before something is done with it.
_FEW_SETS = 4


def in_one_set(value: Choice) -> Any:
    """A copy of the set that is taken, of many, which may be gone over in another order; anything else as it is."""
    are_many = len(value.values) > _FEW_SETS and all(isinstance(one, (set, frozenset)) for one in value.values)
    return each(copy, value) if are_many else value


def _filtered(holder: Any, test: Callable[[Any], Any]) -> Any:
    """A new set of the elements for which the test holds."""
    return _of(type_of_set(holder), mapped(lambda value: (value, None), DictRows(holder, KEYS), test))


@_method("union")
def union(holder: Any, *others: Any) -> Any:
    made = _of(set, entries_of(holder))
    update(made, *others)
    return made if type_of_set(holder) is set else _of(type_of_set(holder), entries_of(made))


@_method("intersection")
def intersection(holder: Any, *others: Any) -> Any:
    for other in map(_as_set, others):
        holder = _filtered(holder, functools.partial(contains_key, other))
    return holder if others else copy(holder)


@_method("difference")
def difference(holder: Any, *others: Any) -> Any:
    for other in map(_as_set, others):
        holder = _filtered(holder, lambda value, other=other: _not(contains_key(other, value)))
    return holder if others else copy(holder)


@_method("symmetric_difference")
def symmetric_difference(holder: Any, other: Any) -> Any:
    other = _as_set(other)
    return union(difference(holder, other), difference(other, holder))


def _in_place(name: str, operation: Callable[..., Any]) -> None:
    @_method(name)
    def change_it(holder: set, *others: Any) -> None:
        change(holder, contents_of(operation(holder, *others)))


_in_place("intersection_update", intersection)
_in_place("difference_update", difference)
_in_place("symmetric_difference_update", symmetric_difference)


@_method("issubset")
def issubset(holder: Any, other: Any) -> Any:
    return _count(intersection(holder, other)) == _count(holder)


@_method("issuperset")
def issuperset(holder: Any, other: Any) -> Any:
    return issubset(_as_set(other), holder)


@_method("isdisjoint")
def isdisjoint(holder: Any, other: Any) -> Any:
    return _count(intersection(holder, other)) == 0


def _as_set(value: Any) -> Any:
    return value if isinstance(value, (set, frozenset)) else set_of(value)


def _count(holder: Any) -> Any:
    return length_of(entries_of(holder))


def _not(truth: Any) -> Any:
    negated = np.logical_not(truth)
    if isinstance(negated, TracedArray):
        negated.weak_type = True
    return negated


# --- operators ---

_OPERATIONS = {"or_": union, "and_": intersection, "sub": difference, "xor": symmetric_difference}
_ORDERS: dict[str, Callable[[Any, Any], Any]] = {
    "le": issubset,
    "ge": issuperset,
    "lt": lambda first, second: _both(issubset(first, second), _count(first) != _count(second)),
    "gt": lambda first, second: _both(issuperset(first, second), _count(first) != _count(second)),
}


def _both(first: Any, second: Any) -> Any:
    found = np.logical_and(first, second)
    if isinstance(found, TracedArray):
        found.weak_type = True
    return found


def are_sets(first: Any, second: Any) -> bool:
    """Whether an operator of sets has to do with elements that the program computes."""
    pair = tuple(_keys_as_set(one) for one in (first, second))
    return all(isinstance(one, (set, frozenset)) for one in pair) and any(map(is_open_set, pair))


def _keys_as_set(value: Any) -> Any:
    return set_of(value) if type(value) is DictView and value.part == KEYS else value


def operated(name: str, first: Any, second: Any) -> Any:
    """``first | second`` and the like."""
    return _OPERATIONS[name](_keys_as_set(first), _keys_as_set(second))


def operated_in_place(name: str, holder: Any, other: Any) -> Any:
    """``holder |= other`` and the like."""
    made = operated(name, holder, other)
    if not isinstance(holder, set):
        return made
    change(holder, contents_of(made))
    return holder


def compared(name: str, first: Any, second: Any) -> Any:
    """``first <= second`` and the like."""
    return _ORDERS[name](_keys_as_set(first), _keys_as_set(second))


def equal(first: Any, second: Any) -> Any:
    """``first == second`` of sets."""
    return _both(issubset(first, second), _count(first) == _count(second))
