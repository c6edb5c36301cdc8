"""A CUDA, or HIP, driver whose device is the host: memory of the process, kernels in Python, errors to order.

It stands in the place of a vendor's library, so what calls it is tested with the functions' names and types of arguments.
"""

import ctypes
import threading
from ctypes import c_char_p, c_int, c_uint64, c_void_p

from phlox.backends.gpu.drivers.libraries import Signature

SUCCESS, INVALID_VALUE, OUT_OF_MEMORY, INVALID_PTX, NOT_FOUND, NOT_READY, ILLEGAL_ADDRESS = 0, 1, 2, 218, 500, 600, 700
MEMORY_BYTES = 1 << 26


class HostAsDevice:
    """The library. ``kernels`` are functions of their arguments' values by name; ``stream_status`` what the stream says."""

    def __init__(self, vendor, extra: dict[str, Signature]):
        self.kernels = {}
        self.calls = []
        self.memory, self.handles = {}, {}
        self.in_use = 0
        self.version = 13010
        self.events, self.in_order = {}, []  # streams, of which the second waits for the first
        self._of_thread, self._one_at_a_time = threading.local(), threading.RLock()
        self.stream_status = SUCCESS
        self.refuse = None  # a log: code is refused with it
        self.refusal = INVALID_PTX
        self.refused_launch = SUCCESS
        self.allowed_shared = {}
        self.loaded = []  # code, where it is text or a cubin
        self.threads = []  # that were allowed for compiling, None where nothing was said of it
        self.knows_threads = True
        self._kept = []
        signatures = {name: vendor.signatures[known] for known, name in vendor.names.items()} | extra
        known_names = {name: known for known, name in vendor.names.items()}
        for name, (result, *arguments) in signatures.items():
            function = getattr(self, f"_{known_names.get(name, name)}")

            def call(*given, function=function, name=name):
                with self._one_at_a_time:  # the stream's order, and what kernels and copies do takes Python's steps
                    self.calls.append(name)
                    status = function(*given)
                return SUCCESS if status is None else status

            # A callback would be given a copy of what is a text.
            arguments = [c_void_p if argument is c_char_p else argument for argument in arguments]
            setattr(self, name, ctypes.CFUNCTYPE(result, *arguments)(call))

    @property
    def current(self):
        """The context, or the device's number, of the thread."""
        return getattr(self._of_thread, "current", 0)

    @current.setter
    def current(self, context):
        self._of_thread.current = context

    def _Init(self, flags):
        assert flags == 0

    def _DriverGetVersion(self, version):
        version[0] = self.version

    def _DeviceGetCount(self, count):
        count[0] = 1

    def _DeviceGet(self, device, number):
        device[0] = number

    def _DeviceGetName(self, name, size, device):
        ctypes.memmove(name, b"the host\0", 9)

    def _DeviceGetAttribute(self, value, key, device):
        value[0] = {75: 9, 76: 0}.get(key, 1024)

    def _DeviceTotalMem(self, size, device):
        size[0] = MEMORY_BYTES

    def _MemGetInfo(self, free, total):
        free[0], total[0] = MEMORY_BYTES - self.in_use, MEMORY_BYTES

    def _MemAlloc(self, address, size):
        if self.in_use + size > MEMORY_BYTES:
            return OUT_OF_MEMORY
        block = ctypes.create_string_buffer(size + 256)
        address[0] = -(-ctypes.addressof(block) // 256) * 256
        self.memory[address[0]] = block, size
        self.in_use += size

    def _MemHostAlloc(self, address, size, flags):
        self._kept.append(ctypes.create_string_buffer(size))
        address[0] = ctypes.addressof(self._kept[-1])

    def _MemFreeHost(self, address):
        pass

    def _MemFree(self, address):
        self.in_use -= self.memory.pop(address)[1]

    def _copy(self, target, source, size, stream):
        ctypes.memmove(target, source, size)
        return self.stream_status if self.stream_status == ILLEGAL_ADDRESS else SUCCESS

    _MemcpyHtoDAsync = _MemcpyDtoHAsync = _MemcpyDtoDAsync = _copy

    def _MemsetD8Async(self, address, byte, size, stream):
        ctypes.memset(address, byte, size)

    def _StreamCreate(self, stream, flags):
        assert flags == 1
        stream[0] = 0x5000

    def _StreamSynchronize(self, stream):
        assert stream == 0x5000
        return self.stream_status

    _StreamQuery = _StreamSynchronize

    def _ContextSynchronize(self):
        return self.stream_status

    def _EventCreate(self, event, flags):
        assert flags == 2
        event[0] = 0x9000 + len(self.events)
        self.events[event[0]] = None

    def _EventRecord(self, event, stream):
        self.events[event] = stream or 0

    def _StreamWaitEvent(self, stream, event, flags):
        self.in_order.append((self.events[event], stream or 0))

    def _EventDestroy(self, event):
        del self.events[event]

    def _ModuleLoad(self, module, text, count=0, options=None, values=None):
        if self.refuse is not None:
            if count:
                log, size = [values[list(options[:count]).index(key)] for key in (5, 6)]
                ctypes.memmove(log, self.refuse[:size], min(len(self.refuse), size))
            return self.refusal
        if self._refuses(count, options, values):
            return INVALID_VALUE
        self.loaded.append(ctypes.string_at(text) if count else None)
        module[0] = 0x6000

    def _ModuleUnload(self, module):
        assert module == 0x6000

    def _ModuleGetFunction(self, function, module, name):
        text = ctypes.string_at(name).decode()
        if text not in self.kernels:
            return NOT_FOUND
        function[0] = 0x7000 + list(self.kernels).index(text)

    def _LaunchKernel(self, handle, gx, gy, gz, bx, by, bz, shared, stream, arguments, extra):
        if self.refused_launch:
            return self.refused_launch
        if bx * by * bz > 1024 or shared > self.allowed_shared.get(handle, 48 << 10):
            return INVALID_VALUE
        kernel = list(self.kernels.values())[handle - 0x7000]
        count = kernel.__code__.co_argcount - 1
        kernel((gx, gy, gz, bx, by, bz), *[c_uint64.from_address(arguments[number]).value for number in range(count)])

    # --- CUDA's own ---

    def _cuDevicePrimaryCtxRetain(self, context, device):
        context[0] = 0x4000

    def _cuCtxSetCurrent(self, context):
        self.current = context or 0

    def _cuCtxGetCurrent(self, context):
        c_uint64.from_address(context).value = self.current

    def _cuFuncSetAttribute(self, function, attribute, value):
        assert attribute == 8
        if value > 200 << 10:
            return INVALID_VALUE
        self.allowed_shared[function] = value

    def _refuses(self, count, options, values):
        given = dict(zip(options[:count], values[:count])) if count else {}
        self.threads.append(given.get(34))
        return not self.knows_threads and 34 in given

    def _text(self, status, text):
        self._kept.append(c_char_p(f"status {status}".encode()))
        text[0] = self._kept[-1]

    _cuGetErrorName = _cuGetErrorString = _text

    # --- HIP's own ---

    def _hipSetDevice(self, number):
        self.current = number

    def _hipGetDevice(self, number):
        c_int.from_address(number).value = self.current

    def _hipGetDevicePropertiesR0600(self, properties, number):
        ctypes.memmove(properties + 1000, b"gfx90a:sramecc+:xnack-\0", 23)

    def _name(self, status):
        self._kept.append(ctypes.create_string_buffer(f"status {status}".encode()))
        return ctypes.addressof(self._kept[-1])

    _hipGetErrorName = _hipGetErrorString = _name


_TEXT = (c_int, c_int, ctypes.POINTER(c_char_p))
CUDA_EXTRA: dict[str, Signature] = {
    "cuDevicePrimaryCtxRetain": (c_int, ctypes.POINTER(c_void_p), c_int),
    "cuCtxSetCurrent": (c_int, c_void_p),
    "cuCtxGetCurrent": (c_int, c_void_p),
    "cuFuncSetAttribute": (c_int, c_void_p, c_int, c_int),
    "cuGetErrorName": _TEXT,
    "cuGetErrorString": _TEXT,
}
HIP_EXTRA: dict[str, Signature] = {
    "hipSetDevice": (c_int, c_int),
    "hipGetDevice": (c_int, c_void_p),
    "hipGetDevicePropertiesR0600": (c_int, c_void_p, c_int),
    "hipGetErrorName": (c_void_p, c_int),
    "hipGetErrorString": (c_void_p, c_int),
}
