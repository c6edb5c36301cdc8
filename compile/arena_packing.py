"""Places in one arena for buffers, so that those whose lives do not overlap may share memory."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

# Each buffer is compared with all others up to so many.
_FEW_BUFFERS = 512


@dataclass(eq=False)
class Buffer:
    """A piece of memory. ``kind`` is argument, result, constant or temporary; ``number`` counts arguments and results.

    ``start`` and ``end`` bound its life on the time line; ``offset`` is its place in the arena, for temporaries.
    """

    kind: str
    size: int
    number: int = -1
    start: int = 0
    end: int = 0
    offset: int = -1
    literal: object = None

    @property
    def is_unread(self) -> bool:
        """Whether nothing is known to read what is written there: it lives while one instruction runs."""
        return self.kind == "temporary" and self.start == self.end


def pack(buffers: Sequence[Buffer], alignment: int) -> int:
    """Give each buffer an offset, a multiple of the alignment; the size of the arena."""
    if len(buffers) <= _FEW_BUFFERS:
        _pack_by_size(buffers, alignment)
    else:
        _pack_by_time(buffers, alignment)
    return max((_aligned(b.offset + b.size, alignment) for b in buffers), default=0)


def _aligned(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


def _pack_by_size(buffers: Sequence[Buffer], alignment: int) -> None:
    """The lowest place that no buffer of an overlapping life holds, the largest buffer first."""
    placed: list[Buffer] = []
    for buffer in sorted(buffers, key=lambda b: -b.size):
        offset = 0
        overlapping = [other for other in placed if other.start <= buffer.end and buffer.start <= other.end]
        for other in sorted(overlapping, key=lambda b: b.offset):
            if offset + buffer.size <= other.offset:
                break
            offset = max(offset, _aligned(other.offset + other.size, alignment))
        buffer.offset = offset
        placed.append(buffer)


def _pack_by_time(buffers: Sequence[Buffer], alignment: int) -> None:
    """The smallest gap that is free when a life begins, the earliest buffer first; in n log n steps."""
    gaps = _Gaps()
    alive: list[tuple[int, int, int]] = []  # the end of a life, offset, size
    for buffer in sorted(buffers, key=lambda b: (b.start, -b.size)):
        while alive and alive[0][0] < buffer.start:
            _, offset, size = heappop(alive)
            gaps.give_back(offset, size)
        size = _aligned(buffer.size, alignment)
        buffer.offset = gaps.take(size)
        heappush(alive, (buffer.end, buffer.offset, size))


class _Gaps:
    """The free parts of an arena, which grows where none is large enough."""

    def __init__(self) -> None:
        self.arena_size = 0
        self.by_size: list[tuple[int, int]] = []  # size, offset
        self.size_at: dict[int, int] = {}  # by the offset of a gap's begin
        self.size_before: dict[int, int] = {}  # by the offset of a gap's end

    def take(self, size: int) -> int:
        if not size:
            return 0
        found = bisect_left(self.by_size, (size, 0))
        if found < len(self.by_size):
            gap, offset = self.by_size[found]
            self._remove(offset, gap)
        else:
            gap = self.size_before.get(self.arena_size, 0)  # the last gap becomes larger
            offset = self.arena_size - gap
            if gap:
                self._remove(offset, gap)
            gap, self.arena_size = size, offset + size
        if gap > size:
            self._add(offset + size, gap - size)
        return offset

    def give_back(self, offset: int, size: int) -> None:
        if not size:
            return
        before, after = self.size_before.get(offset, 0), self.size_at.get(offset + size, 0)
        if before:
            self._remove(offset - before, before)
        if after:
            self._remove(offset + size, after)
        self._add(offset - before, before + size + after)

    def _add(self, offset: int, size: int) -> None:
        insort(self.by_size, (size, offset))
        self.size_at[offset] = self.size_before[offset + size] = size

    def _remove(self, offset: int, size: int) -> None:
        del self.by_size[bisect_left(self.by_size, (size, offset))]
        del self.size_at[offset], self.size_before[offset + size]
