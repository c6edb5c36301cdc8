"""What loops can go over without being unrolled: ranges, rows of arrays, and what zip, enumerate and reversed make of them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .... import hlo
from ...control_flow.bodies import integer
from ...functions.array_attributes import Flat
from ...indexing.basic import Range, Selection, take, view
from ...recording.array import TracedArray, require_trace
from ...recording.current_trace import current_trace
from ...recording.dynamic_array import DynamicArray
from ...recording.errors import HINTS, CarryTypeError, ConcretizationError, no_integer
from ...recording.function_tables import DYNAMIC, SEQUENCES
from ...recording.intervals import interval_of, note_interval
from ...recording.operands import as_traced, require
from ...recording.program import Program
from ...recording.trace import Trace
from .. import journals, made_iterators
from ..copies import note_copies
from ..entries import has_open_keys
from ..forms import is_written_text
from ..library.listed import Listed
from ..lists.access import item_of
from ..lists.elements import are_alike
from ..lists.references import row_of
from ..lists.runs import Run, is_open_list, length_of, plus, require_read
from ..lists.tables import reference
from .stacked_rows import Columns, columns_of, is_of_python, lists_of, whole_lists

# Lists with fewer elements are gone over one by one; of numbers that the program computes, fewer than the other number.
_LONG_LIST, _LONG_LIST_OF_TRACED, _LONG_LIST_WITH_TEXTS = 32, 9, 3
# Of texts among the elements that may be different: what is done with one of them is done with each.
_MOST_TEXTS = 8


class Rows:
    """Something with a number of elements, each of which can be taken by its position.

    Iterating goes over all of them, where their number is known. What Python can ask itself for one element after the other
    has ``of_python``, which gives an iterator over them, and one that the user's code asks, ``begun`` or not.
    """

    length: Any  # an int, or a traced one
    of_python: Callable[[], Iterator[Any]] | None = None
    iterator: Iterator[Any] | None = None
    is_begun = False
    is_once = False
    is_short = False  # whether these are, with others perhaps, elements of a list that could be gone over one by one

    def asked_by_python(self, of_python: Callable[[], Iterator[Any]], parts: Iterable[Rows]) -> Rows:
        self.of_python, self.iterator = of_python, made_iterators.note_iterator(of_python())
        self.is_short = any(part.is_short for part in parts)
        return self

    def following(self, *default: Any) -> Any:
        """``next(...)`` of what Python can ask."""
        made_iterators.require_made_here(self.iterator)
        self.is_begun = True
        return next(self.iterator, *default)

    def most(self, trace: Trace, limit: int) -> int | None:
        """How many elements there are at most, where that is known, or known to be no more than the limit."""
        if isinstance(self.length, int):
            return max(0, self.length)
        most = interval_of(trace, self.length)[1]
        return most if 0 <= most <= limit else None

    def element(self, position: Any) -> Any:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        if self.is_begun:
            return self.iterator
        return (self.element(position) for position in range(self._count()))

    def __len__(self) -> int:
        return self._count()

    def __getitem__(self, position: Any) -> Any:
        return self.element(position)

    def _count(self) -> int:
        length = self.length
        if isinstance(length, TracedArray):
            if length.known_value is None:
                raise ConcretizationError(length, "where Python needs the number of elements", HINTS["range"])
            length = int(length.known_value)
        return max(0, length)


class Lazy:
    """Something that is gone over once, and may give all of its elements as rows."""

    def rows(self) -> Rows | None:
        """None where Python is to ask for one element after the other."""
        raise NotImplementedError


class TracedRange(Rows):
    """``range`` with traced bounds."""

    def __init__(self, *bounds: Any) -> None:
        trace = require_trace()
        bounds = (0, *bounds) if len(bounds) == 1 else bounds
        whole = [integer(trace, _of_rank_0(bound), "range()") for bound in bounds]
        self.start, self.stop, self.step = (*whole, 1)[:3]
        if isinstance(self.step, TracedArray):
            raise ConcretizationError(self.step, "as the step of range()", HINTS["range"])
        if self.step == 0:
            raise ValueError("range() arg 3 must not be zero")
        distance = self.stop - self.start if self.step > 0 else self.start - self.stop
        steps = distance if abs(self.step) == 1 else (distance + (abs(self.step) - 1)) // abs(self.step)
        self.length = _weak(np.maximum(steps, 0))

    def element(self, position: Any) -> Any:
        found = _weak(self.start + position * self.step) if self.step != 1 else _weak(self.start + position)
        trace = require_trace()
        (least, most), (low, high) = (interval_of(trace, bound) for bound in (self.start, self.stop))
        note_interval(trace, found, (least, max(least, high - 1)) if self.step > 0 else (min(most, low + 1), most))
        return found

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            raise NotImplementedError("a slice of range(...) with bounds that the program decides: use list(range(...))")
        position = np.where(as_traced(position) < 0, position + self.length, position)
        require((0 <= position) & (position < self.length), IndexError, "range object index out of range")
        return self.element(position)

    def __contains__(self, value: Any) -> bool:
        raise NotImplementedError("a value in range(...) with bounds that the program decides is not implemented here")

    def __str__(self) -> str:
        raise NotImplementedError("range(...) with bounds that the program decides as a text")

    def count(self, value: Any) -> Any:
        raise NotImplementedError("the methods of range(...) with bounds that the program decides")

    index = count

    def as_array(self) -> TracedArray:
        return DYNAMIC[np.arange](self.start, self.stop, self.step)


SEQUENCES[TracedRange] = TracedRange.as_array


def in_range(values: range | TracedRange, item: Any) -> Any:
    """``item in range(...)``"""
    if not isinstance(item, (TracedArray, int, float, np.number)) or np.ndim(item):
        return False
    inside = (values.start <= item) & (item < values.stop) if values.step > 0 else (values.stop < item) & (item <= values.start)
    return inside & ((item - values.start) % values.step == 0)


def _of_rank_0(bound: Any) -> Any:
    if isinstance(bound, np.integer):
        return int(bound)
    if not isinstance(bound, (int, TracedArray)):
        return operator.index(bound)
    if isinstance(bound, TracedArray) and (bound.shape or not bound.element_type.is_integer):
        raise no_integer(bound)
    return bound


def _weak(value: Any) -> Any:
    if isinstance(value, TracedArray):
        value.weak_type = True
    return value


class KnownRange(Rows):
    """``range`` with known bounds."""

    def __init__(self, values: range) -> None:
        self.values, self.length = values, len(values)

    def element(self, position: Any) -> Any:
        if not isinstance(position, TracedArray):
            return self.values[position]
        whole = position if self.values.step == 1 else position * self.values.step
        return _weak(whole + self.values.start if self.values.start else whole)


class ArrayRows(Rows):
    """The rows of an array: views, or scalars of a vector."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.length = array.shape[0]

    def element(self, position: Any) -> Any:
        if not isinstance(position, TracedArray) or isinstance(self.array, DynamicArray):
            return self.array[position]
        array = as_traced(self.array)
        trace = require_trace(array)
        # The position is known to be in range, and looked at no more.
        kept = TracedArray.from_instruction(trace, hlo.convert(position.instruction(trace), hlo.S64))
        whole = tuple([Range(0, 1, size, False) for size in array.shape[1:]])
        selection = Selection((Range(kept, 1, 1, True), *whole), tuple(range(1, array.ndim)), False)
        if array.ndim == 1:
            return TracedArray.from_instruction(trace, take(trace, array.instruction(trace), selection))
        return view(array, selection)


