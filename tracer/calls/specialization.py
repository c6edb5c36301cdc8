"""One compiled form of a function: what happens between its arguments and the executable, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from ...backends.registry import Backend, Executable
from ...compile.traversal import has_dynamic_shapes, has_effects
from ...hlo.interrupts import not_of_a_signal
from ...hlo.tracebacks import raised_at
from ...runtime.determinism import determinism
from ..outside.effects import take_effect
from ..outside.paths import NO_OBJECTS, Argument, Objects, Path
from ..recording import pytree
from ..recording.attributes import attributes_of
from ..recording.device_arrays import ArrayOnDevice, Device, MixedDevicesError, common_device
from ..recording.error_codes import number_and_value, with_value_shown
from ..recording.errors import (
    ChangedMeanwhile,
    LeftToPython,
    OtherKind,
    RaisedBehindChanges,
    SizeBeyondBound,
    StaleCapture,
    unraised,
)
from .again import Beginning
from .array_memory import (
    is_array,
    is_writeable,
    may_share_memory,
    memory_place,
    put_contents,
    put_on_device,
    run_on_device,
    shares_memory,
)
from .devices import device_of
from .leaves import TracedLeaf
from .recorded_function import Output, Recording, Selection
from .shared_memory import Itself, Place, gathered, has_elements_twice, memory_of, places_of, spread

# For each array the number of the first one that is the same, or where it lies in memory that it shares with others.
Sharing = tuple[int | Place, ...]
EMPTY: Mapping[Any, Any] = MappingProxyType({})


class Specialization:
    """A recording with its executable. Calling it takes the values of the traced leaves, in order.

    ``variants`` holds those for calls that pass one array as several arguments, one of which the function changes.
    """

    def __init__(self, recording: Recording, executable: Executable, backend: Backend, follows_captures: bool = False) -> None:
        """follows_captures: whether the code is for the device of what the function finds outside, wherever that lies."""
        self.recording, self.executable, self._backend = recording, executable, backend
        self.variants: dict[Sharing, Specialization] = {}
        self._calls_by_python = 0
        leaves, captures = recording.leaves, recording.captures
        self.leaves: list[TracedLeaf] = leaves
        self._conversions = [(index, leaf.convert) for index, leaf in enumerate(leaves) if leaf.convert is not None]
        self._captures = [(capture.path, capture.convert) for capture in captures]
        shapes = [capture.parameter.shape for capture in captures]
        self._captured_forms = [(shape.dtype, shape.dimensions) for shape in shapes]
        self._follows_captures = follows_captures and bool(captures)
        self._is_for_device = any(capture.device is not None for capture in captures)
        self._is_deterministic = bool(determinism)
        self.changes_arrays = bool(recording.mutated or recording.mutated_captures)
        self._changed_twice = _changed_twice(recording)
        arrays = sum(leaf.kind == "array" for leaf in leaves) + len(captures)
        self.changes_anything = self.changes_arrays or bool(recording.effects) or recording.changes_before_errors
        errors = [error for error, *_ in recording.error_messages]
        is_made_again = self.changes_anything or any(kind in errors for kind in (SizeBeyondBound, OtherKind, LeftToPython))
        # Whether such a call goes back to Python in any case; with effects integers that are too large are errors.
        self.needs_python = is_made_again or StaleCapture in errors
        self._is_repeated = self.needs_python and bool(recording.host_functions or recording.generators and errors)
        roots = [effect.path.root for effect in recording.effects]
        self.changes_containers = any(isinstance(root, Argument) and root.name in recording.containers for root in roots)
        self.may_meet_aliases = (self.changes_arrays or recording.compares_arrays) and arrays > 1
        self.has_effects = any(map(has_effects, recording.module.entry.instructions))
        # Whether arrays on a device that are changed, and nothing else refers to, are changed where they lie: nothing can fail.
        self._is_sure = self.changes_arrays and not recording.error_messages and not recording.host_functions
        self._is_plain = not self.changes_arrays and not recording.error_messages and not recording.effects
        # Whether a call does no more than run the program on its arguments and on what is captured, and may do so again.
        self.can_be_prepared = not (
            self.changes_arrays
            or recording.effects
            or self.needs_python
            or self.may_meet_aliases
            or self.has_effects
            or recording.host_functions
            or recording.generators
            or recording.containers
            or has_dynamic_shapes(recording.module)
        )
        kinds = [(output.kind, output.order) for output in recording.outputs]
        in_order = [output.index for output in recording.outputs] == list(range(recording.result_count))
        self.is_single = self._is_plain and kinds == [("result", "C")] and recording.out_structure is pytree.LEAF
        flat = recording.out_structure is not pytree.LEAF and recording.out_structure[0] is tuple
        flat = flat and all(child is pytree.LEAF for child in recording.out_structure[2])
        self.is_tuple = self._is_plain and flat and in_order and set(kinds) == {("result", "C")}

    @property
    def captured_forms(self) -> list[tuple[Path, Callable[[Any], Any] | None, tuple[np.dtype, tuple[int, ...]]]]:
        """What is captured, with what makes an array of it, and the dtype and the dimensions that this has."""
        return [(path, convert, form) for (path, convert), form in zip(self._captures, self._captured_forms)]

    def is_met_again(self) -> bool:
        """Whether to try again to let calls bypass Python; less and less often."""
        self._calls_by_python += 1
        return self._calls_by_python.bit_count() == 1

    def fits(self, objects: Objects) -> bool:
        """Whether what the function reads from outside is what it was compiled for."""
        for guard in self.recording.guards:
            if guard.difference(objects) is not None:
                return False
        return self._other_device(objects) is None

    def _other_device(self, objects: Objects) -> str | None:
        """In words, why the code does not run where what the function finds outside lies; None where it does."""
        if not self._follows_captures or not ArrayOnDevice.exist:
            return None
        arrays = [array for array in self.captured_arrays(objects) if isinstance(array, ArrayOnDevice)]
        if bool(arrays) != self._is_for_device or any([array.device.memory is not self._backend.memory for array in arrays]):
            return "arrays from outside lie elsewhere"
        if arrays and self._is_deterministic != bool(determinism) and not getattr(self._backend, "is_deterministic", True):
            return "results are to be the same from run to run" if determinism else "results may differ from run to run"
        return None

    def differences(self, objects: Objects) -> list[str]:
        """In words, what of that has changed."""
        found = [difference for guard in self.recording.guards if (difference := guard.difference(objects)) is not None]
        if not found and (difference := self._other_device(objects)) is not None:
            found.append(difference)
        return found

    def named(self, same: Sharing) -> list[tuple[Any, str]]:
        """What is the same array as an argument before it: the name of an argument or a path, and the name of that argument."""
        names = [*[leaf.path for leaf in self.leaves], *[path for path, _ in self._captures]]
        return [(names[index], names[first]) for index, first in enumerate(same) if first != index]

    def call_variant(self, variant: Specialization, same: Sharing, values: Sequence[Any], objects: Objects) -> Any:
        """Call the variant, which was made for this sharing: an array stands for memory that arrays share in part."""
        members: dict[int, list[tuple[Any, Place]]] = {}
        captured = self.captured_arrays(objects)
        for value, place in zip((*values, *captured), same):
            if isinstance(place, Place):
                members.setdefault(place.memory, []).append((value, place))
        memories = {number: gathered(*zip(*found)) for number, found in members.items()}

        def given(memories: dict[int, np.ndarray]) -> list[Any]:
            arrays = []
            for index, (value, place) in enumerate(zip(values, same)):
                if index in memories:
                    arrays.append(memories[index])
                elif not isinstance(place, Place) and place == index:
                    arrays.append(value)
            return arrays + [memories[number] for number in sorted(memories) if number >= len(values)]

        copies = given(memories)
        variant.same_arrays(copies, objects)
        theirs = None
        if any([output.kind == "argument" for output in variant.recording.outputs]):
            theirs = given({number: memory_of(*zip(*found)) for number, found in members.items()})
        found = variant(copies, objects, theirs, dict(enumerate((*values, *captured))))
        for number, memory in memories.items():
            spread(memory, *zip(*members[number]))
        return found

    def __call__(
        self,
        values: Sequence[Any],
        objects: Objects = NO_OBJECTS,
        shown: Sequence[Any] | None = None,
        placed: Mapping[int, Any] = EMPTY,
    ) -> Any:
        """Run; afterwards arguments that the function changes in place have their new contents, and what it sets is set.

        shown: what is returned where that is one of the values, or a view of it, if not these; placed: the caller's arrays by
        their numbers, where such a view is one of them.

        Raises what the function's error flag stands for, with nothing changed; a RaisedBehindChanges, if the function changes
        something.
        """
        recording, arguments = self.recording, values
        captured: Sequence[Any] = ()
        if self._conversions:
            arguments = list(values)
            for index, convert in self._conversions:
                arguments[index] = convert(arguments[index])
        if self._captures:
            captured = [path.read(objects) for path, _ in self._captures]
            pairs = zip(captured, self._captures)
            given = [_as_array(value if convert is None else convert(value)) for value, (_, convert) in pairs]
            if [(array.dtype, array.shape) for array in given] != self._captured_forms:
                raise ChangedMeanwhile
            arguments = (*arguments, *given)
        if self.changes_arrays:
            self._require_writeable(values, captured)
        device = self._device_of(values, captured)
        run: Callable[..., Sequence[Any]] = self.executable
        if device is not None:
            shapes, execute = recording.module.entry.parameter_shapes, self.executable.execute
            takes_over = self._is_sure and getattr(self.executable, "takes_over_arguments", False)
            if takes_over and (given_up := self._given_up(values, captured)):
                execute = partial(execute, given_up=given_up)

            def run(*arguments: Any) -> Sequence[Any]:
                return run_on_device(execute, device, shapes, arguments)

        beginning = None
        try:
            if self._is_repeated:
                beginning = Beginning([path.read(objects) for path in recording.generators])
                with beginning.noting():
                    results = run(*arguments)
            else:
                results = run(*arguments)
        except StaleCapture as stale:
            stale.beginning = beginning
            raise
        except not_of_a_signal(Exception) as error:
            if not self.changes_anything:
                raise
            raise RaisedBehindChanges(lambda error=error: error, beginning=beginning) from None
        if self.is_single:
            return results[0]
        if self.is_tuple:
            return results
        if recording.error_messages and (code := int(results[-1])):
            kind, *_ = recording.error_messages[number_and_value(code)[0] - 1]
            is_stale = isinstance(kind, type) and issubclass(kind, StaleCapture)
            if kind is LeftToPython or self.changes_anything and not is_stale:
                raise RaisedBehindChanges(lambda: self.error(code), beginning=beginning)
            error = self.error(code)
            if is_stale:
                error.beginning = beginning
            raise error
        count = recording.result_count
        for index in recording.mutated:
            put_contents(values[index], results[count])
            count += 1
        for index in recording.mutated_captures:
            put_contents(captured[index], results[count])
            count += 1
        return self.assemble(results, values if shown is None else shown, objects, device, placed)

    def assemble(
        self,
        results: Sequence[Any],
        values: Sequence[Any] | dict[int, Any] = (),
        objects: Objects = NO_OBJECTS,
        device: Device | None = None,
        placed: Mapping[int, Any] = EMPTY,
    ) -> Any:
        """What the function returns, of the executable's results and, where it returns arguments, the leaves' values.

        What it sets outside is set. device: where the results lie, None for the process's memory.
        """
        recording = self.recording
        leaves = [self._leaf(output, results, values, objects, placed) for output in recording.outputs]
        if device is not None:
            leaves = [
                put_on_device(device, leaf) if isinstance(leaf, np.ndarray) and output.kind == "value" else leaf
                for leaf, output in zip(leaves, recording.outputs)
            ]
        if recording.effects:
            for how, path, structure, outputs in recording.effects:
                take_effect(how, path, objects, None if how == "delete" else pytree.unflatten(structure, leaves[outputs]))
            leaves = leaves[: recording.out_count]
        return pytree.unflatten(recording.out_structure, leaves)

    def _leaf(
        self,
        output: Output,
        results: Sequence[Any],
        values: Sequence[Any] | dict[int, Any],
        objects: Objects,
        placed: Mapping[int, Any] = EMPTY,
    ) -> Any:
        if output.kind == "result":
            return results[output.index].T if output.order == "F" else results[output.index]
        if output.kind == "python scalar":
            return results[output.index].item()
        if output.kind == "0-d array":
            found = _as_array(results[output.index])
            if isinstance(found, ArrayOnDevice):
                found.is_writeable = True
            return found
        if output.kind in ("argument", "outside"):
            found = values[output.index] if output.kind == "argument" else output.value.read(objects)
            if output.steps and isinstance(found, ArrayOnDevice):
                return found.view_of(found, output.steps)
            for step in output.steps:
                found = placed[step.number] if isinstance(step, Itself) else step(found)
            return found
        return output.known_value

    def error(self, code: int) -> BaseException:
        """The exception that this code of the error flag stands for."""
        number, value = number_and_value(code)
        error, message, places = self.recording.error_messages[number - 1]
        if isinstance(error, BaseException):
            return raised_at(_like(error), *places)
        shown = with_value_shown(message, value)
        return error(shown) if issubclass(error, StaleCapture) else raised_at(error(shown), *places)

    def _device_of(self, values: Sequence[Any], captured: Sequence[Any]) -> Device | None:
        """Where the call's arrays lie that are on a device; None where all are the process's.

        Raises MixedDevicesError where they lie on several, or on another one than that of the code.
        """
        given = (*values, *captured)
        device = common_device(given, self._names)
        if device is not None and device.memory is not self._backend.memory:
            name = next(name for name, value in zip(self._names(), given) if isinstance(value, ArrayOnDevice))
            own = device_of(self._backend).name
            raise MixedDevicesError(
                f"{self.recording.module.name} runs on {own}, and {name} is on {device.name}; move the array "
                f"(phlox.device_put(x, {own!r})) or let the function run there: jit(backend={device.name!r}), or "
                f"with phlox.device({device.name!r})"
            )
        return device

    def _given_up(self, values: Sequence[Any], captured: Sequence[Any]) -> list[int]:
        """The numbers of the parameters whose arrays get other contents, while nothing else needs those that they have."""
        count = len(values)
        changed = [(number, values[number]) for number in self.recording.mutated]
        changed += [(count + number, captured[number]) for number in self.recording.mutated_captures]
        return [number for number, array in changed if isinstance(array, ArrayOnDevice) and array.has_buffer_alone]

    def _names(self) -> list[str]:
        return [f"argument {leaf.path}" for leaf in self.leaves] + [path.text for path, _ in self._captures]

    def _require_writeable(self, values: Sequence[Any], captured: Sequence[Any]) -> None:
        """Where an array cannot be changed Python makes the call, and finds that out behind other changes."""
        recording = self.recording
        changed = [values[index] for index in recording.mutated] + [captured[index] for index in recording.mutated_captures]
        if not all(map(is_writeable, changed)):
            raise RaisedBehindChanges(lambda: ValueError("assignment destination is read-only"))
        if self._changed_twice:
            raise NotImplementedError(
                f"{self._changed_twice[0]} has elements of its memory at several places, as arrays of as_strided may, and "
                "is changed in place: that is not implemented; change the array that it is a view of, or a copy"
            )

    def captured_arrays(self, objects: Objects) -> list[Any]:
        """The arrays and numbers from outside, as they are now."""
        return [path.read(objects) for path, _ in self._captures]

    def read_before(self, values: Sequence[Any]) -> list[Any]:
        """The arguments as a function of NumPy's takes them: what shares memory with one that is changed is read before."""
        given = list(values)
        changed = [values[index] for index in self.recording.mutated if isinstance(values[index], ArrayOnDevice)]
        for index, value in enumerate(values):
            if index not in self.recording.mutated and isinstance(value, ArrayOnDevice):
                for other in changed:
                    given[index] = given[index].as_it_is(other)
        return given

    def same_arrays(self, values: Sequence[Any], objects: Objects = NO_OBJECTS) -> Sharing | None:
        """For each leaf, and then each captured array, the first one that is the same memory; None if all differ.

        The first one that is the same array, for functions that ask for that. Where one that is changed shares part of its
        memory with others, these have places in that. Only for functions that change arrays in place, or compare them. Raises
        ValueError where arrays that share memory are no views of one array.
        """
        recording = self.recording
        values = [*values, *self.captured_arrays(objects)]
        count = len(self.leaves)
        mutated = [*recording.mutated, *[count + index for index in recording.mutated_captures]]
        arrays = [(index, value) for index, value in enumerate(values) if is_array(value)]
        if not recording.compares_arrays and not _may_overlap(arrays, mutated):
            return None
        first: list[int | Place] = list(range(len(values)))
        places: dict[Any, int] = {}
        for index, value in arrays:
            first[index] = places.setdefault(id(value) if recording.compares_arrays else memory_place(value), index)
        for index in {first[index] for index in mutated}:
            if not isinstance(first[index], Place):
                self._divide_memory(index, arrays, first)
        return tuple(first) if first != list(range(len(values))) else None

    def _divide_memory(self, index: int, arrays: Sequence[tuple[int, Any]], first: list[int | Place]) -> None:
        """Where this array shares part of its memory with others, give all that hang together their places in it."""
        by_index = dict(arrays)
        together, pending = {index}, [index]
        while pending:
            one = by_index[pending.pop()]
            found = [other for other, value in arrays if other not in together and shares_memory(one, value)]
            together.update(found)
            pending += found
        members, count = sorted(together), len(self.leaves)
        if len(members) == 1 or members[0] < count and len({first[other] for other in members}) == 1:
            return
        found = [by_index[other] for other in members]
        places = None if isinstance(found[0], ArrayOnDevice) else places_of(found, members[0])
        if places is None:
            names = [leaf.path for leaf in self.leaves] + [capture.path.text for capture in self.recording.captures]
            raise ValueError(
                f"{' and '.join(names[other] for other in members)} share part of their memory, and {names[index]} is changed "
                "in place; use a copy of one of them"
            )
        for other, place in zip(members, places):
            if first[other] == other or min(first[other], other) >= count:  # else it is one of the arguments
                first[other] = place


