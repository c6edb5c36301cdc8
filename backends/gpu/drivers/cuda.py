"""NVIDIA's driver: PTX text, or cubins, on the primary context of a device, which PyTorch and CuPy use, too.

Source: the CUDA Driver API reference.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import POINTER, byref, c_char_p, c_int, c_void_p
from types import SimpleNamespace
from typing import Any

from ....runtime.thread_count import thread_limit
from .driver import DeviceProperties
from .streams import Signature, StreamDriver, Vendor

_NAMES = {
    "Init": "cuInit",
    "DriverGetVersion": "cuDriverGetVersion",
    "DeviceGetCount": "cuDeviceGetCount",
    "DeviceGet": "cuDeviceGet",
    "DeviceGetName": "cuDeviceGetName",
    "DeviceGetAttribute": "cuDeviceGetAttribute",
    "DeviceTotalMem": "cuDeviceTotalMem_v2",
    "MemGetInfo": "cuMemGetInfo_v2",
    "MemAlloc": "cuMemAlloc_v2",
    "MemFree": "cuMemFree_v2",
    "MemcpyHtoDAsync": "cuMemcpyHtoDAsync_v2",
    "MemcpyDtoHAsync": "cuMemcpyDtoHAsync_v2",
    "MemcpyDtoDAsync": "cuMemcpyDtoDAsync_v2",
    "MemsetD8Async": "cuMemsetD8Async",
    "MemHostAlloc": "cuMemHostAlloc",
    "MemFreeHost": "cuMemFreeHost",
    "StreamCreate": "cuStreamCreate",
    "StreamSynchronize": "cuStreamSynchronize",
    "StreamQuery": "cuStreamQuery",
    "StreamWaitEvent": "cuStreamWaitEvent",
    "ContextSynchronize": "cuCtxSynchronize",
    "EventCreate": "cuEventCreate",
    "EventRecord": "cuEventRecord",
    "EventDestroy": "cuEventDestroy_v2",
    "ModuleLoad": "cuModuleLoadDataEx",
    "ModuleUnload": "cuModuleUnload",
    "ModuleGetFunction": "cuModuleGetFunction",
    "LaunchKernel": "cuLaunchKernel",
}

# CUdevice_attribute
_MAX_THREADS_PER_BLOCK, _WARP_SIZE, _MULTIPROCESSOR_COUNT = 1, 10, 16
_COMPUTE_CAPABILITY_MAJOR, _COMPUTE_CAPABILITY_MINOR = 75, 76
_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97
# CUjit_option
_INFO_LOG_BUFFER, _INFO_LOG_BUFFER_SIZE_BYTES, _ERROR_LOG_BUFFER, _ERROR_LOG_BUFFER_SIZE_BYTES = 3, 4, 5, 6
# CUfunction_attribute
_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
_STATIC_SHARED_BYTES = 48 << 10  # which a kernel may have without asking
_LOG_BYTES = 16 << 10
# Threads that the compiler may use; drivers of earlier versions do not know it.
_SPLIT_COMPILE, _SPLIT_COMPILE_VERSION, _MOST_THREADS = 34, 13_000, 8
_INVALID_VALUE = 1


def _bind(api: SimpleNamespace, get: Callable[[str, Signature], Any]) -> None:
    retain = get("cuDevicePrimaryCtxRetain", (c_int, POINTER(c_void_p), c_int))
    set_current = get("cuCtxSetCurrent", (c_int, c_void_p))
    get_current = get("cuCtxGetCurrent", (c_int, c_void_p))
    set_attribute = get("cuFuncSetAttribute", (c_int, c_void_p, c_int, c_int))
    texts = [get(name, (c_int, c_int, POINTER(c_char_p))) for name in ("cuGetErrorName", "cuGetErrorString")]

    def error_text(status: int) -> str:
        found = []
        for text in texts:
            pointer = c_char_p()
            if not text(status, byref(pointer)) and pointer.value:
                found.append(pointer.value.decode())
        return ": ".join(found) or f"CUDA error {status}"

    def architecture(number: int) -> str:
        major, minor = c_int(), c_int()
        api.DeviceGetAttribute(byref(major), _COMPUTE_CAPABILITY_MAJOR, number)
        api.DeviceGetAttribute(byref(minor), _COMPUTE_CAPABILITY_MINOR, number)
        return f"sm_{major.value}{minor.value}"

    def open_context(number: int, check: Callable[[int, str], None]) -> int:
        context = c_void_p()
        check(retain(byref(context), number), "retaining the primary context")
        return context.value or 0

    def load_module(module: c_void_p, code: bytes, properties: DeviceProperties) -> tuple[int, str, bytes]:
        logs = [ctypes.create_string_buffer(_LOG_BYTES) for _ in range(2)]
        info, error = map(ctypes.addressof, logs)
        logging = {
            _INFO_LOG_BUFFER: info, _INFO_LOG_BUFFER_SIZE_BYTES: _LOG_BYTES,
            _ERROR_LOG_BUFFER: error, _ERROR_LOG_BUFFER_SIZE_BYTES: _LOG_BYTES,
        }  # fmt: skip
        text = code if code.endswith(b"\0") else code + b"\0"
        status = with_threads(lambda options: api.ModuleLoad(byref(module), text, *_arrays(logging | options)))
        return status, "\n".join(log.value.decode(errors="replace") for log in reversed(logs) if log.value), b""

    def with_threads(call: Callable[[dict[int, int]], int]) -> int:
        """The status of a call that compiles, in several threads where the driver can."""
        version = c_int()
        api.DriverGetVersion(byref(version))
        threads = min(thread_limit().value, _MOST_THREADS)
        options = {_SPLIT_COMPILE: threads} if version.value >= _SPLIT_COMPILE_VERSION and threads > 1 else {}
        status = call(options)
        return call({}) if options and status == _INVALID_VALUE else status

    def allow_shared(kernel: int, size: int) -> int:
        return set_attribute(kernel, _MAX_DYNAMIC_SHARED_SIZE_BYTES, size) if size > _STATIC_SHARED_BYTES else 0

    api.error_text, api.architecture, api.open_context, api.enter = error_text, architecture, open_context, set_current
    api.load_module, api.allow_shared, api.current = load_module, allow_shared, get_current


def _arrays(options: dict[int, int]) -> tuple[int, Any, Any]:
    """The number of options, and their numbers and values."""
    count = len(options)
    return count, (c_int * count)(*options), (c_void_p * count)(*options.values())


CUDA = Vendor(
    name="cuda",
    driver="CUDA",
    libraries=("libcuda.so.1", "nvcuda.dll"),
    names=_NAMES,
    bind=_bind,
    attributes=(_MAX_THREADS_PER_BLOCK, _MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, _WARP_SIZE, _MULTIPROCESSOR_COUNT),
    version_text=lambda version: f"CUDA {version // 1000}.{version % 1000 // 10}",
)


class CudaDriver(StreamDriver):
    """The devices of NVIDIA's driver."""

    def __init__(self, library: ctypes.CDLL | None = None) -> None:
        super().__init__(CUDA, library)
