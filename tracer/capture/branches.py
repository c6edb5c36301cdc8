"""Branches on traced values: both sides are recorded, and what they leave behind is merged."""

from __future__ import annotations

import dis
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ... import hlo
from ...hlo.source_lines import belongs_to_a_library, raising_line
from ..control_flow.bodies import ValueType, predicate_of
from ..control_flow.branches import Branches
from ..recording import pytree
from ..recording.array import TracedArray
from ..recording.current_trace import current_trace
from ..recording.errors import ConcretizationError, RaisedBehindChanges, TracerError
from ..recording.operands import as_traced
from ..recording.trace import Trace
from . import places as _places
from .list_merging import aligned
from .list_runs import is_open_list, length_of, note_copies
from .merging import (
    Irreconcilable,
    Maybe,
    carried,
    common_type,
    describe_value,
    kind_of,
    same,
    unchanged,
    zero_like,
)
from .outcomes import RETURN_CODE, Return, code_of, outcome_of, possible_codes, returned_value
from .places import NO_NAMES, UNBOUND, Names, Place, journal, local_names, put_back
from .printing import is_open, raise_later

_DEEPEST = 40  # branches inside of each other: what goes on without end is a recursion that never stops
_RAISE = dis.opmap["RAISE_VARARGS"]


class _State(threading.local):
    def __init__(self) -> None:
        self.depth = 0
        self.tries = 0


_state = _State()


class _Side:
    """One recorded branch: what its places hold at its end, the way on which it is left, or what it raises."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.values: dict[Any, Any] = {}
        self.places: dict[Any, tuple[Place, Any]] = {}
        self.made: dict[int, Any] = {}
        self.outcome: Any = None
        self.raised: Exception | None = None

    def left(self, value: Any) -> Any:
        """The value with what lists in it hold at the end of the side, which they do no longer."""
        if isinstance(value, list) and id(value) in self.places:
            return [self.left(item) for item in self.values[id(value)]]
        return tuple(map(self.left, value)) if type(value) is tuple else value


def decide(
    test: TracedArray,
    functions: Sequence[Callable[[], Any] | None],
    names: Names = NO_NAMES,
    sharing: Sequence[Callable | None] | None = None,
) -> Any:
    """Run the first function where the test holds, else the second; the way on which control goes on.

    names: those that they change, of those that the block functions in ``sharing``, by default the two, share.
    """
    outer = current_trace()
    live, dead = (local_names(functions if sharing is None else sharing, some) for some in names[:2])
    before = {place.key: place.get() for place in (*live, *dead)}
    selector = predicate_of(outer, test, "a condition")
    if _state.depth >= _DEEPEST:
        raise ConcretizationError(
            test, f"to end a recursion, which went on for {_DEEPEST} calls inside of each other",
            "A recursion needs a depth that is known while tracing: name the argument that decides in static_argnames.",
        )  # fmt: skip
    branches = Branches(outer, "if")
    sides = [
        _recorded(branches.begin(name), function, (*live, *dead), before)
        for name, function in zip(("true", "false"), functions)
    ]
    if any(side.raised is not None for side in sides):
        return _after_raise(branches, selector, functions, sides)
    merger = _Merger(test, sides)
    concerned: dict[Any, tuple[Place, Any]] = {place.key: (place, before[place.key]) for place in live}
    for side in sides:
        concerned.update({key: value for key, value in side.places.items() if key not in concerned})
    recipes = []
    for key, (place, old) in concerned.items():
        ends = [side.values.get(key, old) for side in sides]
        if not all(unchanged(old, end) for end in ends):
            recipes.append((place, merger.merge(place.name, *ends, surely=place.name in names[2])))
    possible = frozenset().union(*[possible_codes(side.outcome) for side in sides])
    code = merger.merge("the way", *[code_of(side.outcome) for side in sides])
    value = merger.merge("the result", *[returned_value(side.outcome) for side in sides], surely=True)
    arrays = branches.choose(selector, *merger.emitted())
    for place, recipe in recipes:
        _places.note(place) if not isinstance(place, _places.LocalName) else None
        held = recipe(arrays)
        if isinstance(place, _places.LocalName):
            _note_shared(held, [side.values[place.key] for side in sides], sides, before[place.key])
        if isinstance(place, _places.Contents) and not isinstance(held, (list, dict, set)):
            raise held.error() if type(held) is Irreconcilable else TracerError(f"{place.name} cannot be decided on")
        place.set(held)
    for place in dead:
        if not all(unchanged(before[place.key], side.values[place.key]) for side in sides):
            place.set(UNBOUND)
    if RETURN_CODE not in possible:
        return outcome_of(code(arrays), possible, UNBOUND)
    returned = value(arrays)
    _note_shared(returned, [returned_value(side.outcome) for side in sides], sides)
    return outcome_of(code(arrays), possible, returned)


def _note_shared(held: Any, ends: Sequence[Any], sides: Sequence[_Side], own: Any = None) -> None:
    """A list that is one of two must not be changed, nor those two, if they have other names; ``own`` has had this one."""
    if not isinstance(held, list) or any(held is end for end in ends):
        return
    shared = [end for end, side in zip(ends, sides) if isinstance(end, list) and end is not own and id(end) not in side.made]
    for one in (held, *shared) if shared else ():
        note_copies(current_trace(), one)


def _recorded(trace: Trace, function: Callable | None, places: Sequence[Place], before: dict) -> _Side:
    side = _Side(trace)
    _state.depth += 1
    try:
        with trace, trace.running, journal() as entries:
            try:
                side.outcome = function() if function is not None else None
            except Exception as error:
                if not is_raised_by_user(error):
                    raise
                side.raised = error
            side.values = {place.key: place.get() for place in places}
            side.values.update({key: place.get() for key, (place, _) in entries.items()})
            side.places, side.made = dict(entries), dict(entries.made)
            put_back(entries)
            entries.clear()
    finally:
        _state.depth -= 1
        for place in places:
            place.set(before[place.key])
    return side


def is_raised_by_user(error: Exception) -> bool:
    """Whether a raise or assert statement of the user's raised this."""
    traceback = raising_line(error)
    if traceback is None or belongs_to_a_library(traceback.tb_frame.f_code.co_filename):
        return False
    return traceback.tb_frame.f_code.co_code[traceback.tb_lasti] == _RAISE


