"""Runs a Python function on traced arrays and makes a module of what it did."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ... import hlo
from ...hlo.interrupts import not_of_a_signal
from ...hlo.tracebacks import calls_users
from ..capture.calls.recursions import entered
from ..capture.endless import give_up_loops
from ..capture.lists.references import give_up_rows, keep_records, note_other_way, try_records
from ..capture.lists.results import with_results, with_written_texts
from ..capture.lists.tables import put_back_unchanged
from ..capture.loops.iteration import give_up_short_lists
from ..capture.loops.settled import forget_loops
from ..capture.loops.stacked_rows import number_of_pack
from ..capture.outside.objects import end_following, follow_argument
from ..capture.outside.surroundings import Surroundings
from ..capture.raising import (
    is_of_stand_ins,
    is_raised_by_user,
    is_raised_when_run,
    is_said_of_stand_ins,
    record_raise,
)
from ..capture.shared_containers import with_shared
from ..capture.texts.deferred import is_open
from ..capture.texts.given import texts_given
from ..capture.texts.shared import is_recorded_again
from ..outside.effects import in_order
from ..outside.guards import SameErrorHandling, raised_by
from ..outside.paths import Argument, Called, Objects
from ..outside.policy import HiddenNeeded, OpenedInVain, Policy
from ..recording import pytree
from ..recording.array import TracedArray
from ..recording.callables import function_location
from ..recording.errors import ConcretizationError, RaisedBehindChanges, RecordedAgain, TooMuchRecorded, TracerError, at
from ..recording.intervals import UnprovenInterval
from ..recording.libraries import add_note
from ..recording.program import Program
from ..recording.trace import Storage, Trace, identifier
from .leaves import PackedLeaf, StaticLeaf, TracedLeaf
from .outputs import Outputs, effects_of
from .recorded_function import CallForm, Effect, Recording
from .settled_captures import settled_captures, without_unused_captures
from .shared_memory import Place, view

# By the ids of arrays from outside: where they lie, as arguments do, keys of the paths at which that is found out, numbers.
Aliases = dict[int, tuple[int | Place, Any, int]]
# Each of them has found out something that the one before did not know; there are a few at most, by experience.
_MOST_REPETITIONS = 200
# So many instructions may be recorded, dropped ones among them, before no round is unrolled any more; whole programs have some
# ten thousands. Behind a failure, where the function is recorded in another way, so many more, beside as many as until then.
_MOST_RECORDED, _MOST_BEHIND_FAILURE = 1_000_000, 150_000


def record(
    function: Callable[..., Any],
    name: str,
    form: CallForm,
    policy: Policy,
    objects: Objects,
    guessed_bounds: dict[str, int],
    same_as: Sequence[int | Place] | None = None,
    aliases: Aliases | None = None,
) -> Recording:
    """Trace the function for this form of call.

    objects: the arguments that are objects, by their names. guessed_bounds: those of sizes that are known at run time only, by
    place; new ones are added. same_as: for each traced leaf the number of the first leaf that is the same array, or its place
    in memory that it shares; by default all differ. aliases: the same for arrays from outside. Raises what the
    function raises, and TracerError; a ConcretizationError where NumPy has replaced it by an error of its own.
    """
    started, repetitions, recorded = time.perf_counter(), 0, 0
    most, failure = _MOST_RECORDED, None
    while True:
        if failure is not None and most == _MOST_RECORDED:
            note_other_way(guessed_bounds)
            most = min(most, 2 * recorded + _MOST_BEHIND_FAILURE)
        trace = Trace(identifier(name))
        trace.program.most_recorded = most - recorded
        trace.program.guessed_bounds = guessed_bounds
        trace.program.surroundings = Surroundings(trace, policy, objects)
        try:
            recording = _record(trace, function, form, same_as, aliases or {})
            if is_recorded_again(trace.program):
                continue
            recording.trace_seconds = time.perf_counter() - started
            keep_records(guessed_bounds)
            failure = None  # which holds this frame
            trace.program.surroundings.forget()
            forget_loops(trace)
            return recording
        except HiddenNeeded as needed:
            policy.hidden |= needed.keys
        except RecordedAgain as again:
            repetitions += 1
            if repetitions == _MOST_REPETITIONS:
                raise TracerError(
                    f"{name} has been recorded {repetitions} times, and each time the values at this line were of a kind that "
                    "was not known before: its lists, or its texts, do not come to one form. Build what is assigned there anew "
                    "instead of changing it, or call what does that by phlox.host_call(function, result_shapes, *args)"
                ).with_traceback(again.__traceback__) from None
        except TooMuchRecorded as found:
            if failure is not None:  # what the function has been recorded again for, in another way
                raise failure from None
            raise TracerError(str(found)).with_traceback(found.__traceback__) from None
        except (ConcretizationError, UnprovenInterval) as error:
            error.outside = trace.program.paths_of(error.sources or ())
            failure = failure or error
            if give_up_short_lists(guessed_bounds):
                continue
            if isinstance(error, ConcretizationError) and (give_up_rows(guessed_bounds) or try_records(guessed_bounds, error)):
                continue
            if give_up_loops(guessed_bounds):
                continue
            if columns := error.outside & trace.program.surroundings.opened - policy.known:
                policy.known |= columns  # Python needs what they hold: their entries are read one by one
                _require_numbers(trace)
                continue
            raise
        except not_of_a_signal(Exception) as error:
            shown = _shown(trace.program, error)
            failure = failure or shown
            if give_up_short_lists(guessed_bounds) or give_up_rows(guessed_bounds):
                continue
            opened = trace.program.surroundings.opened - policy.known
            if opened and not isinstance(error, RaisedBehindChanges):
                policy.known |= opened  # what cannot be done with columns may be done with entries one by one
                _require_numbers(trace)
                continue
            if not isinstance(error, RaisedBehindChanges) and (
                try_records(guessed_bounds, error) or give_up_loops(guessed_bounds)
            ):
                continue
            if shown is error and trace.program.said_of_stand_ins is error:
                raise RaisedBehindChanges(lambda error=error: error, is_sure=True) from None
            if shown is error:
                raise
            raise shown from None
        finally:
            recorded += trace.builder.recorded[0]


def _require_numbers(trace: Trace) -> None:
    """Raises OpenedInVain where what is to be read one by one is no numbers: it may hold what stands at other places, too."""
    if not trace.program.surroundings.are_numbers:
        raise OpenedInVain


def _shown(program: Program, error: Exception) -> Exception:
    """What a call raises for the error that has ended a recording: what NumPy has replaced by it, or itself."""
    replaced = program.replaced_concretization(error)
    if replaced is not None:
        replaced.outside = program.paths_of(replaced.sources or ())
        return replaced.with_traceback(error.__traceback__)
    if not isinstance(error, RaisedBehindChanges):
        add_note(error)
    return error


@calls_users
def _record(
    trace: Trace,
    function: Callable[..., Any],
    form: CallForm,
    same_as: Sequence[int | Place] | None,
    aliases: Aliases,
) -> Recording:
    surroundings = trace.program.surroundings
    with trace, trace.running:
        values, handles, leaves = _traced_arguments(trace, form, same_as, aliases)
        unique = list(dict.fromkeys(handle.root_storage for handle in handles))
        parameters = [storage.instruction for storage in unique]
        for storage in unique:
            storage.is_from_outside = True
        args, kwargs = form.put_together(values)
        for (name, structure), argument in zip(form.structures, (*args, *kwargs.values())):
            if structure is not pytree.LEAF:
                follow_argument(surroundings, argument)
            surroundings.containers.add(name, argument)
        try:
            with _handling_as_before(trace):
                result = entered(surroundings, function)(*args, **kwargs)
        except not_of_a_signal(Exception) as error:
            if getattr(function, "is_for_any_form", False):
                raise  # NumPy does it before it changes anything
            if not is_raised_by_user(error) or not is_open(error):
                if _is_raised_behind_changes(trace, error, unique, parameters):
                    # An operand may go together with an array without elements; and what is left to Python may not come here.
                    is_sure = "TracedArray" not in str(error) and not trace.program.error_messages
                    raise RaisedBehindChanges(lambda error=error: error, is_sure, has_ended_recording=True) from None
                if not trace.program.error_messages or not is_raised_when_run(error):
                    if is_raised_when_run(error) and is_said_of_stand_ins(error):
                        trace.program.said_of_stand_ins = error
                    raise
            # It is raised when the program runs, made of values, or behind others.
            record_raise(trace, error)
            result = None
        if trace.program.may_err:
            surroundings.guard(SameErrorHandling(Called(np.geterr), raised_by(trace.program.error_handling)))
        if trace.program.unproven is not None:  # the function has kept it from passing
            raise trace.program.unproven
        return _finish(trace, result, function, leaves, unique, parameters)


def _traced_arguments(
    trace: Trace, form: CallForm, same_as: Sequence[int | Place] | None, aliases: Aliases
) -> tuple[list[Any], list[TracedArray], list[TracedLeaf]]:
    """What stands for each leaf of the arguments; the arrays among these; and the leaves that are parameters of the program."""
    surroundings = trace.program.surroundings
    values: list[Any] = [None] * len(form.leaves)
    leaves: list[TracedLeaf] = []
    handles: list[TracedArray] = []
    memories: dict[int, TracedArray] = {}
    packs: list[tuple[PackedLeaf, TracedArray]] = []
    for leaf, index in form.numbered_parameters():
        number = len(handles)
        place = number if same_as is None else same_as[number]
        if isinstance(place, Place):
            if place.memory not in memories:
                memories[place.memory] = _memory(trace, place, f"the memory of {leaf.path}", leaves)
            handles.append(_placed(memories, place, number))
        elif place != number:
            handles.append(handles[place])
        else:
            handles.append(_parameter(trace, leaf))
            leaves.append(leaf)
        values[index] = handles[-1]
        if isinstance(leaf, PackedLeaf):
            packs.append((leaf, handles[-1]))
    texts = texts_given([(pack, len(leaf.members)) for leaf, pack in packs if leaf.kind == "texts"])
    for leaf, pack in packs:
        for position, (member, _) in enumerate(leaf.members):
            is_text = leaf.kind == "texts"
            values[member] = next(texts) if is_text else number_of_pack(pack, position, leaf.interval)
    for place, *_ in aliases.values():
        if isinstance(place, Place) and place.memory not in memories:  # arrays from outside alone
            memories[place.memory] = _memory(trace, place, "the memory of arrays from outside", leaves)
            handles.append(memories[place.memory])
    surroundings.aliases = {
        array: (_placed(memories, place, number) if isinstance(place, Place) else handles[place], key)
        for array, (place, key, number) in aliases.items()
    }
    for index, leaf in enumerate(form.leaves):  # behind the arguments that are parameters: these come first
        if not isinstance(leaf, TracedLeaf):
            static = leaf.value if isinstance(leaf, StaticLeaf) else None
            values[index] = surroundings.argument(leaf.path, static)
    for column, count in surroundings.keys_given:
        surroundings.texts.make_keys(column, count)
    return values, handles, leaves


def _parameter(trace: Trace, leaf: TracedLeaf) -> TracedArray:
    program = trace.program
    parameter = trace.builder.parameter(leaf.shape, identifier(leaf.path))
    program.argument_names[parameter] = leaf.path
    if leaf.is_python_number or leaf.kind == "packed":
        program.python_numbers.add(parameter)
    if leaf.interval is not None:
        program.python_integers.add(parameter)
        program.intervals[parameter] = leaf.interval
    is_scalar = leaf.kind not in ("array", "packed", "texts")
    made = TracedArray.from_instruction(trace, parameter, leaf.weak_type, is_scalar, origin=f"argument {leaf.path}")
    made.unusual_strides = leaf.strides or made.unusual_strides
    made.storage.has_other_order = leaf.has_other_order
    return made


def _memory(trace: Trace, place: Place, name: str, leaves: list[TracedLeaf]) -> TracedArray:
    """The memory that this place is in, as one array more that the program takes."""
    shape = hlo.Shape(hlo.element_type_of(place.dtype.newbyteorder("=")), (place.size,))
    leaves.append(TracedLeaf(name, shape, "array"))
    return TracedArray.from_instruction(trace, trace.builder.parameter(shape, "memory"), is_scalar=False)


def _placed(memories: Mapping[int, TracedArray], place: Place, number: int) -> TracedArray:
    """What stands for the array of this number, which lies at this place of a memory."""
    memory = memories[place.memory]
    found = view(memory, place)
    if found is memory or not place.is_writeable:
        write = (lambda trace, base, value: value) if place.is_writeable else None
        found = TracedArray.view_of(found, found.shape, lambda trace, base: base, write, found.unusual_strides)
    memory.root_storage.trace.program.placed[id(found)] = found, number
    return found


@contextmanager
def _handling_as_before(trace: Trace) -> Iterator[None]:
    """What the function says by `np.seterr` ends with it. Raises TracerError where it should not."""
    with np.errstate():
        yield
        if np.geterr() != trace.program.error_handling:
            raise TracerError(
                "np.seterr in a traced function would change what holds behind the call. Fix: with np.errstate(...):, or call "
                "np.seterr outside of the function"
            )


def _is_raised_behind_changes(
    trace: Trace, error: Exception, storages: list[Storage], parameters: list[hlo.Instruction]
) -> bool:
    """Whether the function, which raises this at each call, has changed something before; not where phlox lacks something."""
    if isinstance(error, (TracerError, NotImplementedError, RaisedBehindChanges)) or is_of_stand_ins(error):
        return False
    if trace.program.replaced_concretization(error) is not None:
        return False
    if trace.program.host_functions or trace.program.generators or trace.program.surroundings.effects():
        return True
    pairs = [*zip(storages, parameters), *[(capture.storage, capture.parameter) for capture in trace.program.captures.values()]]
    return any(storage.instruction is not parameter for storage, parameter in pairs)


def _finish(
    trace: Trace,
    result: Any,
    function: Callable[..., Any],
    leaves: list[TracedLeaf],
    storages: list[Storage],
    parameters: list[hlo.Instruction],
) -> Recording:
    changed = [storage.instruction is not parameter for storage, parameter in zip(storages, parameters)]
    mutated = [index for index, leaf in enumerate(leaves) if changed[index] and leaf.kind == "array"]
    roots: list[hlo.Instruction] = []
    program, surroundings = trace.program, trace.program.surroundings
    surroundings.is_finished = True
    end_following(trace)
    put_back_unchanged(trace)
    changes = in_order(surroundings.effects())
    own = {storage: index for index, storage in enumerate(storages) if leaves[index].kind == "array"}
    collected = Outputs(trace, own, roots)
    if surroundings.copied:
        _require_apart(trace, result, changes)
    *set_outside, result = with_shared([*[value for *_, value in changes], result], collected.is_leaf)
    result = with_results(with_written_texts(result, collected.is_leaf), collected.is_leaf)
    out_leaves, out_structure = pytree.flatten(result, collected.is_leaf)
    place = at(function_location(function))
    for leaf, path in zip(out_leaves, pytree.leaf_paths(out_structure, "result")):
        collected.add(leaf, f"{path} of the function at {place}")
    effects = effects_of(collected, [(how, path, value) for (how, path, _), value in zip(changes, set_outside)])
    result_count = len(roots)
    roots.extend(storages[index].instruction for index in mutated)
    captures = settled_captures(trace)
    mutated_captures = [index for index, capture in enumerate(captures) if capture.storage.instruction is not capture.parameter]
    roots.extend(captures[index].storage.instruction for index in mutated_captures)
    if program.error_messages:
        roots.append(program.error_flag.instruction)
    root = roots[0] if len(roots) == 1 else hlo.tuple(*roots)
    computation, captures, kept = without_unused_captures(trace.build(root), captures, mutated_captures)
    module = hlo.Module(trace.name, computation)
    module.inferred = trace.builder.inferred
    mutated_captures = [kept.index(index) for index in mutated_captures]
    # Where an error may be found, arguments get their new contents behind it.
    alias = "may-alias" if program.error_messages else "must-alias"
    aliases = [
        f"{{{result_count + position}}}: ({index}, {{}}, {alias})"
        for position, index in enumerate(mutated)
        if leaves[index].shape.is_row_major and leaves[index].convert is None
    ]
    if aliases and len(roots) > 1:
        module.attributes["input_output_alias"] = "{ " + ", ".join(aliases) + " }"
    elif aliases:
        module.attributes["input_output_alias"] = f"{{ {{}}: ({mutated[0]}, {{}}, {alias}) }}"
    for capture in captures:
        surroundings.place(capture)
    for index in mutated_captures:
        surroundings.keep_apart(captures[index], captures)
    for capture in captures:
        capture.let_go()
    return Recording(
        module, leaves, captures, out_structure, collected.outputs, result_count, mutated, mutated_captures,
        program.error_messages, len(out_leaves), effects, list(surroundings.guards.values()),
        program.host_functions, [one.path for one in program.generators.values()], _containers_needed(collected, effects),
        program.compares_arrays, program.unrolled_loops, program.changes_before_errors,
    )  # fmt: skip


def _require_apart(trace: Trace, result: Any, changes: Sequence[Any]) -> None:
    """Raises TracerError where it may be seen that the function has copies of lists, dicts and objects that an argument holds.

    They may be what else is changed, and are returned themselves.
    """
    copies, kinds = trace.program.copies, trace.program.surroundings.copied
    found, _ = pytree.flatten(result, lambda part: id(part) in copies)
    if changes or any(type(part) in kinds and id(part) in copies for part in found):
        raise TracerError("what an argument holds whose length differs from call to call is returned, or may be changed")


def _containers_needed(collected: Outputs, effects: list[Effect]) -> frozenset[str]:
    """The arguments that are containers, and are returned or changed themselves."""
    paths = [output.value for output in collected.outputs if output.kind == "outside"] + [effect.path for effect in effects]
    roots = {path.root for path in paths}
    objects = collected.trace.program.surroundings.objects
    return frozenset(root.name for root in roots if isinstance(root, Argument) and root.name not in objects)
