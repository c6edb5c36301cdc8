"""Memory of an emulated NVIDIA device: that of the device, of each block and of each thread, and what is checked of accesses.

Addresses without a space are those of the device's memory, or lie in a window for the block's or the thread's.
"""

from __future__ import annotations

import numpy as np
from emulated_library import GRANULE

SHARED_WINDOW, LOCAL_WINDOW = 1 << 50, 1 << 51
UNWRITTEN = 0xA5
_NOBODY, _SEVERAL, _ATOMIC = -1, -2, -3
_MANY = (1 << 32) - 1  # blocks, or ones that change bytes atomically


class IllegalAddressError(Exception):
    """An access of memory that is not there."""


class MisalignedAddressError(Exception):
    """An access at an address that is no multiple of its size."""


class RaceError(Exception):
    """Threads that read and write the same bytes with nothing that says which comes first."""


class DeviceMemory:
    """The device's. ``written`` and ``kept`` are places that a launch has written, and that it said no one would write.

    Blocks of a launch may write the same bytes only where all of them do it atomically, and read what others write only so. It
    is known of each unit of bytes which block of which launch has written and read it, by numbers that grow with each launch.
    """

    def __init__(self, data: np.ndarray, begin: int, granted: np.ndarray) -> None:
        self.views = {size: data.view(f"u{size}") for size in (1, 2, 4, 8)}
        self.begin, self.size, self.granted = begin, data.size, granted
        self._is_written = np.zeros(data.size, bool)
        self.written, self.kept = [], []
        self._unit, self._launch, self._users = 0, 0, {}

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

    def begin_launch(self, blocks, unit):
        """``unit`` is the least size of the launch's accesses."""
        self.written, self.kept = [], []
        self._launch += 1 << 32
        self._unit = unit if blocks > 1 else 0
        if self._unit and unit not in self._users:
            self._users[unit] = [np.zeros(self.size // unit, np.int64) for _ in range(2)]

    def _units_of_others(self, places, size, running, only_written=False):
        """By unit: where it is, which blocks ask, and what they are; raises RaceError where another block is there."""
        if not self._unit:
            return
        own = self._launch + 1 + running.block_numbers
        writers, readers = self._users[self._unit]
        for number in range(size // self._unit):
            at = places // self._unit + number
            for known in (writers,) if only_written else (writers, readers):
                user = known[at]
                others = (user > self._launch) & (user != own)
                if only_written:  # an older value of what is changed atomically may be seen
                    others &= user != self._launch + _MANY
                if others.any():
                    raise RaceError("blocks of a launch read and write the same bytes of the device's memory")
            yield at, own, writers, readers

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
        for at, own, _, readers in self._units_of_others(places, size * count, running, only_written=True):
            before = readers[at]
            readers[at] = own
            others = ((before > self._launch) & (before != own)) | (readers[at] != own)
            if others.any():
                readers[at[others]] = self._launch + _MANY
        view = self.views[size]
        return [view[places // size + number] for number in range(count)]

    def write(self, places, size, values, running):
        self.written.append((places, size * len(values)))
        for at, own, writers, _ in self._units_of_others(places, size * len(values), running):
            writers[at] = own
            if (writers[at] != own).any():
                raise RaceError("blocks of a launch write the same bytes of the device's memory")
        view = self.views[size]
        for number, value in enumerate(values):
            view[places // size + number] = value

    def note_atomic(self, places, size, running):
        self.written.append((places, size))
        if not self._unit:
            return
        own, atomic = self._launch + 1 + running.block_numbers, self._launch + _MANY
        for number in range(max(1, size // self._unit)):
            at = places // self._unit + number
            writers, _ = self._users[self._unit]
            user = writers[at]
            if ((user > self._launch) & (user != own) & (user != atomic)).any():
                raise RaceError("bytes of the device's memory that are changed atomically are written otherwise")
            writers[at] = atomic


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
        # Of bytes that have been written, whether products of groups of warps see them; not known before the first fence.
        self._unseen, self._not_shown = None, []

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
            if ((writers != _NOBODY) & (writers != threads) & (writers != _ATOMIC)).any():
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
            if self._unseen is not None:
                self._unseen[at] = True
                self._not_shown.append((at, threads))
            if (self._writers[at] != threads).any():
                raise RaceError("several threads write the same byte of the block's memory")

    def note_atomic(self, places, size, running):
        for at in self._units(places, size):
            writers = self._writers[at]
            if ((writers != _NOBODY) & (writers != _ATOMIC) & (writers != running.lanes)).any():
                raise RaceError("memory of the block that is changed atomically is written otherwise")
            self._writers[at] = _ATOMIC

    def show_to_products(self, threads):
        """fence.proxy.async: what these threads have written may be read by products."""
        if self._unseen is None:
            self._unseen = np.zeros(self._writers.size, bool)
        waiting, self._not_shown = self._not_shown, []
        for at, writers in waiting:
            here = np.isin(writers, threads)
            self._unseen[at[here]] = False
            if not here.all():
                self._not_shown.append((at[~here], writers[~here]))

    def require_shown(self, places):
        if self._unseen is None or self._unseen[places // self._unit].any():
            raise RaceError("a product reads memory of the block that no fence.proxy.async has shown to it")

    def forget(self, blocks):
        """These blocks have passed a barrier."""
        for known in (self._writers, self._readers):
            known.reshape(-1, self.size // self._unit)[blocks] = _NOBODY
