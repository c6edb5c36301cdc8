"""The arrays that a list consists of whose length the program decides, and the list that is made of their contents."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .... import hlo
from ...recording import pytree
from ...recording.array import TracedArray, require_trace
from ..characters import memory
from ..entries import contents_of, has_open_keys
from ..forms import Parts
from . import number_types
from .deques import TracedDeque
from .elements import LeafForm, constant_of
from .runs import Form, Run, instructions, rows_between


@dataclass(frozen=True)
class Elements:
    """What gives a list of a run's elements, of the contents of its arrays when it has run: the columns, and these numbers.

    weak: for each column whether its numbers are Python's. length: None where it is the first of the numbers. is_ring: whether
    the last of them is the row of the first element. formats: of texts among the characters, which are then the last part. A
    column for one element is that alone.
    """

    form: Form
    weak: tuple[bool, ...]
    length: int | None
    is_ring: bool
    formats: Any = None

    @property
    def count(self) -> int:
        """How many parts there are."""
        return len(self.weak) + (self.length is None) + self.is_ring + (self.formats is not None)

    def __call__(self, parts: Sequence[Any]) -> list[Any]:
        texts = None
        if self.formats is not None:
            *parts, characters = parts
            texts = partial(self.formats.texts, characters)
        columns, numbers = parts[: len(self.weak)], list(map(int, parts[len(self.weak) :]))
        if self.form.capacity == 1:
            columns = [np.asarray(column)[None] for column in columns]
        length = numbers[0] if self.length is None else self.length
        rows = _rows(columns, self.form.capacity, length, numbers[-1] if self.is_ring else 0)
        found = elements_from_arrays(self.form.structure, self.form.leaves, zip(rows, self.weak), length, texts)
        return _all_finished(found, self.form.structure)


def parts_of(run: Run) -> tuple[list[TracedArray], Elements]:
    """The arrays that a run consists of, and what gives a list of its elements."""
    trace, form, columns = require_trace(), run.form, instructions(run)
    if form.capacity == 1:
        columns = [hlo.reshape(rows_between(column, 0, 1), column.shape.dimensions[1:]) for column in columns]
    arrays = [TracedArray.from_instruction(trace, column, is_scalar=not column.shape.rank) for column in columns]
    numbers = [number for number in (run.length, run.start) if isinstance(number, TracedArray)]
    weak = tuple([column.weak_type for column in run.type.columns])
    length = None if isinstance(run.length, TracedArray) else run.length
    formats = None
    if any(leaf.text is not None for leaf in form.leaves):
        held = memory()
        numbers.append(TracedArray.from_instruction(trace, held.now(), is_scalar=False))
        formats = held.formats
    return [*arrays, *numbers], Elements(form, weak, length, isinstance(run.start, TracedArray), formats)


def elements_from_arrays(
    structure: Any,
    forms: Sequence[LeafForm],
    columns: Iterable[tuple[np.ndarray, bool]],
    count: int,
    texts: Callable[[np.ndarray], list[str]] | None = None,
) -> list[Any]:
    """The elements whose rows these columns have when the program has run; weak ones are Python's numbers.

    texts: reads rows of texts.
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
            column, is_weak = next(pending)
            values = column.tolist() if is_weak else list(column)
            if not form.is_scalar and not is_weak:
                values = [np.array(value) for value in values]
        if codes is not None:
            first, table = form.codes_of_numbers, list(map(constant_of, form.constants))
            values = [values[row] if code < first else table[code - first] for row, code in enumerate(codes)]
        elif not form.is_number:
            values = [constant_of(form.constants[0])] * count
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


def _rows(columns: Sequence[Any], capacity: int, length: int, start: int) -> list[np.ndarray]:
    """So many rows of each column from this one on; the row of the capacity is the first one."""
    if start:
        columns = [np.roll(np.asarray(column)[:capacity], -start, axis=0) for column in columns]
    return [np.asarray(column)[:length] for column in columns]


_UNFINISHED = frozenset({Run, TracedDeque})


def _is_unfinished(structure: pytree.Structure) -> bool:
    return structure is not pytree.LEAF and (structure[0] in _UNFINISHED or any(map(_is_unfinished, structure[2])))


def _all_finished(values: list[Any], structure: pytree.Structure) -> list[Any]:
    return [_finished(value, structure) for value in values] if _is_unfinished(structure) else values


def _finished(value: Any, structure: pytree.Structure) -> Any:
    """A value of this structure in which there may be deques and runs, whose columns are arrays by now, or lists of Python's numbers."""
    if not _is_unfinished(structure):
        return value
    kind, auxiliary, children = structure
    if kind in (list, tuple):
        return kind(_finished_items(value, children))
    if kind is TracedDeque:
        return deque(_finished_items(value, children), maxlen=value.maxlen)
    if has_open_keys(value):
        (entries,) = contents_of(value).values()
        return maker_of(value)(_finished_items(entries, children[0][2]))
    if kind is Parts:
        for name, child in zip(auxiliary[1], children):
            object.__setattr__(value, name, _finished(getattr(value, name), child))
        return value
    return pytree.put_together(kind, auxiliary, list(map(_finished, pytree.taken_apart(value)[1], children)))


def _finished_items(items: Iterable[Any], structures: Iterable[pytree.Structure]) -> list[Any]:
    found: list[Any] = []
    for item, structure in zip(items, structures):
        if type(item) is not Run:
            found.append(_finished(item, structure))
            continue
        form, weak = item.form, [isinstance(column, list) for column in item.columns]
        columns = zip(_rows(item.columns, form.capacity, item.length, item.start), weak)
        found += _all_finished(elements_from_arrays(form.structure, form.leaves, columns, int(item.length)), form.structure)
    return found


def maker_of(value: Any) -> Callable[[list], Any]:
    """What makes a dict or a set as this one of a list of its entries."""
    if isinstance(value, defaultdict):
        return partial(defaultdict, value.default_factory)
    return partial(from_entries, type(value))


def from_entries(kind: type, entries: list[tuple[Any, Any]]) -> Any:
    return kind(dict(entries))
