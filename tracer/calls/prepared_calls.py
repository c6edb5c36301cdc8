"""Calls with arrays on a device that have been made before: what may have changed is looked at, and the program runs.

Any other call takes the way by `ArgumentReader` and `Specialization`, behind which it is prepared for the next time.
"""

from __future__ import annotations

import struct
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...backends.device_memory import in_layout
from ...runtime.determinism import determinism
from ..outside.guards import SameErrorHandling
from ..outside.paths import NO_OBJECTS
from ..recording.device_arrays import ArrayOnDevice
from ..recording.ndarrays import memory_key
from .array_memory import number_on, numbers_on, upload
from .leaves import PYTHON_SCALARS
from .specialization import KnownForm, Specialization

NOT_PREPARED = object()
_NUMBERS = frozenset({int, float, complex})
# The bytes of numbers, as arrays of them have them.
_PACK = {int: struct.Struct("=q").pack, float: struct.Struct("=d").pack}
# Of these the value is part of the key, as it is for code. All of them can be hashed.
_KNOWN = (bool, types.NoneType, str, type, np.dtype, types.EllipsisType)


def call_key(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
    """What counts of a call, but the values of integers; None where it has no array on a device, or other things beside these.

    The setting that code on devices is made for counts, too.

    Numbers and arrays of NumPy's and Python's, and what is known by its value, may be beside them, and no containers.
    """
    device_array = ArrayOnDevice.made
    backend = device = None
    key: list[Any] = []
    for value in (*args, *kwargs.values()) if kwargs else args:
        kind = type(value)
        if kind is device_array:
            if device is None:
                device = value.device
                backend = device.backend
            elif value.device is not device and value.device.memory is not backend.memory:
                return None
            form = value.form
            key.append(form if form[0] or not value.is_scalar else (form, "scalar"))
        elif kind in _NUMBERS:
            key.append(kind)
        elif kind is np.ndarray and value.dtype.names is None:
            key.append((value.dtype, value.shape, memory_key(value)))
        elif isinstance(value, np.number | np.bool):
            key.append(kind)
        elif kind in _KNOWN or isinstance(value, np.dtype):
            key.append((kind, value))
        else:
            return None
    if backend is None:
        return None
    if kwargs:
        key.append(tuple(kwargs))
    return backend, determinism.is_asked_for, *key


class PreparedCalls:
    """Those of one function, by `call_key`, on all devices. Safe to use from several threads at once."""

    def __init__(self) -> None:
        self.by_key: dict[Any, PreparedCall | _ByIntegers] = {}
        # The call that was found last, where it takes arrays alone: the setting that counts (see `call_key`), and their device
        # and forms, often the same objects again.
        self._last: tuple[bool | None, Any, list[Any], PreparedCall] | None = None

    def find(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[PreparedCall, Sequence[Any]] | None:
        """The call, with its leaves."""
        last = self._last
        if last is not None and not kwargs:
            asked, device, forms, call = last
            if len(args) == len(forms) and asked is determinism.is_asked_for:
                for value, form in zip(args, forms):
                    if type(value) is not ArrayOnDevice.made or value.form is not form or value.device is not device:
                        break
                else:
                    return call, args
        key = call_key(args, kwargs)
        found = self.by_key.get(key)
        leaves = (*args, *kwargs.values()) if kwargs else args
        if type(found) is _ByIntegers:
            found = found.calls.get(tuple([leaves[place] for place in found.places]))
        elif found is not None and not kwargs and all([type(one) is ArrayOnDevice.made and one.form[0] for one in args]):
            # Of what has no dimensions the form does not say whether it is a scalar.
            self._last = determinism.is_asked_for, args[0].device, [one.form for one in args], found
        return None if found is None else (found, leaves)

    def prepare(self, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any], known: KnownForm) -> None:
        """Prepare for calls like this one, of which this is known, where that can be.

        owner: the function that makes such calls, whose hits they are.
        """
        self._last = None
        key = call_key(args, kwargs)
        if key is None or known.objects:
            return
        leaves = (*args, *kwargs.values())
        places = [place for place, value in enumerate(leaves) if value is not None]  # None is no leaf
        selection = range(len(places)) if known.selection is None else known.selection
        if not all([isinstance(one, int) for one in selection]):
            return
        parameters = [places[number] for number in selection]
        static = [place for place in range(len(leaves)) if place not in parameters and not isinstance(leaves[place], _KNOWN)]
        if any([type(leaves[place]) is not int for place in static]):
            return
        call = PreparedCall(owner, known, tuple(parameters), tuple(map(type, leaves)))
        if not static:
            self.by_key[key] = call
            return
        places, values = tuple(static), tuple([leaves[place] for place in static])
        found = self.by_key.get(key)
        if type(found) is _ByIntegers and found.places == places:
            found.calls[values] = call
        else:
            self.by_key[key] = _ByIntegers(places, {values: call})

    def clear(self) -> None:
        """Forget them: integers may be traced for other values from now on."""
        self.by_key.clear()
        self._last = None


class _ByIntegers:
    """Calls whose code is for these values of the integers at these places."""

    __slots__ = ("places", "calls")

    def __init__(self, places: tuple[int, ...], calls: dict[tuple[int, ...], PreparedCall]) -> None:
        self.places, self.calls = places, calls


class PreparedCall:
    """A form of call. The function has been compiled for it at least once, for what it has found outside."""

    __slots__ = ("owner", "_known", "_parameters", "_kinds", "_programs")

    def __init__(self, owner: Any, known: KnownForm, parameters: tuple[int, ...], kinds: tuple[type, ...]) -> None:
        self.owner, self._known, self._parameters, self._kinds = owner, known, parameters, kinds
        self._programs: dict[Specialization, _Program] = {}

    def run(self, leaves: Sequence[Any]) -> Any:
        """What the function returns; NOT_PREPARED where there is no code for what is outside now, or for such integers."""
        programs = self._programs
        for specialization in self._known.specializations:
            program = programs.get(specialization)
            if program is None:
                if not specialization.fits(NO_OBJECTS):
                    continue
                if not specialization.can_be_prepared:
                    return NOT_PREPARED
                program = self._prepared(specialization)
            for guard in program.guards:
                if guard.difference(NO_OBJECTS) is not None:
                    break
            else:
                return program.run(leaves)
        return NOT_PREPARED

    def _prepared(self, specialization: Specialization) -> _Program:
        kinds = [self._kinds[number] for number in self._parameters]
        program = _Program(specialization, self._parameters, kinds, self.owner.is_for_any_form)
        kept = [one for one in self._known.specializations if one in self._programs]
        self._programs = {one: self._programs[one] for one in kept} | {specialization: program}
        return program


class _Program:
    """A specialization, with what has to be done at a call for each of its parameters, and for its results.

    ``guards`` may change from call to call: of what ``is_own`` of phlox, no more than how the user handles errors.
    """

    __slots__ = (
        "guards", "_specialization", "_execute", "_parameters", "_in_order", "_on_device", "_first", "_numbers", "_others",
        "_kept_numbers", "_integers", "_shapes", "_accepted", "_forms", "_captures", "_has_results", "_has_errors", "_is_plain",
        "_of_form",
    )  # fmt: skip

    def __init__(
        self, specialization: Specialization, parameters: tuple[int, ...], kinds: Sequence[type], is_own: bool
    ) -> None:
        recording = specialization.recording
        self.guards = [one for one in recording.guards if not is_own or isinstance(one, SameErrorHandling)]
        self._specialization, self._execute = specialization, specialization.executable.execute
        self._parameters, self._in_order = parameters, parameters == tuple(range(len(parameters)))
        self._on_device = [place for place, kind in enumerate(kinds) if kind is ArrayOnDevice.made]
        self._first = self._on_device[0]
        leaves = recording.leaves
        numbers = [(place, kind) for place, kind in enumerate(kinds) if kind in _PACK]
        self._numbers = [(place, np.dtype(PYTHON_SCALARS[kind]), _PACK[kind]) for place, kind in numbers]
        others = set(range(len(kinds))) - {*self._on_device, *[place for place, _ in numbers]}
        self._others = [(place, leaves[place].convert) for place in sorted(others)]
        self._kept_numbers: dict[Any, Any] | None = None
        self._integers = [(place, *leaves[place].interval) for place, kind in enumerate(kinds) if kind is int]
        self._shapes = recording.module.entry.parameter_shapes
        self._accepted: list[Any] = [None] * len(kinds)
        self._forms: list[tuple[Any, bool]] | None = None
        self._captures = specialization.captured_forms
        self._has_errors = bool(recording.error_messages)
        self._has_results = bool(recording.result_count) or self._has_errors
        # Whether it takes the arguments as they stand in the call, arrays on devices, and returns an array, or a tuple of some.
        has_arrays_alone = self._in_order and len(self._on_device) == len(kinds) == len(self._shapes)
        self._is_plain = has_arrays_alone and (specialization.is_single or specialization.is_tuple)
        self._of_form = ArrayOnDevice.made.of_form

    def run(self, leaves: Sequence[Any]) -> Any:
        if not self._is_plain or self._forms is None:
            return self._run(leaves)
        buffers = []
        for value, shape in zip(leaves, self._accepted):
            buffer = value.buffer
            if buffer.shape is not shape:
                return self._run(leaves)
            buffers.append(buffer)
        device, results, of_form, forms = leaves[0].device, self._execute(buffers), self._of_form, self._forms
        if len(forms) == 1 and not self._specialization.is_tuple:
            return of_form(device, results[0], *forms[0])
        return tuple([of_form(device, buffer, form, writeable) for buffer, (form, writeable) in zip(results, forms)])

    def _run(self, leaves: Sequence[Any]) -> Any:
        values = leaves if self._in_order and len(leaves) == len(self._parameters) else [leaves[n] for n in self._parameters]
        for place, low, high in self._integers:
            if not low <= values[place] <= high:
                return NOT_PREPARED
        device = values[self._first].device
        specialization = self._specialization
        results: Sequence[Any] = ()
        if self._has_results:
            buffers = self._buffers(device, values)
            if buffers is None:
                return NOT_PREPARED
            found = self._execute(buffers)
            if self._has_errors:
                *found, flag = found
                if device.memory.read(flag)[()]:
                    return NOT_PREPARED  # the usual way says what is wrong
            forms = self._forms
            if forms is None:
                forms = [(one.shape.dimensions, np.dtype(one.shape.dtype)) for one in found]
                forms = self._forms = [(form, bool(form[0])) for form in forms]
            of_form = self._of_form
            if specialization.is_single:
                return of_form(device, found[0], *forms[0])
            results = [of_form(device, buffer, form, writeable) for buffer, (form, writeable) in zip(found, forms)]
        if specialization.is_tuple:
            return tuple(results)
        return specialization.assemble(results, values, NO_OBJECTS, device)

    def _buffers(self, device: Any, values: Sequence[Any]) -> list[Any] | None:
        """Those of the parameters; None where an array from outside lies elsewhere, or has another form than it had."""
        memory, accepted, shapes = device.memory, self._accepted, self._shapes
        buffers: list[Any] = [None] * len(shapes)
        for place in self._on_device:
            buffer = values[place].buffer
            if buffer.shape is not accepted[place]:
                found = in_layout(memory, buffer, shapes[place])
                if found is buffer:
                    accepted[place] = buffer.shape
                buffer = found
            buffers[place] = buffer
        if self._numbers:
            kept = self._kept_numbers
            if kept is None:
                kept = self._kept_numbers = numbers_on(memory)
            for place, dtype, pack in self._numbers:
                value = values[place]
                buffer = kept.get((dtype, pack(value)))
                buffers[place] = number_on(memory, np.array(value, dtype), shapes[place]) if buffer is None else buffer
        if self._others or self._captures:
            given = self._on_host(memory, values)
            if given is None:
                return None
            places, arguments = given
            for place, buffer in zip(places, upload(memory, arguments, [shapes[place] for place in places])):
                buffers[place] = buffer
        return buffers

    def _on_host(self, memory: Any, values: Sequence[Any]) -> tuple[list[int], list[Any]] | None:
        """What is not a number, and lies on the host or is captured, by the number of its parameter."""
        places = [place for place, _ in self._others]
        found = [values[place] if convert is None else convert(values[place]) for place, convert in self._others]
        for place, (path, convert, form) in enumerate(self._captures, len(values)):
            value = path.read(NO_OBJECTS)
            if convert is not None:
                value = convert(value)
            if not isinstance(value, ArrayOnDevice):
                value = np.asarray(value)
            elif value.device.memory is not memory:
                return None
            if (value.dtype, value.shape) != form:
                return None
            places.append(place)
            found.append(value)
        return places, found
