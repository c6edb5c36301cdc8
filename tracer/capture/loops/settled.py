"""What the state of a loop has come to, for when the round of another loop, in which it stands, is recorded again.

That is recorded with more state, or with wider types: what a loop in it carries then is what it has carried before, or more.
Beginning with this it is recorded once in most cases, so that the body of the innermost of some loops is recorded as often as
there are loops, and not as often as the product of the recordings of each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from types import FunctionType
from typing import Any

from ...recording.attributes import attributes_of
from ...recording.errors import TracerError
from ...recording.trace import Storage, Trace
from ..forms import Container, Form, Number, Optional, Several, is_like, joined
from ..lists.merging import ContainerState, ListState, can_be_carried
from ..outcomes import END_CODE
from ..places import Attribute, Contents, Item, LocalName, Place
from .state import Slot, varying

# What has loops: the round or the condition of one. By their code, their variables, and how many of the same come before.
Inner = dict[tuple, tuple["Settled", list[Callable]]]

_OWN = __name__.partition("capture")[0]

# The variable whose container or object a place is of, and which place of it: its contents, an item, an attribute.
Path = tuple[str, type[Place], Any]


class Settled:
    """Of one loop; nothing, as long as its recording has not come to an end."""

    def __init__(self) -> None:
        self.body: Callable | None = None
        self.forms: dict[str, Form] = {}
        self.held: dict[Path, tuple[Form, Any]] = {}  # with how lists are carried
        self.codes: frozenset[int] = frozenset([END_CODE])
        self.changing: set[Storage] = set()  # as of `Trace`
        self.elements: set[Any] = set()  # as of `LoopAliases`, of variables
        self.in_round: Inner = {}
        self.in_condition: Inner = {}

    def note(self, slots: Sequence[Slot], codes: frozenset[int], changing: set[Storage], elements: set[Any]) -> None:
        """Take down what a loop has come to."""
        self.forms = {
            slot.place.name: slot.form
            for slot in slots
            if isinstance(slot.place, LocalName) and slot.state is None and _is_of_numbers(slot.form)
        }
        names = {id(value): name for name, value in self._values().items()}
        self.held = {
            path: (slot.form, slot.state)
            for slot in slots
            if (path := _path(slot.place, names)) is not None
            and (_is_of_numbers(slot.form) if slot.state is None else _holds_no_arrays(slot.state))
        }
        self.elements = {slot.place.key for slot in slots if isinstance(slot.place, LocalName)} & elements
        self.codes, self.changing = codes, changing

    def _values(self) -> dict[str, Any]:
        return {} if self.body is None else _variables(self.body)

    def slots(self) -> Iterator[Slot]:
        """Those of what variables hold that the loop does not bind, as they begin."""
        values = self._values() if self.held else {}
        for (name, kind, of), (form, state) in self.held.items():
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
                    yield slot

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
    loop = _identity(body)
    number = counts[loop] + 1
    if not is_trial:
        counts[loop] = number
    found = inner.setdefault((*loop, number), (Settled(), []))
    found[1].append(body)  # which stays, and the ids with it
    found[0].body = body
    return found[0]


def _identity(body: Callable) -> tuple:
    """What says that a loop has this body when it is recorded again; one of this package's own is made anew then."""
    if not _is_own(body):
        return body.__code__, *map(id, body.__closure__ or ())
    holds = _variables(body).values()
    functions = [one for one in holds if isinstance(one, FunctionType)]
    return (
        body.__code__,
        *[one.__code__ if _is_own(one) else _identity(one) for one in functions],
        *[id(one) for one in holds if isinstance(one, (list, dict, set))],
    )


def _is_own(function: Callable) -> bool:
    return (function.__module__ or "").startswith(_OWN)


def begin_loops(trace: Trace, inner: Inner) -> None:
    """The trace, which begins, has these loops."""
    trace.loops = inner, Counter()


def _path(place: Place, names: dict[int, str]) -> Path | None:
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


def _variables(function: Callable) -> dict[str, Any]:
    """What the variables of a function hold that it shares with others."""
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        with suppress(ValueError):  # it is not bound
            found[name] = cell.cell_contents
    return found


def _holds_no_arrays(state: ListState | ContainerState | None) -> bool:
    """Whether nothing of how lists are carried belongs to the recording."""
    if isinstance(state, ContainerState):
        return all(map(_holds_no_arrays, state.children))
    if state is None:
        return True
    kind = state.kind
    # Without a place the capacity is that of the list that has entered the loop, and others may be longer.
    return state.form.place is not None and kind.is_of_fixed_constants and not any(leaf.copied for leaf in kind.leaves)


def _is_of_numbers(form: Form | None) -> bool:
    """Whether nothing in a form belongs to the recording."""
    if isinstance(form, Optional):
        return _is_of_numbers(form.form)
    if isinstance(form, Container):
        return form.type in (tuple, list) and all(map(_is_of_numbers, form.parts))
    return isinstance(form, Number | Several) and not getattr(form, "of_any_size", False)
