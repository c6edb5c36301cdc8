"""What the elements of a list have in common whose length the program decides: they become rows of arrays, the columns.

An element is taken apart as `pytree` does. Numbers and arrays have a column for each leaf; constants (None, texts) are kept
by their number in a table, where not all elements have the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import hlo
from ..control_flow.bodies import ValueType, type_of
from ..recording import pytree
from ..recording.array import TracedArray, require_trace
from ..recording.errors import TracerError
from ..recording.operands import as_traced
from .merging import Irreconcilable, Maybe, carried, common_type, is_number, kind_of, same


class _Nothing:
    """Stands for None, which is no leaf for `pytree`."""

    def __repr__(self) -> str:
        return "None"


_NOTHING = _Nothing()
_CODE = ValueType(hlo.Shape(hlo.S32))


@dataclass(frozen=True)
class LeafForm:
    """One leaf of all elements: a number (or array), one of these constants, or either."""

    is_number: bool
    is_scalar: bool
    constants: tuple[Any, ...]

    @property
    def is_coded(self) -> bool:
        """Whether a column says which constant it is; 0 stands for the number."""
        return len(self.constants) + self.is_number > 1


@dataclass(frozen=True)
class ElementType:
    """The structure of all elements, their leaves, and the types of those that are numbers."""

    structure: Any
    leaves: tuple[LeafForm, ...]
    numbers: tuple[ValueType | None, ...]

    @property
    def columns(self) -> list[ValueType]:
        """The types of one row of each column."""
        found = []
        for leaf, number in zip(self.leaves, self.numbers):
            found += [_CODE] if leaf.is_coded else []
            found += [number] if leaf.is_number else []
        return found

    def __str__(self) -> str:
        parts = [
            " or ".join([*([str(number)] if leaf.is_number else []), *map(repr, leaf.constants)])
            for leaf, number in zip(self.leaves, self.numbers)
        ]
        return str(pytree.unflatten(self.structure, [_Words(part) for part in parts]))


class _Words(str):
    __repr__ = str.__str__


def _marked(value: Any) -> Any:
    """The value with leaves for None."""
    if value is None:
        return _NOTHING
    if type(value) in (tuple, list):
        return type(value)(map(_marked, value))
    return {key: _marked(part) for key, part in value.items()} if type(value) is dict else value


def element_type(value: Any) -> ElementType:
    """The type of one element. Raises TracerError for what no list can hold whose length the program decides."""
    leaves, structure = pytree.flatten(_marked(value))
    forms, numbers = [], []
    for leaf in leaves:
        kind, constants = None, ()
        if type(leaf) is Irreconcilable:
            raise leaf.error()
        if isinstance(leaf, Maybe) and leaf.absent is None:
            leaf, constants = leaf.value, (_NOTHING,)
        if is_number(leaf):
            kind = kind_of(leaf)
            if kind.shape.dynamic_dimensions:
                raise TracerError(
                    f"an array whose size is known at run time only, {kind}, is put into a list whose length the program "
                    "decides: all elements of such a list have one shape"
                )
        else:
            constants = (*constants, leaf)
        is_scalar = kind is not None and not kind.shape.dimensions and kind.is_scalar
        forms.append(LeafForm(kind is not None, is_scalar, constants))
        numbers.append(kind)
    return ElementType(structure, tuple(forms), tuple(numbers))


def joined_type(first: ElementType | None, second: ElementType | None) -> ElementType | None:
    """The type of elements of both kinds, None where there is none. A list without elements has None."""
    if first is None or second is None:
        return first or second
    if first.structure != second.structure:
        return None
    forms, numbers = [], []
    for one, other, kind, other_kind in zip(first.leaves, second.leaves, first.numbers, second.numbers):
        if one.is_number and other.is_number:
            kind = common_type(kind, other_kind)
            if kind is None:
                return None
        constants = (*one.constants, *[new for new in other.constants if not any(same(new, old) for old in one.constants)])
        forms.append(LeafForm(one.is_number or other.is_number, one.is_scalar or other.is_scalar, constants))
        numbers.append(kind or other_kind)
    return ElementType(first.structure, tuple(forms), tuple(numbers))


def joined_types(values: Sequence[Any]) -> ElementType | None:
    """The type of all of these elements. Raises TracerError where there is none."""
    found = None
    for value in values:
        new = element_type(value)
        both = joined_type(found, new)
        if both is None:
            raise not_one_type(found, new)
        found = both
    return found


def not_one_type(first: Any, second: Any) -> TracerError:
    return TracerError(
        f"a list whose length the program decides has elements of one kind, and this one has {first} and {second}. Fix: give "
        "all elements one structure, one shape, and dtypes that go together"
    )


def row_of(value: Any, kind: ElementType) -> list[hlo.Instruction]:
    """An element as a row of each column."""
    trace = require_trace()
    leaves, _ = pytree.flatten(_marked(value))
    row = []
    for leaf, form, number in zip(leaves, kind.leaves, kind.numbers):
        code: Any = None
        if isinstance(leaf, Maybe):
            absent = _number_of(form, _NOTHING)
            code = hlo.select(leaf.is_there.instruction(trace), 0, hlo.constant(np.int32(absent)))
            leaf = leaf.value
        elif not is_number(leaf):
            code, leaf = hlo.constant(np.int32(_number_of(form, leaf))), None
        if form.is_coded:
            row.append(hlo.constant(np.int32(0)) if code is None else code)
        if form.is_number:
            row.append(_converted(leaf, number))
    return row


def _number_of(form: LeafForm, constant: Any) -> int:
    place = next(place for place, one in enumerate(form.constants) if same(one, constant))
    return place + form.is_number


def _converted(leaf: Any, number: ValueType) -> hlo.Instruction:
    if leaf is None:
        return hlo.full(number.shape, 0)
    array = leaf if isinstance(leaf, TracedArray) else as_traced(carried(leaf))
    return hlo.convert(array.instruction(require_trace()), number.shape.element_type)


def constant_columns(values: Sequence[Any], kind: ElementType) -> list[np.ndarray] | None:
    """The columns of elements that are all known, None where one is not."""
    rows = []
    for value in values:
        leaves, _ = pytree.flatten(_marked(value))
        row = []
        for leaf, form in zip(leaves, kind.leaves):
            if isinstance(leaf, (TracedArray, Maybe, np.ndarray)):
                return None
            code = 0 if is_number(leaf) else _number_of(form, leaf)
            row += [code] if form.is_coded else []
            row += [leaf if is_number(leaf) else 0] if form.is_number else []
        rows.append(row)
    return [
        np.broadcast_to(
            np.array([row[place] for row in rows], column.shape.dtype).reshape(-1, *[1] * column.shape.rank),
            (len(rows), *column.shape.dimensions),
        )
        for place, column in enumerate(kind.columns)
    ]


def recoded(columns: Sequence[hlo.Instruction], count: int, old: ElementType, new: ElementType) -> list[hlo.Instruction]:
    """Columns of ``count`` rows of the old type as those of the new one, which holds the old one's elements."""
    pending, made = list(columns), []
    for before, form, number in zip(old.leaves, new.leaves, new.numbers):
        codes = pending.pop(0) if before.is_coded else None
        numbers = pending.pop(0) if before.is_number else None
        if form.is_coded:
            made.append(_recoded(codes, count, before, form))
        if form.is_number and numbers is None:
            made.append(hlo.full(hlo.Shape(number.shape.element_type, (count, *number.shape.dimensions)), 0))
        elif form.is_number:
            made.append(hlo.convert(numbers, number.shape.element_type))
    return made


