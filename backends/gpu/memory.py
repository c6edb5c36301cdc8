"""A device's memory, as programs take and give it."""

from __future__ import annotations

import numpy as np

from ..device_memory import require_array_of, require_storable, to_device


class GpuBuffer:
    def __init__(self, shape, address):
        self.shape, self.address = shape, address


class GpuMemory:
    def __init__(self, name, device):
        self.name, self.device = name, device

    def allocate(self, shape):
        require_storable("a buffer", shape)
        return GpuBuffer(shape, self.device.allocate(shape.byte_size))

    def allocate_bytes(self, size):
        return GpuBuffer(None, self.device.allocate(size))

    def write(self, buffer, array):
        require_array_of("the buffer", buffer.shape, array)
        a = np.ascontiguousarray(array.astype(buffer.shape.dtype).transpose(buffer.shape.minor_to_major[::-1]))
        if a.nbytes:
            self.device.write(buffer.address, a.ctypes.data, a.nbytes)

    def read(self, buffer, out=None):
        order = buffer.shape.minor_to_major[::-1]
        a = np.empty([buffer.shape.dimensions[d] for d in order], buffer.shape.dtype)
        if a.nbytes:
            self.device.read(a.ctypes.data, buffer.address, a.nbytes)
        a = a.transpose([order.index(d) for d in range(len(order))])
        if out is None:
            return a
        out[...] = a
        return out

    def share(self, array):
        return to_device(self, array)
