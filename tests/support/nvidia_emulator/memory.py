"""Memory of an emulated NVIDIA device: that of the device, of each block and of each thread, and what is checked of accesses.

Addresses without a space are those of the device's memory, or lie in a window for the block's or the thread's.
"""

from __future__ import annotations

import numpy as np
from access_log import AccessLog, DeviceLog, RaceError, of_several, units_of
from emulated_library import GRANULE, UNWRITTEN
from written_bytes import WrittenBytes

SHARED_WINDOW, LOCAL_WINDOW = 1 << 50, 1 << 51


class IllegalAddressError(Exception):
    """An access of memory that is not there."""


class MisalignedAddressError(Exception):
    """An access at an address that is no multiple of its size."""


class DeviceMemory:
    """The device's. ``written`` says what was ever written, ``log`` what a launch does."""

    def __init__(self, data: np.ndarray, begin: int, granted: np.ndarray, written: WrittenBytes) -> None:
        self.views = {size: data.view(f"u{size}") for size in (1, 2, 4, 8)}
        self.begin, self.size, self.granted = begin, data.size, granted
        self.written, self.log = written, DeviceLog(data.size, has_constants=True)

    def places(self, addresses, size, running):
        offsets = (addresses - np.uint64(self.begin)).astype(np.int64)
        low, high = offsets.min(), offsets.max()
        wrong = (offsets < 0) | (offsets > self.size - size) if low < 0 or high > self.size - size else None
        if wrong is None and not (fine := self.granted[offsets // GRANULE]).all():
            wrong = ~fine
        if wrong is not None:
            raise IllegalAddressError(f"{size} bytes at {int(np.broadcast_to(addresses, offsets.shape)[wrong][0]):#x}")
        require_alignment(offsets, size)
        return offsets

    def read(self, places, size, count, running, is_kept=False):
        self.note_read(places, size * count, running.stamps, is_kept)
        view = self.views[size]
        return [view[places // size + number] for number in range(count)]

    def note_read(self, places, size, stamps, is_kept=False):
        self.written.require(places, size)
        self.log.read(places, size, stamps, is_kept)

    def write(self, places, size, values, running):
        self.written.note(places, size * len(values))
        self.log.write(places, size * len(values), running.stamps)
        view = self.views[size]
        for number, value in enumerate(values):
            view[places // size + number] = value

    def note_atomic(self, places, size, running, in_block=False, **kind):
        self.written.note_atomic(places, size, **kind)
        self.log.change(places, size, running.stamps, in_block)


def require_alignment(offsets, size):
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
        self.written = WrittenBytes(data.size)

    def _places(self, offsets, size, numbers, what):
        offsets = np.broadcast_to(offsets, numbers.shape).astype(np.int64)
        if offsets.size and (offsets.min() < 0 or offsets.max() > self.limit - size):
            wrong = offsets[(offsets < 0) | (offsets > self.limit - size)][0]
            raise IllegalAddressError(f"{size} bytes at {int(wrong):#x} of the {self.limit} of a {what}")
        require_alignment(offsets, size)
        return numbers * self.size + offsets

    def read(self, places, size, count, running, is_kept=False):
        self.written.require(places, size * count)
        view = self.views[size]
        return [view[places // size + number] for number in range(count)]

    def write(self, places, size, values, running):
        self.written.note(places, size * len(values))
        view = self.views[size]
        for number, value in enumerate(values):
            view[places // size + number] = value

    def note_atomic(self, places, size, running, in_block=False, **kind):
        self.written.note_atomic(places, size, **kind)


class LocalMemory(_OfEach):
    def places(self, addresses, size, running):
        return self._places(addresses, size, running.lanes, "thread")


class SharedMemory(_OfEach):
    """A block's. ``in_flight`` is what is copied and not there yet, ``multiplied`` what products are reading."""

    def __init__(self, count, size, unit, intervals):
        super().__init__(count, size)
        self._unit = unit
        units = count * self.size // unit
        self._log = AccessLog(units, intervals, several_blocks=False)
        self.in_flight, self.multiplied = _Pending(units), _Pending(units)
        # Of bytes that have been written, whether products of groups of warps see them; not known before the first fence.
        self._unseen, self._not_shown = None, []

    def places(self, addresses, size, running):
        return self._places(addresses, size, running.blocks, "block")

    def units(self, places, size):
        return units_of(places, size, self._unit)

    def read(self, places, size, count, running, is_kept=False):
        self.note_read(places, size * count, running.stamps)
        view = self.views[size]
        return [view[places // size + number] for number in range(count)]

    def note_read(self, places, size, stamps):
        """Each thread reads so many bytes from a place on."""
        self.written.require(places, size)
        for at in self.units(places, size):
            self.in_flight.require_none(at, "memory of the block is read before a copy is there")
            self._log.read(at, stamps)

    def write(self, places, size, values, running):
        self.note_write(places, size * len(values), running.stamps, running.lanes)
        view = self.views[size]
        for number, value in enumerate(values):
            view[places // size + number] = value

    def note_write(self, places, size, stamps, threads):
        self.written.note(places, size)
        for at in self.units(places, size):
            self.in_flight.require_none(at, "memory of the block is written where a copy is still to arrive")
            self.multiplied.require_none(at, "memory of the block is written over while a product reads it")
            self._log.write(at, stamps)
            if self._unseen is not None:
                self._unseen[at] = True
                self._not_shown.append((at, threads))

    def note_atomic(self, places, size, running, in_block=False, **kind):
        super().note_atomic(places, size, running, **kind)
        for at in self.units(places, size):
            self.in_flight.require_none(at, "memory of the block is changed where a copy is still to arrive")
            self._log.change(at, running.stamps)

    def show_to_products(self, threads):
        """fence.proxy.async: what these threads have written may be read by products."""
        if self._unseen is None:
            self._unseen = np.zeros(self.in_flight.count.size, bool)
        waiting, self._not_shown = self._not_shown, []
        for at, writers in waiting:
            here = np.isin(writers, threads)
            self._unseen[at[here]] = False
            if not here.all():
                self._not_shown.append((at[~here], writers[~here]))

    def note_product(self, places, stamps):
        """Bytes that a group of warps reads, in the name of all of its threads: whatever writes them is another one."""
        self.written.require(places.reshape(-1), 1)
        units = np.unique(places // self._unit)
        if self._unseen is None or self._unseen[units].any():
            raise RaceError("a product reads memory of the block that no fence.proxy.async has shown to it")
        self.in_flight.require_none(units, "a product reads memory of the block before a copy is there")
        self._log.read(units, np.full(units.size, of_several(stamps[0])))
        self.multiplied.begin(units)
        return units


class _Pending:
    """Units of memory that something is under way from, or to, and how often."""

    def __init__(self, units):
        self.count, self._is_any = np.zeros(units, np.int16), False

    def begin(self, at):
        np.add.at(self.count, at, 1)
        self._is_any = True

    def end(self, at):
        np.subtract.at(self.count, at, 1)

    def require_none(self, at, what):
        if self._is_any and self.count[at].any():
            raise RaceError(what)
