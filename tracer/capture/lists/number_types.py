"""Numbers of several types in one list: a column says which type each one has, and others hold the numbers.

``[0] + [float("inf")] * n`` has an int and floats, ``[0.0] * n`` into which elements of an array are put Python's floats and
NumPy's. What is read is a number of several types (`recording/several_types.py`), as a branch leaves it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from .... import hlo
from ...control_flow.bodies import ValueType
from ...recording.array import TracedArray, require_trace
from ...recording.intervals import note_carried, note_interval, require_carried
from ...recording.operands import as_traced
from ..choices import Choice
from ..forms import carried, common_type, kind_of
from ..merging import selected

Types = tuple[ValueType, ...]


def types_of(number: Any) -> Types:
    """The types that a number may have."""
    exact = getattr(number, "exact", None)
    return _sorted([kind_of(one) for one in ((number,) if exact is None else exact.values)])


def united(first: Types, second: Types) -> Types | None:
    """The types of numbers that are of these, or of those; None for arrays and others that have no types besides."""
    found = _sorted([*first, *second])
    is_one = len(found) == 1 or all(kind.is_scalar and not kind.shape.rank for kind in found)
    return found if is_one and all(map(holder_of, found)) else None


def _sorted(kinds: Iterable[ValueType]) -> Types:
    return tuple(sorted({kind.scalar_type: kind for kind in kinds}.values(), key=str))


def common(types: Types) -> ValueType | None:
    """The type that computations take a number for that has one of these."""
    return reduce(lambda one, other: one and common_type(one, other), types)


# --- columns ---


def holders(types: Types) -> list[ValueType]:
    """The types of the columns that hold numbers of these types: one for the integers, one for the floats, ..."""
    return list(dict.fromkeys(map(holder_of, types)))


def holder_of(kind: ValueType) -> ValueType | None:
    """The type of the column that holds numbers of a type, exactly."""
    element_type = kind.shape.element_type
    if element_type in (hlo.F16, hlo.F32, hlo.F64):
        wide = hlo.F64
    elif element_type in (hlo.C64, hlo.C128):
        wide = hlo.C128
    elif element_type is hlo.PRED or element_type.is_integer and element_type is not hlo.U64:
        wide = hlo.S64
    else:
        wide = element_type if element_type is hlo.U64 else None
    return wide and ValueType(hlo.Shape(wide))


def written(number: Any, types: Types) -> tuple[Any, list[hlo.Instruction]]:
    """Which of these types a number has, and what the columns hold of it."""
    exact, trace = getattr(number, "exact", None), require_trace()
    values = [number] if exact is None else exact.values
    kinds = list(map(kind_of, values))
    for value in values:
        require_carried(value)
    code = selected(0 if exact is None else exact.number, places(kinds, types))
    columns = []
    for holder in holders(types):
        column = None
        for place, (value, kind) in enumerate(zip(values, kinds)):
            if holder_of(kind) != holder:
                continue
            own = as_traced(carried(value)).instruction(trace)
            own = hlo.convert(own, holder.shape.element_type)
            if column is not None:
                is_this = as_traced(exact.number == place).instruction(trace)
                own = hlo.select(is_this, own, column)
            column = own
        columns.append(hlo.full(holder.shape, 0) if column is None else column)
    return code, columns


def places(kinds: Sequence[ValueType], types: Types) -> list[int]:
    """Which of the types each of these is."""
    wanted = [kind.scalar_type for kind in types]
    return [wanted.index(kind.scalar_type) for kind in kinds]


def constant_row(number: Any, types: Types) -> tuple[int, list[Any]]:
    """The same of a number that is known."""
    kind = kind_of(number)
    return places([kind], types)[0], [number if holder_of(kind) == holder else 0 for holder in holders(types)]


def converted(
    codes: hlo.Instruction, columns: Sequence[hlo.Instruction], types: Types, wanted: hlo.ElementType
) -> hlo.Instruction:
    """The numbers in one type."""
    found = None
    for holder, column in zip(holders(types), columns):
        own = hlo.convert(column, wanted)
        if found is not None:
            is_this = None
            for place, kind in enumerate(types):
                if holder_of(kind) == holder:
                    equal = hlo.eq(codes, place)
                    is_this = equal if is_this is None else hlo.or_(is_this, equal)
            own = hlo.select(is_this, own, found)
        found = own
    return found


def read(codes: hlo.Instruction, columns: Sequence[hlo.Instruction], types: Types) -> TracedArray:
    """A number whose row these are."""
    trace = require_trace()
    whole = common(types)
    found = TracedArray.from_instruction(trace, converted(codes, columns, types, whole.shape.element_type), whole.weak_type)
    code = TracedArray.from_instruction(trace, codes, weak_type=True)
    values = []
    for place, kind in enumerate(types):
        column = columns[holders(types).index(holder_of(kind))]
        if len(types) > len(columns):  # of another type a number of this one is not computed with
            column = hlo.select(hlo.eq(codes, place), column, hlo.full_like(column, 0))
        values.append(
            TracedArray.from_instruction(trace, hlo.convert(column, kind.shape.element_type), kind.weak_type, is_scalar=True)
        )
        note_carried(trace, values[-1])
    note_carried(trace, found)
    note_interval(trace, code, (0, len(types) - 1))
    found.exact = Choice(code, values)
    return found


def rewritten(columns: Sequence[hlo.Instruction], old: Types, new: Types) -> list[hlo.Instruction]:
    """Columns of numbers of the old types, or one of a single type, as those of the new ones, among which these are."""
    had, found = list(map(holder_of, old)) if len(old) == 1 else holders(old), []
    for holder in holders(new):
        if holder in had:
            found.append(hlo.convert(columns[had.index(holder)], holder.shape.element_type))
        else:
            found.append(hlo.full(hlo.Shape(holder.shape.element_type, columns[0].shape.dimensions), 0))
    return found


# --- when the program has run ---


def values_of(codes: Sequence[int], columns: Sequence[np.ndarray], types: Types) -> list[Any]:
    """The numbers whose rows these are, those of Python's types Python's; codes behind those of the types are no numbers."""
    each = []
    for kind in types:
        column = columns[holders(types).index(holder_of(kind))].astype(kind.shape.dtype)
        each.append(column.tolist() if kind.weak_type else list(column))
    return [each[code][row] if code < len(types) else None for row, code in enumerate(codes)]
