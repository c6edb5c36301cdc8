"""Texts that the program makes as keys of dicts and elements of sets: of equal ones there is one copy, known by where it lies.

The copies lie at the end of the program's characters, from the last one down, where nobody lets their room be free. A table
with open addressing finds them by their characters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .... import hlo
from ...control_flow.loops import while_loop
from ...recording.array import TracedArray, require_trace
from ...recording.errors import RecordedAgain, SizeBeyondBound
from ..choices import Choice
from ..lists.runs import instruction_of, number_of
from ..lists.tables import array_of_column, recording_in
from .bytes_as_codes import codes_of_bytes, sum_of_codes, weighed
from .bytes_as_texts import bytes_of_text
from .characters import ARE_KEYS, PLACE, below, memory, text_at
from .deferred import Deferred, WrittenText, is_bytes, is_text
from .reading import alike, plain, plain_of_bytes

Instruction = hlo.Instruction
_PLACE_OF_KEYS, _LEAST = "different texts that are keys", 128
_MULTIPLIER = 0x9E3779B97F4A7C15  # 2^64 divided by the golden ratio


class Table:
    """Where the copies lie, how long they are, and the sums of their characters; a free slot has the place 0."""

    def __init__(self, most: int) -> None:
        self.most, self.size = most, 1 << (2 * most - 1).bit_length()
        kinds = (hlo.S64, hlo.S64, hlo.U64)
        self.starts, self.lengths, self.sums = (
            array_of_column(hlo.full(hlo.Shape(kind, (self.size,)), 0), False) for kind in kinds
        )
        self.count = array_of_column(hlo.full(hlo.Shape(hlo.S64, (1,)), 0), True)


def _at(array: TracedArray, place: Instruction) -> Instruction:
    return hlo.reshape(hlo.dynamic_slice(array.instruction(require_trace()), place, sizes=(1,)), ())


def _put(array: TracedArray, place: Instruction, value: Instruction) -> None:
    base = array.instruction(require_trace())
    array.set_value(hlo.dynamic_update_slice(base, hlo.reshape(value, (1,)), place))


def are_written() -> bool:
    """Whether keys that are texts are written among the characters."""
    return ARE_KEYS in require_trace().program.guessed_bounds


def _table() -> Table:
    trace, held = require_trace(), memory()
    if held.interned is None:
        with recording_in(trace.root):
            held.interned = Table(trace.program.guessed_bounds.setdefault(_PLACE_OF_KEYS, _LEAST))
    return held.interned


def holds_text(key: Any) -> bool:
    """Whether a key, or a part of it, is a text that the program makes."""
    if type(key) is tuple:
        return any(map(holds_text, key))
    if type(key) is Choice:
        return any(map(holds_text, key.values))
    return is_text(key) and not isinstance(key, str)


def holds_texts_of_any_kind(key: Any) -> bool:
    return any(map(holds_texts_of_any_kind, key)) if type(key) is tuple else is_text(key) or type(key) is bytes


def require_written(key: Any) -> None:
    """Raises RecordedAgain for the first key that is such a text."""
    if not are_written() and holds_text(key):
        require_trace().program.guessed_bounds[ARE_KEYS] = True
        raise RecordedAgain


def as_key(key: Any) -> Any:
    """A key with the one copy in the place of each text, and of each that is bytes."""
    if type(key) is tuple:
        return tuple(map(as_key, key))
    if is_bytes(key):
        return key if type(key) is Deferred and key.function is bytes_of_text else _known_before(key, _interned_bytes)
    return _known_before(key, lambda key: interned(plain(key))) if is_text(key) else key


def _known_before(key: Any, make: Callable[[Any], Any]) -> Any:
    """What stands for a key that this trace, or one around it, has looked up before: no copy is ever moved."""
    trace, known = require_trace(), memory().looked_up
    if not isinstance(key, Deferred):
        return make(key)
    around = trace
    while around is not None:
        if (found := known.get((around, id(key)))) is not None:
            return found[1]
        around = around.parent
    made = make(key)
    known[trace, id(key)] = key, made
    return made


def _interned_bytes(key: Any) -> Deferred:
    """The one copy of bytes, each of which is a character."""
    codes = codes_of_bytes(key)
    if codes is None:
        text = plain_of_bytes(key)
        start, count = instruction_of(text.start), instruction_of(text.length)
        return Deferred(bytes_of_text, _kept(start, count, _sum(start, count, weighed)))
    trace, held = require_trace(), memory()
    count = hlo.constant(np.int64(codes.shape.size))
    _table()
    start = hlo.subtract(hlo.reshape(held.top.instruction(trace), ()), count)
    _require_room(start, hlo.constant(np.bool_(True)))
    held.put(start, codes)
    return Deferred(bytes_of_text, _kept(start, count, sum_of_codes(codes), is_in_place=True))


def interned(text: WrittenText) -> WrittenText:
    """The one copy of this text."""
    start, count = instruction_of(text.start), instruction_of(text.length)
    return _kept(start, count, _sum(start, count, _mixed))


def _require_room(begin: Instruction, is_put: Instruction) -> None:
    trace, held = require_trace(), memory()
    end = hlo.add(hlo.reshape(held.end.instruction(trace), ()), 1)
    trace.add_error_flag(hlo.and_(is_put, hlo.lt(begin, end)), SizeBeyondBound, SizeBeyondBound.message(PLACE))


def _kept(start: Instruction, count: Instruction, code: Instruction, is_in_place: bool = False) -> WrittenText:
    """The one copy of the characters there, whose sum this is; is_in_place: whether they lie where a new copy would."""
    trace, held, table = require_trace(), memory(), _table()
    slot = _slot_of(table, start, count, code)
    found, used = _at(table.starts, slot), hlo.reshape(table.count.instruction(trace), ())
    is_new = hlo.eq(found, 0)
    has_slot = hlo.lt(used, table.most)
    trace.add_error_flag(hlo.and_(is_new, hlo.not_(has_slot)), SizeBeyondBound, SizeBeyondBound.message(_PLACE_OF_KEYS))
    is_put = hlo.and_(is_new, has_slot)
    top = hlo.reshape(held.top.instruction(trace), ())
    begin = hlo.subtract(top, count)
    if not is_in_place:
        _require_room(begin, is_put)
        held.copy(start, begin, hlo.select(is_put, hlo.constant(np.int64(0)), count), count)
    # So that nobody takes what stands there for the mark of a text that can be written on.
    before = hlo.select(is_put, hlo.add(begin, -1), hlo.constant(np.int64(0)))
    held.put(before, hlo.select(is_put, hlo.constant(np.int32(0)), held.at(before)))
    held.top.set_value(hlo.reshape(hlo.select(is_put, before, top), (1,)))
    for array, value in ((table.starts, begin), (table.lengths, count), (table.sums, code)):
        _put(array, slot, hlo.select(is_put, value, _at(array, slot)))
    table.count.set_value(hlo.reshape(hlo.add(used, hlo.convert(is_put, hlo.S64)), (1,)))
    return text_at(hlo.select(is_new, begin, found), count)


def _mixed(total: Instruction, code: Instruction, place: Instruction) -> Instruction:
    mixed = hlo.multiply(hlo.xor(total, hlo.add(code, np.uint64(1))), np.uint64(_MULTIPLIER))
    return hlo.xor(mixed, hlo.shift_right_logical(mixed, np.uint64(32)))


def _sum(start: Instruction, count: Instruction, add: Callable[..., Instruction]) -> Instruction:
    """What ``add`` makes of a sum, a character and its place, over all characters."""
    first, behind = number_of(start), number_of(count)

    def one(state: tuple[TracedArray, TracedArray]) -> tuple[TracedArray, TracedArray]:
        trace = require_trace()
        place, total = (part.instruction(trace) for part in state)
        code = hlo.convert(hlo.convert(memory().at(hlo.add(first.instruction(trace), place)), hlo.S64), hlo.U64)
        return number_of(hlo.add(place, 1)), TracedArray.from_instruction(trace, add(total, code, place))

    begin = number_of(hlo.constant(np.int64(0))), TracedArray.from_instruction(require_trace(), hlo.constant(np.uint64(0)))
    return while_loop(lambda state: below(state[0], behind), one, begin)[1].instruction(require_trace())


def _slot_of(table: Table, start: Instruction, count: Instruction, code: Instruction) -> Instruction:
    """The slot of a text, or the free one where it would be put."""
    given = [TracedArray.from_instruction(require_trace(), one) for one in (start, count, code)]

    def goes_on(slot: TracedArray) -> TracedArray:
        trace = require_trace()
        place, (start, count, code) = slot.instruction(trace), (one.instruction(trace) for one in given)
        held = _at(table.starts, place)
        is_taken = hlo.ne(held, 0)
        may_be = hlo.and_(hlo.eq(_at(table.sums, place), code), hlo.eq(_at(table.lengths, place), count))
        is_one = hlo.and_(may_be, alike(held, start, count, hlo.and_(is_taken, may_be)))
        return TracedArray.from_instruction(trace, hlo.and_(is_taken, hlo.not_(is_one)), weak_type=True)

    first = hlo.convert(hlo.and_(code, np.uint64(table.size - 1)), hlo.S64)
    begin = TracedArray.from_instruction(require_trace(), first)
    return while_loop(goes_on, lambda slot: (slot + 1) & (table.size - 1), begin).instruction(require_trace())
