"""Lists within lists: where the program decides which one of several lists it is, their elements are put into one table.

`grid[k]` with a traced k is then a list that stands for a row at a traced position. What is changed in it is changed in the
table, so whoever has the row under another name sees that; and `rows[i], rows[k] = rows[k], rows[i]` exchanges positions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from .... import hlo
from ....hlo.source_lines import user_location
from ...control_flow.bodies import type_of
from ...recording.array import TracedArray, require_trace
from ...recording.current_trace import current_trace, set_current_trace
from ...recording.errors import CarryTypeError, RecordedAgain
from ...recording.trace import Trace
from .. import journals, places
from ..copies import note_copies
from ..forms import is_around
from ..loops.stacked_rows import is_of_python, whole_lists
from ..texts.leaves import try_text_leaves
from .array_rows import note_arrays_put, type_when_read, without_arrays
from .element_rows import element_of
from .element_rows import row_of as row_of_columns
from .elements import ElementType, element_type, joined_type, joined_types, parts_of
from .references import Needs, Row, Table, note_makers, put_into_one_table, refuse, row_of, tables_in, try_rows
from .runs import (
    Run,
    guessed,
    instruction_of,
    instructions,
    known_length,
    length_of,
    number_of,
    ordered,
    plus,
    read,
    require_capacity,
    require_read,
    run_of,
    settled,
    with_capacity,
)

Instruction = hlo.Instruction
_LEAST_CAPACITY = 32


# --- which lists ---


def reference(holder: Sequence[Any], position: Any) -> list[Any] | None:
    """The list at a position that is in range, as a row; None where the lists have no type in common."""
    rows = [row_of(item) for item in holder]
    if None in rows and not _put_into_table(holder):
        return None
    rows = [row_of(item) for item in holder]
    if len({row.table for row in rows}) > 1:
        return None
    found = _chosen(position, [row.position for row in rows])
    return [Row(rows[0].table, found)]


def _chosen(position: Any, positions: Sequence[Any]) -> Any:
    """The one of these at a position."""
    if all(type(one) is int for one in positions):
        if list(positions) == list(range(len(positions))):
            return position
        column = hlo.constant(np.array(positions, np.int64))
    else:
        column = hlo.concatenate(*[hlo.reshape(instruction_of(one), (1,)) for one in positions], dimensions=(0,))
    return number_of(hlo.reshape(hlo.dynamic_slice(column, instruction_of(position), sizes=(1,)), ()))


def _put_into_table(holder: Sequence[Any]) -> bool:
    """Put the elements of lists into a table; whether that can be."""
    lists = list({id(item): item for item in holder}.values())
    copies = current_trace().program.copies
    if len(lists) < 2 or not all(type(one) is list and row_of(one) is None and id(one) not in copies for one in lists):
        return False
    needs = require_trace().program.guessed_bounds.setdefault(f"the rows at {user_location()}", Needs())
    outer = _where_made(lists)
    if needs.is_refused or outer is None:
        return False
    made_in, begun_since = journals.journals_since(lists)
    loop_state = next((one.loop_state for one in begun_since if one.loop_state is not None), None)
    if not journals.are_changed(lists, begun_since) and _is_recorded_in(outer, lists):
        begun = made_in
        if begun is None and begun_since and not begun_since[0].is_of_trace:
            begun = begun_since[0]
        if begun is not None:
            for one in lists:
                begun.add(place := places.Contents(one), place.get)
        with recording_in(outer):
            made = _made(lists, needs)
        if made and loop_state is not None:  # what a round has read until then would be what the lists hold in the first one
            loop_state.again_with(lambda: None)
        return made
    if loop_state is not None:
        loop_state.again_with(lambda: _made_anew(lists, needs))
    return _made_anew(lists, needs)


def meeting(first: Any, second: Any, are_contents: bool = False) -> list[list[Any]]:
    """The lists that are at one place of two values, and not one list there; of ``contents`` of lists those in them."""
    if first is second or type(first) is not type(second):
        return []
    if type(first) is list and not are_contents:
        return [first, second] if row_of(first) is None and row_of(second) is None else []
    if isinstance(first, dict):
        return [one for key in first if key in second for one in meeting(first[key], second[key])]
    if (type(first) is list or isinstance(first, tuple)) and len(first) == len(second):
        return [one for pair in zip(first, second) for one in meeting(*pair)]
    return []


def put_together(lists: Sequence[list]) -> bool:
    """Put lists that meet at one place into a table; whether that can be."""
    return all(is_made_before(one, current_trace()) for one in lists) and _put_into_table(lists)


def is_made_before(one: list, trace: Trace) -> bool:
    """Whether a list is known to have been made in a trace, or around it."""
    made = trace.program.made_objects.get(id(one))
    return trace.program.surroundings.containers.path_of(one) is not None if made is None else is_around(made[1], trace)


def _where_made(lists: Sequence[list]) -> Trace | None:
    """The innermost trace in which one of these lists has been made; None where that is not known."""
    trace = current_trace()
    found = trace.root
    for one in lists:
        made = trace.program.made_objects.get(id(one))
        if made is None and trace.program.surroundings.containers.path_of(one) is None:
            return trace if trace is trace.root and not journals.is_journaling() else None
        if made is not None and is_around(found, made[1]):
            found = made[1]
    return found


def _made_anew(lists: list[list], needs: Needs) -> bool:
    for one in lists:
        journals.note(places.Contents(one))
    made = _made(lists, needs)
    needs.is_refused |= not made
    return made


def _is_recorded_in(trace: Trace, lists: Iterable[list]) -> bool:
    """Whether all that lists hold is known to this trace."""
    leaves = (leaf for one in lists for leaf in _leaves(one))
    return all(is_around(leaf.root_storage.trace, trace) for leaf in leaves)


def _leaves(items: Iterable[Any]) -> Iterable[TracedArray]:
    for item in items:
        if isinstance(item, TracedArray):
            yield item
        elif type(item) is Run:
            yield from item.columns
        elif isinstance(item, (list, tuple)):
            yield from _leaves(item)


@contextmanager
def recording_in(trace: Trace) -> Any:
    """Records meanwhile in a trace around the current one."""
    inner = current_trace()
    set_current_trace(trace)
    try:
        yield
    finally:
        set_current_trace(inner)


# --- making one ---


def _made(lists: list[list], needs: Needs) -> bool:
    """Make a table of what the lists hold; whether that can be."""
    inner = [item for one in lists for item in one]
    if inner and all(type(item) is list for item in inner) and any(row_of(item) is None for item in inner):
        if not _put_into_table(inner):
            return False
    kind = kind_of(lists, needs)
    if kind is False:
        return False
    lengths = [length_of(one) for one in lists]
    same = lengths[0] if all(type(one) is int and one == lengths[0] for one in lengths) and not needs.grows else None
    table = Table(kind, 0, same, None, needs)
    _fill(table, lists)
    table.first_values = tuple([array.storage.instruction for array in table.arrays])
    for one in lists:
        for item in list.__iter__(one):
            if type(item) is not Run:
                _note_put(item)
    for position, one in enumerate(lists):
        table.before.append((one, list(one)))
        list.__setitem__(one, slice(None), [Row(table, position)])
    require_trace().program.tables.append(table)
    return True


def _fill(table: Table, lists: Sequence[list]) -> None:
    """Make the columns of a table, whose type and length are known, of what the lists hold."""
    table.capacity = max([known_length(read(one)) or 0 for one in lists])
    if table.length is None:
        table.place = table.place or f"lists at {user_location()}"
        table.capacity = guessed(table.place, max(_LEAST_CAPACITY, table.capacity))
    columns: tuple[TracedArray, ...] = ()
    if table.kind is not None:
        wanted = table.kind.columns
        rows = [_column_of_array(lists, wanted)] if len(wanted) == 1 and table.place is None else [None]
        if None in rows:
            rows = _rows_of_known_lengths(lists, table)
        if rows is None:
            runs = [with_capacity(ordered(settled(one, table.kind)), table.capacity, table.place) for one in lists]
            rows = map(_stacked, zip(*map(instructions, runs)))
        columns = tuple([_outside_of_branches(column, like.weak_type) for column, like in zip(rows, wanted)])
    if table.length is None:
        lengths = [length_of(one) for one in lists]
        are_known = all([isinstance(one, int) for one in lengths])
        held = hlo.constant(np.array(lengths, np.int64)) if are_known else _stacked(list(map(instruction_of, lengths)))
        table.lengths = _outside_of_branches(held, True)
    table.columns = columns


def _rows_of_known_lengths(lists: Sequence[list], table: Table) -> list[Instruction] | None:
    """The columns of lists of which each item is an element: one block of all elements. None where one has a run."""
    contents = [read(one) for one in lists]
    values, longest = [item for items in contents for item in items], max(map(len, contents))
    if longest > table.capacity or any(type(item) is Run for item in values):
        return None
    require_read(values)
    shapes = [(len(lists), table.capacity + 1, *one.shape.dimensions) for one in table.kind.columns]
    if not values:
        return [hlo.full(hlo.Shape(one.shape.element_type, shape), 0) for one, shape in zip(table.kind.columns, shapes)]
    held = np.full((len(lists), longest), len(values))  # the row behind all elements
    held[np.arange(longest) < np.array(list(map(len, contents)))[:, None]] = np.arange(len(values))
    rows = []
    for column in instructions(run_of(values, table.kind)):
        taken = np.take(array_of_column(column, False), held, axis=0).instruction(require_trace())
        rest = [(0, 0, 0)] * (column.shape.rank - 1)
        nothing = hlo.constant(0, column.shape.element_type)
        rows.append(hlo.pad(taken, nothing, padding=((0, 0, 0), (0, table.capacity + 1 - longest, 0), *rest)))
    return rows


def _column_of_array(lists: Sequence[list], wanted: Sequence[Any]) -> Instruction | None:
    """The column of a table of lists that are the rows of one array, in their order; None for others."""
    array, like = whole_lists(list(lists)), wanted[0]
    if array is None or array.ndim != 2:
        return None
    if array.dtype != like.shape.dtype or is_of_python(lists[0]) != like.weak_type:
        return None
    zero = hlo.constant(np.zeros((), array.dtype))
    return hlo.pad(array.instruction(require_trace()), zero, padding=((0, 0, 0), (0, 1, 0)))


def array_of_column(column: Instruction, is_weak: bool) -> TracedArray:
    return TracedArray.from_instruction(require_trace(), column, weak_type=is_weak, is_scalar=False)


def _outside_of_branches(column: Instruction, is_weak: bool) -> TracedArray:
    """As `array_of_column`, of what a branch may hand on at its end: the array is there before the condition."""
    trace = require_trace()
    if not trace.is_branch:
        return array_of_column(column, is_weak)
    with recording_in(trace.around_branches):
        array = array_of_column(hlo.full(column.shape, 0), is_weak)
    array.set_value(column)
    return array


def _stacked(rows: Sequence[Instruction]) -> Instruction:
    return hlo.concatenate(*[hlo.reshape(row, (1, *row.shape.dimensions)) for row in rows], dimensions=(0,))


# What lets the type that recordings before have found out speak of this one's tables (`growing.renew`).
RENEW: list[Callable[[Needs], None]] = []


def kind_of(lists: list[list], needs: Needs, holds_arrays: bool = False) -> ElementType | bool | None:
    """The type of the elements of all lists, None where there are none; False where they have none that is a table's."""
    RENEW[0](needs)
    found = needs.kind
    seen = set()
    try:
        for one in lists:
            for item in read(one):
                if (plain := _plain_type(item)) is not None and plain in seen:
                    continue
                seen.add(plain)
                kind = item.type if type(item) is Run else element_type(item)
                found = _renewed(found, kind)
                if not kind.is_of_fixed_constants or not holds_arrays and _has_arrays(kind) or kind.holds_sized_arrays:
                    return False
                both = joined_type(found, without_arrays(kind))
                if both is None:
                    return False
                found = both
    except CarryTypeError:
        return False
    return found


