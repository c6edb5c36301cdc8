"""Code of the host on arrays in a device's memory that is the host's: a launch costs as much as a small program takes.

The thread that asks runs it, as it runs short programs of kernels (`short_plans`): where all is done that was asked of the
device before; else it is given to kernels. So this is for what both compute to the same bits alone: not for sums of products,
as the CPU backend may round a product and a sum together.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Collection, Iterable
from typing import Any

from ...compile.traversal import has_dynamic_shapes
from ...compile.trip_count import known_trip_count
from ...hlo import Module, Shape
from ...hlo.fast_math import has_fast_math
from ...runtime.kernel_time import kernel_time
from ..arguments import parameter_leaves
from ..cpu.executable import NativeExecutable
from ..cpu.work_estimate import CONTRACTIONS, nanoseconds
from ..device_memory import Buffer
from .drivers.driver import Device
from .given_buffers import GivenBuffers
from .host_call import MOST_BYTES
from .memory import DeviceBuffer, GpuMemory
from .short_plans import NANOSECONDS_OF_OTHERS

# With the interpreter's lock, and raising what the code leaves.
_CODE = ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)


class HostRuns:
    """Runs of a program's code of the host on buffers. Safe to use from several threads at once."""

    def __init__(self, executable: NativeExecutable, module: Module, memory: GpuMemory) -> None:
        program = executable.program
        self._executable, self._device, self._allocate = executable, memory.device, memory.pool.allocate
        self._given = GivenBuffers(program.name, parameter_leaves(module), memory)
        shapes = [Shape(shape.element_type, shape.dimensions) for shape in program.results]
        self._results = [(shape, shape.byte_size) for shape in shapes]
        self._over = dict(program.over_arguments)
        arguments = len(program.parameters)
        self._table = ctypes.c_int64 * max(1, arguments + len(shapes))
        self._pack = struct.Struct(f"={arguments + len(shapes)}q").pack_into
        self._first_result = 8 * arguments
        self._code = _CODE(executable.kernel)
        self._unused: list[tuple[Any, int]] = []

    @staticmethod
    def may_be_of(module: Module, device: Device) -> bool:
        """Whether there may be runs of a program: it takes no longer than who asks for it is to wait."""
        if getattr(device, "own_thread", None) is None or has_dynamic_shapes(module) or has_fast_math(module):
            return False
        instructions = [one for part in module.computations() for one in part.instructions]
        if any(one.opcode in CONTRACTIONS or one.opcode == "while" and known_trip_count(one) is None for one in instructions):
            return False
        return nanoseconds(module.entry) < NANOSECONDS_OF_OTHERS

    @classmethod
    def of(cls, executable: Any, module: Module, memory: GpuMemory) -> HostRuns | None:
        """None where a program takes longer, or calls Python. Meanwhile no other thread runs Python."""
        if not cls.may_be_of(module, memory.device) or not isinstance(executable, NativeExecutable):
            return None
        is_soon_done = not executable.program.may_take_long or executable.bytes_touched <= MOST_BYTES
        return cls(executable, module, memory) if is_soon_done and not executable.program.host_calls else None

    @property
    def takes_over_arguments(self) -> bool:
        return bool(self._over)

    def execute(self, arguments: Iterable[Buffer], given_up: Collection[int] = ()) -> tuple[Buffer, ...] | None:
        """The results, as `GpuExecutable.execute`; None where the device has more to do, or kernels a time limit."""
        device = self._device
        if not device.asked.is_done or kernel_time.seconds is not None:
            return None
        device.require_usable()
        given, addresses = self._given(arguments)
        results, over = [], self._over
        for number, (shape, size) in enumerate(self._results):
            if over and over.get(number) in given_up:
                buffer = given[over[number]]
                results.append(DeviceBuffer(shape, buffer.address, buffer.owner, device))
                continue
            block = self._allocate(size)
            results.append(DeviceBuffer(shape, block.address, block, device))
        if not device.asked.is_done:  # another thread has asked for more, which may use what this memory was before
            return None
        for number, argument in over.items():
            address, size = results[number].address, self._results[number][1]
            ctypes.memmove(address, addresses[argument], size)  # which may be the same
            addresses[argument] = address
        addresses += [buffer.address for buffer in results]
        try:
            table, address = self._unused.pop()
        except IndexError:
            table = self._table()
            address = ctypes.addressof(table)
        self._pack(table, 0, *addresses)
        status = self._code(address, address + self._first_result)
        self._unused.append((table, address))
        if status:
            self._executable.raise_error(status)
        return tuple(results)
