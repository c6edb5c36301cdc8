"""Lists that are put into a list or a dict whose length the program decides, and are changed there: rows of a table.

How many rows such a table has, the program decides, too: each list that is put there has the next one. Where a list has other
names, too, or is put elsewhere, all lists that its line makes have rows from the beginning (`references.rows_made`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from math import prod
from typing import Any

from .... import hlo
from ....hlo.source_lines import user_instruction, user_location
from ...recording import pytree
from ...recording.array import TracedArray, require_trace
from ...recording.attributes import is_record
from ...recording.current_trace import current_trace
from ...recording.errors import RecordedAgain, TracerError
from ...recording.trace import Trace
from .. import journals, places
from ..copies import LISTS_ARE_CHANGED
from ..forms import is_around
from . import tables
from .elements import ElementType
from .references import Needs, Row, Table, Unread, row_of, rows_made, tables_in
from .runs import Run, guessed, instruction_of, is_open_list, number_of, plus, read, require_capacity, without_place

_LEAST_CAPACITY = 32
# The first guess of how many lists there are: few, as each takes time in each call; more in a loop within a loop, or where all
# of them together have no more than so many elements. Too few let the function be recorded and compiled once more.
_LEAST_ROWS, _ROWS_IN_LOOPS, _FIRST_ELEMENTS = 64, 256, 1024
_MOST_ELEMENTS = 2**28


def put(holder: Any, held: Iterable[Any], value: Any) -> None:
    """Put the elements of a list into a new row of the holder's table, where the program changes such lists; the holder has
    this besides what it holds."""
    if (table := _table_for(holder, held, value)) is None:
        return
    number = _count(table)
    _fill(table, number, value)
    journals.note(places.Contents(value))
    list.__setitem__(value, slice(None), [Row(table, number)])
    _set_count(table, plus(number, 1))


def put_where_new(holder: Any, held: Iterable[Any], value: Any, store: Callable[[Any], tuple[Any, hlo.Instruction]]) -> Any:
    """The same, where it is ``store`` that says by how many elements the holder has more, and gives what stands there."""
    if (table := _table_for(holder, held, value)) is None:
        return store(value)[0]
    number = _count(table)
    _fill(table, number, value)
    found, more = store([Row(table, number)])
    _set_count(table, plus(number, number_of(more)))
    journals.note(places.Contents(value))
    list.__setitem__(value, slice(None), [Unread(_is_perhaps_there)])
    return found


def note_list(value: list, maker: Any = None) -> None:
    """To be called with a list that the function has just made, by the user's instruction or another ``maker``."""
    trace = current_trace()
    journals.note_made_in(trace, value)
    if trace is None or type(value) is not list:
        return
    program = trace.program
    kinds = set(map(type, value))
    if Row in kinds:  # what is made of other lists holds what these hold now
        value[:] = [part for item in value for part in (read([item]) if type(item) is Row else (item,))]
    if program.tables and not kinds.isdisjoint((Row, Run)):  # if it grows, no list of the table has to have its room
        known = {table.place for table in program.tables}
        value[:] = [without_place(item) if type(item) is Run and item.form.place in known else item for item in value]
    program.list_makers[id(value)] = maker = maker or program.list_maker or user_instruction()
    makers = rows_made(program)
    needs = makers.get(maker) if makers else None
    if needs is None or needs.is_refused:
        return
    renew(needs)
    kind = tables.kind_of([value], needs, holds_arrays=True)
    if kind is False:
        needs.is_refused = True
        raise RecordedAgain
    length = len(value) if value and not needs.grows and not is_open_list(value) else None
    row = new_row(kind, needs, f"lists at {maker[0]}", length)
    tables.store(row, list(value))
    list.__setitem__(value, slice(None), [row])


def new_row(kind: ElementType | None, needs: Needs, place: str, length: int | None) -> Row:
    """One more row of the table with these needs, which is made for such elements if there is none yet."""
    program = (trace := require_trace()).program
    table = program.growing_tables.get(id(needs))
    if table is None:
        table = program.growing_tables[id(needs)] = _made(trace.root, kind, needs, place, length)
    number = _count(table)
    _set_count(table, plus(number, 1))
    return Row(table, number)


def renew(needs: Needs) -> None:
    """Let what recordings before have found out of a table's elements speak of the tables of this one."""
    trace, kind = require_trace(), needs.kind
    if kind is None or all(table.program is trace.program for table in tables_in(kind.structure)):
        return
    needs.kind = replace(kind, structure=_of_this_recording(trace, kind.structure))


tables.RENEW.append(renew)


def _of_this_recording(trace: Trace, structure: Any) -> Any:
    if structure is pytree.LEAF:
        return structure
    kind, auxiliary, children = structure
    if kind is Row and auxiliary.program is not trace.program and auxiliary.count is not None:
        known = trace.program.growing_tables
        if (made := known.get(id(auxiliary.needs))) is None:
            needs = auxiliary.needs
            made = known[id(needs)] = _made(trace.root, needs.kind, needs, auxiliary.place, auxiliary.length)
            made.records = _class_of_this_recording(trace, auxiliary.records)
            renew(needs)
            made.kind = needs.kind
        auxiliary = made
    kind = _class_of_this_recording(trace, kind)
    return kind, auxiliary, tuple([_of_this_recording(trace, child) for child in children])


