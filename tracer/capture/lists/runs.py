"""Lists whose length the program decides: among their elements is a `Run`, which stands for a number of elements.

A list stays the Python object that it is, also under other names; ``[a, run, b]`` has the elements a, those of the run, b. So
what a branch appends is a run of at most one element behind what was there before, and no branch hands on whole arrays. Where
the elements are asked for, and at the end of a round of a loop, the runs are put together (`settled`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .... import hlo
from ....hlo.source_lines import user_location
from ...recording import pytree
from ...recording.array import TracedArray, require_trace
from ...recording.current_trace import current_trace
from ...recording.dynamic_array import DynamicArray
from ...recording.errors import CarryTypeError, ChangedCopyError, SizeBeyondBound
from ...recording.intervals import note_interval
from ...recording.trace import Trace
from .. import journals
from ..copies import note_copies
from ..forms import STAND_FOR_ELEMENTS
from .array_rows import note_arrays, type_when_read
from .columns import longer, rows_at, rows_between, with_block
from .element_rows import constant_columns, element_of, link_columns, packed_columns, recoded, row_of, type_with
from .elements import ElementType, LeafForm, joined_type, joined_types, not_one_type
from .references import Row, Unread, note_makers, note_open, refuse_other_uses
from .sized_arrays import array_of_row, dynamic_dimensions, require_room

Instruction = hlo.Instruction
# Runs of up to this many elements are written row by row into another one, which then stays where it is.
_FEW_ROWS = 8


@dataclass(frozen=True)
class Form:
    """What does not change about a run while it is the state of a loop.

    Its columns have a row more than the capacity, for what must not be written. place: where the capacity was guessed, None
    where it cannot be exceeded. length: None where the program decides it. is_ring: whether the first element may lie anywhere;
    the row behind the last one of the capacity is then the first. key_columns: of the entries of a dict or a set that have a
    table to find them by (`keys/index.py`), how many columns hold the keys.
    """

    structure: Any
    leaves: tuple[LeafForm, ...]
    capacity: int
    place: str | None = None
    length: int | None = None
    is_ring: bool = False
    key_columns: int | None = None


class Run:
    """A number of elements of a list: the first rows of the columns, or those from ``start`` on."""

    __slots__ = ("form", "columns", "length", "start", "index")

    def __init__(
        self, form: Form, columns: Sequence[TracedArray], length: Any, start: Any = 0, index: TracedArray | None = None
    ) -> None:
        self.form, self.columns, self.length, self.start, self.index = form, tuple(columns), length, start, index
        note_open()

    @property
    def type(self) -> ElementType:
        return type_with(self.form.structure, self.form.leaves, self.columns)

    def __repr__(self) -> str:
        return f"<up to {self.form.capacity} elements>"


refuse_other_uses(Run, Row, Unread)
Run.__hash__ = Row.__hash__ = Unread.__hash__ = object.__hash__
Row.__eq__, Row.__ne__ = object.__eq__, object.__ne__  # rows are compared where it is asked whether a list is another one


def _taken_apart(run: Run) -> tuple[Form, tuple[Any, ...]]:
    length = () if run.form.length is not None else (run.length,)
    index = () if run.form.key_columns is None else (run.index,)
    return run.form, (*run.columns, *index, *length, *((run.start,) if run.form.is_ring else ()))


def _put_together(form: Form, children: Sequence[Any]) -> Run:
    pending = list(children)
    start = pending.pop() if form.is_ring else 0
    length = pending.pop() if form.length is None else form.length
    index = None if form.key_columns is None else pending.pop()
    if all([isinstance(column, TracedArray) for column in pending]):  # not when the program has run
        link_columns(form.leaves, pending)
    return Run(form, pending, length, start, index)


STAND_FOR_ELEMENTS.add(Run)
pytree.register_pytree(Run, lambda run: _taken_apart(run)[::-1], _put_together)


def is_open_list(value: Any) -> bool:
    """Whether this is a list (or a tuple) whose length the program decides, or whose elements lie in arrays."""
    is_list = isinstance(value, list)
    if not is_list and type(value) is not tuple:
        return False
    trace = current_trace()
    if trace is not None and not trace.program.has_open_lists:  # so that n appends to a list do not take n * n steps
        return False
    items = list.__iter__(value) if is_list else value
    return not STAND_FOR_ELEMENTS.isdisjoint(map(type, items))


def require_read(items: Iterable[Any]) -> None:
    """To be called by what reads the elements of a list, and what is in them."""
    items = list(items)
    if not any(kind is Unread or issubclass(kind, (list, tuple)) for kind in set(map(type, items))):
        return
    for item in items:
        if type(item) is Unread:
            item.read()
        elif isinstance(item, (list, tuple)):
            require_read(list.__iter__(item) if isinstance(item, list) else item)


def read(items: Iterable[Any]) -> list[Any]:
    """The items of a list, as they are now: with the elements that lie in a table instead of what stands for them."""
    items = list(items)
    return _elements_of(items[0]) if len(items) == 1 and type(items[0]) is Row else items


def _elements_of(row: Row) -> list[Any]:
    table, position = row.table, instruction_of(row.position)
    if table.kind is None:
        return []
    columns = []
    for column in instructions(table):
        sizes = column.shape.dimensions[1:]
        columns.append(hlo.reshape(rows_at(column, position, 1), sizes))
    place = None if table.lengths is None else table.place  # lists of one length have no capacity that was guessed
    return [made(type_when_read(table), columns, length_of([row]), place)]


# --- numbers ---


def instruction_of(number: Any) -> Instruction:
    """A Python integer, traced or not, as s64[]."""
    if isinstance(number, TracedArray):
        return hlo.convert(number.instruction(require_trace()), hlo.S64)
    return hlo.constant(np.int64(number))


def number_of(instruction: Instruction) -> TracedArray:
    return TracedArray.from_instruction(require_trace(), instruction, weak_type=True)


def plus(first: Any, second: Any) -> Any:
    if isinstance(first, int) and isinstance(second, int):
        return first + second
    return number_of(hlo.add(instruction_of(first), instruction_of(second)))


def length_of(items: Iterable[Any]) -> Any:
    """The length of a list, an int where it is known."""
    items = list(items)
    require_read(items)
    if items and type(items[0]) is Row:
        return _length_in_table(items[0])
    known, length = 0, None
    for item in items:
        if type(item) is Run and not isinstance(item.length, int):
            length = item.length if length is None else plus(length, item.length)
        else:
            known += item.length if type(item) is Run else 1
    if length is None:
        return known
    length = plus(length, known) if known else length
    note_interval(require_trace(), length, (0, bound_of(items)))
    return length


def _length_in_table(row: Row) -> Any:
    if row.table.lengths is None:
        return row.table.length
    lengths = row.table.lengths.instruction(require_trace())
    length = number_of(hlo.reshape(hlo.dynamic_slice(lengths, instruction_of(row.position), sizes=(1,)), ()))
    note_interval(require_trace(), length, (0, row.table.capacity))
    return length


def known_length(items: Iterable[Any]) -> int | None:
    """The length of a list where it is known."""
    lengths = [item.length if type(item) is Run else 1 for item in items]
    return sum(lengths) if all([isinstance(length, int) for length in lengths]) else None


def bound_of(items: Iterable[Any]) -> int:
    return sum([item.form.capacity if type(item) is Run else 1 for item in items])


def last_row(run: Run) -> hlo.Instruction:
    """The number of the last element; 0 where there is none."""
    return hlo.maximum(hlo.subtract(instruction_of(run.length), 1), 0)


# --- from elements to runs and back ---


def type_of_items(items: Sequence[Any]) -> ElementType | None:
    """The type of a list's elements, None where there are none. Raises TracerError where they have none in common."""
    require_read(items)
    note_makers(items := read(items))
    found = joined_types([item for item in items if type(item) is not Run])
    for item in items:
        if type(item) is Run:
            both = joined_type(item.type, found)
            if both is None:
                raise not_one_type(found, item.type, items)
            found = both
    return found


