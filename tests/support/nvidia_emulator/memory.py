"""Memory of an emulated NVIDIA device: that of the device, of each block and of each thread, and what is checked of accesses.

Addresses without a space are those of the device's memory, or lie in a window for the block's or the thread's.
"""

from __future__ import annotations

import numpy as np
from emulated_library import GRANULE

SHARED_WINDOW, LOCAL_WINDOW = 1 << 50, 1 << 51
UNWRITTEN = 0xA5
_NOBODY, _SEVERAL, _ATOMIC = -1, -2, -3


class IllegalAddressError(Exception):
    """An access of memory that is not there."""


class MisalignedAddressError(Exception):
    """An access at an address that is no multiple of its size."""


class RaceError(Exception):
    """Threads that read and write the same bytes with nothing that says which comes first."""


class DeviceMemory:
    """The device's. ``written`` and ``kept`` are places that a launch has written, and that it said no one would write."""

    def __init__(self, data: np.ndarray, begin: int, granted: np.ndarray) -> None:
        self.views = {size: data.view(f"u{size}") for size in (1, 2, 4, 8)}
        self.begin, self.size, self.granted = begin, data.size, granted
        self._is_written = np.zeros(data.size, bool)
        self.written, self.kept = [], []

    def places(self, addresses, size, running):
        offsets = (addresses - np.uint64(self.begin)).astype(np.int64)
        low, high = offsets.min(), offsets.max()
        wrong = (offsets < 0) | (offsets > self.size - size) if low < 0 or high > self.size - size else None
        if wrong is None and not (fine := self.granted[offsets // GRANULE]).all():
            wrong = ~fine
        if wrong is not None:
            raise IllegalAddressError(f"{size} bytes at {int(np.broadcast_to(addresses, offsets.shape)[wrong][0]):#x}")
        _require_alignment(offsets, size)
        return offsets

    def begin_launch(self):
        self.written, self.kept = [], []

    def end_launch(self):
        """Raises RaceError where a launch has written what it read as never written."""
        if self.written and self.kept:
            for at, size in self.written:
                for byte in range(size):
                    self._is_written[at + byte] = True
            wrong = [at[self._is_written[at]] for at, _ in self.kept if self._is_written[at].any()]
            for at, size in self.written:
                for byte in range(size):
                    self._is_written[at + byte] = False
            if wrong:
                raise RaceError(f"ld.global.nc at {self.begin + int(wrong[0][0]):#x}, which the same launch writes")

    def read(self, places, size, count, running, is_kept=False):
        if is_kept:
            self.kept.append((places, size * count))
        view = self.views[size]
        return [view[places // size + number] for number in range(count)]

    def write(self, places, size, values, running):
        self.written.append((places, size * len(values)))
        view = self.views[size]
        for number, value in enumerate(values):
            view[places // size + number] = value

    def note_atomic(self, places, size, running):
        self.written.append((places, size))


def _require_alignment(offsets, size):
    wrong = offsets & (size - 1)
    if wrong.any():
        raise MisalignedAddressError(
            f"{size} bytes at an address that is {int(wrong[wrong != 0][0])} beyond a multiple of that"
        )


class _OfEach:
    """Memory that each of several has, one behind the other."""

    def __init__(self, count, size):
        self.size = -(-max(size, 1) // 16) * 16
        self.limit = size
        data = np.full(count * self.size, UNWRITTEN, np.uint8)
        self.views = {unit: data.view(f"u{unit}") for unit in (1, 2, 4, 8)}

    def _places(self, offsets, size, numbers, what):
        offsets = np.broadcast_to(offsets, numbers.shape).astype(np.int64)
        if offsets.size and (offsets.min() < 0 or offsets.max() > self.limit - size):
            wrong = offsets[(offsets < 0) | (offsets > self.limit - size)][0]
            raise IllegalAddressError(f"{size} bytes at {int(wrong):#x} of the {self.limit} of a {what}")
        _require_alignment(offsets, size)
        return numbers * self.size + offsets

    def read(self, places, size, count, running, is_kept=False):
        view = self.views[size]
        return [view[places // size + number] for number in range(count)]

    def write(self, places, size, values, running):
        view = self.views[size]
        for number, value in enumerate(values):
            view[places // size + number] = value

    def note_atomic(self, places, size, running):
        pass


class LocalMemory(_OfEach):
    def places(self, addresses, size, running):
        return self._places(addresses, size, running.lanes, "thread")


class SharedMemory(_OfEach):
    """A block's. It is known of each ``unit`` of bytes which thread has written and read it since the last barrier."""

    def __init__(self, count, size, unit):
        super().__init__(count, size)
        self._unit = unit
        self._writers = np.full(count * self.size // unit, _NOBODY, np.int32)
        self._readers = np.full(count * self.size // unit, _NOBODY, np.int32)

    def _units(self, places, size):
        first = places // self._unit
        return [first + number for number in range(-(-size // self._unit))]

    def places(self, addresses, size, running):
        return self._places(addresses, size, running.blocks, "block")

    def read(self, places, size, count, running, is_kept=False):
        values = super().read(places, size, count, running)
        self.note_read(places, size * count, running.lanes)
        return values

    def note_read(self, places, size, threads):
        """Each thread has read so many bytes from a place on."""
        for at in self._units(places, size):
            writers = self._writers[at]
            if ((writers != _NOBODY) & (writers != threads)).any():
                raise RaceError("memory of the block is read before it is there for all threads")
            readers = self._readers[at]
            others = (readers != _NOBODY) & (readers != threads)
            self._readers[at] = threads
            mixed = others | (self._readers[at] != threads)  # of several that read it one is known now
            if mixed.any():
                self._readers[at[mixed]] = _SEVERAL

    def write(self, places, size, values, running):
        self.note_write(places, size * len(values), running.lanes)
        super().write(places, size, values, running)

    def note_write(self, places, size, threads):
        for at in self._units(places, size):
            for others in (self._readers[at], self._writers[at]):
                if ((others != _NOBODY) & (others != threads)).any():
                    raise RaceError("memory of the block is written over while another thread may read or write it")
            self._writers[at] = threads
            if (self._writers[at] != threads).any():
                raise RaceError("several threads write the same byte of the block's memory")

    def note_atomic(self, places, size, running):
        for at in self._units(places, size):
            for others in (self._readers[at], self._writers[at]):
                if ((others != _NOBODY) & (others != _ATOMIC) & (others != running.lanes)).any():
                    raise RaceError("memory of the block that is combined atomically is read or written otherwise")
            self._writers[at] = _ATOMIC

    def forget(self, blocks):
        """These blocks have passed a barrier."""
        for known in (self._writers, self._readers):
            known.reshape(-1, self.size // self._unit)[blocks] = _NOBODY
