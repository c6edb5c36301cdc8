"""The numbers of values that meet, by their common form: one after the other, as branches and loops carry them, and back."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ... import hlo
from ..control_flow.bodies import ValueType, promoted, type_of
from ..indexing.locations import location
from ..recording.aliases import bases_of, link
from ..recording.array import TracedArray, require_trace
from ..recording.current_trace import current_trace
from ..recording.dynamic_array import dynamic, fitted, padded_instruction, sizes_of
from ..recording.errors import CarryTypeError, at
from ..recording.intervals import note_interval
from ..recording.operands import as_traced, shape_of
from .choices import Choice, Maybe
from .forms import (
    NOWHERE,
    TEXTS,
    Container,
    Fixed,
    Form,
    Number,
    OneOf,
    Optional,
    Several,
    View,
    common_form,
    form_of,
    is_like,
    kind_of,
    kinds,
    may_be_shared,
    same,
    with_holder,
    written_text,
)
from .parts import put_together, taken_apart
from .places import UNBOUND

_FEW = 4  # integers of which one is chosen by comparisons


def numbers(form: Form, value: Any) -> list[Any]:
    """The numbers of a value, in a form that it has or that it joins with others; NOWHERE where it has none."""
    if value is NOWHERE:
        return [NOWHERE] * len(kinds(form))
    if isinstance(form, Fixed):
        return []
    if isinstance(form, Number):
        return [value if type(value) is not Choice else _chosen_numbers(value, [[one] for one in value.values], [form.kind])[0]]
    if isinstance(form, Optional):
        if value is form.absent:
            return [False, *numbers(form.form, NOWHERE)]
        if type(value) is Maybe and value.absent is form.absent:
            return [value.is_there, *numbers(form.form, value.value)]
        return [True, *numbers(form.form, value)]
    if isinstance(form, OneOf):
        return _numbers_of_choice(form, value)
    if isinstance(form, Several):
        return [value, *_number_and_types(form, value)]
    if isinstance(form, Container) and TEXTS.get(form.type) and type(value) is not form.type:
        value = written_text(value, form.auxiliary)
    if type(value) is Choice:
        return _chosen_numbers(value, [numbers(form, one) for one in value.values], kinds(form))
    if isinstance(form, View):
        starts = zip(form.starts, location(value).starts)
        return [start.value() for one, start in starts if isinstance(one, Number)]
    _, parts = taken_apart(value)
    return [number for part, one in zip(form.parts, parts) for number in numbers(part, one)]


def _of_any_size(number: TracedArray, places: Sequence[int], values: Sequence[Any]) -> TracedArray:
    """As `selected` of arrays of several shapes, by the numbers that they have; its sizes are known at run time only."""
    trace = require_trace()
    kind = functools.reduce(lambda one, other: promoted(one, other, widens=True, resizes=True), map(kind_of, values))
    recorded = [(one if isinstance(one, TracedArray) else as_traced(one)).recorded(trace) for one in values]
    arrays = [fitted(hlo.convert(one, kind.shape.element_type), kind.shape) for one in recorded]
    sizes = [sizes_of(one) for one in arrays]
    found = [padded_instruction(arrays[0]), *sizes[0].values()]
    for place, array, own in zip(places[1:], arrays[1:], sizes[1:]):
        is_this = (number == place).instruction(trace)
        found = [hlo.select(is_this, one, other) for one, other in zip((padded_instruction(array), *own.values()), found)]
    chosen = dynamic(trace, found[0], dict(zip(sizes[0], found[1:])))
    for value in values:
        if may_be_shared(value):
            link(chosen.root_storage, bases_of(value.root_storage))
    return chosen


def _number_and_types(form: Several, value: Any) -> list[Any]:
    """Which type a number has, and the number in the place of that type."""
    exact = getattr(value, "exact", None)
    found: list[Any] = [NOWHERE] * len(form.forms)
    types, places = [one.kind.scalar_type for one in form.forms], []
    for one in (value,) if exact is None else exact.values:
        places.append(types.index(kind_of(one).scalar_type))
        found[places[-1]] = one
    return [places[0] if exact is None else _renumbered(exact, places), *found]


def _chosen_numbers(choice: Choice, columns: list[list[Any]], wanted: list[ValueType]) -> list[Any]:
    """The numbers of the one that it is."""
    chosen = [selected(choice.number, values) for values in zip(*columns)]
    for number, kind in zip(chosen, wanted):
        if isinstance(number, TracedArray) and number.weak_type is not kind.weak_type:
            number.weak_type = kind.weak_type
    return chosen


def selected(number: TracedArray, values: Sequence[Any]) -> Any:
    """The one of some numbers or arrays that has this number; of some that are NOWHERE any other."""
    if len(values) > _FEW and all(type(value) is int for value in values):
        return _integer_in_table(number, values)
    places = [place for place, value in enumerate(values) if value is not NOWHERE]
    if _are_of_several_sizes(given := [values[place] for place in places]):
        return _of_any_size(number, places, given)
    found = next((value for value in values if value is not NOWHERE), NOWHERE)
    for place, value in enumerate(values[1:], 1):
        if value is not NOWHERE and not same(value, found):
            is_weak = all(getattr(one, "weak_type", not hasattr(one, "dtype")) for one in (value, found))
            others = [one.root_storage for one in (value, found) if may_be_shared(one)]
            found = np.where(number == place, value, found)[()]
            found.weak_type = is_weak
            for other in others:
                link(found.root_storage, bases_of(other))
    return found


def _are_of_several_sizes(values: Sequence[Any]) -> bool:
    if len(values) < 2:
        return False
    return any(getattr(value, "is_dynamic", False) for value in values) or len({shape_of(value) for value in values}) > 1


def _integer_in_table(number: TracedArray, integers: Sequence[int]) -> TracedArray:
    """As `selected`, at once: of a choice between many texts, say, there are as many."""
    trace = require_trace(number)
    place = hlo.convert(number.instruction(trace), hlo.S64)
    if list(integers) != list(range(len(integers))):
        place = hlo.reshape(hlo.dynamic_slice(hlo.constant(np.array(integers, np.int64)), place, sizes=(1,)), ())
    return TracedArray.from_instruction(trace, place, weak_type=True)


def _numbers_of_choice(form: OneOf, value: Any) -> list[Any]:
    given = value.values if type(value) is Choice else (value,)
    places = [_place_in(form, form_of(one, as_views=True)) for one in given]
    found = [_renumbered(value, places)]
    for place, one in enumerate(form.forms):
        rows = [numbers(one, each if its_place == place else NOWHERE) for each, its_place in zip(given, places)]
        found += rows[0] if len(rows) == 1 else [selected(value.number, column) for column in zip(*rows)]
    return found


def _place_in(form: OneOf, wanted: Form) -> int:
    """Which of the forms it is that a form has joined."""
    for found, in_loop in ((wanted, False), (wanted, True), (_with_views(wanted), False)):
        for place, one in enumerate(form.forms):
            both = common_form(one, found, in_loop)
            if both is not None and is_like(both, one):
                return place
    raise CarryTypeError("a list is one of several, and becomes a list of another kind, in a way that is not implemented")


def _with_views(form: Form, holders: tuple[Any, ...] = ()) -> Form:
    """The form of an object as it is behind the trace that has made it, which may be the current one."""
    apart = taken_apart(form.value) if isinstance(form, Fixed) else None
    if apart is None:
        return form
    auxiliary, parts = apart
    holders = with_holder(holders, form.value)
    return Container(type(form.value), auxiliary, tuple([_with_views(form_of(part, as_views=True), holders) for part in parts]))


def _renumbered(value: Any, places: list[int]) -> Any:
    if type(value) is not Choice:
        return places[0]
    if places == list(range(len(places))):
        return value.number
    return selected(value.number, places)


def filled(form: Form, values: Iterator[Any]) -> Any:
    """The value of this form with these numbers."""
    if isinstance(form, Fixed):
        return form.value
    if isinstance(form, Number):
        return next(values)
    if isinstance(form, Optional):
        return Maybe(next(values), filled(form.form, values), form.absent)
    if isinstance(form, OneOf):
        return Choice(next(values), [filled(one, values) for one in form.forms])
    if isinstance(form, Several):
        value, place = next(values), next(values)
        note_interval(current_trace(), place, (0, len(form.forms) - 1))
        value.exact = Choice(place, [next(values) for _ in form.forms])
        return value
    if isinstance(form, View):
        return form.location.view_at([filled(start, values) for start in form.starts])
    return put_together(form.type, form.auxiliary, [filled(part, values) for part in form.parts])


def describe_value(value: Any) -> str:
    """A value in messages: its type and the line that it comes from."""
    if isinstance(value, TracedArray):
        source = value.root_storage.instruction.source
        place = f" (computed at {at(source)})" if source is not None else ""
        return f"{type_of(value)}{place}"
    if value is UNBOUND or isinstance(value, Maybe):
        return "not bound"
    if isinstance(value, np.ndarray):
        return f"an array {value.dtype}{list(value.shape)}"
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) < 40 else text[:37] + '...'}"
