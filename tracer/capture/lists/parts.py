"""The arrays that a list consists of whose length the program decides, and the list that is made of their contents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...recording import pytree
from ...recording.array import TracedArray, require_trace
from .elements import elements_from_arrays
from .runs import Run, instructions


def parts_of(run: Run) -> tuple[list[TracedArray], Any]:
    """The arrays that a run consists of, and what gives a list of its elements, of the arrays' contents when it has run."""
    form, kind = run.form, run.type
    arrays = [TracedArray.from_instruction(require_trace(), column, is_scalar=False) for column in instructions(run)]
    numbers = [number for number in (run.length, run.start) if isinstance(number, TracedArray)]
    weak = [column.weak_type for column in kind.columns]
    holds_runs = _holds_runs(form.structure)

    def elements(given: Sequence[Any]) -> list[Any]:
        others = [int(number) for number in given[len(arrays) :]]
        length = run.length if isinstance(run.length, int) else others.pop(0)
        start = others.pop(0) if others else 0
        columns = zip(_rows(given[: len(arrays)], form.capacity, length, start), weak)
        found = elements_from_arrays(form.structure, form.leaves, columns, length)
        return list(map(_finished, found)) if holds_runs else found

    return [*arrays, *numbers], elements


def _rows(columns: Sequence[Any], capacity: int, length: int, start: int) -> list[np.ndarray]:
    """So many rows of each column from this one on; the row of the capacity is the first one."""
    if start:
        columns = [np.roll(np.asarray(column)[:capacity], -start, axis=0) for column in columns]
    return [np.asarray(column)[:length] for column in columns]


def _holds_runs(structure: Any) -> bool:
    return structure is not pytree.LEAF and (structure[0] is Run or any(map(_holds_runs, structure[2])))


def _finished(value: Any) -> Any:
    """An element in which there may be runs, whose columns are arrays by now, or lists of Python's numbers."""
    if type(value) not in (list, tuple):
        return value
    found: list[Any] = []
    for item in value:
        if type(item) is not Run:
            found.append(_finished(item))
            continue
        weak = [isinstance(column, list) for column in item.columns]
        columns = zip(_rows(item.columns, item.form.capacity, item.length, item.start), weak)
        given = elements_from_arrays(item.form.structure, item.form.leaves, columns, int(item.length))
        found += map(_finished, given)
    return type(value)(found)
