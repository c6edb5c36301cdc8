"""What the state of a loop has come to, for when the round of another loop, in which it stands, is recorded again.

That is recorded with more state, or with wider types: what a loop in it carries then is what it has carried before, or more.
Beginning with this it is recorded once in most cases, so that the body of the innermost of some loops is recorded as often as
there are loops, and not as often as the product of the recordings of each.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from types import FunctionType
from typing import Any

from ....hlo.tracebacks import frames_of_users
from ...recording.attributes import attributes_of
from ...recording.callables import bound_cells
from ...recording.errors import TracerError
from ...recording.trace import Storage, Trace
from ..forms import Container, Fixed, Form, Number, Optional, Several, is_like, joined
from ..lists.merging import ContainerState, ListState, can_be_carried
from ..outcomes import END_CODE
from ..places import Attribute, Contents, Item, LocalName, Place
from .carried_places import Slot, varying

# What has loops: the round or the condition of one. By their places, and how many at the same come before.
Inner = dict[tuple, "Settled"]

_OWN = __name__.partition("capture")[0]

# The way to a variable: its name in a function, or the name of a function there and one in that, and so on.
Names = tuple[str, ...]
# The variable whose container or object a place is of, and which place of it: its contents, an item, an attribute.
Path = tuple[Names, type[Place], Any]


class Settled:
    """Of one loop; nothing, as long as its recording has not come to an end."""

    def __init__(self) -> None:
        self.body: Callable | None = None
        self.forms: dict[str, Form] = {}
        self.held: dict[Path, tuple[Form, Any, bool]] = {}  # with how lists are carried, and whether it is among `elements`
        self.returned: Form | None = None
        self.turns_traced = False  # whether the program has decided if there is a second round
        self.codes: frozenset[int] = frozenset([END_CODE])
        self.changing: set[Storage] = set()  # as of `Trace`
        self.elements: set[str] = set()  # as of `LoopAliases`, the names of variables
        self.in_round: Inner = {}
        self.in_condition: Inner = {}

    def note(
        self,
        slots: Sequence[Slot],
        codes: frozenset[int],
        returned: Form | None,
        changing: set[Storage],
        elements: set[Any],
    ) -> None:
        """Take down what a loop has come to."""
        self.forms = {
            slot.place.name: slot.form
            for slot in slots
            if isinstance(slot.place, LocalName) and slot.state is None and _is_of_numbers(slot.form)
        }
        names: dict[int, Names] = {}
        for name, value in self._values():
            names.setdefault(id(value), name)
        self.held = {
            path: (slot.form, slot.state, slot.place.key in elements)
            for slot in slots
            if (path := _path(slot.place, names)) is not None
            and (_is_of_numbers(slot.form) if slot.state is None else _holds_no_arrays(slot.state))
        }
        self.elements = {slot.place.name for slot in slots if isinstance(slot.place, LocalName) and slot.place.key in elements}
        self.codes, self.changing = codes, changing
        self.returned = returned if _is_of_numbers(returned) or _is_constant(returned) else None

    def _values(self) -> Iterator[tuple[Names, Any]]:
        return iter(()) if self.body is None else _variables(self.body)

    def slots(self) -> Iterator[tuple[Slot, bool]]:
        """Those of what variables hold that the loop does not bind, as they begin, and which of them are among `elements`."""
        values = dict(self._values()) if self.held else {}
        for (name, kind, of), (form, state, is_element) in self.held.items():
            place = None if name not in values else _place(values[name], kind, of)
            if place is None:
                continue
            slot = Slot(place, place.get())
            with suppress(TracerError):  # it may hold something of another kind now
                if state is not None:
                    slot.state, fits = state, can_be_carried(slot.initial, state)
                else:
                    slot.form, fits = form, is_like(joined(form, varying(slot.initial), in_loop=True), form)
                if fits:
                    yield slot, is_element

    def form(self, name: str, initial: Any) -> Form | None:
        """The form with which the place begins that has this name; None where nothing is known, or the value has another."""
        known = self.forms.get(name)
        if known is None:
            return None
        both = joined(known, varying(initial), in_loop=True)
        return both if is_like(both, known) else None


def settled_before(trace: Trace, body: Callable, is_trial: bool = False) -> Settled:
    """Of the loop with this body that is about to be recorded; a trial of its round comes before that."""
    while trace.loops is None and trace.parent is not None:
        trace = trace.parent
    if not getattr(body, "__closure__", None):
        return Settled()
    if trace.loops is None:
        begin_loops(trace, {})
    inner, counts = trace.loops
    place = _place_of(body)
    number = counts[place] + 1
    if not is_trial:
        counts[place] = number
    found = inner.setdefault((place, number), Settled())
    found.body = body
    return found


def _place_of(body: Callable) -> tuple:
    """What says that a loop has this body when it is recorded again: its code, and the lines that have led there.

    The variables are others then, of a function that a round calls, as are the bodies that this package makes.
    """
    user = inspect.unwrap(body)
    codes = [one.__code__ for one in _functions_in(user if isinstance(user, FunctionType) else body)]
    return tuple(codes), tuple([(frame.f_code, frame.f_lasti) for frame in frames_of_users()])


def begin_loops(trace: Trace, inner: Inner) -> None:
    """The trace, which begins, has these loops."""
    trace.loops = inner, Counter()


def forget_loops(trace: Trace) -> None:
    """The outermost trace is over: what the bodies of its loops share with functions of the user's is not needed any more."""
    pending = [] if trace.loops is None else [trace.loops[0]]
    for inner in pending:
        for settled in inner.values():
            settled.body = None
            pending += [settled.in_round, settled.in_condition]
    trace.loops = None


