"""Branches on traced values: both sides are recorded, and what they leave behind is merged."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from ... import hlo
from ...hlo.source_lines import SourceLocation, user_location
from ..control_flow.bodies import predicate_of
from ..control_flow.branches import Branches
from ..recording.array import TracedArray
from ..recording.current_trace import current_trace
from ..recording.errors import ConcretizationError, TracerError, endless_recursion
from ..recording.intervals import narrowed
from ..recording.trace import Trace
from . import journals
from .choices import Maybe
from .copies import note_same_copies
from .endless import make_loop, make_loop_of_deep
from .failures import errors_found_in, note_errors, put_flag_aside
from .forms import NOWHERE, is_unchanged
from .journals import journal, put_back
from .lists.references import note_same_makers
from .merging import describe_value
from .origins import is_shared_by_names, make_unreadable, require_readable
from .outcomes import RETURN_CODE, Return, code_of, outcome_of, possible_codes, returned_value
from .places import NO_NAMES, UNBOUND, Contents, Item, LocalName, Names, Place, local_names
from .raising import is_raised_when_run, record_raise
from .sides import Merger, Side, note_shared

# So many branches of one line are inside of each other: what goes on without end is a recursion that never stops.
_DEEPEST = 40
# Fewer are too many, but not less than this, where little is left of Python's stack.
_DEEP, _FRAMES_LEFT = 8, 150
# So many of one function that are inside of each other make it a loop, if it can be one.
_OFTEN = 4


class _State(threading.local):
    def __init__(self) -> None:
        self.tests: list[TracedArray] = []
        self.locations: list[SourceLocation | None] = []  # of the user's lines that have these tests
        self.endless: FunctionType | None = None  # that calls itself without end


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
def endless(function: FunctionType) -> Iterator[None]:
    """The function calls itself without end. The first condition that numbers among the arguments decide is to blame."""
    before, _state.endless = _state.endless, function
    try:
        yield
    finally:
        _state.endless = before


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


class _Changed(NamedTuple):
    """A place that a side changes: what stood there, what each side leaves, and whether that is what stood there, changed."""

    place: Place
    old: Any
    ends: list[Any]
    is_changed: bool


def _decided(
    test: TracedArray,
    functions: Sequence[Callable[[], Any] | None],
    live: Sequence[Place],
    dead: Sequence[Place],
    surely_bound: Sequence[str],
) -> Any:
    outer, location = current_trace(), user_location()
    before = {place.key: place.get() for place in (*live, *dead)}
    selector = predicate_of(outer, test, "a condition")
    _require_end(test, location)
    branches, known = Branches(outer, "if"), len(outer.program.error_messages)
    sides: list[Side] = []
    for number, name in enumerate(("true", "false")):
        trace = branches.begin(name)
        trace.narrowed = narrowed(outer, selector, number == 0)
        sides.append(_recorded(test, location, trace, functions[number], live, dead, before))
        if sides[-1].raised is not None:
            other = functions[1 - number]
            _note_raise(_Raise(branches, selector, number, sides[-1], known), test, live, before)
            return None if other is None else other()
    merger = Merger(test, sides)
    changed = _changed_places(live, before, sides)
    results = [returned_value(side.outcome) for side in sides]
    for one in changed:  # other containers may hold these lists
        merger.put_together(*one.ends, one.is_changed)
    merger.put_together(*results, False)
    recipes = [merger.merge(one.place.name, *one.ends, one.place.name in surely_bound, one.is_changed) for one in changed]
    possible = frozenset().union(*[possible_codes(side.outcome) for side in sides])
    code = merger.merge("the way", *[code_of(side.outcome) for side in sides])
    # What the function goes on to change is not returned from here; who called it would have both.
    held = results
    if results[0] is not results[1]:
        note = outer.program.returned.append
        held = [side.as_held(result, note) for result, side in zip(results, sides)]
    value = merger.merge("the result", *held, surely=True)
    arrays = merger.chosen(branches, selector)
    for one, recipe in zip(changed, recipes):
        _set_place(merger, one, recipe, arrays)
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
    note_shared(returned, results, sides)
    merger.note_origins(returned, results)
    return outcome_of(code(arrays), possible, returned)


def _changed_places(live: Sequence[Place], before: dict[Any, Any], sides: Sequence[Side]) -> list[_Changed]:
    """Those of the names that are read behind the branch, and of what the sides have touched beside them."""
    concerned: dict[Any, tuple[Place, Any]] = {place.key: (place, before[place.key]) for place in live}
    for side in sides:
        concerned.update({key: value for key, value in side.places.items() if key not in concerned})
    _put_items_into_contents(concerned, sides)
    changed = []
    for key, (place, old) in concerned.items():
        ends = [side.values.get(key, old) for side in sides]
        if not all(is_unchanged(place, old, end) for end in ends):
            is_changed = isinstance(place, Contents) or type(old) is tuple and any(end is old for end in ends)
            changed.append(_Changed(place, old, ends, is_changed))
    return changed


def _set_place(merger: Merger, changed: _Changed, recipe: Callable[[Any], Any], arrays: Any) -> None:
    """Let the place have what the recipe makes of the arrays that the branch gives."""
    place, old, ends, _ = changed
    if not isinstance(place, LocalName):
        journals.note(place)
    held = recipe(arrays)
    held = _with_same_parts(held, ends) if isinstance(place, Contents) else merger.one_of(held, ends)
    note_same_makers(held, ends)
    note_same_copies(held, ends)
    if isinstance(place, LocalName) and not any(held is end for end in ends):
        journals.note_all_made(held.value if type(held) is Maybe else held)
    if not isinstance(place, Contents):
        note_shared(held, ends, merger.sides, old)
        merger.note_origins(held, ends)
    elif not isinstance(held, (list, dict, set)):
        raise _two_contents(merger.test, place.name, *ends, merger.reasons.get(place.name))
    else:
        for part, *parts in _rows_of_parts(held, ends):
            merger.note_origins(part, parts)
    place.set(held)


def _require_end(test: TracedArray, location: Any) -> None:
    """Raises what belongs to a recursion without end, of which the branch is a part; where it may be a loop it is one then."""
    if _state.endless is not None and _depends_on_numbers(test):
        make_loop(_state.endless.__code__.co_filename, _state.endless.__code__.co_qualname)
        raise endless_recursion(test, _state.endless.__qualname__)
    times = _state.locations.count(location)
    if times >= _OFTEN and location is not None and location.function:
        make_loop_of_deep(location.file, location.function, _OFTEN)
    if _is_endless(times):
        error = endless_recursion(test, "The function" if location is None or not location.function else location.function)
        error.is_of_rounds = True
        raise error


def _is_endless(times: int) -> bool:
    """Whether a branch that is inside of itself so many times belongs to a recursion that does not end."""
    if times < _DEEP:
        return False
    frame, frames = sys._getframe(), 0
    while frame is not None:
        frame, frames = frame.f_back, frames + 1
    return times >= _DEEPEST or frames > sys.getrecursionlimit() - _FRAMES_LEFT


def _put_items_into_contents(concerned: dict[Any, tuple[Place, Any]], sides: Sequence[Side]) -> None:
    """Of a dict of which one side changes what it holds as a whole, the items that the other one changes are part of that."""
    for key, (place, old) in list(concerned.items()):
        if not isinstance(place, Contents) or not isinstance(place.holder, dict):
            continue
        items = {
            one: item.index for one, (item, _) in concerned.items() if isinstance(item, Item) and item.holder is place.holder
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


def _rows_of_parts(held: Any, ends: Sequence[Any]) -> list[tuple[Any, ...]]:
    """What a list holds behind the branch, and on each side, element by element; none of a list of several lengths."""
    are_alike = all(type(one) is list and len(one) == len(held) for one in (held, *ends))
    return list(zip(held, *ends)) if are_alike else []


def _with_same_parts(held: Any, ends: Sequence[Any]) -> Any:
    """What a list holds, with those containers and objects themselves that it holds on both sides: others hold them, too."""
    rows = _rows_of_parts(held, ends)
    return [first if first is second and is_shared_by_names(first) else one for one, first, second in rows] or held


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
) -> Side:
    side, places = Side(trace), (*live, *dead)
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
            # Errors of statements in the body of a `try` within, or behind one that has been checked, are settled already.
            is_settled = region is None or not region.inexact
            if trace.program.error_flag in trace.written and (
                region is not None and region.failures or is_settled and trace.program.open_tries
            ):
                side.flag = put_flag_aside(trace)
            if region is not None:
                if side.flag is not None:
                    region.settle(between, side.flag)
                side.inexact = region.inexact
            side.values = {place.key: place.get() for place in places}
            side.ends = {key: place.get() for key, (place, _) in entries.items()}
            side.values.update(side.ends)
            side.places, side.made = dict(entries), dict(entries.made)
            side.unreadable = [holder for holder, _ in entries.unreadable]
            if side.unreadable and side.raised is None:
                for key, end in side.values.items():
                    if end is not before.get(key) and (key not in entries or not isinstance(entries[key][0], Contents)):
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
    side: Side
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
    outer.program.changes_before_errors |= _changes_what_stays(side)
    nothing = Trace("nothing", outer, branches.inputs)
    branches.traces = raised.beside(nothing, side.trace)
    is_changed, held = bool(outer.program.regions) and _has_changed(side, live, before), None
    if outer.program.regions:
        with suppress(TracerError):  # where there is no form for it
            held = _held_where_raised(raised, test, Side(nothing), live, before)
    side.take_flag_again()
    codes = range(raised.known + 1, len(outer.program.error_messages) + 1)
    if is_changed:
        outer.program.behind_changes.update(codes if held is None else side.inexact)
    if held is not None:
        return note_errors(outer, raised.known, side.inexact, held)
    for storage in side.trace.written.keys() - side.writes:
        del side.trace.written[storage]
    branches.choose(raised.selector, [[], []], [])
    note_errors(outer, raised.known, codes)


def _changes_what_stays(side: Side) -> bool:
    """Whether a side has changed arrays from outside, or containers, attributes and variables that may be from there."""
    if any(storage.is_from_outside for storage in side.trace.written.keys() - side.writes):
        return True
    places = [(place, old) for place, old in side.places.values() if not isinstance(place, LocalName)]
    return any(not is_unchanged(place, old, side.ends[place.key]) for place, old in places)


def _has_changed(side: Side, live: Sequence[Place], before: dict) -> bool:
    """Whether a side has bound names anew, or changed anything."""
    if side.trace.written.keys() - side.writes:
        return True
    places = [*[(place, before[place.key]) for place in live], *side.places.values()]
    return any(not is_unchanged(place, old, side.values.get(place.key, old)) for place, old in places)


def _held_where_raised(
    raised: _Raise, test: TracedArray, nothing: Side, live: Sequence[Place], before: dict
) -> dict[Any, tuple[Place, Any]]:
    """What places hold, of those that the raising side has changed, where it raises."""
    side, recipes = raised.side, []
    merger = Merger(test, raised.beside(nothing, side))
    for key, (place, old) in {**{place.key: (place, before[place.key]) for place in live}, **side.places}.items():
        end = side.values.get(key, old)
        if end is not UNBOUND and not is_unchanged(place, old, end):
            recipes.append((key, place, merger.merge(place.name, *raised.beside(NOWHERE, end))))
    arrays = merger.chosen(raised.branches, raised.selector)
    return {key: (place, recipe(arrays)) for key, place, recipe in recipes}


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
