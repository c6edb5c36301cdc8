"""Records in the memory of a block, sorted by a bitonic network: whatever is compared, the result is a permutation.

Source: K. E. Batcher, "Sorting networks and their applications", 1968.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from ...llvm.arrays import Array
from ...llvm.index import Affine
from ...llvm.loops import carried_loop
from ...llvm.types import I32
from ..kernel import Kernel, wide
from .sort_order import Record, SortOrder

_MOST_THREADS = 256
# What every family of devices has for a block, at least, and how many records of it are a tile, at most.
_SHARED_BYTES, _MOST_RECORDS = 32 << 10, 2048
# So many rounds of a thread are written out one by one.
_UNROLLED = 4


def tile_size(order: SortOrder) -> int:
    """How many records are sorted in a block at most, a power of two."""
    size = _MOST_RECORDS
    while size * order.record_bytes > _SHARED_BYTES:
        size //= 2
    return size


def threads_for(slots: int) -> int:
    return max(1, min(_MOST_THREADS, slots // 2))


class Tile:
    """So many records, a power of two, in the memory of a block."""

    def __init__(self, kernel: Kernel, order: SortOrder, slots: int) -> None:
        self.kernel, self.order, self.slots = kernel, order, slots
        self.arrays = [Array(kernel.shared(slots * one.byte_size), one.with_dimensions((slots,))) for one in order.shapes]

    def load(self, place: ir.Value) -> Record:
        b = self.kernel.builder
        return [array.load(b, (Affine(wide(b, place)),), 1) for array in self.arrays]

    def store(self, place: ir.Value, record: Record) -> None:
        b = self.kernel.builder
        for array, value in zip(self.arrays, record):
            array.store(b, (Affine(wide(b, place)),), value, 1)

    def each(self, count: int, body: Callable[[ir.Value], None]) -> None:
        """Run ``body(number)`` for all i32 below a power of two, divided among the threads."""
        b, threads = self.kernel.builder, self.kernel.grid.threads[0]
        thread = self.kernel.thread()
        if count < threads:
            with b.if_then(b.icmp_unsigned("<", thread, I32(count))):
                body(thread)
        elif count // threads <= _UNROLLED:
            for number in range(count // threads):
                body(b.add(thread, I32(number * threads)))
        else:

            def one(number: ir.Value, _: list) -> tuple:
                body(b.add(thread, b.mul(b.trunc(number, I32), I32(threads))))
                return ()

            carried_loop(b, 0, count // threads, 1, (), one, "each")

    def sort(self, size: int) -> None:
        """Sort each run of so many records, a power of two. Begins and ends with a barrier."""
        b = self.kernel.builder
        self.kernel.barrier()

        def merged(level: ir.Value, _: list) -> tuple:
            level = b.trunc(level, I32)
            self._exchange(b.sub(level, I32(1)), is_mirrored=True)
            self._exchange_down(b.sub(level, I32(2)))
            return ()

        carried_loop(b, 1, size.bit_length(), 1, (), merged, "level")

    def merge(self) -> None:
        """Sort what ascends up to somewhere, and descends behind that. Begins and ends with a barrier."""
        self.kernel.barrier()
        self._exchange_down(I32(self.slots.bit_length() - 2))

    def _exchange_down(self, shift: ir.Value) -> None:
        """Exchange at all distances from this power of two to 1."""
        b = self.kernel.builder

        def step(number: ir.Value, _: list) -> tuple:
            self._exchange(b.sub(shift, b.trunc(number, I32)), is_mirrored=False)
            return ()

        carried_loop(b, 0, b.sext(b.add(shift, I32(1)), ir.IntType(64)), 1, (), step, "distance", most=self.slots.bit_length())

    def _exchange(self, shift: ir.Value, is_mirrored: bool) -> None:
        """Put pairs at a distance of this power of two in order; or those that mirror each other in runs of twice as many."""
        b = self.kernel.builder
        half = b.shl(I32(1), shift)
        mask = b.sub(half, I32(1))

        def pair(number: ir.Value) -> None:
            offset = b.and_(number, mask)
            first = b.add(b.shl(b.lshr(number, shift), b.add(shift, I32(1))), offset)
            if is_mirrored:
                second = b.add(b.sub(first, offset), b.sub(b.add(half, mask), offset))
            else:
                second = b.add(first, half)
            x, y = self.load(first), self.load(second)
            with b.if_then(self.order.less(b, y, x)):
                self.store(first, y)
                self.store(second, x)

        self.each(self.slots // 2, pair)
        self.kernel.barrier()
