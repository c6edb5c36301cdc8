"""What the elements of a list have in common whose length the program decides: they become rows of arrays, the columns.

An element is taken apart as `pytree` does. Numbers and arrays have a column for each leaf; constants (None, texts) are kept
by their number in a table, where not all elements have the same one. So are the types of numbers of several (`number_types`).
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from math import prod
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
from ..forms import Parts, carried, common_type, is_number, is_plain_text, kind_of, may_be_shared, same
from ..forms import parts_of as parts_of_object
from ..loops.stacked_rows import slice_of
from ..merging import selected
from ..texts.leaves import PLACE_AND_LENGTH, is_text_leaf, text_of_row, text_row, try_text_leaf, try_text_leaves
from . import number_types
from .missing_elements import BLANK, common_structure, flags_of, leaf_count, may_be_missing, placed
from .number_types import Types
from .references import Unread, put_into_one_table, refuse, tables_in, try_rows


class _Nothing:
    """Stands for None, which is no leaf for `pytree`."""

    def __repr__(self) -> str:
        return "None"


_NOTHING = _Nothing()
_FIXED = (_Nothing, str, bytes, type, np.dtype, Enum)
_CODE = ValueType(hlo.Shape(hlo.S32))
_FEW_KEYS = 16


@dataclass(frozen=True)
class LeafForm:
    """One leaf of all elements: a number (or array), one of these constants, or either.

    copied: the arrays of which there are copies. types: of a number that may have one of several. text: of a text that the
    program makes, which is carried as a number is, whether it is plain.
    """

    is_number: bool
    is_scalar: bool
    constants: tuple[Any, ...]
    copied: frozenset[Storage] = frozenset()
    types: Types = ()
    text: bool | None = None

    @property
    def is_coded(self) -> bool:
        """Whether a column says which type it has or which constant it is; the first codes stand for numbers."""
        return len(self.constants) + self.codes_of_numbers > 1

    @property
    def codes_of_numbers(self) -> int:
        return len(self.types) or int(self.is_number)

    def columns(self, number: ValueType | None) -> list[ValueType]:
        """The types of one row of each of its columns."""
        holders = number_types.holders(self.types) if self.types else [number] if self.is_number else []
        return [_CODE, *holders] if self.is_coded else holders


_UNKNOWN = LeafForm(False, False, ())
_FLAG_FORM = LeafForm(True, True, ()), ValueType(hlo.Shape(hlo.PRED), True, True)


@dataclass(frozen=True)
class ElementType:
    """The structure of all elements, their leaves, and the types of those that are numbers."""

    structure: Any
    leaves: tuple[LeafForm, ...]
    numbers: tuple[ValueType | None, ...]

    @property
    def columns(self) -> list[ValueType]:
        """The types of one row of each column."""
        return [column for leaf, number in zip(self.leaves, self.numbers) for column in leaf.columns(number)]

    @property
    def is_of_fixed_constants(self) -> bool:
        """Whether each recording of the function finds the same constants."""
        return all(isinstance(one, _FIXED) for leaf in self.leaves for one in leaf.constants)

    def __str__(self) -> str:
        parts = [
            " or ".join([*_kinds_in_words(leaf, number), *map(repr, leaf.constants)])
            for leaf, number in zip(self.leaves, self.numbers)
        ]
        return _in_words(self.structure, iter(parts))


def _kinds_in_words(leaf: LeafForm, number: ValueType | None) -> list[str]:
    if leaf.text is not None:
        return ["texts"]
    return list(map(str, leaf.types or ([number] if leaf.is_number else [])))


def _in_words(structure: Any, leaves: Iterator[str]) -> str:
    if structure is pytree.LEAF:
        return next(leaves)
    kind, auxiliary, children = structure
    parts = ", ".join([_in_words(child, leaves) for child in children])
    if kind is tuple:
        return f"({parts}{',' * (len(children) == 1)})"
    if kind is list:
        return f"[{parts}]"
    name = "None" if kind is type(None) else (auxiliary[0] if kind is Parts else kind).__name__
    return f"{name} of {parts}" if parts else name


def _marked(value: Any) -> Any:
    """The value with leaves for None."""
    if value is None:
        return _NOTHING
    kind = type(value)
    if may_be_missing(value):
        return Maybe(value.is_there, _marked(value.value), None)
    is_container = isinstance(value, (tuple, list, dict)) or dataclasses.is_dataclass(kind)
    apart = pytree.taken_apart(value) if is_container else None
    if apart is not None:
        return pytree.put_together(kind, apart[0], list(map(_marked, apart[1])))
    made = parts_of_object(value)
    return value if made is None else Parts(kind, made.auxiliary, list(map(_marked, made.parts)))


def _leaves(value: Any) -> tuple[list[Any], Any]:
    return pytree.flatten(_marked(value), _is_leaf)


def _is_leaf(part: Any) -> bool:
    return type(part) is Choice or type(part) is Maybe and not may_be_missing(part) or is_text_leaf(part)


def _leaves_as(value: Any, structure: Any) -> list[Any]:
    """The leaves of a value in a structure that has a flag wherever some elements are None."""
    leaves, own = _leaves(value)
    return leaves if own == structure else list(placed(own, iter(leaves), structure))


def _with_structure(kind: ElementType, structure: Any) -> ElementType:
    """The same elements, with flags beside those that may be missing."""
    if kind.structure == structure:
        return kind
    forms = list(placed(kind.structure, iter(zip(kind.leaves, kind.numbers)), structure))
    forms = [_FLAG_FORM if form in (True, False) else (_UNKNOWN, None) if form is BLANK else form for form in forms]
    return ElementType(structure, tuple([form for form, _ in forms]), tuple([number for _, number in forms]))


def element_type(value: Any) -> ElementType:
    """The type of one element. Raises CarryTypeError for what no list can hold whose length the program decides."""
    leaves, structure = _leaves(value)
    forms, numbers = [], []
    for leaf, is_flag in zip(leaves, flags_of(structure)):
        if is_flag:
            forms.append(_FLAG_FORM[0])
            numbers.append(_FLAG_FORM[1])
            continue
        kind, constants, copied, types, text = None, (), frozenset(), (), None
        if isinstance(leaf, Maybe) and leaf.absent is None:
            leaf, constants = leaf.value, (_NOTHING,)
        for one in leaf.values if type(leaf) is Choice else (leaf,):
            if is_text_leaf(one):
                if kind not in (None, PLACE_AND_LENGTH):
                    raise CarryTypeError("texts and numbers are put into one place of a list whose length the program decides")
                kind, text = PLACE_AND_LENGTH, is_plain_text(one) and text is not False
                continue
            if not is_number(one):
                if type(one) is Unread:
                    one.read()
                try_text_leaf(one)  # one of several, which have structures of their own
                if pytree.taken_apart(one) is not None or isinstance(one, BaseException) and _holds_values(one):
                    put_into_one_table([leaf])
                    raise CarryTypeError(f"{one!r} is put into a list whose length the program decides, and is not of one kind")
                constants = (*constants, one)
                continue
            if may_be_shared(one):
                copied |= bases_of(one.root_storage)
            types = number_types.united(types, number_types.types_of(one)) if types is not None else None
            kind = kind_of(one) if kind is None else common_type(kind, kind_of(one))
            if kind is None:
                raise CarryTypeError("numbers of other shapes are put into a list whose length the program decides")
            if kind.shape.dynamic_dimensions:
                raise CarryTypeError(
                    f"an array whose size is known at run time only, {kind}, is put into a list whose length the program "
                    "decides: all elements of such a list have one shape"
                )
        is_scalar = kind is not None and not kind.shape.dimensions and kind.is_scalar
        types = types if types is not None and len(types) > 1 else ()
        forms.append(LeafForm(kind is not None, is_scalar, constants, copied, types, text))
        numbers.append(kind)
    return ElementType(structure, tuple(forms), tuple(numbers))


def _holds_values(error: BaseException) -> bool:
    return any(isinstance(part, TracedArray) or pytree.taken_apart(part) is not None for part in error.args)


def parts_of(kind: ElementType) -> list[ElementType]:
    """The types of the parts of elements that are tuples or lists; there are none where they are something else."""
    found, place = [], 0
    for structure in kind.structure[2] if type(kind.structure) is tuple and kind.structure[0] in (tuple, list) else ():
        end = place + leaf_count(structure)
        found.append(ElementType(structure, kind.leaves[place:end], kind.numbers[place:end]))
        place = end
    return found


def key_columns(kind: ElementType) -> int:
    """How many columns hold the keys of entries, (key, value)."""
    return len(parts_of(kind)[0].columns)


def number_of_few_keys(kind: ElementType) -> int | None:
    """How many keys entries may have, (key, value), where all of them are known, and few; None of others."""
    leaves = parts_of(kind)[0].leaves
    if any(leaf.is_number or leaf.types or leaf.text is not None for leaf in leaves):
        return None
    found = prod([len(leaf.constants) for leaf in leaves])
    return found if found <= _FEW_KEYS else None


def compared_keys(kind: ElementType) -> list[int]:
    """Which columns of entries tell their keys apart: the types of numbers do not."""
    found, place = [], 0
    for leaf, number in zip(parts_of(kind)[0].leaves, kind.numbers):
        if (leaf.types or leaf.text is not None) and leaf.constants:
            raise NotImplementedError(f"a dict or a set whose keys the program computes, and are of {kind}")
        end = place + len(leaf.columns(number))
        found += range(place + bool(leaf.types), end)
        place = end
    return found


def with_written_keys(kind: ElementType) -> ElementType:
    """The type of entries, (key, value), whose keys are written among the characters where they are texts."""
    count = len(parts_of(kind)[0].leaves)
    leaves, numbers = list(kind.leaves), list(kind.numbers)
    for place, leaf in enumerate(leaves[:count]):
        if not leaf.is_number and leaf.constants and all(isinstance(one, str) for one in leaf.constants):
            leaves[place], numbers[place] = LeafForm(True, False, (), text=True), PLACE_AND_LENGTH
        elif leaf.text and all(isinstance(one, str) for one in leaf.constants):
            leaves[place] = dataclasses.replace(leaf, constants=())
    return ElementType(kind.structure, tuple(leaves), tuple(numbers))


def joined_type(first: ElementType | None, second: ElementType | None) -> ElementType | None:
    """The type of elements of both kinds, None where there is none. A list without elements has None."""
    if first is None or second is None:
        return first or second
    if first.structure != second.structure:
        structure = common_structure(
            first.structure, map(_is_none, first.leaves), second.structure, map(_is_none, second.leaves)
        )
        if structure is None:
            return None
        first, second = _with_structure(first, structure), _with_structure(second, structure)
    forms, numbers = [], []
    for one, other, *each in zip(first.leaves, second.leaves, first.numbers, second.numbers):
        kind, other_kind = each
        text = one.text if other.text is None else other.text and one.text is not False
        if one.is_number and other.is_number:
            kind = common_type(kind, other_kind) if (one.text is None) is (other.text is None) else None
            if kind is None:
                return None
        constants = (*one.constants, *[new for new in other.constants if not any(same(new, old) for old in one.constants)])
        is_number, is_scalar = one.is_number or other.is_number, one.is_scalar or other.is_scalar
        types = _types_of_both(one, other, *each) if one.is_number and other.is_number else one.types or other.types
        forms.append(LeafForm(is_number, is_scalar, constants, one.copied | other.copied, types, text))
        numbers.append(kind or other_kind)
    return ElementType(first.structure, tuple(forms), tuple(numbers))


def _is_none(leaf: LeafForm) -> bool:
    return not leaf.is_number and leaf.constants in ((), (_NOTHING,))


def _types_of_both(one: LeafForm, other: LeafForm, kind: ValueType, other_kind: ValueType) -> Types:
    found = number_types.united(one.types or (kind,), other.types or (other_kind,))
    return found if found is not None and len(found) > 1 else ()


def joined_types(values: Sequence[Any]) -> ElementType | None:
    """The type of all of these elements. Raises CarryTypeError where there is none."""
    if len(values) > 1 and are_alike(values):
        return element_type(values[0])
    found = None
    for value in values:
        new = element_type(value)
        both = joined_type(found, new)
        if both is None:
            raise not_one_type(found, new, values)
        found = both
    return found


def are_alike(values: Sequence[Any]) -> bool:
    """Whether these are numbers of one type, or tuples or lists of such, which then have one length."""
    kinds = set(map(type, values))
    if len(kinds) != 1:
        return False
    (kind,) = kinds
    if kind is TracedArray:
        types = {(one.element_type, one.weak_type, one.is_scalar, one.exact is None) for one in values}
        return len(types) == 1 and values[0].is_scalar and values[0].exact is None
    if kind in (tuple, list):
        return len(set(map(len, values))) == 1 and all(map(are_alike, zip(*values)))
    return kind in _PYTHON_NUMBERS


_PYTHON_NUMBERS = frozenset({float, int, bool, complex})
# Fewer numbers are put together one by one.
_FEW = 8


def not_one_type(first: ElementType | None, second: ElementType | None, values: Iterable[Any] = ()) -> CarryTypeError:
    """The error for elements of both types in one list, these values among them.

    Raises RecordedAgain where they are lists that can be rows of one table, or that lie in one and have to be without.
    """
    structures = [kind.structure for kind in (first, second) if kind is not None]
    tables = [table for structure in structures for table in tables_in(structure)]
    put_into_one_table(values, tables)
    try_text_leaves(structures)
    try_rows(structures)
    for table in tables:
        refuse(table)
    return CarryTypeError(
        f"a list whose length the program decides has elements of one kind, and this one has {first} and {second}. Fix: give "
        "all elements one structure, one shape, and dtypes that go together"
    )


def row_of(value: Any, kind: ElementType) -> list[hlo.Instruction]:
    """An element as a row of each column."""
    trace = require_trace()
    row = []
    for leaf, form, number in zip(_leaves_as(value, kind.structure), kind.leaves, kind.numbers):
        optional = leaf if isinstance(leaf, Maybe) else None
        code, columns = _parts_of(leaf if optional is None else optional.value, form, number)
        if optional is not None:
            code = selected(optional.is_there, [_number_of(form, _NOTHING), code])
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
    return 0, [hlo.convert(array.instruction(require_trace()), number.shape.element_type)]


def _number_of(form: LeafForm, constant: Any) -> int:
    place = next(place for place, one in enumerate(form.constants) if same(one, constant))
    return place + form.codes_of_numbers


def constant_columns(values: Sequence[Any], kind: ElementType) -> list[np.ndarray] | None:
    """The columns of elements that are all known, None where one is not."""
    rows = []
    for value in values:
        row = []
        for leaf, form in zip(_leaves_as(value, kind.structure), kind.leaves):
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
    if len(values) < _FEW or any(not leaf.is_number or leaf.is_coded or leaf.text is not None for leaf in kind.leaves):
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
        if form.types and numbers:
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
    return made, _with_structure(kind, structure)


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
    known = [*([number] if form.is_number else []), *[one for one in form.constants if one is not _NOTHING]]
    found = known[0]
    if len(known) > 1:
        places = [next((new for new, one in enumerate(known) if one is value), 0) for value in values]
        found = Choice(code if places == list(range(len(places))) else selected(code, places), known)
    return found if _NOTHING not in form.constants else Maybe(code != values.index(_NOTHING), found, None)


def constant_of(constant: Any) -> Any:
    return None if constant is _NOTHING else constant


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
        column = type_of(columns[place])
        shape = hlo.Shape(column.shape.element_type, column.shape.dimensions[1:])
        numbers.append(ValueType(shape, column.weak_type, form.is_scalar or column.weak_type))
        place += 1
    return ElementType(kind, tuple(forms), tuple(numbers))


def link_columns(forms: Sequence[LeafForm], columns: Sequence[TracedArray]) -> None:
    """Connect columns with the arrays of which their rows are copies."""
    place = 0
    for form in forms:
        if form.is_number and form.copied:
            link(columns[place + form.is_coded].root_storage, form.copied)
        place += len(form.columns(_CODE))
