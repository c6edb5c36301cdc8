"""CUDA and HIP, whose driver interfaces are one with two spellings: a device is used through a stream.

What is spelled differently stands in a `Vendor`; `cuda` and `hip` have one each. The functions of a vendor are called by CUDA's
names here, without ``cu`` and version.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_ubyte, c_uint, c_uint64, c_void_p
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from ....runtime.kernel_time import kernel_time
from ....runtime.locks import new_lock
from ..errors import (
    DeviceCodeError,
    DeviceError,
    DeviceLostError,
    DeviceOutOfMemoryError,
    DriverTooOldError,
    DriverUnavailableError,
    KernelTimeoutError,
    SharedMemoryError,
)
from ..memory_pool import Block, MemoryPool
from .driver import DeviceProperties, Dimensions, launch_error
from .forks import first_use, fork_count, require_unforked
from .launched import Launched
from .libraries import Signature, address_of, function_at, open_library
from .native_calls import STREAM_FUNCTIONS, NativeCalls, address_of_function
from .staging import STAGED_BYTES, WriteRing
from .waiting import wait_until

_SIZES = (c_uint,) * 3
SIGNATURES: dict[str, Signature] = {
    "Init": (c_int, c_uint),
    "DriverGetVersion": (c_int, POINTER(c_int)),
    "DeviceGetCount": (c_int, POINTER(c_int)),
    "DeviceGet": (c_int, POINTER(c_int), c_int),
    "DeviceGetName": (c_int, c_char_p, c_int, c_int),
    "DeviceGetAttribute": (c_int, POINTER(c_int), c_int, c_int),
    "DeviceTotalMem": (c_int, POINTER(c_size_t), c_int),
    "MemGetInfo": (c_int, POINTER(c_size_t), POINTER(c_size_t)),
    "MemAlloc": (c_int, POINTER(c_uint64), c_size_t),
    "MemFree": (c_int, c_uint64),
    "MemcpyHtoDAsync": (c_int, c_uint64, c_void_p, c_size_t, c_void_p),
    "MemcpyDtoHAsync": (c_int, c_void_p, c_uint64, c_size_t, c_void_p),
    "MemcpyDtoDAsync": (c_int, c_uint64, c_uint64, c_size_t, c_void_p),
    "MemsetD8Async": (c_int, c_uint64, c_ubyte, c_size_t, c_void_p),
    "MemHostAlloc": (c_int, POINTER(c_void_p), c_size_t, c_uint),
    "MemFreeHost": (c_int, c_void_p),
    "StreamCreate": (c_int, POINTER(c_void_p), c_uint),
    "StreamSynchronize": (c_int, c_void_p),
    "StreamQuery": (c_int, c_void_p),
    "StreamWaitEvent": (c_int, c_void_p, c_void_p, c_uint),
    "ContextSynchronize": (c_int,),
    "EventCreate": (c_int, POINTER(c_void_p), c_uint),
    "EventRecord": (c_int, c_void_p, c_void_p),
    "EventDestroy": (c_int, c_void_p),
    "ModuleLoad": (c_int, POINTER(c_void_p), c_void_p, c_uint, POINTER(c_int), POINTER(c_void_p)),
    "ModuleUnload": (c_int, c_void_p),
    "ModuleGetFunction": (c_int, POINTER(c_void_p), c_void_p, c_char_p),
    "LaunchKernel": (c_int, c_void_p, *_SIZES, *_SIZES, c_uint, c_void_p, POINTER(c_void_p), POINTER(c_void_p)),
}
STREAM_NON_BLOCKING = 1
EVENT_WITHOUT_TIME = 2
HOST_ALLOC_PORTABLE = 1

# The numbers of errors that both have in common.
OUT_OF_MEMORY, NO_DEVICE, NOT_FOUND, NOT_READY = 2, 100, 500, 600
LOST = {
    46: "the device is in use by others or cannot be reached",
    214: "its memory has an error that cannot be corrected",
    220: "its link to other devices has an error that cannot be corrected",
    226: "it has contained an error",
    700: "a kernel accessed memory that is not there (an illegal address)",
    702: "a kernel ran for longer than the system lets kernels run",
    709: "its context is gone",
    710: "a kernel ended by an assertion",
    714: "a kernel's stack was overwritten",
    715: "a kernel ran into an illegal instruction",
    716: "a kernel accessed memory at an address that is not aligned",
    717: "a kernel used an address in a space where it cannot be",
    718: "a kernel's program counter was invalid",
    719: "a kernel failed",
    999: "the driver does not know why",
}
NEWER_CODE = 222  # of a version of PTX that the driver does not know
REFUSED_CODE = {98, 200, 201, 209, 218, 221, 222, 223, 300, 301, 302, 303, 801}
TOO_MUCH = {1, 9, 701}  # what a launch asks for and the device has not


@dataclass(frozen=True)
class Vendor:
    """One spelling of the interface.

    ``names`` are the functions' names by those that are used here. ``bind`` adds what is done by different functions: it is
    given the others, by those names, and ``get(name, signature)``. ``attributes`` are the numbers of a device's threads of a
    block, shared bytes, threads in step, and multiprocessors. ``refused_launches`` are statuses by which a launch is refused
    that mean something else of kernels.
    """

    name: str
    driver: str
    libraries: tuple[str, ...]
    names: dict[str, str]
    bind: Callable[[SimpleNamespace, Callable[[str, Signature], Any]], None]
    attributes: tuple[int, int, int, int]
    version_text: Callable[[int], str]
    signatures: dict[str, Signature] = field(default_factory=lambda: SIGNATURES)
    refused_launches: frozenset[int] = frozenset()


def load_functions(vendor: Vendor, library: ctypes.CDLL | None = None) -> SimpleNamespace:
    """The functions of a vendor's library. Raises DriverUnavailableError."""
    try:
        opened = library if library is not None else open_library(vendor.libraries)
    except OSError as error:
        raise DriverUnavailableError(f"no driver of {vendor.driver} is installed: {error}") from None

    def get(name: str, signature: Signature) -> Any:
        address = address_of(opened, name)
        if address is None:
            raise DriverUnavailableError(f"the driver of {vendor.driver} is too old: it has no function {name}")
        return function_at(address, signature)

    functions = SimpleNamespace(library=opened)
    for known, name in vendor.names.items():
        setattr(functions, known, get(name, vendor.signatures[known]))
    vendor.bind(functions, get)
    return functions


