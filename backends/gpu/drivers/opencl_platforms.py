"""The OpenCL platforms of a process, and their devices that take SPIR-V, with what is to be known of them."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from ctypes import byref, c_size_t, c_uint32, c_void_p
from ctypes.util import find_library
from types import SimpleNamespace
from typing import Any

from . import opencl_functions as cl
from .driver import DeviceProperties
from .forks import fork_count
from .libraries import Signature, address_of, function_at, functions, open_library

_PREFERRED_SUB_GROUP = 32


# Platforms whose compiler for processors is LLVM, to which a function with the name of an intrinsic is that.
_MADE_BY_LLVM = frozenset({"Intel(R) OpenCL"})


class Platform:
    """A vendor's implementation, reached by its own library or by the loader that all share."""

    def __init__(self, api: SimpleNamespace, handle: int, kind: str | None) -> None:
        self.functions, self.handle, self.kind, self.forks = api, handle, kind, fork_count()
        self.name = info_text(api.clGetPlatformInfo, handle, cl.CL_PLATFORM_NAME)

    def devices(self, reasons: list[str]) -> Iterator[tuple[bool, Platform, int, DeviceProperties]]:
        """Whether it is no GPU, the platform, handle, and properties of each device that can be used."""
        count, handles = c_uint32(), (c_void_p * 64)()
        kinds = cl.CL_DEVICE_TYPE_CPU | cl.CL_DEVICE_TYPE_GPU
        status = self.functions.clGetDeviceIDs(self.handle, kinds, 64, handles, byref(count))
        if status or not count.value:
            reasons.append(f"the OpenCL platform {self.name} has no device ({cl.error_name(status)})")
        for handle in filter(None, handles[: 0 if status else count.value]):
            reason = self._unusable(handle)
            if reason is not None:
                reasons.append(reason)
                continue
            is_gpu = info_number(self.functions.clGetDeviceInfo, handle, cl.CL_DEVICE_TYPE, ctypes.c_uint64) & 4
            yield not is_gpu, self, handle, _properties(self, handle)

    def _unusable(self, handle: int) -> str | None:
        get = self.functions.clGetDeviceInfo
        name = info_text(get, handle, cl.CL_DEVICE_NAME)
        if "SPIR-V" not in info_text(get, handle, cl.CL_DEVICE_IL_VERSION):
            return f"the driver of {name} does not take SPIR-V"
        if not self.has_usm(handle) and not self.has_svm(handle):
            return f"{name} has neither unified shared memory nor shared virtual memory"
        return None

    def has_usm(self, handle: int) -> bool:
        return self.kind != "svm" and self.has_extension(handle, "cl_intel_unified_shared_memory")

    def has_extension(self, handle: int, name: str) -> bool:
        return name in info_text(self.functions.clGetDeviceInfo, handle, cl.CL_DEVICE_EXTENSIONS).split()

    def has_svm(self, handle: int) -> bool:
        capabilities = info_number(self.functions.clGetDeviceInfo, handle, cl.CL_DEVICE_SVM_CAPABILITIES, ctypes.c_uint64)
        return self.kind != "usm" and bool(capabilities & cl.CL_DEVICE_SVM_COARSE_GRAIN_BUFFER)

    def function(self, name: str, signature: Signature) -> Any:
        """A function that the platform has, or an extension of it; None where it has none of this name."""
        address = self.functions.clGetExtensionFunctionAddressForPlatform(self.handle, name.encode())
        address = address or address_of(self.functions.library, name)
        return function_at(address, signature) if address else None

    def create_program(self) -> Any:
        names = ("clCreateProgramWithIL", "clCreateProgramWithILKHR")
        return next(filter(None, (self.function(name, cl.CREATE_PROGRAM_WITH_IL) for name in names)))


def _libraries() -> Iterator[ctypes.CDLL]:
    """The loader of the system, and Intel's runtime where pip has installed it.

    The runtime is asked directly: the loader would find it only by a variable of the environment.
    """
    names = [find_library("OpenCL"), "libOpenCL.so.1", "OpenCL.dll"]
    try:
        yield open_library([name for name in names if name])
    except OSError:
        pass
    for folder in dict.fromkeys([sys.prefix, sys.exec_prefix]):
        path = os.path.join(folder, "lib", "libintelocl.so")
        if os.path.exists(path):
            yield open_library([path])


def platforms(reasons: list[str], kind: str | None) -> Iterator[Platform]:
    names: set[str] = set()
    for library in _libraries():
        try:
            api = functions(library, cl.FUNCTIONS)
        except OSError as error:
            reasons.append(str(error))
            continue
        api.library = library
        count, handles = c_uint32(), (c_void_p * 32)()
        status = api.clGetPlatformIDs(32, handles, byref(count))
        if status and status != cl.CL_PLATFORM_NOT_FOUND_KHR:
            reasons.append(f"{library._name} has no platforms: {cl.error_name(status)}")
        found = [Platform(api, handle, kind) for handle in filter(None, handles[: 0 if status else count.value])]
        yield from [platform for platform in found if platform.name not in names]
        names |= {platform.name for platform in found}


def _properties(platform: Platform, handle: int) -> DeviceProperties:
    get = platform.functions.clGetDeviceInfo

    def number(key: int) -> int:
        return info_number(get, handle, key, ctypes.c_uint64)

    is_processor = bool(number(cl.CL_DEVICE_TYPE) & cl.CL_DEVICE_TYPE_CPU)
    if platform.has_usm(handle):
        of_system = number(cl.CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL) & cl.CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL
    else:
        of_system = number(cl.CL_DEVICE_SVM_CAPABILITIES) & cl.CL_DEVICE_SVM_FINE_GRAIN_SYSTEM
    return DeviceProperties(
        name=info_text(get, handle, cl.CL_DEVICE_NAME).strip(),
        architecture="",
        memory_bytes=number(cl.CL_DEVICE_GLOBAL_MEM_SIZE),
        compute_units=info_number(get, handle, cl.CL_DEVICE_MAX_COMPUTE_UNITS, c_uint32),
        sub_group=_sub_group(get, handle),
        shared_bytes=number(cl.CL_DEVICE_LOCAL_MEM_SIZE),
        threads=info_number(get, handle, cl.CL_DEVICE_MAX_WORK_GROUP_SIZE, c_size_t),
        driver=info_text(get, handle, cl.CL_DRIVER_VERSION),
        is_processor=is_processor,
        reaches_host=is_processor and bool(of_system),
        takes_intrinsics=is_processor and platform.name in _MADE_BY_LLVM,
    )


def _sub_group(get: Any, handle: int) -> int:
    sizes, written = (c_size_t * 16)(), c_size_t()
    if get(handle, cl.CL_DEVICE_SUB_GROUP_SIZES_INTEL, ctypes.sizeof(sizes), sizes, byref(written)):
        return 1
    found = list(sizes[: written.value // ctypes.sizeof(c_size_t)])
    return _PREFERRED_SUB_GROUP if _PREFERRED_SUB_GROUP in found else max(found, default=1)


def info_text(get: Callable[..., int], handle: Any, key: int) -> str:
    size = c_size_t()
    if get(handle, key, 0, None, byref(size)) or not size.value:
        return ""
    text = ctypes.create_string_buffer(size.value)
    get(handle, key, size.value, text, None)
    return text.value.decode(errors="replace")


def info_number(get: Callable[..., int], handle: Any, key: int, number_type: type) -> int:
    """0 where the driver does not know the key."""
    number = number_type()
    return 0 if get(handle, key, ctypes.sizeof(number), byref(number), None) else number.value
