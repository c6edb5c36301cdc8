"""Modules with dynamic dimensions: a program on padded arrays, called with arrays of any size within the bounds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...hlo import Module, Shape
from ..arguments import check_arguments, check_sizes
from ..device_memory import Buffer, to_device
from ..padding import Padding, cut, padded_array, raise_error, sizes_of, wanted_sizes
from .drivers.driver import Device
from .executable import GpuExecutable
from .memory import DeviceBuffer, GpuMemory
from .program import GpuProgram


class PaddedExecutable:
    """A program with dynamic dimensions, by way of the executable of the padded one.

    Arguments are padded with zeros to their bounds before the call; results are arrays of their sizes, which a call waits for.
    """

    def __init__(self, padded: GpuExecutable, padding: Padding) -> None:
        self.padded, self.padding = padded, padding

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        """The results for one array for each leaf of the entry's parameters.

        Raises TypeError and ValueError for arguments that do not fit, ValueError where sizes at run time do not fit together.
        """
        padding = self.padding
        check_arguments(self.program.name, padding.parameters, arguments)
        given = [padded_array(argument, shape) for argument, (_, shape) in zip(arguments, padding.parameters)]
        *results, error = self.padded(*given, *sizes_of(padding, [argument.shape for argument in arguments]))
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
        *results, error = self.padded.execute([*arrays, *sizes])
        raise_error(padding, self.program.name, memory.read(error))
        found = map(memory.read, results[len(padding.results) :])
        return tuple([self._cut(buffer, shape, wanted_sizes(shape, found)) for buffer, shape in zip(results, padding.results)])

    def _padded(self, buffer: DeviceBuffer, shape: Shape) -> Buffer:
        if buffer.shape.dimensions == shape.dimensions:
            return buffer
        return to_device(self.memory, padded_array(self.memory.read(buffer), shape))

    def _cut(self, buffer: Any, shape: Shape, wanted: tuple[int, ...]) -> Buffer:
        """A copy of a result at its sizes; by way of the host where others than the first dimension are shorter."""
        if buffer.shape.dimensions == wanted:
            return buffer
        memory = self.memory
        if buffer.shape.dimensions[1:] != wanted[1:]:
            return to_device(memory, memory.read(buffer)[tuple(map(slice, wanted))])
        result = memory.allocate(Shape(shape.element_type, wanted))
        if result.shape.byte_size:
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