class StreamDriver:
    """A vendor's driver; see `driver.Driver`. Raises DriverUnavailableError where it is not there or has no device."""

    def __init__(self, vendor: Vendor, library: ctypes.CDLL | None = None) -> None:
        self.vendor, self.name = vendor, vendor.name
        self.functions = load_functions(vendor, library)
        self.forks = first_use(vendor.driver)
        self._lock = new_lock()
        self._opened: dict[int, StreamDevice] = {}
        api, count, version = self.functions, c_int(), c_int()
        for status in (api.Init(0), api.DriverGetVersion(byref(version)), api.DeviceGetCount(byref(count))):
            if status:
                reason = "it finds no device" if status == NO_DEVICE else api.error_text(status)
                raise DriverUnavailableError(f"the driver of {vendor.driver} cannot be used: {reason}")
        if not count.value:
            raise DriverUnavailableError(f"the driver of {vendor.driver} finds no device")
        self.version = vendor.version_text(version.value)
        self._properties = tuple([self._properties_of(number) for number in range(count.value)])

    def devices(self) -> tuple[DeviceProperties, ...]:
        return self._properties

    def open(self, number: int) -> StreamDevice:
        require_unforked(self.forks, self.vendor.driver)
        with self._lock:
            if number not in self._opened:
                count = len(self._properties)
                if not 0 <= number < count:
                    raise DeviceError(f"{self.vendor.driver} has {count} devices, number {number} is asked for")
                self._opened[number] = StreamDevice(self, number)
            return self._opened[number]

    def _properties_of(self, number: int) -> DeviceProperties:
        api, device, name, memory = self.functions, c_int(), ctypes.create_string_buffer(256), c_size_t()
        values = [c_int() for _ in self.vendor.attributes]
        statuses = [
            api.DeviceGet(byref(device), number),
            api.DeviceGetName(name, 256, device),
            api.DeviceTotalMem(byref(memory), device),
            *[api.DeviceGetAttribute(byref(value), key, device) for value, key in zip(values, self.vendor.attributes)],
        ]
        if any(statuses):
            failed = next(filter(None, statuses))
            raise DriverUnavailableError(f"the driver of {self.vendor.driver} cannot be used: {api.error_text(failed)}")
        threads, shared_bytes, sub_group, multiprocessors = [value.value for value in values]
        return DeviceProperties(
            name=name.value.decode(errors="replace"),
            architecture=api.architecture(number),
            memory_bytes=memory.value,
            compute_units=multiprocessors,
            sub_group=sub_group,
            shared_bytes=shared_bytes,
            threads=threads,
            driver=self.version,
        )


