"""Entries of dicts and sets, looked up, added and removed: rows of a run of (key, value)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .... import hlo
from ...recording.array import TracedArray, require_trace
from ...recording.errors import TracerError
from ..choices import Choice, Maybe
from ..copies import note_copies
from ..lists.array_rows import note_arrays, rows_moved
from ..lists.columns import rows_at, with_block
from ..lists.element_rows import row_of
from ..lists.elements import ElementType, are_alike, element_type, joined_type, key_columns, number_of_few_keys, parts_of
from ..lists.equal_rows import equal_rows
from ..lists.moving_rows import pulled_forward
from ..lists.runs import (
    Run,
    element,
    guessed,
    instruction_of,
    instructions,
    last_row,
    made,
    number_of,
    ordered,
    plus,
    require_capacity,
    retyped,
    settled,
    type_of_items,
    with_capacity,
    with_columns,
)
from ..texts.deferred import is_text
from ..texts.interned import are_written, as_key, holds_text, holds_texts_of_any_kind, require_written
from .index import slot_of, with_entry, with_last_entry_at, without_entry

Instruction = hlo.Instruction


def holds_unknown(key: Any) -> bool:
    """Whether the program computes a key, or a part of it."""
    if isinstance(key, TracedArray):
        return key.known_value is None
    return type(key) in (Maybe, Choice) or holds_text(key) or type(key) is tuple and any(map(holds_unknown, key))


def require_hashable(key: Any) -> None:
    if isinstance(key, tuple):
        for part in key:
            require_hashable(part)
    elif isinstance(key, TracedArray) and not key.is_scalar:
        raise TypeError("unhashable type: 'numpy.ndarray'")
    elif not isinstance(key, (TracedArray, Maybe, Choice)) and not is_text(key):
        hash(key)


# --- the parts of entries ---


def keys_of(run: Run) -> Run:
    kind, _ = parts_of(run.type)
    return made(kind, instructions(run)[: len(kind.columns)], run.length, run.form.place, run.start)


def values_of(run: Run) -> Run:
    keys, kind = parts_of(run.type)
    return made(kind, instructions(run)[len(keys.columns) :], run.length, run.form.place, run.start)


def place_of_key(run: Run, key: Any) -> Instruction | None:
    """The row in which a key stands, one behind all entries where it stands in none; None where it cannot be there."""
    keys, given = parts_of(run.type)[0], element_type(key)
    kind = joined_type(keys, given)
    if kind is None or not keys.columns and kind != keys:
        return None
    if not keys.columns:
        return hlo.constant(np.int64(0))
    if run.index is not None and kind == keys:
        _, held = slot_of(run, row_of(key, kind))
        return hlo.select(hlo.eq(held, 0), hlo.constant(np.int64(run.form.capacity)), hlo.subtract(held, 1))
    trace = require_trace()
    found = equal_rows(retyped(keys_of(run), kind), settled([key], kind), True, are_keys=True)
    rows = hlo.iota(hlo.Shape(hlo.S32, found.shape.dimensions), 0)
    candidates = hlo.select(found, rows, hlo.full_like(rows, run.form.capacity))
    first = np.min(TracedArray.from_instruction(trace, candidates, is_scalar=False))
    return hlo.convert(first.instruction(trace), hlo.S64)


def is_entry(run: Run, place: Instruction) -> Instruction:
    """Whether an entry stands in this row."""
    return hlo.lt(place, instruction_of(run.length))


# --- entries ---


def found(entries: Sequence[Any], key: Any) -> tuple[Run, Instruction, Instruction] | None:
    """The entries as a run, the row of the one with this key, and whether there is one; None where none can be."""
    require_hashable(key)
    require_written(key)
    if not entries:
        return None
    if are_written() and (holds_text(key) or any(type(item) is Run for item in entries)):
        entries, key = with_texts(entries), as_key(key)
    run = ordered(settled(entries))
    place = place_of_key(run, key)
    return None if place is None else (run, place, is_entry(run, place))


def found_as_they_are(entries: Sequence[Any], key: Any) -> list[tuple[Run, Instruction, Instruction]]:
    """As `found`, among those that wait, of which the last ones count, and then among those behind which they wait.

    What is looked up in one of the branches within need not be put together there, and again in each of them.
    """
    parts = [entries] if not entries or type(entries[0]) is not Run else []
    for item in () if parts else reversed(entries):
        if type(item) is Run or not parts or type(parts[-1][0]) is Run:
            parts.append([])
        parts[-1].append(item)
    places = [found(in_one(part) if len(parts) == 1 else part, key) for part in parts]
    return [place for place in places if place is not None]


def value_at(run: Run, place: Instruction) -> Any:
    return element(run, number_of(place))[1]


def values_of_key(entries: Sequence[Any], key: Any) -> list[tuple[Any, Instruction]]:
    """The values under a key, each with whether it is there: of several, of one type, the first that is there counts."""
    if all(type(item) is Run or isinstance(item[1], TracedArray) and item[1].is_scalar for item in entries):
        values = [(value_at(run, place), is_there) for run, place, is_there in found_as_they_are(entries, key)]
        if len(values) < 2 or isinstance(values[0][0], TracedArray) and are_alike([value for value, _ in values]):
            return values
    at = found(in_one(entries), key)
    return [] if at is None else [(value_at(*at[:2]), at[2])]


def stored(
    entries: Sequence[Any], key: Any, value: Any, replaces: bool = True, only_if: Instruction | None = None
) -> tuple[list[Any], Instruction]:
    """The entries with a value under a key, and its row. One with this key keeps its place, and its value unless replaced."""
    require_written(key)
    if are_written():
        entries, key = with_texts(entries), as_key(key)
    kind = _type_with(entries, key, value)
    run = _with_room(ordered(settled(entries, kind)))
    note_arrays([value], kind)
    row, count, end = row_of((key, value), kind), key_columns(kind), instruction_of(run.length)
    note_copies(require_trace(), value, is_put=True)
    index, held = None, None
    if run.index is not None:
        slot, held = slot_of(run, row[:count])
        place = hlo.select(hlo.eq(held, 0), end, hlo.subtract(held, 1))
    else:
        place = place_of_key(run, key) if entries else None
    is_new = None if place is None else hlo.ge(place, end)
    place = end if place is None else hlo.select(is_new, end, place)
    if only_if is not None:
        is_new = only_if if is_new is None else hlo.and_(is_new, only_if)
        place = hlo.select(only_if, place, end)
    longer = plus(run.length, 1 if is_new is None else number_of(hlo.convert(is_new, hlo.S64)))
    require_capacity(longer, run.form.capacity, run.form.place)
    # What does not count goes behind the entries: a key that is there already stays what it is.
    columns = [
        _written(column, part, place if replaces and number >= count else end)
        for number, (column, part) in enumerate(zip(instructions(run), row))
    ]
    made_ = made(kind, columns, longer, run.form.place)
    if held is not None:
        is_kept = hlo.not_(hlo.and_(is_new, hlo.lt(end, run.form.capacity)))  # a table that is full would be gone over forever
        index = with_entry(run.index, slot, hlo.select(is_kept, hlo.subtract(held, 1), end))
        made_ = Run(replace(made_.form, key_columns=count), made_.columns, made_.length, 0, index)
    return [made_], place


_LEAST_CAPACITY = 256  # of entries whose keys are no longer a few


def _with_room(run: Run) -> Run:
    """The entries with room for one more; where there are no more keys than a few, for all of these."""
    place, capacity = run.form.place, run.form.capacity
    if place is None:
        return with_capacity(run, capacity + 1, None)
    return with_capacity(
        run, max(capacity, number_of_few_keys(run.type) or max(guessed(place, capacity), _LEAST_CAPACITY)), place
    )


def _type_with(entries: Sequence[Any], key: Any, value: Any) -> ElementType:
    """The type of the entries with one more. Raises for what can be no key among them."""
    require_hashable(key)
    require_ordinary(key)
    kind = type_of_items([*entries, (key, value)])
    if entries:
        _require_one_kind(type_of_items(entries), kind, key)
    return kind


def with_texts(entries: Sequence[Any]) -> Sequence[Any]:
    """The entries of a dict whose keys the program decides on, with all keys that are texts written where one has to be."""
    if not are_written() or not any(type(item) is Run or holds_texts_of_any_kind(item[0]) for item in entries):
        return entries
    return [item if type(item) is Run else (as_key(item[0]), *item[1:]) for item in entries]


# On a side of a branch entries are put behind the others, where they wait: no array goes through the branch.
_MOST_WAITING = 4


def put_behind(entries: Sequence[Any], key: Any, value: Any) -> list[Any]:
    """As `stored`; where the entries lie outside of a branch the new one may wait behind them."""
    require_written(key)
    first = entries[0] if entries else None
    if type(first) is Run and first.columns and len(entries) <= _MOST_WAITING:
        if first.columns[0].root_storage.trace is not require_trace():
            key = as_key(key) if are_written() else key
            _type_with(entries, key, value)
            return [*entries, (key, value)]
    return stored(in_one(entries), key, value)[0]


def in_one(entries: Sequence[Any]) -> list[Any]:
    """The entries, each of another key: those that wait behind a run, or behind some that are known, have been put there."""
    if any(type(item) is Run or holds_unknown(item[0]) for item in entries):
        entries = with_texts(entries)
    known = next((place for place, item in enumerate(entries) if type(item) is Run or holds_unknown(item[0])), len(entries))
    done = list(entries[: max(1, known)])
    for item in entries[len(done) :]:
        if type(item) is not Run:
            done, _ = stored(done, *item)
            continue
        for place in range(item.form.capacity):
            counts = None if isinstance(item.length, int) else hlo.gt(instruction_of(item.length), place)
            if counts is not None or place < item.length:
                with rows_moved():
                    done, _ = stored(done, *element(item, place), only_if=counts)
    return done


def _written(column: Instruction, part: Instruction, row: Instruction) -> Instruction:
    rest = [hlo.constant(np.int64(0))] * (column.shape.rank - 1)
    return hlo.dynamic_update_slice(column, hlo.reshape(part, (1, *part.shape.dimensions)), row, *rest)


def _require_one_kind(had: ElementType, kind: ElementType, key: Any) -> None:
    """Keys stay what they are: an integer among floats would be one of them."""
    before, after = parts_of(had)[0].numbers, parts_of(kind)[0].numbers
    given = element_type(key).numbers
    for one, both, other in zip(before, after, given):
        kinds = [number.shape.element_type.kind for number in (one, both, other) if number is not None]
        if len({"integer" if name in ("signed", "unsigned") else name for name in kinds}) > 1:
            raise TracerError(
                f"a dict or a set whose keys the program computes has keys of one kind of number, and this one has {one} and "
                f"{other}. Fix: convert them (int(...), float(...))"
            )


def require_ordinary(key: Any) -> None:
    """NaN is equal to no key, but may be one."""
    if isinstance(key, tuple):
        for part in key:
            require_ordinary(part)
    if isinstance(key, TracedArray) and (key.element_type.is_float or key.element_type.is_complex):
        trace = require_trace()
        number = key.instruction(trace)
        message = "NaN as the key of a dict or in a set is not implemented"
        trace.add_error_flag(hlo.ne(number, number), NotImplementedError, message)


def without_row(run: Run, place: Instruction, is_there: Instruction | None = None) -> list[Any]:
    """The entries but for the one in a row, if it is there."""
    less = hlo.constant(np.int64(1)) if is_there is None else hlo.convert(is_there, hlo.S64)
    length = number_of(hlo.subtract(instruction_of(run.length), less))
    if run.index is None:
        return [pulled_forward(run, place, length)]
    run = ordered(run)
    index = without_entry(run, place, hlo.constant(np.bool_(True)) if is_there is None else is_there)
    fewer = pulled_forward(run, place, length)
    return [Run(replace(fewer.form, key_columns=run.form.key_columns), fewer.columns, length, 0, index)]


def with_last_in_place_of(run: Run, place: Instruction, is_there: Instruction) -> list[Any]:
    """As `without_row`, where the order does not matter: the last entry takes the row, and no other one moves."""
    if run.index is None:
        return without_row(run, place, is_there)
    run = ordered(run)
    index = with_last_entry_at(run, place, is_there)
    last = last_row(run)
    fewer = with_columns(run, [with_block(column, place, rows_at(column, last, 1), None) for column in instructions(run)])
    length = number_of(hlo.subtract(instruction_of(run.length), hlo.convert(is_there, hlo.S64)))
    return [Run(replace(fewer.form, length=None, key_columns=run.form.key_columns), fewer.columns, length, 0, index)]


def without_last_row(run: Run) -> list[Any]:
    """The entries but for the last one, which is there."""
    end = last_row(run)
    if run.index is None:
        return [made(run.type, instructions(run), number_of(end), run.form.place, run.start)]
    return with_last_in_place_of(run, end, hlo.gt(instruction_of(run.length), 0))
