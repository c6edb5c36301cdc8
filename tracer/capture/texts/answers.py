"""What is asked of texts among the program's characters: how long they are, what stands where, whether they are equal."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .... import hlo
from ...calls.host_call import call_when_run
from ...control_flow.branches import cond
from ...control_flow.loops import while_loop
from ...recording.array import TracedArray, require_trace
from ...recording.errors import no_integer
from ..calls.dispatch import call
from ..calls.meanings import implements
from ..library import splitting
from ..lists.access import fail_where, is_unknown
from ..lists.runs import instruction_of, number_of
from ..loops.iteration import ROWS_OF_TEXTS, ListRows, Rows
from .characters import below, memory
from .deferred import (
    ANSWERS,
    Deferred,
    DeferredParts,
    FString,
    WrittenText,
    for_host,
    is_bytes,
    is_text,
    numbers_in,
    part_of_text,
)
from .methods import TextMethod
from .reading import alike, flag, is_integer, is_less, native, next_one, places_of, plain, stands_at
from .writing import WRITERS, Piece, text_at, written

Instruction = hlo.Instruction


def answers(*functions: Callable[..., Any]) -> Callable[[Callable], Callable]:
    """Decorator: what such a function says of texts; None where Python has to be asked."""

    def register(answer: Callable[..., Any]) -> Callable[..., Any]:
        ANSWERS.update(dict.fromkeys(functions, answer))
        return answer

    return register


# --- lengths and items ---


@answers(len, TextMethod("__len__"))
def length(text: Any, *_: Any) -> Any:
    found = native(text)
    return None if found is None else found.length


@answers(operator.getitem)
def item(text: Any, index: Any) -> Any:
    """``text[index]``"""
    if (found := native(text)) is None or not (isinstance(index, (int, np.integer, TracedArray)) and np.ndim(index) == 0):
        return None
    start, count = places_of(found)
    place = instruction_of(index)
    place = hlo.select(hlo.lt(place, 0), hlo.add(place, count), place)
    fail_where(hlo.or_(hlo.lt(place, 0), hlo.ge(place, count)), IndexError("string index out of range"))
    return text_at(hlo.add(start, place), hlo.constant(np.int64(1)))


@answers(part_of_text)
def part(text: Any, start: Any, stop: Any, step: Any) -> WrittenText | None:
    """``text[start:stop:step]``; with a step a copy."""
    step = 1 if step is None else step
    if is_unknown(step) or step == 0 or (found := native(text)) is None:
        return None
    begin, count = places_of(found)
    zero, less, step = hlo.constant(np.int64(0)), hlo.add(count, -1), int(step)
    lowest, highest = (zero, count) if step > 0 else (hlo.constant(np.int64(-1)), less)
    first = _bound(start, count, lowest, highest, lowest if step > 0 else highest)
    last = _bound(stop, count, lowest, highest, highest if step > 0 else lowest)
    distance = hlo.subtract(last, first) if step > 0 else hlo.subtract(first, last)
    taken = hlo.maximum(distance, zero)
    if step == 1:
        return text_at(hlo.add(begin, hlo.minimum(first, count)), taken)
    if abs(step) > 1:
        taken = hlo.divide(hlo.add(taken, abs(step) - 1), hlo.constant(np.int64(abs(step))))
    source = hlo.add(begin, first)
    return written(Piece(taken, taken, lambda target: memory().copy(source, target, zero, taken, step)))


def _bound(value: Any, count: Instruction, low: Instruction, high: Instruction, default: Instruction) -> Instruction:
    if value is None:
        return default
    place = instruction_of(value)
    return hlo.maximum(low, hlo.minimum(hlo.select(hlo.lt(place, 0), hlo.add(place, count), place), high))


class CharacterRows(Rows):
    """The characters of a text."""

    def __init__(self, text: WrittenText) -> None:
        self.text, self.length = text, text.length

    def element(self, position: Any) -> Any:
        return text_at(hlo.add(instruction_of(self.text.start), instruction_of(position)), hlo.constant(np.int64(1)))


def _rows(text: Deferred) -> Rows:
    return ListRows(numbers_in(text)) if is_bytes(text) else CharacterRows(plain(text))


ROWS_OF_TEXTS[Deferred] = ROWS_OF_TEXTS[WrittenText] = _rows


# --- comparisons ---


@answers(operator.eq)
def equal(first: Any, second: Any) -> Any:
    if isinstance(first, str):
        first, second = second, first
    one, other = native(first), second if isinstance(second, str) else native(second)
    if one is None or other is None:
        return None
    start, count = places_of(one)
    if isinstance(other, str):
        is_as_long = hlo.eq(count, len(other))
        return flag(hlo.and_(is_as_long, stands_at(start, other, is_as_long)))
    is_as_long = hlo.eq(count, instruction_of(other.length))
    return flag(hlo.and_(is_as_long, alike(start, instruction_of(other.start), count, is_as_long)))


@answers(operator.ne)
def different(first: Any, second: Any) -> Any:
    found = equal(first, second)
    return None if found is None else flag(hlo.not_(found.instruction(require_trace())))


def _order(compare: Callable[[Any, Any], Any], is_turned: bool, is_opposite: bool) -> None:
    @answers(compare)
    def found(first: Any, second: Any) -> TracedArray | None:
        if not is_text(first) or not is_text(second):
            return None
        one, other = map(native, (second, first) if is_turned else (first, second))
        if one is None or other is None:
            return None
        less = is_less(*places_of(one), *places_of(other))
        return flag(hlo.not_(less) if is_opposite else less)


_order(operator.lt, False, False)
_order(operator.gt, True, False)
_order(operator.ge, False, True)
_order(operator.le, True, True)


# --- texts in texts ---


@answers(TextMethod("startswith"))
def starts_with(text: Any, args: tuple, kwargs: dict) -> Any:
    return _at_end(text, args, kwargs, lambda start, count, most: start)


@answers(TextMethod("endswith"))
def ends_with(text: Any, args: tuple, kwargs: dict) -> Any:
    return _at_end(text, args, kwargs, lambda start, count, most: hlo.subtract(hlo.add(start, count), most))


def _at_end(text: Any, args: tuple, kwargs: dict, place: Callable[..., Instruction]) -> Any:
    if len(args) != 1 or kwargs or not is_text(args[0]):
        return None
    found, wanted = native(text), args[0] if isinstance(args[0], str) else native(args[0])
    if found is None or wanted is None:
        return None
    start, count = places_of(found)
    most = hlo.constant(np.int64(len(wanted))) if isinstance(wanted, str) else instruction_of(wanted.length)
    is_long = hlo.ge(count, most)
    where = place(start, count, most)
    if isinstance(wanted, str):
        return flag(hlo.and_(is_long, stands_at(where, wanted, is_long)))
    return flag(hlo.and_(is_long, alike(where, instruction_of(wanted.start), most, is_long)))


@answers(operator.contains)
def contains(text: Any, wanted: Any) -> Any:
    """``wanted in text``"""
    if isinstance(text, str) and type(wanted) is WrittenText and wanted.length.known_value == 1:
        return _is_one_of(text, wanted)
    found = _position(text, wanted)
    return None if found is None else flag(hlo.ge(found, 0))


def _is_one_of(text: str, character: WrittenText) -> TracedArray:
    known = hlo.constant(np.array(list(map(ord, text)) or [-1], np.int32))
    same = hlo.eq(known, hlo.full_like(known, memory().at(instruction_of(character.start))))
    trace = require_trace()
    return flag(np.any(TracedArray.from_instruction(trace, same, is_scalar=False)).instruction(trace))


@answers(TextMethod("find"))
def find(text: Any, args: tuple, kwargs: dict) -> Any:
    found = _position(text, args[0]) if len(args) == 1 and not kwargs and is_text(args[0]) else None
    return None if found is None else number_of(found)


@answers(TextMethod("index"))
def index(text: Any, args: tuple, kwargs: dict) -> Any:
    if (found := find(text, args, kwargs)) is not None:
        fail_where(hlo.lt(instruction_of(found), 0), ValueError("substring not found"))
    return found


def _position(text: Any, wanted: Any) -> Instruction | None:
    """Where one text stands first in another one, -1 where it does not."""
    wanted = wanted if isinstance(wanted, str) else native(wanted)
    if wanted is None or (found := native(text)) is None:
        return None
    return _first_from(hlo.constant(np.int64(0)), found, wanted)


def _first_from(begin: Instruction, text: WrittenText, wanted: str | WrittenText) -> Instruction:
    start, count = map(number_of, places_of(text))
    other, most = (None, len(wanted)) if isinstance(wanted, str) else map(number_of, places_of(wanted))

    def goes_on(k: TracedArray) -> TracedArray:
        trace = require_trace()
        first, length, place = (number.instruction(trace) for number in (start, count, k))
        is_inside = hlo.le(hlo.add(place, instruction_of(most)), length)
        there = hlo.add(first, place)
        if isinstance(wanted, str):
            is_there = stands_at(there, wanted, is_inside)
        else:
            is_there = alike(there, instruction_of(other), instruction_of(most), is_inside)
        return TracedArray.from_instruction(trace, hlo.and_(is_inside, hlo.not_(is_there)))

    reached = instruction_of(while_loop(goes_on, next_one, number_of(begin)))
    is_there = hlo.le(hlo.add(reached, instruction_of(most)), instruction_of(text.length))
    return hlo.select(is_there, reached, hlo.constant(np.int64(-1)))


@answers(TextMethod("count"))
def count(text: Any, args: tuple, kwargs: dict) -> Any:
    """How often a known text stands in another one, without overlapping."""
    if len(args) != 1 or kwargs or not isinstance(args[0], str) or not args[0] or (found := native(text)) is None:
        return None
    wanted = args[0]
    start, length = map(number_of, places_of(found))

    def goes_on(state: tuple[TracedArray, TracedArray]) -> TracedArray:
        trace = require_trace()
        behind = hlo.add(state[0].instruction(trace), len(wanted))
        return TracedArray.from_instruction(trace, hlo.le(behind, length.instruction(trace)))

    def one(state: tuple[TracedArray, TracedArray]) -> tuple[TracedArray, TracedArray]:
        trace = require_trace()
        place, found = (number.instruction(trace) for number in state)
        is_there = stands_at(hlo.add(start.instruction(trace), place), wanted, hlo.constant(np.bool_(True)))
        step = hlo.select(is_there, hlo.constant(np.int64(len(wanted))), hlo.constant(np.int64(1)))
        return number_of(hlo.add(place, step)), number_of(hlo.add(found, hlo.convert(is_there, hlo.S64)))

    zero = hlo.constant(np.int64(0))
    return while_loop(goes_on, one, (number_of(zero), number_of(zero)))[1]


# --- parts of texts ---


def _of_words(text: WrittenText, *separator: Any) -> list | None:
    if not separator or len(separator) == 1 and separator[0] is None:
        return call(splitting.words, text)
    is_followed = len(separator) == 1 and isinstance(separator[0], str) and separator[0] != ""
    return call(splitting.parts_between, text, *separator) if is_followed else None


def _of_lines(text: WrittenText, *arguments: Any) -> list | None:
    return None if arguments else call(splitting.lines, text)


_SPLITTING = {TextMethod("split"): _of_words, TextMethod("splitlines"): _of_lines}


def _splits(method: TextMethod, followed: Callable[..., Any]) -> None:
    """The parts of a text that lies there; those of others are looked for where somebody goes over them."""

    @answers(method)
    def parts(text: Any, args: tuple, kwargs: dict) -> Any:
        return followed(text, *args) if type(text) is WrittenText and text.is_plain and not kwargs else None


for _method, _followed in _SPLITTING.items():
    _splits(_method, _followed)


def _rows_of_parts(parts: DeferredParts) -> Rows:
    text, args, kwargs = parts.values if parts.function in _SPLITTING else (None, (), {})
    found = None if text is None or kwargs else _SPLITTING[parts.function](plain(text), *args)
    return ListRows(list(parts) if found is None else found)


ROWS_OF_TEXTS[DeferredParts] = _rows_of_parts


# --- characters and numbers ---


@implements(ord)
def ord_(character: Any) -> Any:
    if not isinstance(character, Deferred):
        return ord(character)
    found = plain(character)
    start, count = places_of(found)
    message = "ord() expected a character, but string of length {} found"
    require_trace().add_error_flag(hlo.ne(count, 1), TypeError, message, count)
    return number_of(hlo.convert(memory().at(start), hlo.S64))


@implements(chr)
def chr_(number: Any) -> Any:
    if not isinstance(number, TracedArray) or number.known_value is not None:
        return chr(number)
    code = instruction_of(number)
    fail_where(hlo.or_(hlo.lt(code, 0), hlo.gt(code, 0x10FFFF)), ValueError("chr() arg not in range(0x110000)"))
    return Deferred(chr, number)


def _in_base(function: Callable[[int], str], form: str) -> None:
    def implementation(number: Any) -> Any:
        if not isinstance(number, TracedArray) or number.known_value is not None:
            return function(number)
        if number.element_type is hlo.PRED and number.weak_type:
            number = call(int, number)
        if number.ndim or not number.element_type.is_integer or number.element_type is hlo.PRED:
            raise no_integer(number)
        return call(format, number, form)

    implements(function)(implementation)


_in_base(bin, "#b")
_in_base(oct, "#o")
_in_base(hex, "#x")


def _character(number: TracedArray) -> Piece:
    one, code = hlo.constant(np.int64(1)), hlo.convert(instruction_of(number), hlo.S32)
    return Piece(one, one, lambda position: memory().put(position, code))


@answers(int)
def integer_of(text: Any, *base: Any) -> Any:
    """``int(text)``; of what has other characters than a few digits Python makes it, or raises its error."""
    if base or (found := native(text)) is None:
        return None
    start, count = map(number_of, places_of(found))

    def goes_on(state: tuple[TracedArray, TracedArray]) -> TracedArray:
        return below(state[0], count)

    def one(state: tuple[TracedArray, TracedArray]) -> tuple[TracedArray, TracedArray]:
        trace = require_trace()
        place, number = (part.instruction(trace) for part in state)
        digit = hlo.subtract(hlo.convert(memory().at(hlo.add(start.instruction(trace), place)), hlo.S64), ord("0"))
        is_digit = hlo.and_(hlo.ge(digit, 0), hlo.lt(digit, 10))
        is_one = hlo.and_(is_digit, hlo.and_(hlo.ge(number, 0), hlo.lt(place, _MOST_DIGITS)))
        following = hlo.add(hlo.multiply(number, hlo.constant(np.int64(10))), digit)
        return number_of(hlo.add(place, 1)), number_of(hlo.select(is_one, following, hlo.constant(np.int64(-1))))

    zero = hlo.constant(np.int64(0))
    none = hlo.select(hlo.eq(instruction_of(count), 0), hlo.constant(np.int64(-1)), zero)
    _, number = while_loop(goes_on, one, (number_of(zero), number_of(none)))
    is_one = flag(hlo.ge(instruction_of(number), 0))
    return cond(is_one, lambda: number, lambda: call_when_run(int, 0, for_host((found,)), does_nothing=True))


@answers(float)
def float_of(text: Any) -> Any:
    """``float(text)`` of the digits of an integer, which are read as it is rounded; Python is asked of all others."""
    if type(text) is not Deferred or type(text.function) is not FString or len(text.values) != 1:
        return None
    (part,), conversions = text.values, text.function.conversions
    if type(part) is not tuple or part[1] != "" or not {-1, ord("s")}.issuperset(conversions) or not is_integer(part[0]):
        return None
    if part[0].element_type is hlo.PRED:
        return None
    number = hlo.convert(part[0].instruction(require_trace()), hlo.F64)
    return TracedArray.from_instruction(require_trace(), number, weak_type=True)


_MOST_DIGITS = 18
WRITERS.update({chr: _character, part_of_text: part, operator.getitem: item})