class StreamKernel:
    """A kernel. ``dynamic_bytes`` of shared memory are what it has been allowed so far."""

    together = 1

    def __init__(self, name: str, handle: int, code: StreamCode) -> None:
        self.name, self.handle, self.code, self.dynamic_bytes = name, handle, code, 0


class StreamCode:
    """A module, loaded in the device's context. HIP goes on reading the ``image`` that it was loaded from."""

    def __init__(self, device: StreamDevice, module: int, image: bytes) -> None:
        self.device, self._module = device, module
        weakref.finalize(self, device.unload, module, image).atexit = False

    def kernel(self, name: str, together: int = 1) -> StreamKernel:
        """The kernel with this name. Raises DeviceCodeError where the code has none."""
        assert together == 1
        function, device = c_void_p(), self.device
        with device.entered() as api:
            status = api.ModuleGetFunction(byref(function), self._module, name.encode())
        if status == NOT_FOUND or (not status and not function.value):
            raise DeviceCodeError(f"no kernel {name!r} in code for {device.properties.name}")
        device.check(status, f"looking for the kernel {name}")
        return StreamKernel(name, function.value or 0, self)


class _Entered:
    """Makes a context that of the thread for a while: libraries beside this one, in the same thread, keep theirs."""

    __slots__ = ("_api", "_context", "_check", "_before")

    def __init__(self, api: SimpleNamespace, context: int, check: Callable[[int, str], None]) -> None:
        self._api, self._context, self._check = api, context, check

    def __enter__(self) -> SimpleNamespace:
        api, current = self._api, c_uint64()
        self._check(api.current(byref(current)), "asking for the context")
        self._before = current.value
        if self._before != self._context:
            self._check(api.enter(self._context), "entering the context")
        return api

    def __exit__(self, *error: object) -> None:
        if self._before != self._context:
            self._api.enter(self._before)


