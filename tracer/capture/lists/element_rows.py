"""Elements of lists as rows of columns: written, read, and written anew where their type becomes another."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .... import hlo
from ...control_flow.bodies import ValueType, type_of
from ...recording import pytree
from ...recording.aliases import link
from ...recording.array import TracedArray, require_trace
from ...recording.operands import as_traced
from ..choices import Choice, Maybe
from ..forms import carried, is_number, may_be_shared, same
from ..loops.stacked_rows import slice_of
from ..merging import selected
from ..texts.leaves import is_text_leaf, text_of_row, text_row
from . import number_types
from .elements import CODE, NOTHING, ElementType, LeafForm, hold_texts, leaves_as, with_structure
from .missing_elements import BLANK, placed
from .sized_arrays import array_of_row, resized, row_of_array

# Fewer numbers are put together one by one.
_FEW = 8


def row_of(value: Any, kind: ElementType) -> list[hlo.Instruction]:
    """An element as a row of each column."""
    trace = require_trace()
    row = []
    for leaf, form, number in zip(leaves_as(value, kind.structure), kind.leaves, kind.numbers):
        optional = leaf if isinstance(leaf, Maybe) else None
        code, columns = _parts_of(leaf if optional is None else optional.value, form, number)
        if optional is not None:
            code = selected(optional.is_there, [_number_of(form, NOTHING), code])
        if form.is_coded:
            row.append(hlo.convert(as_traced(code).instruction(trace), hlo.S32))
        row += columns
    return row


def _parts_of(leaf: Any, form: LeafForm, number: ValueType | None) -> tuple[Any, list[hlo.Instruction]]:
    """The code of a leaf, and what the columns hold of its number."""
    if leaf is BLANK:
        return 0, [hlo.full(one.shape, 0) for one in form.columns(number)[form.is_coded :]]
    if type(leaf) is Choice:
        parts = [_parts_of(one, form, number) for one in leaf.values]
        columns = []
        for each in zip(*[columns for _, columns in parts]):
            arrays = [TracedArray.from_instruction(require_trace(), one) for one in each]
            columns.append(selected(leaf.number, arrays).instruction(require_trace()))
        return selected(leaf.number, [code for code, _ in parts]), columns
    if is_text_leaf(leaf):
        return 0, [text_row(leaf, form.text)]
    if not is_number(leaf):
        return _number_of(form, leaf), [hlo.full(one.shape, 0) for one in form.columns(number)[form.is_coded :]]
    if form.types:
        return number_types.written(leaf, form.types)
    array = leaf if isinstance(leaf, TracedArray) else as_traced(carried(leaf))
    if form.dynamic:
        return 0, row_of_array(array, form.dynamic, form.place, number)
    return 0, [hlo.convert(array.instruction(require_trace()), number.shape.element_type)]


def _number_of(form: LeafForm, constant: Any) -> int:
    place = next(place for place, one in enumerate(form.constants) if same(one, constant))
    return place + form.codes_of_numbers


def constant_columns(values: Sequence[Any], kind: ElementType) -> list[np.ndarray] | None:
    """The columns of elements that are all known, None where one is not."""
    rows = []
    for value in values:
        row = []
        for leaf, form in zip(leaves_as(value, kind.structure), kind.leaves):
            leaf = 0 if leaf is BLANK and form.is_number else form.constants[0] if leaf is BLANK else leaf
            if isinstance(leaf, (TracedArray, Maybe, Choice, np.ndarray)) or is_text_leaf(leaf):
                return None
            code, held = 0 if is_number(leaf) else _number_of(form, leaf), [leaf if is_number(leaf) else 0] * form.is_number
            if form.types:
                code, held = (
                    number_types.constant_row(leaf, form.types)
                    if is_number(leaf)
                    else (code, [0] * len(number_types.holders(form.types)))
                )
            row += [code, *held] if form.is_coded else held
        rows.append(row)
    return [
        np.broadcast_to(
            np.array([row[place] for row in rows], column.shape.dtype).reshape(-1, *[1] * column.shape.rank),
            (len(rows), *column.shape.dimensions),
        )
        for place, column in enumerate(kind.columns)
    ]


def packed_columns(values: Sequence[Any], kind: ElementType) -> list[hlo.Instruction] | None:
    """The columns of elements whose numbers lie in arrays, one after the other in equal steps; None where they do not."""
    if len(values) < _FEW or any(not leaf.is_number or leaf.is_coded or leaf.dynamic for leaf in kind.leaves):
        return None
    if hold_texts(kind.leaves):
        return None
    parts = [pytree.flatten(value) for value in values]
    if any(structure != kind.structure for _, structure in parts):
        return None
    numbers = [slice_of(column) for column in zip(*[leaves for leaves, _ in parts])]
    if None in numbers:
        return None
    return [
        hlo.pad(hlo.convert(column, one.shape.element_type), hlo.constant(0, one.shape.element_type), padding=[(0, 1, 0)])
        for column, one in zip(numbers, kind.columns)
    ]


def recoded(columns: Sequence[hlo.Instruction], count: int, old: ElementType, new: ElementType) -> list[hlo.Instruction]:
    """Columns of ``count`` rows of the old type as those of the new one, which holds the old one's elements."""
    pending, made = list(columns), []
    if old.structure != new.structure:
        pending, old = _with_flags(pending, count, old, new.structure)
    for before, form, number, had in zip(old.leaves, new.leaves, new.numbers, old.numbers):
        codes = pending.pop(0) if before.is_coded else None
        numbers = [pending.pop(0) for _ in before.columns(had)[before.is_coded :]]
        if form.is_coded:
            made.append(_recoded(codes, count, before, form, had))
        if form.dynamic and numbers:
            made += resized(numbers, before.dynamic, form.dynamic, form.place, number)
        elif form.types and numbers:
            made += number_types.rewritten(numbers, before.types or (had,), form.types)
        elif numbers:
            made.append(hlo.convert(numbers[0], number.shape.element_type))
        else:
            rows = [hlo.Shape(one.shape.element_type, (count, *one.shape.dimensions)) for one in form.columns(number)]
            made += [hlo.full(shape, 0) for shape in rows[form.is_coded :]]
    return made