@dataclass
class KnownForm:
    """A form of call that has been met.

    Its specializations, of which the last that was made is the first; they differ in what they found outside. Which leaves of
    the call they take (None: all), and which are objects.
    """

    specializations: list[Specialization]
    selection: Selection | None
    objects: dict[str, int]

    def fitting(self, objects: Objects) -> Specialization | None:
        """The specialization for what is outside now."""
        for specialization in self.specializations:
            if specialization.fits(objects):
                return specialization
        return None


def _changed_twice(recording: Recording) -> list[str]:
    """The arguments and the arrays from outside that are changed, and have an element of memory at several places."""
    leaves = [recording.leaves[index] for index in recording.mutated]
    found = [(f"argument {leaf.path}", leaf.shape.dimensions, leaf.strides or ()) for leaf in leaves]
    captures = [recording.captures[index] for index in recording.mutated_captures]
    found += [(capture.path.text, capture.parameter.shape.dimensions, capture.strides) for capture in captures]
    return [name for name, shape, strides in found if has_elements_twice(shape, strides)]


def _as_array(value: Any) -> Any:
    return value if isinstance(value, ArrayOnDevice) else np.asarray(value)


def _may_overlap(arrays: list[tuple[int, Any]], mutated: list[int]) -> bool:
    """Whether the memory of an array that is changed lies where another one's does; quick, and seldom true."""
    for index, value in arrays:
        if index in mutated and any(number != index and may_share_memory(value, other) for number, other in arrays):
            return True
    return False


def _like(error: Exception) -> Exception:
    """An exception like this one, raised nowhere yet."""
    made = unraised(type(error), error.args, attributes_of(error))
    made.__context__, made.__cause__, made.__suppress_context__ = error.__context__, error.__cause__, error.__suppress_context__
    return made
