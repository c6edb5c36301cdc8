"""The driver: a device whose work is done when a call returns."""

import ctypes
import platform
import sys
import threading
from types import SimpleNamespace

from phlox.backends.cpu.machine_code import LoadedCode, compile_object
from phlox.backends.cpu.target import host_target
from phlox.backends.gpu.drivers.driver import ALIGNMENT, DeviceProperties, launch_error
from phlox.backends.gpu.drivers.launched import Launched
from phlox.backends.gpu.drivers.native_calls import NativeCalls
from phlox.backends.gpu.errors import DeviceCodeError, DeviceOutOfMemoryError, DriverUnavailableError

from .machine import CONTEXT_BYTES, MACHINE, MOST_ARGUMENTS, NATIVE_CALLS, STACK_BYTES
from .target import fiber_target


class FiberDevice:
    """See `phlox.backends.gpu.drivers.driver.Device`."""

    def __init__(self, properties):
        self.properties, self.launched, self.identity = properties, Launched(), ("fibers",)
        self._machine = LoadedCode([compile_object(MACHINE, host_target())], host_target(), {})
        self._memory, self._lock = {}, threading.Lock()
        self._contexts = ctypes.create_string_buffer((properties.threads + 1) * CONTEXT_BYTES + 64)
        self._stacks = ctypes.create_string_buffer(properties.threads * STACK_BYTES)
        aligned = -(-ctypes.addressof(self._contexts) // 64) * 64
        self._machine.set_pointers({"contexts": aligned, "stacks": ctypes.addressof(self._stacks)})
        self._run = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)(
            self._machine.address("run")
        )

    def allocate(self, size):
        in_use = sum(map(len, self._memory.values()))
        if in_use + size > self.properties.memory_bytes:
            raise DeviceOutOfMemoryError(
                f"{self.properties.name} cannot give {size:,} bytes: of {self.properties.memory_bytes:,} are {in_use:,} in use"
            )
        block = ctypes.create_string_buffer(size + ALIGNMENT)
        address = -(-ctypes.addressof(block) // ALIGNMENT) * ALIGNMENT
        self._memory[address] = block
        return address

    def free(self, address):
        del self._memory[address]

    def host_block(self, size):
        block = (ctypes.c_int64 * -(-size // 8))()
        return SimpleNamespace(address=ctypes.addressof(block), block=block)

    def write(self, address, source, size):
        ctypes.memmove(address, source, size)

    def read(self, target, address, size):
        ctypes.memmove(target, address, size)

    def copy(self, target, source, size):
        ctypes.memmove(target, source, size)

    def fill(self, address, byte, size):
        ctypes.memset(address, byte, size)

    def load(self, code):
        functions = ("fiber_thread", "fiber_block", "fiber_barrier")
        loaded = LoadedCode([code], host_target(), {name: self._machine.address(name) for name in functions})

        def kernel(name, together=1):
            assert together == 1
            try:
                return SimpleNamespace(name=name, handle=loaded.address(name), code=loaded, together=1)
            except KeyError:
                raise DeviceCodeError(f"the code has no kernel {name}") from None

        return SimpleNamespace(kernel=kernel)

    def made_of(self, code):
        return None

    def launch(self, kernel, grid, block, arguments, shared_bytes=0):
        sizes, values = (ctypes.c_int64 * 6)(*grid, *block), (ctypes.c_uint64 * len(arguments))(*arguments)
        self.check_launch(block[0] * block[1] * block[2] > self.properties.threads, kernel, grid, block, shared_bytes)
        with self._lock:
            self._run(kernel.handle, sizes, len(arguments), values)

    def prepare(self, kernel, arguments, shared_bytes):
        if arguments > MOST_ARGUMENTS:
            raise DeviceCodeError(f"the kernel {kernel.name} has {arguments} arguments, {MOST_ARGUMENTS} are possible")

    def native_calls(self):
        return NativeCalls(NATIVE_CALLS, (self._machine.address("run"),), self._lock)

    def require_usable(self):
        pass

    def check(self, status, what):
        assert status == 0, what

    def check_launch(self, status, kernel, grid, block, shared_bytes):
        if status:
            raise launch_error(self.properties, kernel.name, grid, block, shared_bytes, "too many threads")

    def synchronize(self):
        pass


class FiberDriver:
    """See `phlox.backends.gpu.drivers.driver.Driver`."""

    name = "fibers"

    def __init__(self):
        if sys.platform != "linux" or platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc":
            raise DriverUnavailableError("fibers need Linux on x86-64 with GNU's C library")
        target = fiber_target()
        self._device = FiberDevice(
            DeviceProperties("fibers", "", 1 << 30, 1, sub_group=1, shared_bytes=target.shared_bytes, threads=target.threads)
        )

    def devices(self):
        return (self._device.properties,)

    def open(self, number):
        return self._device
