"""Rows of lists that move: pushed back by what is inserted, pulled forward, turned round, exchanged."""

from __future__ import annotations

from typing import Any

import numpy as np

from .... import hlo
from ...control_flow.loops import while_loop
from ...recording.array import TracedArray, require_trace
from ...recording.differences import constant_difference
from .columns import rows_at, rows_between, with_block
from .runs import (
    Run,
    instruction_of,
    instructions,
    made,
    number_of,
    ordered,
    plus,
    require_capacity,
    row_in_memory,
    with_columns,
)

Instruction = hlo.Instruction

_ROWS_AT_ONCE = 64
_PlacesAndColumns = tuple[TracedArray, TracedArray, list[TracedArray]]


def pushed_back(run: Run, place: Instruction, length: Any) -> Run:
    """The run with the elements from a position on one place further back."""
    run = ordered(run)
    return moved_rows(run, number_of(instruction_of(run.length)), number_of(place), -1, length)


def pulled_forward(run: Run, place: Instruction, length: Any) -> Run:
    """The run with the elements behind a position one place further in front."""
    run = ordered(run)
    return moved_rows(run, number_of(place), plus(run.length, -1), 1, length)


def replaced_rows(run: Run, start: Instruction, removed: Instruction, piece: Run) -> Run:
    """The run with the elements of another one in the place of so many from a position on, which are there."""
    added = instruction_of(piece.length)
    difference = constant_difference(added, removed)
    if difference != 0:
        more, behind = hlo.subtract(added, removed), hlo.add(start, added)
        length = number_of(hlo.add(instruction_of(run.length), more))
        require_capacity(length, run.form.capacity, run.form.place)
        if difference is None or difference < 0:
            first = number_of(hlo.select(hlo.lt(more, 0), behind, instruction_of(length)))
            run = moved_rows(run, first, length, number_of(hlo.negate(more)), run.length)
        if difference is None or difference > 0:
            last = plus(length, -1)
            end = number_of(hlo.select(hlo.gt(more, 0), hlo.subtract(behind, 1), instruction_of(last)))
            run = moved_rows(run, last, end, number_of(hlo.negate(more)), run.length, is_backwards=True)
    else:
        length = run.length
    count = min(piece.form.capacity, run.form.capacity)
    blocks = [rows_between(column, 0, count) for column in instructions(ordered(piece))]
    within = None if piece.form.length == count else added
    columns = [with_block(column, start, block, within) for column, block in zip(instructions(run), blocks)]
    return made(run.type, columns, length, run.form.place)


def moved_rows(
    run: Run, first: TracedArray, end: Any, distance: int | TracedArray, length: Any, is_backwards: bool = False
) -> Run:
    """From a row on, before the end, each holds what the one at a distance held: many at once, as long as there are so many.

    Backwards where that is said, or the distance is -1.
    """
    trace = require_trace()
    step = -1 if is_backwards or isinstance(distance, int) and distance < 0 else 1
    columns = [TracedArray.from_instruction(trace, column, is_scalar=False) for column in instructions(run)]
    for count in (_ROWS_AT_ONCE, 1) if run.form.capacity >= _ROWS_AT_ONCE else (1,):

        def goes_on(state: tuple[TracedArray, list[TracedArray]], count: int = count) -> TracedArray:
            return state[0] + count <= end if step > 0 else state[0] - count >= end

        def move(state: tuple[TracedArray, list[TracedArray]], count: int = count) -> tuple[TracedArray, list[TracedArray]]:
            row, columns = state
            trace = require_trace()
            place, after = row.instruction(trace), []
            place = place if step > 0 else hlo.subtract(place, count - 1)
            for column in columns:
                base = column.instruction(trace)
                moved = with_block(base, place, rows_at(base, hlo.add(place, instruction_of(distance)), count), None)
                after.append(TracedArray.from_instruction(trace, moved, is_scalar=False))
            return row + step * count, after

        first, columns = while_loop(goes_on, move, (first, columns))
    return made(run.type, [column.instruction(trace) for column in columns], length, run.form.place)


def rotated_rows(run: Run, back: Instruction, forward: Instruction) -> Run:
    """The run with so many elements from its end in front, or, if these are fewer, so many from its front at the end.

    Both are the same order; only what changes its end moves, as the rows are a ring.
    """
    trace, capacity, length = require_trace(), run.form.capacity, instruction_of(run.length)
    is_back = hlo.le(back, forward)
    columns = [TracedArray.from_instruction(trace, column, is_scalar=False) for column in instructions(run)]
    length, step = number_of(length), number_of(hlo.select(is_back, hlo.constant(np.int64(-1)), hlo.constant(np.int64(1))))

    def within(row: TracedArray) -> TracedArray:
        return row + np.where(row < 0, capacity, np.where(row >= capacity, -capacity, 0))

    def move(state: _PlacesAndColumns) -> _PlacesAndColumns:
        left, start, columns = state
        taken, place = start + np.where(step < 0, length - 1, 0), start + np.where(step < 0, -1, length)
        taken, place = (within(row).instruction(require_trace()) for row in (taken, place))
        return left - 1, within(start + step), [_with_copied_row(column, taken, place) for column in columns]

    start = number_of(instruction_of(run.start))
    state = (number_of(hlo.minimum(back, forward)), start, columns)
    _, start, columns = while_loop(lambda state: state[0] > 0, move, state)
    return made(run.type, [column.instruction(trace) for column in columns], run.length, run.form.place, start)


def exchanged_rows(run: Run) -> Run:
    """The run in the other order: the first element changes places with the last one, and so on."""
    trace = require_trace()
    columns = [TracedArray.from_instruction(trace, column, is_scalar=False) for column in instructions(run)]

    def exchange(state: _PlacesAndColumns) -> _PlacesAndColumns:
        first, last, columns = state
        one, other = (row_in_memory(run, position.instruction(require_trace())) for position in (first, last))
        return first + 1, last - 1, [_with_rows_exchanged(column, one, other) for column in columns]

    state = (number_of(hlo.constant(np.int64(0))), number_of(instruction_of(plus(run.length, -1))), columns)
    *_, columns = while_loop(lambda state: state[0] < state[1], exchange, state)
    return with_columns(run, [column.instruction(trace) for column in columns])


def _with_rows_exchanged(column: TracedArray, one: Instruction, other: Instruction) -> TracedArray:
    base = column.instruction(require_trace())
    rows = [rows_at(base, place, 1) for place in (other, one)]
    for place, row in zip((one, other), rows):
        base = with_block(base, place, row, None)
    return TracedArray.from_instruction(require_trace(), base, is_scalar=False)


def _with_copied_row(column: TracedArray, taken: Instruction, place: Instruction) -> TracedArray:
    trace = require_trace()
    base = column.instruction(trace)
    return TracedArray.from_instruction(trace, with_block(base, place, rows_at(base, taken, 1), None), is_scalar=False)
