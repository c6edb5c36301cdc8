"""``", ".join(texts)`` and ``text * n`` among the program's characters."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .... import hlo
from ...control_flow.loops import while_loop
from ...outside.entries import codes_of
from ...recording import pytree
from ...recording.array import TracedArray, require_trace
from ..lists.runs import Run, element, instruction_of, instructions, is_open_list, length_of, number_of, settled
from .characters import below, memory, text_at
from .deferred import Deferred, is_text
from .formats import IN_USE
from .methods import TextMethod
from .reading import native, needs_no_host, next_one, places_of
from .writing import WRITERS, WRITERS_OF_PARTS, Piece, parts_of, text_of_parts

Instruction = hlo.Instruction
JOIN = TextMethod("join")
_FEW = 8  # as many texts are written one by one


def _joined(is_plain: bool, separator: Any, args: tuple, kwargs: dict) -> Iterable[Any] | None:
    if len(args) != 1 or kwargs or type(separator) is not str or not isinstance(args[0], (list, tuple)):
        return None
    items = args[0]
    if not is_open_list(items):
        if not all(is_text(one) and needs_no_host(one, is_plain) for one in items):
            return None
        if len(items) <= _FEW or len({_structure(one) for one in items}) > 1:
            return _one_by_one(separator, items, is_plain)
    run = settled(items)
    if run.form.is_ring or not is_text(example := element(run, 0)) or not needs_no_host(example, is_plain):
        return None
    codes = None if separator else _characters(run)
    length = length_of([run])
    return [_in_a_row(codes, length)] if codes is not None else [_round_by_round(run, length, separator, is_plain)]


def _structure(text: Any) -> Any:
    return type(text), pytree.flatten(text)[1] if type(text) is Deferred else None


def _one_by_one(separator: str, items: Sequence[Any], is_plain: bool) -> Iterable[Any]:
    for place, one in enumerate(items):
        if place:
            yield separator
        yield from parts_of(one, is_plain)


def _characters(run: Run) -> Instruction | None:
    """The elements where each of them is one character."""
    (leaf, *others), trace = run.form.leaves, require_trace()
    if others or leaf.types or leaf.text is not None or leaf.is_coded is leaf.is_number:
        return None
    if leaf.is_number:
        is_one = type(run.form.structure) is tuple and run.form.structure[:2] == (Deferred, chr)
        return hlo.convert(instructions(run)[0], hlo.S32) if is_one else None
    if run.form.structure is not pytree.LEAF or any(type(one) is not str or len(one) != 1 for one in leaf.constants):
        return None
    known = TracedArray.from_instruction(trace, hlo.constant(codes_of("".join(leaf.constants))), is_scalar=False)
    places = TracedArray.from_instruction(trace, instructions(run)[0], is_scalar=False)
    return np.take(known, places, mode="clip").instruction(trace)


def _in_a_row(codes: Instruction, length: Any) -> Piece:
    most = hlo.constant(np.int64(codes.shape.size))
    return Piece(instruction_of(length), most, lambda position: memory().put(position, codes))


def _round_by_round(run: Run, length: Any, separator: str, is_plain: bool) -> Any:
    """A text behind which each round writes a text more."""
    count = number_of(instruction_of(length))
    begin = text_of_parts([Piece(*[hlo.constant(np.int64(0))] * 2, lambda position: None)], is_plain)

    def one(state: tuple[TracedArray, ...]) -> tuple[TracedArray, ...]:
        place, *places = state
        is_behind = hlo.gt(instruction_of(place), 0)
        most = hlo.constant(np.int64(len(separator)))
        between = Piece(
            hlo.select(is_behind, most, hlo.constant(np.int64(0))),
            most,
            lambda position: memory().put(position, hlo.constant(codes_of(separator))),
        )
        before = text_at(*map(instruction_of, places), is_plain)
        parts = [before, *([between] if separator else []), *parts_of(element(run, place), is_plain)]
        found = text_of_parts(parts, is_plain)
        return next_one(place), found.start, found.length

    first = number_of(hlo.constant(np.int64(0))), begin.start, begin.length
    _, *places = while_loop(lambda state: below(state[0], count), one, first)
    return text_at(*map(instruction_of, places), is_plain)


def _repeated(text: Any, times: Any) -> Piece | None:
    """``text * times``"""
    is_number = isinstance(times, TracedArray) and times.is_scalar and times.element_type.is_integer
    if not is_number or not is_text(text) or (found := native(text)) is None:
        return None
    start, length = map(number_of, places_of(found))
    zero = hlo.constant(np.int64(0))
    taken = hlo.minimum(hlo.maximum(instruction_of(times), zero), hlo.constant(np.int64(IN_USE)))  # so that nothing overflows
    count = hlo.multiply(taken, instruction_of(length))

    def write(position: Instruction) -> None:
        target, end = number_of(position), number_of(count)

        def one(state: tuple[TracedArray, TracedArray]) -> tuple[TracedArray, TracedArray]:
            place, taken = map(instruction_of, state)
            code = memory().at(hlo.add(instruction_of(start), taken))
            memory().put(hlo.add(instruction_of(target), place), code)
            following = hlo.add(taken, 1)
            following = hlo.select(hlo.eq(following, instruction_of(length)), hlo.constant(np.int64(0)), following)
            return next_one(state[0]), number_of(following)

        while_loop(lambda state: below(state[0], end), one, (number_of(zero), number_of(zero)))

    return Piece(count, count, write)


WRITERS_OF_PARTS[JOIN] = _joined
WRITERS[operator.mul] = _repeated