def _with_flags(
    columns: list[hlo.Instruction], count: int, kind: ElementType, structure: Any
) -> tuple[list[hlo.Instruction], ElementType]:
    """The columns of rows, with those of flags beside what may be missing."""
    pending = iter(columns)
    own = [list(itertools.islice(pending, len(leaf.columns(number)))) for leaf, number in zip(kind.leaves, kind.numbers)]
    made: list[hlo.Instruction] = []
    for part in placed(kind.structure, iter(own), structure):
        if part is True or part is False:
            made.append(hlo.full(hlo.Shape(hlo.PRED, (count,)), part))
        elif part is not BLANK:
            made += part
    return made, with_structure(kind, structure)


def _recoded(
    codes: hlo.Instruction | None, count: int, before: LeafForm, form: LeafForm, number: ValueType | None
) -> hlo.Instruction:
    """The column that says which type or constant stands where, by the numbers that the new form gives them."""
    table = [0] * before.is_number
    if form.types and before.is_number:
        table = number_types.places(before.types or (number,), form.types)
    table += [_number_of(form, one) for one in before.constants] or [0] * (not table)
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
        if form.types:
            columns = [read(place + k) for k in range(len(number_types.holders(form.types)))]
            value, place = number_types.read(code, columns, form.types), place + len(columns)
        elif form.text is not None:
            value, place = text_of_row(read(place), form.text), place + 1
        elif form.dynamic:
            value, place = made(place + 1, array_of_row(read(place + 1), read(place), form.dynamic), number), place + 2
        elif form.is_number:
            value, place = made(place, read(place), number), place + 1
            if may_be_shared(value):
                link(value.root_storage, form.copied)
        if code is None:
            value = value if form.is_number else constant_of(form.constants[0])
        else:
            value = _one_of(TracedArray.from_instruction(trace, code, weak_type=True), form, value) if form.constants else value
        leaves.append(value)
    return pytree.unflatten(kind.structure, leaves)


def _one_of(code: TracedArray, form: LeafForm, number: Any) -> Any:
    """What the code says it is: the number, or one of the constants."""
    values = [*[number] * form.codes_of_numbers, *form.constants]
    known = [*([number] if form.is_number else []), *[one for one in form.constants if one is not NOTHING]]
    found = known[0]
    if len(known) > 1:
        places = [next((new for new, one in enumerate(known) if one is value), 0) for value in values]
        found = Choice(code if places == list(range(len(places))) else selected(code, places), known)
    return found if NOTHING not in form.constants else Maybe(code != values.index(NOTHING), found, None)


def constant_of(constant: Any) -> Any:
    return None if constant is NOTHING else constant


def returned_constant(constant: Any) -> Any:
    """A constant as a call returns it: the user's own container where one from outside stands for it."""
    return constant.users_own if hasattr(type(constant), "users_own") else constant_of(constant)


def type_with(kind: Any, forms: Sequence[LeafForm], columns: Sequence[TracedArray]) -> ElementType:
    """The type of elements of this structure and these forms that are the rows of the columns."""
    numbers: list[ValueType | None] = []
    place = 0
    for form in forms:
        place += form.is_coded
        if form.types:
            numbers.append(number_types.common(form.types))
            place += len(number_types.holders(form.types))
            continue
        if not form.is_number:
            numbers.append(None)
            continue
        place += bool(form.dynamic)
        column = type_of(columns[place])
        dimensions = column.shape.dimensions[1:]
        shape = hlo.Shape(column.shape.element_type, dimensions)
        if form.dynamic:
            shape = shape.with_dimensions(dimensions, [d in form.dynamic for d in range(len(dimensions))])
        numbers.append(ValueType(shape, column.weak_type, form.is_scalar or column.weak_type))
        place += 1
    return ElementType(kind, tuple(forms), tuple(numbers))


def link_columns(forms: Sequence[LeafForm], columns: Sequence[TracedArray]) -> None:
    """Connect columns with the arrays of which their rows are copies."""
    place = 0
    for form in forms:
        if form.is_number and form.copied:
            link(columns[place + form.is_coded + bool(form.dynamic)].root_storage, form.copied)
        place += len(form.columns(CODE))