def _recoded(codes: hlo.Instruction | None, count: int, before: LeafForm, form: LeafForm) -> hlo.Instruction:
    """The column that says which constant stands where, by the numbers that the new form gives them."""
    table = [0] * before.is_number + [_number_of(form, one) for one in before.constants]
    if codes is None:
        return hlo.full(hlo.Shape(hlo.S32, (count,)), table[0])
    if table == list(range(len(table))):
        return codes
    made = hlo.full_like(codes, table[0])
    for number, new in enumerate(table[1:], 1):
        made = hlo.select(hlo.eq(codes, number), hlo.full_like(codes, new), made)
    return made


def element_of(
    kind: ElementType, read: Callable[[int], hlo.Instruction], made: Callable[[int, hlo.Instruction, ValueType], TracedArray]
) -> Any:
    """The element whose row ``read`` gives by the number of the column; ``made`` makes an array of a number of the row."""
    trace, place, leaves = require_trace(), 0, []
    for form, number in zip(kind.leaves, kind.numbers):
        code = None
        if form.is_coded:
            code, place = read(place), place + 1
        value: Any = None
        if form.is_number:
            value, place = made(place, read(place), number), place + 1
        if code is None:
            value = value if form.is_number else _constant(form.constants[0])
        elif form.is_number and form.constants == (_NOTHING,):
            value = Maybe(TracedArray.from_instruction(trace, hlo.eq(code, 0)), value, None)
        else:
            given = [*([str(number)] if form.is_number else []), *map(repr, form.constants)]
            test = TracedArray.from_instruction(trace, code)
            value = Irreconcilable(test, f"an element of a list is one of {', '.join(given)}, which cannot become one value")
        leaves.append(value)
    return pytree.unflatten(kind.structure, leaves)


def _constant(constant: Any) -> Any:
    return None if constant is _NOTHING else constant


def type_with(kind: Any, forms: Sequence[LeafForm], columns: Sequence[TracedArray]) -> ElementType:
    """The type of elements of this structure and these forms that are the rows of the columns."""
    numbers: list[ValueType | None] = []
    place = 0
    for form in forms:
        place += form.is_coded
        if not form.is_number:
            numbers.append(None)
            continue
        column = type_of(columns[place])
        shape = hlo.Shape(column.shape.element_type, column.shape.dimensions[1:])
        numbers.append(ValueType(shape, column.weak_type, form.is_scalar or column.weak_type))
        place += 1
    return ElementType(kind, tuple(forms), tuple(numbers))


def elements_from_arrays(
    structure: Any, forms: Sequence[LeafForm], columns: Sequence[tuple[np.ndarray, bool]], count: int, finished: Callable
) -> list[Any]:
    """The elements whose rows these columns have when the program has run; weak ones are Python's numbers.

    ``finished`` puts lists in them together.
    """
    pending = list(columns)
    leaves = []
    for form in forms:
        codes = pending.pop(0)[0].tolist() if form.is_coded else [0] * count
        values: list[Any] = []
        if form.is_number:
            column, is_weak = pending.pop(0)
            values = column.tolist() if is_weak else list(column)
            if not form.is_scalar and not is_weak:
                values = [np.array(value) for value in values]
        table = [None] * form.is_number + list(map(_constant, form.constants))
        leaves.append([values[row] if form.is_number and not code else table[code] for row, code in enumerate(codes)])
    rows = zip(*leaves) if leaves else [()] * count
    return [finished(pytree.unflatten(structure, row)) for row in rows]
