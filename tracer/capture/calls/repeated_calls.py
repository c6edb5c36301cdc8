"""Calls of the user's functions that are like earlier ones: the second is recorded as a computation, which the others call.

The first is recorded where it stands, which shows whether it does more than to compute arrays. What cannot be told to be like
another call (`call_forms.py`) is recorded where it stands, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import numpy as np

from .... import hlo
from ....compile.traversal import has_effects
from ....hlo.interrupts import not_of_a_signal
from ....hlo.tracebacks import places_of_users
from ...control_flow.bodies import size_of
from ...recording import pytree
from ...recording.array import TracedArray
from ...recording.current_trace import current_trace
from ...recording.errors import endless_recursion
from ...recording.intervals import Interval, interval_of, is_traced_integer, note_interval
from ...recording.program import ErrorMessage, Program
from ...recording.trace import Storage, Trace, identifier
from ..branches import deciding_test, endless, last_test, number_of_tests
from ..choices import Choice
from ..endless import make_loop
from ..journals import note_all_made
from ..places import where_made
from ..raising import is_inside_try
from .call_forms import CallForm, NotAlike, constant_form, form_in_recursion, form_of_call

# Shorter functions are recorded where they are called: what surrounds them is simplified and fused with them.
_SHORTEST = 32
# As often a function is recorded within itself: one that goes on becomes a loop, if it can be one.
_MOST_INSIDE = 40
# For so many messages each call has lines of its own in tracebacks.
_MOST_MESSAGES = 256


class Calls:
    """What a trace knows of the calls in it, by form: None for those that are recorded where they stand."""

    def __init__(self) -> None:
        self.short: set[CodeType] = set()
        self.known: dict[tuple, tuple[CallForm, FirstCall | RecordedCall | None]] = {}
        self.running: list[tuple] = []
        self.inside: Counter[CodeType] = Counter()  # how often functions have been called within themselves
        # Of those that have no form: the function, what is known of the call, and under how many conditions it stands.
        self.nested: list[tuple[FunctionType, tuple | None, int]] = []


class FirstCall(NamedTuple):
    """What a call recorded where it stood: how much, and what it may raise."""

    size: int
    messages: set[tuple]


def repeated(function: FunctionType, captured: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    """``captured(*args, **kwargs)``: a call of the user's function, which is captured."""
    trace = current_trace()
    program = trace.program
    calls = program.calls_of_users = program.calls_of_users or Calls()
    if function.__code__ in calls.short or program.surroundings is None or is_inside_try():
        return captured(*args, **kwargs)
    form = form_of_call(trace, function, args, kwargs)
    if form is None:
        return _where_it_stands(trace, calls, function, captured, args, kwargs)
    if form.key in calls.running and (test := last_test()) is not None:
        make_loop(function.__code__.co_filename, function.__code__.co_qualname)
        raise endless_recursion(test, function.__qualname__)
    calls.running.append(form.key)
    try:
        if form.key not in calls.known:
            return _first(trace, calls, form, function, captured)
        known = calls.known[form.key][1]
        if known is not None and not (isinstance(known, RecordedCall) and known.is_valid(trace)):
            known = _recorded(trace, form, function, captured, known)
            calls.known[form.key] = form, known
        if known is None or not known.may_be_called(form):
            return captured(*args, **kwargs)
    finally:
        calls.running.pop()
    return known.call(trace, form)


def _where_it_stands(
    trace: Trace, calls: Calls, function: FunctionType, captured: Callable[..., Any], args: tuple, kwargs: dict[str, Any]
) -> Any:
    """A call that cannot be told to be like another one. It may still be known that the recursion goes on as it has begun."""
    name = function.__qualname__
    _require_few(calls, function, [one for one, *_ in calls.nested], args)
    known = form_in_recursion(trace, function, args, kwargs) if any(one is function for one, *_ in calls.nested) else None
    like = [] if known is None else [tests for _, before, tests in calls.nested if before == known]
    if like and (test := deciding_test(like[0]) or (last_test() if len(like) > 1 else None)) is not None:
        make_loop(function.__code__.co_filename, function.__code__.co_qualname)
        raise endless_recursion(test, name)
    calls.nested.append((function, known, number_of_tests()))
    try:
        with endless(function) if like else nullcontext():
            return captured(*args, **kwargs)
    finally:
        calls.nested.pop()


def _first(trace: Trace, calls: Calls, form: CallForm, function: FunctionType, captured: Callable[..., Any]) -> Any:
    """The first call of this form, recorded where it stands; in a recursion, where others will come, as a computation again."""
    program, made = trace.program, trace.builder.instructions
    begin, messages, before = len(made), len(program.error_messages), _done_outside(program)
    is_recursion = any(key[0] == form.key[0] for key in calls.running[:-1])
    _require_few(calls, function, [function] if is_recursion else [], form.args)
    written: dict[Storage, hlo.Instruction] = {}
    with trace.logging_writes(written):
        result = captured(*form.args, **form.kwargs)
    size = size_of(made[begin:])
    if size < _SHORTEST:
        if not is_recursion:  # which ends with a short call
            calls.short.add(function.__code__)
        return result
    behind = form_of_call(trace, function, form.args, form.kwargs)
    alike = behind is not None and behind.key == form.key and _done_outside(program) == before
    first = FirstCall(size, _kinds(program.error_messages[messages:])) if alike else None
    calls.known[form.key] = form, first
    if first is None or not is_recursion:
        return result
    changed = _rewritten(trace, written)
    recorded = _recorded(trace, form, function, captured, first)
    calls.known[form.key] = form, recorded
    if recorded is None or not recorded.may_be_called(form):
        _rewritten(trace, changed)
        return result
    return recorded.call(trace, form)


