"""HIP's library with an emulated device: the driver's functions, whose launches run the code objects' machine code."""

from __future__ import annotations

import ctypes
import struct

from code_object_reader import dynamic_symbols, read_elf
from emulated_library import EmulatedLibrary
from host_as_device import HIP_EXTRA, ILLEGAL_ADDRESS, INVALID_VALUE, NOT_FOUND, OUT_OF_MEMORY, SUCCESS
from phlox.backends.gpu.drivers.hip import HIP

from .accesses import accesses_of
from .instructions import is_rdna
from .memory import DeviceMemory, IllegalAddressError
from .notes import kernels_of
from .processor import Kernel, Processor

_SHARED_BYTES = 64 << 10
_EXECUTABLE = 1  # of segments


class EmulatedHip(EmulatedLibrary):
    """The library."""

    def __init__(self, architecture: str) -> None:
        super().__init__(architecture, HIP, HIP_EXTRA)
        self._loaded, self._functions = {}, []
        self.processor = Processor(architecture, DeviceMemory(self.data, self.begin, self.granted, self.written))

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
        base = self.grant(end)
        if base is None:
            return OUT_OF_MEMORY
        self.place(base, bytes(end))
        for one in elf.iter_segments("PT_LOAD"):
            self.place(base + one["p_vaddr"], one.data())
        module[0] = base
        (text,) = [one.data() for one in elf.iter_segments("PT_LOAD") if one["p_flags"] & _EXECUTABLE]
        self._loaded[base] = dynamic_symbols(elf), kernels_of(elf), accesses_of(text, self.architecture)

    def _ModuleUnload(self, module):
        del self._loaded[module]
        self.processor.forget(module, module + self.sizes[module][0])
        self.take_back(module)

    def _ModuleGetFunction(self, function, module, name):
        text = ctypes.string_at(name).decode()
        symbols, notes, accesses = self._loaded[module]
        if text not in notes:
            return NOT_FOUND
        note = notes[text]
        address = module + symbols[note[".symbol"]]["st_value"]
        try:
            kernel = Kernel.read(text, self.architecture, ctypes.string_at(address, 64), address, accesses)
            # HIP takes sizes from the notes, the processor from the descriptor.
            assert note[".kernarg_segment_size"] == kernel.argument_bytes
            assert note[".group_segment_fixed_size"] == kernel.shared_bytes
            assert note[".private_segment_fixed_size"] == kernel.private_bytes
            assert note[".wavefront_size"] == kernel.lanes
            assert not note[".uses_dynamic_stack"], "memory of lanes without a known size"
        except (AssertionError, NotImplementedError) as error:
            return self.failed(error)
        self._functions.append((kernel, note))
        function[0] = len(self._functions)

    # --- launches ---

    def _LaunchKernel(self, handle, gx, gy, gz, bx, by, bz, shared, stream, arguments, extra):
        if self.stream_status != SUCCESS:
            return SUCCESS  # who waits is told
        kernel, note = self._functions[handle - 1]
        threads = bx * by * bz
        if threads > note[".max_flat_workgroup_size"] or kernel.shared_bytes + shared > _SHARED_BYTES:
            return INVALID_VALUE
        address = self.grant(max(16, note[".kernarg_segment_size"]))
        if address is None:
            return OUT_OF_MEMORY
        explicit = [one for one in note.get(".args", ()) if not one[".value_kind"].startswith("hidden_")]
        for number, one in enumerate(explicit):
            value = ctypes.string_at(arguments[number], one[".size"])
            self.place(address + one[".offset"], value)
        try:
            self.processor.run(kernel, (gx, gy, gz), (bx, by, bz), address, shared)
        except IllegalAddressError as error:
            self.failure, self.stream_status = error, ILLEGAL_ADDRESS
        except BaseException as error:  # nothing may leave a function that the driver calls
            self.stream_status = self.failed(error)
        finally:
            self.take_back(address)
        return SUCCESS
