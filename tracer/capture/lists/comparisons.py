"""Elements of lists whose length the program decides, compared with others: ``in``, ``==``, ``index``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .... import hlo
from ...recording import pytree
from ...recording.array import TracedArray, require_trace
from ...recording.errors import AMBIGUOUS, LeftToPython
from ..forms import is_number
from .access import any_row, items_of, of_common_types, rows_inside
from .columns import rows_between
from .elements import ElementType, element_type, joined_type
from .equal_rows import equal_rows
from .references import require_comparable
from .runs import (
    Run,
    instruction_of,
    instructions,
    length_of,
    made,
    number_of,
    ordered,
    retyped,
    settled,
    type_of_items,
)
from .text_ranks import both_written, written

Instruction = hlo.Instruction


def matches(run: Run, value: Any) -> Instruction | None:
    """Which rows, pred[capacity], hold an element that is equal to the value; None where none can be."""
    require_comparable(run.form.structure, "a search for elements")
    numbers = [number for leaf, number in zip(run.form.leaves, run.type.numbers) if leaf.is_number and leaf.text is None]
    if run.form.structure is pytree.LEAF and any(number.shape.size > 1 for number in numbers):
        raise ValueError(AMBIGUOUS)
    _refuse_sized(run.type)
    run, value = both_written(run, value)
    kind = joined_type(run.type, element_type(value))
    if kind is None:
        return None
    one, other = ordered(retyped(run, kind)), settled([value], kind)
    found = rows_inside(run)
    if not is_number(value) or isinstance(value, TracedArray) or value != value:
        for is_nan in rows_of_nan(other):
            _leave_nan_to_python(hlo.and_(found, hlo.full_like(found, hlo.reshape(hlo.slice(is_nan, (0,), (1,)), ()))))
    return hlo.and_(found, equal_rows(one, other, True)) if one.columns else found


def _refuse_sized(kind: ElementType) -> None:
    if kind.holds_sized_arrays:
        raise NotImplementedError(f"a comparison of elements of a list whose length the program decides, each {kind}")


def rows_of_nan(run: Run) -> list[Instruction]:
    """For each column of floats which rows are NaN."""
    columns = instructions(of_common_types(run))
    kinds = [(column, column.shape.element_type) for column in columns if column.shape.rank == 1]
    return [hlo.ne(column, column) for column, kind in kinds if kind.is_float or kind.is_complex]


def _leave_nan_to_python(rows: Instruction) -> None:
    """Whether two that are NaN count as equal where lists are compared depends on whether they are one object."""
    require_trace().add_error_flag(any_row(rows), LeftToPython, "a comparison of lists with NaN")


def _truth(instruction: Instruction) -> TracedArray:
    return TracedArray.from_instruction(require_trace(), instruction, weak_type=True)


def holds(holder: list, value: Any) -> Any:
    """``value in holder``"""
    items = items_of(holder)
    if type_of_items(items) is None:
        return False
    rows = matches(settled(items), value)
    return False if rows is None else _truth(any_row(rows))


def first_match(items: Sequence[Any], value: Any) -> tuple[TracedArray, Instruction] | None:
    """The position of the first element that is equal to the value, and whether there is one; None where none can be."""
    rows = matches(settled(items), value) if items else None
    if rows is None:
        return None
    trace = require_trace()
    position = np.argmax(TracedArray.from_instruction(trace, rows, is_scalar=False))
    return number_of(hlo.convert(position.instruction(trace), hlo.S64)), any_row(rows)


def _sequence_of(value: Any) -> type:
    """What a list is that may be one from outside, or a deque."""
    return getattr(type(value), "followed_class", list if isinstance(value, list) else type(value))


def equal(first: Any, second: Any) -> Any:
    """``first == second`` of lists, of which one at least has a length that the program decides."""
    if _sequence_of(first) is not _sequence_of(second):
        return False
    first, second = items_of(first), items_of(second)
    lengths = hlo.eq(instruction_of(length_of(first)), instruction_of(length_of(second)))
    kinds = type_of_items(first), type_of_items(second)
    if None in kinds:
        return _truth(lengths)
    first, second = written(first), written(second)
    kinds = type_of_items(first), type_of_items(second)
    for kind in kinds:
        require_comparable(kind.structure, "==")
    kind = joined_type(*kinds)
    if kind is not None:
        _refuse_sized(kind)
    if kind is None:
        return _truth(hlo.and_(lengths, hlo.eq(instruction_of(length_of(first)), 0)))
    runs = [ordered(settled(items, kind)) for items in (first, second)]
    capacity = min(run.form.capacity for run in runs)
    runs = [made(kind, [rows_between(column, 0, capacity + 1) for column in instructions(run)], run.length) for run in runs]
    rows = hlo.iota(hlo.Shape(hlo.S64, (capacity + 1,)), 0)
    outside = hlo.ge(rows, hlo.full_like(rows, instruction_of(runs[0].length)))
    for both in zip(*map(rows_of_nan, runs)):
        _leave_nan_to_python(hlo.and_(hlo.not_(outside), hlo.and_(*both)))
    differs = hlo.not_(hlo.or_(outside, equal_rows(*runs, False)))
    return _truth(hlo.and_(lengths, hlo.not_(any_row(differs))))
