"""What the elements of a list have in common whose length the program decides: they become rows of arrays, the columns.

An element is taken apart as `pytree` does. Numbers and arrays have a column for each leaf; constants (None, texts) are kept
by their number in a table, where not all elements have the same one. So are the types of numbers of several (`number_types`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from math import prod
from typing import Any

import numpy as np

from .... import hlo
from ...control_flow.bodies import ValueType
from ...outside.guards import SameObject
from ...recording import pytree
from ...recording.aliases import bases_of
from ...recording.array import TracedArray
from ...recording.attributes import attributes_of
from ...recording.current_trace import current_trace
from ...recording.errors import CarryTypeError
from ...recording.trace import Storage
from ..choices import Choice, Maybe
from ..copies import TRY_LISTED
from ..forms import is_number, is_plain_text, is_written_text, kind_of, may_be_shared, same
from ..parts import Parts
from ..parts import parts_of as parts_of_object
from ..places import where_made
from ..texts.leaves import PLACE_AND_LENGTH, is_text_leaf, try_text_leaf, try_text_leaves
from . import number_types
from .missing_elements import BLANK, common_structure, flags_of, leaf_count, may_be_missing, placed
from .number_types import Types
from .references import Unread, put_into_one_table, refuse, tables_in, try_objects, try_rows, want_listed, want_records
from .sized_arrays import column_types, common, dynamic_dimensions, with_bounds


class _Nothing:
    """Stands for None, which is no leaf for `pytree`."""

    def __repr__(self) -> str:
        return "None"


NOTHING = _Nothing()
_FIXED = (_Nothing, str, bytes, type, np.dtype, Enum)
CODE = ValueType(hlo.Shape(hlo.S32))
_FEW_KEYS = 16


@dataclass(frozen=True)
class LeafForm:
    """One leaf of all elements: a number (or array), one of these constants, or either.

    copied: the arrays of which there are copies. types: of a number that may have one of several. text: of a text that the
    program makes, which is carried as a number is, whether it is plain. dynamic: the dimensions of an array whose sizes are
    known at run time only; its rows are arrays of the bounds, and a column beside them holds the sizes. place: where the
    bounds have been guessed.
    """

    is_number: bool
    is_scalar: bool
    constants: tuple[Any, ...]
    copied: frozenset[Storage] = frozenset()
    types: Types = ()
    text: bool | None = None
    dynamic: tuple[int, ...] = ()
    place: str | None = None

    @property
    def is_coded(self) -> bool:
        """Whether a column says which type it has or which constant it is; the first codes stand for numbers."""
        return len(self.constants) + self.codes_of_numbers > 1

    @property
    def is_array(self) -> bool:
        """Whether it may be an array of the program's, which lies in the last column."""
        return self.is_number and not (self.is_scalar or self.types or self.text is not None)

    @property
    def codes_of_numbers(self) -> int:
        return len(self.types) or int(self.is_number)

    def columns(self, number: ValueType | None) -> list[ValueType]:
        """The types of one row of each of its columns."""
        holders = number_types.holders(self.types) if self.types else [number] if self.is_number else []
        if self.dynamic:
            holders = column_types(self.dynamic, number)
        return [CODE, *holders] if self.is_coded else holders


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
    def holds_sized_arrays(self) -> bool:
        """Whether arrays are among the leaves whose sizes are known at run time only."""
        return any(leaf.dynamic for leaf in self.leaves)

    @property
    def is_of_fixed_constants(self) -> bool:
        """Whether each recording of the function finds the same constants."""
        return not self.objects

    @property
    def objects(self) -> list[Any]:
        """The constants that are none in another recording of the function."""
        return [one for leaf in self.leaves for one in leaf.constants if not isinstance(one, _FIXED)]

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
        return NOTHING
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


def leaves_as(value: Any, structure: Any) -> list[Any]:
    """The leaves of a value in a structure that has a flag wherever some elements are None."""
    leaves, own = _leaves(value)
    return leaves if own == structure else list(placed(own, iter(leaves), structure))


def with_structure(kind: ElementType, structure: Any) -> ElementType:
    """The same elements, with flags beside those that may be missing."""
    if kind.structure == structure:
        return kind
    forms = list(placed(kind.structure, iter(zip(kind.leaves, kind.numbers)), structure))
    forms = [_FLAG_FORM if form in (True, False) else (_UNKNOWN, None) if form is BLANK else form for form in forms]
    return ElementType(structure, tuple([form for form, _ in forms]), tuple([number for _, number in forms]))


def _objects_in(value: Any) -> Iterator[Any]:
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from _objects_in(part)
    elif pytree.taken_apart(value) is None and parts_of_object(value) is not None:
        yield value


