"""The methods of lists whose length the program decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .... import hlo
from ...recording.array import TracedArray, require_trace
from ...recording.intervals import is_traced_integer
from .. import journals, places
from ..calls.dispatch import call
from ..calls.meanings import LIST_METHODS
from ..library import searches
from ..unknown_values import holds_unknown, is_searched_one_by_one
from . import tables
from .access import (
    change,
    fail_where,
    is_unknown,
    items_of,
    moved,
    row_at,
    sliced,
    without,
)
from .comparisons import first_match, matches
from .growing import note_list
from .moving_rows import exchanged_rows, pushed_back
from .references import row_of
from .runs import (
    Run,
    element,
    instruction_of,
    instructions,
    length_of,
    made,
    number_of,
    plus,
    require_capacity,
    set_row,
    settled,
    type_of_items,
    with_capacity,
)


def method(name: str) -> Callable:
    def register(function: Callable) -> Callable:
        LIST_METHODS[name] = function
        return function

    return register


@method("pop")
def pop(holder: list, index: Any = -1) -> Any:
    row = row_of(holder)
    items = items_of(holder)
    length = length_of(holder)
    empty = getattr(holder, "empty_message", "pop from empty list")
    if isinstance(length, int) and not length:
        raise IndexError(empty)
    last = isinstance(index, (int, np.integer)) and index == -1
    if last and type(items[-1]) is not Run:
        journals.note(places.Contents(holder))
        return list.pop(holder)
    if not isinstance(length, int):
        fail_where(hlo.le(instruction_of(length), 0), IndexError(empty))
    if last and row is not None:
        found = tables.element_at(row, plus(length, -1))
        tables.drop_last(row)
        return found
    run = settled(items)
    position = plus(length, -1) if last else row_at([run], index, "pop index out of range")
    found = element(run, position, is_copied=True)  # before the change, which then is made in place
    if not last:
        change(holder, without([run], position))
    elif run.form.length is None:
        change(holder, [Run(run.form, run.columns, position, run.start)])
    else:
        change(holder, [_shorter(run)])
    return found


def _shorter(run: Run) -> Run:
    return made(run.type, instructions(run), plus(run.length, -1), run.form.place, run.start)


@method("insert")
def insert(holder: list, index: Any, value: Any) -> None:
    items = items_of(holder)
    run = settled(items, type_of_items([*items, value]))
    if run.form.place is None:
        run = with_capacity(run, run.form.capacity + 1, None)
    longer = plus(run.length, 1)
    require_capacity(longer, run.form.capacity, run.form.place)
    if isinstance(index, int) and index == 0:
        moved_ = moved(run, hlo.constant(np.int64(run.form.capacity - 1)), longer)
        change(holder, [set_row(moved_, hlo.constant(np.int64(0)), value)])
        return
    place, length = instruction_of(index), instruction_of(run.length)
    place = hlo.select(hlo.lt(place, 0), hlo.maximum(hlo.add(place, length), hlo.constant(np.int64(0))), place)
    place = hlo.minimum(place, length)
    change(holder, [set_row(pushed_back(run, place, longer), place, value)])


@method("remove")
def remove(holder: list, value: Any) -> None:
    position = _found(holder, value, "list.remove(x): x not in list")
    change(holder, without(items_of(holder), position))


@method("index")
def index(holder: list, value: Any, *bounds: Any) -> Any:
    kind = "tuple" if isinstance(holder, tuple) else "list"
    message = _NOT_THERE if kind == "list" else "tuple.index(x): x not in tuple"
    if kind == "list" and _NAMES_WHAT_IS_MISSING and not holds_unknown(value):
        message = f"{value!r} is not in list"
    if not bounds:
        return _found(holder, value, message)
    if not isinstance(length := length_of(holder), int) or any(map(is_unknown, bounds)):
        raise NotImplementedError(f"{kind}.index with bounds that the program decides is not implemented")
    first, last, _ = slice(*bounds).indices(length)
    return first + _found(items_of(holder)[first:last], value, message)


def _found(holder: list, value: Any, message: str) -> TracedArray:
    if is_searched_one_by_one(holder, value):
        return call(searches.position_of, holder, value, message)
    found = first_match(items_of(holder), value)
    if found is None:
        raise ValueError(message)
    position, is_there = found
    if message is _NOT_THERE and _NAMES_WHAT_IS_MISSING and is_traced_integer(value):
        require_trace().add_error_flag(hlo.not_(is_there), ValueError, "{} is not in list", instruction_of(value))
    else:
        fail_where(hlo.not_(is_there), ValueError(message))
    return position


_NOT_THERE = "list.index(x): x not in list"


def _names_what_is_missing() -> bool:
    """Whether `list.index` says what it has not found, as Python before 3.14 does."""
    try:
        return bool([].index(0))
    except ValueError as error:
        return str(error).startswith("0")


_NAMES_WHAT_IS_MISSING = _names_what_is_missing()


@method("count")
def count(holder: list, value: Any) -> Any:
    if is_searched_one_by_one(holder, value):
        return call(searches.count_of, holder, value)
    items = items_of(holder)
    rows = matches(settled(items), value) if items else None
    if rows is None:
        return 0
    trace = require_trace()
    total = np.sum(TracedArray.from_instruction(trace, rows, is_scalar=False))
    return number_of(hlo.convert(total.instruction(trace), hlo.S64))


@method("clear")
def clear(holder: list) -> None:
    change(holder, [])


@method("copy")
def copy(holder: list) -> list[Any]:
    copied = items_of(holder)
    note_list(copied)
    return copied


@method("reverse")
def reverse(holder: list) -> None:
    items = items_of(holder)
    run = settled(items) if type_of_items(items) is not None else None
    is_open = run is not None and run.form.length is None
    change(holder, [exchanged_rows(run)] if is_open else sliced(items, slice(None, None, -1)))


@method("append")
def append(holder: list, value: Any) -> None:
    if (row := row_of(holder)) is not None:
        tables.append(row, value)
        return
    change(holder, [*list.__iter__(holder), value])


@method("extend")
def extend(holder: list, values: Any) -> None:
    items = list.__iter__(holder) if row_of(holder) is None else items_of(holder)
    change(holder, [*items, *items_of(values if isinstance(values, list) else call(list, values))])
