"""The arrays that a list consists of whose length the program decides, and the list that is made of their contents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...recording.array import TracedArray, require_trace
from .elements import elements_from_arrays
from .runs import Run, instructions


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