def _require_few(calls: Calls, function: FunctionType, around: Sequence[FunctionType], args: Sequence[Any]) -> None:
    """Let a function become a loop, if it can be one, that has been recorded so often within one of those ``around``.

    Not where it is given arrays, tuples or objects: in a loop the program would decide how large arrays are, and operations on
    these are slow, tuples within tuples would have to be alike, and which object it is would not be known.
    """
    if any(one is function for one in around) and not any(map(_has_form_of_its_own, args)):
        code = function.__code__
        calls.inside[code] += 1
        if calls.inside[code] > _MOST_INSIDE:
            make_loop(code.co_filename, code.co_qualname, is_often=True)


def _has_form_of_its_own(value: Any) -> bool:
    if type(value) is TracedArray:
        return not value.is_scalar
    return isinstance(value, tuple) or where_made(value) is not None


def _rewritten(trace: Trace, values: dict[Storage, hlo.Instruction]) -> dict[Storage, hlo.Instruction]:
    """What these storages hold, which is these values from now on."""
    held = {storage: trace.read(storage) for storage in values}
    for storage, value in values.items():
        trace.write(storage, value)
    return held


def _recorded(
    trace: Trace, form: CallForm, function: FunctionType, captured: Callable[..., Any], known: FirstCall | RecordedCall
) -> RecordedCall | None:
    """The call as a computation, None where that is not the same as where it stands."""
    program = trace.program
    messages, flag = len(program.error_messages), program.error_flag
    try:
        made = RecordedCall(trace, form, function, captured)
        if isinstance(known, RecordedCall) or made.is_like(known):
            return made
    except not_of_a_signal(Exception):
        pass  # what is wrong with the call is found out where it stands
    del program.error_messages[messages:]
    program.error_flag = flag
    return None


def _done_outside(program: Program) -> tuple:
    """What shows whether a call has done more than to compute arrays."""
    return len(program.host_functions), len(program.generators), len(program.guessed_bounds), *np.geterr().values()


def _kinds(messages: Sequence[ErrorMessage]) -> set[tuple]:
    return {(kind if isinstance(kind, type) else type(kind), text) for kind, text, _ in messages}


class _Array(NamedTuple):
    """A leaf of the result that the computation returns; ``exact`` has those of what it is besides."""

    index: int
    leaf: TracedArray
    interval: Interval | None
    exact: list[Any] | None


class _Argument(NamedTuple):
    """A leaf of the result that is an argument."""

    index: int


