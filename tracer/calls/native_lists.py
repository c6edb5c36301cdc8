"""Lists whose length the program decides, as a native call makes them: of rows of results."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from ..capture.lists.elements import LeafForm, constant_of
from ..capture.lists.parts import Elements
from ..capture.lists.results import Making
from ..recording import pytree
from .traced_function import Output

# The kinds of outputs that are made of a result.
OF_RESULTS = ("result", "python scalar", "0-d array")


def pieces_of(
    making: Making, children: Sequence[pytree.Structure], outputs: Iterator[Output]
) -> Iterator[tuple[Elements | None, Sequence[pytree.Structure], list[Output]]]:
    """The pieces of a list: what makes elements of several parts, or None for an element; the parts, and their outputs."""
    remaining = iter(children)
    for elements in making.pieces:
        parts = list(itertools.islice(remaining, 1 if elements is None else elements.count))
        yield elements, parts, list(itertools.islice(outputs, sum(map(pytree.leaf_count, parts))))


def is_made_of_rows(types: Any, elements: Elements, outputs: Sequence[Output]) -> bool:
    """Whether native code makes such elements: numbers, constants, and tuples of them."""
    structure = elements.form.structure
    is_flat = structure is pytree.LEAF or structure[0] is tuple and all(child is pytree.LEAF for child in structure[2])
    if not is_flat or len(elements.form.leaves) > types.MOST_LEAVES or any(output.kind not in OF_RESULTS for output in outputs):
        return False
    if any(form.types for form in elements.form.leaves):
        return False
    return all(form.is_scalar or is_weak or not form.is_number for form, _, _, is_weak in _columns(elements))


def _columns(elements: Elements) -> Iterator[tuple[LeafForm, int | None, int | None, bool]]:
    """For each leaf the places of its codes and its numbers among the columns, if any; whether the numbers are Python's."""
    place = 0
    for form in elements.form.leaves:
        codes = place if form.is_coded else None
        place += form.is_coded
        numbers = place if form.is_number else None
        place += form.is_number
        yield form, codes, numbers, form.is_number and elements.weak[place - 1]


def rows_of(types: Any, elements: Elements, outputs: Sequence[Output]) -> Any:
    """The elements as a native call has them."""
    leaves, is_tuple = _leaves(types, elements, outputs), elements.form.structure is not pytree.LEAF
    return types.Rows(leaves, is_tuple, *_extent(elements, outputs), elements.form.capacity)


def entries_of(types: Any, columns: Any, elements: Elements, outputs: Sequence[Output]) -> Any:
    """The entries that a container from outside gets, of which these columns are read; they have the same ones."""
    leaves = tuple([leaf for leaf in _leaves(types, elements, outputs) if leaf.numbers is not None])
    return types.NewEntries(columns, leaves, *_extent(elements, outputs), elements.form.capacity)


def _leaves(types: Any, elements: Elements, outputs: Sequence[Output]) -> tuple[Any, ...]:
    return tuple(
        [
            types.RowLeaf(
                _result(outputs, numbers), "number" if is_weak else "scalar", _result(outputs, codes),
                tuple(map(constant_of, form.constants)),
            )
            for form, codes, numbers, is_weak in _columns(elements)
        ]
    )  # fmt: skip


def _extent(elements: Elements, outputs: Sequence[Output]) -> tuple[int | None, int, int | None]:
    """The results that say how many elements there are, or how many there are, and which row is the first."""
    length = len(elements.weak) if elements.length is None else None
    start = len(outputs) - 1 if elements.is_ring else None
    return _result(outputs, length), elements.length or 0, _result(outputs, start)


def _result(outputs: Sequence[Output], place: int | None) -> int | None:
    return None if place is None else outputs[place].index
