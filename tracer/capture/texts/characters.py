"""Texts that the program makes while it runs: they lie among its characters, in one array, and are known by where they do.

So a loop carries a text as two numbers, and a branch chooses between two texts by choosing between numbers. What lies there
is never changed. A text that is made longer is written on where it lies, if nobody has done so before; otherwise it is copied
to where there is room for twice as much. In front of a text that may be written on stand the room that it has and, as a
number below -2^30, how many characters of it are in use.

A number whose text is Python's affair (`f"{x:.3f}"` of a float) may stand there as it is, as four elements: -1 - the number
of the format, and its 64 bits. Only who returns or prints the text makes it of that.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .... import hlo
from ....hlo.ops.known_calls import ALLOCATE
from ...control_flow.loops import while_loop
from ...recording import pytree
from ...recording.array import TracedArray, require_trace
from ...recording.errors import SizeBeyondBound
from ...recording.intervals import note_interval
from ...recording.trace import Trace
from ..forms import Container, Form
from ..lists.elements import hold_texts
from ..lists.runs import Run, instruction_of, number_of
from ..lists.tables import array_of_column, recording_in
from .deferred import Deferred, WrittenText
from .formats import IN_USE, Formats, text_of

Instruction = hlo.Instruction
PLACE, _LEAST_CAPACITY = "the characters of texts", 4096
ARE_KEYS = "whether texts that the program makes are keys"


class Memory:
    """The characters of a program: code points, their number, and the formats of numbers among them."""

    def __init__(self, capacity: int, end: int) -> None:
        # No text has a character that has not been written: filling places for a long text takes longer than a short one.
        unfilled = hlo.custom_call(shape=hlo.Shape(hlo.S32, (capacity,)), custom_call_target=ALLOCATE)
        # In front of a text of no characters that begins nowhere the first one is read.
        first = hlo.constant(np.zeros(1, np.int32))
        self.codes = array_of_column(hlo.dynamic_update_slice(unfilled, first, hlo.constant(np.int64(0))), False)
        self.end = array_of_column(hlo.full(hlo.Shape(hlo.S64, (1,)), end), True)
        self.capacity, self.formats = capacity, Formats()
        # For `interned`: from where on the texts lie that are keys, and what finds them.
        self.top: Any = None
        self.interned: Any = None
        # The copies of keys by the traces that have looked them up, and the objects that they are.
        self.looked_up: dict[tuple[Any, int], tuple[Any, Any]] = {}
        self._returned: TracedArray | None = None

    def at(self, position: Instruction) -> Instruction:
        return hlo.reshape(hlo.dynamic_slice(self.now(), position, sizes=(1,)), ())

    def now(self) -> Instruction:
        return self.codes.instruction(require_trace())

    def returned(self) -> TracedArray:
        """The characters as a result; that of all texts, where nothing has been written in between."""
        now = self.now()
        if self._returned is None or self._returned.root_storage.instruction is not now:
            self._returned = TracedArray.from_instruction(require_trace(), now, is_scalar=False)
        return self._returned

    def put(self, position: Instruction, codes: Instruction) -> None:
        self.codes.set_value(hlo.dynamic_update_slice(self.now(), hlo.reshape(codes, (codes.shape.size,)), position))

    def room(self, count: Instruction) -> Instruction:
        """Where so many elements are that nobody else uses. The call fails where there are none left."""
        trace = require_trace()
        begin = hlo.reshape(self.end.instruction(trace), ())
        end = hlo.add(begin, count)
        limit = self.capacity if self.top is None else hlo.reshape(self.top.instruction(trace), ())
        trace.add_error_flag(hlo.gt(end, limit), SizeBeyondBound, SizeBeyondBound.message(PLACE))
        self.end.set_value(hlo.reshape(end, (1,)))
        return begin

    def copy(self, source: Instruction, target: Instruction, first: Instruction, count: Instruction, step: int = 1) -> None:
        """Copy the characters from the ``first`` on, each ``step`` further on than the one before."""
        here = [number_of(one) for one in (source, target, first, count)]

        def one(state: TracedArray) -> TracedArray:
            trace = require_trace()
            source, target, k = (number.instruction(trace) for number in (here[0], here[1], state))
            taken = k if step == 1 else hlo.multiply(k, step)
            self.put(hlo.add(target, k), self.at(hlo.add(source, taken)))
            return number_of(hlo.add(k, 1))

        while_loop(lambda state: below(state, here[3]), one, here[2])


def below(first: TracedArray, second: TracedArray) -> TracedArray:
    trace = require_trace()
    return TracedArray.from_instruction(trace, hlo.lt(first.instruction(trace), second.instruction(trace)))


def memory() -> Memory:
    if require_trace().program.characters is None:
        begin_with(())
    return require_trace().program.characters


def begin_with(arrays: Sequence[Instruction]) -> list[int]:
    """Let the characters of the program begin with those of these arrays; where each of them lies."""
    trace = require_trace()
    *places, end = itertools.accumulate([array.shape.size for array in arrays], initial=0)
    with recording_in(trace.root):
        capacity = end + trace.program.guessed_bounds.setdefault(PLACE, _LEAST_CAPACITY)
        trace.program.characters = held = Memory(capacity, end)
        for place, array in zip(places, arrays):
            held.put(hlo.constant(np.int64(place)), array)
        if ARE_KEYS in trace.program.guessed_bounds:
            held.top = array_of_column(hlo.full(hlo.Shape(hlo.S64, (1,)), capacity), True)
    return places


def text_at(start: Instruction, length: Instruction, is_plain: bool = True) -> WrittenText:
    places = number_of(start), number_of(length)
    for one in places:
        note_interval(require_trace(), one, (0, IN_USE))
    return WrittenText(*places, is_plain)


def as_result(text: WrittenText) -> Deferred:
    """The text as Python has it when the program has run."""
    held = memory()
    make = TextAmongCharacters(None if text.is_plain else held.formats)
    return pytree.put_together(Deferred, make, (held.returned(), text.start, text.length))


@dataclass(frozen=True)
class TextAmongCharacters:
    """Gives a text among the characters of a program that has run; formats: of the numbers among these."""

    formats: Formats | None

    def __call__(self, codes: np.ndarray, start: int, length: int) -> str:
        if self.formats is None:
            return text_of(codes[start : start + length])
        return self.formats.text_at(codes, start, length)


# --- rounds of loops ---


def release(forms: Sequence[Form], rows: Sequence[Sequence[Any]]) -> None:
    """Let the room be free behind a round that only it has used, if the texts that the loop carries lie in front of it.

    forms, rows: of what the loop carries, and its numbers behind the round.
    """
    trace, held = require_trace(), require_trace().program.characters
    if held is None or held.end.root_storage not in trace.written or _are_put_into_tables(trace):
        return
    before = hlo.reshape(trace.outside[held.end.root_storage], ())
    is_free = hlo.constant(np.bool_(True))
    for form, row in zip(forms, rows):
        if isinstance(form, Container) and form.type is WrittenText:
            is_free = hlo.and_(is_free, hlo.le(instruction_of(row[0]), before))
        elif holds_written_texts(form):
            return
    end = hlo.reshape(held.end.instruction(trace), ())
    held.end.set_value(hlo.reshape(hlo.select(is_free, before, end), (1,)))


def _are_put_into_tables(trace: Trace) -> bool:
    """Whether a table has been written to whose lists may hold texts."""
    return any(
        table.kind is not None
        and hold_texts(table.kind.leaves)
        and any(column.root_storage in trace.written for column in table.columns)
        for table in trace.program.tables
    )


def holds_written_texts(form: Form) -> bool:
    """Whether a value of this form may hold texts that lie among the characters."""
    if not isinstance(form, Container):
        inner = getattr(form, "forms", ()) or (getattr(form, "form", None),)
        return any(isinstance(one, Form) and holds_written_texts(one) for one in inner)
    if form.type is WrittenText or form.type is Run and hold_texts(form.auxiliary.leaves):
        return True
    return any(map(holds_written_texts, form.parts))
