"""Lists whose length the program decides as what a call returns, or sets outside: lists of that length."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..recording import pytree
from ..recording.array import TracedArray, require_trace
from .deques import TracedDeque
from .list_access import items_of
from .list_elements import elements_from_arrays
from .list_runs import Run, instructions, is_open_list


def parts_of(run: Run) -> tuple[list[TracedArray], Any]:
    """The arrays that a run consists of, and what gives a list of its elements, of the arrays' contents when it has run."""
    form, kind = run.form, run.type
    arrays = [TracedArray.from_instruction(require_trace(), column, is_scalar=False) for column in instructions(run)]
    numbers = [number for number in (run.length, run.start) if isinstance(number, TracedArray)]
    weak = [column.weak_type for column in kind.columns]

    def elements(given: Sequence[Any]) -> list[Any]:
        others = [int(number) for number in given[len(arrays) :]]
        length = run.length if isinstance(run.length, int) else others.pop(0)
        start = others.pop(0) if others else 0
        columns = [np.asarray(column)[: form.capacity] for column in given[: len(arrays)]]
        if start:
            columns = [np.roll(column, -start, axis=0) for column in columns]
        given = [(column[:length], one) for column, one in zip(columns, weak)]
        return elements_from_arrays(form.structure, form.leaves, given, length, _finished)

    return [*arrays, *numbers], elements


def _finished(value: Any) -> Any:
    """An element in which there may be runs, whose columns are arrays by now, or lists of Python's numbers."""
    if type(value) not in (list, tuple):
        return value
    found: list[Any] = []
    for item in value:
        if type(item) is not Run:
            found.append(_finished(item))
            continue
        columns = [np.roll(np.asarray(column)[: item.form.capacity], -item.start, axis=0) for column in item.columns]
        weak = [isinstance(column, list) for column in item.columns]
        given = [(column[: item.length], one) for column, one in zip(columns, weak)]
        found += elements_from_arrays(item.form.structure, item.form.leaves, given, int(item.length), _finished)
    return type(value)(found)


class _Result:
    """A container in the place of such a list (or tuple, or deque), which a call puts together as one."""

    def __init__(self, items: Sequence[Any], kind: type, maxlen: int | None) -> None:
        self.items, self.kind, self.maxlen = items, kind, maxlen


def _taken_apart(result: _Result) -> tuple[list[Any], tuple[Any, ...]]:
    """The parts, and how many of them make up elements; None for an element that is one itself."""
    parts: list[Any] = []
    pieces = []
    for item in result.items:
        arrays, elements = parts_of(item) if type(item) is Run else ([item], None)
        parts += arrays
        pieces.append((len(arrays), elements))
    return parts, (result.kind, result.maxlen, tuple(pieces))


def _put_together(auxiliary: tuple[type, int | None, Sequence[Any]], parts: Sequence[Any]) -> Any:
    kind, maxlen, pieces = auxiliary
    found: list[Any] = []
    begin = 0
    for count, elements in pieces:
        given = list(parts[begin : begin + count])
        found += given if elements is None else elements(given)
        begin += count
    return found if kind is list else kind(found) if kind is tuple else kind(found, maxlen)


pytree.register_pytree(_Result, _taken_apart, _put_together)


def with_results(tree: Any) -> Any:
    """The tree, with what becomes a list of the right length where there are such lists."""
    leaves, structure = pytree.flatten(tree, _is_replaced)
    if not any(map(_is_replaced, leaves)):
        return tree
    return pytree.unflatten(structure, [_result(leaf) if _is_replaced(leaf) else leaf for leaf in leaves])


def _is_replaced(value: Any) -> bool:
    return type(value) is TracedDeque or is_open_list(value)


def _result(value: Any) -> _Result:
    items = [item if type(item) is Run else with_results(item) for item in items_of(value)]
    kind = deque if type(value) is TracedDeque else tuple if type(value) is tuple else list
    return _Result(items, kind, getattr(value, "maxlen", None))