def _has_arrays(kind: ElementType) -> bool:
    return any(number is not None and number.shape.rank for number in kind.numbers)


def _plain_type(item: Any) -> Any:
    """What is the same of all numbers that have one type as elements; None of anything else."""
    if isinstance(item, TracedArray):
        return type_of(item) if item.is_scalar and item.exact is None else None
    return type(item) if type(item) in (int, float, bool) else None


# --- elements ---


def element_at(row: Row, position: Any) -> Any:
    """The element at a position that is in range; where nothing has been put into the table's lists, none is."""
    if row.table.kind is None:
        raise IndexError("list index out of range")
    return _read(row, position, type_when_read(row.table), 0)


def part_at(row: Row, number: int) -> Any:
    """This part of the only element, which is a tuple."""
    kinds = parts_of(type_when_read(row.table))
    return _read(row, 0, kinds[number], _first_column(kinds, number))


def _first_column(kinds: Sequence[ElementType], number: int) -> int:
    return sum([len(kind.columns) for kind in kinds[:number]])


def _read(row: Row, position: Any, kind: ElementType, first: int) -> Any:
    """What lies at a position in the columns from this one on."""
    starts = [instruction_of(row.position), instruction_of(position)]

    def read_from(place: int) -> Instruction:
        base = row.table.columns[first + place].instruction(require_trace())
        sizes = base.shape.dimensions[2:]
        found = hlo.dynamic_slice(base, *starts, *[hlo.constant(np.int64(0))] * len(sizes), sizes=(1, 1, *sizes))
        return hlo.reshape(found, sizes)

    def array_of(_: int, instruction: Instruction, number: Any) -> TracedArray:
        return TracedArray.from_instruction(require_trace(), instruction, number.weak_type, number.is_scalar)

    found = element_of(kind, read_from, array_of)
    if not isinstance(found, TracedArray):
        note_copies(require_trace(), found)
    return found


