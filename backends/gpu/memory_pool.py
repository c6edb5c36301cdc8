"""Memory of a device in blocks that are kept for the next ones: to ask the driver takes as long as a kernel does.

The driver gives segments. What is asked for is cut from the smallest free block that has room. A block that comes back is kept
for the next one of its size; only where there is no free block with room, those become one with their free neighbours. Small
blocks have segments of their own, so that one which stays does not keep a large segment from becoming free. All use of the
memory is in one queue, so a block may be given out again before what used it has run.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from dataclasses import dataclass

from ...runtime.locks import new_lock
from .drivers.driver import ALIGNMENT, Device
from .errors import DeviceOutOfMemoryError

SMALL = 1 << 20  # what is larger is cut from segments for large blocks
SEGMENT = 2 << 20  # of small blocks; large ones are of a multiple of it
LARGE_SEGMENT = 32 << 20  # for what is smaller than half of it


@dataclass(slots=True)
class _Span:
    """A part of a segment, between its neighbours in it."""

    address: int
    size: int
    small: bool
    before: _Span | None = None
    after: _Span | None = None


class Block:
    """Memory that is given back when nothing refers to this object."""

    __slots__ = ("address", "size", "_span", "_returned", "__weakref__")

    def __init__(self, span: _Span, size: int, returned: deque[_Span]) -> None:
        self.address, self.size, self._span, self._returned = span.address, size, span, returned

    def __del__(self) -> None:
        self._returned.append(self._span)


class MemoryPool:
    """Blocks of a device's memory. Safe to use from several threads at once, and by finalizers at any time.

    >>> from types import SimpleNamespace
    >>> device = SimpleNamespace(allocate=lambda size: 1 << 20, free=print)
    >>> pool = MemoryPool(device)
    >>> block = pool.allocate(1000)
    >>> block.address == 1 << 20, pool.statistics()["bytes_in_use"]
    (True, 1024)
    >>> del block
    >>> pool.release(), pool.statistics()["bytes_reserved"]
    1048576
    (2097152, 0)
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self._lock = new_lock()
        # Sizes and addresses of free blocks in order, for small and large ones.
        self._free: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
        self._spans: dict[int, _Span] = {}  # the free ones
        self._kept: dict[int, list[_Span]] = {}  # those that came back, by size
        # A finalizer may run between any two steps, those under the lock too, so what it gives back waits here.
        self._returned: deque[_Span] = deque()
        self._blocks = self._in_use = self._peak = self._reserved = self._allocations = 0

    def allocate(self, size: int) -> Block:
        """So many bytes, aligned to 256. Raises DeviceOutOfMemoryError, after all that is free went back to the driver."""
        rounded = -(-size // ALIGNMENT) * ALIGNMENT or ALIGNMENT
        with self._lock:
            if self._returned:
                self._take_back()
            kept = self._kept.get(rounded)
            span = kept.pop() if kept else self._new(rounded, size)
            self._blocks += 1
            self._allocations += 1
            in_use = self._in_use = self._in_use + rounded
            if in_use > self._peak:
                self._peak = in_use
            return Block(span, size, self._returned)

    def release(self) -> int:
        """Give the driver back what is free, and return how many bytes that was."""
        with self._lock:
            self._take_back()
            self._join_kept()
            whole = [span for span in self._spans.values() if span.before is span.after is None]
            for span in whole:
                self._remove(span)
                self._reserved -= span.size
                self.device.free(span.address)
            return sum(span.size for span in whole)

    def statistics(self) -> dict[str, int]:
        """Bytes in use, at most so far, and of the driver; how many blocks were and are given out."""
        with self._lock:
            self._take_back()
            return {
                "bytes_in_use": self._in_use,
                "peak_bytes_in_use": self._peak,
                "bytes_reserved": self._reserved,
                "allocations": self._allocations,
                "blocks_in_use": self._blocks,
            }

    # --- under the lock ---

    def _new(self, size: int, asked: int) -> _Span:
        small = size <= SMALL
        span = self._best_fit(size, small)
        if span is None:
            self._join_kept()
            span = self._best_fit(size, small) or self._segment(size, small, asked)
        self._cut(span, size)
        return span

    def _best_fit(self, size: int, small: bool) -> _Span | None:
        free = self._free[small]
        found = bisect_left(free, (size, 0))
        return self._remove(self._spans[free[found][1]]) if found < len(free) else None

    def _segment(self, size: int, small: bool, asked: int) -> _Span:
        least = SEGMENT if small else LARGE_SEGMENT if size < LARGE_SEGMENT // 2 else size
        rounded = -(-least // SEGMENT) * SEGMENT
        try:
            address = self.device.allocate(rounded)
        except DeviceOutOfMemoryError:
            self.release()
            rounded = size  # no more than has to be
            try:
                address = self.device.allocate(rounded)
            except DeviceOutOfMemoryError as error:
                raise DeviceOutOfMemoryError(
                    f"{error}; arrays of this process have {self._in_use:,} bytes in {self._blocks:,} blocks, "
                    f"{self._reserved - self._in_use:,} more are between them, the block needed is of {asked:,} bytes"
                ) from None
        self._reserved += rounded
        return _Span(address, rounded, small)

    def _cut(self, span: _Span, size: int) -> None:
        """Leave what is not needed of a span as a free one after it."""
        if span.size == size:
            return
        rest = _Span(span.address + size, span.size - size, span.small, before=span, after=span.after)
        if span.after is not None:
            span.after.before = rest
        span.after, span.size = rest, size
        self._add(rest)

    def _take_back(self) -> None:
        returned, kept = self._returned, self._kept
        while returned:
            span = returned.popleft()
            size = span.size
            self._blocks -= 1
            self._in_use -= size
            if size in kept:
                kept[size].append(span)
            else:
                kept[size] = [span]

    def _join_kept(self) -> None:
        """Make what is kept one with its free neighbours."""
        kept, self._kept = self._kept, {}
        for spans in kept.values():
            for span in spans:
                self._make_free(span)

    def _make_free(self, span: _Span) -> None:
        # A span that was returned and is not taken back yet is no neighbour to be one with: it is not among the free.
        if span.after is not None and span.after.address in self._spans:
            self._join(span, self._remove(span.after))
        if span.before is not None and span.before.address in self._spans:
            before = self._remove(span.before)
            self._join(before, span)
            span = before
        self._add(span)

    def _join(self, span: _Span, after: _Span) -> None:
        span.size += after.size
        span.after = after.after
        if span.after is not None:
            span.after.before = span

    def _add(self, span: _Span) -> None:
        self._spans[span.address] = span
        insort(self._free[span.small], (span.size, span.address))

    def _remove(self, span: _Span) -> _Span:
        del self._spans[span.address]
        free = self._free[span.small]
        del free[bisect_left(free, (span.size, span.address))]
        return span
