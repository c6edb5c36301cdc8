"""Arrays in a device's memory: `backends.device_memory.DeviceMemory` over a driver's device and a pool."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import hlo
from ..device_memory import Buffer, require_array_of, require_storable, to_device
from .drivers.driver import Device
from .memory_pool import Block, MemoryPool


class DeviceBuffer:
    """An array in a device's memory, which is free when nothing refers to its ``owner``: the block, or who else has it."""

    __slots__ = ("shape", "address", "owner", "device", "__weakref__")

    def __init__(self, shape: hlo.Shape, address: int, owner: Any, device: Device) -> None:
        self.shape, self.address, self.owner, self.device = shape, address, owner, device


class GpuMemory:
    """The memory of a device, which ``name`` names."""

    def __init__(self, name: str, device: Device) -> None:
        self.name, self.device, self.pool = name, device, MemoryPool(device)

    def allocate(self, shape: hlo.Shape) -> DeviceBuffer:
        require_storable("a buffer", shape)
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
        shape, order = source.shape, source.shape.minor_to_major[::-1]
        if out is not None:
            require_array_of("the array for the contents of the buffer", shape, out)
        in_layout = np.empty([shape.dimensions[dimension] for dimension in order], shape.dtype)
        self.device.read(in_layout.ctypes.data, source.address, in_layout.nbytes)
        array = in_layout.transpose([order.index(dimension) for dimension in range(shape.rank)])
        if out is None:
            return array
        out[...] = array
        return out

    def share(self, array: np.ndarray) -> DeviceBuffer:
        buffer = to_device(self, array)
        assert isinstance(buffer, DeviceBuffer)
        return buffer

    def own(self, what: str, buffer: Any) -> DeviceBuffer:
        """The buffer. Raises TypeError, which ``what`` begins, for what is no buffer of this memory."""
        if not isinstance(buffer, DeviceBuffer):
            raise TypeError(f"{what}: a buffer in the memory of {self.name} is required, {type(buffer).__name__} given")
        if buffer.device is not self.device:
            other = buffer.device.properties.name
            raise TypeError(f"{what}: a buffer in the memory of {self.name} is required, one in that of {other} given")
        return buffer
