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
from ...recording.attributes import attributes_of, class_of, set_held
from ...recording.device_arrays import ArrayOnDevice
from ...recording.errors import CarryTypeError
from ...recording.operands import first_traced
from ..choices import Maybe
from ..entries import contents_of, has_open_keys
from ..outside.containers import OutsideDict
from ..parts import Parts
from ..places import where_made
from ..texts.characters import memory
from .array_rows import require_arrays_current
from .columns import rows_between
from .deques import TracedDeque
from .element_rows import returned_constant
from .elements import LeafForm, hold_texts
from .records import finished_dict
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
        rows = _rows(columns, self.form.leaves, self.weak, self.form.capacity, length, numbers[-1] if self.is_ring else 0)
        found = elements_from_arrays(self.form.structure, self.form.leaves, rows, length, texts)
        return _all_finished(found, self.form.structure, _Contents(self.arrays_of_lists(parts), texts))


def parts_of(run: Run) -> tuple[list[TracedArray], Elements]:
    """The arrays that a run consists of, and what gives a list of its elements."""
    trace, form, columns = require_trace(), run.form, instructions(run)
    _require_known(form)
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
    for one in filter(where_made, constants):
        if first_traced(attributes_of(one)) is not None:
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


def _require_known(form: Form) -> None:
    """Raises NotImplementedError where elements are objects whose contents the program computes, and that lie in no columns."""
    objects = [one for leaf in form.leaves for one in leaf.constants if holds_traced(one)]
    if objects:
        raise NotImplementedError(
            f"a call returns, or keeps outside, a list or dict whose length the program decides, with objects in it that hold "
            f"other ones of the class {type(objects[0]).__name__}, and cannot be rows of a table. Fix: return what they hold, "
            "as lists of numbers"
        )


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
            _require_known(form)
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


def elements_from_arrays(
    structure: Any,
    forms: Sequence[LeafForm],
    columns: Iterable[tuple[Any, bool]],
    count: int,
    texts: Callable[[np.ndarray], list[str]] | None = None,
) -> list[Any]:
    """The elements whose rows these columns have when the program has run; weak ones are Python's numbers.

    columns: arrays, or lists of arrays on a device. texts: reads rows of texts.
    """
    pending = iter(columns)
    leaves = []
    for form in forms:
        codes = next(pending)[0].tolist() if form.is_coded else None
        values: list[Any] = []
        if form.types:
            values = number_types.values_of(codes, [next(pending)[0] for _ in number_types.holders(form.types)], form.types)
        elif form.text is not None:
            values = texts(next(pending)[0])
        elif form.is_number:
            sizes = next(pending)[0] if form.dynamic else None
            column, is_weak = next(pending)
            if sizes is not None:
                column = [array_when_run(row, np.asarray(size), form.dynamic) for row, size in zip(column, sizes)]
            values = column.tolist() if is_weak else list(column)
            if not form.is_scalar and isinstance(column, np.ndarray) and not is_weak:
                values = [np.array(value) for value in values]
        if codes is not None:
            first, table = form.codes_of_numbers, list(map(returned_constant, form.constants))
            values = [values[row] if code < first else table[code - first] for row, code in enumerate(codes)]
        elif not form.is_number:
            values = [returned_constant(form.constants[0])] * count
        leaves.append(values)
    return _put_together(structure, iter(leaves), count)


def _put_together(structure: Any, leaves: Iterator[list[Any]], count: int) -> list[Any]:
    """So many values of this structure, whose leaves the lists have."""
    if structure is pytree.LEAF:
        return next(leaves)
    kind, auxiliary, children = structure
    parts = [_put_together(child, leaves, count) for child in children]
    rows = zip(*parts) if parts else [()] * count
    return list(rows) if kind is tuple else [pytree.put_together(kind, auxiliary, row) for row in rows]


def _rows_on_host(column: np.ndarray, capacity: int, length: int, start: int) -> np.ndarray:
    return np.roll(column[:capacity], -start, axis=0)[:length] if start else column[:length]


def _rows(
    columns: Sequence[Any], forms: Sequence[LeafForm], weak: Sequence[bool], capacity: int, length: int, start: int
) -> list[tuple[Any, bool]]:
    """So many rows of each column from this one on, and whether they become Python's numbers; the row of the capacity is the
    first one. The program's arrays stay on a device where they lie there; everything else is read from the host's memory."""
    return [
        (
            [column[(start + row) % capacity].copy() for row in range(length)]
            if isinstance(column, ArrayOnDevice) and column.ndim > 1 and is_array and not is_weak
            else _rows_on_host(np.asarray(column), capacity, length, start),
            is_weak,
        )
        for column, is_array, is_weak in zip(columns, _hold_arrays(forms), weak, strict=True)
    ]


def _hold_arrays(forms: Sequence[LeafForm]) -> list[bool]:
    """For each column of these leaves, whether its rows are arrays of the program's, and not codes, sizes, numbers or texts."""
    counts = [(len(form.columns(None)), form) for form in forms]
    return [number == count - 1 and form.is_array for count, form in counts for number in range(count)]


_UNFINISHED = frozenset({Run, Row, TracedDeque})


