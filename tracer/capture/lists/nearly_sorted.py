"""Lists that loops bring in order again, as `top.append(v); top.sort()`: each element moves to where it belongs, in its memory.

That takes about as many steps as there are elements where few are out of order, as Python's own sort does. What turns out to
be in no order is left for a sort of all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .... import hlo
from ...control_flow.loops import while_loop
from ...recording.array import TracedArray, require_trace
from ...recording.trace import Trace
from .columns import rows_at, with_block
from .elements import hold_texts
from .references import are_positions
from .runs import Run, instruction_of, instructions, number_of, row_in_memory, with_columns

Instruction = hlo.Instruction
# What has more elements in wrong places, or needs more moves besides one for each, is in no order.
_MOST_MISPLACED, _MOST_MOVES = 32, 1024

# The element that is moved, where it has come to, how many more moves and misplaced elements there may be, whether one was NaN,
# and the columns.
_State = tuple[TracedArray, TracedArray, TracedArray, TracedArray, TracedArray, list[list[TracedArray]]]


def is_worth_it(keys: Run) -> bool:
    """Whether a round of a loop brings these in order, and their numbers alone say in which."""
    if not keys.columns or keys.form.length is not None or not _is_in_loop(require_trace()) or hold_texts(keys.form.leaves):
        return False
    if True in are_positions(keys.form.structure):
        return False
    are_numbers = all(leaf.is_number and not leaf.is_coded and not leaf.types for leaf in keys.form.leaves)
    return are_numbers and all(column.ndim == 1 and not column.element_type.is_complex for column in keys.columns)


def _is_in_loop(trace: Trace | None) -> bool:
    while trace is not None and not trace.repeats:
        trace = trace.parent
    return trace is not None


def moved_into_order(runs: Sequence[Run], descending: bool) -> tuple[list[Run], TracedArray]:
    """The runs with their elements moved alike, by the order of the last one's, and whether they are in order.

    They are not where many are misplaced, or something is NaN.
    """
    length = number_of(instruction_of(runs[0].length))
    columns = [[_array(column) for column in instructions(one)] for one in runs]

    def goes_on(state: _State) -> TracedArray:
        element, _, moves, misplaced, is_nan, _ = state
        is_in_order = np.logical_and(np.logical_and(moves > 0, misplaced > 0), np.logical_not(is_nan))
        return np.logical_and(element < length, is_in_order)

    def step(state: _State) -> _State:
        element, place, moves, misplaced, is_nan, columns = state
        here, before = ([_row(one, each, place - back) for one, each in zip(runs, columns)] for back in (0, 1))
        compared = [(_number(a), _number(b)) for a, b in zip(here[-1], before[-1])]
        pairs = [(b, a) if descending else (a, b) for a, b in compared]
        moves_on = np.logical_and(place > 0, _is_less(pairs))
        is_nan = np.logical_or(is_nan, _any([a != a for a, _ in compared]))
        first, second = (np.where(moves_on, one, other) for one, other in ((place - 1, place), (place, place)))
        exchanged = []
        for one, each, rows, others in zip(runs, columns, here, before):
            kept = [np.where(moves_on, b, a) for a, b in zip(rows, others)]
            each = [_with_row(one, column, second, row) for column, row in zip(each, kept)]
            exchanged.append([_with_row(one, column, first, row) for column, row in zip(each, rows)])
        misplaced = misplaced - np.where(np.logical_and(moves_on, place == element), 1, 0)
        element = element + np.where(moves_on, 0, 1)
        return element, np.where(moves_on, place - 1, element), moves - np.where(moves_on, 1, 0), misplaced, is_nan, exchanged

    first, no = number_of(hlo.constant(np.int64(0))), _array(hlo.constant(np.bool_(False)), is_scalar=True)
    misplaced = number_of(hlo.constant(np.int64(_MOST_MISPLACED)))
    state = (first, first, length + _MOST_MOVES, misplaced, no, columns)
    element, _, _, _, is_nan, columns = while_loop(goes_on, step, state)
    found = [with_columns(run, [one.instruction(require_trace()) for one in own]) for run, own in zip(runs, columns)]
    return found, np.logical_and(element >= length, np.logical_not(is_nan))


def _array(instruction: Instruction, is_scalar: bool = False) -> TracedArray:
    return TracedArray.from_instruction(require_trace(), instruction, weak_type=is_scalar, is_scalar=is_scalar)


def _row(run: Run, columns: list[TracedArray], position: TracedArray) -> list[TracedArray]:
    """The row of an element, in front of the first one that of the first."""
    place = row_in_memory(run, hlo.maximum(position.instruction(require_trace()), 0))
    return [_array(rows_at(column.instruction(require_trace()), place, 1)) for column in columns]


def _with_row(run: Run, column: TracedArray, position: TracedArray, row: TracedArray) -> TracedArray:
    trace = require_trace()
    place = row_in_memory(run, position.instruction(trace))
    return _array(with_block(column.instruction(trace), place, row.instruction(trace), None))


def _number(row: TracedArray) -> TracedArray:
    return _array(hlo.reshape(row.instruction(require_trace()), ()), is_scalar=True)


def _is_less(pairs: list[tuple[TracedArray, TracedArray]]) -> TracedArray:
    """Whether the numbers of one element come before those of another, as tuples do."""
    found = None
    for one, other in reversed(pairs):
        less = np.less(one, other)
        found = less if found is None else np.logical_or(less, np.logical_and(one == other, found))
    return found


def _any(truths: list[TracedArray]) -> TracedArray:
    found = truths[0]
    for one in truths[1:]:
        found = np.logical_or(found, one)
    return found
