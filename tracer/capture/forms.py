"""Values that meet: what a name holds behind a branch, or in all rounds of a loop.

A value has a *form*: what is known of it, and where in it there are numbers that the program computes. Two values have a
common form, in which both can be written down: as their numbers, one after the other. These are what branches and loops carry.
"""

from __future__ import annotations

import enum
import functools
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import hlo
from ..control_flow.bodies import ValueType, are_other_arrays, promoted, type_of
from ..indexing.locations import Location, location
from ..recording import pytree
from ..recording.array import TracedArray, require_trace
from ..recording.attributes import attributes_of, class_of, has_attributes_alone
from ..recording.current_trace import current_trace, is_around
from ..recording.errors import CarryTypeError
from ..recording.intervals import INT64, within
from ..recording.program import Program
from ..recording.trace import Trace
from .choices import Choice, Maybe
from .parts import AttributeNames, Besides, taken_apart
from .places import UNBOUND, Contents, Place, where_container_made, where_made

NUMBERS = (bool, int, float, complex, np.ndarray, np.generic, TracedArray)


def is_number(leaf: Any) -> bool:
    """Whether a leaf can be carried as a traced array."""
    if isinstance(leaf, np.ndarray) or isinstance(leaf, np.generic):
        return leaf.dtype.kind in "biufc"
    return isinstance(leaf, NUMBERS) and not isinstance(leaf, enum.Enum) and not _is_huge(leaf)


def may_be_shared(value: Any) -> bool:
    """Whether this is an array that can be changed."""
    return isinstance(value, TracedArray) and not value.is_scalar


def _is_huge(leaf: Any) -> bool:
    """Whether this is a Python integer that 64 bits do not hold."""
    return type(leaf) is int and not within((leaf, leaf), INT64)


def same(first: Any, second: Any) -> bool:
    """Whether two leaves are the same on both ways: one object, or equal constants."""
    if first is second:
        return True
    if type(first) is not type(second) or isinstance(first, (TracedArray, np.ndarray)):
        return False
    if isinstance(first, float):
        return repr(first) == repr(second)
    return isinstance(first, (str, bytes, bool, int, complex, type, np.dtype, type(None), range, slice)) and first == second


def unchanged(before: Any, after: Any, are_contents: bool = False) -> bool:
    """Whether a place holds what it held: the same object, or a tuple of the same ones; of ``contents`` the same elements."""
    if same(before, after):
        return True
    if type(before) is not type(after) or not (type(before) is tuple or are_contents and type(before) in (list, dict)):
        return False
    if isinstance(before, dict):
        return list(before) == list(after) and all(unchanged(before[key], after[key]) for key in before)
    return len(before) == len(after) and all(map(unchanged, before, after))


def is_unchanged(place: Place, before: Any, after: Any) -> bool:
    """Whether what a place held and what it holds now is the same."""
    return unchanged(before, after, isinstance(place, Contents))


def zero_like(trace: Trace, kind: ValueType) -> TracedArray:
    """What stands for a value of this kind where there is none; sizes that are known at run time only are 0."""
    zero = hlo.full(kind.shape, 0)
    for d in range(kind.shape.rank):
        if kind.shape.is_dynamic(d):
            zero = hlo.set_dimension_size(zero, hlo.constant(np.int32(0)), dimensions=(d,))
    return TracedArray.from_instruction(trace, zero, kind.weak_type, kind.is_scalar)


def kind_of(leaf: Any) -> ValueType | None:
    """What is carried for a leaf, None for one that is no number. Python's numbers are weak, True and False among them."""
    if isinstance(leaf, TracedArray):
        return type_of(leaf)
    if isinstance(leaf, bool):
        return ValueType(hlo.Shape(hlo.PRED), True, True)
    if isinstance(leaf, (int, float, complex)) and not isinstance(leaf, np.generic) and is_number(leaf):
        return ValueType(hlo.Shape(hlo.element_type_of(np.result_type(leaf))), True, True)
    if is_number(leaf):
        return ValueType(hlo.Shape(hlo.element_type_of(leaf.dtype), leaf.shape), False, isinstance(leaf, np.generic))
    return None


