"""OpenCL: SPIR-V on every device whose driver takes it, GPUs and, by Intel's runtime for processors, CPUs.

Addresses are those of unified shared memory (cl_intel_unified_shared_memory) where a platform has it, and of coarse-grained
shared virtual memory otherwise: both may point inside of what was allocated, and be arguments of kernels.

On a CPU device kernels run in the process: an address that is not there ends it, and host memory is reached as it is.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Sequence
from ctypes import byref, c_int32, c_size_t, c_uint32, c_void_p
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from ....runtime.kernel_time import kernel_time
from ....runtime.locks import new_lock
from ....runtime.thread_count import thread_limit
from ...cpu.target import native_target
from ...cpu.thread_pool import run_pieces_address
from ..errors import (
    DeviceCodeError,
    DeviceError,
    DeviceLostError,
    DeviceOutOfMemoryError,
    DriverUnavailableError,
    KernelTimeoutError,
)
from . import opencl_functions as cl
from .driver import ALIGNMENT, DeviceProperties, Dimensions, launch_error
from .forks import first_use, fork_count, require_unforked
from .huge_pages import ask_for_huge_pages
from .launched import Launched
from .native_calls import MOST_TOGETHER, OPENCL_FUNCTIONS, NativeCalls, address_of_function
from .opencl_platforms import Platform, info_number, info_text, platforms
from .own_thread import Asked
from .waiting import end_without_libraries, wait_until

_SPIRV = b"\x03\x02\x23\x07"
# Several threads copy more bytes.
_MOST_BY_OWN_THREAD = 64 << 10


@dataclass(frozen=True)
class Pointers:
    """Memory with addresses, in one of the two ways that OpenCL has it."""

    kind: str
    allocate: Callable[[int], int | None]
    free: Callable[[int], object]
    copy: Callable[..., int]
    fill: Callable[..., int]
    set_argument: Callable[[int, int, int], int]


class HostBytes:
    """Memory of the host."""

    def __init__(self, size: int) -> None:
        self._bytes = (ctypes.c_int64 * -(-size // 8))()
        self.address = ctypes.addressof(self._bytes)


class OpenCLKernel:
    """A kernel. Its arguments are set and used under the lock of its device."""

    def __init__(self, name: str, handle: int, parameters: int, code: OpenCLCode, together: int) -> None:
        self.name, self.handle, self.parameters, self.code, self.together = name, handle, parameters, code, together


class OpenCLCode:
    """A program that was built for a device."""

    def __init__(self, device: OpenCLDevice, program: int) -> None:
        self.device, self._program = device, program
        self._kernels: dict[str, int] = {}
        self._lock = new_lock()
        weakref.finalize(self, _release, device.functions, program, self._kernels, device.forks).atexit = False

    def kernel(self, name: str, together: int = 1) -> OpenCLKernel:
        """The kernel with this name, which has a parameter for so many arguments together. Raises DeviceCodeError where the
        code has none.
        """
        self.device.require_usable()
        with self._lock:
            if name not in self._kernels:
                self._kernels[name] = self._create(name)
            return self._kernel(name, self._kernels[name], together)

    def kernel_apart(self, name: str, together: int = 1) -> OpenCLKernel:
        """The same, with arguments of its own. Raises as ``kernel``."""
        self.device.require_usable()
        with self._lock:
            handle = self._create(name)
            self._kernels[f"{name}, {len(self._kernels)}"] = handle
            return self._kernel(name, handle, together)

    def _create(self, name: str) -> int:
        device, status = self.device, c_int32()
        handle = device.functions.clCreateKernel(self._program, name.encode(), byref(status))
        if status.value:
            names = info_text(device.functions.clGetProgramInfo, self._program, cl.CL_PROGRAM_KERNEL_NAMES)
            raise DeviceCodeError(
                f"no kernel {name!r} in code for {device.properties.name} ({cl.error_name(status.value)}); "
                f"it has {names.replace(';', ', ') or 'none'}"
            )
        return handle

    def _kernel(self, name: str, handle: int, together: int) -> OpenCLKernel:
        count = info_number(self.device.functions.clGetKernelInfo, handle, cl.CL_KERNEL_NUM_ARGS, c_uint32)
        return OpenCLKernel(name, handle, count, self, together)


def _release(api: SimpleNamespace, program: int, kernels: dict[str, int], forks: int) -> None:
    if forks != fork_count():
        return
    for kernel in kernels.values():
        api.clReleaseKernel(kernel)
    api.clReleaseProgram(program)


class OpenCLDevice:
    """A device with a context and a queue in order; see `driver.Device`."""

    def __init__(self, platform: Platform, handle: int, properties: DeviceProperties) -> None:
        self.properties, self.functions, self.handle, self.forks = properties, platform.functions, handle, platform.forks
        # Where it is a processor, its name does not say all that it can run.
        self.identity = (platform.name, properties.name, properties.driver, str(native_target()))
        self.launched = Launched()
        self._lost: str | None = None
        self.is_lost = ctypes.c_int64(0)  # the same, for native code
        self._lock = new_lock()
        self._origins: dict[int, int] = {}
        status = c_int32()
        self.context = self.functions.clCreateContext(None, 1, cl.pointer_array(handle), None, None, byref(status))
        self.check(status.value, "creating a context")
        self.queue = self.functions.clCreateCommandQueue(self.context, handle, 0, byref(status))
        self.check(status.value, "creating a queue")
        self.asked = Asked()
        # Queues of the thread that asks: of programs that are run by way of Python, and of calls that bypass it.
        self.own_thread = self.entry_thread = None
        if properties.is_processor and platform.has_extension(handle, "cl_intel_exec_by_local_thread"):
            self.own_thread, self.entry_thread = self._queue_of_thread(), self._queue_of_thread()
            self._together = [self._queue_of_thread() for _ in range(MOST_TOGETHER)]
        self.pointers = _pointers(platform, self)
        self._create_program = platform.create_program()

    def _queue_of_thread(self) -> int:
        status = c_int32()
        kind = cl.CL_QUEUE_THREAD_LOCAL_EXEC_ENABLE_INTEL
        queue = self.functions.clCreateCommandQueue(self.context, self.handle, kind, byref(status))
        self.check(status.value, "creating a queue of the thread")
        return queue

    # --- memory ---

    def allocate(self, size: int) -> int:
        self.require_usable()
        # OpenCL aligns to its largest type, of 128 bytes, at most.
        origin = self.pointers.allocate(size + ALIGNMENT) if size < 1 << 60 else None
        if not origin:
            total = self.properties.memory_bytes
            raise DeviceOutOfMemoryError(
                f"out of memory on {self.properties.name}: {size:,} bytes asked for; the device has {total:,} bytes in all"
            )
        address = -(-origin // ALIGNMENT) * ALIGNMENT
        self._origins[address] = origin
        if self.properties.is_processor:
            ask_for_huge_pages(address, size)
        return address

    def free(self, address: int) -> None:
        # To free memory waits for kernels, of which one may never end.
        if self.forks == fork_count() and self._lost is None:
            self.pointers.free(self._origins.pop(address))

    def host_block(self, size: int) -> HostBytes:
        return HostBytes(size)

    def write(self, address: int, source: int, size: int) -> None:
        self._transfer(address, source, size, "copying to the device")

    def read(self, target: int, address: int, size: int) -> None:
        if kernel_time.seconds is not None:
            self.synchronize()
        self._transfer(target, address, size, "copying to the host")

    def _transfer(self, target: int, source: int, size: int, what: str) -> None:
        self.require_usable()
        if not size:
            return
        if self.own_thread is not None and size <= _MOST_BY_OWN_THREAD and self.asked.is_done:
            ctypes.memmove(target, source, size)
            return
        last = self.asked.last
        self.check(self.pointers.copy(self.queue, 1, target, source, size, 0, None, None), what)
        self.asked.done_until(last)

    def copy(self, target: int, source: int, size: int) -> None:
        self.require_usable()
        if size:
            status = self.pointers.copy(self.queue, 0, target, source, size, 0, None, None)
            self.asked.more()
            self.check(status, "copying on the device")

    def fill(self, address: int, byte: int, size: int) -> None:
        self.require_usable()
        if size:
            pattern = ctypes.c_ubyte(byte)
            status = self.pointers.fill(self.queue, address, byref(pattern), 1, size, 0, None, None)
            self.asked.more()
            self.check(status, "filling memory")

    # --- code ---

    def load(self, code: bytes) -> OpenCLCode:
        self.require_usable()
        return OpenCLCode(self, self._built(code))

    def made_of(self, code: bytes) -> bytes | None:
        self.require_usable()
        if not code.startswith(_SPIRV):
            return None
        api, program, size = self.functions, self._built(code), c_size_t()
        try:
            if api.clGetProgramInfo(program, cl.CL_PROGRAM_BINARY_SIZES, ctypes.sizeof(size), byref(size), None):
                return None
            made = ctypes.create_string_buffer(size.value)
            pointer = cl.pointer_array(ctypes.addressof(made))
            failed = api.clGetProgramInfo(program, cl.CL_PROGRAM_BINARIES, ctypes.sizeof(pointer), pointer, None)
            return None if failed or not size.value or made.raw.startswith(_SPIRV) else made.raw
        finally:
            api.clReleaseProgram(program)

    def _built(self, code: bytes) -> int:
        """A program of SPIR-V, or of what the driver has made of that. Raises DeviceCodeError."""
        api, status = self.functions, c_int32()
        if code.startswith(_SPIRV):
            program = self._create_program(self.context, code, len(code), byref(status))
        else:
            given = ctypes.create_string_buffer(code, len(code))
            size, pointer = c_size_t(len(code)), cl.pointer_array(ctypes.addressof(given))
            program = api.clCreateProgramWithBinary(
                self.context, 1, cl.pointer_array(self.handle), byref(size), pointer, None, byref(status)
            )
        if status.value:
            self._refuse(status.value, "")
        result = api.clBuildProgram(program, 1, cl.pointer_array(self.handle), b"", None, None)
        if result:
            log = _build_log(api, program, self.handle)
            api.clReleaseProgram(program)
            self._refuse(result, log)
        return program

    def _refuse(self, status: int, log: str) -> None:
        name = self.properties.name
        message = f"{name} (driver {self.properties.driver}) does not take code: {cl.error_name(status)}"
        raise DeviceCodeError(f"{message}\n{log}".rstrip())

    def prepare(self, kernel: Any, arguments: int, shared_bytes: int) -> None:
        required = -(-arguments // kernel.together) + (shared_bytes > 0)
        if kernel.parameters != required:
            raise DeviceCodeError(f"the kernel {kernel.name} takes {kernel.parameters} arguments, {required} were given")

    def native_calls(self) -> NativeCalls:
        api, pointers = self.functions, self.pointers
        functions = (
            pointers.set_argument, api.clSetKernelArg, api.clEnqueueNDRangeKernel, pointers.copy, pointers.fill, api.clFlush,
        )  # fmt: skip
        addresses = tuple(map(address_of_function, functions))
        by_queue = self.queue, *addresses, 0
        if self.own_thread is None:
            return NativeCalls(OPENCL_FUNCTIONS, by_queue, self._lock, self.asked)
        rest = *addresses[:3], 0, 0, 0, run_pieces_address(), ctypes.addressof(thread_limit()), *self._together
        tables = [(queue, *rest) for queue in (self.own_thread, self.entry_thread)]
        return NativeCalls(OPENCL_FUNCTIONS, by_queue, self._lock, self.asked, *tables)

    def launch(self, kernel: Any, grid: Dimensions, block: Dimensions, arguments: Sequence[int], shared_bytes: int = 0) -> None:
        self.require_usable()
        self.prepare(kernel, len(arguments), shared_bytes)
        sizes = (c_size_t * 3)(*[blocks * threads for blocks, threads in zip(grid, block)])
        with self._lock:
            for number, begin in enumerate(range(0, len(arguments), kernel.together)):
                status = self._set_parameter(kernel, number, arguments[begin : begin + kernel.together])
                if status:
                    self.check(status, f"argument {number} of the kernel {kernel.name}")
            if shared_bytes:
                status = self.functions.clSetKernelArg(kernel.handle, kernel.parameters - 1, shared_bytes, None)
                self.check_launch(status, kernel, grid, block, shared_bytes)
            status = self.functions.clEnqueueNDRangeKernel(
                self.queue, kernel.handle, 3, None, sizes, (c_size_t * 3)(*block), 0, None, None
            )
            self.asked.more()
        self.check_launch(status, kernel, grid, block, shared_bytes)
        self.functions.clFlush(self.queue)

    def _set_parameter(self, kernel: Any, number: int, arguments: Sequence[int]) -> int:
        if kernel.together == 1:
            return self.pointers.set_argument(kernel.handle, number, arguments[0])
        vector = (ctypes.c_int64 * kernel.together)(*arguments)
        return self.functions.clSetKernelArg(kernel.handle, number, ctypes.sizeof(vector), vector)

    def check_launch(self, status: int, kernel: Any, grid: Dimensions, block: Dimensions, shared_bytes: int) -> None:
        if status in cl.TOO_MUCH:
            raise launch_error(self.properties, kernel.name, grid, block, shared_bytes, cl.error_name(status))
        self.check(status, f"launching the kernel {kernel.name}")

    # --- the queue ---

    def synchronize(self) -> None:
        self.require_usable()
        limit, last = kernel_time.seconds, self.asked.last
        if self.asked.is_done:
            return
        if limit is None:
            self.check(self.functions.clFinish(self.queue), "waiting")
            self.asked.done_until(last)
            return
        event = c_void_p()
        self.check(self.functions.clEnqueueMarkerWithWaitList(self.queue, 0, None, byref(event)), "waiting")
        self.functions.clFlush(self.queue)
        try:
            wait_until(lambda: self._ended(event), limit, self.properties.name, self.launched)
            self.asked.done_until(last)
        except KernelTimeoutError as error:
            self._lose(str(error))
            end_without_libraries()
            raise
        finally:
            self.functions.clReleaseEvent(event)

    def _ended(self, event: c_void_p) -> bool:
        state = info_number(self.functions.clGetEventInfo, event, cl.CL_EVENT_COMMAND_EXECUTION_STATUS, c_int32)
        if state < 0:
            self.check(state, "running a kernel")
        return state == 0

    def require_usable(self) -> None:
        """Raise ForkedDeviceError and DeviceLostError where nothing can be asked of the device any more."""
        if self.forks != fork_count():
            require_unforked(self.forks, f"OpenCL ({self.properties.name})")
        if self._lost is not None:
            raise DeviceLostError(f"{self.properties.name} cannot be used any more in this process: {self._lost}")

    def _lose(self, message: str) -> None:
        self._lost = message
        self.is_lost.value = 1

    def check(self, status: int, what: str) -> None:
        if not status:
            return
        message = f"{what} on {self.properties.name}: {cl.error_name(status)}"
        if status in cl.LOST:
            self._lose(message)
            raise DeviceLostError(message + self.launched.text())
        raise (DeviceOutOfMemoryError if status in cl.NO_MEMORY else DeviceError)(message)


class OpenCLDriver:
    """The OpenCL platforms of this process with their devices that take SPIR-V, GPUs first; see `driver.Driver`.

    Raises DriverUnavailableError where there is none. ``kind`` restricts how memory has addresses: ``usm`` or ``svm``.
    """

    name = "opencl"

    def __init__(self, kind: str | None = None) -> None:
        self._forks = first_use("OpenCL")
        self._lock = new_lock()
        self._opened: dict[int, OpenCLDevice] = {}
        reasons: list[str] = []
        found = [device for platform in platforms(reasons, kind) for device in platform.devices(reasons)]
        self._devices = sorted(found, key=lambda device: device[0])
        if not self._devices:
            raise DriverUnavailableError("; ".join(reasons) or "no OpenCL platform is installed")

    def devices(self) -> tuple[DeviceProperties, ...]:
        return tuple([properties for _, _, _, properties in self._devices])

    def open(self, number: int) -> OpenCLDevice:
        require_unforked(self._forks, "OpenCL")
        with self._lock:
            if number not in self._opened:
                if not 0 <= number < len(self._devices):
                    raise DeviceError(f"OpenCL has {len(self._devices)} devices, number {number} is asked for")
                self._opened[number] = OpenCLDevice(*self._devices[number][1:])
            return self._opened[number]


def _pointers(platform: Platform, device: OpenCLDevice) -> Pointers:
    get = platform.function
    if platform.has_usm(device.handle):
        allocate, status = get("clDeviceMemAllocINTEL", cl.ALLOCATE_USM), c_int32()
        free = get("clMemBlockingFreeINTEL", cl.FREE_USM)
        return Pointers(
            "usm",
            lambda size: allocate(device.context, device.handle, None, size, 0, byref(status)),
            lambda address: free(device.context, address),
            get("clEnqueueMemcpyINTEL", cl.COPY),
            get("clEnqueueMemFillINTEL", cl.FILL),
            get("clSetKernelArgMemPointerINTEL", cl.SET_POINTER),
        )
    allocate, free = get("clSVMAlloc", cl.ALLOCATE_SVM), get("clSVMFree", cl.FREE_SVM)
    finish, copy = device.functions.clFinish, get("clEnqueueSVMMemcpy", cl.COPY)
    return Pointers(
        "svm",
        lambda size: allocate(device.context, cl.CL_MEM_READ_WRITE, size, 0),
        lambda address: (finish(device.queue), free(device.context, address)),  # which does not wait for the queue
        copy,
        get("clEnqueueSVMMemFill", cl.FILL),
        get("clSetKernelArgSVMPointer", cl.SET_POINTER),
    )


def _build_log(api: SimpleNamespace, program: int, device: int) -> str:
    return info_text(lambda _, *rest: api.clGetProgramBuildInfo(program, device, *rest), program, cl.CL_PROGRAM_BUILD_LOG)