class StackedRows(Rows):
    """The elements of a list that are the rows of arrays, as of one to which a captured loop has appended."""

    def __init__(self, holder: Sequence[Any], columns: Columns) -> None:
        self.holder, self.columns, self.length = holder, columns, len(holder)
        self.of_python = lambda: _in_python(holder)

    def element(self, position: Any) -> Any:
        _require_length(self.holder, self.length)
        if not isinstance(position, TracedArray) or not self.columns.are_of(self.holder):
            return item_of(self.holder, position)
        return self.columns.element(lambda array: ArrayRows(array).element(position))


class ListRows(Rows):
    """The elements of a list from a position on, as they are when they are asked for."""

    def __init__(self, holder: Sequence[Any], first: int = 0) -> None:
        self.holder, self.first = holder, first

    @property
    def length(self) -> Any:  # type: ignore[override]
        return plus(length_of(self.holder), -self.first) if self.first else length_of(self.holder)

    def element(self, position: Any) -> Any:
        return item_of(self.holder, plus(position, self.first) if self.first else position)


class KnownElements(Rows):
    """The elements of a long list, or a tuple, of a known length, which are alike: numbers, tuples or lists of numbers."""

    def __init__(self, holder: Sequence[Any]) -> None:
        self.holder, self.length, self.is_short = holder, len(holder), len(holder) < _LONG_LIST
        self.of_python = lambda: _in_python(holder)

    def element(self, position: Any) -> Any:
        _require_length(self.holder, self.length)
        if isinstance(position, TracedArray) and type(self.holder[0]) is list:
            row = reference(self.holder, position)
            row = _copy_of_row(self.holder, position) if row is None else row
            if row is None:
                raise CarryTypeError("the elements of a list are lists that are not alike")
            return row
        return item_of(self.holder, position)