def element_type(value: Any) -> ElementType:
    """The type of one element. Raises CarryTypeError for what no list can hold whose length the program decides."""
    try:
        leaves, structure = _leaves(value)
    except RecursionError:  # objects that hold one another
        for one in _objects_in(value):
            want_records(current_trace().program, type(one))
        raise CarryTypeError("objects that hold one another are put into a list whose length the program decides") from None
    if (kind := _class_within_itself(structure, frozenset())) is not None:
        try_objects(kind)
    forms, numbers = [], []
    for leaf, is_flag in zip(leaves, flags_of(structure)):
        if is_flag:
            forms.append(_FLAG_FORM[0])
            numbers.append(_FLAG_FORM[1])
            continue
        kind, constants, copied, types, text = None, (), frozenset(), (), None
        if isinstance(leaf, Maybe) and leaf.absent is None:
            leaf, constants = leaf.value, (NOTHING,)
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
                    if where_made(one) is not None:
                        want_records(current_trace().program, type(one))
                    raise CarryTypeError(f"{one!r} is put into a list whose length the program decides, and is not of one kind")
                if hasattr(type(one), "users_own"):  # a container from outside, which calls return itself
                    one.surroundings.guard(SameObject(one.path, one.users_own))
                if holds_traced(one):
                    try_objects(type(one))
                constants = (*constants, one)
                continue
            if may_be_shared(one):
                copied |= bases_of(one.root_storage)
            types = number_types.united(types, number_types.types_of(one)) if types is not None else None
            kind = kind_of(one) if kind is None else common(kind, kind_of(one))
            if kind is None:
                raise CarryTypeError("arrays of other shapes or types are put into a list whose length the program decides")
        is_scalar = kind is not None and not kind.shape.dimensions and kind.is_scalar
        types = types if types is not None and len(types) > 1 else ()
        forms.append(LeafForm(kind is not None, is_scalar, constants, copied, types, text, dynamic_dimensions(kind)))
        numbers.append(kind)
    return ElementType(structure, tuple(forms), tuple(numbers))


def _class_within_itself(structure: Any, around: frozenset[type]) -> type | None:
    """The class of an object in this structure that holds one of its class, as nodes of a tree do."""
    if structure is pytree.LEAF:
        return None
    kind, auxiliary, children = structure
    kind = auxiliary[0] if kind is Parts else kind
    if kind in around:
        return kind
    around = around | {kind} if dataclasses.is_dataclass(kind) or structure[0] is Parts else around
    return next((found for child in children if (found := _class_within_itself(child, around)) is not None), None)


def holds_traced(value: Any) -> bool:
    """Whether an object that the function has made holds what the program computes, as do those that it holds."""
    pending, seen = [value], set()
    while pending:
        one = pending.pop()
        if isinstance(one, TracedArray):
            return True
        if where_made(one) is not None and id(one) not in seen:
            seen.add(id(one))
            pending += pytree.flatten(attributes_of(one))[0]
    return False


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


def hold_texts(leaves: Iterable[LeafForm]) -> bool:
    """Whether any of the leaves are texts that the program makes."""
    return any(leaf.text is not None for leaf in leaves)


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
        first, second = with_structure(first, structure), with_structure(second, structure)
    forms, numbers = [], []
    for one, other, *each in zip(first.leaves, second.leaves, first.numbers, second.numbers):
        kind, other_kind = each
        text = one.text if other.text is None else other.text and one.text is not False
        if one.is_number and other.is_number:
            kind = common(kind, other_kind) if (one.text is None) is (other.text is None) else None
            if kind is None:
                return None
        constants = (*one.constants, *[new for new in other.constants if not any(same(new, old) for old in one.constants)])
        is_number, is_scalar = one.is_number or other.is_number, one.is_scalar or other.is_scalar
        types = _types_of_both(one, other, *each) if one.is_number and other.is_number else one.types or other.types
        kind, place = kind or other_kind, one.place or other.place
        if place is not None:
            kind = with_bounds(kind, (first if one.place else second).numbers[len(numbers)])
        forms.append(
            LeafForm(is_number, is_scalar, constants, one.copied | other.copied, types, text, dynamic_dimensions(kind), place)
        )
        numbers.append(kind)
    return ElementType(first.structure, tuple(forms), tuple(numbers))


def _is_none(leaf: LeafForm) -> bool:
    return not leaf.is_number and leaf.constants in ((), (NOTHING,))


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
    """Whether these are numbers of one type, texts of the program's, or tuples or lists of such, which then have one length."""
    kinds = set(map(type, values))
    if len(kinds) != 1:
        return False
    (kind,) = kinds
    if kind is TracedArray:
        types = {(one.element_type, one.weak_type, one.is_scalar, one.exact is None) for one in values}
        return len(types) == 1 and values[0].is_scalar and values[0].exact is None
    if kind is list or issubclass(kind, tuple):
        return len(set(map(len, values))) == 1 and all(map(are_alike, zip(*values)))
    return kind in _PYTHON_NUMBERS or all(map(is_written_text, values))


_PYTHON_NUMBERS = frozenset({float, int, bool, complex})


def _containers_in(structure: Any) -> set[type]:
    """The types of the sets, dicts and deques in values of this structure."""
    if structure is pytree.LEAF:
        return set()
    kind, auxiliary, children = structure
    kind = auxiliary[0] if kind is Parts else kind
    is_one = issubclass(kind, (set, dict)) or issubclass(kind, list) and kind is not list
    return set().union([kind] if is_one else [], *map(_containers_in, children))


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
    contained = list(map(_containers_in, structures))
    for kind in set().union(*contained):
        if kind is set:
            if all(set in kinds for kinds in contained):
                continue  # they differ in how many elements they have room for
            TRY_LISTED[0]()
        want_listed(current_trace().program, kind)
    for leaf in (leaf for kind in (first, second) if kind is not None for leaf in kind.leaves):
        for one in filter(where_made, leaf.constants):  # one of several objects, which a record is by its position
            want_records(current_trace().program, type(one))
    return CarryTypeError(
        f"a list whose length the program decides has elements of one kind, and this one has {first} and {second}. Fix: give "
        "all elements one structure, one shape, and dtypes that go together"
    )
