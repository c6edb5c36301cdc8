"""AMD's driver: code objects on devices of ROCm.

LLVM makes relocatable objects and the driver takes linked ones: ROCm's code object manager, which comes with the driver, links
them.

Sources: the HIP API reference; amd_comgr.h.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint64, c_void_p
from types import SimpleNamespace
from typing import Any

from ..errors import DeviceCodeError
from .driver import DeviceProperties
from .libraries import functions, open_library
from .streams import SIGNATURES, Signature, StreamDriver, Vendor

_NAMES = {
    "Init": "hipInit",
    "DriverGetVersion": "hipRuntimeGetVersion",
    "DeviceGetCount": "hipGetDeviceCount",
    "DeviceGet": "hipDeviceGet",
    "DeviceGetName": "hipDeviceGetName",
    "DeviceGetAttribute": "hipDeviceGetAttribute",
    "DeviceTotalMem": "hipDeviceTotalMem",
    "MemGetInfo": "hipMemGetInfo",
    "MemAlloc": "hipMalloc",
    "MemFree": "hipFree",
    "MemcpyHtoDAsync": "hipMemcpyHtoDAsync",
    "MemcpyDtoHAsync": "hipMemcpyDtoHAsync",
    "MemcpyDtoDAsync": "hipMemcpyDtoDAsync",
    "MemsetD8Async": "hipMemsetD8Async",
    "MemHostAlloc": "hipHostMalloc",
    "MemFreeHost": "hipHostFree",
    "StreamCreate": "hipStreamCreateWithFlags",
    "StreamSynchronize": "hipStreamSynchronize",
    "StreamQuery": "hipStreamQuery",
    "StreamWaitEvent": "hipStreamWaitEvent",
    "ContextSynchronize": "hipDeviceSynchronize",
    "EventCreate": "hipEventCreateWithFlags",
    "EventRecord": "hipEventRecord",
    "EventDestroy": "hipEventDestroy",
    "ModuleLoad": "hipModuleLoadData",
    "ModuleUnload": "hipModuleUnload",
    "ModuleGetFunction": "hipModuleGetFunction",
    "LaunchKernel": "hipModuleLaunchKernel",
}

# hipDeviceAttribute_t
_MAX_THREADS_PER_BLOCK, _MULTIPROCESSOR_COUNT, _MAX_SHARED_MEMORY_PER_BLOCK, _WARP_SIZE = 56, 63, 74, 87
_LAUNCH_FAILURE = 719  # also of blocks with more threads than a kernel is made for
_PROPERTIES_BYTES = 16 << 10  # more than hipDeviceProp_t has in any version
_NAME_BYTES = 256  # of the device, at its beginning

_ELF_TYPE, _RELOCATABLE = slice(16, 18), b"\x01\x00"
_DATA_RELOCATABLE, _DATA_EXECUTABLE = 7, 8
_COMGR_LIBRARIES = ("libamd_comgr.so.3", "libamd_comgr.so.2", "libamd_comgr.so")
_HANDLE = ctypes.POINTER(c_uint64)
_COMGR: dict[str, Signature] = {
    "amd_comgr_get_version": (None, ctypes.POINTER(c_size_t), ctypes.POINTER(c_size_t)),
    "amd_comgr_create_data": (c_int, c_int, _HANDLE),
    "amd_comgr_release_data": (c_int, c_uint64),
    "amd_comgr_set_data": (c_int, c_uint64, c_size_t, c_char_p),
    "amd_comgr_set_data_name": (c_int, c_uint64, c_char_p),
    "amd_comgr_create_data_set": (c_int, _HANDLE),
    "amd_comgr_destroy_data_set": (c_int, c_uint64),
    "amd_comgr_data_set_add": (c_int, c_uint64, c_uint64),
    "amd_comgr_create_action_info": (c_int, _HANDLE),
    "amd_comgr_destroy_action_info": (c_int, c_uint64),
    "amd_comgr_action_info_set_isa_name": (c_int, c_uint64, c_char_p),
    "amd_comgr_do_action": (c_int, c_int, c_uint64, c_uint64, c_uint64),
    "amd_comgr_action_data_get_data": (c_int, c_uint64, c_int, c_size_t, _HANDLE),
    "amd_comgr_get_data": (c_int, c_uint64, ctypes.POINTER(c_size_t), c_void_p),
}


def link(code: bytes, architecture: str) -> bytes:
    """The code object that a driver takes, of a relocatable one. Raises DeviceCodeError."""
    try:
        api = functions(open_library(_COMGR_LIBRARIES), _COMGR)
    except OSError as error:
        raise DeviceCodeError(f"the code object manager of ROCm, which links code, cannot be opened: {error}") from None
    data, given, linked, action, found = (c_uint64() for _ in range(5))
    major, minor, size = c_size_t(), c_size_t(), c_size_t()

    def do(what: str, status: int) -> None:
        if status:
            raise DeviceCodeError(f"linking code for {architecture}: {what} failed with the status {status}")

    api.amd_comgr_get_version(byref(major), byref(minor))
    link_action = 7 if major.value >= 3 else 9  # of amd_comgr_action_kind_t, which lost two members
    do("create_data", api.amd_comgr_create_data(_DATA_RELOCATABLE, byref(data)))
    do("set_data", api.amd_comgr_set_data(data, len(code), code))
    do("set_data_name", api.amd_comgr_set_data_name(data, b"kernels.o"))
    do("create_data_set", api.amd_comgr_create_data_set(byref(given)))
    do("create_data_set", api.amd_comgr_create_data_set(byref(linked)))
    do("data_set_add", api.amd_comgr_data_set_add(given, data))
    do("create_action_info", api.amd_comgr_create_action_info(byref(action)))
    try:
        name = f"amdgcn-amd-amdhsa--{architecture}".encode()
        do("action_info_set_isa_name", api.amd_comgr_action_info_set_isa_name(action, name))
        do("do_action", api.amd_comgr_do_action(link_action, action, given, linked))
        do("action_data_get_data", api.amd_comgr_action_data_get_data(linked, _DATA_EXECUTABLE, 0, byref(found)))
        do("get_data", api.amd_comgr_get_data(found, byref(size), None))
        bytes_found = ctypes.create_string_buffer(size.value)
        do("get_data", api.amd_comgr_get_data(found, byref(size), bytes_found))
        api.amd_comgr_release_data(found)
        return bytes_found.raw
    finally:
        api.amd_comgr_destroy_action_info(action)
        api.amd_comgr_destroy_data_set(linked)
        api.amd_comgr_destroy_data_set(given)
        api.amd_comgr_release_data(data)


def _bind(api: SimpleNamespace, get: Callable[[str, Signature], Any]) -> None:
    error_name = get("hipGetErrorName", (c_char_p, c_int))
    error_string = get("hipGetErrorString", (c_char_p, c_int))
    try_names = ("hipGetDevicePropertiesR0600", "hipGetDeviceProperties")
    properties_name = next((name for name in try_names if hasattr(api.library, name)), try_names[-1])
    get_properties = get(properties_name, (c_int, c_void_p, c_int))
    set_device = get("hipSetDevice", (c_int, c_int))
    get_device = get("hipGetDevice", (c_int, c_void_p))

    def architecture(number: int) -> str:
        # Where the name stands in the structure differs from version to version.
        properties = ctypes.create_string_buffer(_PROPERTIES_BYTES)
        get_properties(properties, number)
        found = re.search(rb"gfx[0-9a-f]+[0-9a-z:+-]*", properties.raw[_NAME_BYTES:])
        return found.group().decode() if found else ""

    def open_context(number: int, check: Callable[[int, str], None]) -> int:
        return number

    def load_module(module: c_void_p, code: bytes, properties: DeviceProperties) -> tuple[int, str, bytes]:
        linked = link(code, properties.architecture) if code[_ELF_TYPE] == _RELOCATABLE else code
        return api.ModuleLoad(byref(module), linked), "", linked

    api.error_text = lambda status: f"{error_name(status).decode()}: {error_string(status).decode()}"
    api.architecture, api.open_context, api.enter = architecture, open_context, set_device
    api.load_module, api.current = load_module, get_device
    api.allow_shared = lambda kernel, size: 0  # there is nothing to ask for


HIP = Vendor(
    name="rocm",
    driver="HIP",
    libraries=("libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "amdhip64.dll"),
    names=_NAMES,
    bind=_bind,
    attributes=(_MAX_THREADS_PER_BLOCK, _MAX_SHARED_MEMORY_PER_BLOCK, _WARP_SIZE, _MULTIPROCESSOR_COUNT),
    version_text=lambda version: f"HIP {version // 10_000_000}.{version // 100_000 % 100}",
    signatures={**SIGNATURES, "ModuleLoad": (c_int, ctypes.POINTER(c_void_p), c_char_p)},
    refused_launches=frozenset({_LAUNCH_FAILURE}),
)


class HipDriver(StreamDriver):
    """The devices of AMD's driver."""

    def __init__(self, library: ctypes.CDLL | None = None) -> None:
        super().__init__(HIP, library)