def set_element(row: Row, position: Any, value: Any) -> None:
    """Put an element to a position that is in range."""
    require_type(row.table, joined_types([value]), (value,))
    _note_put(value)
    starts = [instruction_of(row.position), instruction_of(position)]
    for column, part in zip(row.table.columns, row_of_columns(value, row.table.kind)):
        _write(column, part, starts)


def set_part(row: Row, number: int, value: Any) -> bool:
    """Put another part into the only element, which is a tuple; whether the table can hold it as it is."""
    kinds = parts_of(row.table.kind)
    if joined_type(kinds[number], note_arrays_put(row.table, element_type(value))) != kinds[number]:
        return False
    starts, first = [instruction_of(row.position), instruction_of(0)], _first_column(kinds, number)
    for column, part in zip(row.table.columns[first:], row_of_columns(value, kinds[number])):
        _write(column, part, starts)
    return True


def _note_put(value: Any) -> None:
    """What is put into a list that lies in a table is a copy there, unless it lies in a table, too."""
    if not isinstance(value, (TracedArray, int, float)):
        note_makers([value])
        note_copies(require_trace(), value, is_put=True)


def _write(array: TracedArray, part: Instruction, starts: Sequence[Instruction]) -> None:
    """Write to an array from a position on."""
    trace = require_trace()
    rest = array.ndim - len(starts)
    base = array.instruction(trace)
    block = hlo.reshape(part, (*[1] * len(starts), *base.shape.dimensions[len(starts) :][:rest]))
    array.set_value(hlo.dynamic_update_slice(base, block, *starts, *[hlo.constant(np.int64(0))] * rest))


