"""A backend whose memory the host does not reach: buffers are addresses, and only transfers have the contents.

Programs run as the reference's, on bytes of the device's own. It counts the transfers and the bytes that are in use.
"""

import weakref
from itertools import count

import numpy as np
from phlox import DeviceArray
from phlox.backends.arguments import parameter_leaves
from phlox.backends.device_memory import call_on_device, require_array_of, require_storable, to_device
from phlox.backends.reference.backend import ReferenceBackend
from phlox.backends.registry import register_backend
from phlox.hlo import shape_of

NAME = "device_with_memory"


class DeviceBuffer:
    """Where an array lies in the device's memory."""

    __slots__ = ("shape", "address", "__weakref__")

    def __init__(self, shape, address):
        self.shape, self.address = shape, address


class SeparateMemory:
    """Bytes by their address. No address is given twice, so that what is freed and used is seen."""

    name = NAME

    def __init__(self):
        self._contents, self._addresses = {}, count(0x1000, 0x1000)
        self.transfers = 0

    def allocate(self, shape):
        require_storable(shape)
        buffer = DeviceBuffer(shape, next(self._addresses))
        self._contents[buffer.address] = b"\xa5" * shape.byte_size
        weakref.finalize(buffer, self._contents.pop, buffer.address)
        return buffer

    def write(self, buffer, array):
        require_array_of("the buffer", buffer.shape, array)
        self.transfers += 1
        self.store(buffer, array)

    def read(self, buffer, out=None):
        self.transfers += 1
        array = self.load(buffer)
        if out is None:
            return array
        require_array_of("the destination", buffer.shape, out)
        out[...] = array
        return out

    def share(self, array):
        return to_device(self, array)

    def statistics(self):
        return {"bytes_in_use": self.bytes_in_use}

    @property
    def bytes_in_use(self):
        return sum(map(len, self._contents.values()))

    # --- the device's own side ---

    def store(self, buffer, array):
        native = array.astype(buffer.shape.dtype)
        self._contents[buffer.address] = native.transpose(buffer.shape.minor_to_major[::-1]).tobytes()

    def load(self, buffer):
        """The array that the bytes are, in the layout of the buffer."""
        order = buffer.shape.minor_to_major[::-1]
        sizes = [buffer.shape.dimensions[dimension] for dimension in order]
        array = np.frombuffer(bytearray(self._contents[buffer.address]), buffer.shape.dtype).reshape(sizes)
        return array.transpose([order.index(dimension) for dimension in range(len(order))])


class DeviceExecutable:
    def __init__(self, module, memory):
        self.module, self.memory = module, memory
        self.program = ReferenceBackend().compile(module)

    def __call__(self, *arguments):
        return call_on_device(self.memory, self.execute, self.module.name, parameter_leaves(self.module), arguments)

    def execute(self, arguments):
        buffers = list(arguments)
        for number, buffer in enumerate(buffers):
            if not isinstance(buffer, DeviceBuffer):
                raise TypeError(
                    f"argument {number}: a buffer in the device's memory is required, {type(buffer).__name__} given"
                )
        results = []
        for array in self.program(*map(self.memory.load, buffers)):
            results.append(self.memory.allocate(shape_of(array)))
            self.memory.store(results[-1], np.asarray(array))
        return tuple(results)

    def as_text(self, form="hlo"):
        return self.module.as_text()

    def memory_analysis(self):
        return self.program.memory_analysis()


class BackendWithMemory:
    name = NAME
    pipeline = ReferenceBackend.pipeline

    def __init__(self):
        self.memory = SeparateMemory()

    def compile(self, module):
        return DeviceExecutable(module, self.memory)

    def support(self, opcode):
        return ReferenceBackend().support(opcode)


def register():
    """Make the backend known, with a memory of which nothing is in use."""
    register_backend(NAME, BackendWithMemory)


def same(found, expected):
    """An array is on a device, and has the type, the shape and the elements of another one."""
    assert isinstance(found, DeviceArray)
    expected = np.asarray(expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(np.asarray(found), expected)