def _after_raise(branches: Branches, selector: hlo.Instruction, functions: Sequence, sides: Sequence[_Side]) -> Any:
    """The exception is raised when the program has run; until then the other side is what happens."""
    first, second = sides
    error = first.raised if first.raised is not None else second.raised
    if any(map(is_open, error.args)) and not _state.tries:
        # Its message is made of values: Python raises it, where the program comes to it.
        with _reopened((first if first.raised is not None else second).trace):
            raise_later(error)
        branches.traces[1 if first.raised is not None else 0] = Trace("nothing", branches.outer, branches.inputs)
        branches.choose(selector, [[], []], [])
    else:
        holds = selector if first.raised is not None else hlo.not_(selector)
        branches.outer.add_raise(holds, error)
    if first.raised is not None and second.raised is not None:
        # Which of them depends on the program.
        raise second.raised if _state.tries else RaisedBehindChanges(second.raised, is_sure=True)
    other = functions[1] if first.raised is not None else functions[0]
    return None if other is None else other()


@contextmanager
def inside_try() -> Iterator[None]:
    """While the body of a try statement is recorded: handlers look at the error flag."""
    _state.tries += 1
    try:
        yield
    finally:
        _state.tries -= 1


@contextmanager
def _reopened(trace: Trace) -> Iterator[None]:
    trace.finished = False
    with trace, trace.running:
        yield


