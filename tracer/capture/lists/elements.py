"""What the elements of a list have in common whose length the program decides: they become rows of arrays, the columns.

An element is taken apart as `pytree` does. Numbers and arrays have a column for each leaf; constants (None, texts) are kept
by their number in a table, where not all elements have the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .... import hlo
from ...control_flow.bodies import ValueType, type_of
from ...recording import pytree
from ...recording.aliases import bases_of, link
from ...recording.array import TracedArray, require_trace
from ...recording.errors import CarryTypeError
from ...recording.operands import as_traced
from ...recording.trace import Storage
from ..choices import Choice, Maybe
from ..forms import carried, common_type, is_number, kind_of, may_be_shared, same
from ..merging import selected
from .references import refuse, tables_in


class _Nothing:
    """Stands for None, which is no leaf for `pytree`."""

    def __repr__(self) -> str:
        return "None"


_NOTHING = _Nothing()
_CODE = ValueType(hlo.Shape(hlo.S32))


@dataclass(frozen=True)
class LeafForm:
    """One leaf of all elements: a number (or array), one of these constants, or either.

    copied: the arrays of which there are copies.
    """

    is_number: bool
    is_scalar: bool
    constants: tuple[Any, ...]
    copied: frozenset[Storage] = frozenset()

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


def _leaves(value: Any) -> tuple[list[Any], Any]:
    return pytree.flatten(_marked(value), lambda part: type(part) in (Maybe, Choice))


def element_type(value: Any) -> ElementType:
    """The type of one element. Raises CarryTypeError for what no list can hold whose length the program decides."""
    leaves, structure = _leaves(value)
    forms, numbers = [], []
    for leaf in leaves:
        kind, constants, copied = None, (), frozenset()
        if isinstance(leaf, Maybe) and leaf.absent is None:
            leaf, constants = leaf.value, (_NOTHING,)
        for one in leaf.values if type(leaf) is Choice else (leaf,):
            if not is_number(one):
                if pytree.taken_apart(one) is not None:
                    raise CarryTypeError(f"{one!r} is put into a list whose length the program decides, and is not of one kind")
                constants = (*constants, one)
                continue
            if may_be_shared(one):
                copied |= bases_of(one.root_storage)
            kind = kind_of(one) if kind is None else common_type(kind, kind_of(one))
            if kind is None:
                raise CarryTypeError("numbers of other shapes are put into a list whose length the program decides")
            if kind.shape.dynamic_dimensions:
                raise CarryTypeError(
                    f"an array whose size is known at run time only, {kind}, is put into a list whose length the program "
                    "decides: all elements of such a list have one shape"
                )
        is_scalar = kind is not None and not kind.shape.dimensions and kind.is_scalar
        forms.append(LeafForm(kind is not None, is_scalar, constants, copied))
        numbers.append(kind)
    return ElementType(structure, tuple(forms), tuple(numbers))


def parts_of(kind: ElementType) -> list[ElementType]:
    """The types of the parts of elements that are tuples or lists; there are none where they are something else."""
    found, place = [], 0
    for structure in kind.structure[2] if type(kind.structure) is tuple and kind.structure[0] in (tuple, list) else ():
        end = place + _leaf_count(structure)
        found.append(ElementType(structure, kind.leaves[place:end], kind.numbers[place:end]))
        place = end
    return found


def _leaf_count(structure: Any) -> int:
    return sum(map(_leaf_count, structure[2])) if isinstance(structure, tuple) else 1


def key_columns(kind: ElementType) -> int:
    """How many columns hold the keys of entries, (key, value)."""
    return len(parts_of(kind)[0].columns)


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
        is_number, is_scalar = one.is_number or other.is_number, one.is_scalar or other.is_scalar
        forms.append(LeafForm(is_number, is_scalar, constants, one.copied | other.copied))
        numbers.append(kind or other_kind)
    return ElementType(first.structure, tuple(forms), tuple(numbers))


def joined_types(values: Sequence[Any]) -> ElementType | None:
    """The type of all of these elements. Raises CarryTypeError where there is none."""
    found = None
    for value in values:
        new = element_type(value)
        both = joined_type(found, new)
        if both is None:
            raise not_one_type(found, new)
        found = both
    return found


def not_one_type(first: ElementType | None, second: ElementType | None) -> CarryTypeError:
    """The error for elements of both types in one list; where these are lists that lie in a table they have to be without."""
    for kind in (first, second):
        for table in tables_in(kind.structure) if kind is not None else ():
            refuse(table)
    return CarryTypeError(
        f"a list whose length the program decides has elements of one kind, and this one has {first} and {second}. Fix: give "
        "all elements one structure, one shape, and dtypes that go together"
    )


def row_of(value: Any, kind: ElementType) -> list[hlo.Instruction]:
    """An element as a row of each column."""
    trace = require_trace()
    leaves, _ = _leaves(value)
    row = []
    for leaf, form, number in zip(leaves, kind.leaves, kind.numbers):
        code: Any = None
        optional = leaf if isinstance(leaf, Maybe) else None
        leaf = leaf if optional is None else optional.value
        if type(leaf) is Choice:
            code, leaf = _number_in(form, leaf)
        elif not is_number(leaf):
            code, leaf = hlo.constant(np.int32(_number_of(form, leaf))), None
        if optional is not None:
            absent = hlo.constant(np.int32(_number_of(form, _NOTHING)))
            code = hlo.select(optional.is_there.instruction(trace), hlo.constant(np.int32(0)) if code is None else code, absent)
        if form.is_coded:
            row.append(hlo.constant(np.int32(0)) if code is None else code)
        if form.is_number:
            row.append(_converted(leaf, number))
    return row


def _number_in(form: LeafForm, choice: Choice) -> tuple[hlo.Instruction, Any]:
    """The code of one of several values, and the number that it is, if any."""
    codes = [0 if is_number(value) else _number_of(form, value) for value in choice.values]
    return as_traced(selected(choice.number, codes)).astype(np.int32).instruction(require_trace()), selected(
        choice.number, [value if is_number(value) else 0 for value in choice.values]
    )


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
        leaves, _ = _leaves(value)
        row = []
        for leaf, form in zip(leaves, kind.leaves):
            if isinstance(leaf, (TracedArray, Maybe, Choice, np.ndarray)):
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
            if may_be_shared(value):
                link(value.root_storage, form.copied)
        if code is None:
            value = value if form.is_number else constant_of(form.constants[0])
        else:
            value = _one_of(TracedArray.from_instruction(trace, code, weak_type=True), form, value)
        leaves.append(value)
    return pytree.unflatten(kind.structure, leaves)


def _one_of(code: TracedArray, form: LeafForm, number: Any) -> Any:
    """What the code says it is: the number, or one of the constants."""
    values = [*([number] if form.is_number else []), *form.constants]
    known = [(place, value) for place, value in enumerate(values) if value is not _NOTHING]
    found = known[0][1]
    if len(known) > 1:
        places = [next((new for new, (old, _) in enumerate(known) if old == place), 0) for place in range(len(values))]
        found = Choice(selected(code, places), [value for _, value in known])
    if len(known) == len(values):
        return found
    return Maybe(code != values.index(_NOTHING), found, None)


def constant_of(constant: Any) -> Any:
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


def link_columns(forms: Sequence[LeafForm], columns: Sequence[TracedArray]) -> None:
    """Connect columns with the arrays of which their rows are copies."""
    place = 0
    for form in forms:
        place += form.is_coded
        if form.is_number:
            link(columns[place].root_storage, form.copied)
            place += 1


def elements_from_arrays(
    structure: Any, forms: Sequence[LeafForm], columns: Iterable[tuple[np.ndarray, bool]], count: int
) -> list[Any]:
    """The elements whose rows these columns have when the program has run; weak ones are Python's numbers."""
    pending = iter(columns)
    leaves = []
    for form in forms:
        codes = next(pending)[0].tolist() if form.is_coded else None
        values: list[Any] = []
        if form.is_number:
            column, is_weak = next(pending)
            values = column.tolist() if is_weak else list(column)
            if not form.is_scalar and not is_weak:
                values = [np.array(value) for value in values]
        if codes is not None:
            table = [None] * form.is_number + list(map(constant_of, form.constants))
            values = [values[row] if form.is_number and not code else table[code] for row, code in enumerate(codes)]
        elif not form.is_number:
            values = [constant_of(form.constants[0])] * count
        leaves.append(values)
    return _put_together(structure, iter(leaves), count)


def _put_together(structure: Any, leaves: Iterator[list[Any]], count: int) -> list[Any]:
    """So many values of this structure, whose leaves the lists have."""
    if structure is pytree.LEAF:
        return next(leaves)
    kind, auxiliary, children = structure
    parts = [_put_together(child, leaves, count) for child in children]
    rows = zip(*parts) if parts else [()] * count
    return list(rows) if kind is tuple else [pytree.put_together(kind, auxiliary, row) for row in rows]
