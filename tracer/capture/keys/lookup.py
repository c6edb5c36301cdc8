"""Entries of dicts and sets, looked up, added and removed: rows of a run of (key, value)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .... import hlo
from ...recording.array import TracedArray, require_trace
from ...recording.errors import TracerError
from ..branches import decide
from ..choices import Choice, Maybe
from ..lists.access import equal_rows, gathered
from ..lists.elements import ElementType, element_type, joined_type, row_of
from ..lists.runs import (
    Run,
    element,
    instruction_of,
    instructions,
    made,
    number_of,
    ordered,
    plus,
    require_capacity,
    retyped,
    settled,
    type_of_items,
    with_capacity,
)
from ..raising import record_raise

Instruction = hlo.Instruction


def holds_unknown(key: Any) -> bool:
    """Whether the program computes a key, or a part of it."""
    if isinstance(key, TracedArray):
        return key.known_value is None
    return type(key) in (Maybe, Choice) or type(key) is tuple and any(map(holds_unknown, key))


def require_hashable(key: Any) -> None:
    if isinstance(key, tuple):
        for part in key:
            require_hashable(part)
    elif isinstance(key, TracedArray) and not key.is_scalar:
        raise TypeError("unhashable type: 'numpy.ndarray'")
    elif not isinstance(key, (TracedArray, Maybe, Choice)):
        hash(key)


# --- the parts of entries ---


def _leaf_count(structure: Any) -> int:
    return sum(map(_leaf_count, structure[2])) if isinstance(structure, tuple) else 1


def _parts(kind: ElementType) -> tuple[ElementType, ElementType]:
    """The types of the keys and of the values."""
    keys, values = kind.structure[2]
    count = _leaf_count(keys)
    return (
        ElementType(keys, kind.leaves[:count], kind.numbers[:count]),
        ElementType(values, kind.leaves[count:], kind.numbers[count:]),
    )


def keys_of(run: Run) -> Run:
    kind, _ = _parts(run.type)
    return made(kind, instructions(run)[: len(kind.columns)], run.length, run.form.place, run.start)


def values_of(run: Run) -> Run:
    keys, kind = _parts(run.type)
    return made(kind, instructions(run)[len(keys.columns) :], run.length, run.form.place, run.start)


def place_of_key(run: Run, key: Any) -> Instruction | None:
    """The row in which a key stands, one behind all entries where it stands in none; None where it cannot be there."""
    keys = keys_of(run)
    kind = joined_type(keys.type, element_type(key))
    if kind is None:
        return None
    if not keys.columns and kind == keys.type:
        return hlo.constant(np.int64(0))
    if not keys.columns:  # one key, and another one
        return None
    trace = require_trace()
    found = equal_rows(retyped(keys, kind), settled([key], kind), True)
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
    if not entries:
        return None
    run = ordered(settled(entries))
    place = place_of_key(run, key)
    return None if place is None else (run, place, is_entry(run, place))


def raise_where(condition: Instruction, error: Exception) -> None:
    """Let the call raise an exception, whose arguments may be traced, where the condition holds."""

    def fail() -> None:
        record_raise(require_trace(), error)

    decide(TracedArray.from_instruction(require_trace(), condition, weak_type=True), (fail, None))


def value_at(run: Run, place: Instruction) -> Any:
    return element(run, number_of(place))[1]


def stored(entries: Sequence[Any], key: Any, value: Any, replaces: bool = True) -> tuple[list[Any], Instruction]:
    """The entries with a value under a key, and its row. One with this key keeps its place, and its value unless replaced."""
    require_hashable(key)
    _require_ordinary(key)
    had, kind = type_of_items(entries), type_of_items([*entries, (key, value)])
    if had is not None:
        _require_one_kind(had, kind, key)
    run = ordered(settled(entries, kind))
    if run.form.place is None:
        run = with_capacity(run, run.form.capacity + 1, None)
    end, longer = instruction_of(run.length), plus(run.length, 1)
    place = place_of_key(run, key) if had is not None else None
    if place is not None:
        is_new = hlo.ge(place, end)
        place = hlo.select(is_new, end, place)
        longer = number_of(hlo.add(end, hlo.convert(is_new, hlo.S64)))
    else:
        place = end
    require_capacity(longer, run.form.capacity, run.form.place)
    # What does not count goes behind the entries: a key that is there already stays what it is.
    count = len(_parts(kind)[0].columns)
    columns = [
        _written(column, part, place if replaces and number >= count else end)
        for number, (column, part) in enumerate(zip(instructions(run), row_of((key, value), kind)))
    ]
    return [made(kind, columns, longer, run.form.place)], place


def _written(column: Instruction, part: Instruction, row: Instruction) -> Instruction:
    rest = [hlo.constant(np.int64(0))] * (column.shape.rank - 1)
    return hlo.dynamic_update_slice(column, hlo.reshape(part, (1, *part.shape.dimensions)), row, *rest)


def _require_one_kind(had: ElementType, kind: ElementType, key: Any) -> None:
    """Keys stay what they are: an integer among floats would be one of them."""
    before, after = _parts(had)[0].numbers, _parts(kind)[0].numbers
    given = element_type(key).numbers
    for one, both, other in zip(before, after, given):
        kinds = [number.shape.element_type.kind for number in (one, both, other) if number is not None]
        if len({"integer" if name in ("signed", "unsigned") else name for name in kinds}) > 1:
            raise TracerError(
                f"a dict or a set whose keys the program computes has keys of one kind of number, and this one has {one} and "
                f"{other}. Fix: convert them (int(...), float(...))"
            )


def _require_ordinary(key: Any) -> None:
    """NaN is equal to no key, but may be one."""
    if isinstance(key, tuple):
        for part in key:
            _require_ordinary(part)
    if isinstance(key, TracedArray) and (key.element_type.is_float or key.element_type.is_complex):
        trace = require_trace()
        number = key.instruction(trace)
        message = "NaN as the key of a dict or in a set is not implemented"
        trace.add_error_flag(hlo.ne(number, number), NotImplementedError, message)


def without_row(run: Run, place: Instruction, is_there: Instruction | None = None) -> list[Any]:
    """The entries but for the one in a row, if it is there."""
    less = hlo.constant(np.int64(1)) if is_there is None else hlo.convert(is_there, hlo.S64)
    length = number_of(hlo.subtract(instruction_of(run.length), less))
    return [gathered(run, lambda rows: hlo.add(rows, hlo.convert(hlo.ge(rows, hlo.full_like(rows, place)), hlo.S64)), length)]