class _Merger:
    """Collects what two branches hand on: columns of values, and recipes that make of the chosen ones what places hold."""

    def __init__(self, test: TracedArray, sides: Sequence[_Side]) -> None:
        self.test, self.sides, self.traces = test, sides, [side.trace for side in sides]
        self.pairs: list[tuple[Any, Any]] = []
        self.kinds: list[ValueType] = []

    def merge(self, name: str, first: Any, second: Any, surely: bool = False) -> Callable[[Sequence[Any]], Any]:
        """What a place holds: ``first`` on one side, ``second`` on the other.

        Where it is ``surely`` bound behind the branch, a side on which it is not goes another way.
        """
        if unchanged(first, second):
            return lambda arrays: first if first is second or not isinstance(first, list) else list(first)
        for end, other in ((first, second), (second, first)):
            if type(end) is Irreconcilable:
                return lambda arrays, end=end: end
            if surely and other is UNBOUND and self._is_from_outside(end):
                return lambda arrays, end=end: end
        first, second = self.sides[0].left(first), self.sides[1].left(second)
        absent = _absent(first, second)
        if absent is _NOWHERE:
            return self._merged(name, first, second)
        flags = [end.is_there if isinstance(end, Maybe) else end is not absent for end in (first, second)]
        there = None if surely and absent is UNBOUND else self._column(*flags, _TRUTH)
        ends = [UNBOUND if end is None else end.value if isinstance(end, Maybe) else end for end in (first, second)]
        value = self._merged(name, *ends)
        if there is None:
            return value

        def recipe(arrays: Sequence[Any]) -> Any:
            held = value(arrays)
            return held if type(held) is Irreconcilable else Maybe(arrays[there], held, absent)

        return recipe

    def _is_from_outside(self, value: Any) -> bool:
        """Whether nothing in it was made on one of the sides, so that a container can stay the object that it is."""
        leaves = pytree.flatten(value)[0]
        return not any(isinstance(leaf, TracedArray) and leaf.root_storage.trace in self.traces for leaf in leaves)

    def _merged(self, name: str, first: Any, second: Any) -> Callable[[Sequence[Any]], Any]:
        leaves, structure = pytree.flatten(second if first is UNBOUND else first)
        others, other_structure = pytree.flatten(first if second is UNBOUND else second)
        if first is UNBOUND:
            leaves, others = [_Placeholder] * len(others), others
        elif second is UNBOUND:
            others = [_Placeholder] * len(leaves)
        if structure != other_structure or len(leaves) != len(others):
            try:
                first, second = aligned(self.traces, first, second, _reopened)
            except TracerError as error:
                return self._refused(name, first, second, str(error))
            (leaves, structure), (others, other_structure) = pytree.flatten(first), pytree.flatten(second)
        if structure != other_structure or len(leaves) != len(others):
            return self._refused(name, first, second)
        made: list[Any] = []
        for one, other in zip(leaves, others):
            if same(one, other):
                made.append((None, one))
                continue
            kind = _common(one, other)
            if kind is None:
                if _Placeholder in (one, other):
                    made.append((None, other if one is _Placeholder else one))
                    continue
                return self._refused(name, first, second)
            made.append((self._column(one, other, kind), None))
        return lambda arrays: pytree.unflatten(structure, [fixed if place is None else arrays[place] for place, fixed in made])

    def _refused(self, name: str, first: Any, second: Any, reason: str = "") -> Callable[[Sequence[Any]], Any]:
        message = f"{name}: {reason}"
        if not reason:
            message = (
                f"{name} is {describe_value(first)} on one side of a condition that is not known while the function is "
                f"traced, and {describe_value(second)} on the other. Fix: give both sides one structure, one shape, and dtypes "
                "that go together"
            )
        made = Irreconcilable(self.test, message)
        return lambda arrays: made

    def _column(self, first: Any, second: Any, kind: ValueType) -> int:
        self.pairs.append((first, second))
        self.kinds.append(kind)
        return len(self.kinds) - 1

    def emitted(self) -> tuple[list[list[hlo.Instruction]], list[ValueType]]:
        columns = []
        for number, trace in enumerate(self.traces):
            with _reopened(trace):
                columns.append([_instruction(trace, pair[number], kind) for pair, kind in zip(self.pairs, self.kinds)])
        return columns, self.kinds


_NOWHERE = object()
_TRUTH = ValueType(hlo.Shape(hlo.PRED), False, True)


def _absent(first: Any, second: Any) -> Any:
    """What stands on one of two sides in the place of a value: UNBOUND, None, or _NOWHERE where both have one."""
    for end in (first, second):
        if end is UNBOUND or end is None:
            return end
        if type(end) is Maybe:
            return end.absent
    return _NOWHERE


class _Placeholder:
    """A leaf on the side on which there is no value."""


def _common(first: Any, second: Any) -> ValueType | None:
    kinds = [kind_of(leaf) for leaf in (first, second) if leaf is not _Placeholder]
    if None in kinds:
        return None
    return kinds[0] if len(kinds) == 1 else common_type(*kinds)


def _instruction(trace: Trace, leaf: Any, kind: ValueType) -> hlo.Instruction:
    if leaf is _Placeholder:
        return zero_like(trace, kind).recorded(trace)
    array = leaf if isinstance(leaf, TracedArray) else as_traced(carried(leaf))
    return array.recorded(trace)


def choose(test: TracedArray, first: Callable[[], Any], second: Callable[[], Any]) -> Any:
    """The value of one of two expressions."""
    outcome = decide(test, (lambda: Return(first()), lambda: Return(second())))
    if isinstance(outcome.value, Irreconcilable):
        raise outcome.value.error()
    return outcome.value


def condition(value: Any) -> Any:
    """What decides in the place of a value: one that may be None counts as false where it is."""
    if type(value) is Maybe:
        return choose(value.is_there, lambda: value.value, lambda: False)
    return length_of(value) > 0 if is_open_list(value) else value


def truth(value: Any) -> bool | None:
    """The truth of a value, None where the program decides it."""
    if isinstance(value, TracedArray):
        if value.is_dynamic or value.size != 1:
            return bool(value)  # raises, or is the truth of an empty array
        known = value.known_value
        return None if known is None else bool(np.any(known))
    return bool(value)