def append(row: Row, value: Any) -> None:
    """Put an element behind the last one."""
    table = row.table
    _require_growing(table)
    require_type(table, joined_types([value]), (value,))
    _note_put(value)
    length = length_of([row])
    longer = plus(length, 1)
    require_capacity(longer, table.capacity, table.place)
    starts = [instruction_of(row.position), instruction_of(length)]
    for column, part in zip(table.columns, row_of_columns(value, table.kind)):
        _write(column, part, starts)
    _write(table.lengths, instruction_of(longer), starts[:1])


def drop_last(row: Row) -> None:
    """Take the last element away, where there is one."""
    _require_growing(row.table)
    _write(row.table.lengths, instruction_of(plus(length_of([row]), -1)), [instruction_of(row.position)])


def store(row: Row, items: Sequence[Any]) -> None:
    """Give a list other contents."""
    table = row.table
    kinds = [item.type if type(item) is Run else element_type(item) for item in read(items)]
    for kind in kinds:
        require_type(table, kind, [item for item in items if type(item) is not Run])
    length = length_of(items)
    if not (isinstance(length, int) and length == table.length):
        _require_growing(table)
        _write(table.lengths, instruction_of(length), [instruction_of(row.position)])
    for item in read(items):
        if type(item) is not Run:
            _note_put(item)
    if kinds:
        run = with_capacity(ordered(settled(items, table.kind)), table.capacity, table.place)
        for column, part in zip(table.columns, instructions(run)):
            _write(column, part, [instruction_of(row.position)])


