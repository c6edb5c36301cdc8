"""The two sides of a branch, and what is merged of what they leave behind."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from ... import hlo
from ..control_flow.bodies import ValueType
from ..control_flow.branches import Branches
from ..indexing.locations import location
from ..recording import pytree
from ..recording.aliases import are_apart, bases_of, keep_apart, link, with_common_bases
from ..recording.array import TracedArray
from ..recording.current_trace import current_trace
from ..recording.errors import ConcretizationError, TracerError
from ..recording.operands import as_traced
from ..recording.trace import Storage, Trace
from .choices import Choice, Maybe
from .contents import with_contents
from .copies import TRY_LISTED, note_copies, want_rows
from .failures import take_flag_again
from .forms import NOWHERE, Form, OneOf, carried, choices_within, form_of, joined, kinds, may_be_shared, unchanged, zero_like
from .lists.merging import aligned
from .lists.tables import meeting, put_together
from .merging import filled, numbers
from .origins import alternatives, containers_beside, is_shared_by_names, note_merged, note_origins
from .places import UNBOUND, Attribute, Contents, Item, LocalName, Place

# Values of different kinds that one name may hold.
MOST_ALTERNATIVES = 32
# Of a tree of tuples each branch chooses between trees, whose parts are such, and so on: each takes several times as long.
_MOST_WITHIN, _DEEP_WITHIN = 256, 4


class _State(threading.local):
    def __init__(self) -> None:
        self.most_alternatives = MOST_ALTERNATIVES


_state = _State()


@contextmanager
def at_most(alternatives: int) -> Iterator[None]:
    """Values of different kinds that one name may hold are no more than this."""
    before, _state.most_alternatives = _state.most_alternatives, alternatives
    try:
        yield
    finally:
        _state.most_alternatives = before


class Side:
    """One recorded branch: what its places hold at its end, the way on which it is left, or what it raises."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.values: dict[Any, Any] = {}
        self.places: dict[Any, tuple[Place, Any]] = {}
        self.ends: dict[Any, Any] = {}  # of the values those of what is put back behind the side
        self.made: dict[int, Any] = {}
        self.unreadable: list[Any] = []
        self.outcome: Any = None
        self.raised: Exception | None = None
        self.writes: set[Storage] = set()  # for the exception
        self.flag: TracedArray | None = None  # which errors it has found, until its values are handed on
        self.inexact: set[int] = set()  # the errors of which it is not known what has been done before them

    def take_flag_again(self) -> None:
        if self.flag is not None:
            with _reopened(self.trace):
                take_flag_again(self.trace, self.flag)
            self.flag = None

    def as_held(self, value: Any, note: Callable[[list], None]) -> Any:
        """A value with what is held in it at the end of the side; ``note`` is called with lists in other containers."""
        if not self.ends:
            return value
        outer = current_trace()
        with _reopened(self.trace):  # copies of objects that it has made are made there, too
            return with_contents(value, self.ends, note, outer, of_side=True)

    def has_inside(self, one: Any) -> bool:
        """Whether a container is in another one that is changed on this side."""
        ends = [self.values[key] for key, (place, _) in self.places.items() if not isinstance(place, LocalName)]
        return any(part is one for end in ends for part in _parts_in(end))


def note_shared(held: Any, ends: Sequence[Any], sides: Sequence[Side], own: Any = None) -> None:
    """A container that is one of two must not be changed, nor those two, if they have other names, or are in other containers.

    ``own`` has had this name.
    """
    if any(held is end for end in ends):
        return
    had = set(map(id, _containers_in(own)))
    shared = [
        one
        for end, side in zip(ends, sides)
        for one in _containers_in(end)
        if id(one) not in had and id(one) not in side.made or side.has_inside(one)
    ]
    for one in (*_containers_in(held), *shared) if shared else ():
        note_copies(current_trace(), one)


def _parts_in(value: Any) -> Iterator[Any]:
    """What is in a container, and in containers in it."""
    parts = list.__iter__(value) if isinstance(value, list) else value if isinstance(value, tuple) else ()
    for part in dict.values(value) if isinstance(value, dict) else parts:
        yield part
        yield from _parts_in(part)


def _containers_in(value: Any) -> list[Any]:
    """The lists, dicts and sets that a value may be."""
    return [one for one in alternatives(value) if isinstance(one, (list, dict, set))]


def _is_of_object(place: Place) -> bool:
    """Whether it is an attribute, or of a list or dict that may be one."""
    return isinstance(place, (Attribute, Item)) or type(place) is Contents and isinstance(place.holder, (list, dict))


