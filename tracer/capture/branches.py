"""Branches on traced values: both sides are recorded, and what they leave behind is merged."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ... import hlo
from ...hlo.source_lines import SourceLocation, user_location
from ..control_flow.bodies import ValueType, predicate_of
from ..control_flow.branches import Branches
from ..indexing.locations import location
from ..recording import pytree
from ..recording.aliases import are_apart, bases_of, keep_apart, link, with_common_bases
from ..recording.array import TracedArray
from ..recording.current_trace import current_trace
from ..recording.errors import ConcretizationError, TracerError, endless_recursion
from ..recording.intervals import narrowed
from ..recording.operands import as_traced
from ..recording.trace import Storage, Trace
from . import places as _places
from .choices import Choice, Maybe
from .contents import with_contents
from .copies import note_copies, note_same_copies
from .failures import errors_found_in, note_errors
from .forms import NOWHERE, Form, OneOf, carried, form_of, is_unchanged, joined, kinds, may_be_shared, unchanged, zero_like
from .lists.merging import aligned
from .lists.references import note_same_makers
from .lists.tables import meeting, put_together
from .merging import describe_value, filled, numbers
from .origins import (
    alternatives,
    containers_beside,
    is_shared_by_names,
    make_unreadable,
    note_merged,
    note_origins,
    require_readable,
)
from .outcomes import RETURN_CODE, Return, code_of, outcome_of, possible_codes, returned_value
from .places import NO_NAMES, UNBOUND, Names, Place, journal, local_names, put_back
from .raising import is_raised_when_run, record_raise

# Values of different kinds that one name may hold.
MOST_ALTERNATIVES = 32
# So many branches of one line are inside of each other: what goes on without end is a recursion that never stops.
_DEEPEST = 40
# Fewer are too many, but not less than this, where little is left of Python's stack.
_DEEP, _FRAMES_LEFT = 8, 150


class _State(threading.local):
    def __init__(self) -> None:
        self.tests: list[TracedArray] = []
        self.locations: list[SourceLocation | None] = []  # of the user's lines that have these tests
        self.most_alternatives = MOST_ALTERNATIVES
        self.endless: str | None = None  # the function that calls itself without end


_state = _State()


def last_test() -> TracedArray | None:
    """The condition under which something is recorded, None where there is none."""
    return _state.tests[-1] if _state.tests else None


def number_of_tests() -> int:
    """Under how many conditions something is recorded."""
    return len(_state.tests)


def deciding_test(begin: int) -> TracedArray | None:
    """The innermost condition, from that number on, that numbers among the arguments decide; None if there is none."""
    return next((test for test in reversed(_state.tests[begin:]) if _depends_on_numbers(test)), None)


def _depends_on_numbers(test: TracedArray) -> bool:
    trace = current_trace()
    sources = trace.sources(test.recorded(trace))
    return bool(sources) and sources <= trace.program.python_numbers


@contextmanager
def endless(function: str) -> Iterator[None]:
    """The function calls itself without end. The first condition that numbers among the arguments decide is to blame."""
    before, _state.endless = _state.endless, function
    try:
        yield
    finally:
        _state.endless = before


@contextmanager
def at_most(alternatives: int) -> Iterator[None]:
    """Values of different kinds that one name may hold are no more than this."""
    before, _state.most_alternatives = _state.most_alternatives, alternatives
    try:
        yield
    finally:
        _state.most_alternatives = before


class _Side:
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
        self.inexact: set[int] = set()  # the errors of which it is not known what has been done before them

    def has_inside(self, one: Any) -> bool:
        """Whether a container is in another one that is changed on this side."""
        ends = [self.values[key] for key, (place, _) in self.places.items() if not isinstance(place, _places.LocalName)]
        return any(part is one for end in ends for part in _parts_in(end))


def decide(
    test: TracedArray,
    functions: Sequence[Callable[[], Any] | None],
    names: Names = NO_NAMES,
    sharing: Sequence[Callable | None] | None = None,
) -> Any:
    """Run the first function where the test holds, else the second; the way on which control goes on.

    names: those that they change, of those that the block functions in ``sharing``, by default the two, share.
    """
    live, dead = (local_names(functions if sharing is None else sharing, some) for some in names[:2])
    return _decided(test, functions, live, dead, names[2])


def between(test: TracedArray, functions: Sequence[Callable[[], Any]], places: Sequence[Place]) -> None:
    """As `decide`, of functions that change these local variables, and go on to their ends."""
    _decided(test, functions, places, (), ())


def _decided(
    test: TracedArray,
    functions: Sequence[Callable[[], Any] | None],
    live: Sequence[Place],
    dead: Sequence[Place],
    surely_bound: Sequence[str],
) -> Any:
    outer = current_trace()
    before = {place.key: place.get() for place in (*live, *dead)}
    selector = predicate_of(outer, test, "a condition")
    location = user_location()
    if _state.endless is not None and _depends_on_numbers(test):
        raise endless_recursion(test, _state.endless)
    if _is_endless(_state.locations.count(location)):
        error = endless_recursion(test, "The function" if location is None or not location.function else location.function)
        error.is_of_rounds = True
        raise error
    branches, known = Branches(outer, "if"), len(outer.program.error_messages)
    sides: list[_Side] = []
    for number, name in enumerate(("true", "false")):
        trace = branches.begin(name)
        trace.narrowed = narrowed(outer, selector, number == 0)
        sides.append(_recorded(test, location, trace, functions[number], live, dead, before))
        if sides[-1].raised is not None:
            other = functions[1 - number]
            _note_raise(_Raise(branches, selector, number, sides[-1], known), test, live, before)
            return None if other is None else other()
    merger = _Merger(test, sides)
    concerned: dict[Any, tuple[Place, Any]] = {place.key: (place, before[place.key]) for place in live}
    for side in sides:
        concerned.update({key: value for key, value in side.places.items() if key not in concerned})
    _put_items_into_contents(concerned, sides)
    changed = []
    for key, (place, old) in concerned.items():
        ends = [side.values.get(key, old) for side in sides]
        if not all(is_unchanged(place, old, end) for end in ends):
            is_changed = isinstance(place, _places.Contents) or type(old) is tuple and any(end is old for end in ends)
            changed.append((place, old, ends, is_changed))
    results = [returned_value(side.outcome) for side in sides]
    for ends, is_changed in (*[one[2:] for one in changed], (results, False)):  # other containers may hold these lists
        merger.put_together(*ends, is_changed)
    recipes = [
        (place, merger.merge(place.name, *ends, place.name in surely_bound, is_changed), old, ends)
        for place, old, ends, is_changed in changed
    ]
    possible = frozenset().union(*[possible_codes(side.outcome) for side in sides])
    code = merger.merge("the way", *[code_of(side.outcome) for side in sides])
    # What the function goes on to change is not returned from here; who called it would have both.
    held = results
    if results[0] is not results[1]:
        held = [with_contents(result, side.ends, outer.program.returned.append) for result, side in zip(results, sides)]
    value = merger.merge("the result", *held, surely=True)
    arrays = merger.chosen(branches, selector)
    for place, recipe, old, ends in recipes:
        _places.note(place) if not isinstance(place, _places.LocalName) else None
        held = recipe(arrays)
        if not isinstance(place, _places.Contents):
            held = merger.one_of(held, ends)
        note_same_makers(held, ends)
        note_same_copies(held, ends)
        if isinstance(place, _places.LocalName) and not any(held is end for end in ends):
            _places.note_all_made(held.value if type(held) is Maybe else held)
        if not isinstance(place, _places.Contents):
            _note_shared(held, ends, sides, old)
            merger.note_origins(held, ends)
        elif not isinstance(held, (list, dict, set)):
            raise _two_contents(test, place.name, *ends, merger.reasons.get(place.name))
        place.set(held)
    for place in dead:
        if not all(is_unchanged(place, before[place.key], side.values[place.key]) for side in sides):
            place.set(UNBOUND)
    for side in sides:
        for holder in side.unreadable:
            make_unreadable(holder)
    note_errors(outer, known, sides[0].inexact | sides[1].inexact)
    if RETURN_CODE not in possible:
        return outcome_of(code(arrays), possible, UNBOUND)
    returned = value(arrays)
    note_same_copies(returned, results)
    _note_shared(returned, results, sides)
    merger.note_origins(returned, results)
    return outcome_of(code(arrays), possible, returned)


def _is_endless(times: int) -> bool:
    """Whether a branch that is inside of itself so many times belongs to a recursion that does not end."""
    if times < _DEEP:
        return False
    frame, frames = sys._getframe(), 0
    while frame is not None:
        frame, frames = frame.f_back, frames + 1
    return times >= _DEEPEST or frames > sys.getrecursionlimit() - _FRAMES_LEFT


def _put_items_into_contents(concerned: dict[Any, tuple[Place, Any]], sides: Sequence[_Side]) -> None:
    """Of a dict of which one side changes what it holds as a whole, the items that the other one changes are part of that."""
    for key, (place, old) in list(concerned.items()):
        if not isinstance(place, _places.Contents) or not isinstance(place.holder, dict):
            continue
        items = {
            one: item.index
            for one, (item, _) in concerned.items()
            if isinstance(item, _places.Item) and item.holder is place.holder
        }
        for side in sides:
            contents = side.values.setdefault(key, dict(old))
            for one, index in items.items():
                if side.values.get(one, UNBOUND) is not UNBOUND:
                    contents[index] = side.values[one]
                elif one in side.values:
                    contents.pop(index, None)
        for one in items:
            del concerned[one]


def _note_shared(held: Any, ends: Sequence[Any], sides: Sequence[_Side], own: Any = None) -> None:
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


def _two_contents(test: TracedArray, name: str, first: Any, second: Any, reason: str | None) -> ConcretizationError:
    error = ConcretizationError(test, "to decide what a container holds")
    error.args = (
        f"{name}: {reason}" if reason else
        f"{name} is {describe_value(first)} on one side of a condition that is not known while the function is traced, and "
        f"{describe_value(second)} on the other. Fix: give both sides one structure",
    )  # fmt: skip
    return error


def _recorded(
    test: TracedArray,
    location: SourceLocation | None,
    trace: Trace,
    function: Callable | None,
    live: Sequence[Place],
    dead: Sequence[Place],
    before: dict,
) -> _Side:
    side, places = _Side(trace), (*live, *dead)
    _state.tests.append(test)
    _state.locations.append(location)
    try:
        with trace, trace.running, journal() as entries, errors_found_in(trace, live, entries) as region:
            entries.is_of_trace = True
            try:
                side.outcome = function() if function is not None else None
            except BaseException as error:
                if not is_raised_when_run(error):
                    raise
                side.raised, side.writes = error, record_raise(trace, error)
            if region is not None:
                region.settle(between)
                side.inexact = region.inexact
            side.values = {place.key: place.get() for place in places}
            side.ends = {key: place.get() for key, (place, _) in entries.items()}
            side.values.update(side.ends)
            side.places, side.made = dict(entries), dict(entries.made)
            side.unreadable = [holder for holder, _ in entries.unreadable]
            if side.unreadable and side.raised is None:
                for key, end in side.values.items():
                    if end is not before.get(key) and (key not in entries or not isinstance(entries[key][0], _places.Contents)):
                        require_readable(end)
                require_readable(returned_value(side.outcome))
            put_back(entries)
            entries.clear()
    finally:
        _state.tests.pop()
        _state.locations.pop()
        for place in places:
            place.set(before[place.key])
    return side


class _Raise(NamedTuple):
    """A side, the one with this number, that raises an exception; errors behind the ``known`` ones are its own."""

    branches: Branches
    selector: hlo.Instruction
    number: int
    side: _Side
    known: int

    def beside(self, other: Any, own: Any) -> list[Any]:
        """Two things in the order of the sides."""
        return [other, own] if self.number else [own, other]


def _note_raise(raised: _Raise, test: TracedArray, live: Sequence[Place], before: dict) -> None:
    """The exception is raised when the program has run; until then the other side is what happens.

    A handler finds what the raising side has done; of others only what it has printed counts.
    """
    branches, side = raised.branches, raised.side
    outer = branches.outer
    nothing = Trace("nothing", outer, branches.inputs)
    branches.traces = raised.beside(nothing, side.trace)
    if outer.program.regions and not side.inexact:
        try:
            held = _held_where_raised(raised, test, _Side(nothing), live, before)
        except TracerError:  # there is no form for it
            pass
        else:
            return note_errors(outer, raised.known, (), held)
    codes = range(raised.known + 1, len(outer.program.error_messages) + 1)
    for storage in side.trace.written.keys() - side.writes:
        del side.trace.written[storage]
    branches.choose(raised.selector, [[], []], [])
    note_errors(outer, raised.known, codes)


def _held_where_raised(
    raised: _Raise, test: TracedArray, nothing: _Side, live: Sequence[Place], before: dict
) -> dict[Any, tuple[Place, Any]]:
    """What places hold, of those that the raising side has changed, where it raises."""
    side, recipes = raised.side, []
    merger = _Merger(test, raised.beside(nothing, side))
    for key, (place, old) in {**{place.key: (place, before[place.key]) for place in live}, **side.places}.items():
        end = side.values.get(key, old)
        if end is not UNBOUND and not is_unchanged(place, old, end):
            recipes.append((key, place, merger.merge(place.name, *raised.beside(NOWHERE, end))))
    arrays = merger.chosen(raised.branches, raised.selector)
    return {key: (place, recipe(arrays)) for key, place, recipe in recipes}


@contextmanager
def _reopened(trace: Trace) -> Iterator[None]:
    trace.finished = False
    with trace, trace.running:
        yield


class _Merger:
    """Collects what two branches hand on, in forms that both have, and makes of the chosen ones what places hold."""

    def __init__(self, test: TracedArray, sides: Sequence[_Side]) -> None:
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
        first, second = (with_contents(end, side.ends, note) for end, side in zip((first, second), self.sides))
        ends = self._aligned(name, is_changed, *((_bound_end(first), _bound_end(second)) if surely else (first, second)))
        known = [end for end in ends if end is not NOWHERE]
        if len(known) == 1 and self._is_from_outside(known[0]):
            return lambda arrays: known[0]
        forms = [form_of(one, as_views=True) for one in known]
        form = joined(*forms) if len(forms) == 2 else forms[0]
        if isinstance(form, OneOf) and len(form.forms) > (most := _state.most_alternatives):
            too_many = f"to choose between more than {most} values of {name} that are not of one kind"
            error = ConcretizationError(self.test, too_many)
            error.is_of_rounds = True
            raise error
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
        if not isinstance(inner[0], (set, frozenset)) and pytree.flatten(inner[0])[1] == pytree.flatten(inner[1])[1]:
            return ends
        try:
            inner = aligned(self.traces, *inner, _reopened, is_changed)
        except TracerError as error:
            self.reasons[name] = str(error)
            return ends
        return [Maybe(end.is_there, one, end.absent) if type(end) is Maybe else one for end, one in zip(ends, inner)]

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


def choose(test: TracedArray, first: Callable[[], Any], second: Callable[[], Any]) -> Any:
    """The value of one of two expressions."""
    return decide(test, (lambda: Return(first()), lambda: Return(second()))).value


def truth(value: Any) -> bool | None:
    """The truth of a value, None where the program decides it."""
    if isinstance(value, TracedArray):
        if value.is_dynamic or value.size != 1:
            return bool(value)  # raises, or is the truth of an empty array
        known = value.known_value
        return None if known is None else bool(np.any(known))
    return bool(value)
