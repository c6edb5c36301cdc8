"""The arrays that a list consists of whose length the program decides, and what makes a list of their contents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from .... import hlo
from ...recording import pytree
from ...recording.array import TracedArray, require_trace
from ...recording.attributes import class_of
from ...recording.device_arrays import ArrayOnDevice
from ...recording.errors import CarryTypeError
from ..texts.characters import memory
from .array_rows import require_arrays_current
from .columns import rows_between
from .elements import LeafForm, hold_texts, holds_traced
from .references import Row, Table, want_records
from .runs import Form, Run, instruction_of, instructions
from .when_run import Contents, Lists, all_finished, elements_from_arrays, rows_of


@dataclass(frozen=True)
class Elements:
    """What gives a list of a run's elements, of the contents of its arrays when it has run: the columns, and these numbers.

    weak: for each column whether its numbers are Python's. length: None where it is the first of the numbers. is_ring: whether
    the last of them is the row of the first element. formats: of texts among the characters, which are then the next part.
    lists: those that are elements, or in elements, of these; their arrays stand at the end. A column for one element is that
    alone.
    """

    form: Form
    weak: tuple[bool, ...]
    length: int | None
    is_ring: bool
    formats: Any = None
    lists: tuple[Lists, ...] = ()

    @property
    def count(self) -> int:
        """How many parts there are."""
        return self.own_count + (self.formats is not None) + sum([one.count for one in self.lists])

    @property
    def own_count(self) -> int:
        """How many of them are columns and numbers."""
        return len(self.weak) + (self.length is None) + self.is_ring

    def arrays_of_lists(self, parts: Sequence[Any]) -> dict[Lists, Sequence[Any]]:
        """Those of the parts that are arrays of the lists."""
        found, begin = {}, self.own_count + (self.formats is not None)
        for one in self.lists:
            found[one] = parts[begin : begin + one.count]
            begin += one.count
        return found

    def __call__(self, parts: Sequence[Any]) -> list[Any]:
        texts = None if self.formats is None else partial(self.formats.texts, np.asarray(parts[self.own_count]))
        columns, numbers = parts[: len(self.weak)], list(map(int, parts[len(self.weak) : self.own_count]))
        if self.form.capacity == 1:
            columns = [column[None] if isinstance(column, ArrayOnDevice) else np.asarray(column)[None] for column in columns]
        length = numbers[0] if self.length is None else self.length
        rows = rows_of(columns, self.form.leaves, self.weak, self.form.capacity, length, numbers[-1] if self.is_ring else 0)
        found = elements_from_arrays(self.form.structure, self.form.leaves, rows, length, texts)
        contents = Contents(self.arrays_of_lists(parts), texts)
        found = all_finished(found, self.form.structure, contents)
        contents.fill()
        return found


def parts_of(run: Run) -> tuple[list[TracedArray], Elements]:
    """The arrays that a run consists of, and what gives a list of its elements."""
    trace, form, columns = require_trace(), run.form, instructions(run)
    if form.capacity == 1:
        columns = [hlo.reshape(rows_between(column, 0, 1), column.shape.dimensions[1:]) for column in columns]
    arrays = [TracedArray.from_instruction(trace, column, is_scalar=not column.shape.rank) for column in columns]
    numbers = [number for number in (run.length, run.start) if isinstance(number, TracedArray)]
    weak = tuple([column.weak_type for column in run.type.columns])
    length = None if isinstance(run.length, TracedArray) else run.length
    lists = _lists_in(form.structure)
    _require_known_constants([form, *[one.form for one in lists.values()]])
    characters, formats = _characters_of([form, *[one.form for one in lists.values()]])
    form = replace(form, structure=_of_lists(form.structure))
    elements = Elements(form, weak, length, isinstance(run.start, TracedArray), formats, tuple(lists.values()))
    return [*arrays, *numbers, *characters, *[array for table in lists for array in _arrays_of(table)]], elements


def parts_of_row(row: Row) -> tuple[list[TracedArray], Elements]:
    """The same of one list that lies in a table: what gives a list of it alone."""
    lists = _lists_in(structure := (list, None, ((Row, row.table, (pytree.LEAF,)),)))
    form = Form(_of_lists(structure), (LeafForm(True, True, ()),), 1, length=1)
    position = TracedArray.from_instruction(require_trace(), instruction_of(row.position), weak_type=True)
    arrays = [array for table in lists for array in _arrays_of(table)]
    _require_known_constants([one.form for one in lists.values()])
    characters, formats = _characters_of([one.form for one in lists.values()])
    return [position, *characters, *arrays], Elements(form, (True,), 1, False, formats, tuple(lists.values()))


def _require_known_constants(forms: Sequence[Form]) -> None:
    """An object that elements are, as one of several, is returned as it is: it must not hold what the program computes."""
    constants = [one for form in forms for leaf in form.leaves for one in leaf.constants]
    for one in constants:
        if holds_traced(one):
            want_records(require_trace().program, type(one))
            raise CarryTypeError(
                f"a list is returned whose elements are several objects of {class_of(type(one)).__name__}, as the program "
                "decides, with attributes of different kinds. Fix: give their attributes one type, and lists in them one length"
            )


def _characters_of(forms: Sequence[Form]) -> tuple[list[TracedArray], Any]:
    """The characters and their formats, where elements of these forms, or of runs in them, are or hold texts."""
    if not any(map(_holds_texts, forms)):
        return [], None
    held = memory()
    return [held.returned()], held.formats


def _holds_texts(form: Form) -> bool:
    return hold_texts(form.leaves) or any(map(_holds_texts, _runs_in(form.structure)))


def _runs_in(structure: pytree.Structure) -> list[Form]:
    if structure is pytree.LEAF:
        return []
    kind, auxiliary, children = structure
    return [auxiliary] if kind is Run else [form for child in children for form in _runs_in(child)]


def _lists_in(structure: pytree.Structure) -> dict[Table, Lists]:
    """The tables of whose lists values of this structure consist, and those of lists in these."""
    found: dict[Table, Lists] = {}
    pending = _tables_in(structure)
    while pending:
        table = pending.pop(0)
        if table not in found:
            found[table] = _lists_of(table)
            pending += [] if table.kind is None else _tables_in(table.kind.structure)
    return found


def _tables_in(structure: pytree.Structure) -> list[Table]:
    """As `tables_in`, and those of lists among the elements of a run."""
    if structure is pytree.LEAF:
        return []
    kind, auxiliary, children = structure
    if kind is Run:
        return _tables_in(auxiliary.structure)
    return [auxiliary] if kind is Row else [table for child in children for table in _tables_in(child)]


def _lists_of(table: Table) -> Lists:
    if table.lists is None:
        (rows,) = {array.shape[0] for array in _arrays_of(table)}
        length = table.length if table.columns else None
        form = Form((tuple, None, ()), () if table.kind is None else table.kind.leaves, table.capacity, length=length)
        table.lists = Lists(form, tuple([column.weak_type for column in table.columns]), rows, table.records)
        if table.kind is not None:  # which may hold such lists
            table.lists.form = replace(form, structure=_of_lists(table.kind.structure))
    return table.lists


def _arrays_of(table: Table) -> Sequence[TracedArray]:
    """The columns of a table, and the lengths where they differ, or there are no columns: all lists are empty then."""
    require_arrays_current(table)
    if table.arrays:
        return table.arrays
    trace, zeros = require_trace(), hlo.constant(np.zeros(len(table.before), np.int64))
    lengths = TracedArray.from_instruction(trace, zeros, weak_type=True, is_scalar=False)
    if trace is trace.root:  # so that all places have the same
        table.lengths = lengths
    return (lengths,)


def _of_lists(structure: pytree.Structure) -> pytree.Structure:
    """The structure with what describes the lists of tables in the place of these."""
    if structure is pytree.LEAF:
        return structure
    kind, auxiliary, children = structure
    if kind is Row:
        auxiliary = _lists_of(auxiliary)
    elif kind is Run:
        auxiliary = replace(auxiliary, structure=_of_lists(auxiliary.structure))
    return kind, auxiliary, tuple(map(_of_lists, children))
