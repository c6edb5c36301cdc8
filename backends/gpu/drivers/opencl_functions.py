"""OpenCL as ctypes sees it: the functions, numbers and errors that are used, by the names of the specification.

Sources: the OpenCL 3.0 API specification; the extensions cl_khr_il_program, cl_intel_unified_shared_memory, and
cl_intel_exec_by_local_thread.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_int32, c_size_t, c_uint32, c_uint64, c_void_p

from .libraries import Signature

_STATUS = POINTER(c_int32)
_SIZES = POINTER(c_size_t)
_COUNT = POINTER(c_uint32)
_INFO: Signature = (c_int32, c_void_p, c_uint32, c_size_t, c_void_p, _SIZES)
_RELEASE: Signature = (c_int32, c_void_p)
_EVENTS = (c_uint32, c_void_p, POINTER(c_void_p))

FUNCTIONS: dict[str, Signature] = {
    "clGetPlatformIDs": (c_int32, c_uint32, POINTER(c_void_p), _COUNT),
    "clGetPlatformInfo": _INFO,
    "clGetDeviceIDs": (c_int32, c_void_p, c_uint64, c_uint32, POINTER(c_void_p), _COUNT),
    "clGetDeviceInfo": _INFO,
    "clCreateContext": (c_void_p, POINTER(c_void_p), c_uint32, POINTER(c_void_p), c_void_p, c_void_p, _STATUS),
    "clCreateCommandQueue": (c_void_p, c_void_p, c_void_p, c_uint64, _STATUS),
    "clGetExtensionFunctionAddressForPlatform": (c_void_p, c_void_p, c_char_p),
    "clCreateProgramWithBinary": (
        c_void_p,
        c_void_p,
        c_uint32,
        POINTER(c_void_p),
        _SIZES,
        POINTER(c_void_p),
        POINTER(c_int32),
        _STATUS,
    ),
    "clBuildProgram": (c_int32, c_void_p, c_uint32, POINTER(c_void_p), c_char_p, c_void_p, c_void_p),
    "clGetProgramBuildInfo": (c_int32, c_void_p, c_void_p, c_uint32, c_size_t, c_void_p, _SIZES),
    "clGetProgramInfo": _INFO,
    "clReleaseProgram": _RELEASE,
    "clCreateKernel": (c_void_p, c_void_p, c_char_p, _STATUS),
    "clReleaseKernel": _RELEASE,
    "clGetKernelInfo": _INFO,
    "clSetKernelArg": (c_int32, c_void_p, c_uint32, c_size_t, c_void_p),
    "clEnqueueNDRangeKernel": (c_int32, c_void_p, c_void_p, c_uint32, _SIZES, _SIZES, _SIZES, *_EVENTS),
    "clEnqueueMarkerWithWaitList": (c_int32, c_void_p, *_EVENTS),
    "clGetEventInfo": _INFO,
    "clReleaseEvent": _RELEASE,
    "clFlush": (c_int32, c_void_p),
    "clFinish": (c_int32, c_void_p),
}

# Of extensions: what a platform has of them is asked for by name.
CREATE_PROGRAM_WITH_IL: Signature = (c_void_p, c_void_p, c_char_p, c_size_t, _STATUS)
COPY: Signature = (c_int32, c_void_p, c_uint32, c_void_p, c_void_p, c_size_t, *_EVENTS)
FILL: Signature = (c_int32, c_void_p, c_void_p, c_void_p, c_size_t, c_size_t, *_EVENTS)
SET_POINTER: Signature = (c_int32, c_void_p, c_uint32, c_void_p)
ALLOCATE_USM: Signature = (c_void_p, c_void_p, c_void_p, c_void_p, c_size_t, c_uint32, _STATUS)
FREE_USM: Signature = (c_int32, c_void_p, c_void_p)
ALLOCATE_SVM: Signature = (c_void_p, c_void_p, c_uint64, c_size_t, c_uint32)
FREE_SVM: Signature = (None, c_void_p, c_void_p)

CL_PLATFORM_VERSION, CL_PLATFORM_NAME = 0x0901, 0x0902
CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_GPU = 2, 4
CL_DEVICE_TYPE = 0x1000
CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002
CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004
CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F
CL_DEVICE_LOCAL_MEM_SIZE = 0x1023
CL_DEVICE_AVAILABLE = 0x1027
CL_DEVICE_NAME = 0x102B
CL_DRIVER_VERSION = 0x102D
CL_DEVICE_EXTENSIONS = 0x1030
CL_DEVICE_SVM_CAPABILITIES = 0x1053
CL_DEVICE_IL_VERSION = 0x105B
CL_DEVICE_SUB_GROUP_SIZES_INTEL = 0x4108
CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL = 0x4194
CL_DEVICE_SVM_COARSE_GRAIN_BUFFER = 1
CL_DEVICE_SVM_FINE_GRAIN_SYSTEM = 8
CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL = 1
CL_MEM_READ_WRITE = 1
CL_QUEUE_THREAD_LOCAL_EXEC_ENABLE_INTEL = 1 << 31
CL_PROGRAM_BUILD_LOG = 0x1183
CL_PROGRAM_BINARY_SIZES, CL_PROGRAM_BINARIES = 0x1165, 0x1166
CL_PROGRAM_KERNEL_NAMES = 0x1168
CL_KERNEL_NUM_ARGS = 0x1191
CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11D3

CL_SUCCESS = 0
CL_DEVICE_NOT_FOUND = -1
CL_PLATFORM_NOT_FOUND_KHR = -1001
ERRORS = {
    -1: "CL_DEVICE_NOT_FOUND",
    -2: "CL_DEVICE_NOT_AVAILABLE",
    -3: "CL_COMPILER_NOT_AVAILABLE",
    -4: "CL_MEM_OBJECT_ALLOCATION_FAILURE",
    -5: "CL_OUT_OF_RESOURCES",
    -6: "CL_OUT_OF_HOST_MEMORY",
    -11: "CL_BUILD_PROGRAM_FAILURE",
    -14: "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
    -15: "CL_COMPILE_PROGRAM_FAILURE",
    -17: "CL_LINK_PROGRAM_FAILURE",
    -30: "CL_INVALID_VALUE",
    -33: "CL_INVALID_DEVICE",
    -34: "CL_INVALID_CONTEXT",
    -36: "CL_INVALID_COMMAND_QUEUE",
    -42: "CL_INVALID_BINARY",
    -43: "CL_INVALID_BUILD_OPTIONS",
    -44: "CL_INVALID_PROGRAM",
    -45: "CL_INVALID_PROGRAM_EXECUTABLE",
    -46: "CL_INVALID_KERNEL_NAME",
    -47: "CL_INVALID_KERNEL_DEFINITION",
    -48: "CL_INVALID_KERNEL",
    -49: "CL_INVALID_ARG_INDEX",
    -50: "CL_INVALID_ARG_VALUE",
    -51: "CL_INVALID_ARG_SIZE",
    -52: "CL_INVALID_KERNEL_ARGS",
    -53: "CL_INVALID_WORK_DIMENSION",
    -54: "CL_INVALID_WORK_GROUP_SIZE",
    -55: "CL_INVALID_WORK_ITEM_SIZE",
    -57: "CL_INVALID_EVENT_WAIT_LIST",
    -58: "CL_INVALID_EVENT",
    -59: "CL_INVALID_OPERATION",
    -61: "CL_INVALID_BUFFER_SIZE",
    -63: "CL_INVALID_GLOBAL_WORK_SIZE",
    -1001: "CL_PLATFORM_NOT_FOUND_KHR",
}
NO_MEMORY = {-4, -5, -6, -61}
LOST = {-1, -2, -14, -33, -34, -36}
# What a launch asks for and the device has not.
TOO_MUCH = {-5, -45, -52, -53, -54, -55, -63}


def error_name(status: int) -> str:
    return ERRORS.get(status, f"OpenCL error {status}")


def pointer_array(*values: int | None) -> ctypes.Array[c_void_p]:
    return (c_void_p * len(values))(*values)