def _renewed(known: ElementType | None, kind: ElementType) -> ElementType | None:
    """What a recording before has found out of elements, where they are such, with the tables and the classes of this one."""
    if known is None or known.structure == kind.structure or not _are_alike(known.structure, kind.structure):
        return known
    return replace(known, structure=kind.structure)


def _are_alike(one: Any, other: Any) -> bool:
    """Whether two recordings have made these structures, or parts of them, in the same place."""
    if type(one) is not type(other):
        return False
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(_are_alike, one, other))
    if isinstance(one, type):
        return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)
    if type(one) is Table and one is not other:
        return one.needs is other.needs and one.program is not other.program
    return one == other


def require_type(table: Table, kind: ElementType, values: Iterable[Any]) -> None:
    """Raises RecordedAgain where a table cannot hold these values, which are of such a type, as it is."""
    kind = note_arrays_put(table, kind)
    table.kind = _renewed(table.kind, kind)
    both = joined_type(table.kind, kind)
    if both == table.kind:
        return
    if both is None:  # as lists lie in several tables, or texts in several ways
        structures = [table.kind.structure, kind.structure]
        put_into_one_table(values, [one for structure in structures for one in tables_in(structure)])
        try_text_leaves(structures)
        try_rows(structures)
    if both is None or not both.is_of_fixed_constants:
        refuse(table)
    table.needs.kind = both
    if not _is_made_anew(table, both, table.length):
        raise RecordedAgain


def _require_growing(table: Table) -> None:
    if table.lengths is None:
        table.needs.grows = True
        if not _is_made_anew(table, table.kind, None):
            raise RecordedAgain


def _is_made_anew(table: Table, kind: ElementType | None, length: int | None) -> bool:
    """Let a table hold elements of this type, in lists of this length; whether no branch or loop is being recorded that
    has begun with the table as it is."""
    arrays_of_root = all(array.storage.trace is current_trace().root for array in table.arrays)
    if journals.is_journaling() or table.count is not None or table.records is not None or not arrays_of_root:
        return False
    lists = [read([Row(table, position)]) for position in range(len(table.before))]
    table.kind, table.length = kind, length
    _fill(table, lists)
    table.first_values = (None,) * len(table.arrays)
    return True


# --- several rows ---


def rows_as_array(run: Run) -> Any:
    """What ``np.array`` makes of the lists that are the elements of a run."""
    (table,) = tables_in(run.form.structure)
    if len(table.columns) != 1 or table.length is None or not isinstance(run.length, int):
        raise NotImplementedError("np.array of lists that are put at places that the program decides")
    (positions,) = instructions(ordered(run))
    positions = TracedArray.from_instruction(require_trace(), positions, is_scalar=False)[: run.length]
    return np.take(table.columns[0][:, : table.length], positions, axis=0, mode="clip")


# --- the end ---


def put_back_unchanged(trace: Trace) -> None:
    """What has not been changed is again what it was before it was put into a table."""
    for table in reversed(trace.program.tables):
        if table.is_unchanged and all(array.storage.trace is trace.root for array in table.arrays):
            for one, before in table.before:
                if (row := row_of(one)) is not None and row.table is table and type(row.position) is int:
                    list.__setitem__(one, slice(None), before)
