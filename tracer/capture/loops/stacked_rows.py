"""Elements of a list that a captured loop has appended: rows of one array, of which np.array makes that array again."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .... import hlo
from ...control_flow.bodies import ValueType
from ...control_flow.scan import store_row
from ...recording import pytree
from ...recording.aliases import link
from ...recording.array import TracedArray
from ...recording.current_trace import current_trace
from ...recording.dynamic_array import DynamicArray
from ...recording.intervals import Interval
from ...recording.operands import as_traced, shape_of
from ...recording.trace import Storage, Trace
from ..choices import Maybe
from ..copies import note_copies
from ..forms import Form, Number, Optional, Several, form_of, is_number, kind_of, kinds
from ..journals import note_all_made
from ..merging import filled, numbers


class _Row:
    """How a row is read and written: a position in its array. interval: of a Python integer."""

    def __init__(self, position: int, interval: Interval | None = None) -> None:
        self.position, self.interval = position, interval

    def __call__(self, trace: Trace, base: hlo.Instruction) -> hlo.Instruction:
        sizes = base.shape.dimensions
        starts, limits = (self.position, *[0] * (len(sizes) - 1)), (self.position + 1, *sizes[1:])
        found = hlo.reshape(hlo.slice(base, starts, limits), sizes[1:])
        if self.interval is not None:
            trace.program.intervals[found] = self.interval
        return found

    def write(self, trace: Trace, base: hlo.Instruction, value: hlo.Instruction) -> hlo.Instruction:
        starts = [hlo.constant(np.int64(start)) for start in (self.position, *[0] * value.shape.rank)]
        return hlo.dynamic_update_slice(base, hlo.reshape(value, (1, *value.shape.dimensions)), *starts)


def row_of(array: TracedArray, position: int, kind: ValueType) -> TracedArray:
    """A row of an array to which rows alone write; it costs nothing until it is used."""
    place = _Row(position)
    row = TracedArray.view_of(array, array.shape[1:], place, place.write)
    row.weak_type, row.is_scalar = kind.weak_type, kind.is_scalar
    return row


def number_of_pack(pack: TracedArray, position: int, interval: Interval | None) -> TracedArray:
    """A Python number, one of several that are an array; an integer lies in an interval."""
    number = TracedArray.view_of(pack, (), _Row(position, interval), None)
    number.weak_type = number.is_scalar = True
    return number


def slice_of(numbers: Sequence[Any]) -> hlo.Instruction | None:
    """The part of an array that has these numbers, in this order; None where there is none."""
    if not all(is_row(number) and not number.shape for number in numbers):
        return None
    base, positions = numbers[0].base, [number.view_reader.position for number in numbers]
    steps = {after - before for before, after in zip(positions, positions[1:])}
    if len(steps) != 1 or min(steps) < 1 or base.ndim != 1 or any(number.base is not base for number in numbers):
        return None
    return hlo.slice(base.instruction(current_trace()), (positions[0],), (positions[-1] + 1,), tuple(steps))


class Stack(NamedTuple):
    """What a place in a round appends in all rounds: the forms of the values' leaves, and arrays that hold their numbers."""

    structure: pytree.Structure
    forms: list[Form | _Lists]
    arrays: list[tuple[TracedArray, ValueType]]

    def element(self, position: int) -> Any:
        """The value of a round."""
        rows = iter([row_of(array, position, kind) for array, kind in self.arrays])
        leaves = [form.made(next(rows)) if type(form) is _Lists else filled(form, rows) for form in self.forms]
        value = pytree.unflatten(self.structure, leaves)
        note_all_made(value)
        return value


def stacked(
    value: Any,
    count: int,
    *,
    outer: Trace,
    position: TracedArray,
    carried: Callable[[Form, list[Any]], list[hlo.Instruction]],
    bases: Iterator[Iterable[Storage]],
) -> Stack:
    """What stands for the values that all rounds, so many, append here; ``bases`` is what each number may be."""
    leaves, structure = pytree.flatten(value, lambda part: whole_lists(part) is not None)
    trace = current_trace()
    note_copies(trace, value)
    forms: list[Form | _Lists] = []
    arrays: list[tuple[TracedArray, ValueType]] = []

    def store(row: TracedArray, kind: ValueType, others: Iterable[Storage]) -> None:
        buffer = store_row(outer, trace, row, position.instruction(trace), count)
        link(buffer, others)
        arrays.append((TracedArray(buffer, buffer.instruction.shape), kind))

    for leaf in leaves:
        if (whole := whole_lists(leaf)) is not None:
            forms.append(_Lists(is_of_python(leaf)))
            store(whole, kind_of(whole), ())
            collections.deque(itertools.islice(bases, whole.size), maxlen=0)
            continue
        form = row_form(leaf)
        forms.append(form)
        for kind, number, others in zip(kinds(form), row_numbers([leaf]), bases):
            store(as_traced(carried(Number(kind), [number])[0]), kind, others)
    return Stack(structure, forms, arrays)


