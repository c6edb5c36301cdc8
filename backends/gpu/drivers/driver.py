"""What the host asks of a GPU's driver, whichever that is: memory, transfers, code, launches.

Addresses are those that the device's programs use, as integers. Everything that is asked of a queue is done in the order in
which it was asked for, and later; `Device.synchronize` waits for it. What fails raises an error of `errors`, at the call, or
where it turns up, at a call that waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..errors import DeviceCodeError, SharedMemoryError
from .launched import Launched
from .native_calls import NativeCalls

Dimensions = tuple[int, int, int]
ALIGNMENT = 256  # of what is allocated


@dataclass(frozen=True)
class DeviceProperties:
    """What is known of a device before it is used.

    ``architecture`` is what code is made for, as the family calls it: ``sm_90``, ``gfx942``; empty where code is of no
    architecture (SPIR-V). ``sub_group`` is how many threads run in step, ``shared_bytes`` the memory that the threads of a
    block may share, and ``threads`` how many these are at most. ``driver`` is the version of what runs it. One that
    ``is_processor`` is the CPU of this process, whose kernels take addresses of any memory of the process if it
    ``reaches_host``; of ``takes_intrinsics`` see `targets.spirv`.
    """

    name: str
    architecture: str
    memory_bytes: int
    compute_units: int
    sub_group: int
    shared_bytes: int
    threads: int
    driver: str = ""
    is_processor: bool = False
    reaches_host: bool = False
    takes_intrinsics: bool = False


def launch_error(
    limits: DeviceProperties, kernel: str, grid: Dimensions, block: Dimensions, shared_bytes: int, reason: str
) -> DeviceCodeError:
    """What is raised where a driver refuses a launch for what the device has too little of."""
    too_much = SharedMemoryError if shared_bytes > limits.shared_bytes else DeviceCodeError
    return too_much(
        f"{limits.name} does not run the kernel {kernel} in blocks of {block} threads, grid {grid}, with {shared_bytes:,} "
        f"bytes of shared memory: {reason}; it has at most {limits.threads:,} threads and {limits.shared_bytes:,} bytes a block"
    )


class Kernel(Protocol):
    """A kernel that has been loaded. It is valid as long as the code that it came from is referred to.

    So many arguments ``together`` are a parameter of it (see `target.Target`).
    """

    name: str
    handle: int
    together: int


class HostBlock(Protocol):
    """Memory of the host, aligned to 8 bytes."""

    address: int


class Code(Protocol):
    """Code that has been loaded on a device."""

    def kernel(self, name: str, together: int = 1) -> Kernel: ...


class Device(Protocol):
    """A device, opened. Safe to use from several threads at once.

    Everything raises DeviceLostError where the device cannot be used any more, and ForkedDeviceError in a process that was
    forked off after the driver was used. A call that waits does so for as long as `runtime.kernel_time` says; then it raises
    KernelTimeoutError, and the device is lost. Errors that turn up where something is waited for name what was
    ``launched`` last. ``identity`` says which devices and drivers take what this one's driver makes of code.
    """

    properties: DeviceProperties
    identity: tuple[str, ...]
    launched: Launched

    def allocate(self, size: int) -> int:
        """The address of so many bytes, aligned to 256. Raises DeviceOutOfMemoryError, which names the sizes."""
        ...

    def free(self, address: int) -> None:
        """Give memory back. What was asked of the queue before still finds it."""
        ...

    def host_block(self, size: int) -> HostBlock:
        """Memory of the host that is good for copies, free when nothing refers to it."""
        ...

    def write(self, address: int, source: int, size: int) -> None:
        """Copy so many bytes from the host's address; the host's memory may change once this returns."""
        ...

    def read(self, target: int, address: int, size: int) -> None:
        """Copy so many bytes to the host's address, when all that was asked for before is done. Waits for it."""
        ...

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy bytes on the device, in the queue; they do not overlap."""
        ...

    def fill(self, address: int, byte: int, size: int) -> None:
        """Make bytes this one, in the queue."""
        ...

    def load(self, code: bytes) -> Code:
        """Load code of the device's family: PTX text, a code object, SPIR-V. Raises DeviceCodeError, with the driver's log."""
        ...

    def made_of(self, code: bytes) -> bytes | None:
        """What the driver makes of such code, which `load` takes, too, and at once; None where it does not give that."""
        ...

    def launch(
        self, kernel: Kernel, grid: Dimensions, block: Dimensions, arguments: Sequence[int], shared_bytes: int = 0
    ) -> None:
        """Run a kernel, in the queue: so many blocks of so many threads. All its arguments are addresses.

        The threads of a block share so many bytes besides what the kernel declares. OpenCL has them as one more argument, the
        last one, a pointer to local memory. Raises DeviceCodeError for more threads or bytes than the device has.
        """
        ...

    def prepare(self, kernel: Any, arguments: int, shared_bytes: int) -> None:
        """Make a kernel ready for launches with so many arguments and shared bytes. Raises DeviceCodeError."""
        ...

    def native_calls(self) -> NativeCalls:
        """What native code launches kernels with."""
        ...

    def require_usable(self) -> None:
        """Raise ForkedDeviceError or DeviceLostError where nothing can be asked of the device any more."""
        ...

    def check(self, status: int, what: str) -> None:
        """Raise the error that a status other than 0 of the driver's functions stands for."""
        ...

    def check_launch(self, status: int, kernel: Any, grid: Dimensions, block: Dimensions, shared_bytes: int) -> None:
        """As `check`, for the status of a launch."""
        ...

    def synchronize(self) -> None:
        """Wait for all that was asked for. Raises what went wrong meanwhile."""
        ...


class Driver(Protocol):
    """A driver that is there, with one device at least."""

    name: str

    def devices(self) -> tuple[DeviceProperties, ...]: ...

    def open(self, number: int) -> Device:
        """The device with this number; the same object each time."""
        ...
