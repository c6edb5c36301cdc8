"""A vendor's library whose device is emulated: its memory is a part of the process's, so that copies are those of the host."""

from __future__ import annotations

import ctypes
import os
import traceback

import numpy as np
from host_as_device import OUT_OF_MEMORY, HostAsDevice
from written_bytes import WrittenBytes

GRANULE = 16  # bytes, of which all can be accessed or none
MEMORY_BYTES = 1 << 28
_PAGE = 1 << 12
LAUNCH_FAILURE = 719
# With a seed threads go on in an order by chance, and what nobody has written is something else: NaN, large, or zero.
SEED = int(os.environ.get("EMULATED_SEED", "0"))
UNWRITTEN = (0xA5, 0xFF, 0x7F, 0x00)[SEED % 4]


class EmulatedLibrary(HostAsDevice):
    """``data`` is the device's memory from the address ``begin`` on, ``granted`` which of its granules are allocated, and
    ``written`` which of its bytes the host or a kernel has written since.

    ``failure`` is what went wrong in a kernel, if anything did: the driver only tells a number.
    """

    def __init__(self, architecture, vendor, extra) -> None:
        self.architecture = architecture
        data = np.zeros(MEMORY_BYTES + _PAGE, np.uint8)
        begin = -data.ctypes.data % _PAGE
        self.data = data[begin : begin + MEMORY_BYTES]
        self.begin = self.data.ctypes.data
        self.granted = np.zeros(MEMORY_BYTES // GRANULE, bool)
        self.written = WrittenBytes(MEMORY_BYTES)
        self._free, self.sizes = [(0, MEMORY_BYTES)], {}
        self.failure = None
        super().__init__(vendor, extra)

    def grant(self, size):
        """The address of so many bytes; None where there are not as many."""
        size_taken = -(-max(size, 1) // _PAGE) * _PAGE
        for number, (at, left) in enumerate(self._free):
            if left >= size_taken:
                self._free[number] = at + size_taken, left - size_taken
                self.sizes[self.begin + at] = size, size_taken
                self.granted[at // GRANULE : (at + size + GRANULE - 1) // GRANULE] = True
                self.data[at : at + size] = UNWRITTEN
                self.written.set(at, size_taken, False)
                return self.begin + at
        return None

    def take_back(self, address):
        size, size_taken = self.sizes.pop(address)
        at = address - self.begin
        self.granted[at // GRANULE : (at + size + GRANULE - 1) // GRANULE] = False
        # Neighbours become one again.
        places = sorted([*self._free, (at, size_taken)])
        self._free = []
        for begin, length in places:
            if self._free and sum(self._free[-1]) == begin:
                self._free[-1] = self._free[-1][0], self._free[-1][1] + length
            else:
                self._free.append((begin, length))

    def failed(self, error):
        """The status for what the emulator cannot do, and for what no kernel should do; the reason is printed."""
        traceback.print_exception(error)
        self.failure = error
        return LAUNCH_FAILURE

    def _MemAlloc(self, address, size):
        found = self.grant(size)
        if found is None:
            return OUT_OF_MEMORY
        address[0] = found

    def _MemFree(self, address):
        self.take_back(address)

    def place(self, address, values):
        """Write bytes, as the host does."""
        ctypes.memmove(address, values, len(values))
        self.written.set(address - self.begin, len(values))

    def _MemcpyHtoDAsync(self, target, source, size, stream):
        self.written.set(target - self.begin, size)
        return self._copy(target, source, size, stream)

    def _MemcpyDtoDAsync(self, target, source, size, stream):
        marks, at, to = self.written.marks, source - self.begin, target - self.begin
        marks[to : to + size] = marks[at : at + size]
        return self._copy(target, source, size, stream)

    def _copy(self, target, source, size, stream):
        ctypes.memmove(target, source, size)
        return self.stream_status

    _MemcpyDtoHAsync = _copy

    def _MemsetD8Async(self, address, byte, size, stream):
        self.written.set(address - self.begin, size)
        super()._MemsetD8Async(address, byte, size, stream)

    def _DeviceTotalMem(self, size, device):
        size[0] = MEMORY_BYTES

    def _MemGetInfo(self, free, total):
        free[0], total[0] = sum(size for _, size in self._free), MEMORY_BYTES

    def _DeviceGetName(self, name, size, device):
        text = f"emulated {self.architecture}".encode() + b"\0"
        ctypes.memmove(name, text, len(text))