def carried(leaf: Any) -> Any:
    """A leaf as it is carried: True and False as traced values that stay Python's."""
    if isinstance(leaf, bool):
        trace = require_trace()
        return TracedArray.from_instruction(trace, hlo.constant(np.bool_(leaf)), weak_type=True)
    return leaf


def common_type(first: ValueType, second: ValueType) -> ValueType | None:
    return promoted(first, second, widens=True)


# --- forms ---


@dataclass(frozen=True, eq=False)
class Fixed:
    """The same object on all ways, or an equal constant; None among them."""

    value: Any


@dataclass(frozen=True, eq=False)
class Number:
    """An array or a number that the program computes; the sizes of one ``of_any_size`` are known at run time only."""

    kind: ValueType
    of_any_size: bool = False


@dataclass(frozen=True, eq=False)
class Container:
    """A container of `pytree`'s: its type, and what is known of it besides the forms of its parts."""

    type: type
    auxiliary: Any
    parts: tuple[Form, ...]


@dataclass(frozen=True, eq=False)
class Optional:
    """A value that may be missing: a flag, and the value."""

    absent: Any
    form: Form


@dataclass(frozen=True, eq=False)
class OneOf:
    """A value out of a fixed set: its number, and the values."""

    forms: tuple[Form, ...]


@dataclass(frozen=True, eq=False)
class Several:
    """A number of one of several types; computations take it for one of their common type."""

    kind: ValueType
    forms: tuple[Number, ...]


@dataclass(frozen=True, eq=False)
class View:
    """A view of an array of which only the positions differ; it is carried as these."""

    kind: ValueType
    location: Location
    starts: tuple[Form, ...]


Form = Fixed | Number | Container | Optional | OneOf | Several | View

# Kinds of texts that are made when the program runs; what makes one of any text, and whether it is plain, of the kind that all
# may become (`characters`).
TEXTS: dict[type, Callable[[Any, bool], Any] | None] = {}

# What is told of the classes of objects that hold themselves, before that is an error.
NOTES_OF_CIRCLES: list[Callable[[Program, type], None]] = []

# What stands in a list for some of its elements, or for all of them: nothing else may be in its place.
STAND_FOR_ELEMENTS: set[type] = set()

NOWHERE = object()  # the value on a way on which nobody reads it
FLAG = ValueType(hlo.Shape(hlo.PRED), False, True)
PLACE = ValueType(hlo.Shape(hlo.S64), True, True)


def form_of(value: Any, outer: Trace | None = None, as_views: bool = False, holders: tuple[Any, ...] = ()) -> Form:
    """The form of a value as it is in a trace, by default the current one: objects that were made inside of that are new.

    as_views: views of arrays that were made outside stay views. holders: the objects of which this is a part. Raises
    CarryTypeError of an object that holds itself: what has a form is a tree.
    """
    if isinstance(value, TracedArray):
        if value.exact is not None:
            return Several(kind_of(value), tuple([Number(kind_of(one)) for one in value.exact.values]))
        return (_view_of(value, outer or current_trace()) if as_views else None) or Number(kind_of(value))
    if value is None or value is UNBOUND or is_number(value):
        return Fixed(value)
    if type(value) is Maybe:
        return Optional(value.absent, form_of(value.value, outer, as_views, holders))
    if type(value) is Choice:
        forms = [form_of(one, outer, as_views, holders) for one in value.values]
        return functools.reduce(joined, forms) if any(isinstance(form, Container) for form in forms) else OneOf(tuple(forms))
    where = where_made(value) or where_container_made(value) or _where_met(value, outer or current_trace())
    apart = taken_apart(value) if where is None or not is_around(where, outer or current_trace()) else None
    if apart is None:
        _require_known(value, outer or current_trace())
        return Fixed(value)
    auxiliary, parts = apart
    holders = with_holder(holders, value)
    return Container(type(value), auxiliary, tuple([form_of(part, outer, as_views, holders) for part in parts]))


