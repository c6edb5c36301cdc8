"""What a program is given: buffers of its device's memory, checked, in the layouts that it asks for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...hlo import Shape
from ..arguments import check_sizes
from ..device_memory import Buffer, in_layout
from .memory import DeviceBuffer, GpuMemory

_SEQUENCES = (list, tuple)


class GivenBuffers:
    """The parameters of a program that is called with buffers."""

    def __init__(self, name: str, parameters: Sequence[tuple[str, Shape]], memory: GpuMemory) -> None:
        self._name, self._parameters, self._memory = name, parameters, memory
        # The shapes that buffers had which were passed last: those of the next ones are often the same objects.
        self._accepted: list[Shape | None] = [None] * len(parameters)

    def __call__(self, arguments: Iterable[Buffer]) -> tuple[Sequence[Any], list[int]]:
        """The buffers, which are to be referred to until the device is asked for what reads them, and their addresses.

        Raises TypeError and ValueError for buffers that are of another memory, or have other element types or dimensions.
        """
        given = arguments if type(arguments) in _SEQUENCES else list(arguments)
        device, accepted = self._memory.device, self._accepted
        addresses = []
        for buffer, shape in zip(given, accepted):
            if type(buffer) is not DeviceBuffer or buffer.shape is not shape or buffer.device is not device:
                break
            addresses.append(buffer.address)
        if len(addresses) != len(accepted) or len(given) != len(accepted):
            given = self._in_layout(given)
            addresses = [buffer.address for buffer in given]
        return given, addresses

    def _in_layout(self, arguments: Sequence[Buffer]) -> list[Buffer]:
        found, name = [], self._name
        if len(arguments) != len(self._parameters):
            raise TypeError(f"module {name} takes {len(self._parameters)} arrays, {len(arguments)} given")
        for number, (buffer, (parameter, shape)) in enumerate(zip(arguments, self._parameters)):
            self._memory.own(f"argument {number}", buffer)
            if buffer.shape.element_type != shape.element_type:
                raise TypeError(f"module {name}, {parameter}: {shape} is required, {buffer.shape} given")
            if buffer.shape.dimensions != shape.dimensions:
                check_sizes(f"module {name}, {parameter}", shape, buffer.shape.dimensions)
            found.append(in_layout(self._memory, buffer, shape))
            if found[-1] is buffer:
                self._accepted[number] = buffer.shape
        return found