class _Contents(NamedTuple):
    """The arrays that `Elements` has of lists, and what reads rows of texts."""

    arrays: dict[Lists, Sequence[Any]]
    texts: Callable[[np.ndarray], list[str]] | None


def _is_unfinished(structure: pytree.Structure) -> bool:
    return structure is not pytree.LEAF and (structure[0] in _UNFINISHED or any(map(_is_unfinished, structure[2])))


def is_row(structure: pytree.Structure) -> bool:
    """Whether values of this structure are lists that lie in a table."""
    return structure[0] is list and len(structure[2]) == 1 and structure[2][0] is not pytree.LEAF and structure[2][0][0] is Row


def _all_finished(values: list[Any], structure: pytree.Structure, contents: _Contents) -> list[Any]:
    return [_finished(value, structure, contents) for value in values] if _is_unfinished(structure) else values


class _MadeOf(NamedTuple):
    """The lists that have been made of rows of arrays, by their numbers, and what has been read of those on a device."""

    read: list[Any]
    rows: dict[int, list[Any]]


# By an array's id, for as long as it is there: other places get the same lists.
_made: dict[int, tuple[weakref.ref, dict[Lists, _MadeOf]]] = {}


def _list_in_table(lists: Lists, position: int, contents: _Contents) -> list[Any]:
    arrays = contents.arrays[lists]
    first = arrays[0]
    if id(first) not in _made:
        _made[id(first)] = weakref.ref(first, lambda _, key=id(first): _made.pop(key, None)), {}
    of_first = _made[id(first)][1]
    if lists not in of_first:
        of_first[lists] = _MadeOf([*map(_read, arrays, [*_hold_arrays(lists.form.leaves), False])], {})
    read, rows = of_first[lists]
    if position not in rows:
        found = [array if one is None else one for array, one in zip(arrays, read)]
        *columns, last = found if lists.form.length is None else [*found, None]
        length = lists.form.length if last is None else int(last[position])
        of_list = [column[position] for column in columns]
        own = _rows(of_list, lists.form.leaves, lists.weak, lists.form.capacity, length, 0)
        elements = elements_from_arrays(lists.form.structure, lists.form.leaves, own, length, contents.texts)
        rows[position] = _all_finished(elements, lists.form.structure, contents)
    return rows[position]


def _read(array: Any, holds_arrays: bool) -> np.ndarray | None:
    """What is read of an array on a device at once; None where its rows stay there, and of others, which may be gone soon."""
    return np.asarray(array) if isinstance(array, ArrayOnDevice) and not holds_arrays else None


def _finished(value: Any, structure: pytree.Structure, contents: _Contents) -> Any:
    """A value of this structure, with what Python has in the place of deques, rows and runs, whose columns are arrays by now,
    or lists of Python's numbers."""
    if not _is_unfinished(structure):
        return value
    if is_row(structure):
        return _list_in_table(value[0].table, int(value[0].position), contents)
    kind, auxiliary, children = structure
    if kind in (list, tuple):
        return kind(_finished_items(value, children, contents))
    if kind is Maybe:
        return value if value is auxiliary else _finished(value, children[1], contents)
    if kind is TracedDeque:
        return deque(_finished_items(value, children, contents), maxlen=value.maxlen)
    if has_open_keys(value):
        (entries,) = contents_of(value).values()
        if is_row(children[0]):
            return finished_dict(entries[0].table.keys, _finished(entries, children[0], contents))
        return maker_of(value)(_finished_items(entries, children[0][2], contents))
    if kind is Parts:
        held = attributes_of(value)
        for name, child in zip(auxiliary[1], children):
            set_held(value, name, _finished(held[name], child, contents))
        return value
    parts = [_finished(part, child, contents) for part, child in zip(pytree.taken_apart(value)[1], children)]
    return pytree.put_together(kind, auxiliary, parts)


def _finished_items(items: Iterable[Any], structures: Iterable[pytree.Structure], contents: _Contents) -> list[Any]:
    found: list[Any] = []
    for item, structure in zip(items, structures):
        if type(item) is not Run:
            found.append(_finished(item, structure, contents))
            continue
        form, weak = item.form, [isinstance(column, list) for column in item.columns]
        columns = _rows(item.columns, form.leaves, weak, form.capacity, item.length, item.start)
        elements = elements_from_arrays(form.structure, form.leaves, columns, int(item.length), contents.texts)
        found += _all_finished(elements, form.structure, contents)
    return found


def maker_of(value: Any) -> Callable[[list], Any]:
    """What makes a dict or a set as this one of a list of its entries."""
    kind = type(value.original) if isinstance(value, OutsideDict) else type(value)
    if issubclass(kind, defaultdict):
        return partial(defaultdict, value.default_factory)
    if isinstance(value, set):
        return partial(from_entries, set)
    return dict if kind is dict else partial(from_entries, kind)


def from_entries(kind: type, entries: list[tuple[Any, Any]]) -> Any:
    if issubclass(kind, (set, frozenset)):
        return kind([key for key, _ in entries])  # one after the other, as the order of a set depends on that
    return kind(dict(entries))
