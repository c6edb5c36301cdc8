"""What characters are, and their other case: methods of texts that tables answer of most letters, and Python of all others."""

from __future__ import annotations

import functools
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

# The tables say it of Latin, Greek and Cyrillic letters, and what lies among them.
_COUNT = 0x530
# A bit for each kind; a character has `_SPECIAL` where it has no other case that is one character, or one that depends on what
# stands around it, and `_BEYOND` is the kind of all that the tables leave out.
_TESTS = (
    str.isalpha, str.isalnum, str.isspace, str.isdigit, str.isdecimal, str.isnumeric, str.isprintable, str.isupper, str.islower,
    str.isascii,
)  # fmt: skip
_BITS = {test.__name__: 1 << place for place, test in enumerate(_TESTS)}
_UPPER, _LOWER = _BITS["isupper"], _BITS["islower"]
_SPECIAL, _BEYOND = 1 << len(_TESTS), 2 << len(_TESTS)
_CONVERSIONS = (str.lower, str.upper, str.title, str.swapcase, str.casefold)
_FINAL_SIGMA = "\u03a3"


@functools.cache
def _table(name: str) -> np.ndarray:
    """What the characters are, or become, and a row for all others."""
    characters = list(map(chr, range(_COUNT)))
    if name != "kinds":
        convert = getattr(str, name)
        return np.array([ord(made) if len(made := convert(one)) == 1 else 0 for one in characters] + [0], np.int32)
    kinds = [sum([bit for test, bit in zip(_TESTS, _BITS.values()) if test(one)]) for one in characters]
    for place, one in enumerate(characters):
        is_longer = any(len(convert(one)) != 1 for convert in _CONVERSIONS)
        has_three = one.upper() != one.title() or one.istitle() != one.isupper()
        kinds[place] |= _SPECIAL if is_longer or has_three or one == _FINAL_SIGMA else 0
    return np.array([*kinds, _SPECIAL | _BEYOND], np.int32)


def _row(table: np.ndarray, code: Instruction) -> Instruction:
    """What the table says of a character."""
    place = hlo.convert(hlo.minimum(code, hlo.constant(np.int32(_COUNT))), hlo.S64)
    return hlo.reshape(hlo.dynamic_slice(hlo.constant(table), place, sizes=(1,)), ())


def _kinds(text: WrittenText) -> tuple[Instruction, Instruction]:
    """What some of the characters are, and what all of them are."""
    start, length = places_of(text)
    if text.length.known_value == 1:
        kind = _row(_table("kinds"), memory().at(start))
        return kind, kind
    begin, count = number_of(start), number_of(length)

    def one(state: tuple[TracedArray, ...]) -> tuple[TracedArray, ...]:
        trace = require_trace()
        some, each = (part.instruction(trace) for part in state[1:])
        kind = _row(_table("kinds"), memory().at(hlo.add(begin.instruction(trace), state[0].instruction(trace))))
        found = (hlo.or_(some, kind), hlo.and_(each, kind))
        return next_one(state[0]), *[TracedArray.from_instruction(trace, part) for part in found]

    first = [number_of(hlo.constant(np.int64(0)))]
    first += [TracedArray.from_instruction(require_trace(), hlo.constant(np.int32(kind))) for kind in (0, _BEYOND - 1)]
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
        is_known = flag(hlo.not_(_has(some, _BEYOND | _SPECIAL if name in ("isupper", "islower") else _BEYOND)))
        ask = TextMethod(name)
        return cond(
            is_known,
            lambda: answer,
            lambda: call_when_run(lambda text: ask(text, (), {}), False, for_host((one,)), named=ask, does_nothing=True),
        )


def _all_are(bit: int) -> Callable[..., Instruction]:
    return lambda some, each, is_there: hlo.and_(is_there, _has(each, bit))


for _name in ("isalpha", "isalnum", "isspace", "isdigit", "isdecimal", "isnumeric"):
    _answer(_name, _all_are(_BITS[_name]))
for _name in ("isprintable", "isascii"):
    _answer(_name, lambda some, each, is_there, bit=_BITS[_name]: hlo.or_(hlo.not_(is_there), _has(each, bit)))
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

        def of_tables() -> WrittenText:
            length = instruction_of(count)
            return written(Piece(length, length, lambda position: _converted(start, position, count, code_of)))

        def places(text: WrittenText) -> tuple[TracedArray, TracedArray]:
            return tuple(map(number_of, places_of(text)))

        is_known = flag(hlo.not_(_has(some, _SPECIAL)))
        both = cond(
            is_known, lambda: places(of_tables()), lambda: places(written(of_host(Deferred(method, found, args, kwargs))))
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


def _as(name: str) -> Callable[..., Instruction]:
    return lambda code, *_: _row(_table(name), code)


def _capital(code: Instruction, before: Instruction, place: Instruction) -> Instruction:
    return hlo.select(hlo.eq(place, 0), _row(_table("upper"), code), _row(_table("lower"), code))


def _title(code: Instruction, before: Instruction, place: Instruction) -> Instruction:
    """Large letters behind what has no case; in front of the first character there is a NUL."""
    has_case = _has(_row(_table("kinds"), before), _UPPER | _LOWER)
    return hlo.select(has_case, _row(_table("lower"), code), _row(_table("upper"), code))


for _name in ("lower", "upper", "swapcase", "casefold"):
    _writer(_name, _as(_name))
_writer("capitalize", _capital)
_writer("title", _title)


def _translated(text: Any, args: tuple, kwargs: dict) -> Piece | None:
    """``text.translate(table)``"""
    if not is_text(text) or (found := native(text)) is None:
        return None
    (table,) = args
    start, count = map(number_of, places_of(found))
    codes, others = (np.array([*column, -1], np.int32) for column in (table, table.values()))

    def code_of(code: Instruction, before: Instruction, place: Instruction) -> Instruction:
        trace = require_trace()
        known = hlo.constant(codes)
        is_it = hlo.eq(known, hlo.full_like(known, code))
        other = hlo.select(is_it, hlo.constant(others), hlo.full_like(known, -1))
        made = np.max(TracedArray.from_instruction(trace, other, is_scalar=False)).instruction(trace)
        return hlo.select(hlo.lt(made, 0), code, made)

    length = instruction_of(count)
    return Piece(length, length, lambda position: _converted(start, position, count, code_of))


WRITERS[TextMethod("translate")] = _translated
