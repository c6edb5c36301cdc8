"""What goes wrong on a device, and with drivers."""

from __future__ import annotations


class DeviceError(RuntimeError):
    """Something failed on a device, or in its driver."""


class DeviceOutOfMemoryError(DeviceError, MemoryError):
    """A device has no memory left for what was asked."""


class DeviceCodeError(DeviceError):
    """A driver does not take code: it is too old for it, or the code asks for more than the device has."""


class DriverTooOldError(DeviceCodeError):
    """A driver is older than the code that it is given."""


class SharedMemoryError(DeviceCodeError):
    """A kernel needs more shared memory than a block of the device may have."""


class HostArrayError(DeviceError, TypeError):
    """An array of the host, or of another memory, is given where one in the device's memory is required."""


class DeviceLostError(DeviceError):
    """A device cannot be used any more in this process: it is gone, or a kernel accessed memory that is not there."""


class KernelTimeoutError(DeviceError):
    """A kernel ran for longer than the user lets kernels run."""


class DriverUnavailableError(DeviceError):
    """A driver is not there, or no device that it could use; the message says why."""


class ForkedDeviceError(DeviceError):
    """A process that was forked off uses a device that its parent had used before."""


for _error in (one for one in tuple(globals().values()) if isinstance(one, type)):
    _error.__module__ = "phlox.gpu"  # where users find them
