"""Who has read and written which bytes of an emulated device's memory, and whether anything says which of two comes first.

Barriers divide what a block does into *intervals*. Two accesses are in order where one thread makes both, and where threads of
one block make them in different intervals; blocks of a launch are never in order. Of those that are not both have to be atomic,
or neither may write. "Threads" are what goes on by itself: those of NVIDIA's devices, waves of AMD's.

Source: NVIDIA's "PTX ISA" 8.1, "Memory Consistency Model": data races; LLVM's "Memory Model for Concurrent Operations".
"""

from __future__ import annotations

import numpy as np

_THREAD_BITS = 11
_SEVERAL = (1 << _THREAD_BITS) - 1  # in the place of a thread: more than one of them
_NO_BLOCK = -1


class RaceError(Exception):
    """Threads that read and write the same bytes with nothing that says which comes first."""


class Intervals:
    """Numbers of intervals, which grow with each barrier and each launch; and the block of each of a launch.

    The first one of a launch is nobody's: it stands for several blocks.
    """

    def __init__(self) -> None:
        self.first = self.count = 1
        self._blocks = np.zeros(1024, np.int64)

    def begin_launch(self) -> None:
        self.first = self.count
        self.begin(np.array([_NO_BLOCK]))

    def begin(self, blocks: np.ndarray) -> np.ndarray:
        """New ones for these blocks, one each."""
        begin = self.count - self.first
        self.count += blocks.size
        if self.count - self.first > self._blocks.size:
            self._blocks = np.resize(self._blocks, 2 * (self.count - self.first))
        self._blocks[begin : begin + blocks.size] = blocks
        return np.arange(begin, begin + blocks.size) + self.first

    def blocks_of(self, stamps: np.ndarray) -> np.ndarray:
        return self._blocks[(stamps >> _THREAD_BITS) - self.first]


def stamps_of(intervals: np.ndarray, threads: np.ndarray) -> np.ndarray:
    """Threads in intervals as one number each."""
    return intervals << _THREAD_BITS | threads


def of_several(stamp):
    """That of all threads in the same interval."""
    return stamp | _SEVERAL