def with_holder(holders: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    """The objects of which the parts of a value are parts. Raises CarryTypeError where it is one of them already, as of two
    that hold one another; their class becomes one of records, which may (`lists/records.py`)."""
    if any(one is value for one in holders):
        for note in NOTES_OF_CIRCLES:
            note(current_trace().program, type(value))
        raise CarryTypeError(
            f"an object of {type(value).__name__} holds itself, or is held by what it holds, and is one of several, as the "
            "program decides"
        )
    return (*holders, value)


def _require_known(value: Any, outer: Trace) -> None:
    """Raises NotImplementedError for an object of which nobody knows how it is put together, with values of inner traces."""
    made = outer.program.made_objects.get(id(value))
    if made is None or is_around(made[1], outer):
        return
    parts = [*attributes_of(value).values(), *(value if isinstance(value, deque) else ())]
    if any(isinstance(part, TracedArray) and not is_around(part.root_storage.trace, outer) for part in parts):
        name = class_of(type(value)).__name__
        raise NotImplementedError(
            f"an object of the class {name} that a branch or a loop makes, with values that the program computes. Fix: let "
            f"{name} have no other base than object, dict, list, tuple or set"
        )


def _view_of(array: TracedArray, outer: Trace) -> View | None:
    found = location(array)
    if found is None or not is_around(array.root_storage.trace, outer):
        return None
    starts = [Number(PLACE) if start.terms else Fixed(start.constant) for start in found.starts]
    return View(kind_of(array), found, tuple(starts))


def _where_met(value: Any, outer: Trace) -> Trace | None:
    """The inner trace of whose values an object consists that code has made which is not captured."""
    if not has_attributes_alone(type(value)) or not hasattr(value, "__dict__") or pytree.taken_apart(value) is not None:
        return None
    for part in vars(value).values():
        if isinstance(part, TracedArray) and not is_around(trace := part.root_storage.trace, outer):
            outer.program.made_objects[id(value)] = value, trace
            return trace
    return None


def fixed_in(form: Form | None) -> Iterator[Any]:
    """The objects that values of a form hold themselves, and not as what they consist of."""
    if isinstance(form, Fixed):
        yield form.value
    elif isinstance(form, Optional):
        yield from fixed_in(form.form)
    elif isinstance(form, Container | OneOf):
        for part in form.parts if isinstance(form, Container) else form.forms:
            yield from fixed_in(part)


def choices_within(form: Form) -> tuple[int, int]:
    """How often a form says that there is one of several values, or none; and how many of these are within one another."""
    if isinstance(form, Container):
        parts, own = form.parts, 0
    else:
        parts = (form.form,) if isinstance(form, Optional) else form.forms if isinstance(form, OneOf) else ()
        own = bool(parts)
    found = [choices_within(part) for part in parts]
    return own + sum(count for count, _ in found), own + max((depth for _, depth in found), default=0)


def joined(first: Form, second: Form, in_loop: bool = False) -> Form:
    """The form in which values of both can be written down.

    in_loop: numbers of other shapes are left to who carries them, and not told apart as a choice.
    """
    for absent in (UNBOUND, None):
        there = [_where_there(form, absent) for form in (first, second)]
        if there[0] is not first or there[1] is not second:
            known = [form for form in there if form is not None]
            if not known:
                return first
            return Optional(absent, known[0] if len(known) == 1 else joined(*known, in_loop))
    if isinstance(first, Number) and first.of_any_size and isinstance(without_sizes(second), Number):
        return first
    if (text := _joined_texts(first, second, in_loop)) is not None:
        return text
    if isinstance(first, OneOf) or isinstance(second, OneOf):
        forms = list(first.forms if isinstance(first, OneOf) else (first,))
        for form in second.forms if isinstance(second, OneOf) else (second,):
            for number, known in enumerate(forms):
                if (both := common_form(known, form, in_loop)) is not None:
                    forms[number] = both
                    break
            else:
                forms.append(form)
        return OneOf(tuple(forms)) if len(forms) > 1 else forms[0]
    both = common_form(first, second, in_loop)
    if both is None and in_loop and (kind := kind_in(first)) is not None and kind_in(second) is not None:
        return Number(kind)
    return both or OneOf((first, second))


def _joined_texts(first: Form, second: Form, in_loop: bool) -> Container | None:
    """The form of texts that are written down as characters, where texts meet that grow; None of others."""
    forms = [one for form in (first, second) for one in (form.forms if isinstance(form, OneOf) else (form,))]
    made = [form for form in forms if _is_made_text(form)]
    if not made or any(form not in made and not (isinstance(form, Fixed) and isinstance(form.value, str)) for form in forms):
        return None
    if all(TEXTS[form.type] is None for form in made):
        if not in_loop and not any(map(_holds_texts, made)) or len(forms) == 2 and common_form(first, second, in_loop):
            return None
    kind = next(kind for kind, write in TEXTS.items() if write is not None)
    return Container(kind, all(map(_is_plain_text, forms)), (Number(PLACE), Number(PLACE)))


def _stands_for_elements(form: Form) -> bool:
    return isinstance(form, Container) and form.type in STAND_FOR_ELEMENTS


def _is_made_text(form: Form) -> bool:
    return isinstance(form, Container) and form.type in TEXTS


def _holds_texts(form: Form) -> bool:
    """Whether there are others, made when the program runs, in a text."""
    parts = form.parts if isinstance(form, Container) else ()
    return any(isinstance(part, OneOf) or _is_made_text(part) or _holds_texts(part) for part in parts)


def _is_plain_text(form: Form) -> bool:
    """Whether a text has no numbers whose text Python makes."""
    if isinstance(form, Container):
        return form.auxiliary if TEXTS.get(form.type) is not None else all(map(_is_plain_text, form.parts))
    if isinstance(form, OneOf):
        return all(map(_is_plain_text, form.forms))
    return not any(kind.shape.element_type.is_float for kind in kinds(form))


def is_plain_text(value: Any) -> bool:
    return _is_plain_text(form_of(value))


def is_written_text(value: Any) -> bool:
    """Whether this is a text among the program's characters."""
    return TEXTS.get(type(value)) is not None


def written_text(value: Any, is_plain: bool) -> Any:
    """A text among the program's characters, from any text, or from where it begins and its length."""
    return next(write for write in TEXTS.values() if write is not None)(value, is_plain)


def without_sizes(form: Form) -> Form:
    """The form of an array of any size, of one or of several arrays of as many dimensions; of anything else its own."""
    found = list(map(kind_in, form.forms if isinstance(form, OneOf) else (form,)))
    if None in found or len({kind.shape.rank for kind in found}) > 1 or any(kind.is_scalar for kind in found):
        return form
    if len({kind.shape.element_type for kind in found}) > 1:
        return form
    return Number(found[0], of_any_size=True)


def _where_there(form: Form, absent: Any) -> Form | None:
    """The form of a value where it is not missing in this way, None if it always is."""
    if isinstance(form, Fixed) and form.value is absent:
        return None
    return form.form if isinstance(form, Optional) and form.absent is absent else form


def common_form(first: Form, second: Form, in_loop: bool) -> Form | None:
    """The common form of two that are the same kind of thing, None where they are not."""
    if in_loop:
        first, second = (_looked_into(one, other) for one, other in ((first, second), (second, first)))
    if isinstance(first, Container) and isinstance(second, Container):
        if first.type is not second.type or first.auxiliary != second.auxiliary or len(first.parts) != len(second.parts):
            return None
        parts = [joined(one, other, in_loop) for one, other in zip(first.parts, second.parts)]
        if any(isinstance(part, OneOf) and any(map(_stands_for_elements, part.forms)) for part in parts):
            return None
        return Container(first.type, first.auxiliary, tuple(parts))
    if isinstance(first, Fixed) and isinstance(second, Fixed) and same(first.value, second.value):
        return first
    if isinstance(first, View) and isinstance(second, View) and first.location.is_alike(second.location):
        starts = [joined(one, other) for one, other in zip(first.starts, second.starts)]
        return View(first.kind, first.location, tuple(starts))
    kinds = [kind_in(form) for form in (first, second)]
    if None in kinds:
        return None
    both = common_type(*kinds)
    if both is not None and are_other_arrays(*kinds):
        return None
    if both is not None and all(kind.is_scalar and not kind.shape.rank for kind in kinds):
        alternatives = {kind.scalar_type: Number(kind) for form in (first, second) for kind in _types_of(form)}
        if len(alternatives) > 1:
            return Several(both, tuple(sorted(alternatives.values(), key=lambda one: str(one.kind))))
    return both and Number(both)


def _types_of(form: Form) -> list[ValueType]:
    return [one.kind for one in form.forms] if isinstance(form, Several) else [kind_in(form)]


def _looked_into(form: Form, other: Form) -> Form:
    """The form of an object's attributes, where the other is one; loops carry them."""
    if isinstance(form, Fixed) and isinstance(other, Container) and type(form.value) is other.type:
        if (apart := taken_apart(form.value)) is not None:
            return Container(other.type, apart[0], tuple(map(form_of, apart[1])))
    return form


def kind_in(form: Form) -> ValueType | None:
    """The type of a number or an array, None of other forms."""
    return form.kind if isinstance(form, Number | Several | View) else kind_of(form.value) if isinstance(form, Fixed) else None


def is_like(first: Form, second: Form) -> bool:
    """Whether values of both forms are written down in the same way, whatever the types of their numbers."""
    if type(first) is not type(second):
        return False
    if isinstance(first, Fixed):
        return same(first.value, second.value)
    if isinstance(first, Number):
        return True
    if isinstance(first, Optional):
        return first.absent is second.absent and is_like(first.form, second.form)
    if isinstance(first, Container) and (first.type is not second.type or first.auxiliary != second.auxiliary):
        return False
    if isinstance(first, View):
        return first.location.is_alike(second.location) and all(map(is_like, first.starts, second.starts))
    parts = [form.parts if isinstance(form, Container) else form.forms for form in (first, second)]
    return len(parts[0]) == len(parts[1]) and all(map(is_like, *parts))


def kinds(form: Form) -> list[ValueType]:
    """The types of the numbers in which values of this form are written down."""
    if isinstance(form, Fixed):
        return []
    if isinstance(form, Number):
        return [form.kind]
    if isinstance(form, Optional):
        return [FLAG, *kinds(form.form)]
    if isinstance(form, OneOf):
        return [PLACE, *[kind for one in form.forms for kind in kinds(one)]]
    if isinstance(form, Several):
        return [form.kind, PLACE, *[one.kind for one in form.forms]]
    return [kind for part in (form.starts if isinstance(form, View) else form.parts) for kind in kinds(part)]


def labels(form: Form, name: str) -> list[str]:
    """What messages call them."""
    if isinstance(form, Fixed):
        return []
    if isinstance(form, Number):
        return [name]
    if isinstance(form, Optional):
        return [f"whether {name} is there", *labels(form.form, name)]
    if isinstance(form, Several):
        return [name, f"which type {name} has", *[name for _ in form.forms]]
    if isinstance(form, OneOf):
        return [f"which value {name} is", *[label for one in form.forms for label in labels(one, name)]]
    if isinstance(form, View):
        return [label for start in form.starts for label in labels(start, f"the position of {name}")]
    is_object = isinstance(form.auxiliary, AttributeNames)
    if issubclass(form.type, (set, frozenset)):
        return labels(form.parts[0], name)
    if isinstance(form.auxiliary, Besides):
        places = form.auxiliary.labels(len(form.parts))
    elif is_object:
        places = ["." + one for one in form.auxiliary]
    else:
        places = pytree.labels_of(form.type, form.auxiliary, len(form.parts))
    return [label for place, part in zip(places, form.parts) for label in labels(part, name + place)]