def _path(place: Place, names: dict[int, Names]) -> Path | None:
    """How a place is found again, where ``names`` are those of the variables that hold these objects."""
    name = names.get(id(place.holder))
    if name is None or type(place) not in _OF:
        return None
    return name, type(place), _OF[type(place)](place)


def _place(holder: Any, kind: type[Place], of: Any) -> Place | None:
    """The place on that way; None where the variable holds something else now, or that has no such place."""
    if kind is Contents:
        return Contents(holder) if isinstance(holder, (list, dict, set)) else None
    if kind is Item:
        return Item(holder, of) if type(holder) is dict and of in holder else None
    return Attribute(holder, of) if of in attributes_of(holder) else None


# What says which place of an object it is.
_OF: dict[type[Place], Callable[[Any], Any]] = {
    Contents: lambda place: None,
    Item: lambda place: place.index,
    Attribute: lambda place: place.attribute,
}


def _functions_in(body: Callable) -> Iterator[Callable]:
    """A body, and, of one of this package's own, the functions that it calls."""
    return (one for _, one in _functions(body, lambda one: (one.__module__ or "").startswith(_OWN)))


def _variables(function: Callable) -> Iterator[tuple[Names, Any]]:
    """What the variables hold that a function shares with others, and those of the functions that it calls."""
    for names, one in _functions(function, lambda _: True):
        for name, value in _own_variables(one).items():
            yield (*names, name), value


def _functions(function: Callable, is_looked_into: Callable[[Callable], bool]) -> Iterator[tuple[Names, Callable]]:
    """The function, and those that its variables hold, and theirs, where one is looked into; the nearer ones first."""
    found: list[tuple[Names, Callable]] = [((), function)]
    seen = {id(function)}
    for names, one in found:
        yield names, one
        if not is_looked_into(one):
            continue
        for name, value in _own_variables(one).items():
            if isinstance(value, FunctionType) and id(value) not in seen:
                seen.add(id(value))
                found.append(((*names, name), value))


def _own_variables(function: FunctionType) -> dict[str, Any]:
    return {name: cell.cell_contents for name, cell in bound_cells(function).items()}


def _holds_no_arrays(state: ListState | ContainerState | None) -> bool:
    """Whether nothing of how lists are carried belongs to the recording."""
    if isinstance(state, ContainerState):
        return all(map(_holds_no_arrays, state.children))
    if state is None:
        return True
    kind = state.kind
    # Without a place the capacity is that of the list that has entered the loop, and others may be longer.
    return state.form.place is not None and kind.is_of_fixed_constants and not any(leaf.copied for leaf in kind.leaves)


def _is_constant(form: Form | None) -> bool:
    return isinstance(form, Fixed) and isinstance(form.value, (str, bool, int, float, type(None)))


def _is_of_numbers(form: Form | None) -> bool:
    """Whether nothing in a form belongs to the recording."""
    if isinstance(form, Optional):
        return _is_of_numbers(form.form)
    if isinstance(form, Container):
        return form.type in (tuple, list) and all(map(_is_of_numbers, form.parts))
    return isinstance(form, Number | Several) and not getattr(form, "of_any_size", False)