def _copy_of_row(holder: Sequence[list], position: TracedArray) -> list[Any] | None:
    """The list at a position of lists that are copies themselves, which nobody can change; None for others."""
    trace = require_trace()
    if not all(id(one) in trace.program.copies for one in holder):
        return None
    if (array := whole_lists(list(holder))) is not None:
        found = lists_of(ArrayRows(array).element(position), is_of_python(holder[0]))
    elif (columns := columns_of(list(map(tuple, holder)))) is not None:
        found = list(columns.element(lambda array: ArrayRows(array).element(position)))
    else:
        return None
    journals.note_all_made(found)
    note_copies(trace, found)
    return found


def _require_length(holder: Sequence[Any], length: int) -> None:
    now = length_of(holder)
    if not isinstance(now, int) or now != length:
        raise CarryTypeError("a list gets more elements, or less, while it is gone over")


def _in_python(holder: Sequence[Any]) -> Iterator[Any]:
    return ListItems(holder) if isinstance(holder, list) else iter(holder)


class ListItems:
    """Goes over a list as Python does, and stops where the program decides on the rest, which is then in ``rest``."""

    def __init__(self, holder: list) -> None:
        self.holder, self.position, self.rest = holder, 0, None

    def __iter__(self) -> ListItems:
        return self

    def __next__(self) -> Any:
        if self.rest is None and current_trace().program.has_open_lists:
            self._stop_at_run()
        if self.rest is not None or self.position >= len(self.holder):
            raise StopIteration
        self.position += 1
        return self.holder[self.position - 1]

    def _stop_at_run(self) -> None:
        items = self.holder[: self.position + 1]
        require_read(items)
        # A round may have put its elements into a table.
        if row_of(self.holder) is not None or any(type(item) is Run for item in items):
            self.rest = ListRows(self.holder, self.position)


class ItemsForPython(ListItems):
    """The same for whoever asks for one element after the other, as ``zip`` and ``enumerate`` do, and cannot go over a rest."""

    is_pythons = True  # it stands for a list's iterator, which nobody can put back

    def __next__(self) -> Any:
        if not current_trace().program.has_open_lists or not is_open_list(self.holder):
            return super().__next__()
        length = length_of(self.holder)
        if not isinstance(length, int):
            raise CarryTypeError(
                "a list gets a length that the program decides while something goes over it. Fix: go over a copy (list(...))"
            )
        if self.position >= length:
            raise StopIteration
        self.position += 1
        return item_of(self.holder, self.position - 1)


def items_for_python(iterable: Any) -> Any:
    """What asks a list for its elements as they are then, and a dict or a set for those that the program computes."""
    if current_trace() is None:
        return iterable
    if type(iterable) is list:
        return ItemsForPython(iterable)
    return rows_of(iterable) if has_open_keys(iterable) or is_open_list(iterable) else iterable


class Once(Rows):
    """What can be gone over once, as iterators are; whether it has been is ``is_gone_over``."""

    is_once = True
    is_gone_over: Any = False

    def __new__(cls, *_: Any) -> Once:
        made = super().__new__(cls)
        journals.note_made(made)
        return made


