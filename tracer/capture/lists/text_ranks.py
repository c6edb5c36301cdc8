"""Numbers in the place of texts among the elements of a list: equal for equal texts, and in their order."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .... import hlo
from ...calls.text_calls import form_of_float
from ...control_flow.bodies import ValueType
from ...control_flow.loops import while_loop
from ...recording import pytree
from ...recording.array import TracedArray, require_trace
from ..choices import Choice
from ..texts.bytes_as_texts import bytes_of_text
from ..texts.characters import below, text_at
from ..texts.deferred import Deferred, FString, WrittenText, is_bytes, is_text
from ..texts.reading import is_integer, is_less, needs_no_host, next_one, plain, plain_of_bytes
from ..texts.writing import written as written_text
from .access import with_texts_alone
from .element_rows import row_of
from .elements import ElementType, LeafForm, element_type
from .runs import Run, element, empty, instruction_of, instructions, made, number_of, plus, settled, type_of_items

Instruction = hlo.Instruction
_RANK = ValueType(hlo.Shape(hlo.S64), True, True)
_FEW = 2  # texts that Python makes as fast
_FORM_OF_INTEGER = re.compile(r"(?:[<>^](?!0)|0)?\d{0,4}d?")


def _holds_made_texts(structure: Any) -> bool:
    """Whether there are texts in such elements that are made of other leaves, and not each of one character."""
    if structure is pytree.LEAF:
        return False
    kind, made_by, children = structure
    return issubclass(kind, Deferred) and made_by not in (chr, bytes_of_text) or any(map(_holds_made_texts, children))


def written(items: Sequence[Any]) -> list[Any]:
    """Elements with their texts among the program's characters: what these are made of says neither their order nor which are
    equal."""
    if not _holds_made_texts(type_of_items(items).structure):
        return list(items)
    return [_rewritten(settled(items))]


def written_natively(items: Sequence[Any]) -> list[Any]:
    """As `written` where no Python is needed for that, so that who takes the texts apart does not write each anew."""
    if not _holds_made_texts(type_of_items(items).structure):
        return list(items)
    run = settled(items)
    return [_rewritten(run)] if _need_no_host(run, is_plain=True) else list(items)


def _need_no_host(run: Run, is_plain: bool) -> bool:
    return all(needs_no_host(text, is_plain) for text in _texts_in(run))


def in_one_run(items: Any) -> Any:
    """Elements of which some are each one of several known texts, or tuples with such, as one run: what is done with all of
    them is a loop of the program, not a branch for each way in which they may come together."""
    if type(items) not in (list, tuple) or sum(map(_is_chosen, items)) < _FEW:
        return items
    are_texts = all(_is_chosen(item) or _is_value(item) for item in items)
    is_one_kind = len({len(item) if type(item) is tuple else None for item in items}) == 1
    return type(items)([settled(list(items))]) if are_texts and is_one_kind else items


def _is_chosen(item: Any) -> bool:
    if type(item) is tuple:
        return any(map(_is_chosen, item)) and all(_is_chosen(part) or _is_value(part) for part in item)
    return type(item) is Choice and all(isinstance(value, str) for value in item.values)


def _is_value(item: Any) -> bool:
    if type(item) is tuple:
        return all(map(_is_value, item))
    return isinstance(item, str | int | float | np.generic) or isinstance(item, TracedArray) and item.is_scalar


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
    return _rewritten(run), _with_texts(value, _plain)


def _is_text(structure: Any) -> bool:
    return structure is not pytree.LEAF and issubclass(structure[0], Deferred)


def _with_texts(value: Any, write: Callable[[Any], Any]) -> Any:
    leaves, structure = pytree.flatten(value, is_text)
    return pytree.unflatten(structure, [write(leaf) if is_text(leaf) else leaf for leaf in leaves])


def written_items(items: Sequence[Any]) -> list[Any]:
    """The items of a list as a call returns them: those that may be there, side by side, are written as one run."""
    found: list[Any] = []
    for form, group in itertools.groupby(items, _form_of_few):
        runs = list(group)
        found += map(_written_if_run, runs) if form is None or len(runs) <= _FEW else [written_elements(_together(runs))]
    return found


def _form_of_few(item: Any) -> Any:
    """The form of a run that is a part of a list of texts, None of anything else."""
    if type(item) is not Run or item.form.capacity != 1 or item.form.place is not None or item.form.key_columns is not None:
        return None
    structure = item.form.structure
    if not _holds_made_texts(structure) or not _are_values(structure):
        return None
    return structure, tuple([replace(leaf, constants=()) for leaf in item.form.leaves]), item.type.numbers


def _written_if_run(item: Any) -> Any:
    return written_elements(item) if type(item) is Run else item


def _together(runs: Sequence[Run]) -> Run:
    trace = require_trace()
    place = (
        trace,
        "together",
        *[part for run in runs for part in (*instructions(run), _known_by(run.length), _known_by(run.start))],
    )
    for former, found in trace.program.written_elements.get(place, ()):
        if all(one.form is other.form for one, other in zip(former, runs)):
            return found
    found = settled(runs)
    trace.program.written_elements.setdefault(place, []).append((runs, found))
    return found


def written_elements(run: Run) -> Run:
    """The elements as a call returns them, with the texts that native code makes among the characters: Python is slower."""
    is_asked = run.form.capacity > _FEW or require_trace().program.characters is not None
    if not is_asked or run.form.key_columns is not None or not _holds_made_texts(run.form.structure):
        return run
    if not _are_values(run.form.structure):  # lists and objects stay the ones that they are
        return run
    if _need_no_host(run, is_plain=True):
        return _rewritten(run)
    are_native = all(map(_is_shown_by_native_code, _texts_in(run))) and _need_no_host(run, is_plain=False)
    return _rewritten(run, is_plain=False) if are_native else run


def _are_values(structure: Any) -> bool:
    """Whether such elements are texts, numbers, and tuples of these."""
    if structure is pytree.LEAF:
        return True
    kind, _, children = structure
    return issubclass(kind, Deferred) or issubclass(kind, tuple) and all(map(_are_values, children))


def _texts_in(run: Run) -> list[Any]:
    return [leaf for leaf in pytree.flatten(element(run, 0), is_text)[0] if is_text(leaf)]


def _is_shown_by_native_code(text: Any) -> bool:
    """Whether no number in the text has a format for which the call asks Python."""
    if type(text) is not Deferred:
        return True
    if type(text.function) is FString:
        numbers = [part for part in text.values if type(part) is tuple]
        for (value, specification), conversion in zip(numbers, text.function.conversions):
            if isinstance(value, TracedArray) and not _has_native_format(value, specification, conversion):
                return False
    return all(map(_is_shown_by_native_code, filter(is_text, pytree.flatten(text.values, is_text)[0])))


def _has_native_format(value: TracedArray, specification: Any, conversion: int) -> bool:
    if specification == "" and (is_integer(value) or value.element_type is hlo.F64):
        return conversion in (-1, ord("s")) or value.weak_type and conversion == ord("r")
    if is_integer(value):
        return conversion == -1 and type(specification) is str and _FORM_OF_INTEGER.fullmatch(specification) is not None
    return value.element_type is hlo.F64 and form_of_float(conversion, specification, value.weak_type) is not None


def _rewritten(run: Run, is_plain: bool = True) -> Run:
    """The run with texts among the characters; the same where it is asked for once more."""
    trace = require_trace()
    made_before = trace.program.written_elements
    place = trace, *instructions(run), *[_known_by(number) for number in (run.length, run.start)]
    for form, found_plain, found in made_before.get(place, ()):
        if form is run.form and (found_plain or not is_plain):
            return found
    found = _rewritten_now(run, is_plain)
    made_before.setdefault(place, []).append((run.form, is_plain, found))
    return found


def _known_by(number: Any) -> Any:
    return number.recorded(require_trace()) if isinstance(number, TracedArray) else number


def _written(text: Any) -> WrittenText:
    return written_text(text, is_plain=False)


def _plain(text: Any) -> Any:
    if not is_bytes(text):
        return plain(text)
    return text if text.function is bytes_of_text else Deferred(bytes_of_text, plain_of_bytes(text))


def _rewritten_now(run: Run, is_plain: bool) -> Run:
    """The run with texts among the characters, a round for each element."""
    zero = hlo.constant(np.int64(0))
    blank = text_at(zero, zero, is_plain)
    kind = element_type(_with_texts(element(run, 0), lambda text: Deferred(bytes_of_text, blank) if is_bytes(text) else blank))
    count = number_of(instruction_of(run.length))

    def one(state: tuple[TracedArray, ...]) -> tuple[TracedArray, ...]:
        place, *columns = state
        row = row_of(_with_texts(element(run, place), _plain if is_plain else _written), kind)
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
    trace = require_trace()
    found = trace.program.ranks_of_texts.get((trace, places, length))
    if found is None:
        found = trace.program.ranks_of_texts[trace, places, length] = _ranks_now(places, length)
    return found


def _ranks_now(places: Instruction, length: Instruction) -> Instruction:
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
