"""Numbers in the place of texts among the elements of a list: equal for equal texts, and in their order."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .... import hlo
from ...control_flow.bodies import ValueType
from ...control_flow.loops import while_loop
from ...recording import pytree
from ...recording.array import TracedArray, require_trace
from ..texts.characters import below, text_at
from ..texts.deferred import Deferred, is_text
from ..texts.reading import is_less, next_one, plain
from .access import with_texts_alone
from .elements import ElementType, LeafForm, element_type, row_of
from .runs import Run, element, empty, instruction_of, instructions, made, number_of, plus, settled, type_of_items

Instruction = hlo.Instruction
_RANK = ValueType(hlo.Shape(hlo.S64), True, True)


def _holds_made_texts(structure: Any) -> bool:
    """Whether there are texts in such elements that are made of other leaves, and not each of one character."""
    if structure is pytree.LEAF:
        return False
    kind, made_by, children = structure
    return issubclass(kind, Deferred) and made_by is not chr or any(map(_holds_made_texts, children))


def written(items: Sequence[Any]) -> list[Any]:
    """Elements with their texts among the program's characters: what these are made of says neither their order nor which are
    equal."""
    if not _holds_made_texts(type_of_items(items).structure):
        return list(items)
    return [_rewritten(settled(items))]


def in_groups(items: Sequence[Any]) -> list[Any]:
    """Elements, of which those of one structure that stand side by side are a run of texts among the characters."""
    found: list[Any] = []
    for structure, group in itertools.groupby(items, lambda item: None if type(item) is Run else pytree.flatten(item)[1]):
        if structure is None or not _is_text(structure) and not _holds_made_texts(structure):
            found += group
        else:
            found.append(_rewritten(settled(list(group))))
    return found


def both_written(run: Run, value: Any) -> tuple[Run, Any]:
    """Elements, and a value that they are compared with, likewise."""
    structure = run.form.structure
    other = element_type(value).structure
    if not _holds_made_texts(structure) and (structure == other or not _holds_made_texts(other) and not _is_text(other)):
        return run, value
    return _rewritten(run), _with_texts(value, plain)


def _is_text(structure: Any) -> bool:
    return structure is not pytree.LEAF and issubclass(structure[0], Deferred)


def _with_texts(value: Any, write: Callable[[Any], Any]) -> Any:
    leaves, structure = pytree.flatten(value, is_text)
    return pytree.unflatten(structure, [write(leaf) if is_text(leaf) else leaf for leaf in leaves])


def _rewritten(run: Run) -> Run:
    """The run with texts among the characters, a round for each element."""
    zero = hlo.constant(np.int64(0))
    kind = element_type(_with_texts(element(run, 0), lambda text: text_at(zero, zero)))
    count = number_of(instruction_of(run.length))

    def one(state: tuple[TracedArray, ...]) -> tuple[TracedArray, ...]:
        place, *columns = state
        row = row_of(_with_texts(element(run, place), plain), kind)
        found = []
        for column, part in zip(columns, row):
            base = column.instruction(require_trace())
            where = [instruction_of(place), *[hlo.constant(np.int64(0))] * (base.shape.rank - 1)]
            found.append(_array(hlo.dynamic_update_slice(base, hlo.reshape(part, (1, *base.shape.dimensions[1:])), *where)))
        return next_one(place), *found

    columns = [_array(column) for column in instructions(empty(kind, run.form.capacity))]
    _, *columns = while_loop(lambda state: below(state[0], count), one, (number_of(zero), *columns))
    return made(kind, [column.instruction(require_trace()) for column in columns], run.length, run.form.place)


def ranked(run: Run) -> Run:
    """The run with numbers in the place of texts. Raises TypeError where some elements have none in one place."""
    run = with_texts_alone(run)
    pending, leaves, numbers, columns = instructions(run), [], [], []
    for leaf, number in zip(run.type.leaves, run.type.numbers):
        own = [pending.pop(0) for _ in leaf.columns(number)]
        are_known = not leaf.is_number and leaf.is_coded and all(type(one) is str for one in leaf.constants)
        if are_known or leaf.text is not None:
            if leaf.text is not None and (leaf.is_coded or not leaf.text):
                raise NotImplementedError("an order of texts with None or floats among them is not implemented")
            own = [_ranks_of_known(own[0], leaf.constants) if are_known else _ranks(own[0], instruction_of(run.length))]
            leaf, number = LeafForm(True, True, ()), _RANK
        leaves.append(leaf)
        numbers.append(number)
        columns += own
    return made(ElementType(run.form.structure, tuple(leaves), tuple(numbers)), columns, run.length, run.form.place)


def _ranks_of_known(codes: Instruction, texts: tuple[str, ...]) -> Instruction:
    order, trace = sorted(texts), require_trace()
    ranks = TracedArray.from_instruction(trace, hlo.constant(np.array([order.index(one) for one in texts])), is_scalar=False)
    return np.take(ranks, TracedArray.from_instruction(trace, codes, is_scalar=False), mode="clip").instruction(trace)


def _array(instruction: Instruction) -> TracedArray:
    return TracedArray.from_instruction(require_trace(), instruction, is_scalar=False)


def _at(array: TracedArray, place: TracedArray, width: int = 1) -> list[Instruction]:
    """What stands in a row of so many numbers."""
    base = array.instruction(require_trace())
    row = [instruction_of(place), *[hlo.constant(np.int64(0))] * (base.shape.rank - 1)]
    taken = hlo.dynamic_slice(base, *row, sizes=(1, width)[: base.shape.rank])
    taken = hlo.reshape(taken, (width,))
    return [hlo.reshape(hlo.slice(taken, (k,), (k + 1,)), ()) for k in range(width)]


def _put(array: TracedArray, place: TracedArray, value: Instruction) -> TracedArray:
    base = array.instruction(require_trace())
    return _array(hlo.dynamic_update_slice(base, hlo.reshape(value, (1,)), instruction_of(place)))


def _chosen(test: Instruction, first: TracedArray, second: TracedArray) -> TracedArray:
    return number_of(hlo.select(test, instruction_of(first), instruction_of(second)))


def _least(first: TracedArray, second: TracedArray) -> TracedArray:
    return number_of(hlo.minimum(instruction_of(first), instruction_of(second)))


def _ranks(places: Instruction, length: Instruction) -> Instruction:
    """places: where each text begins, and how long it is, s64[rows, 2]."""
    texts, count = _array(places), number_of(length)
    rows = places.shape.dimensions[0]

    def comes_first(one: Instruction, other: Instruction) -> Instruction:
        return is_less(*[part for row in (one, other) for part in _at(texts, number_of(row), 2)])

    def merged(state: tuple[TracedArray, ...]) -> tuple[TracedArray, ...]:
        """Each two neighbours of so many that are in order."""
        width, order = state

        def one(state: tuple[TracedArray, ...]) -> tuple[TracedArray, ...]:
            place, first, middle, second, high, found = state
            low, other = _at(order, first)[0], _at(order, second)[0]
            has_first, has_second = below(first, middle), below(second, high)
            trace = require_trace()
            is_other = hlo.or_(
                hlo.not_(has_first.instruction(trace)), hlo.and_(has_second.instruction(trace), comes_first(other, low))
            )
            found = _put(found, place, hlo.select(is_other, other, low))
            first, second = _chosen(is_other, first, plus(first, 1)), _chosen(is_other, plus(second, 1), second)
            place = next_one(place)
            is_over = hlo.eq(instruction_of(place), instruction_of(high))
            end = _least(plus(place, width), count)
            beginning = (place, end, end, _least(plus(end, width), count))
            return place, *[_chosen(is_over, *both) for both in zip(beginning, (first, middle, second, high))], found

        end = _least(width, count)
        begin = (number_of(hlo.constant(np.int64(0))),) * 2
        state = (*begin, end, end, _least(plus(width, width), count), order)
        *_, found = while_loop(lambda state: below(state[0], count), one, state)
        return plus(width, width), found

    order = _array(hlo.iota(hlo.Shape(hlo.S64, (rows,)), 0))
    _, order = while_loop(lambda state: below(state[0], count), merged, (number_of(hlo.constant(np.int64(1))), order))

    def numbered(state: tuple[TracedArray, ...]) -> tuple[TracedArray, ...]:
        place, rank, ranks = state
        row, before = _at(order, place)[0], _at(order, plus(place, -1))[0]
        is_behind = hlo.and_(hlo.gt(instruction_of(place), 0), comes_first(before, row))
        rank = plus(rank, number_of(hlo.convert(is_behind, hlo.S64)))
        return next_one(place), rank, _put(ranks, number_of(row), instruction_of(rank))

    ranks = _array(hlo.full(hlo.Shape(hlo.S64, (rows,)), 0))
    zero = number_of(hlo.constant(np.int64(0)))
    return while_loop(lambda state: below(state[0], count), numbered, (zero, zero, ranks))[2].instruction(require_trace())
