"""Lists whose length the program decides as what a call returns, or sets outside: lists of that length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..recording import pytree
from .list_runs import Run, is_open_list, parts_of


class _Result:
    """A container in the place of such a list, which a call puts together as a list."""

    def __init__(self, items: Sequence[Any]) -> None:
        self.items = items


def _taken_apart(result: _Result) -> tuple[list[Any], tuple[Any, ...]]:
    """The parts, and how many of them make up elements; None for an element that is one itself."""
    parts: list[Any] = []
    pieces = []
    for item in result.items:
        arrays, elements = parts_of(item) if type(item) is Run else ([item], None)
        parts += arrays
        pieces.append((len(arrays), elements))
    return parts, tuple(pieces)


def _put_together(pieces: Sequence[Any], parts: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    begin = 0
    for count, elements in pieces:
        given = list(parts[begin : begin + count])
        found += given if elements is None else elements(given)
        begin += count
    return found


pytree.register_pytree(_Result, _taken_apart, _put_together)


def with_results(tree: Any) -> Any:
    """The tree, with what becomes a list of the right length where there are such lists."""
    leaves, structure = pytree.flatten(tree, is_open_list)
    if not any(map(is_open_list, leaves)):
        return tree
    leaves = [
        _Result([item if type(item) is Run else with_results(item) for item in leaf]) if is_open_list(leaf) else leaf
        for leaf in leaves
    ]
    return pytree.unflatten(structure, leaves)
