"""Where the entries of a dict stand, by their keys: a table with open addressing beside the run of the entries.

A slot holds the number of a row, from 1 on, or 0. The table is as large as two times the capacity, so that there are free
slots.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .... import hlo
from ...control_flow.loops import while_loop
from ...recording.array import TracedArray, require_trace
from ..lists.elements import compared_keys
from ..lists.runs import Run, instruction_of, last_row, number_of

Instruction = hlo.Instruction
_MULTIPLIER = 0x9E3779B97F4A7C15  # 2^64 divided by the golden ratio: spreads keys that lie side by side


def _bits(part: Instruction) -> Instruction:
    """A part of a key as u64[]; what is equal has the same."""
    kind = part.shape.element_type
    if kind.is_complex:
        return hlo.xor(hlo.multiply(_bits(hlo.real(part)), _wide(_MULTIPLIER)), _bits(hlo.imag(part)))
    if kind.is_float:
        return hlo.bitcast_convert(hlo.add(hlo.convert(part, hlo.F64), 0.0), hlo.U64)  # -0.0 is 0.0
    return hlo.convert(hlo.convert(part, hlo.S64), hlo.U64)


def _first_slot(parts: Sequence[Instruction], size: int) -> Instruction:
    found = _wide(0)
    for part in parts:
        mixed = hlo.xor(hlo.xor(found, hlo.shift_right_logical(found, _wide(32))), _bits(part))
        found = hlo.multiply(mixed, _wide(_MULTIPLIER))
    return hlo.convert(hlo.shift_right_logical(found, _wide(64 - size.bit_length() + 1)), hlo.S64)


def _wide(number: int) -> Instruction:
    return hlo.constant(np.uint64(number))


def _at(array: TracedArray, place: Instruction) -> Instruction:
    """The number in a row; of a text where it begins, which tells those that are keys apart."""
    base = array.instruction(require_trace())
    if base.shape.rank == 2:
        return hlo.reshape(hlo.dynamic_slice(base, place, hlo.constant(np.int64(0)), sizes=(1, 1)), ())
    return hlo.reshape(hlo.dynamic_slice(base, place, sizes=(1,)), ())


def _number_of(part: Instruction) -> Instruction:
    return hlo.reshape(hlo.slice(part, (0,), (1,)), ()) if part.shape.rank else part


def _traced(instruction: Instruction) -> TracedArray:
    return TracedArray.from_instruction(require_trace(), instruction)


def slot_of(run: Run, parts: Sequence[Instruction]) -> tuple[Instruction, Instruction]:
    """The slot of a key, whose parts are of the columns' types, and what it holds: 0 where the key has no entry."""
    return _slot_of(run, [_number_of(parts[place]) for place in compared_keys(run.type)])


def _slot_of(run: Run, parts: Sequence[Instruction], index: TracedArray | None = None) -> tuple[Instruction, Instruction]:
    """The same of the numbers that tell keys apart, in another table perhaps."""
    index = run.index if index is None else index
    keys = [run.columns[place] for place in compared_keys(run.type)]
    (size,) = index.shape
    wanted = [_traced(part) for part in parts]

    def goes_on(slot: TracedArray) -> TracedArray:
        held = _at(index, slot.instruction(require_trace()))
        row = hlo.maximum(hlo.subtract(hlo.convert(held, hlo.S64), 1), 0)
        differs = None
        for column, part in zip(keys, wanted):
            other = hlo.ne(_at(column, row), part.instruction(require_trace()))
            differs = other if differs is None else hlo.or_(differs, other)
        return _traced(hlo.and_(hlo.ne(held, 0), differs))

    slot = while_loop(goes_on, lambda slot: (slot + 1) & (size - 1), _traced(_first_slot(parts, size)))
    place = slot.instruction(require_trace())
    return place, hlo.convert(_at(index, place), hlo.S64)


