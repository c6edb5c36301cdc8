"""What characters are, and their other case: methods of texts that native code answers of ASCII, and Python of all others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .... import hlo
from ...calls.host_call import call_when_run
from ...control_flow.branches import cond
from ...control_flow.loops import while_loop
from ...recording.array import TracedArray, require_trace
from ..lists.runs import instruction_of, number_of
from .answers import answers
from .characters import below, memory, text_at
from .deferred import Deferred, WrittenText, for_host, is_text
from .methods import TextMethod
from .reading import flag, native, next_one, places_of
from .writing import WRITERS, Piece, of_host, written

Instruction = hlo.Instruction

_ASCII = [chr(code) for code in range(128)]
# A bit for what a character is; one row more for all characters that are not in ASCII.
_ALPHA, _DIGIT, _ALNUM, _SPACE, _UPPER, _LOWER, _PRINTABLE, _OTHER = (1 << bit for bit in range(8))
_TESTS = {
    _ALPHA: str.isalpha, _DIGIT: str.isdigit, _ALNUM: str.isalnum, _SPACE: str.isspace, _UPPER: str.isupper,
    _LOWER: str.islower, _PRINTABLE: str.isprintable,
}  # fmt: skip
_ALL = sum(_TESTS)
_KINDS = np.array([sum(bit for bit, test in _TESTS.items() if test(one)) for one in _ASCII] + [_OTHER], np.int32)
_TO_LOWER, _TO_UPPER, _SWAPPED = (
    np.array([*map(ord, map(convert, _ASCII)), 0], np.int32) for convert in (str.lower, str.upper, str.swapcase)
)


def _row(table: np.ndarray, code: Instruction) -> Instruction:
    """What the table says of a character."""
    place = hlo.convert(hlo.minimum(code, hlo.constant(np.int32(len(_ASCII)))), hlo.S64)
    return hlo.reshape(hlo.dynamic_slice(hlo.constant(table), place, sizes=(1,)), ())


def _kinds(text: WrittenText) -> tuple[Instruction, Instruction]:
    """What some of the characters are, and what all of them are."""
    start, length = places_of(text)
    if text.length.known_value == 1:
        kind = _row(_KINDS, memory().at(start))
        return kind, kind
    begin, count = number_of(start), number_of(length)

    def one(state: tuple[TracedArray, ...]) -> tuple[TracedArray, ...]:
        trace = require_trace()
        some, each = (part.instruction(trace) for part in state[1:])
        kind = _row(_KINDS, memory().at(hlo.add(begin.instruction(trace), state[0].instruction(trace))))
        found = (hlo.or_(some, kind), hlo.and_(each, kind))
        return next_one(state[0]), *[TracedArray.from_instruction(trace, part) for part in found]

    first = [number_of(hlo.constant(np.int64(0)))]
    first += [TracedArray.from_instruction(require_trace(), hlo.constant(np.int32(kind))) for kind in (0, _ALL)]
    _, some, each = while_loop(lambda state: below(state[0], count), one, tuple(first))
    return some.instruction(require_trace()), each.instruction(require_trace())


def _has(kinds: Instruction, bits: int) -> Instruction:
    return hlo.ne(hlo.and_(kinds, bits), 0)


def _answer(name: str, says: Callable[[Instruction, Instruction, Instruction], Instruction]) -> None:
    """says: of what some and all characters are, and whether there are any, all of them in ASCII."""

    @answers(TextMethod(name))
    def found(text: Any, args: tuple, kwargs: dict) -> Any:
        if args or kwargs or (one := native(text)) is None:
            return None
        some, each = _kinds(one)
        is_there = hlo.gt(instruction_of(one.length), 0)
        answer = flag(says(some, each, is_there))
        if name == "isascii":
            return answer
        is_ascii = flag(hlo.not_(_has(some, _OTHER)))
        ask = TextMethod(name)
        return cond(
            is_ascii,
            lambda: answer,
            lambda: call_when_run(lambda text: ask(text, (), {}), False, for_host((one,)), named=ask, does_nothing=True),
        )


def _all_are(bits: int) -> Callable[..., Instruction]:
    return lambda some, each, is_there: hlo.and_(is_there, _has(each, bits))


for _name, _bits in {"isalpha": _ALPHA, "isalnum": _ALNUM, "isspace": _SPACE}.items():
    _answer(_name, _all_are(_bits))
for _name in ("isdigit", "isdecimal", "isnumeric"):
    _answer(_name, _all_are(_DIGIT))
_answer("isascii", lambda some, each, is_there: hlo.not_(_has(some, _OTHER)))
_answer("isprintable", lambda some, each, is_there: hlo.or_(hlo.not_(is_there), _has(each, _PRINTABLE)))
_answer("isupper", lambda some, each, is_there: hlo.and_(_has(some, _UPPER), hlo.not_(_has(some, _LOWER))))
_answer("islower", lambda some, each, is_there: hlo.and_(_has(some, _LOWER), hlo.not_(_has(some, _UPPER))))


# --- the other case ---


def _writer(name: str, code_of: Callable[[Instruction, Instruction, Instruction], Instruction]) -> None:
    """code_of: what is written for a character, of what it is, what the one in front of it is, and its place."""
    method = TextMethod(name)

    def write(text: Any, args: tuple, kwargs: dict) -> Any:
        if args or kwargs or not is_text(text) or (found := native(text)) is None:
            return None
        start, count = map(number_of, places_of(found))
        some, _ = _kinds(found)

        def of_ascii() -> WrittenText:
            length = instruction_of(count)
            return written(Piece(length, length, lambda position: _converted(start, position, count, code_of)))

        def places(text: WrittenText) -> tuple[TracedArray, TracedArray]:
            return tuple(map(number_of, places_of(text)))

        is_ascii = flag(hlo.not_(_has(some, _OTHER)))
        both = cond(
            is_ascii, lambda: places(of_ascii()), lambda: places(written(of_host(Deferred(method, found, args, kwargs))))
        )
        return text_at(*map(instruction_of, both))

    WRITERS[method] = write


def _converted(start: TracedArray, target: Instruction, count: TracedArray, code_of: Callable[..., Instruction]) -> None:
    target = number_of(target)

    def one(state: tuple[TracedArray, TracedArray]) -> tuple[TracedArray, TracedArray]:
        trace = require_trace()
        place, before = (part.instruction(trace) for part in state)
        code = memory().at(hlo.add(start.instruction(trace), place))
        memory().put(hlo.add(target.instruction(trace), place), code_of(code, before, place))
        return next_one(state[0]), TracedArray.from_instruction(trace, code)

    begin = number_of(hlo.constant(np.int64(0))), TracedArray.from_instruction(require_trace(), hlo.constant(np.int32(0)))
    while_loop(lambda state: below(state[0], count), one, begin)


def _lower(code: Instruction, *_: Instruction) -> Instruction:
    return _row(_TO_LOWER, code)


def _capital(code: Instruction, before: Instruction, place: Instruction) -> Instruction:
    return hlo.select(hlo.eq(place, 0), _row(_TO_UPPER, code), _row(_TO_LOWER, code))


def _title(code: Instruction, before: Instruction, place: Instruction) -> Instruction:
    """Large letters behind what is no letter; in front of the first character there is a NUL."""
    return hlo.select(_has(_row(_KINDS, before), _ALPHA), _row(_TO_LOWER, code), _row(_TO_UPPER, code))


_writer("lower", _lower)
_writer("casefold", _lower)
_writer("upper", lambda code, *_: _row(_TO_UPPER, code))
_writer("swapcase", lambda code, *_: _row(_SWAPPED, code))
_writer("capitalize", _capital)
_writer("title", _title)
