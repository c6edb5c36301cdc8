"""Lists whose length the program decides, as a native call makes them: of rows of results."""

from __future__ import annotations

import itertools
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ... import hlo
from ..capture.choices import Choice, Maybe
from ..capture.entries import OPEN
from ..capture.lists import number_types
from ..capture.lists.deques import TracedDeque
from ..capture.lists.element_rows import returned_constant
from ..capture.lists.elements import LeafForm
from ..capture.lists.parts import Elements
from ..capture.lists.records import finished_dict
from ..capture.lists.references import Row
from ..capture.lists.results import Making
from ..capture.lists.runs import Form, Run
from ..capture.lists.when_run import Lists, from_entries, is_row
from ..capture.parts import Parts
from ..capture.texts.characters import TextAmongCharacters
from ..capture.texts.formats import Formats
from ..recording import pytree
from ..recording.makers import attributes_of, maker
from .native_places import NotNative
from .recorded_function import Output

# The kinds of outputs that are made of a result.
OF_RESULTS = ("result", "python scalar", "0-d array")
# The types of results that become Python's numbers.
PYTHON_NUMBERS = frozenset(map(np.dtype, (np.float64, np.int64, np.bool_, np.complex128, np.int32)))


def pieces_of(
    making: Making, children: Sequence[pytree.Structure], outputs: Iterator[Output]
) -> Iterator[tuple[Elements | None, Sequence[pytree.Structure], list[Output]]]:
    """The pieces of a list: what makes elements of several parts, or None for an element; the parts, and their outputs."""
    remaining = iter(children)
    for elements in making.pieces:
        parts = list(itertools.islice(remaining, 1 if elements is None else elements.count))
        yield elements, parts, list(itertools.islice(outputs, sum(map(pytree.leaf_count, parts))))


class Results(NamedTuple):
    """The types of the backend's, the shapes of the results, and whether Python makes all lists that lie in tables: those that
    stand at several places are made once, by native code or by Python."""

    types: Any
    shapes: Sequence[hlo.Shape]
    lists_by_python: bool


class _Column(NamedTuple):
    """A result by its number; whether its numbers are Python's; its type."""

    number: int
    is_weak: bool
    shape: hlo.Shape


def rows_of(results: Results, elements: Elements, outputs: Sequence[Output]) -> Any:
    """The elements as a native call has them; None where Python makes them."""
    if elements.lists and results.lists_by_python:
        return None
    if any(output.kind not in OF_RESULTS or output.order == "F" for output in outputs):
        if elements.lists:
            raise NotNative
        return None
    numbers = elements.own_count - len(elements.weak)
    weak = [*elements.weak, *[True] * numbers, *[False] * (elements.formats is not None)]
    for one in elements.lists:
        weak += [*one.weak, *[True] * (one.form.length is None)]
    columns = [_Column(output.index, is_weak, results.shapes[output.index]) for output, is_weak in zip(outputs, weak)]
    try:
        characters = None if elements.formats is None else columns[elements.own_count].number
        made = _Made(results.types, elements.arrays_of_lists(columns), characters, elements.formats)
        own = columns[: elements.own_count]
        return made.rows(elements.form, elements.length, elements.is_ring, own, int(elements.form.capacity > 1))
    except NotNative:
        if elements.lists:
            raise
        return None


def entries_of(results: Results, columns: Any, elements: Elements, outputs: Sequence[Output]) -> Any:
    """The entries that a container from outside gets, of which these columns are read; they have the same ones."""
    rows = rows_of(results, elements, outputs)
    if rows is None:
        raise NotNative
    numbers = tuple(_numbers_in(results.types, rows.part))
    return results.types.NewEntries(columns, numbers, rows.length, rows.known_length, rows.start, rows.capacity)


def _numbers_in(types: Any, part: Any) -> Iterator[Any]:
    """The columns of the numbers that a part is made of."""
    if isinstance(part, types.Leaf):
        yield from part.numbers
        return
    for one in part.parts:
        yield from _numbers_in(types, one)


