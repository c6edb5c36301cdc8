"""CUDA's library with an emulated device: the driver's functions, whose launches run PTX."""

from __future__ import annotations

import ctypes

from emulated_library import EmulatedLibrary
from host_as_device import CUDA_EXTRA, ILLEGAL_ADDRESS, INVALID_PTX, INVALID_VALUE, NOT_FOUND, OUT_OF_MEMORY, SUCCESS
from phlox.backends.gpu.drivers.cuda import CUDA

from .code import KernelCode
from .memory import DeviceMemory, IllegalAddressError, MisalignedAddressError
from .processor import Processor
from .text import parse_module

_MISALIGNED_ADDRESS = 716
_STATIC_SHARED_BYTES = 48 << 10
_MULTIPROCESSORS = 4


class EmulatedCuda(EmulatedLibrary):
    """The library."""

    def __init__(self, architecture: str) -> None:
        digits = "".join(filter(str.isdigit, architecture))
        self._version_of_device = int(digits[:-1]), int(digits[-1])
        super().__init__(architecture, CUDA, CUDA_EXTRA)
        self.processor = Processor(DeviceMemory(self.data, self.begin, self.granted, self.written))
        self.most_shared = {(8, 0): 163 << 10, (9, 0): 227 << 10}.get(self._version_of_device, 99 << 10)
        self._modules, self._functions = {}, []

    def _DeviceGetAttribute(self, value, key, device):
        major, minor = self._version_of_device
        value[0] = {1: 1024, 10: 32, 16: _MULTIPROCESSORS, 75: major, 76: minor, 97: self.most_shared}[key]

    # --- code ---

    def _ModuleLoad(self, module, text, count=0, options=None, values=None):
        code = ctypes.string_at(text)
        if b".version" not in code:
            return INVALID_PTX
        try:
            parsed = parse_module(code.decode())
            addresses = {}
            for one in parsed.variables.values():
                if one.space in ("global", "const"):
                    address = self.grant(max(one.size, 1))
                    if address is None:
                        return OUT_OF_MEMORY
                    self.place(address, (one.data or bytes(one.size))[: one.size])
                    addresses[one.name] = address
        except BaseException as error:  # nothing may leave a function that the driver calls
            return self.failed(error)
        module[0] = 0x6000 + len(self._modules)
        self._modules[module[0]] = parsed, addresses

    def _ModuleUnload(self, module):
        _, addresses = self._modules[module]
        self._modules[module] = None
        for address in addresses.values():
            self.take_back(address)

    def _ModuleGetFunction(self, function, module, name):
        text = ctypes.string_at(name).decode()
        parsed, addresses = self._modules[module]
        if text not in parsed.functions or not parsed.functions[text].is_kernel:
            return NOT_FOUND
        self._functions.append([parsed, text, addresses, None])
        function[0] = len(self._functions)

    def _cuFuncSetAttribute(self, function, attribute, value):
        assert attribute == 8
        if value > self.most_shared:
            return INVALID_VALUE
        self.allowed_shared[function] = value

    # --- launches ---

    def _code(self, handle) -> KernelCode:
        found = self._functions[handle - 1]
        if found[3] is None:
            found[3] = KernelCode(*found[:3])
        return found[3]

    def _LaunchKernel(self, handle, gx, gy, gz, bx, by, bz, shared, stream, arguments, extra):
        if self.stream_status != SUCCESS:
            return self.stream_status
        try:
            code = self._code(handle)
            threads = bx * by * bz
            most = code.kernel.most_threads or 1024
            if threads > most or max(gy, gz) > 65535 or min(gx, gy, gz) < 1:
                return INVALID_VALUE
            if shared > self.allowed_shared.get(handle, _STATIC_SHARED_BYTES) or code.shared_bytes > _STATIC_SHARED_BYTES:
                return INVALID_VALUE
            values = bytearray(code.parameter_bytes)
            for number, (at, one) in enumerate(code.parameters.values()):
                values[at : at + one.size] = ctypes.string_at(arguments[number], one.size)
                if one.pointed > 1 and int.from_bytes(values[at : at + 8], "little") % one.pointed:
                    raise MisalignedAddressError(f"argument {number} of {code.kernel.name}, which says {one.pointed}")
            self.processor.run(code, (gx, gy, gz), (bx, by, bz), bytes(values), shared)
        except IllegalAddressError as error:
            self.failure, self.stream_status = error, ILLEGAL_ADDRESS
        except MisalignedAddressError as error:
            self.failed(error)
            self.stream_status = _MISALIGNED_ADDRESS
        except BaseException as error:  # nothing may leave a function that the driver calls
            self.stream_status = self.failed(error)
        return SUCCESS
