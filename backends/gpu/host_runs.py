"""Code of the host on arrays in a device's memory that is the host's: a launch costs as much as a small program takes.

The thread that asks runs it, as it runs short programs of kernels (`short_plans`): where all is done that was asked of the
device before. It is the CPU backend's code, whose results are those of the kernels, which are the CPU backend's loop nests.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Collection, Iterable
from typing import Any

from ...compile.traversal import has_dynamic_shapes
from ...hlo import Module, Shape
from ...runtime.kernel_time import kernel_time
from ..arguments import parameter_leaves
from ..cpu.executable import NativeExecutable
from ..cpu.work_estimate import nanoseconds
from ..device_memory import Buffer
from .drivers.driver import Device
from .given_buffers import GivenBuffers
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
        is_short = not has_dynamic_shapes(module) and nanoseconds(module.entry) < NANOSECONDS_OF_OTHERS
        return is_short and getattr(device, "own_thread", None) is not None

    @classmethod
    def of(cls, executable: Any, module: Module, memory: GpuMemory) -> HostRuns | None:
        """None where a program takes longer, may be interrupted, or calls Python."""
        if not cls.may_be_of(module, memory.device) or not isinstance(executable, NativeExecutable):
            return None
        program = executable.program
        return None if program.may_take_long or program.host_calls else cls(executable, module, memory)

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
            if over and number in over:
                buffer = self._over_argument(given, addresses, over[number], shape, over[number] in given_up)
            else:
                block = self._allocate(size)
                buffer = DeviceBuffer(shape, block.address, block, device)
            results.append(buffer)
        addresses += [buffer.address for buffer in results]
        if not device.asked.is_done:  # another thread has asked for more, which may read what this memory was before
            return None
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

    def _over_argument(self, given: Any, addresses: list[int], argument: int, shape: Shape, is_given_up: bool) -> DeviceBuffer:
        """The memory of a result that the code writes where an argument lies: that of the argument, or of a copy."""
        if is_given_up:
            return DeviceBuffer(shape, given[argument].address, given[argument].owner, self._device)
        block = self._allocate(shape.byte_size)
        ctypes.memmove(block.address, addresses[argument], shape.byte_size)
        addresses[argument] = block.address
        return DeviceBuffer(shape, block.address, block, self._device)