class Zip(Once):
    """``zip``; a strict one of other lengths has a round more, which raises: a loop may be left before it."""

    def __init__(self, parts: Sequence[Rows], strict: bool = False) -> None:
        self.parts = parts
        known = [part.length for part in parts if not isinstance(part.length, TracedArray)]
        self.length = min(known) if known else parts[0].length
        for part in parts:
            # Beside what has no elements the others are not looked at, not even by a body that never runs.
            if isinstance(part.length, TracedArray) and part.length is not self.length and 0 not in known:
                self.length = np.minimum(self.length, part.length)
        self.may_end_early = strict and (len(known) < len(parts) or len(set(known)) > 1)
        if self.may_end_early:
            differs: Any = False
            for part in parts:
                differs = differs | (part.length != self.length)
            self.length = _weak(self.length + differs)

    def element(self, position: Any) -> Any:
        if self.may_end_early:
            self._require_one_length(position)
        return tuple([part.element(position) for part in self.parts])

    def _require_one_length(self, position: Any) -> None:
        trace = require_trace()
        if isinstance(position, TracedArray) and any(part.most(trace, 0) == 0 for part in self.parts):
            raise NotImplementedError("zip(strict=True) of what has no elements and what has as many as the program decides")
        all_before, any_before = True, False
        for number, part in enumerate(self.parts):
            goes_on = position < part.length
            if number:
                others = "argument 1" if number == 1 else f"arguments 1-{number}"
                is_shorter = np.logical_and(all_before, np.logical_not(goes_on))
                require(np.logical_not(is_shorter), ValueError, f"zip() argument {number + 1} is shorter than {others}")
                is_longer = np.logical_and(np.logical_not(any_before), goes_on)
                require(np.logical_not(is_longer), ValueError, f"zip() argument {number + 1} is longer than {others}")
            all_before, any_before = np.logical_and(all_before, goes_on), np.logical_or(any_before, goes_on)


class Enumerate(Once):
    def __init__(self, rows: Rows, start: int) -> None:
        self.rows, self.start = rows, start

    @property
    def length(self) -> Any:  # type: ignore[override]
        return self.rows.length

    def element(self, position: Any) -> Any:
        number = position + self.start if self.start else position
        return _weak(number), self.rows.element(position)


class Reversed(Once):
    def __init__(self, rows: Rows) -> None:
        self.rows, self.length = rows, rows.length

    def element(self, position: Any) -> Any:
        return self.rows.element(self.length - 1 - position)


class Tail(Rows):
    """The rows from a known position on."""

    def __init__(self, rows: Rows, first: int) -> None:
        self.rows, self.first, self.length = rows, first, plus(rows.length, -first)

    def element(self, position: Any) -> Any:
        return self.rows.element(position + self.first)


class Pairs(Rows):
    """Two elements at a time; a last one without another is left out."""

    def __init__(self, rows: Rows) -> None:
        self.rows, self.length = rows, rows.length // 2

    def element(self, position: Any) -> Any:
        return self.rows.element(position * 2), self.rows.element(position * 2 + 1)


