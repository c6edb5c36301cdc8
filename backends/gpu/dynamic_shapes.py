"""Modules with dynamic dimensions: a program on padded arrays, called with arrays of any size within the bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np

from ...compile.dynamic_padding import pad_dynamic_dimensions
from ...hlo import Module, Shape, parse_module
from ..arguments import check_arguments, check_sizes
from ..cpu.call import CallSignature, Step
from ..cpu.dynamic_shapes import of_padded
from ..device_memory import Buffer, in_layout, to_device
from ..padding import Padding, cut, padded_array, raise_error, sizes_of, wanted_sizes
from .drivers.driver import Device
from .executable import GpuExecutable
from .memory import DeviceBuffer, GpuMemory
from .program import GpuProgram

# Results of so many bytes are copied to the host with their padding, at once.
_MOST_AT_ONCE = 64 << 10
# Kernels that move elements count them in 32 bits: larger arrays go by way of the host.
_MOST_ELEMENTS = (1 << 31) - 1


class PaddedExecutable:
    """A program with dynamic dimensions, by way of the executable of the padded one.

    Arguments are padded to their bounds before the call; results are arrays of their sizes, which a call waits for. ``compile``
    makes the programs that move elements on the device.
    """

    def __init__(self, padded: GpuExecutable, padding: Padding, compile: Callable[[Module], GpuExecutable]) -> None:
        self.padded, self.padding = padded, padding
        self._side_by_side = cache(lambda shape: compile(_side_by_side(shape)))
        self._apart = cache(lambda shape: compile(_apart(shape)))
        self._is_small = sum([shape.byte_size for shape in padded.program.results]) <= _MOST_AT_ONCE

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        """The results for one array for each leaf of the entry's parameters.

        Raises TypeError and ValueError for arguments that do not fit, ValueError where sizes at run time do not fit together.
        """
        padding = self.padding
        check_arguments(self.program.name, padding.parameters, arguments)
        given = [padded_array(argument, shape) for argument, (_, shape) in zip(arguments, padding.parameters)]
        given += sizes_of(padding, [argument.shape for argument in arguments])
        if not self._is_small and not self.padded.reaches_arrays:
            memory, shapes = self.memory, [shape for _, shape in self.program.parameters]
            found = self._run([to_device(memory, array, shape) for array, shape in zip(given, shapes)])
            arrays = [memory.read(buffer) for buffer in found]
            return tuple([array if array.ndim else array[()] for array in arrays])
        *results, error = self.padded(*given)
        raise_error(padding, self.program.name, error)
        sizes = iter(results[len(padding.results) :])
        return tuple([cut(array, shape, sizes) for array, shape in zip(results, padding.results)])

    def execute(self, arguments: Iterable[Buffer]) -> tuple[Buffer, ...]:
        """The results, as buffers, for one buffer for each leaf of the parameters. Raises as a call."""
        padding, memory = self.padding, self.memory
        given = [memory.own(f"argument {number}", argument) for number, argument in enumerate(arguments)]
        if len(given) != len(padding.parameters):
            raise TypeError(f"module {self.program.name} takes {len(padding.parameters)} arrays, {len(given)} given")
        for buffer, (name, shape) in zip(given, padding.parameters):
            check_sizes(f"module {self.program.name}, {name}", shape, buffer.shape.dimensions)
        arrays = [self._padded(buffer, shape) for buffer, (_, shape) in zip(given, padding.parameters)]
        sizes = [to_device(memory, size) for size in sizes_of(padding, [buffer.shape.dimensions for buffer in given])]
        return self._run([*arrays, *sizes])

    def install(self, instance: Any, signature: CallSignature, *, steps: Sequence[Step] = (), **options: Any) -> bool:
        """As `GpuExecutable.install`, where no arguments have dynamic dimensions."""
        found = of_padded(self.padding, signature, steps)
        return found is not None and self.padded.install(instance, found[0], steps=found[1], **options)

    def _run(self, arguments: Sequence[Buffer]) -> tuple[Buffer, ...]:
        """The results, for padded arrays and sizes."""
        padding, memory = self.padding, self.memory
        *results, error = self.padded.execute(arguments)
        raise_error(padding, self.program.name, memory.read(error))
        sizes = iter(results[len(padding.results) :])
        found = []
        for buffer, shape in zip(results, padding.results):
            own = [next(sizes) for dynamic in shape.dynamic_dimensions if dynamic]
            found.append(self._cut(buffer, shape, own, wanted_sizes(shape, map(memory.read, own))))
        return tuple(found)

    def _padded(self, buffer: DeviceBuffer, shape: Shape) -> Buffer:
        """A copy of an argument in an array of its bounds."""
        given, bounds = buffer.shape.dimensions, shape.dimensions
        if given == bounds:
            return buffer
        static = Shape(shape.element_type, bounds)
        if given[1:] != bounds[1:] and static.size > _MOST_ELEMENTS:
            return to_device(self.memory, padded_array(self.memory.read(buffer), shape))
        buffer, padded = in_layout(self.memory, buffer, static), self.memory.allocate(static)
        self.device.fill(padded.address, 0, static.byte_size)
        if buffer.shape.byte_size:
            self.device.copy(padded.address, buffer.address, buffer.shape.byte_size)
        if given[1:] == bounds[1:] or not buffer.shape.size:
            return padded
        flat = DeviceBuffer(Shape(shape.element_type, (static.size,)), padded.address, padded.owner, self.device)
        sizes = [to_device(self.memory, np.array(size, np.int32)) for size in (*given, buffer.shape.size)]
        return self._apart(static).execute([flat, *sizes])[0]

    def _cut(self, buffer: Any, shape: Shape, sizes: Sequence[Buffer], wanted: tuple[int, ...]) -> Buffer:
        """A copy of a result at its sizes; ``sizes`` has those of the dynamic dimensions on the device."""
        if shape.dimensions == wanted:
            return buffer
        if shape.dimensions[1:] != wanted[1:] and prod(shape.dimensions) > _MOST_ELEMENTS:
            return to_device(self.memory, self.memory.read(buffer)[tuple(map(slice, wanted))])
        result = self.memory.allocate(Shape(shape.element_type, wanted))
        if result.shape.byte_size:
            if shape.dimensions[1:] != wanted[1:]:
                (buffer, *_) = self._side_by_side(shape).execute([buffer, *sizes])
            self.device.copy(result.address, buffer.address, result.shape.byte_size)
        return result

    @property
    def module(self) -> Module:
        return self.padded.module

    @property
    def program(self) -> GpuProgram:
        """The padded program."""
        return self.padded.program

    @property
    def device(self) -> Device:
        return self.padded.device

    @property
    def memory(self) -> GpuMemory:
        return self.padded.memory

    @property
    def optimized(self) -> Module:
        return self.padded.optimized

    def as_text(self, form: str = "hlo") -> str:
        """That of the padded program."""
        return self.padded.as_text(form)

    def memory_analysis(self) -> dict[str, int]:
        """Bytes of the padded ``arguments``, ``results`` and ``temporaries``."""
        return self.padded.memory_analysis()


def _side_by_side(shape: Shape) -> Module:
    """Of an array in one of its bounds, and the sizes of its dynamic dimensions: the elements, from the first one on."""
    flat = Shape(shape.element_type, (prod(shape.dimensions),), dynamic_dimensions=(True,))
    return _moving(f"x = {shape} parameter(0)\n ROOT y = {flat} reshape(x)")


def _apart(shape: Shape) -> Module:
    """Of elements one behind the other, the sizes of an array, and how many these are: the array in one of its bounds."""
    flat = Shape(shape.element_type, (shape.size,), dynamic_dimensions=(True,))
    wanted = Shape(shape.element_type, shape.dimensions, dynamic_dimensions=(True,) * shape.rank)
    sizes = [f"n{number} = s32[] parameter({number + 1})" for number in range(shape.rank)]
    names = ", ".join(["x", *[f"n{number}" for number in range(shape.rank)]])
    return _moving("\n".join([f"x = {flat} parameter(0)", *sizes, f"ROOT y = {wanted} dynamic-reshape({names})"]))


def _moving(text: str) -> Module:
    """The padded module of an entry, as one of its own."""
    padded = pad_dynamic_dimensions(parse_module(f"HloModule move\nENTRY e {{\n {text}\n}}"))
    return Module(padded.name, padded.entry)