def _array(column: Instruction, like: Any) -> TracedArray:
    return TracedArray.from_instruction(require_trace(), column, weak_type=like.weak_type, is_scalar=False)


def made(kind: ElementType, columns: Sequence[Instruction], length: Any, place: str | None = None, start: Any = 0) -> Run:
    """A run with these columns."""
    arrays = [_array(column, like) for column, like in zip(columns, kind.columns)]
    if kind.holds_sized_arrays:
        require_room(kind, columns)
    capacity = columns[0].shape.dimensions[0] - 1 if columns else _LARGEST
    form = Form(
        kind.structure, kind.leaves, capacity, place, length if isinstance(length, int) else None, not isinstance(start, int)
    )
    link_columns(kind.leaves, arrays)
    return Run(form, arrays, length, start)


_LARGEST = 2**31  # the capacity of runs that need no memory


def empty(kind: ElementType, capacity: int, place: str | None = None) -> Run:
    columns = [hlo.full(hlo.Shape(one.shape.element_type, (capacity + 1, *one.shape.dimensions)), 0) for one in kind.columns]
    return made(kind, columns, 0, place)


def run_of(values: Sequence[Any], kind: ElementType) -> Run:
    """A run of these elements."""
    note_arrays(values, kind)
    if (known := constant_columns(values, kind)) is not None:
        columns = [
            hlo.constant(np.concatenate([column, np.zeros((1, *column.shape[1:]), column.dtype)]), one.shape.element_type)
            for column, one in zip(known, kind.columns)
        ]
    elif (columns := packed_columns(values, kind)) is None:
        rows, columns = [row_of(value, kind) for value in values], []
        for one, parts in zip(kind.columns, zip(*rows)):
            blocks = [hlo.reshape(part, (1, *one.shape.dimensions)) for part in (*parts, hlo.full(one.shape, 0))]
            columns.append(hlo.concatenate(*blocks, dimensions=(0,)))
    return made(kind, columns, len(values))


