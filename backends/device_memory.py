"""Arrays in the memory of a device: what programs take and give where no copy is to go to the host in between.

A backend's executables run on buffers of its ``memory``; the host's own memory is one of these.

>>> buffer = to_device(HOST_MEMORY, np.float32([1, 2]))
>>> HOST_MEMORY.read(buffer)
array([1., 2.], dtype=float32)
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .. import hlo
from ..hlo.shape import AnyShape, array_of_value
from .arguments import check_arguments, contiguous


class Buffer(Protocol):
    """An array of this shape in some memory, without gaps, in the order of dimensions that the shape's layout says.

    No dimension is dynamic. The memory is free when nothing refers to the buffer.
    """

    @property
    def shape(self) -> hlo.Shape: ...

    @property
    def address(self) -> int:
        """Where it begins, as the device's programs name it."""
        ...


class DeviceMemory(Protocol):
    """Where a device finds its operands and leaves its results. Safe to use from several threads at once."""

    name: str

    def allocate(self, shape: hlo.Shape) -> Buffer:
        """A buffer whose contents are unspecified. Raises MemoryError, and as `require_storable`."""
        ...

    def write(self, buffer: Buffer, array: np.ndarray) -> None:
        """Copy an array into it, wherever its elements lie. Raises as `require_array_of`."""
        ...

    def read(self, buffer: Buffer, out: np.ndarray | None = None) -> np.ndarray:
        """A copy of the buffer's contents: ``out``, where it is given. Raises as `require_array_of`."""
        ...

    def share(self, array: np.ndarray) -> Buffer:
        """A row-major buffer with the contents of an array, which must not be changed while the buffer is used.

        It is the array itself where the device reaches it and its elements lie so, otherwise a copy.
        """
        ...

    # A memory may say more of itself, by attributes that are not required: ``dlpack_device``, ``adopt``, ``copy``, ``stream``,
    # ``wait_for``, ``let_wait`` and ``wait_for_others`` for what `tracer.device.exchange` shares, ``synchronize()``, which
    # waits for all that was asked for, and raises what went wrong, ``statistics()``, a dict of counts of bytes, and
    # ``write_together(pairs)``, which makes buffers of shapes with copies of arrays at once.


@dataclass(slots=True, eq=False)
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
    dlpack_device = (1, 0)  # kDLCPU

    def allocate(self, shape: hlo.Shape) -> HostBuffer:
        require_storable(shape)
        if shape.is_row_major:
            return HostBuffer(shape, np.empty(shape.dimensions, shape.dtype))
        major_to_minor = shape.minor_to_major[::-1]
        array = np.empty([shape.dimensions[dimension] for dimension in major_to_minor], shape.dtype)
        return HostBuffer(shape, array.transpose([major_to_minor.index(dimension) for dimension in range(shape.rank)]))

    def write(self, buffer: Buffer, array: np.ndarray) -> None:
        target = host_array("the buffer", buffer)
        require_array_of("the buffer", buffer.shape, array)
        target[...] = array

    def read(self, buffer: Buffer, out: np.ndarray | None = None) -> np.ndarray:
        array = host_array("the buffer", buffer)
        if out is None:
            return array.copy()
        require_array_of("the array for the contents of the buffer", buffer.shape, out)
        out[...] = array
        return out

    def share(self, array: np.ndarray) -> HostBuffer:
        shape = hlo.shape_of(array)
        array = array_of_value("a buffer", array)
        return HostBuffer(shape, np.require(contiguous(array, shape), requirements="A"))

    def copy(self, target: Buffer, source: Buffer) -> None:
        """Let a buffer have the contents of another one of its shape."""
        np.copyto(host_array("the buffer", target), host_array("its contents", source))

    def adopt(self, shape: hlo.Shape, address: int, owner: Any) -> HostBuffer:
        """A row-major buffer at an address, which is the owner's: that lives as long as the buffer."""
        if not shape.byte_size:
            return self.allocate(shape)
        memory = (ctypes.c_byte * shape.byte_size).from_address(address)
        memory.owner = owner
        return HostBuffer(shape, np.frombuffer(memory, shape.dtype).reshape(shape.dimensions))


HOST_MEMORY = HostMemory()


def require_storable(shape: AnyShape) -> None:
    """Raise TypeError unless a buffer can have this shape: that of one array of a known size."""
    if shape.is_tuple or shape.element_type.dtype is None or shape.has_dynamic_dimensions or not shape.has_size:
        raise TypeError(f"a buffer has the shape of an array whose sizes are known, {shape} given")


def require_array_of(what: str, shape: hlo.Shape, array: Any) -> None:
    """Raise TypeError or ValueError unless this is an array of the shape's dtype, in any byte order, and dimensions."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{what}: an array {shape} is required, {type(array).__name__} given")
    array = array_of_value(what, array)
    if array.dtype.newbyteorder("=") != shape.dtype:
        raise TypeError(f"{what}: {shape} is required (dtype {shape.dtype}), an array of dtype {array.dtype} given")
    if array.shape != shape.dimensions:
        raise ValueError(f"{what}: {shape} is required, an array of shape {array.shape} given")


def to_device(memory: DeviceMemory, array: np.ndarray, shape: hlo.Shape | None = None) -> Buffer:
    """A new buffer with a copy of the array, in the layout of the shape: row-major where none is given. Raises as `write`."""
    buffer = memory.allocate(hlo.shape_of(array) if shape is None else shape)
    memory.write(buffer, array)
    return buffer


def in_layout(memory: DeviceMemory, buffer: Buffer, shape: hlo.Shape) -> Buffer:
    """The buffer in the layout of this shape: itself where it has it, otherwise a copy, by way of the host."""
    if buffer.shape.minor_to_major == shape.minor_to_major:
        return buffer
    return to_device(memory, memory.read(buffer), hlo.Shape(shape.element_type, buffer.shape.dimensions, shape.layout))


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


def call_on_device(
    memory: DeviceMemory,
    execute: Callable[[Iterable[Buffer]], Iterable[Buffer]],
    module_name: str,
    expected: Sequence[tuple[str, hlo.Shape]],
    arguments: Sequence[Any],
) -> tuple[Any, ...]:
    """What a call of an executable is where the device has a memory of its own: transfers around ``execute``.

    The arguments are checked against ``expected``, as `check_arguments` does.
    """
    check_arguments(module_name, expected, arguments)
    buffers = [
        to_device(memory, np.asarray(argument), hlo.Shape(shape.element_type, np.shape(argument), shape.layout))
        for argument, (_, shape) in zip(arguments, expected)
    ]
    results = [memory.read(buffer) for buffer in execute(buffers)]
    return tuple([result if result.ndim else result[()] for result in results])
