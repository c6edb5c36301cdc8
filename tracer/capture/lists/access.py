"""``x[...]`` on lists whose length the program decides; traced positions in any list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .... import hlo
from ...functions.decompositions import expected_to_hold
from ...recording import pytree
from ...recording.array import TracedArray, require_trace
from ...recording.differences import constant_difference
from ...recording.errors import HINTS, ConcretizationError, LeftToPython, name_of_type, no_integer
from ...recording.operands import as_traced
from .. import journals, places
from ..copies import note_copies
from ..forms import carried, is_number
from ..texts.leaves import written_rows
from . import number_types, tables
from .columns import rows_at, rows_between
from .elements import ElementType, LeafForm
from .known_lists import element_at
from .moving_rows import moved_rows, pulled_forward, replaced_rows
from .references import row_of
from .runs import (
    Run,
    bound_of,
    element,
    guessed,
    instruction_of,
    instructions,
    known_length,
    length_of,
    made,
    note_elements,
    number_of,
    ordered,
    place_of,
    plus,
    read,
    require_capacity,
    require_read,
    set_row,
    settled,
    type_of_items,
    with_capacity,
)

Instruction = hlo.Instruction
_LEAST_REPEATED = 256
_FEW = 32


def items_of(holder: Any) -> list[Any]:
    items = list(holder)  # reads the items of a list from outside
    require_read(items)
    return read(items)


def change(holder: list, items: Sequence[Any]) -> None:
    """Give the list other contents."""
    if (row := row_of(holder)) is not None:
        tables.store(row, items)
        return
    journals.note(places.Contents(holder))
    if any(type(item) is Run for item in items):
        _note_copied(holder, items)
    list.__setitem__(holder, slice(None), items)


def _note_copied(holder: list, items: Sequence[Any]) -> None:
    """What was an element and is one no more may have become a copy."""
    kept = set(map(id, items))
    for item in list.__iter__(holder):
        if isinstance(item, (list, dict, set)) and id(item) not in kept:
            note_copies(require_trace(), item)


def is_unknown(value: Any) -> bool:
    """Whether this is a traced value that is not known."""
    return isinstance(value, TracedArray) and value.known_value is None


def fail_where(condition: Instruction, error: Exception) -> None:
    """Let the call raise this exception where the condition holds."""
    require_trace().add_raise(condition, error)


def row_at(items: Sequence[Any], index: Any, message: str) -> Any:
    """The position, from 0 on, that an index stands for; outside of the list an IndexError."""
    length = length_of(items)
    if isinstance(index, TracedArray) and index.known_value is not None:
        index = int(index.known_value)
    if isinstance(index, (int, np.integer)) and isinstance(length, int):
        if not -length <= index < length:
            raise IndexError(message)
        return int(index) % length
    if isinstance(index, TracedArray) and index.element_type is hlo.PRED and index.weak_type:
        index = index.astype(np.int64)
    if isinstance(index, TracedArray) and (index.ndim or not index.element_type.is_integer):
        kind = "tuple" if message.startswith("tuple") else "list"
        wrong = no_integer(index) if not index.is_scalar else None
        raise wrong or TypeError(f"{kind} indices must be integers or slices, not {name_of_type(index.run_time_type)}")
    if isinstance(length, int) and not length:
        raise IndexError(message)
    position, count = instruction_of(index), instruction_of(length)
    if not isinstance(index, TracedArray) and index >= 0:
        fail_where(hlo.ge(position, count), IndexError(message))
        return int(index)
    position = hlo.select(hlo.lt(position, 0), hlo.add(position, count), position)
    fail_where(hlo.or_(hlo.lt(position, 0), hlo.ge(position, count)), IndexError(message))
    return number_of(position)


def kind_of(holder: Sequence[Any]) -> str:
    return "list" if isinstance(holder, list) else "string" if isinstance(holder, str) else "tuple"


def get(holder: Any, index: Any) -> Any:
    """``holder[index]`` of a list, a tuple or a text."""
    if (row := row_of(holder)) is not None and not isinstance(index, slice):
        return tables.element_at(row, row_at(holder, index, "list index out of range"))
    items = items_of(holder)
    if isinstance(index, slice):
        found = sliced(items, index)
        return found if isinstance(holder, list) else tuple(found)
    known = known_item(items, index)
    if known is not _NONE:
        return known
    run, *behind = items or (None,)
    are_behind = _are_numbers_behind(run, behind)
    if are_behind and isinstance(holder, list) and journals.is_changed_here(holder):
        # Otherwise they would be written for each who reads, in memory of its own.
        items, are_behind = [settled(items)], False
        list.__setitem__(holder, slice(None), items)
    position = row_at(items, index, f"{kind_of(holder)} index out of range")
    if are_behind and bound_of(behind) <= _FEW_NUMBERS:
        return _run_or_number(run, behind, position)
    return element_at(items, position)


_NONE = object()
# So many behind a run are looked at one by one.
_FEW_NUMBERS = 4


def _are_numbers_behind(run: Any, behind: list[Any]) -> bool:
    """Whether numbers have been appended to a run, by a branch perhaps, that stand in none of its rows yet."""
    if type(run) is not Run or run.form.place is None or not run.form.capacity or not behind:
        return False
    if any(type(one) is Run and (one.form.place is not None or one.form.is_ring) for one in behind):
        return False
    numbers = [one for one in behind if type(one) is not Run]
    if not all(isinstance(one, TracedArray) and one.is_scalar and one.exact is None or is_number(one) for one in numbers):
        return False
    return type_of_items([run, *behind]) == run.type and run.type.structure is pytree.LEAF and len(run.columns) == 1


def _run_or_number(run: Run, behind: list[Any], position: Any) -> TracedArray:
    """The element at a position that is in range: in a row, or one of the numbers."""
    trace, found = require_trace(), element(run, position)
    chosen, place = found.instruction(trace), instruction_of(run.length)
    for one in behind:
        numbers = [element(one, number) for number in range(one.form.capacity)] if type(one) is Run else [one]
        for count, number in enumerate(numbers):
            own = hlo.convert(as_traced(carried(number)).instruction(trace), found.element_type)
            chosen = hlo.select(hlo.eq(instruction_of(position), hlo.add(place, count)), own, chosen)
        place = hlo.add(place, instruction_of(one.length) if type(one) is Run else 1)
    return TracedArray.from_instruction(trace, chosen, found.weak_type, found.is_scalar)


def known_item(items: Sequence[Any], index: Any) -> Any:
    """The element at a position that is known, where no run lies between it and the end that it is counted from."""
    if isinstance(index, TracedArray) and index.known_value is not None:
        index = int(index.known_value)
    if not isinstance(index, (int, np.integer)):
        return _NONE
    part = items[: index + 1] if index >= 0 else items[index:]
    require_read(part)
    if len(part) < (index + 1 if index >= 0 else -index) or any(type(item) is Run for item in part):
        return _NONE
    return items[index]


def item_at(items: Sequence[Any], position: Any) -> Any:
    """The element at a position that is in range."""
    known = known_item(items, position)
    return known if known is not _NONE else element_at(items, position)


def item_of(holder: Sequence[Any], position: Any) -> Any:
    """The element of a list at a position that is in range."""
    row = row_of(holder)
    return item_at(items_of(holder), position) if row is None else tables.element_at(row, position)


def set_(holder: list, index: Any, value: Any) -> None:
    """``holder[index] = value``"""
    if (row := row_of(holder)) is not None and not isinstance(index, slice):
        tables.set_element(row, row_at(holder, index, "list assignment index out of range"), value)
        return
    items = items_of(holder)
    if isinstance(index, slice):
        if index.step not in (None, 1):
            raise NotImplementedError("x[i:j:k] = ... of a list whose length the program decides is not implemented")
        values = items_of(value)
        if index.stop is None or 0 in (known_length(items), known_length(values)):
            before, behind = _around(items, index)
            change(holder, [*before, *values, *behind])
        else:
            change(holder, [_with_slice(items, index, values)])
        return
    if known_item(items, index) is not _NONE:
        journals.note(places.Contents(holder))
        list.__setitem__(holder, int(index), value)
        return
    if isinstance(index, TracedArray) and any(isinstance(one, slice) for one in (*items, value)):
        raise ConcretizationError(index, "to say which axis a slice is for", HINTS["range"])
    position = row_at(items, index, "list assignment index out of range")
    change(holder, [set_row(settled(items, _type_with(items, value)), instruction_of(position), value)])


def _type_with(items: Sequence[Any], value: Any) -> Any:
    return type_of_items([*items, value])


def delete(holder: list, index: Any) -> None:
    """``del holder[index]``"""
    items = items_of(holder)
    if not isinstance(index, slice):
        position = row_at(items, index, "list assignment index out of range")
        change(holder, without(items, position))
    elif index.step not in (None, 1):
        raise NotImplementedError("del x[i:j:k] of a list whose length the program decides is not implemented")
    elif index.start is None or index.stop is None or not items or settled(items).form.length is not None:
        before, behind = _around(items, index)
        change(holder, [*before, *behind])
    else:
        change(holder, [_without_slice(ordered(settled(items)), index)])


def _with_slice(items: Sequence[Any], index: slice, values: Sequence[Any]) -> Run:
    kind = type_of_items([*items, *values])
    run, piece = ordered(settled(items, kind)), settled(values, kind)
    note_elements([*items, *values])
    count = known_length(values)
    if count is not None and count == _few_apart(run, index.start, index.stop):
        return replaced_rows(run, instruction_of(index.start), hlo.constant(np.int64(count)), piece)
    length = instruction_of(run.length)
    start, removed = _begin_and_count(index, length)
    if run.form.place is None and constant_difference(instruction_of(piece.length), removed) != 0:
        run = with_capacity(run, run.form.capacity + piece.form.capacity, None)
    return replaced_rows(run, start, removed, piece)


def _begin_and_count(index: slice, length: Instruction) -> tuple[Instruction, Instruction]:
    """Where a slice begins, and how many elements are in it."""
    start, stop = (_bound(one, length, 0, length, 0) for one in (index.start, index.stop))
    return start, hlo.maximum(hlo.subtract(stop, start), 0)


def _without_slice(run: Run, index: slice) -> Run:
    length = instruction_of(run.length)
    start, count = _begin_and_count(index, length)
    less = number_of(hlo.subtract(length, count))
    return moved_rows(run, number_of(start), less, number_of(count), less)


def _around(items: list[Any], index: slice) -> tuple[list[Any], list[Any]]:
    """What lies in front of a slice, and behind it, which ends where it begins if that is not in front of its end."""
    before = [] if index.start is None else sliced(items, slice(None, index.start))
    return before, [] if index.stop is None else sliced(items, slice(_end(items, index), None))


def _end(items: list[Any], index: slice) -> Any:
    start, stop = index.start, index.stop
    if not items or start is None:
        return stop
    if not is_unknown(start) and not is_unknown(stop) and (start < 0) == (stop < 0) and start <= stop:
        return stop
    length = instruction_of(settled(items).length)
    return number_of(hlo.maximum(*[_bound(one, length, 0, length, 0) for one in (start, stop)]))


# --- parts ---


def sliced(items: Sequence[Any], index: slice) -> list[Any]:
    """``x[start:stop:step]``"""
    if not any(map(is_unknown, (index.start, index.stop, index.step))) and not any(type(item) is Run for item in items):
        return list(items)[slice(*[None if part is None else int(part) for part in (index.start, index.stop, index.step)])]
    step = 1 if index.step is None else index.step
    if is_unknown(step):
        raise ConcretizationError(step, "as the step of a slice of a list", HINTS["range"])
    step = int(step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if not items:
        return []
    run = settled(items)
    if isinstance(run.length, int) and not any(map(is_unknown, (index.start, index.stop))):
        return _known_slice(
            run, range(run.length)[slice(*[part if part is None else int(part) for part in (index.start, index.stop)], step)]
        )
    if step == 1 and (few := _few_between(run, index.start, index.stop)) is not None:
        return [few]
    length = instruction_of(run.length)
    if step == -1 and index.start is None and index.stop is None:
        last = hlo.subtract(length, 1)
        return [gathered(run, lambda rows: hlo.subtract(hlo.full_like(rows, last), rows), run.length)]
    first, last = (0, length) if step > 0 else (-1, hlo.subtract(length, 1))
    start = _bound(index.start, length, first, last, first if step > 0 else last)
    stop = _bound(index.stop, length, first, last, last if step > 0 else first)
    distance = hlo.subtract(stop, start) if step > 0 else hlo.subtract(start, stop)
    count = hlo.maximum(distance, 0)
    if abs(step) > 1:
        count = hlo.divide(hlo.add(count, abs(step) - 1), hlo.full_like(count, abs(step)))
    if step == 1 and index.start is None:
        return [made(run.type, instructions(run), number_of(count), run.form.place, run.start)]
    if step == 1:
        return [moved(run, start, number_of(count))]
    return [gathered(run, lambda rows: hlo.add(hlo.multiply(rows, step), hlo.full_like(rows, start)), number_of(count))]


def _few_between(run: Run, start: Any, stop: Any) -> Run | None:
    """``x[i:i + 3]``: a few elements, as many as the bounds are apart, for as long as none of these is beyond the ends."""
    if (count := _few_apart(run, start, stop)) is None:
        return None
    begin = instruction_of(start)
    columns = [rows_at(column, begin, count + 1) for column in instructions(ordered(run))]
    return made(run.type, columns, count, run.form.place)


def _few_apart(run: Run, start: Any, stop: Any) -> int | None:
    """How many elements are between bounds that are a few apart, for as long as none of these is beyond the ends."""
    if not isinstance(start, TracedArray) or not isinstance(stop, TracedArray):
        return None
    begin, end = instruction_of(start), instruction_of(stop)
    count = constant_difference(end, begin)
    if count is None or not 0 < count <= min(_FEW, run.form.capacity):
        return None
    is_inside = hlo.and_(hlo.ge(begin, 0), hlo.le(end, instruction_of(run.length)))
    inside = TracedArray.from_instruction(require_trace(), is_inside, weak_type=True)
    return count if expected_to_hold("a slice within a list", inside) else None


def _known_slice(run: Run, rows: range) -> list[Run]:
    """The elements at these positions."""
    if rows.step == 1:
        columns = [rows_between(column, rows.start, rows.start + len(rows) + 1) for column in instructions(ordered(run))]
        return [made(run.type, columns, len(rows), run.form.place)]
    return [
        gathered(run, lambda numbers: hlo.add(hlo.multiply(numbers, rows.step), hlo.full_like(numbers, rows.start)), len(rows))
    ]


def _bound(value: Any, length: Instruction, first: Any, last: Any, default: Any) -> Instruction:
    low = first if isinstance(first, Instruction) else hlo.constant(np.int64(first))
    high = last if isinstance(last, Instruction) else hlo.constant(np.int64(last))
    if value is None:
        return default if isinstance(default, Instruction) else hlo.constant(np.int64(default))
    position = instruction_of(value)
    position = hlo.select(hlo.lt(position, 0), hlo.add(position, length), position)
    return hlo.maximum(low, hlo.minimum(position, high))


def moved(run: Run, start: Instruction, length: Any) -> Run:
    """The elements from a position on, in the same memory."""
    begin = hlo.add(instruction_of(run.start), start)
    begin = hlo.select(hlo.ge(begin, run.form.capacity), hlo.subtract(begin, run.form.capacity), begin)
    return made(run.type, instructions(run), length, run.form.place, number_of(begin))


def gathered(run: Run, position_of: Any, length: Any) -> Run:
    """The elements at the positions that are made of 0, 1, 2, ..."""
    trace = require_trace()
    rows = hlo.iota(hlo.Shape(hlo.S64, (run.form.capacity + 1,)), 0)
    places = position_of(rows)
    if run.form.is_ring:
        places = hlo.add(places, hlo.full_like(places, instruction_of(run.start)))
        capacity = hlo.full_like(places, run.form.capacity)
        places = hlo.select(hlo.ge(places, capacity), hlo.subtract(places, capacity), places)
    positions = TracedArray.from_instruction(trace, places, is_scalar=False)
    columns = [
        np.take(TracedArray.from_instruction(trace, column, is_scalar=False), positions, axis=0, mode="clip").instruction(trace)
        for column in instructions(run)
    ]
    return made(run.type, columns, length, run.form.place)


def repeated(holder: Sequence[Any], count: TracedArray) -> list[Any]:
    """``holder * count``"""
    items = items_of(holder)
    if type_of_items(items) is None:
        return []
    run, length = ordered(settled(items)), instruction_of(length_of(items))
    place = place_of()
    longer = number_of(hlo.multiply(length, hlo.maximum(instruction_of(count), 0)))
    run = with_capacity(run, guessed(place, max(_LEAST_REPEATED, run.form.capacity)), place)
    require_capacity(longer, run.form.capacity, place)
    return [gathered(run, lambda rows: hlo.remainder(rows, hlo.full_like(rows, hlo.maximum(length, 1))), longer)]


def without(items: Sequence[Any], position: Any) -> list[Any]:
    """The list without the element at a position that is in range."""
    run = settled(items)
    less = plus(run.length, -1)
    if isinstance(position, int) and position == 0:
        return [moved(run, hlo.constant(np.int64(1)), less)]
    place = instruction_of(position)
    return [pulled_forward(run, place, less)]


# --- as arrays ---


def of_common_types(run: Run, wanted: hlo.ElementType | None = None) -> Run:
    """The run with numbers of several types in the one that these have in common, or in this one."""
    kind = run.type
    if not any(leaf.types for leaf in kind.leaves):
        return run
    pending, leaves, numbers, columns = instructions(run), [], [], []
    for leaf, number in zip(kind.leaves, kind.numbers):
        own = [pending.pop(0) for _ in leaf.columns(number)]
        if leaf.types:
            codes, *held = own
            number = number if wanted is None else replace(number, shape=hlo.Shape(wanted), weak_type=False)
            whole = number_types.converted(codes, held, leaf.types, number.shape.element_type)
            own = [hlo.maximum(hlo.subtract(codes, len(leaf.types) - 1), 0), whole] if leaf.constants else [whole]
        leaves.append(replace(leaf, types=()))
        numbers.append(number)
        columns += own
    return made(ElementType(kind.structure, tuple(leaves), tuple(numbers)), columns, run.length, run.form.place, run.start)


def with_texts_alone(run: Run) -> Run:
    """The run with known texts written among the characters, where other texts in the same place are."""
    kind = run.type
    if not any(_has_known_texts(leaf) for leaf in kind.leaves):
        return run
    pending, leaves, columns = instructions(run), [], []
    for leaf, number in zip(kind.leaves, kind.numbers):
        own = [pending.pop(0) for _ in leaf.columns(number)]
        if _has_known_texts(leaf):
            own = [written_rows(*own, leaf.constants)]
            leaf = replace(leaf, constants=())
        leaves.append(leaf)
        columns += own
    return made(ElementType(kind.structure, tuple(leaves), kind.numbers), columns, run.length, run.form.place, run.start)


def _has_known_texts(leaf: LeafForm) -> bool:
    return bool(leaf.text and leaf.constants) and all(isinstance(one, str) for one in leaf.constants)


def rows_inside(run: Run) -> Instruction:
    """Which rows, pred[capacity + 1], are elements of an ordered run."""
    rows = hlo.iota(hlo.Shape(hlo.S64, (run.form.capacity + 1,)), 0)
    return hlo.lt(rows, hlo.full_like(rows, instruction_of(run.length)))


def any_row(rows: Instruction) -> Instruction:
    trace = require_trace()
    return np.any(TracedArray.from_instruction(trace, rows, is_scalar=False)).instruction(trace)


def leave_empty_to_python(run: Run, what: str) -> None:
    """Let Python make the call where there are no elements, as what is made of them has another type then."""
    if not isinstance(run.length, int):
        is_empty = hlo.eq(instruction_of(run.length), 0)
        require_trace().add_error_flag(is_empty, LeftToPython, f"{what} of a list without elements")
