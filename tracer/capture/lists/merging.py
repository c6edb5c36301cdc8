"""Lists that meet: on two sides of a branch, or in all rounds of a loop, with lengths of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ...recording.attributes import attributes_of
from ...recording.errors import TracerError
from ...recording.guessed_bounds import LEAST_BOUND
from ...recording.operands import has_traced
from ...recording.trace import Trace
from ..contents import dict_like, list_like
from ..entries import common_mark, contents_of, elements_of_set, has_open_keys, mark_of, opened, type_of_set
from ..forms import same, unchanged
from ..keys.index import index_of
from ..keys.lookup import in_one, with_texts
from ..places import where_container_made
from ..texts.interned import are_written
from .elements import (
    ElementType,
    joined_type,
    key_columns,
    not_one_type,
    number_of_few_keys,
    with_written_keys,
)
from .references import keys_in, put_into_one_table, refuse, row_behind, row_of
from .runs import (
    Form,
    Run,
    bound_of,
    guessed,
    instruction_of,
    is_open_list,
    known_length,
    note_elements,
    number_of,
    ordered,
    settled,
    type_of_items,
    with_capacity,
)

# The capacity of a list to which a captured loop appends; at most as much for one whose rounds have a bound.
LEAST_CAPACITY, _MOST_AT_FIRST = 256, 65536
_MOST_ENTRIES_AT_FIRST = 4096  # the same for dicts and sets, many of whose keys are put there again and again
_OF_FEW_KEYS = "the few keys of "
Opener = Callable[[Trace], AbstractContextManager]


def _joined(first: Sequence[Any], second: Sequence[Any]) -> ElementType | None:
    return _joined_type(type_of_items(first), type_of_items(second))


def _joined_in(traces: Sequence[Trace], sides: Sequence[Sequence[Any]], reopened: Opener) -> ElementType | None:
    """The same of lists of which each is read in a trace of its own."""
    return _joined_type(*[_within(trace, partial(type_of_items, side), reopened) for trace, side in zip(traces, sides)])


def _joined_type(*kinds: ElementType | None) -> ElementType | None:
    kind = joined_type(*kinds)
    if kind is None and kinds != (None, None):
        raise not_one_type(*kinds)
    return kind


def _common_length(first: Sequence[Any], second: Sequence[Any]) -> int | None:
    length = known_length(first)
    return length if length == known_length(second) else None


def fitted(items: Sequence[Any], form: Form, kind: ElementType) -> Run:
    """One run of these elements that has exactly this form."""
    run = settled(items, kind)
    note_elements(items)
    if run.form.is_ring and not form.is_ring:
        run = ordered(run)
    run = with_capacity(run, form.capacity, form.place)
    length = run.length if form.length is not None else number_of(instruction_of(run.length))
    start = number_of(instruction_of(run.start)) if form.is_ring else 0
    index = None
    if form.key_columns is not None:
        index = run.index if run.form.key_columns is not None else index_of(run)
    return Run(form, run.columns, length, start, index)


# --- two sides of a branch ---


def aligned(traces: Sequence[Trace], first: Any, second: Any, reopened: Opener, is_changed: bool = False) -> tuple[Any, Any]:
    """Two values, one in each trace, so that lists in them that differ in length have one structure.

    is_changed: dicts with different keys are what one dict may hold, and become one whose keys the program decides on; a tuple
    that is another one with more elements behind them is one of that.
    """
    kind = type(first)
    if kind is not type(second):
        return first, second
    if isinstance(first, list):
        if row_of(first) is not None and row_of(second) is not None:
            put_into_one_table([first, second])
            return first, second
        if getattr(first, "maxlen", None) != getattr(second, "maxlen", None):
            return first, second
        sides = _aligned_lists(traces, first, second, reopened)
        return list_like(first, sides[0]), list_like(second, sides[1])
    if kind is tuple and (is_open_list(first) or is_open_list(second) or is_changed and _one_is_longer(first, second)):
        sides = _aligned_lists(traces, list(first), list(second), reopened)
        return tuple(sides[0]), tuple(sides[1])
    if isinstance(first, tuple) and len(first) == len(second):
        pairs = [aligned(traces, one, other, reopened) for one, other in zip(first, second)]
        return list_like(first, [one for one, _ in pairs]), list_like(second, [other for _, other in pairs])
    if isinstance(first, (set, frozenset)) and (has_open_keys(first) or has_open_keys(second) or first != second):
        if any(where_container_made(one) is not None and attributes_of(one) for one in (first, second)):
            raise NotImplementedError(f"one of several sets of the class {type(first).__name__}, which have attributes")
        sides = _aligned_dicts(traces, contents_of(first), contents_of(second), reopened)
        return tuple(type_of_set(first)(elements_of_set(side)) for side in sides)
    if not isinstance(first, dict):
        return first, second
    if keys_in(first) and keys_in(second):
        put_into_one_table((), [row_behind(first).table, row_behind(second).table])
        return first, second
    has_same_keys = list(dict.keys(first)) == list(dict.keys(second))
    if mark_of(first) is not None or mark_of(second) is not None or is_changed and not has_same_keys:
        sides = _aligned_dicts(traces, first, second, reopened)
        return tuple(dict_like(first, side) for side in sides)
    pairs = [aligned(traces, first[key], second[key], reopened) for key in first] if has_same_keys else []
    return tuple(dict_like(first, zip(first, side)) for side in zip(*pairs)) if pairs else (first, second)


def _one_is_longer(first: tuple, second: tuple) -> bool:
    """Whether one tuple is the other one with more elements behind them, which the program computes: as of ``t + (v,)``."""
    first, second = sorted((first, second), key=len)
    return len(first) < len(second) and all(map(unchanged, first, second)) and has_traced(second[len(first) :])


def _aligned_dicts(traces: Sequence[Trace], first: dict, second: dict, reopened: Opener) -> tuple[dict, dict]:
    """Contents of dicts or sets that have not the same keys: with lists of entries."""
    mark = common_mark(first, second)
    first, second = opened(first, mark), opened(second, mark)
    sides = [first[mark], second[mark]]
    if not (sides[0] and sides[1] and same(sides[0][0], sides[1][0])):
        # What comes first is one run afterwards, and each key is to be in it once.
        sides = [_within(trace, lambda side=side: in_one(side), reopened) for trace, side in zip(traces, sides)]
    sides = [_within(trace, lambda side=side: with_texts(side), reopened) for trace, side in zip(traces, sides)]
    sides = _aligned_lists(traces, *sides, reopened)
    return {mark: sides[0]}, {mark: sides[1]}


def _require_values(first: Any, second: Any) -> None:
    """One name may not hold a list whose elements lie in a table, and another one whose elements do not."""
    rows = [row for row in map(row_of, (first, second)) if row is not None]
    put_into_one_table([first, second])
    for row in rows:
        if not row.table.needs.is_refused:
            refuse(row.table)
        raise TracerError(
            "a name is one of several lists, of which the program decides which one it is, and elsewhere a list of another "
            "kind, or one that has been made in between. Fix: give it a copy (list(...)), or put the lists into one list before"
        )


def _aligned_lists(traces: Sequence[Trace], first: list, second: list, reopened: Opener) -> tuple[list, list]:
    _require_values(first, second)
    count = 0
    while count < min(len(first), len(second)) and same(first[count], second[count]):
        count += 1
    prefix, sides = first[:count], [first[count:], second[count:]]
    if len(sides[0]) == len(sides[1]) and not any(map(is_open_list, sides)):
        pairs = [aligned(traces, one, other, reopened) for one, other in zip(*sides)]
        return [*prefix, *[one for one, _ in pairs]], [*prefix, *[other for _, other in pairs]]
    heads: list[list[Run]] = [[], []]
    if any(side and type(side[0]) is Run and side[0].form.place is not None for side in sides):
        heads = _aligned_heads(traces, sides, reopened)
    if any(sides):
        kind = _joined_in(traces, sides, reopened)
        form = _form(kind, max(map(bound_of, sides)), None, _common_length(*sides))
        tails = [_within(trace, lambda side=side: [fitted(side, form, kind)], reopened) for trace, side in zip(traces, sides)]
    else:
        tails = [[], []]
    return [*prefix, *heads[0], *tails[0]], [*prefix, *heads[1], *tails[1]]


def _aligned_heads(traces: Sequence[Trace], sides: list[list], reopened: Opener) -> list[list[Run]]:
    """The first run of both sides, which may grow; what is behind it on one side stays there.

    A side that has no such run gives all that it has; where that is nothing it takes the other's memory.
    """
    heads = []
    for number, side in enumerate(sides):
        given = side[:1] if side and type(side[0]) is Run and side[0].form.place is not None else side[:]
        heads.append(given)
        sides[number] = side[len(given) :]
    for number, (head, other) in enumerate(zip(heads, reversed(heads))):
        if not head and all(column.root_storage.trace not in traces for column in other[0].columns):
            heads[number] = [Run(_with_length(other[0].form), other[0].columns, 0)]
    kind = _joined_in(traces, heads, reopened)
    forms = [one.form for head in heads for one in head if type(one) is Run and one.form.place is not None]
    largest = max(forms, key=lambda form: form.capacity)
    is_ring = any(form.is_ring for form in forms)
    form = _form(kind, largest.capacity, largest.place, None, is_ring, largest.key_columns)
    return [_within(trace, lambda head=head: [fitted(head, form, kind)], reopened) for trace, head in zip(traces, heads)]


def _with_length(form: Form) -> Form:
    return Form(form.structure, form.leaves, form.capacity, form.place, 0)


def _form(
    kind: ElementType,
    capacity: int,
    place: str | None,
    length: int | None,
    is_ring: bool = False,
    key_columns: int | None = None,
) -> Form:
    return Form(kind.structure, kind.leaves, capacity, place, length, is_ring, key_columns)


def _within(trace: Trace, run: Callable[[], Any], reopened: Opener) -> Any:
    with reopened(trace):
        return run()


# --- all rounds of a loop ---


@dataclass(frozen=True)
class ListState:
    """How a list is carried: as one run of this form, whose elements are of this type."""

    form: Form
    kind: ElementType


@dataclass(frozen=True)
class ContainerState:
    """How a container is carried in which there are such lists: None for what stays as it is.

    mark: of a dict or a set whose keys the program computes.
    """

    children: tuple[Any, ...]
    mark: Any = None


def objects_of(state: ListState | ContainerState | None) -> int:
    """Among how many objects of no fixed structure the elements of such lists are."""
    if isinstance(state, ContainerState):
        return sum(map(objects_of, state.children))
    return 0 if state is None else len(state.kind.objects)


def leaves_of(state: ListState | ContainerState | None) -> int:
    """Of how many leaves the elements of such lists are."""
    if isinstance(state, ContainerState):
        return sum(map(leaves_of, state.children))
    return 0 if state is None else len(state.kind.leaves)


def state_of(
    before: Any, end: Any, place: str, rounds: int | None, lasting: Callable[[ElementType], ElementType]
) -> ListState | ContainerState | None:
    """How a value is carried that enters a round as one value and leaves it as the other; None if as it is.

    rounds: how many there are at most, where that is known. lasting: gives what is left of the type of a list's elements behind
    a round.
    """
    if type(before) is not type(end) or row_of(before) is not None and row_of(end) is not None:
        return None
    if isinstance(before, (tuple, list)) and len(before) == len(end) and not is_open_list(before) and not is_open_list(end):
        children = tuple([state_of(one, other, place, rounds, lasting) for one, other in zip(before, end)])
        return ContainerState(children) if any(children) else None
    if isinstance(before, (set, frozenset)):
        return state_of(contents_of(before), contents_of(end), place, rounds, lasting)
    if isinstance(before, dict) and list(before) != list(end):
        mark = common_mark(before, end)
        before, end = opened(before, mark), opened(end, mark)
    if isinstance(before, dict) and list(before) == list(end):
        mark = mark_of(before)
        if mark is not None and rounds is not None:
            rounds = min(rounds, _MOST_ENTRIES_AT_FIRST)
        if mark is not None and are_written():
            kept, lasting = lasting, lambda kind: with_written_keys(kept(kind))
        children = tuple([state_of(before[key], end[key], place, rounds, lasting) for key in before])
        if mark is not None:
            children = tuple(map(_with_index, children))
        return ContainerState(children, mark) if any(children) else None
    is_one = isinstance(before, list) or is_open_list(before) or is_open_list(end)
    if not is_one and not (type(before) is tuple and _one_is_longer(before, end)):
        return None
    _require_values(before, end)
    kind = _joined(before, end)
    if kind is None:
        return None
    if kind.holds_sized_arrays:
        kind = _with_guessed_bounds(type_of_items(before), kind, f"the sizes of arrays in {place}")
    kind = lasting(kind)
    run = before[0] if before and type(before[0]) is Run else None
    ring = _has_ring((*before, *end))
    length = _common_length(before, end)
    if length is not None:
        return ListState(_form(kind, length, None, length, ring), kind)
    if run is not None and run.form.place is not None:
        return ListState(_form(kind, run.form.capacity, run.form.place, None, ring), kind)
    growth = bound_of(end) - bound_of(before)
    if growth <= 0:  # it is never longer than it was
        return ListState(_form(kind, bound_of(before), None, None, ring), kind)
    expected = LEAST_CAPACITY if rounds is None else bound_of(before) + min(rounds * growth, _MOST_AT_FIRST)
    return ListState(_form(kind, guessed(place, expected), place, None, ring), kind)


def _with_guessed_bounds(before: ElementType | None, kind: ElementType, place: str) -> ElementType:
    """The type of elements whose arrays grow from round to round, with bounds that hold for all rounds."""
    if before is None or before.structure != kind.structure:
        return kind
    leaves, numbers = list(kind.leaves), list(kind.numbers)
    for n, (old, new) in enumerate(zip(before.leaves, kind.leaves)):
        if not (old.dynamic and new.dynamic) or new.place is not None or before.numbers[n] == kind.numbers[n]:
            continue
        shape, had = kind.numbers[n].shape, before.numbers[n].shape.dimensions
        bounds = [guessed(place, max(LEAST_BOUND, 2 * one)) if one > had[d] else one for d, one in enumerate(shape.dimensions)]
        leaves[n] = replace(new, place=place)
        numbers[n] = replace(kind.numbers[n], shape=shape.with_dimensions(tuple(bounds), shape.dynamic_dimensions))
    return ElementType(kind.structure, tuple(leaves), tuple(numbers))


def _has_ring(items: Iterable[Any]) -> bool:
    return any(type(item) is Run and item.form.is_ring for item in items)


def _with_index(state: ListState | None) -> ListState | None:
    """How entries are carried: with a table to find them by, where there may be many; of a few keys with as many rows."""
    if state is None or state.form.place is None or not (count := key_columns(state.kind)):
        return state
    if (most := number_of_few_keys(state.kind)) is not None:
        place = state.form.place if state.form.place.startswith(_OF_FEW_KEYS) else _OF_FEW_KEYS + state.form.place
        return ListState(replace(state.form, capacity=max(most, guessed(place, most)), place=place), state.kind)
    return ListState(replace(state.form, key_columns=count), state.kind)


def can_be_carried(value: Any, state: ListState | ContainerState | None) -> bool:
    """Whether the state of another recording has room for this value, of this type."""
    if state is None:
        return True
    if isinstance(state, ListState):
        is_list = isinstance(value, (list, tuple)) and bound_of(value) <= state.form.capacity
        if is_list and not state.form.is_ring and _has_ring(value):
            return False
        return is_list and joined_type(type_of_items(value), state.kind) == state.kind
    if isinstance(value, (set, frozenset)):
        value = contents_of(value)
    if isinstance(value, dict) and state.mark is not None:
        value = opened(value, state.mark)
    parts = [*value.values()] if isinstance(value, dict) else value
    return len(parts) == len(state.children) and all(map(can_be_carried, parts, state.children))


def carried_as(value: Any, state: ListState | ContainerState | None) -> Any:
    """The value as it is carried."""
    if state is None:
        return value
    if isinstance(state, ListState):
        if len(value) == 1 and type(value[0]) is Run and value[0].form == state.form and value[0].type == state.kind:
            return list_like(value, value)
        return list_like(value, [fitted(value, state.form, state.kind)])
    if isinstance(value, (set, frozenset)):
        return type_of_set(value)(elements_of_set(carried_as(contents_of(value), state)))
    if isinstance(value, dict):
        if state.mark is not None:
            value = dict_like(value, {key: with_texts(in_one(entries)) for key, entries in opened(value, state.mark).items()})
        return dict_like(value, {key: carried_as(value[key], child) for key, child in zip(value, state.children)})
    return list_like(value, [carried_as(part, child) for part, child in zip(value, state.children)])
