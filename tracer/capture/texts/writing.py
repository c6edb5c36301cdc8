"""How texts are written among the characters of a program: behind a text that lies there, or where there is room."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .... import hlo
from ...calls.text_calls import characters_of_number, characters_of_text
from ...control_flow.branches import switch
from ...control_flow.loops import while_loop
from ...outside.entries import codes_of
from ...recording.array import TracedArray, require_trace
from ...recording.errors import RecordedAgain, SizeBeyondBound
from ..choices import Choice
from ..forms import TEXTS
from ..lists.runs import instruction_of, number_of
from .characters import PLACE, below, memory, text_at
from .deferred import Deferred, FString, WrittenText, for_host, is_open, is_text, text_with_number
from .formats import IN_USE, PAYLOAD

Instruction = hlo.Instruction
_PLACE_OF_HOST, _LEAST_OF_HOST = "the texts that Python makes", 256
_MOST_DIGITS = 20
# Numbers whose text native code asks the interpreter for.
_SHOWN = (hlo.F64, hlo.F32, hlo.S64, hlo.S32)
_TRUTH_VALUES = ("False", "True")


@dataclass(frozen=True)
class Piece:
    """A part of a text: how many characters, at most how many, and what writes them from a position on."""

    count: Instruction
    most: Instruction
    write: Callable[[Instruction], None]


def written(value: Any, is_plain: bool = True) -> WrittenText:
    """A text among the program's characters; where it is not ``is_plain`` there may be numbers among these.

    Of a pair of numbers the one that begins there, and has this length.
    """
    return text_at(*value, is_plain) if type(value) is list else text_of_parts(parts_of(value, is_plain), is_plain)


def text_of_parts(found: Iterable[Any], is_plain: bool) -> WrittenText:
    """A text of known texts, written ones, choices between known ones, and pieces."""
    parts: list[Any] = []
    for part in found:
        if type(part) is str and parts and type(parts[-1]) is str:
            parts[-1] += part
        elif part != "" if type(part) is str else True:
            parts.append(part)
    first = parts.pop(0) if parts and type(parts[0]) is WrittenText else None
    if first is not None and not parts:
        return first
    pieces = [_piece(part) for part in parts]
    count, most = _sum([piece.count for piece in pieces]), _sum([piece.most for piece in pieces])
    start, position = _room(most) if first is None else _room_behind(first, most)
    for piece in pieces:
        piece.write(position)
        position = hlo.add(position, piece.count)
    length = count if first is None else hlo.add(instruction_of(first.length), count)
    memory().put(hlo.subtract(start, 1), hlo.subtract(-IN_USE, hlo.convert(length, hlo.S32)))
    return text_at(start, length, is_plain)


def _sum(numbers: Sequence[Instruction]) -> Instruction:
    total = hlo.constant(np.int64(0))
    for number in numbers:
        total = hlo.add(total, number)
    return total


def _room(most: Instruction) -> tuple[Instruction, Instruction]:
    """Where a new text begins."""
    start = hlo.add(memory().room(hlo.add(most, 2)), 2)
    memory().put(hlo.subtract(start, 2), hlo.convert(most, hlo.S32))
    return start, start


def _room_behind(text: WrittenText, most: Instruction) -> tuple[Instruction, Instruction]:
    """Where a text begins that this one is the beginning of, and where it goes on."""
    held, start, length = memory(), instruction_of(text.start), instruction_of(text.length)
    room, in_use = (hlo.convert(held.at(hlo.subtract(start, k)), hlo.S64) for k in (2, 1))
    longest = hlo.add(length, most)
    has_room = hlo.and_(hlo.eq(in_use, hlo.subtract(-IN_USE, length)), hlo.le(longest, room))
    larger = hlo.add(hlo.multiply(longest, 2), 16)
    new = hlo.add(held.room(hlo.select(has_room, hlo.constant(np.int64(0)), hlo.add(larger, 2))), 2)
    begin = hlo.select(has_room, start, new)
    held.copy(start, begin, hlo.select(has_room, length, hlo.constant(np.int64(0))), length)
    held.put(hlo.subtract(begin, 2), hlo.convert(hlo.select(has_room, room, larger), hlo.S32))
    return begin, hlo.add(begin, length)


def parts_of(value: Any, is_plain: bool) -> Iterator[Any]:
    """What a text consists of: known texts, written ones, choices between known ones, and pieces."""
    if isinstance(value, str):
        yield str(value)
    elif type(value) is Piece:
        yield value
    elif type(value) is WrittenText:
        yield value if value.is_plain or not is_plain else written(of_host(value))
    elif type(value) is Choice:
        yield value if all(isinstance(one, str) for one in value.values) else _one_of(value.number, value.values, is_plain)
    elif value.function is operator.add:
        for one in value.values:
            yield from parts_of(one, is_plain)
    elif value.function is text_with_number:
        yield _one_of(value.values[0], value.values[1:], is_plain)
    elif type(value.function) is FString:
        conversions = iter(value.function.conversions)
        for part in value.values:
            yield from _shown(*part, next(conversions), is_plain) if type(part) is tuple else parts_of(part, is_plain)
    elif (
        value.function in WRITERS_OF_PARTS and (parts := WRITERS_OF_PARTS[value.function](is_plain, *value.values)) is not None
    ):
        yield from parts
    elif value.function in WRITERS and (part := WRITERS[value.function](*value.values)) is not None:
        yield part
    else:
        yield of_host(value)


# What writes what functions make of texts: takes their values, and gives a part of a text, or None where Python has to make it.
WRITERS: dict[Callable[..., Any], Callable[..., Any]] = {}
# Those whose values are numbers, which may stand among the program's characters.
OF_NUMBERS: set[Callable[..., Any]] = {chr}
# Likewise of what holds texts: takes whether the text is to be plain, too, and gives parts.
WRITERS_OF_PARTS: dict[Callable[..., Any], Callable[..., Iterable[Any] | None]] = {}


def _one_of(number: TracedArray, texts: Sequence[Any], is_plain: bool) -> WrittenText:
    places = switch(number, [lambda one=one: _places(written(one, is_plain)) for one in texts])
    return WrittenText(*places, is_plain)


def _places(text: WrittenText) -> tuple[TracedArray, TracedArray]:
    return number_of(instruction_of(text.start)), number_of(instruction_of(text.length))


def _shown(value: Any, specification: Any, conversion: int, is_plain: bool) -> Iterator[Any]:
    """What stands in an f-string in the place of a value."""
    is_told = conversion in (-1, ord("s"))
    if is_text(value) and specification == "" and is_told:
        yield from parts_of(value, is_plain)
        return
    if type(specification) is str and not is_open(value):
        yield FString((conversion,))((value, specification))
        return
    if type(value) is Choice and type(specification) is str:
        if not any(map(is_open, value.values)):
            yield Choice(value.number, [FString((conversion,))((one, specification)) for one in value.values])
            return
        yield _one_of(value.number, [Deferred(FString((conversion,)), (one, specification)) for one in value.values], is_plain)
        return
    if isinstance(value, TracedArray) and value.is_scalar and value.exact is None and type(specification) is str:
        kind = value.element_type
        if is_told and specification == "" and kind is hlo.PRED:
            yield Choice(number_of(instruction_of(value)), _TRUTH_VALUES)
            return
        if kind.is_integer and (is_told or value.weak_type) and specification in ("", "d") and kind is not hlo.U64:
            yield _digits(instruction_of(value))
            return
        if not is_plain and kind in _SHOWN:
            yield _number_as_it_is(value, conversion, specification)
            return
    piece = _shown_number(value, conversion, specification)
    yield of_host(Deferred(FString((conversion,)), (value, specification))) if piece is None else piece


def is_shown_number(value: Any, specification: Any) -> bool:
    """Whether this is a number that may stand among the characters as it is."""
    is_number = isinstance(value, TracedArray) and value.is_scalar and value.exact is None
    return is_number and value.element_type in _SHOWN and type(specification) is str


def _piece(part: Any) -> Piece:
    held = memory()
    if type(part) is Piece:
        return part
    if type(part) is str:
        count = hlo.constant(np.int64(len(part)))
        return Piece(count, count, lambda position: held.put(position, hlo.constant(codes_of(part))))
    if type(part) is Choice:
        return _constants(part)
    length = instruction_of(part.length)
    source = instruction_of(part.start)
    return Piece(length, length, lambda position: held.copy(source, position, hlo.constant(np.int64(0)), length))


def _constants(choice: Choice) -> Piece:
    """One of some known texts: a row of a table."""
    rows = [codes_of(one) for one in choice.values]
    lengths = np.array([len(row) for row in rows], np.int64)
    width = max(1, int(lengths.max()))
    table = np.zeros((len(rows), width), np.int32)
    for row, codes in zip(table, rows):
        row[: len(codes)] = codes
    number = instruction_of(choice.number)

    def write(position: Instruction) -> None:
        memory().put(position, hlo.dynamic_slice(hlo.constant(table), number, hlo.constant(np.int64(0)), sizes=(1, width)))

    if (lengths == width).all():
        count = hlo.constant(np.int64(width))
    else:
        count = hlo.reshape(hlo.dynamic_slice(hlo.constant(lengths), number, sizes=(1,)), ())
    return Piece(count, hlo.constant(np.int64(width)), write)


def _digits(number: Instruction) -> Piece:
    """An integer as Python writes it."""
    trace, zero, one = require_trace(), hlo.constant(np.int64(0)), hlo.constant(np.int64(1))
    is_negative = hlo.lt(number, 0)
    rest = hlo.select(is_negative, number, hlo.negate(number))  # which is never positive, as -2^63 has no opposite
    powers = hlo.constant(np.array([-(10**k) for k in range(1, _MOST_DIGITS - 1)], np.int64))
    is_longer = TracedArray.from_instruction(trace, hlo.le(hlo.full_like(powers, rest), powers), is_scalar=False)
    digits = hlo.add(instruction_of(np.sum(is_longer)), 1)
    sign = hlo.select(is_negative, one, zero)

    def write(position: Instruction) -> None:
        memory().put(position, hlo.constant(np.array([ord("-")], np.int32)))
        before = number_of(hlo.add(hlo.add(position, sign), -1))

        def next_digit(state: tuple[TracedArray, TracedArray]) -> tuple[TracedArray, TracedArray]:
            place, rest = (part.instruction(require_trace()) for part in state)
            ten = hlo.constant(np.int64(10))
            code = hlo.subtract(ord("0"), hlo.remainder(rest, ten))
            memory().put(hlo.add(before.instruction(require_trace()), place), hlo.convert(code, hlo.S32))
            return number_of(hlo.add(place, -1)), _scalar(hlo.divide(rest, ten))

        none = number_of(zero)
        while_loop(lambda state: below(none, state[0]), next_digit, (number_of(digits), _scalar(rest)))

    return Piece(hlo.add(digits, sign), hlo.constant(np.int64(_MOST_DIGITS)), write)


def _scalar(instruction: Instruction) -> TracedArray:
    """A NumPy scalar: those of 64 bits have the whole range."""
    return TracedArray.from_instruction(require_trace(), instruction)


def _number_as_it_is(value: TracedArray, conversion: int, specification: str) -> Piece:
    """A number whose text is made of it later, with its format."""
    wide = _as_shown(value)
    dtype = wide.shape.dtype
    bits = hlo.bitcast_convert(wide, hlo.U64 if dtype.itemsize == 8 else hlo.U32)
    bits = hlo.convert(bits, hlo.U64)
    index = memory().formats.number(conversion, specification, np.dtype(f"{dtype.kind}{dtype.itemsize}"), value.weak_type)
    elements = [hlo.constant(np.int32(-1 - index))]
    for k in range(3):
        shifted = hlo.shift_right_logical(bits, np.uint64(k * PAYLOAD))
        elements.append(hlo.convert(hlo.and_(shifted, np.uint64(2**PAYLOAD - 1)), hlo.S32))
    four = hlo.concatenate(*[hlo.reshape(one, (1,)) for one in elements], dimensions=(0,))
    count = hlo.constant(np.int64(4))
    return Piece(count, count, lambda position: memory().put(position, four))


def _shown_number(value: Any, conversion: int, specification: Any) -> Piece | None:
    """The text of a number, which native code asks the interpreter for; None where there may be none."""
    if not isinstance(value, TracedArray) or not value.is_scalar or value.exact is not None or type(specification) is not str:
        return None
    if value.element_type not in _SHOWN:
        return None
    number = _as_shown(value)
    dtype = np.dtype(number.shape.dtype.char)
    # Of a float64 NumPy makes what Python does, and slower.
    is_weak = value.weak_type or dtype == np.float64 and specification != "" and conversion == -1
    try:
        for example in (dtype.type(1), dtype.type(-1)):
            format(example.item() if is_weak else example, specification if conversion == -1 else "")
            format("", specification if conversion != -1 else "")
    except (ValueError, OverflowError):
        return None
    most = _places_of_host()
    codes, count = characters_of_number(number, conversion, specification, dtype, is_weak, most)
    return _piece_of_host(codes, count, most)


def _as_shown(value: TracedArray) -> Instruction:
    """A number with 64 bits where it is Python's."""
    number = value.instruction(require_trace())
    return hlo.convert(number, hlo.S64 if number.shape.element_type.is_integer else hlo.F64) if value.weak_type else number


def of_host(value: Deferred) -> Piece:
    """A text that Python makes, or that of what it makes."""
    most = _places_of_host()
    named = str if type(value) is WrittenText else value.function
    return _piece_of_host(*characters_of_text(for_host(value), named, most), most)


def _places_of_host() -> int:
    guessed = require_trace().program.guessed_bounds
    most = guessed.setdefault(_PLACE_OF_HOST, _LEAST_OF_HOST)
    if most > memory().capacity:
        guessed[PLACE] = 2 * most
        raise RecordedAgain
    return most


def _piece_of_host(codes: Instruction, count: Instruction, most: int) -> Piece:
    message = SizeBeyondBound.message(_PLACE_OF_HOST)
    require_trace().add_error_flag(hlo.gt(count, most), SizeBeyondBound, message)
    return Piece(count, hlo.constant(np.int64(most)), lambda position: memory().put(position, codes))


TEXTS[Deferred], TEXTS[WrittenText] = None, written
