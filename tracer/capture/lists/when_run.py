"""The lists, objects and dicts that are made of the contents of arrays when the program has run."""

from __future__ import annotations

import weakref
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...recording import pytree
from ...recording.attributes import attributes_of, set_held
from ...recording.device_arrays import ArrayOnDevice
from ..choices import Maybe
from ..entries import contents_of, has_open_keys
from ..outside.containers import OutsideDict
from ..parts import Parts
from . import number_types
from .deques import TracedDeque
from .element_rows import returned_constant
from .elements import LeafForm
from .records import fill_record, finished_dict, is_container, shell
from .references import Row
from .runs import Form, Run
from .sized_arrays import array_when_run


@dataclass(eq=False)
class Lists:
    """The lists whose elements lie in a table, in whose place it stands in structures, those of their own elements too: the
    form of one, for each column whether its numbers are Python's, and the number of lists. records: the class of objects that
    are records, or the keys of dicts, what these hold is then the one element; None of others."""

    form: Form
    weak: tuple[bool, ...]
    rows: int
    records: Any = None

    @property
    def count(self) -> int:
        """How many arrays there are: the columns, and the lengths."""
        return len(self.weak) + (self.form.length is None)


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


def rows_of(
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

# Of so many records the attributes are read together: the program has made most of them one after the other.
_BLOCK = 64


class Contents:
    """The arrays that `Elements` has of lists, and what reads rows of texts."""

    def __init__(self, arrays: dict[Lists, Sequence[Any]], texts: Callable[[np.ndarray], list[str]] | None) -> None:
        self.arrays, self.texts = arrays, texts
        self.empty: deque[tuple[Lists, int]] = deque()  # the rows whose lists have been made, and not filled
        self._unfinished: dict[int, bool] = {}  # by the ids of structures, which `Lists` keep

    def list_in(self, lists: Lists, position: int) -> list[Any]:
        """The list of a row. It is filled later, as it may hold itself, or be one of many, each of which holds the next."""
        rows = _made_of(lists, self.arrays[lists]).rows
        if position not in rows:
            rows[position] = shell(lists.records)
            self.empty.append((lists, position))
        return rows[position]

    def fill(self) -> None:
        """Put what they hold into the lists, and into those that turn up meanwhile."""
        containers = []
        while self.empty:
            lists, position = self.empty.popleft()
            held, elements = self.list_in(lists, position), self._elements_of(lists, position)
            if lists.records is None:
                held += elements
            elif is_container(lists.records):
                containers.append((lists.records, held[0], elements[0]))
            else:
                fill_record(lists.records, held[0], elements[0])
        for records, made, element in containers:  # of sets, all elements have to be whole
            fill_record(records, made, element)

    def is_unfinished(self, structure: pytree.Structure) -> bool:
        """Whether values of this structure have something in them that Python has not."""
        if structure is pytree.LEAF:
            return False
        found = self._unfinished.get(id(structure))
        if found is None:
            found = structure[0] in _UNFINISHED or any(map(self.is_unfinished, structure[2]))
            self._unfinished[id(structure)] = found
        return found

    def _elements_of(self, lists: Lists, position: int) -> list[Any]:
        form, arrays = lists.form, self.arrays[lists]
        read, _, blocks = _made_of(lists, arrays)
        arrays = [array if one is None else one for array, one in zip(arrays, read)]
        if lists.records is not None and not any(isinstance(array, ArrayOnDevice) for array in arrays):
            begin = position - position % _BLOCK
            if begin not in blocks:
                columns = [column[begin : begin + _BLOCK, 0] for column in arrays]
                rows = zip(columns, lists.weak)
                blocks[begin] = elements_from_arrays(form.structure, form.leaves, rows, len(columns[0]), self.texts)
            found = [blocks[begin][position - begin]]
        else:
            *columns, last = arrays if form.length is None else [*arrays, None]
            length = form.length if last is None else int(last[position])
            own = rows_of([column[position] for column in columns], form.leaves, lists.weak, form.capacity, length, 0)
            found = elements_from_arrays(form.structure, form.leaves, own, length, self.texts)
        return all_finished(found, form.structure, self)


class _Made(NamedTuple):
    """What has been read of arrays on a device, the lists that have been made of rows of arrays, by their numbers, and the
    elements of blocks of records, by the first numbers."""

    read: list[Any]
    rows: dict[int, list[Any]]
    blocks: dict[int, list[Any]]


# By the id of the first of the arrays, for as long as that is there: other places get the same lists.
_made: dict[int, tuple[weakref.ref, dict[Lists, _Made]]] = {}


def _made_of(lists: Lists, arrays: Sequence[Any]) -> _Made:
    first = arrays[0]
    if id(first) not in _made:
        _made[id(first)] = weakref.ref(first, lambda _, key=id(first): _made.pop(key, None)), {}
    of_first = _made[id(first)][1]
    if lists not in of_first:
        of_first[lists] = _Made([*map(_read, arrays, [*_hold_arrays(lists.form.leaves), False])], {}, {})
    return of_first[lists]


def _read(array: Any, holds_arrays: bool) -> np.ndarray | None:
    """What is read of an array on a device at once; None where its rows stay there, and of others, which may be gone soon."""
    return np.asarray(array) if isinstance(array, ArrayOnDevice) and not holds_arrays else None


def is_row(structure: pytree.Structure) -> bool:
    """Whether values of this structure are lists that lie in a table."""
    return structure[0] is list and len(structure[2]) == 1 and structure[2][0] is not pytree.LEAF and structure[2][0][0] is Row


def all_finished(values: list[Any], structure: pytree.Structure, contents: Contents) -> list[Any]:
    return [_finished(value, structure, contents) for value in values] if contents.is_unfinished(structure) else values


def _finished(value: Any, structure: pytree.Structure, contents: Contents) -> Any:
    """A value of this structure, with what Python has in the place of deques, rows and runs, whose columns are arrays by now,
    or lists of Python's numbers."""
    if not contents.is_unfinished(structure):
        return value
    if is_row(structure):
        return contents.list_in(value[0].table, int(value[0].position))
    kind, auxiliary, children = structure
    if kind is Maybe:
        return value if value is auxiliary else _finished(value, children[1], contents)
    if kind in (list, tuple):
        return kind(_finished_items(value, children, contents))
    if kind is TracedDeque:
        return deque(_finished_items(value, children, contents), maxlen=value.maxlen)
    if has_open_keys(value):
        (entries,) = contents_of(value).values()
        if is_row(children[0]):
            return finished_dict(entries[0].table.records, _finished(entries, children[0], contents))
        return maker_of(value)(_finished_items(entries, children[0][2], contents))
    if kind is Parts:
        held = attributes_of(value)
        for name, child in zip(auxiliary[1], children):
            set_held(value, name, _finished(held[name], child, contents))
        return value
    parts = [_finished(part, child, contents) for part, child in zip(pytree.taken_apart(value)[1], children)]
    return pytree.put_together(kind, auxiliary, parts)


def _finished_items(items: Iterable[Any], structures: Iterable[pytree.Structure], contents: Contents) -> list[Any]:
    found: list[Any] = []
    for item, structure in zip(items, structures):
        if type(item) is not Run:
            found.append(_finished(item, structure, contents))
            continue
        form, weak = item.form, [isinstance(column, list) for column in item.columns]
        columns = rows_of(item.columns, form.leaves, weak, form.capacity, item.length, item.start)
        elements = elements_from_arrays(form.structure, form.leaves, columns, int(item.length), contents.texts)
        found += all_finished(elements, form.structure, contents)
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
