"""HIP's library with an emulated device: the driver's functions, whose launches run the code objects' machine code.

The device's memory is a part of the process's, so that copies are those of the host.
"""

from __future__ import annotations

import ctypes
import struct
import traceback

import numpy as np
from code_object_reader import dynamic_symbols, read_elf
from host_as_device import HIP_EXTRA, ILLEGAL_ADDRESS, INVALID_VALUE, NOT_FOUND, OUT_OF_MEMORY, SUCCESS, HostAsDevice
from phlox.backends.gpu.drivers.hip import HIP

from .instructions import is_rdna
from .memory import GRANULE, IllegalAddressError, Memory
from .notes import kernels_of
from .processor import Kernel, Processor

MEMORY_BYTES = 1 << 28
_PAGE = 1 << 12
_LAUNCH_FAILURE = 719
_SHARED_BYTES = 64 << 10


class EmulatedHip(HostAsDevice):
    """The library. ``failure`` is what went wrong in a kernel, if anything did: HIP only tells a number."""

    def __init__(self, architecture: str) -> None:
        self.architecture = architecture
        data = np.zeros(MEMORY_BYTES + _PAGE, np.uint8)
        begin = -data.ctypes.data % _PAGE
        self._data = data[begin : begin + MEMORY_BYTES]
        self.begin = self._data.ctypes.data
        self._granted = np.zeros(MEMORY_BYTES // GRANULE, bool)
        self._device = Memory(self._data, self.begin, self._granted)
        self._free = [(0, MEMORY_BYTES)]
        self._sizes, self._loaded, self._functions = {}, {}, []
        self.failure = None
        self.processor = Processor(architecture, self._device)
        super().__init__(HIP, HIP_EXTRA)

    # --- memory ---

    def _grant(self, size):
        size_taken = -(-max(size, 1) // _PAGE) * _PAGE
        for number, (at, left) in enumerate(self._free):
            if left >= size_taken:
                self._free[number] = at + size_taken, left - size_taken
                self._sizes[self.begin + at] = size, size_taken
                self._granted[at // GRANULE : (at + size + GRANULE - 1) // GRANULE] = True
                self._data[at : at + size] = 0xA5
                return self.begin + at
        return None

    def _take_back(self, address):
        size, size_taken = self._sizes.pop(address)
        at = address - self.begin
        self._granted[at // GRANULE : (at + size + GRANULE - 1) // GRANULE] = False
        # Neighbours become one again.
        places = sorted([*self._free, (at, size_taken)])
        self._free = []
        for begin, length in places:
            if self._free and sum(self._free[-1]) == begin:
                self._free[-1] = self._free[-1][0], self._free[-1][1] + length
            else:
                self._free.append((begin, length))

    def _MemAlloc(self, address, size):
        found = self._grant(size)
        if found is None:
            return OUT_OF_MEMORY
        address[0] = found

    def _MemFree(self, address):
        self._take_back(address)

    def _DeviceTotalMem(self, size, device):
        size[0] = MEMORY_BYTES

    def _MemGetInfo(self, free, total):
        free[0], total[0] = sum(size for _, size in self._free), MEMORY_BYTES

    def _DeviceGetName(self, name, size, device):
        text = f"emulated {self.architecture}".encode() + b"\0"
        ctypes.memmove(name, text, len(text))

    def _DeviceGetAttribute(self, value, key, device):
        lanes = 32 if is_rdna(self.architecture) else 64
        value[0] = {56: 1024, 63: 4, 74: _SHARED_BYTES, 87: lanes}[key]

    def _hipGetDevicePropertiesR0600(self, properties, number):
        text = self.architecture.encode() + b"\0"
        ctypes.memmove(properties + 1000, text, len(text))

    # --- code ---

    def _ModuleLoad(self, module, text, count=0, options=None, values=None):
        header = ctypes.string_at(text, 64)
        if header[:4] != b"\x7fELF":
            return self.refusal
        section_headers, (size, number) = struct.unpack_from("<Q", header, 40)[0], struct.unpack_from("<HH", header, 58)
        code = ctypes.string_at(text, section_headers + size * number)
        elf = read_elf(code)
        end = max(one["p_vaddr"] + one["p_memsz"] for one in elf.iter_segments("PT_LOAD"))
        base = self._grant(end)
        if base is None:
            return OUT_OF_MEMORY
        self._data[base - self.begin : base - self.begin + end] = 0
        for one in elf.iter_segments("PT_LOAD"):
            at = base - self.begin + one["p_vaddr"]
            self._data[at : at + one["p_filesz"]] = np.frombuffer(one.data(), np.uint8)
        module[0] = base
        self._loaded[base] = dynamic_symbols(elf), kernels_of(elf)

    def _ModuleUnload(self, module):
        del self._loaded[module]
        self.processor.forget(module, module + self._sizes[module][0])
        self._take_back(module)

    def _ModuleGetFunction(self, function, module, name):
        text = ctypes.string_at(name).decode()
        symbols, notes = self._loaded[module]
        if text not in notes:
            return NOT_FOUND
        note = notes[text]
        address = module + symbols[note[".symbol"]]["st_value"]
        try:
            kernel = Kernel.read(text, self.architecture, ctypes.string_at(address, 64), address)
            # HIP takes sizes from the notes, the processor from the descriptor.
            assert note[".kernarg_segment_size"] == kernel.argument_bytes
            assert note[".group_segment_fixed_size"] == kernel.shared_bytes
            assert note[".private_segment_fixed_size"] == kernel.private_bytes
            assert note[".wavefront_size"] == kernel.lanes
            assert not note[".uses_dynamic_stack"], "memory of lanes without a known size"
        except (AssertionError, NotImplementedError) as error:
            return self._failed(error)
        self._functions.append((kernel, note))
        function[0] = len(self._functions)

    # --- launches ---

    def _LaunchKernel(self, handle, gx, gy, gz, bx, by, bz, shared, stream, arguments, extra):
        kernel, note = self._functions[handle - 1]
        threads = bx * by * bz
        if threads > note[".max_flat_workgroup_size"] or kernel.shared_bytes + shared > _SHARED_BYTES:
            return INVALID_VALUE
        segment = bytearray(b"\xa5" * max(16, note[".kernarg_segment_size"]))
        explicit = [one for one in note.get(".args", ()) if not one[".value_kind"].startswith("hidden_")]
        for number, one in enumerate(explicit):
            value = ctypes.string_at(arguments[number], one[".size"])
            segment[one[".offset"] : one[".offset"] + one[".size"]] = value
        address = self._grant(len(segment))
        if address is None:
            return OUT_OF_MEMORY
        ctypes.memmove(address, bytes(segment), len(segment))
        try:
            self.processor.run(kernel, (gx, gy, gz), (bx, by, bz), address, shared)
        except IllegalAddressError as error:
            self.failure, self.stream_status = error, ILLEGAL_ADDRESS
        except BaseException as error:  # nothing may leave a function that the driver calls
            self.stream_status = self._failed(error)
        finally:
            self._take_back(address)
        return SUCCESS

    def _failed(self, error):
        """The status for what the emulator cannot do, and for what no kernel should do; the reason is printed."""
        traceback.print_exception(error)
        self.failure = error
        return _LAUNCH_FAILURE