def retyped(run: Run, kind: ElementType) -> Run:
    """The run with elements of this type, which holds its own."""
    old = run.type
    if old == kind:
        return run
    columns = recoded(instructions(run), run.form.capacity + 1, old, kind)
    return made(kind, columns, run.length, run.form.place, run.start)


def instructions(run: Run) -> list[Instruction]:
    trace = require_trace()
    return [column.instruction(trace) for column in run.columns]


def row_in_memory(run: Run, position: Instruction) -> Instruction:
    """The row of the element at this position, which is less than the capacity."""
    if not run.form.is_ring:
        return position
    row = hlo.add(instruction_of(run.start), position)
    return hlo.select(hlo.ge(row, run.form.capacity), hlo.subtract(row, run.form.capacity), row)


def element(run: Run, position: Any, is_copied: bool = False) -> Any:
    """The element at a position that is in range; arrays in it are views that are not to be written to, or copies."""
    row = row_in_memory(run, instruction_of(position))

    def read_from(base: Instruction) -> Instruction:
        sizes = base.shape.dimensions[1:]
        return hlo.reshape(rows_at(base, row, 1), sizes)

    def array_of(place: int, instruction: Instruction, number: Any) -> TracedArray:
        trace = require_trace()
        if not number.shape.dimensions:
            return TracedArray.from_instruction(trace, instruction, number.weak_type, number.is_scalar)
        if is_copied:
            return TracedArray.from_instruction(trace, instruction, number.weak_type, is_scalar=False)
        column = run.columns[place]
        if dynamic := dynamic_dimensions(number):
            sizes = TracedArray.from_instruction(trace, read_from(run.columns[place - 1].instruction(trace)), is_scalar=False)
            return DynamicArray.view_on(column, number.shape, _Read(row, sizes, dynamic), _write_refused)
        view = TracedArray.view_of(column, number.shape.dimensions, _Read(row), _write_refused)
        view.weak_type = number.weak_type  # a column of Python's numbers, where lists are elements
        return view

    trace = require_trace()
    found = element_of(run.type, lambda place: read_from(run.columns[place].instruction(trace)), array_of)
    if is_copied:
        journals.note_all_made(found)
    elif not isinstance(found, TracedArray):
        note_copies(trace, found)
    return found