def may_be_row(leaf: Any) -> bool:
    """Whether arrays can hold what a leaf is in each round: a number or an array of one size, or one that may be missing."""
    value = leaf.value if type(leaf) is Maybe else leaf
    return is_number(value) and not isinstance(value, DynamicArray)


def row_form(leaf: Any) -> Form:
    """The form in which it is written down in each round."""
    if type(leaf) is Maybe:
        return Optional(leaf.absent, row_form(leaf.value))
    form = form_of(leaf)
    return form if isinstance(form, Several) else Number(kind_of(leaf))


def row_numbers(leaves: Iterable[Any]) -> list[Any]:
    return [number for leaf in leaves for number in (numbers(row_form(leaf), leaf) if may_be_row(leaf) else [leaf])]


def is_row(value: Any) -> bool:
    return isinstance(value, TracedArray) and type(value.view_reader) is _Row


def whole_array(values: Any) -> TracedArray | None:
    """The array whose rows these are, all of them in order; None for anything else."""
    if type(values) not in (list, tuple) or not values or not all(isinstance(value, TracedArray) for value in values):
        return None
    base = values[0].base
    if not is_row(values[0]) or shape_of(base)[0] != len(values):
        return None
    for position, value in enumerate(values):
        read = value.view_reader
        if value.base is not base or type(read) is not _Row or read.position != position:
            return None
    return base


def whole_lists(values: Any) -> TracedArray | None:
    """The array of which a list of numbers of one type, or of such lists, has all elements in their order; None for others."""
    if type(values) is not list or not values:
        return None
    if type(values[0]) is list:
        rows = [whole_lists(value) for value in values]
        return None if any(row is None for row in rows) else whole_array(rows)
    first = values[0]
    if type(first) is not TracedArray or not first.is_scalar:
        return None
    is_of_one_type = all(type(value) is TracedArray and value.weak_type == first.weak_type for value in values)
    return whole_array(values) if is_of_one_type and all(value.exact is None for value in values) else None


def is_of_python(values: list[Any]) -> bool:
    """Whether the numbers of such a list are Python's, and not NumPy's."""
    return is_of_python(values[0]) if type(values[0]) is list else values[0].weak_type


class _Lists(NamedTuple):
    """Stands for the form of a list of numbers, or of lists, that is an array."""

    of_python: bool

    def made(self, array: TracedArray) -> list[Any]:
        return lists_of(array, self.of_python)


def lists_of(array: TracedArray, of_python: bool) -> list[Any]:
    """The numbers of an array, which are rows of it, in lists one inside of the other; Python's or NumPy's numbers."""
    if array.ndim > 1:
        rows = ValueType(hlo.Shape(array.element_type), False, False)
        return [lists_of(row_of(array, position, rows), of_python) for position in range(len(array))]
    number = ValueType(hlo.Shape(array.element_type), of_python, True)
    return [row_of(array, position, number) for position in range(len(array))]


class Columns(NamedTuple):
    """Elements of one structure, tuples or single values: the forms of their leaves, and the arrays that hold their numbers."""

    structure: pytree.Structure
    forms: list[Form]
    arrays: list[TracedArray]
    rows: list[TracedArray]

    def element(self, numbers_at: Callable[[TracedArray], TracedArray]) -> Any:
        """An element, by what gives its number in an array."""
        found = []
        for array, row in zip(self.arrays, self.rows):
            number = numbers_at(array)
            number.weak_type, number.is_scalar = row.weak_type, row.is_scalar
            found.append(number)
        values = iter(found)
        return pytree.unflatten(self.structure, [filled(form, values) for form in self.forms])

    def whole(self) -> TracedArray | None:
        """What np.array makes of all elements, numbers and arrays or tuples of these; None for others."""
        if self.structure is pytree.LEAF:
            return None if isinstance(self.forms[0], Optional) else self.arrays[0]
        is_flat = len(self.forms) == len(self.structure[2])
        if not is_flat or len(self.arrays) > len(self.forms) or len({array.shape for array in self.arrays}) > 1:
            return None
        return np.stack(self.arrays, axis=1)

    def are_of(self, values: Sequence[Any]) -> bool:
        """Whether they hold all of these values."""
        now = columns_of(values)
        return now is not None and all(one is other for one, other in zip(now.arrays, self.arrays, strict=True))


def columns_of(values: Any) -> Columns | None:
    """The arrays whose rows are all of these values, in order; None where there are none."""
    if type(values) not in (list, tuple) or not values:
        return None
    table, parts = [], [pytree.flatten(value, _is_no_tuple) for value in values]
    structure = parts[0][1]
    for leaves, other in parts:
        row = row_numbers(leaves)
        if other != structure or not row or not is_row(row[0]):
            return None
        table.append(row)
    if len(set(map(len, table))) > 1:
        return None
    arrays = [whole_array(column) for column in zip(*table)]
    if any(array is None for array in arrays):
        return None
    return Columns(structure, [row_form(leaf) for leaf in parts[0][0]], arrays, table[0])


def _is_no_tuple(part: Any) -> bool:
    return type(part) is not tuple