def with_entry(index: TracedArray, slot: Instruction, row: Instruction) -> TracedArray:
    """The table with a row in a slot."""
    number = hlo.convert(hlo.add(row, 1), hlo.S32)
    base = index.instruction(require_trace())
    return TracedArray.from_instruction(
        require_trace(), hlo.dynamic_update_slice(base, hlo.reshape(number, (1,)), slot), is_scalar=False
    )


def without_entry(run: Run, row: Instruction, is_there: Instruction) -> TracedArray:
    """The table without a row, if that is there; the rows behind it are one further in front."""
    index, held = _closed(run, row, is_there)
    behind = np.logical_and(index > number_of(held), _traced(is_there))
    return np.where(behind, index - 1, index).astype(np.int32)


def with_last_entry_at(run: Run, row: Instruction, is_there: Instruction) -> TracedArray:
    """The table without a row, if that is there; the last row takes its place."""
    index, _ = _closed(run, row, is_there)
    last = last_row(run)
    slot, held = _slot_of(run, [_at(run.columns[place], last) for place in compared_keys(run.type)], index)
    moves = hlo.and_(is_there, hlo.ne(last, row))
    return with_entry(index, slot, hlo.select(moves, row, hlo.subtract(held, 1)))


def _closed(run: Run, row: Instruction, is_there: Instruction) -> tuple[TracedArray, Instruction]:
    """The table without the entry of a row, if that is there, and what its slot has held.

    What lies behind the slot because that was taken moves there: Algorithm R of Knuth, The Art of Computer Programming, 6.4.
    """
    keys = [run.columns[place] for place in compared_keys(run.type)]
    (size,) = run.index.shape
    slot, held = _slot_of(run, [_at(column, row) for column in keys])
    is_removed = _traced(is_there)

    def is_taken(state: tuple[TracedArray, ...]) -> TracedArray:
        _, place, index = state
        return np.logical_and(is_removed, _traced(hlo.ne(_at(index, place.instruction(require_trace())), 0)))

    def move(state: tuple[TracedArray, ...]) -> tuple[TracedArray, ...]:
        free, place, index = state
        other = hlo.subtract(hlo.convert(_at(index, place.instruction(require_trace())), hlo.S64), 1)
        first = _traced(_first_slot([_at(column, other) for column in keys], size))
        moves = ((place - first) & (size - 1)) >= ((place - free) & (size - 1))
        target, free = np.where(moves, free, place), np.where(moves, place, free)
        return free, (place + 1) & (size - 1), with_entry(index, target.instruction(require_trace()), other)

    free, _, index = while_loop(is_taken, move, (_traced(slot), (_traced(slot) + 1) & (size - 1), run.index))
    freed = free.instruction(require_trace())
    nothing = hlo.select(is_there, hlo.constant(np.int64(-1)), hlo.subtract(hlo.convert(_at(index, freed), hlo.S64), 1))
    return with_entry(index, freed, nothing), held


def index_of(run: Run) -> TracedArray:
    """A table of all entries of a run."""
    size = 1 << (2 * run.form.capacity - 1).bit_length()
    empty = TracedArray.from_instruction(require_trace(), hlo.full(hlo.Shape(hlo.S32, (size,)), 0), is_scalar=False)
    if isinstance(run.length, int) and run.length == 0:
        return empty
    keys = [run.columns[place] for place in compared_keys(run.type)]
    # It may be larger where the capacity is guessed; a table that is full would be gone over forever.
    length = number_of(hlo.minimum(instruction_of(run.length), run.form.capacity))

    def put(state: tuple[TracedArray, TracedArray]) -> tuple[TracedArray, TracedArray]:
        row, index = state
        place = row.instruction(require_trace())
        first = _traced(_first_slot([_at(column, place) for column in keys], size))

        def is_taken(slot: TracedArray) -> TracedArray:
            return _traced(hlo.ne(_at(index, slot.instruction(require_trace())), 0))

        slot = while_loop(is_taken, lambda slot: (slot + 1) & (size - 1), first)
        return row + 1, with_entry(index, slot.instruction(require_trace()), place)

    return while_loop(lambda state: state[0] < length, put, (_traced(hlo.constant(np.int64(0))), empty))[1]