class _Read:
    """Reads a row; of arrays of several sizes, with its sizes in these dimensions."""

    def __init__(self, row: Instruction, sizes: TracedArray | None = None, dynamic: tuple[int, ...] = ()) -> None:
        self.row, self.sizes, self.dynamic = TracedArray.from_instruction(require_trace(), row), sizes, dynamic

    def __call__(self, trace: Trace, base: Instruction) -> Instruction:
        shape, row = base.shape.dimensions[1:], self.row.instruction(trace)
        found = hlo.reshape(rows_at(base, row, 1), shape)
        return found if self.sizes is None else array_of_row(found, self.sizes.instruction(trace), self.dynamic)


def _write_refused(trace: Trace, base: Instruction, value: Instruction) -> Instruction:
    raise ChangedCopyError(
        "an array in a list whose length the program decides is changed in place. Fix: put a new one there (x[i] = x[i] + 1)"
    )


def set_row(run: Run, position: Instruction, value: Any) -> Run:
    """The run with another element at this position; where the position is no less than the capacity it is dropped."""
    kind = joined_type(run.type, joined_types([value]))
    if kind is None:
        raise not_one_type(run.type, joined_types([value]), [value])
    note_copies(require_trace(), value, is_put=True)
    note_arrays([value], kind)
    return _with_row(retyped(run, kind), position, row_of(value, kind))


def _with_row(run: Run, position: Instruction, row: Sequence[Instruction]) -> Run:
    capacity = run.form.capacity
    place = hlo.select(hlo.lt(position, capacity), row_in_memory(run, position), hlo.constant(np.int64(capacity)))
    parts = [hlo.reshape(part, (1, *part.shape.dimensions)) for part in row]
    return with_columns(run, [with_block(column, place, part, None) for column, part in zip(instructions(run), parts)])


def with_columns(run: Run, columns: Sequence[Instruction]) -> Run:
    """The run with other elements in its memory."""
    return made(run.type, columns, run.length, run.form.place, run.start)


def ordered(run: Run) -> Run:
    """The run with its first element in the first row."""
    if not run.form.is_ring:
        return run
    capacity, start, columns = run.form.capacity, instruction_of(run.start), []
    for column in instructions(run):
        twice = hlo.concatenate(rows_between(column, 0, capacity), column, column, dimensions=(0,))
        columns.append(rows_at(twice, start, capacity + 1))
    return made(run.type, columns, run.length, run.form.place)


def without_place(run: Run) -> Run:
    """The same elements, which have room in their columns: none whose guess grows with that of other lists."""
    return Run(replace(run.form, place=None), run.columns, run.length, run.start, run.index)


def with_capacity(run: Run, capacity: int, place: str | None) -> Run:
    """The run in columns of another size; what they cannot hold makes the call fail that guessed the size."""
    if run.form.capacity == capacity or not run.columns:
        return Run(replace(run.form, capacity=capacity, place=place), run.columns, run.length, run.start, run.index)
    run, had, columns = ordered(run), run.form.capacity, []
    for column in instructions(run):
        if capacity > had:
            columns.append(longer(column, capacity - had))
        else:
            columns.append(rows_between(column, 0, capacity + 1))
    if capacity < had:
        require_capacity(run.length, capacity, place)
    return made(run.type, columns, run.length, place)


def require_capacity(length: Any, capacity: int, place: str | None) -> None:
    if isinstance(length, int) and length <= capacity:
        return
    too_long = hlo.gt(instruction_of(length), capacity)
    require_trace().add_error_flag(too_long, SizeBeyondBound, SizeBeyondBound.message(place))


def guessed(place: str, guess: int) -> int:
    """The capacity for lists at this place, larger where it has turned out too small."""
    return require_trace().program.guessed_bounds.setdefault(place, guess)


def place_of() -> str:
    return f"a list at {user_location()}"


# --- putting together ---


