"""Arrays in the memory of a device: what programs take and give where no copy is to go to the host in between.

A backend's executables run on buffers of its ``memory``; the host's own memory is one of these.

>>> buffer = to_device(HOST_MEMORY, np.float32([1, 2]))
>>> HOST_MEMORY.read(buffer)
array([1., 2.], dtype=float32)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .. import hlo
from .arguments import check_sizes


class Buffer(Protocol):
    """An array of this shape in some memory, in the shape's layout. The memory is free when nothing refers to the buffer."""

    @property
    def shape(self) -> hlo.Shape: ...

    @property
    def address(self) -> int:
        """Where it begins, as the device's programs name it."""
        ...


class DeviceMemory(Protocol):
    """Where a device finds its operands and leaves its results."""

    name: str

    def allocate(self, shape: hlo.Shape) -> Buffer:
        """A buffer whose contents are unspecified. Raises MemoryError."""
        ...

    def write(self, buffer: Buffer, array: np.ndarray) -> None:
        """Copy an array of the buffer's dtype and dimensions into it. Raises TypeError or ValueError for another one."""
        ...

    def read(self, buffer: Buffer) -> np.ndarray:
        """A copy of the buffer's contents."""
        ...


@dataclass(frozen=True, eq=False)
class HostBuffer:
    """An array in the memory of the process; ``array`` is not a copy of it."""

    shape: hlo.Shape
    array: np.ndarray

    @property
    def address(self) -> int:
        return self.array.ctypes.data


class HostMemory:
    """The memory of the process."""

    name = "host"

    def allocate(self, shape: hlo.Shape) -> HostBuffer:
        major_to_minor = shape.minor_to_major[::-1]
        array = np.empty([shape.dimensions[dimension] for dimension in major_to_minor], shape.dtype)
        return HostBuffer(shape, array.transpose([major_to_minor.index(dimension) for dimension in range(shape.rank)]))

    def write(self, buffer: Buffer, array: np.ndarray) -> None:
        target = host_array("the buffer", buffer)
        if array.dtype != target.dtype:
            raise TypeError(f"a buffer {buffer.shape}: dtype {target.dtype} is required, an array of dtype {array.dtype} given")
        check_sizes("a buffer", buffer.shape, array.shape)
        target[...] = array

    def read(self, buffer: Buffer) -> np.ndarray:
        return host_array("the buffer", buffer).copy()


HOST_MEMORY = HostMemory()


def to_device(memory: DeviceMemory, array: np.ndarray, shape: hlo.Shape | None = None) -> Buffer:
    """A new buffer with a copy of the array, in the layout of the shape: row-major where none is given. Raises as `write`."""
    buffer = memory.allocate(hlo.shape_of(array) if shape is None else shape)
    memory.write(buffer, array)
    return buffer


def host_array(what: str, buffer: Any) -> np.ndarray:
    """The array that a buffer in the host's memory is. Raises TypeError for anything else, which ``what`` names."""
    if not isinstance(buffer, HostBuffer):
        raise TypeError(f"{what}: a buffer in the host's memory is required, {type(buffer).__name__} given")
    return buffer.array


def execute_on_host(run: Callable[..., Iterable[Any]], arguments: Iterable[Buffer]) -> tuple[HostBuffer, ...]:
    """The results of a function of arrays, without a copy of its arguments or results."""
    arrays = [host_array(f"argument {number}", argument) for number, argument in enumerate(arguments)]
    results = [np.asarray(result) for result in run(*arrays)]
    return tuple(HostBuffer(hlo.shape_of(result), result) for result in results)