class Indices(Once):
    """``np.ndindex``."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.length = int(np.prod(shape, dtype=object))

    def element(self, position: Any) -> Any:
        found = []
        for size in reversed(self.shape):
            found.append(_weak(position % size))
            position = position // size
        return tuple(reversed(found))


# What gives the rows of dicts and sets whose keys the program computes.
ROWS_OF_KEYS: list[Callable[[Any], Rows]] = []
# By classes whose objects stand for containers (`library.listed`), what gives such a container.
UNLISTED: dict[type, Callable[[Any], Any]] = {}
# And those of texts that the program makes, by their classes.
ROWS_OF_TEXTS: dict[type, Callable[[Any], Rows]] = {}


def unlisted(value: Any) -> Any:
    """The container for which an object stands; anything else as it is."""
    return UNLISTED[type(value).listed_as](value) if isinstance(value, Listed) else value


def rows_of(iterable: Any) -> Rows | None:
    """What a loop over this goes over position by position, None where it has to ask for one element after the other."""
    iterable = unlisted(iterable)
    if isinstance(iterable, Rows):
        return None if iterable.is_begun else iterable
    if isinstance(iterable, Lazy):
        return iterable.rows()
    if isinstance(iterable, range):
        return KnownRange(iterable)
    if is_open_list(iterable):
        return ListRows(iterable)
    if (columns := columns_of(iterable)) is not None:
        return StackedRows(iterable, columns)
    if type(iterable) in ROWS_OF_TEXTS:
        return ROWS_OF_TEXTS[type(iterable)](iterable)
    if isinstance(iterable, Flat):
        iterable = iterable.elements()
    if isinstance(iterable, TracedArray) and iterable.ndim:
        return ArrayRows(iterable)
    if type(iterable) is np.ndarray and iterable.ndim and iterable.dtype.kind in "biufc":
        return ArrayRows(iterable)
    if isinstance(iterable, (list, tuple)) and _is_long(iterable) and are_alike(list(iterable)):
        return KnownElements(iterable)
    return ROWS_OF_KEYS[0](iterable) if has_open_keys(iterable) else None


# What recordings of a function have found out.
_SHORT, _ONE_BY_ONE = "loops over short lists are those of the program", "short lists are gone over one by one"


def _is_long(holder: Sequence[Any]) -> bool:
    """Whether what is alike in a list may be gone over position by position."""
    if len(holder) >= _LONG_LIST:
        return True
    if len(holder) < _LONG_LIST_WITH_TEXTS or (trace := current_trace()) is None:
        return False
    if len(holder) < _LONG_LIST_OF_TRACED and not _holds_text(holder[0]):
        return False
    first = holder[0]
    while (type(first) is list or isinstance(first, tuple)) and first:
        first = first[0]
    return (type(first) is TracedArray or is_written_text(first)) and _ONE_BY_ONE not in trace.program.guessed_bounds


def _holds_text(element: Any) -> bool:
    """Whether it is a text that the program reads, or holds one; what is done with those records much."""
    is_row = type(element) is list or isinstance(element, tuple)
    return any(map(_holds_text, element)) if is_row else is_written_text(element)


def note_captured(program: Program, rows: Rows) -> None:
    """A loop over this is one of the program."""
    if rows.is_short:
        program.guessed_bounds[_SHORT] = True


def give_up_short_lists(guessed_bounds: dict[str, Any]) -> bool:
    """To be called where a function cannot be recorded: let loops over short lists be unrolled. Whether any was not."""
    found = guessed_bounds.pop(_SHORT, False)
    if found:  # what else has been found out may hold of these loops alone
        guessed_bounds.clear()
        guessed_bounds[_ONE_BY_ONE] = True
    return found


def rows_with_texts(iterable: Any) -> Rows | None:
    """A long list of texts, or of tuples of texts and numbers, position by position; None for anything else."""
    if isinstance(iterable, (list, tuple)) and len(iterable) >= _LONG_LIST and not is_open_list(iterable):
        return KnownElements(iterable) if _can_be_columns(list(iterable)) else None
    return None


def _can_be_columns(values: Sequence[Any]) -> bool:
    kinds = set(map(type, values))
    if kinds == {str}:
        return len(set(values)) <= _MOST_TEXTS
    if kinds == {tuple}:
        return len(set(map(len, values))) == 1 and all(map(_can_be_columns, zip(*values)))
    return are_alike(values)


def is_captured(iterable: Any) -> bool:
    """Whether there are traced values in what is gone over, so that zip and the like must not ask for its elements at once."""
    if isinstance(iterable, Lazy):
        return iterable.rows() is not None
    if isinstance(iterable, (Rows, TracedArray)) or type(iterable) in ROWS_OF_TEXTS:
        return True
    return is_open_list(iterable) or has_open_keys(iterable)


def is_of_open_length(iterable: Any) -> bool:
    """Whether the program decides how many elements there are."""
    rows = rows_of(iterable) if is_captured(iterable) else None
    return rows is not None and isinstance(rows.length, TracedArray) and rows.length.known_value is None
