"""Texts among the program's characters, read there: which ones lie there, and whether the same stands at two places."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .... import hlo
from ...control_flow.loops import while_loop
from ...recording import pytree
from ...recording.array import TracedArray, require_trace
from ..choices import Choice
from ..lists.runs import instruction_of, is_open_list, number_of
from .bytes_as_texts import text_of_bytes
from .characters import below, memory
from .deferred import Deferred, FString, WrittenText, is_text
from .writing import OF_NUMBERS, WRITERS, WRITERS_OF_PARTS, is_shown_number, written

Instruction = hlo.Instruction
_FEW = 8  # texts that Python joins as fast
_MOST_COMPARED = 64  # characters of a known text that are compared at once


def native(value: Any) -> WrittenText | None:
    """The text among the program's characters, where no Python is needed to write it."""
    if isinstance(value, str):
        return written(value)
    if type(value) is WrittenText:
        return value if value.is_plain else None
    if not is_text(value) or not needs_no_host(value):
        return None
    if type(value) is Choice:
        return written(value)
    trace = require_trace()
    if value.in_characters is None or value.in_characters[0] is not trace:
        value.in_characters = trace, written(value)
    return value.in_characters[1]


def needs_no_host(value: Any, is_plain: bool = True) -> bool:
    """Whether no Python is needed to write this as a part of a text; of one that is not plain, when the program runs."""
    if isinstance(value, str):
        return True
    if type(value) is WrittenText:
        return value.is_plain or not is_plain
    if type(value) is Choice:
        return all(needs_no_host(one, is_plain) for one in value.values)
    if type(value) is tuple:  # in an f-string
        shown, specification = value
        if specification == "" and (is_text(shown) and needs_no_host(shown, is_plain) or is_integer(shown)):
            return True
        return not is_plain and is_shown_number(shown, specification)
    if type(value) is not Deferred:
        return False
    if type(value.function) is FString:
        is_told = {-1, ord("s")}.issuperset(value.function.conversions) or not is_plain
        return is_told and all(needs_no_host(one, is_plain) for one in value.values)
    if value.function is operator.add:
        return all(needs_no_host(one, is_plain) for one in value.values)
    if value.function in WRITERS_OF_PARTS:
        text, args, _ = value.values
        texts = args[0] if args and isinstance(args[0], (list, tuple)) and not is_open_list(args[0]) else ()
        return needs_no_host(text) and all(needs_no_host(one, is_plain) for one in texts)
    return value.function in OF_NUMBERS or value.function in WRITERS and needs_no_host(value.values[0])


def is_integer(value: Any) -> bool:
    """Whether this is an integer, or a truth value, whose text native code writes."""
    is_one = isinstance(value, TracedArray) and value.is_scalar and value.exact is None
    return is_one and (value.element_type.is_integer or value.element_type is hlo.PRED) and value.element_type is not hlo.U64


def _is_long(texts: Any) -> bool:
    return isinstance(texts, (list, tuple)) and (is_open_list(texts) or len(texts) > _FEW)


def written_result(text: Deferred) -> WrittenText | None:
    """What a call returns of a text among the characters, where it lies there, or is made of others and no Python is needed."""
    trace = require_trace()
    if text.in_characters is not None and text.in_characters[0] is trace:
        return text.in_characters[1]
    if text.function in WRITERS_OF_PARTS:
        is_asked = trace.program.characters is not None or any(map(_is_long, text.values[1]))
    else:
        is_made_of_texts = any(type(one) in (Deferred, WrittenText) for one in pytree.flatten(text.values, is_text)[0])
        is_asked = trace.program.characters is not None and is_made_of_texts
    if not is_asked or not needs_no_host(text, is_plain=False):
        return None
    return written(text, is_plain=False)


def plain(text: Any) -> WrittenText:
    return written(text) if (found := native(text)) is None else found


def plain_of_bytes(value: Any) -> WrittenText:
    """The text whose characters have the numbers that bytes are."""
    return plain(Deferred(text_of_bytes, value))


def places_of(text: WrittenText) -> tuple[Instruction, Instruction]:
    return instruction_of(text.start), instruction_of(text.length)


def stands_at(place: Instruction, text: str, is_inside: Instruction) -> Instruction:
    """Whether the known text stands there, where so many characters do."""
    if not text:
        return hlo.constant(np.bool_(True))
    if len(text) > _MOST_COMPARED:
        return alike(place, instruction_of(written(text).start), hlo.constant(np.int64(len(text))), is_inside)
    known = hlo.constant(np.array(list(map(ord, text)), np.int32))
    found = hlo.eq(hlo.dynamic_slice(memory().now(), place, sizes=(len(text),)), known)
    if len(text) == 1:
        return hlo.reshape(found, ())
    trace = require_trace()
    return np.all(TracedArray.from_instruction(trace, found, is_scalar=False)).instruction(trace)