class StreamDevice:
    """A device, its context and a stream; see `driver.Device`."""

    def __init__(self, driver: StreamDriver, number: int) -> None:
        self.properties: DeviceProperties = driver.devices()[number]
        self.number = number
        named = self.properties
        self.identity = (driver.name, named.name, named.architecture, named.driver)
        self._driver, self._api = driver, driver.functions
        self.launched = Launched()
        self._lost: str | None = None
        self._abandoned: list[Block | None] = []
        self._context = self._api.open_context(number, self.check)
        self.host_memory = MemoryPool(_HostMemory(self))
        stream = c_void_p()
        with self.entered() as api:
            self.check(api.StreamCreate(byref(stream), STREAM_NON_BLOCKING), "creating a stream")
        self.stream = stream.value
        self._ring = WriteRing(self)

    def entered(self) -> _Entered:
        """A context manager in which this is the device of the thread, with the driver's functions.

        Raises ForkedDeviceError and DeviceLostError.
        """
        self.require_usable()
        return _Entered(self._api, self._context, self.check)

    def check(self, status: int, what: str) -> None:
        """Raise the error of a status that is not 0."""
        if not status:
            return
        message = f"{what} on {self.properties.name}: {self._api.error_text(status)}"
        if status in LOST:
            self._lost = f"{LOST[status]} ({self._api.error_text(status)})"
            raise DeviceLostError(
                f"{message}: {LOST[status]}; the device cannot be used any more in this process{self.launched.text()}"
            )
        raise (DeviceOutOfMemoryError if status == OUT_OF_MEMORY else DeviceError)(message)

    # --- memory ---

    def allocate(self, size: int) -> int:
        address = c_uint64()
        with self.entered() as api:
            status = api.MemAlloc(byref(address), max(size, 1))
            if status == OUT_OF_MEMORY:
                free, total = c_size_t(), c_size_t()
                api.MemGetInfo(byref(free), byref(total))
                raise DeviceOutOfMemoryError(
                    f"out of memory on {self.properties.name}: {size:,} bytes asked for, {free.value:,} are free of "
                    f"{total.value:,} in all"
                )
        self.check(status, f"allocating {size:,} bytes")
        return address.value

    def free(self, address: int) -> None:
        if self._is_usable():
            with self.entered() as api:
                # What is in the stream still uses it.
                self.check(api.StreamSynchronize(self.stream), "waiting")
                self.check(api.MemFree(address), "freeing memory")

    def host_block(self, size: int) -> Block:
        return self.host_memory.allocate(size)

    def write(self, address: int, source: int, size: int) -> None:
        if not size:
            return
        with self.entered() as api:
            if size <= STAGED_BYTES:
                self._ring.write(address, source, size)
                return
            self.check(api.MemcpyHtoDAsync(address, source, size, self.stream), "copying to the device")
            # Where the host's memory is pinned, or the device reads pages, the copy is still to come.
            self._wait(api)

    def copy_from_pinned(self, address: int, source: int, size: int) -> None:
        """Copy so many bytes of pinned memory to the device, in the stream."""
        self.check(self._api.MemcpyHtoDAsync(address, source, size, self.stream), "copying to the device")

    def read(self, target: int, address: int, size: int) -> None:
        if not size:
            return
        with self.entered() as api:
            staged = self.host_block(size) if size <= STAGED_BYTES else None
            if staged is None and kernel_time.seconds is not None:
                self._wait(api)  # a copy to pageable memory waits without limit
            copied = target if staged is None else staged.address
            self.check(api.MemcpyDtoHAsync(copied, address, size, self.stream), "copying to the host")
            try:
                self._wait(api)
            except KernelTimeoutError:
                self._abandoned.append(staged)  # the device writes it when it comes to that
                raise
            if staged is not None:
                ctypes.memmove(target, copied, size)

    def copy(self, target: int, source: int, size: int) -> None:
        if size:
            with self.entered() as api:
                self.check(api.MemcpyDtoDAsync(target, source, size, self.stream), "copying on the device")

    def fill(self, address: int, byte: int, size: int) -> None:
        if size:
            with self.entered() as api:
                self.check(api.MemsetD8Async(address, byte, size, self.stream), "filling memory")

    # --- code ---

    def load(self, code: bytes) -> StreamCode:
        module = c_void_p()
        with self.entered() as api:
            status, log, image = api.load_module(module, code, self.properties)
        if status in REFUSED_CODE:
            properties = self.properties
            raise (DriverTooOldError if status == NEWER_CODE else DeviceCodeError)(
                f"{properties.name} ({properties.architecture}, driver for {properties.driver}) does not take code: "
                f"{api.error_text(status)}\n{log}".rstrip()
            )
        self.check(status, "loading code")
        return StreamCode(self, module.value or 0, image)

    def made_of(self, code: bytes) -> bytes | None:
        # HIP is given machine code. CUDA's driver keeps what it makes of PTX, and gives it to nobody: its linker does, but that
        # compiles PTX as parts of programs, whose kernels take up to half as many registers more (a softmax 56 instead of 39).
        return None

    def unload(self, module: int, image: bytes) -> None:
        """Give a module back, and what it was loaded from, when what was asked for before is done."""
        if self._is_usable():
            with self.entered() as api:
                api.StreamSynchronize(self.stream)
                api.ModuleUnload(module)

    def prepare(self, kernel: Any, arguments: int, shared_bytes: int) -> None:
        if shared_bytes > kernel.dynamic_bytes:
            with self.entered() as api:
                status = api.allow_shared(kernel.handle, shared_bytes)
            if status:
                limits = self.properties
                raise SharedMemoryError(
                    f"{limits.name} does not run the kernel {kernel.name} with {shared_bytes:,} bytes of shared memory: "
                    f"{self._api.error_text(status)}; a block has at most {limits.shared_bytes:,} bytes"
                )
            kernel.dynamic_bytes = shared_bytes

    def native_calls(self) -> NativeCalls:
        api = self._api
        functions = (
            api.LaunchKernel, api.MemcpyDtoDAsync, api.MemsetD8Async, api.MemcpyDtoHAsync, api.StreamSynchronize,
            api.MemcpyHtoDAsync, api.current, api.enter,
        )  # fmt: skip
        table = (self.stream or 0, *map(address_of_function, functions), self._context)
        return NativeCalls(STREAM_FUNCTIONS, table, None)

    def require_usable(self) -> None:
        if self._driver.forks != fork_count():
            require_unforked(self._driver.forks, f"{self._driver.vendor.driver} ({self.properties.name})")
        if self._lost is not None:
            raise DeviceLostError(f"{self.properties.name} cannot be used any more in this process: {self._lost}")

    def launch(self, kernel: Any, grid: Dimensions, block: Dimensions, arguments: Sequence[int], shared_bytes: int = 0) -> None:
        self.prepare(kernel, len(arguments), shared_bytes)
        values = (c_uint64 * len(arguments))(*arguments)
        begin = ctypes.addressof(values)
        pointers = (c_void_p * len(arguments))(*range(begin, begin + 8 * len(arguments), 8))
        with self.entered() as api:
            status = api.LaunchKernel(kernel.handle, *grid, *block, shared_bytes, self.stream, pointers, None)
        self.check_launch(status, kernel, grid, block, shared_bytes)

    def check_launch(self, status: int, kernel: Any, grid: Dimensions, block: Dimensions, shared_bytes: int) -> None:
        if status in TOO_MUCH or status in self._driver.vendor.refused_launches:
            raise launch_error(self.properties, kernel.name, grid, block, shared_bytes, self._api.error_text(status))
        self.check(status, f"launching the kernel {kernel.name}")

    # --- the stream ---

    def synchronize(self) -> None:
        with self.entered() as api:
            self._wait(api)

    def wait_for(self, stream: int) -> None:
        """Let what is asked for from now on wait for what is in another stream."""
        self._in_order(stream, self.stream or 0)

    def let_wait(self, stream: int) -> None:
        """Let what another stream is asked for from now on wait for what was asked for here."""
        self._in_order(self.stream or 0, stream)

    def wait_for_others(self) -> None:
        """Wait for all that any library has asked of the device in this process, in whichever stream."""
        with self.entered() as api:
            self._wait(api)  # no longer than kernels may take
            self.check(api.ContextSynchronize(), "waiting for all streams")

    def _in_order(self, first: int, then: int) -> None:
        """Let a stream wait for another one; the host waits for neither."""
        if first == then:
            return
        event = c_void_p()
        with self.entered() as api:
            self.check(api.EventCreate(byref(event), EVENT_WITHOUT_TIME), "making an event")
            try:
                self.check(api.EventRecord(event, first), f"recording an event in the stream {first:#x}")
                self.check(api.StreamWaitEvent(then, event, 0), f"letting the stream {then:#x} wait")
            finally:
                api.EventDestroy(event)  # when both are past it

    def _wait(self, api: SimpleNamespace) -> None:
        limit = kernel_time.seconds
        if limit is None:
            self.check(api.StreamSynchronize(self.stream), "waiting")
            return
        try:
            wait_until(lambda: self._is_done(api), limit, self.properties.name, self.launched)
        except KernelTimeoutError as error:
            self._lost = str(error)
            raise

    def _is_done(self, api: SimpleNamespace) -> bool:
        status = api.StreamQuery(self.stream)
        if status == NOT_READY:
            return False
        self.check(status, "running a kernel")
        return True

    def wait(self) -> None:
        """As `synchronize`, in a thread whose device this is."""
        self._wait(self._api)

    def _is_usable(self) -> bool:
        return self._lost is None and self._driver.forks == fork_count()


class _HostMemory:
    """Pinned memory of the host, which a device's engines copy from and to while the stream goes on."""

    def __init__(self, device: StreamDevice) -> None:
        self._device = device

    def allocate(self, size: int) -> int:
        address, device = c_void_p(), self._device
        with device.entered() as api:
            device.check(api.MemHostAlloc(byref(address), size, HOST_ALLOC_PORTABLE), f"allocating {size:,} pinned bytes")
        return address.value or 0

    def free(self, address: int) -> None:
        device = self._device
        with device.entered() as api:
            api.StreamSynchronize(device.stream)
            api.MemFreeHost(address)
