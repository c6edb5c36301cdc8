"""Arrays in a device's memory: `backends.device_memory.DeviceMemory` over a driver's device and a pool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import hlo
from ..device_memory import Buffer, require_array_of, require_storable, to_device
from .drivers.driver import ALIGNMENT, Device
from .errors import HostArrayError
from .memory_pool import Block, MemoryPool

_ALIGNMENT = 16
_MOST_TOGETHER = 64 << 10


class DeviceBuffer:
    """An array in a device's memory, which is free when nothing refers to its ``owner``: the block, or who else has it."""

    __slots__ = ("shape", "address", "owner", "device", "__weakref__")

    def __init__(self, shape: hlo.Shape, address: int, owner: Any, device: Device) -> None:
        self.shape, self.address, self.owner, self.device = shape, address, owner, device


def side_by_side(shapes: Sequence[hlo.Shape]) -> tuple[list[int], int]:
    """Where arrays begin that lie one behind another, and how many bytes they have in all."""
    offsets, end = [], 0
    for shape in shapes:
        offsets.append(end)
        end += -(-shape.byte_size // ALIGNMENT) * ALIGNMENT
    return offsets, end


def array_in(memory: Any, offset: int, shape: hlo.Shape) -> np.ndarray:
    """The array of a shape, in its layout, that begins so many bytes behind the begin of the host's memory."""
    order = shape.minor_to_major[::-1]
    array = np.ndarray([shape.dimensions[one] for one in order], shape.dtype, memory, offset)
    return array.transpose([order.index(dimension) for dimension in range(shape.rank)])


# How DLPack numbers the kinds of devices (DLDeviceType).
_DLPACK_DEVICES = {"cuda": 2, "rocm": 10}


class GpuMemory:
    """The memory of a device, which ``name`` names: that of its driver, with the device's number where it is not the first.

    ``dlpack_device`` is how DLPack calls it, where it does, and ``stream`` the address of the stream that it is used in; then
    ``wait_for(stream)`` and ``let_wait(stream)`` bring that and another one in order, and ``wait_for_others()`` waits for all.
    """

    def __init__(self, name: str, device: Device) -> None:
        self.name, self.device, self.pool = name, device, MemoryPool(device)
        driver, _, number = name.partition(":")
        if driver in _DLPACK_DEVICES:
            self.dlpack_device = (_DLPACK_DEVICES[driver], int(number or 0))
            self.stream, self.wait_for, self.let_wait = device.stream, device.wait_for, device.let_wait
            self.wait_for_others = device.wait_for_others

    def synchronize(self) -> None:
        """Wait for all that was asked of the device. Raises what went wrong meanwhile."""
        self.device.synchronize()

    def statistics(self) -> dict[str, int]:
        """Counts of bytes, and of allocations."""
        return self.pool.statistics()

    def adopt(self, shape: hlo.Shape, address: int, owner: Any) -> DeviceBuffer:
        """Memory of the device that is another's, as a buffer; ``owner`` lives as long as it.

        Kernels load vectors, so what does not lie at a multiple of 16 bytes is copied.
        """
        if address % _ALIGNMENT == 0:
            return DeviceBuffer(shape, address, owner, self.device)
        copied = self.allocate(shape)
        if shape.byte_size:
            self.device.copy(copied.address, address, shape.byte_size)
            self.device.synchronize()  # the owner may go now
        return copied

    def copy(self, target: Buffer, source: Buffer) -> None:
        """Let a buffer have the contents of another one of its shape and layout."""
        if target.shape.byte_size:
            self.device.copy(target.address, source.address, target.shape.byte_size)

    def allocate(self, shape: hlo.Shape) -> DeviceBuffer:
        require_storable(shape)
        return self.new_buffer(shape, shape.byte_size)

    def new_buffer(self, shape: hlo.Shape, size: int) -> DeviceBuffer:
        """As `allocate`, for a shape that is storable and has so many bytes."""
        block = self.pool.allocate(size)
        return DeviceBuffer(shape, block.address, block, self.device)

    def allocate_bytes(self, size: int) -> Block:
        """Memory that is free when nothing refers to it."""
        return self.pool.allocate(size)

    def write(self, buffer: Buffer, array: np.ndarray) -> None:
        target = self.own("the buffer", buffer)
        require_array_of("the buffer", target.shape, array)
        order = target.shape.minor_to_major[::-1]
        in_layout = np.ascontiguousarray(array.transpose(order), target.shape.dtype)
        self.device.write(target.address, in_layout.ctypes.data, in_layout.nbytes)

    def read(self, buffer: Buffer, out: np.ndarray | None = None) -> np.ndarray:
        source = self.own("the buffer", buffer)
        shape = source.shape
        if out is not None:
            require_array_of("the array for the contents of the buffer", shape, out)
        elif shape.is_row_major:
            array = np.empty(shape.dimensions, shape.dtype)
            self.device.read(array.ctypes.data, source.address, array.nbytes)
            return array
        order = shape.minor_to_major[::-1]
        in_layout = np.empty([shape.dimensions[dimension] for dimension in order], shape.dtype)
        self.device.read(in_layout.ctypes.data, source.address, in_layout.nbytes)
        array = in_layout.transpose([order.index(dimension) for dimension in range(shape.rank)])
        if out is None:
            return array
        out[...] = array
        return out

    def write_together(self, arrays: Sequence[tuple[np.ndarray, hlo.Shape]]) -> list[DeviceBuffer]:
        """Buffers of these shapes with copies of the arrays, which go there in one transfer where they are small."""
        shapes = [shape for _, shape in arrays]
        offsets, total = side_by_side(shapes)
        if total > _MOST_TOGETHER:
            return [to_device(self, array, shape) for array, shape in arrays]  # type: ignore[misc]
        staged, block = np.empty(total, np.uint8), self.allocate_bytes(total)
        for offset, (array, shape) in zip(offsets, arrays):
            require_array_of("the buffer", shape, array)
            array_in(staged, offset, shape)[...] = array
        self.device.write(block.address, staged.ctypes.data, total)
        return [DeviceBuffer(shape, block.address + offset, block, self.device) for offset, shape in zip(offsets, shapes)]

    def share(self, array: np.ndarray) -> DeviceBuffer:
        buffer = to_device(self, array)
        assert isinstance(buffer, DeviceBuffer)
        return buffer

    def own(self, what: str, buffer: Any) -> DeviceBuffer:
        """The buffer. Raises HostArrayError, which ``what`` begins, for what is no buffer of this memory."""
        if not isinstance(buffer, DeviceBuffer):
            raise HostArrayError(f"{what}: a buffer in the memory of {self.name} is required, {type(buffer).__name__} given")
        if buffer.device is not self.device:
            other = buffer.device.properties.name
            raise HostArrayError(f"{what}: a buffer in the memory of {self.name} is required, one in that of {other} given")
        return buffer