@contextmanager
def _reopened(trace: Trace) -> Iterator[None]:
    trace.finished = False
    with trace, trace.running:
        yield


class Merger:
    """Collects what two branches hand on, in forms that both have, and makes of the chosen ones what places hold."""

    def __init__(self, test: TracedArray, sides: Sequence[Side]) -> None:
        self.test, self.sides, self.traces = test, sides, [side.trace for side in sides]
        self.pairs: list[tuple[Form, tuple[Any, Any]]] = []
        self.count = 0
        self.leaves: list[list[Any]] = []  # the numbers that each side hands on
        self.reasons: dict[str, str] = {}  # why lists have no structure in common
        self.merged: dict[tuple[int, ...], Any] = {}  # what places hold, by the ids of the two containers that it is

    def merge(
        self, name: str, first: Any, second: Any, surely: bool = False, is_changed: bool = False
    ) -> Callable[[Sequence[Any]], Any]:
        """What a place holds: ``first`` on one side, ``second`` on the other; or what a container does that ``is_changed``.

        Where it is ``surely`` bound behind the branch, a side on which it is not goes another way.
        """
        if unchanged(first, second, is_changed):
            return lambda arrays: first if first is second or not isinstance(first, list) else list(first)
        note = partial(note_copies, current_trace())
        first, second = (side.as_held(end, note) for end, side in zip((first, second), self.sides))
        ends = self._aligned(name, is_changed, *((_bound_end(first), _bound_end(second)) if surely else (first, second)))
        known = [end for end in ends if end is not NOWHERE]
        if len(known) == 1 and self._is_from_outside(known[0]):
            return lambda arrays: known[0]
        forms = [form_of(one, as_views=True) for one in known]
        form = joined(*forms) if len(forms) == 2 else forms[0]
        if isinstance(form, OneOf) and len(form.forms) > (most := _state.most_alternatives):
            holders = [getattr(one, "__self__", one) for end in known for one in alternatives(end)]  # of methods, too
            if any(isinstance(holder, set) for holder in holders):
                TRY_LISTED[0]()
            too_many = f"to choose between more than {most} values of {name} that are not of one kind"
            error = ConcretizationError(self.test, too_many)
            error.is_of_rounds = True
            want_rows([one for end in ends for one in alternatives(end)])
            raise error
        if len(kinds(form)) > _MOST_WITHIN and all(map(operator.gt, choices_within(form), (_MOST_WITHIN, _DEEP_WITHIN))):
            raise ConcretizationError(self.test, f"to choose between values of {name} whose parts are one of several, too")
        begin = self.count
        self.pairs.append((form, ends))
        self.count += len(kinds(form))
        return lambda arrays: filled(form, iter(arrays[begin:]))

    def one_of(self, held: Any, ends: Sequence[Any]) -> Any:
        """What has been put together before of the same two containers."""
        if any(held is end for end in ends) or not is_shared_by_names(held):
            return held
        return self.merged.setdefault(tuple(map(id, ends)), held)

    def note_origins(self, held: Any, ends: Sequence[Any]) -> None:
        array = held.value if type(held) is Maybe else held
        if isinstance(array, TracedArray):
            known = [end.value if type(end) is Maybe else end for end in ends]
            known = [end for end in known if isinstance(end, TracedArray)]
            if known and not array.is_scalar and not any(array is end for end in known):
                note_merged(array, self.test, (known[0], known[-1]))
            return
        found: dict[int, tuple[Any, list[Any]]] = {}
        for side, end in enumerate(ends):
            for one, other in containers_beside(held, end, ends):
                found.setdefault(id(one), (one, [None, None]))[1][side] = other
        for one, others in found.values():
            note_origins(one, [other for other in others if other is not None])
            if not any(other is None for other in others):
                note_merged(one, self.test, others)

    def put_together(self, first: Any, second: Any, is_changed: bool) -> None:
        """Lists of which a place holds one or the other are put into a table; where that cannot be they must not be changed."""
        lists = [] if unchanged(first, second, is_changed) else meeting(first, second, is_changed)
        lists = [one for one in lists if not any(id(one) in side.made for side in self.sides)]
        if lists and (any(id(one) in side.ends for one in lists for side in self.sides) or not put_together(lists)):
            for one in lists:
                note_copies(current_trace(), one)

    def _is_from_outside(self, value: Any) -> bool:
        """Whether nothing in it was made on one of the sides, so that a container can stay the object that it is."""
        if type(value) is Choice:
            return self._is_around(value.number) and all(map(self._is_from_outside, value.values))
        leaves = numbers(form_of(value), value)
        return not any(isinstance(leaf, TracedArray) and not self._is_around(leaf) for leaf in leaves)

    def _aligned(self, name: str, is_changed: bool, *ends: Any) -> Sequence[Any]:
        """The two values, so that lists in them that differ in length have one structure."""
        inner = [end.value if type(end) is Maybe else end for end in ends]
        if type(inner[0]) is not type(inner[1]) or not isinstance(inner[0], (list, tuple, dict, set, frozenset)):
            return ends
        if not isinstance(inner[0], (set, frozenset)) and _are_alike(*map(pytree.flatten, inner)):
            return ends
        try:
            inner = aligned(self.traces, *inner, self._as_left, is_changed)
        except TracerError as error:
            self.reasons[name] = str(error)
            return ends
        return [Maybe(end.is_there, one, end.absent) if type(end) is Maybe else one for end, one in zip(ends, inner)]

    @contextmanager
    def _as_left(self, trace: Trace) -> Iterator[None]:
        """The trace of a side goes on, with what objects held at its end, as elements that become rows are written down."""
        (side,) = [side for side in self.sides if side.trace is trace]
        places = [(key, place) for key, (place, _) in side.places.items() if _is_of_object(place)]
        changed = [(place, side.ends[key]) for key, place in places if key in side.ends]
        now = [(place, place.get()) for place, _ in changed]
        try:
            for place, end in changed:
                place.set(end)
            with _reopened(trace):
                yield
        finally:
            for place, before in reversed(now):
                place.set(before)

    def chosen(self, branches: Branches, selector: hlo.Instruction) -> list[Any]:
        """The numbers of all forms; what is one array on both sides does not go through them."""
        wanted = [kind for form, _ in self.pairs for kind in kinds(form)]
        for side, trace in enumerate(self.traces):
            with _reopened(trace):
                self.leaves.append([leaf for form, ends in self.pairs for leaf in numbers(form, ends[side])])
        found = [first if first is second and self._is_around(first) else None for first, second in zip(*self.leaves)]
        differing = [place for place, one in enumerate(found) if one is None]
        columns = []
        for leaves, trace in zip(self.leaves, self.traces):
            with _reopened(trace):
                columns.append([instruction_for(trace, leaves[place], wanted[place]) for place in differing])
        for side in self.sides:
            side.take_flag_again()
        for place, array in zip(differing, branches.choose(selector, columns, [wanted[place] for place in differing])):
            found[place] = array
        self._link(found)
        return found

    def _is_around(self, leaf: Any) -> bool:
        if not isinstance(leaf, TracedArray) or leaf.root_storage.trace in self.traces:
            return False
        found = location(leaf)
        return found is None or all(self._is_around(index) for start in found.starts for _, index in start.terms)

    def _link(self, chosen: Sequence[Any]) -> None:
        """An array that is one of two may be one that has another name, also where that is given to it on one side alone."""
        rows = [row for row in zip(chosen, *self.leaves) if may_be_shared(row[0])]
        for array, *ends in rows:
            for end in ends:
                if may_be_shared(end):
                    link(array.root_storage, bases_of(end.root_storage))
        for number, other_number in with_common_bases([array.root_storage for array, *_ in rows]):
            one, other = rows[number], rows[other_number]
            ends = [pair for pair in zip(one[1:], other[1:]) if all(map(may_be_shared, pair))]
            if all(are_apart(first.root_storage, second.root_storage) for first, second in ends):
                keep_apart(one[0].root_storage, other[0].root_storage)


def _bound_end(end: Any) -> Any:
    """The value of a name that is bound wherever someone reads it."""
    if type(end) is Maybe and end.absent is UNBOUND:
        return end.value
    return NOWHERE if end is UNBOUND else end


def instruction_for(trace: Trace, leaf: Any, kind: ValueType) -> hlo.Instruction:
    if leaf is NOWHERE:
        return zero_like(trace, kind).recorded(trace)
    array = leaf if isinstance(leaf, TracedArray) else as_traced(carried(leaf))
    return array.recorded(trace)


def _are_alike(first: tuple[list, pytree.Structure], second: tuple[list, pytree.Structure]) -> bool:
    """Whether the structures are equal, and the arrays in them, which may be columns, of the same types."""
    pairs = zip(first[0], second[0])
    return first[1] == second[1] and all(
        one is other
        or type(one) is not TracedArray
        or type(other) is not TracedArray
        or one.is_scalar
        or one.element_type is other.element_type
        for one, other in pairs
    )