def settled(items: Sequence[Any], kind: ElementType | None = None) -> Run:
    """One run of all elements, of the type that is theirs together, or of one that holds it."""
    items = read(items)
    kind = kind or type_of_items(items)
    if kind is None:
        raise CarryTypeError("a list is read where it is empty: its elements have no type. Fix: make it with its first one")
    pieces = _pieces(items)
    if not pieces:
        return empty(kind, 0)
    if is_open_list(items):
        note_elements(items)
    first, *others = pieces
    if type(first) is Run and not others:
        return retyped(first, kind)
    if type(first) is Run and first.form.place is not None:
        run = retyped(first, kind)
        for piece in others:
            run = extended(run, piece)
        return run
    return _concatenated([retyped(one, kind) if type(one) is Run else run_of(one, kind) for one in pieces], kind)


def note_elements(items: Sequence[Any]) -> None:
    """What is an element of these becomes a copy."""
    for item in items:
        if type(item) is not Run:
            note_copies(require_trace(), item, is_put=True)


def _pieces(items: Sequence[Any]) -> list[Any]:
    """Runs, and lists of the elements between them."""
    pieces: list[Any] = []
    for item in items:
        if type(item) is Run:
            pieces.append(item)
        elif pieces and type(pieces[-1]) is list:
            pieces[-1].append(item)
        else:
            pieces.append([item])
    return pieces


def extended(run: Run, piece: Any) -> Run:
    """A run of a guessed capacity with more elements behind it, a run of them or a list; it stays in its memory."""
    kind, capacity, place = run.type, run.form.capacity, run.form.place
    count = piece.form.capacity if type(piece) is Run else len(piece)
    length = plus(run.length, piece.length if type(piece) is Run else count)
    require_capacity(length, capacity, place)
    if count > _FEW_ROWS:
        piece = retyped(piece, kind) if type(piece) is Run else run_of(piece, kind)
        if not run.form.is_ring and count <= capacity:
            begin, added = instruction_of(run.length), None if known_length([piece]) == count else instruction_of(piece.length)
            blocks = [rows_between(column, 0, count) for column in instructions(ordered(piece))]
            columns = [with_block(column, begin, block, added) for column, block in zip(instructions(run), blocks)]
            return made(kind, columns, length, place)
        whole = _concatenated([ordered(run), piece], kind)
        return made(kind, [rows_between(column, 0, capacity + 1) for column in instructions(whole)], length, place)
    end = instruction_of(run.length)
    if type(piece) is Run:
        columns = instructions(ordered(retyped(piece, kind)))
        rows = [[hlo.reshape(rows_between(one, j, j + 1), one.shape.dimensions[1:]) for one in columns] for j in range(count)]
    else:
        note_arrays(piece, kind)
        rows = [row_of(value, kind) for value in piece]
    for j, row in enumerate(rows):
        run = _with_row(run, hlo.add(end, j) if j else end, row)
    return made(kind, instructions(run), length, place, run.start)


def _concatenated(runs: Sequence[Run], kind: ElementType) -> Run:
    """A new run whose capacity is that of all of them together."""
    runs = [ordered(run) for run in runs]
    if not runs[0].columns:
        return made(kind, [], length_of(runs))
    capacity = sum([run.form.capacity for run in runs])
    known = all([isinstance(run.length, int) and run.length == run.form.capacity for run in runs])
    columns = []
    for place, one in enumerate(kind.columns):
        whole = [run.columns[place].instruction(require_trace()) for run in runs]
        blocks = [rows_between(column, 0, column.shape.dimensions[0] - 1) for column in whole]
        zero = hlo.full(hlo.Shape(one.shape.element_type, (1, *one.shape.dimensions)), 0)
        if known:
            columns.append(hlo.concatenate(*blocks, zero, dimensions=(0,)))
            continue
        column = longer(blocks[0], capacity + 1 - runs[0].form.capacity)
        position = runs[0].length
        for run, block in zip(runs[1:], blocks[1:]):
            column = with_block(column, instruction_of(position), block, None)
            position = plus(position, run.length)
        columns.append(column)
    return made(kind, columns, length_of(runs))