def alike(first: Instruction, second: Instruction, count: Instruction, is_asked: Instruction) -> Instruction:
    """Whether so many characters are the same at two places; any answer where it ``is_asked`` not."""
    count = hlo.select(is_asked, count, hlo.constant(np.int64(0)))
    return hlo.eq(equal_characters(first, second, count), count)


def equal_characters(first: Instruction, second: Instruction, count: Instruction) -> Instruction:
    """As how many of so many characters are the same at two places, up to the first ones that differ."""
    given = [number_of(one) for one in (first, second, count)]

    def goes_on(k: TracedArray) -> TracedArray:
        trace, held = require_trace(), memory()
        one, other, count, place = (number.instruction(trace) for number in (*given, k))
        are_equal = hlo.eq(held.at(hlo.add(one, place)), held.at(hlo.add(other, place)))
        return TracedArray.from_instruction(trace, hlo.and_(hlo.lt(place, count), are_equal))

    return instruction_of(while_loop(goes_on, next_one, number_of(hlo.constant(np.int64(0)))))


def is_less(first: Instruction, length: Instruction, second: Instruction, other_length: Instruction) -> Instruction:
    """Whether one text comes before another one, each known by where it lies and how long it is."""
    shorter = hlo.minimum(length, other_length)
    same = equal_characters(first, second, shorter)
    codes = [memory().at(hlo.add(start, same)) for start in (first, second)]
    return hlo.select(hlo.eq(same, shorter), hlo.lt(length, other_length), hlo.lt(*codes))


def flag(instruction: Instruction) -> TracedArray:
    return TracedArray.from_instruction(require_trace(), instruction, weak_type=True)


def next_one(number: TracedArray) -> TracedArray:
    return number_of(hlo.add(number.instruction(require_trace()), 1))


def position_among(known: Sequence[Any], text: WrittenText) -> Instruction:
    """Which of these values, of which no two are equal, the text is; their number where it is none."""
    start, count = places_of(text)
    found = hlo.constant(np.int64(len(known)))
    ones = {ord(one): place for place, one in enumerate(known) if isinstance(one, str) and len(one) == 1}
    if ones:
        signs, places = hlo.constant(np.array(list(ones), np.int32)), hlo.constant(np.array(list(ones.values()), np.int64))
        same = hlo.eq(signs, hlo.full_like(signs, memory().at(start)))
        candidates = hlo.select(same, places, hlo.full_like(places, len(known)))
        trace = require_trace()
        place = np.min(TracedArray.from_instruction(trace, candidates, is_scalar=False)).instruction(trace)
        found = hlo.select(hlo.eq(count, 1), place, found)
    for place, one in enumerate(known):
        if isinstance(one, str) and len(one) != 1:
            is_as_long = hlo.eq(count, len(one))
            is_it = hlo.and_(is_as_long, stands_at(start, one, is_as_long))
            found = hlo.select(is_it, hlo.constant(np.int64(place)), found)
    return found


def rows_alike(column: Instruction, text: Instruction, is_single: bool) -> Instruction:
    """Which rows of a column of texts, each a place and a length, are equal to those of another one, or to its first row."""
    (count, _), trace = column.shape.dimensions, require_trace()
    rows, others = (TracedArray.from_instruction(trace, one, is_scalar=False) for one in (column, text))
    flags = TracedArray.from_instruction(trace, hlo.full(hlo.Shape(hlo.PRED, (count,)), False), is_scalar=False)

    def places_in(array: TracedArray, row: Instruction) -> tuple[Instruction, Instruction]:
        pair = hlo.dynamic_slice(array.instruction(require_trace()), row, hlo.constant(np.int64(0)), sizes=(1, 2))
        return tuple(hlo.reshape(hlo.slice(pair, (0, k), (1, k + 1)), ()) for k in range(2))

    def one(state: tuple[TracedArray, TracedArray]) -> tuple[TracedArray, TracedArray]:
        inner = require_trace()
        row, found = (part.instruction(inner) for part in state)
        first, length = places_in(rows, row)
        other, other_length = places_in(others, hlo.constant(np.int64(0)) if is_single else row)
        is_as_long = hlo.eq(length, other_length)
        is_one = hlo.and_(is_as_long, alike(first, other, length, is_as_long))
        found = hlo.dynamic_update_slice(found, hlo.reshape(is_one, (1,)), row)
        return number_of(hlo.add(row, 1)), TracedArray.from_instruction(inner, found, is_scalar=False)

    end = number_of(hlo.constant(np.int64(count)))
    return while_loop(lambda state: below(state[0], end), one, (number_of(hlo.constant(np.int64(0))), flags))[1].instruction(
        trace
    )