class _Made:
    """What is made of columns, which have so many dimensions of rows. Raises NotNative for what is not.

    arrays: the columns of lists that are rows of tables. characters: the result that texts among the elements lie in.
    """

    def __init__(
        self, types: Any, arrays: dict[Lists, Sequence[_Column]], characters: int | None, formats: Formats | None
    ) -> None:
        self.types, self.arrays, self.characters, self.formats = types, arrays, characters, formats
        self.around: list[Lists] = []  # in whose elements this is

    def rows(self, form: Form, length: int | None, is_ring: bool, columns: Sequence[_Column], depth: int) -> Any:
        """The elements of a run; behind its columns stand its length and its start, where it has these."""
        remaining = list(columns)
        start = remaining.pop() if is_ring else None
        count = remaining.pop() if length is None else None
        if any(one is not None and one.shape.dtype != np.int64 for one in (start, count)):
            raise NotNative
        numbers = [None if one is None else one.number for one in (count, start)]
        part = self.part(form.structure, iter(form.leaves), iter(remaining), depth)
        return self.types.Rows(part, numbers[0], length or 0, numbers[1], form.capacity)

    def part(self, structure: Any, leaves: Iterator[LeafForm], columns: Iterator[_Column], depth: int) -> Any:
        container = self.types.Container
        if structure is pytree.LEAF:
            return self.leaf(next(leaves), columns, depth)
        kind, auxiliary, children = structure
        if kind in _LEFT_TO_PYTHON:
            raise NotNative
        if is_row(structure):
            return self.shared(structure[2][0][1], next(leaves), columns)
        if (make := _maker_of_entries(kind, auxiliary)) is not None:
            (entries,) = children
            if is_row(entries):
                make = partial(finished_dict, entries[2][0][1].records)
            return container("call", (self.part(entries, leaves, columns, depth),), make)
        parts = tuple([self.part_of_container(child, leaves, columns, depth) for child in children])
        if kind in (list, tuple, TracedDeque) and any(isinstance(part, self.types.Rows) for part in parts):
            pieces = container("pieces", parts)
            return pieces if kind is list else container("call", (pieces,), _maker_of_list(kind, auxiliary))
        if kind in (list, tuple, dict):
            return container(kind.__name__, parts, auxiliary)
        if kind is TracedDeque:
            return container("call", (container("list", parts),), _maker_of_list(kind, auxiliary))
        attributes = attributes_of(kind, auxiliary)
        return (
            container("call", parts, maker(kind, auxiliary))
            if attributes is None
            else container("attributes", parts, attributes)
        )

    def part_of_container(self, structure: Any, leaves: Iterator[LeafForm], columns: Iterator[_Column], depth: int) -> Any:
        """As `part`; several elements of a list are one part."""
        if structure is pytree.LEAF or structure[0] is not Run:
            return self.part(structure, leaves, columns, depth)
        _, form, children = structure
        forms = list(itertools.islice(leaves, len(children)))
        if any(one.is_coded or one.types or one.dynamic or not one.is_number for one in forms):
            raise NotNative
        own = list(itertools.islice(columns, len(children)))
        if form.key_columns is not None:  # the table to find entries by
            del own[sum(len(leaf.columns(None)) for leaf in form.leaves)]
        return self.rows(form, form.length, form.is_ring, own, depth + 1)

    def shared(self, lists: Lists, position: LeafForm, columns: Iterator[_Column]) -> Any:
        """A list that is a row of a table; this one where others are, too."""
        number = next(columns)
        if position.is_coded or position.types or number.shape.dtype != np.int64 or lists in self.around:
            raise NotNative
        self.around.append(lists)
        rows = self.rows(lists.form, lists.form.length, False, self.arrays[lists], 2)
        self.around.pop()
        return self.types.Shared(lists, lists.rows, number.number, self.types.Container("pieces", (rows,)))

    def leaf(self, form: LeafForm, columns: Iterator[_Column], depth: int) -> Any:
        codes = next(columns).number if form.is_coded else None
        numbers: list[Any] = []
        if form.dynamic:
            raise NotNative
        if form.text is not None:
            if self.characters is None:
                raise NotNative
            formats = _formats_of(self.types, None if form.text else self.formats)
            text = self.types.Text(self.characters, next(columns).number, None, is_pair=True, **formats)
            return self.types.Leaf((), codes, tuple(map(returned_constant, form.constants)), text)
        if form.types:
            held = {holder: next(columns) for holder in number_types.holders(form.types)}
            for kind in form.types:
                column = held[number_types.holder_of(kind)]
                numbers.append(self.numbers(column.number, kind.weak_type, True, kind.shape.dtype, ()))
        elif form.is_number:
            number, is_weak, shape = next(columns)
            numbers.append(self.numbers(number, is_weak, form.is_scalar, shape.dtype, shape.dimensions[depth:]))
        return self.types.Leaf(tuple(numbers), codes, tuple(map(returned_constant, form.constants)))

    def numbers(self, number: int, is_weak: bool, is_scalar: bool, dtype: np.dtype, shape: tuple[int, ...]) -> Any:
        if is_weak and (shape or dtype not in PYTHON_NUMBERS) or is_scalar and shape or dtype == np.float16:
            raise NotNative
        return self.types.Numbers(number, "number" if is_weak else "scalar" if is_scalar else "array", dtype, shape)


def text_of(results: Results, structure: pytree.Structure, outputs: Sequence[Output]) -> Any:
    """A text among the characters as a native call has it; None for what is none, and where Python makes it."""
    _, making, _ = structure
    if not isinstance(making, TextAmongCharacters) or any(output.kind not in (*OF_RESULTS, "value") for output in outputs):
        return None
    characters, *places = outputs
    if characters.kind == "value":
        return None
    numbers = [None if one.kind == "value" else one.index for one in places]
    known = [int(one.value) if one.kind == "value" else 0 for one in places]
    if any(number is not None and results.shapes[number].dtype != np.int64 for number in numbers):
        return None
    return results.types.Text(characters.index, *numbers, *known, **_formats_of(results.types, making.formats))


def _formats_of(types: Any, formats: Formats | None) -> dict[str, Any]:
    if formats is None:
        return {}
    return {"formats": tuple([types.number_format(*one) for one in formats.known]), "by_python": formats.text_of_bytes}


_LEFT_TO_PYTHON = frozenset({Run, Row, Maybe, Choice})


def _maker_of_entries(kind: type, auxiliary: Any) -> Any:
    """What makes a dict or a set of its entries, where the program decides on the keys; None elsewhere."""
    if kind is Parts and issubclass(auxiliary[0], (set, frozenset)):
        return partial(from_entries, auxiliary[0])
    if not issubclass(kind, dict):
        return None
    if kind is defaultdict:
        return partial(defaultdict, auxiliary[0]) if OPEN in auxiliary[1] else None
    if OPEN not in (auxiliary or ()):
        return None
    return dict if kind is dict else partial(from_entries, kind)


def _maker_of_list(kind: type, auxiliary: Any) -> Any:
    return tuple if kind is tuple else partial(deque, maxlen=auxiliary)
