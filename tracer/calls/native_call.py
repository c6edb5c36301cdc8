"""Which calls may bypass Python, and how the backend is told.

The kernel of a native entry takes the module's parameters in order, arguments first, then captured arrays and numbers. Calls
whose arguments or guards native code cannot check go through Python, and so does a call that finds an error of the function's
own.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import hlo
from ...backends import registry
from ...compile.traversal import has_dynamic_shapes, has_effects
from ...hlo.operation import EFFECTFUL
from ...hlo.ops.random_calls import draw_of
from ...hlo.tracebacks import keep_frames_of_users
from ...runtime.bit_generators import places_of_state
from ...runtime.clocks import clock_number
from ..outside import guards as outside
from ..outside.entries import SameEntries
from ..outside.identities import facts_of
from ..outside.paths import MISSING, Fixed, Path
from ..recording import pytree
from ..recording.device_arrays import ArrayOnDevice
from ..recording.errors import RaisedBehindChanges, StaleCapture
from ..recording.ndarrays import array_form
from .again import make_again, noted
from .arguments import Call
from .leaves import PackedLeaf, is_one_object
from .native_places import Around, NotNative
from .native_results import results_and_steps
from .recorded_function import CallForm, Recording
from .specialization import Specialization

_LEFT_TO_PYTHON = (RaisedBehindChanges, StaleCapture)
# An argument, or an array from outside, and the argument that is the same array.
Same = tuple[str | Path, str]


def install(
    specialization: Specialization, instance: Any, form: CallForm, call: Call, same_arrays: Sequence[Same] = ()
) -> bool:
    """Let calls like this one bypass Python, where the executable and the interpreter can."""
    installer, types = getattr(specialization.executable, "install", None), registry.call_signature_types()
    if installer is None or types is None or types.unsupported_reason() is not None or instance.own_code.has_changed():
        return False
    recording = specialization.recording
    if has_arrays_on_device(recording, call):
        return False
    try:
        raise_found = _raise_found(specialization)
        if recording.compares_arrays and specialization.may_meet_aliases:
            raise NotNative
        containers = {one.name: one.value for one in call.arguments if one.structure is not pytree.LEAF}
        slots = _slots(recording)
        slots |= {one if isinstance(one, str) else one.key: slots[first] for one, first in same_arrays}
        packs = [leaf for leaf in recording.leaves if isinstance(leaf, PackedLeaf)]
        around = Around(types, slots, _changed(recording), {**call.object_values(), **containers}, packs)
        leaves = {leaf.path: leaf for leaf in form.leaves}
        arguments = [
            around.argument(position, one.name, one.structure, one.value, leaves) for position, one in enumerate(call.arguments)
        ]
        around.require_distinct(specialization.changes_containers)
        positions = {one.name: position for position, one in enumerate(call.arguments)}
        for one, first in same_arrays:
            place = around.place_of_leaf(one, positions.get(one)) if isinstance(one, str) else around.place_of(one)
            around.require_same(place, around.place_of_leaf(first, positions.get(first)))
        for capture in recording.captures:
            found = capture.path.read(around.objects)
            if capture.convert is not None and isinstance(found, np.ndarray):
                place, slot = around.place_of(capture.path), slots[capture.path.key]
                around.converted(place, capture.parameter.shape, capture.convert, found, slot)
            else:
                around.require_input(capture.path, capture.parameter.shape, found)
        is_made_again = raise_found is None and _may_fail(specialization)
        put_back = _drawn_from(recording, around) if is_made_again else []
        facts = [*instance.facts, *[fact for guard in recording.guards for fact in _facts(guard, around)]]
        results, errors, structure, steps = results_and_steps(recording, around, call)
    except NotNative:
        return False
    guards = [guard for guard, _ in arguments]
    statics = [one.value for one, guard in zip(call.arguments, guards) if isinstance(guard, types.StaticGuard)]
    of_arguments = tuple([slot for _, slot in arguments])
    signature = types.CallSignature(
        tuple(guards), call.keywords, tuple(results), structure, slots=of_arguments, errors=tuple(errors)
    )
    given = {"statics": statics, "around": around.finished(), "facts": facts, "steps": steps, "raise_found": raise_found}
    given["noting"] = (noted, make_again) if is_made_again and _effects_of(recording)[1] else None
    return installer(instance, signature, **given, left_to_python=_LEFT_TO_PYTHON, put_back=put_back)


def has_arrays_on_device(recording: Recording, call: Call) -> bool:
    """Whether a call is given arrays on a device, or finds some outside."""
    met = [leaf for one in call.arguments for leaf in one.leaves]
    return any([isinstance(value, ArrayOnDevice) for value in met]) or any([one.device for one in recording.captures])


def _raise_found(specialization: Specialization) -> Callable[[int], None] | None:
    """What raises an error that the program has found; None where the call is made again, by way of Python.

    That sees what is raised behind changes, and does nothing outside twice.
    """
    recording = specialization.recording
    is_drawing, has_others = _effects_of(recording)
    if recording.host_functions and specialization.changes_anything:
        for host in recording.host_functions:  # which only raise
            host.raises_behind_changes = True
    is_dynamic = has_dynamic_shapes(recording.module)
    if is_dynamic or specialization.needs_python or not recording.error_messages:
        return None
    if not is_drawing and not has_others and not _only_raises(specialization):
        return None

    def raise_found(code: int) -> None:
        try:
            raise specialization.error(code)
        except BaseException as error:
            keep_frames_of_users(error)
            raise

    return raise_found


def _only_raises(specialization: Specialization) -> bool:
    """Whether a program that finds an error has changed nothing, and Python has nothing to find out about it."""
    recording = specialization.recording
    kinds = [error if isinstance(error, type) else type(error) for error, *_ in recording.error_messages]
    is_stale = any(issubclass(kind, StaleCapture) for kind in kinds)
    return not is_stale and not specialization.changes_anything and not recording.host_functions


def _effects_of(recording: Recording) -> tuple[bool, bool]:
    """Whether the program may have drawn random numbers where it finds an error, or done something else outside.

    It has not raised anything then.
    """
    harmless = {host.name for host in recording.host_functions if host.does_nothing}
    targets = {
        instruction.attributes.get("custom_call_target")
        for computation in recording.module.computations()
        for instruction in computation.instructions
        if EFFECTFUL in instruction.operation.traits and has_effects(instruction)
    } - harmless
    targets = {target for target in targets if target is None or clock_number(target) is None}
    draws = {target for target in targets if target is not None and draw_of(target) is not None}
    return bool(draws), bool(targets - draws)


def _may_fail(specialization: Specialization) -> bool:
    """Whether Python may have to make a call that the program has begun."""
    recording = specialization.recording
    finds_errors = bool(recording.error_messages) or has_dynamic_shapes(recording.module)
    return finds_errors or bool(recording.host_functions) and specialization.changes_anything


def _drawn_from(recording: Recording, around: Around) -> list[tuple[int, int]]:
    """Where the states of the generators lie, which are to be as they were where Python makes the call."""
    places: list[tuple[int, int]] = []
    for path in recording.generators:
        generator = path.read(around.objects)
        found = places_of_state(generator)
        if found is None:
            raise NotNative
        around.require(path, around.types.IdentityGuard(generator))
        places += found
    return places


def _slots(recording: Recording) -> dict[Any, int]:
    slots: dict[Any, int] = {}
    for number, leaf in enumerate(recording.leaves):
        paths = [path for _, path in leaf.members] if isinstance(leaf, PackedLeaf) else [leaf.path]
        slots |= dict.fromkeys(paths, number)
    for number, capture in enumerate(recording.captures, len(recording.leaves)):
        if slots.setdefault(capture.path.key, number) != number:
            raise NotNative
    return slots


def _changed(recording: Recording) -> set[int]:
    return {*recording.mutated, *[len(recording.leaves) + number for number in recording.mutated_captures]}


def _facts(guard: outside.Guard, around: Around) -> list[tuple[Any, ...]]:
    """What memory can tell about a guard; places for the rest of it."""
    types, path = around.types, guard.path
    facts = facts_of(guard)
    if facts is not None and types.words_of(facts) is not None and not _may_be_made_anew(guard):
        if isinstance(guard, outside.SameObject):
            around.identities[path.key] = guard.value
        return facts
    found = path.read(around.objects)
    if found is MISSING:
        around.require_place(around.read_by_python(path), types.CheckedGuard(guard.holds))
        return []
    match guard:
        case outside.Readable():
            if path.key not in around.slots:
                shape = hlo.Shape(hlo.F64) if not isinstance(found, np.ndarray) else array_form(found, path.text)[0]
                around.require_input(path, shape, found)
        case outside.SameAs(other=other) | outside.Distinct(other=other):
            differs = isinstance(guard, outside.Distinct)
            around.require_same(around.place_of(path), around.place_of(other), differs)
        case outside.SameMethod(value=value):
            around.require(path, types.MethodGuard(value.__func__))
        case outside.SameFunction(may_be_another=True, value=value) if types.words_of([("function", value)]):
            around.require(path, types.FunctionGuard(value))
        case outside.SameFunction(value=value):
            around.require(path, types.IdentityGuard(value))
            return [("function", value)]
        case outside.SameObject(value=value):
            around.require(path, types.IdentityGuard(value))
        case outside.SameValue(value=value):
            around.require(path, around.value(value, guard.holds))
            if facts is not None:
                around.expect(path, facts, found)
        case outside.SameType(kind=kind):
            around.require(path, types.TypeGuard(kind))
        case SameEntries(columns=columns) if columns.form.is_flat:
            around.entries(path, columns)
        case SameEntries(columns=columns) if columns in around.columns_made:
            pass  # what makes them has looked at all entries
        case outside.SameKeys() if type(found) in (dict, defaultdict, Counter):
            around.require(path, types.KeysGuard(tuple(found), type(found)))
        case outside.SameLength() if type(found) in (list, deque) or isinstance(found, tuple):
            around.require_length(path, type(found), len(found))
        case _:
            around.require(path, types.CheckedGuard(guard.holds))
    return []


def _may_be_made_anew(guard: outside.Guard) -> bool:
    """Whether other objects are as good: equal numbers, containers with the same elements."""
    if isinstance(guard, outside.SameType):
        return not isinstance(guard.path, Fixed)
    if not isinstance(guard, outside.SameValue) or is_one_object(guard.value):
        return False
    if type(guard.value) is not int:
        return True
    return not -5 <= guard.value <= 256  # CPython has one object of each of these