def _class_of_this_recording(trace: Trace, kind: Any) -> Any:
    if not isinstance(kind, type) or not is_record(kind):
        return kind
    return trace.program.record_classes.get((kind.__module__, kind.__qualname__), kind)


def _is_perhaps_there() -> None:
    raise TracerError(
        "a list is read that setdefault may have put into a dict, as the program decides. Fix: read it from the dict (d[k])"
    )


def _table_for(holder: Any, held: Iterable[Any], value: Any) -> Table | None:
    """The table in which lists lie that are put there; None where this is no such list, or they are in none."""
    trace = require_trace()
    program = trace.program
    program.puts_lists_into_dicts |= type(value) is list
    if type(value) is not list or row_of(value) is not None or LISTS_ARE_CHANGED not in program.guessed_bounds:
        return None
    made = program.made_objects.get(id(holder))
    if made is None or program.made_objects.get(id(value), (None, None))[1] is not trace or id(value) in program.copies:
        return None
    outer = made[1]
    if not is_around(outer, trace):
        return None
    held = list(_lists_in(held))
    there = [one for one in held if one is not None]
    if len(there) < len(held):
        return None
    if there:
        table = there[0]
        if table.count is None:
            return None
    elif (table := program.growing_tables.get(id(holder))) is None or not is_around(table.trace, trace):
        needs = program.guessed_bounds.setdefault(f"the lists put at {user_location()}", Needs())
        kind = False if needs.is_refused else tables.kind_of([value], needs, holds_arrays=True)
        if kind is False:
            return None
        # What a branch makes may be what its end hands on.
        table = program.growing_tables[id(holder)] = _made(outer.around_branches, kind, needs, f"lists at {user_location()}")
    if tables.kind_of([value], table.needs, holds_arrays=True) is False:
        return None
    return table


def _lists_in(held: Iterable[Any]) -> Iterator[Table | None]:
    """For each of these its table, None for one that holds other lists than rows."""
    for item in held:
        if type(item) is Run:
            found = tables_in(item.form.structure)
            yield found[0] if len(found) == 1 else None
        else:
            row = row_of(item[1] if type(item) is tuple and len(item) == 2 else item)
            yield row and row.table


def _made(outer: Trace, kind: ElementType | None, needs: Needs, place: str, length: int | None = None) -> Table:
    """A table without lists, in this trace; ``length`` is that of all of them, where they keep it."""
    capacity = guessed(place, _LEAST_CAPACITY) if length is None else length
    rows = guessed(f"the number of {place}", _first_rows(outer, capacity))
    size = max([1, *[prod(column.shape.dimensions) for column in (() if kind is None else kind.columns)]])
    if capacity * rows * size > _MOST_ELEMENTS:
        of_size = f" of {size} numbers" if size > 1 else ""
        raise NotImplementedError(
            f"{rows} lists of up to {capacity} elements{of_size}, which the program puts into a list or a "
            "dict: they lie in a table with as much room for each of them as the longest one needs. Fix: keep the positions of "
            "large arrays (i instead of x[i])"
        )
    table = Table(kind, capacity, length, place, needs)
    table.rows = rows
    with tables.recording_in(outer):
        columns = () if kind is None else kind.columns
        table.columns = tuple(
            [
                tables.array_of_column(
                    hlo.full(hlo.Shape(one.shape.element_type, (rows + 1, capacity + 1, *one.shape.dimensions)), 0),
                    one.weak_type,
                )
                for one in columns
            ]
        )
        if length is None:
            table.lengths = tables.array_of_column(hlo.full(hlo.Shape(hlo.S64, (rows + 1,)), 0), True)
        table.count = tables.array_of_column(hlo.full(hlo.Shape(hlo.S64, (1,)), 0), True)
    table.trace = outer
    outer.program.tables.append(table)
    return table


def _first_rows(outer: Trace, capacity: int) -> int:
    """The guess of how many lists come into a table of this trace, of which the first one is being made."""
    trace, rounds = require_trace(), 0
    while trace is not None and trace is not outer:
        trace, rounds = trace.parent, rounds + (trace.loops is not None)
    return max(_ROWS_IN_LOOPS if rounds > 1 else _LEAST_ROWS, _FIRST_ELEMENTS // (capacity + 1))


def _count(table: Table) -> TracedArray:
    return number_of(hlo.reshape(table.count.instruction(require_trace()), ()))


def _set_count(table: Table, count: TracedArray) -> None:
    require_capacity(count, table.rows, f"the number of {table.place}")
    table.count.set_value(hlo.reshape(instruction_of(count), (1,)))


def _fill(table: Table, number: TracedArray, value: list) -> None:
    tables.store(Row(table, number), list(value))