def units_of(places: np.ndarray, size: int, unit: int) -> list[np.ndarray]:
    """The numbers of the units that so many bytes from each place on touch, where these begin and end as units do."""
    first = places // unit
    return [first + number for number in range(-(-size // unit))]


class AccessLog:
    """Of each unit of a memory who has written, read and atomically changed it last. Places are numbers of units.

    ``several_blocks`` is whether blocks share the memory. Where code does not say which loads, or which stores, are atomic,
    ``loads_may_be`` and ``stores_may_be``: these are in order with what is.
    """

    def __init__(self, units: int, intervals: Intervals, several_blocks: bool) -> None:
        self._intervals, self._several_blocks = intervals, several_blocks
        self._size = units
        self._writers, self._readers = np.zeros(units, np.int64), np.zeros(units, np.int64)
        self.loads_may_be = self.stores_may_be = False
        self._changers = None
        self._changed_since = 0  # no launch before this interval has changed anything atomically

    def read(self, at: np.ndarray, own: np.ndarray) -> None:
        self._require(self._writers[at], own, "read", "written")
        if self._has_changes() and not self.loads_may_be:
            self._require(self._changers[at], own, "read", "atomically changed")
        self._note(self._readers, at, own)

    def require_unchanged(self, at: np.ndarray) -> None:
        """Raises RaceError for what anybody has written since the launch began."""
        for known in (self._writers, self._changers) if self._has_changes() else (self._writers,):
            if (known[at] >= self._intervals.first << _THREAD_BITS).any():
                raise RaceError("bytes are read through a cache that does not see that the same launch has written them")

    def write(self, at: np.ndarray, own: np.ndarray) -> None:
        self._require(self._writers[at], own, "written", "written")
        self._require(self._readers[at], own, "written", "read")
        if self._has_changes() and not self.stores_may_be:
            self._require(self._changers[at], own, "written", "atomically changed")
        self._writers[at] = own
        if (self._writers[at] != own).any():
            raise RaceError("several threads write the same bytes at once")

    def change(self, at: np.ndarray, own: np.ndarray, in_block: bool = False) -> None:
        """Atomically, among the threads of the block or all."""
        if not self.stores_may_be:
            self._require(self._writers[at], own, "atomically changed", "written")
        if not self.loads_may_be:
            self._require(self._readers[at], own, "atomically changed", "read")
        if not self._has_changes():
            self._changed_since = self._intervals.first
            if self._changers is None:
                self._changers = np.zeros(self._size, np.int64)
        self._note(self._changers, at, own)
        if in_block and (self._intervals.blocks_of(self._changers[at]) == _NO_BLOCK).any():
            raise RaceError("several blocks change the same bytes atomically, and one among its own threads alone")

    def _has_changes(self) -> bool:
        return self._changed_since == self._intervals.first

    def _of_others(self, known, own):
        """Where accesses of this launch are those of another thread, or another interval."""
        return (known != own) & (known >= self._intervals.first << _THREAD_BITS)

    def _unordered(self, known, own):
        others = self._of_others(known, own)
        if not others.any():
            return others
        if self._several_blocks:
            which = np.flatnonzero(others)
            found, mine = known[which], np.broadcast_to(own, known.shape)[which]
            same = found >> _THREAD_BITS == mine >> _THREAD_BITS
            others[which] = same | (self._intervals.blocks_of(found) != self._intervals.blocks_of(mine))
            return others
        return others & (known >> _THREAD_BITS == own >> _THREAD_BITS)

    def _require(self, known, own, what, before):
        wrong = self._unordered(known, own)
        if wrong.any():
            first = np.flatnonzero(wrong)[0]
            one, other = int(known[first]), int(np.broadcast_to(own, known.shape)[first])
            raise RaceError(f"bytes are {what} by {self._name(other)} and have been {before} by {self._name(one)}, in no order")

    def _name(self, stamp):
        thread = stamp & _SEVERAL
        block = self._intervals.blocks_of(np.array(stamp))
        if block == _NO_BLOCK:
            return "several blocks"
        return f"{'several threads' if thread == _SEVERAL else f'thread {thread}'} of block {block}"

    def _note(self, stamps, at, own):
        """That these have come to places, beside those of the same interval and of other blocks."""
        before = stamps[at]
        stamps[at] = own
        after = stamps[at]
        meet = self._unordered(before, own)
        twice = after != own
        if not (meet.any() or twice.any()):
            return
        same = meet & (before >> _THREAD_BITS == own >> _THREAD_BITS)
        same_twice = twice & (after >> _THREAD_BITS == own >> _THREAD_BITS)
        here = same | same_twice
        stamps[at[here]] = own[here] | _SEVERAL
        elsewhere = (meet & ~same) | (twice & ~same_twice)
        if self._several_blocks and elsewhere.any():
            stamps[at[elsewhere]] = self._intervals.first << _THREAD_BITS


class DeviceLog:
    """What a launch does to the device's memory, so many bytes from 0 on. ``intervals`` are those of its blocks.

    What is read as constant, where the device's code ``has_constants``, no thread of the launch may write.
    """

    def __init__(self, size: int, has_constants: bool) -> None:
        self.intervals, self._has_constants = Intervals(), has_constants
        self._size, self._logs, self._unit = size, {}, 1
        self._is_written, self._written, self._constant = np.zeros(size, bool), [], []

    def begin_launch(self, unit: int, stores_may_be: bool = False) -> None:
        """``unit`` is the least size of the launch's accesses. For ``stores_may_be`` see `AccessLog`."""
        self._written, self._constant, self._unit = [], [], unit
        self.intervals.begin_launch()
        if unit not in self._logs:
            self._logs[unit] = AccessLog(self._size // unit, self.intervals, several_blocks=True)
        self._logs[unit].stores_may_be = stores_may_be

    def end_launch(self) -> None:
        if not (self._written and self._constant):
            return
        for places, size in self._written:
            for byte in range(size):
                self._is_written[places + byte] = True
        wrong = [places[found] for places, size in self._constant if (found := self._any_written(places, size)).any()]
        for places, size in self._written:
            for byte in range(size):
                self._is_written[places + byte] = False
        if wrong:
            raise RaceError(f"byte {int(wrong[0][0]):#x} is read as constant, and the same launch writes it")

    def _note_written(self, places, size):
        if self._has_constants:
            self._written.append((places, size))

    def _any_written(self, places, size):
        found = self._is_written[places]
        for byte in range(1, size):
            found = found | self._is_written[places + byte]
        return found

    def read(
        self, places: np.ndarray, size: int, stamps: np.ndarray, is_constant: bool = False, is_cached: bool = False
    ) -> None:
        """``is_cached``: what the launch has written by then is not seen."""
        if is_constant:
            self._constant.append((places, size))
        log = self._logs[self._unit]
        for at in units_of(places, size, self._unit):
            log.read(at, stamps)
            if is_cached:
                log.require_unchanged(at)

    def write(self, places: np.ndarray, size: int, stamps: np.ndarray) -> None:
        self._note_written(places, size)
        for at in units_of(places, size, self._unit):
            self._logs[self._unit].write(at, stamps)

    def change(self, places: np.ndarray, size: int, stamps: np.ndarray, in_block: bool = False, writes: bool = True) -> None:
        """``writes`` is whether it is more than a load."""
        if writes:
            self._note_written(places, size)
        for at in units_of(places, size, self._unit):
            self._logs[self._unit].change(at, stamps, in_block=in_block)