class RecordedCall:
    """A computation that calls of one form share; raises NotAlike where they cannot.

    ``given`` are storages that stand for the arrays among the arguments; ``taken`` are all whose values the computation takes,
    and ``written`` those whose values it returns behind the result's. ``messages`` are those of its errors, of which ``begin``
    precede it in the trace, and ``depth`` the number of the user's lines that lead to the call.
    """

    def __init__(self, trace: Trace, form: CallForm, function: FunctionType, captured: Callable[..., Any]) -> None:
        program = trace.program
        self.begin, self.depth, before = len(program.error_messages), len(places_of_users()), _done_outside(program)
        captures = set(program.captures)
        self.given = [Storage(trace, array.recorded(trace)) for array, _ in form.arrays]
        with Trace(identifier(function.__name__), trace) as inner, inner.running:
            inner.repeats = True  # what it takes for known may be another value at the next call
            handles = [_handle(storage, array) for storage, (array, _) in zip(self.given, form.arrays)]
            args, kwargs = form.arguments_with(handles)
            leaves, self.structure = pytree.flatten(captured(*args, **kwargs))
            arrays: dict[int, _Array] = {}
            self.leaves = [_leaf(inner, leaf, handles, arrays) for leaf in leaves]
            known = {storage for storage, (_, is_known) in zip(self.given, form.arrays) if is_known}
            made_inside = {capture.storage for key, capture in program.captures.items() if key not in captures}
            if not inner.taken_as_known <= known or made_inside & inner.written.keys() or before != _done_outside(program):
                raise NotAlike
            roots = [one.leaf.recorded(inner) for one in arrays.values()] + list(inner.written.values())
            if not roots or any(map(has_effects, inner.builder.instructions)):
                raise NotAlike
            result = roots[0] if len(roots) == 1 else inner.builder.emit("tuple", *roots)
        self.taken, self.written, self.count = list(inner.outside), list(inner.written), len(arrays)
        self.messages = program.error_messages[self.begin :]
        self.size, self.computation = size_of(inner.builder.instructions), inner.build(result)
        self._is_new = True

    def is_like(self, first: FirstCall) -> bool:
        """Whether it does what was recorded where it stood; sizes may be found there only, as of ``x[i : i + 3]``."""
        return self.size <= first.size * 1.25 and _kinds(self.messages) == first.messages

    def is_valid(self, trace: Trace) -> bool:
        """Whether all that it refers to is still there; what is recorded on trial is dropped."""
        messages = trace.program.error_messages[self.begin : self.begin + len(self.messages)]
        if len(messages) != len(self.messages) or any(one is not other for one, other in zip(messages, self.messages)):
            return False
        if self.messages and trace.program.error_flag not in self.written:
            return False
        around = set()
        while trace is not None:
            around.add(trace)
            trace = trace.parent
        return all(storage.trace in around for storage in self.taken if storage not in self.given)

    def may_be_called(self, form: CallForm) -> bool:
        """Whether no memory that the call changes is known to it by two names."""
        roots = {given: array.root_storage for given, (array, _) in zip(self.given, form.arrays)}
        used = [*roots.values(), *[storage for storage in self.taken if storage not in roots]]
        return all(used.count(roots.get(storage, storage)) == 1 for storage in self.written)

    def call(self, trace: Trace, form: CallForm) -> Any:
        """What the call returns; what it changes is changed."""
        arrays = {given: array for given, (array, _) in zip(self.given, form.arrays)}
        operands = [arrays[one].recorded(trace) if one in arrays else trace.read(one) for one in self.taken]
        call = hlo.call(*operands, to_apply=self.computation)
        count = self.count + len(self.written)
        results = [call] if count == 1 else [hlo.get_tuple_element(call, index) for index in range(count)]
        for storage, value in zip(self.written, results[self.count :]):
            if storage in arrays:
                arrays[storage].set_value(value)
            else:
                trace.write(storage, self._renumbered(trace, value) if storage is trace.program.error_flag else value)
        made: dict[int, TracedArray] = {}
        result = pytree.unflatten(self.structure, [self._returned(trace, leaf, form, results, made) for leaf in self.leaves])
        note_all_made(result)
        return result

    def _returned(self, trace: Trace, leaf: Any, form: CallForm, results: list, made: dict[int, TracedArray]) -> Any:
        if isinstance(leaf, _Argument):
            return form.arrays[leaf.index].array
        if not isinstance(leaf, _Array):
            return leaf
        if leaf.index not in made:
            weak_type, is_scalar = leaf.leaf.weak_type, leaf.leaf.is_scalar
            array = made[leaf.index] = TracedArray.from_instruction(trace, results[leaf.index], weak_type, is_scalar)
            array.unusual_strides = leaf.leaf.unusual_strides
            if leaf.interval is not None:
                note_interval(trace, array, leaf.interval)
            if leaf.exact is not None:
                number, *values = [self._returned(trace, one, form, results, made) for one in leaf.exact]
                array.exact = Choice(number, values)
        return made[leaf.index]

    def _renumbered(self, trace: Trace, flag: hlo.Instruction) -> hlo.Instruction:
        """The error flag behind the call: errors have this call's lines in their tracebacks."""
        messages = trace.program.error_messages
        if self._is_new or len(self.messages) > _MOST_MESSAGES:
            self._is_new = False
            return flag
        places, further = places_of_users(), len(messages) - self.begin
        messages += [(kind, text, (*places, *lines[self.depth :])) for kind, text, lines in self.messages]
        is_raised = hlo.and_(hlo.eq(trace.read(trace.program.error_flag), 0), hlo.ne(flag, 0))
        return hlo.select(is_raised, hlo.add(flag, further), flag)


def _handle(storage: Storage, like: TracedArray) -> TracedArray:
    made = TracedArray(storage, hlo.Shape(like.element_type, like.shape), like.weak_type, like.is_scalar)
    made.unusual_strides = like.unusual_strides
    return made


def _leaf(inner: Trace, leaf: Any, handles: list[TracedArray], arrays: dict[int, _Array]) -> Any:
    """A leaf of the result, as each call makes it anew; new arrays are added to those by the ids of their storages."""
    for index, handle in enumerate(handles):
        if leaf is handle:
            return _Argument(index)
    if type(leaf) is not TracedArray:
        if constant_form(leaf) is None:
            raise NotAlike
        return leaf
    storage = leaf.root_storage
    known = arrays.get(id(storage))
    if known is None:
        if storage.trace is not inner or storage.may_be_another or leaf.known_value is not None:
            raise NotAlike
        interval = interval_of(inner, leaf) if is_traced_integer(leaf) else None
        types = () if leaf.exact is None else (leaf.exact.number, *leaf.exact.values)
        exact = [_leaf(inner, one, handles, arrays) for one in types] or None
        known = arrays[id(storage)] = _Array(len(arrays), leaf, interval, exact)
    if known.leaf is not leaf:  # two views of one array
        raise NotAlike
    return known
