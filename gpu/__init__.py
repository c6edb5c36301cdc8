"""GPUs: kernels of one's own, and what goes wrong on a device.

>>> import phlox
>>> issubclass(phlox.gpu.DeviceOutOfMemoryError, MemoryError)
True
"""

from ..backends.gpu.errors import (
    DeviceCodeError,
    DeviceError,
    DeviceLostError,
    DeviceOutOfMemoryError,
    DriverTooOldError,
    DriverUnavailableError,
    ForkedDeviceError,
    HostArrayError,
    KernelTimeoutError,
    SharedMemoryError,
)
from ..tracer import GpuKernel, MixedDevicesError, kernel

__all__ = [
    "DeviceCodeError",
    "DeviceError",
    "DeviceLostError",
    "DeviceOutOfMemoryError",
    "DriverTooOldError",
    "DriverUnavailableError",
    "ForkedDeviceError",
    "GpuKernel",
    "HostArrayError",
    "KernelTimeoutError",
    "MixedDevicesError",
    "SharedMemoryError",
    "kernel",
]
