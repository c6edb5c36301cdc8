"""Records in the memory of a block, sorted by one digit, stably: where each digit begins there, and how often it stands there.

Where the threads of a sub-group tell each other what they have, those with the same digit find each other by a ballot for each
of its bits, and the first of them counts for all. Elsewhere threads count for themselves, half a digit at a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from llvmlite import ir

from ....hlo import U16, U32, Shape
from ...llvm.arithmetic import of_width
from ...llvm.arrays import Array
from ...llvm.branches import chosen, replaced_if
from ...llvm.index import Affine
from ...llvm.types import I1, I16, I32, RegisterValue
from ...llvm.windows import select_all
from ..kernel import Kernel, wide
from ..target import Target
from .look_back import value_of_lane
from .scan_tile import THREADS, BlockScan, load_all, shared_arrays, store_all
from .sort_order import Record, SortOrder

DIGIT_BITS, DIGITS = 8, 256
_HALF_BITS, _HALVES = 4, 16
_RANK_BITS = 16  # of a record's number among those of a sub-group
# Records of a thread, and the memory that those of a tile have, which is more where a processor has more of it.
_MOST_EACH, _BYTES = 16, 16 << 10

_COUNTER = Shape(U32)

# The record that comes so many behind one of a number.
LoadRecord = Callable[[ir.Value, int], Record]


def records_of_thread(order: SortOrder, target: Target | None = None) -> int:
    """How many records of a tile a thread has; without a target as few as for any."""
    most, each = _BYTES if target is None else target.family.sort_bytes, _MOST_EACH
    while each * THREADS * order.record_bytes > most:
        each //= 2
    return each


class DigitTile(ABC):
    """Records of a block; each thread is that of the digit with its number, too. All threads call all methods."""

    def __init__(self, kernel: Kernel, order: SortOrder) -> None:
        assert THREADS == DIGITS
        self.kernel, self.order, self.each = kernel, order, records_of_thread(order, kernel.target)
        self.size = self.each * THREADS
        self.records = shared_arrays(kernel, order.shapes, self.size)

    def load(self, place: ir.Value) -> Record:
        return load_all(self.kernel, self.records, place)

    @abstractmethod
    def sort(
        self,
        count: ir.Value,
        shift: ir.Value,
        load: LoadRecord,
        total: ir.Value,
        leave: Callable[[ir.Value], None],
    ) -> tuple[ir.Value, ir.Value, ir.Value]:
        """Sort the first ``count`` records, those that ``load(number, offset)`` has, by the digit that begins at a bit.

        Returns, of the thread's digit, how often it is there, where it begins in the tile, and what all digits before it have
        of ``total``. ``leave(often)`` is called as soon as that is known. Ends with a barrier.
        """

    def _loaded(self, first: ir.Value, step: int, count: ir.Value, load: LoadRecord) -> list[Record]:
        """Records from the first of a thread on, at such steps, and behind the last what comes last; all are asked for before
        one is there.
        """
        b, steps = self.kernel.builder, [number * step for number in range(self.each)]

        def whole() -> list[RegisterValue]:
            return [value for offset in steps for value in load(first, offset)]

        def part() -> list[RegisterValue]:
            found = []
            for offset in steps:
                number = b.add(first, I32(offset))
                is_there = b.icmp_unsigned("<", number, count)
                record = load(b.select(is_there, number, b.sub(count, I32(1))), 0)
                found += select_all(b, is_there, record, self.order.padding(b))
            return found

        found = chosen(b, b.icmp_unsigned("==", count, I32(self.size)), [whole, part])
        parts = len(self.order.shapes)
        return [found[place : place + parts] for place in range(0, len(found), parts)]


def digit_tile(kernel: Kernel, order: SortOrder) -> DigitTile:
    return (_BallotTile if kernel.target.ballot is not None else _CounterTile)(kernel, order)


def sum_of(b: ir.IRBuilder) -> Callable[[list, list], list]:
    return lambda first, second: [b.add(x, y) for x, y in zip(first, second)]


class _BallotTile(DigitTile):
    def __init__(self, kernel: Kernel, order: SortOrder) -> None:
        super().__init__(kernel, order)
        self.groups = THREADS // kernel.target.sub_group
        self.counters = shared_arrays(kernel, [_COUNTER], self.groups * DIGITS)
        self.scan = BlockScan(kernel, [_COUNTER, _COUNTER], sum_of(kernel.builder))

    def sort(self, count, shift, load, total, leave):
        kernel, b, thread, size = self.kernel, self.kernel.builder, self.kernel.thread(), self.kernel.target.sub_group
        for number in range(self.groups):
            store_all(kernel, self.counters, b.add(thread, I32(number * DIGITS)), [I32(0)])
        lane, group = b.urem(thread, I32(size)), b.udiv(thread, I32(size))
        first = b.add(b.mul(group, I32(size * self.each)), lane)
        records = self._loaded(first, size, count, load)
        kernel.barrier()
        own = b.mul(group, I32(DIGITS))
        # One register holds where the counter is of a record, and the record's number among those that it counts.
        ranks = [self._ranked(lane, b.add(own, digit_of(b, record[0], shift, DIGITS))) for record in records]
        kernel.barrier()
        of_groups = [b.add(thread, I32(number * DIGITS)) for number in range(self.groups)]
        counts = [load_all(kernel, self.counters, place)[0] for place in of_groups]
        often = counts[0]
        for other in counts[1:]:
            often = b.add(often, other)
        behind = b.select(b.icmp_unsigned("==", thread, I32(DIGITS - 1)), b.sub(I32(self.size), count), I32(0))
        there = b.sub(often, behind)
        leave(there)
        self.scan.run([often, total])
        begin, before = (b.sub(upto, own) for upto, own in zip(self.scan.of(thread), (often, total)))
        following = begin
        for place, own in zip(of_groups, counts):
            store_all(kernel, self.counters, place, [following])
            following = b.add(following, own)
        kernel.barrier()
        for record, rank in zip(records, ranks):
            (first,) = load_all(kernel, self.counters, b.lshr(rank, I32(_RANK_BITS)))
            store_all(kernel, self.records, b.add(first, b.and_(rank, I32((1 << _RANK_BITS) - 1))), record)
        kernel.barrier()
        return there, begin, before

    def _ranked(self, lane: ir.Value, place: ir.Value) -> ir.Value:
        """The counter's place, and how many records of the sub-group it has counted before; it counts one for each thread."""
        kernel, b, size = self.kernel, self.kernel.builder, self.kernel.target.sub_group
        mask = ir.IntType(size)
        peers: ir.Value = mask(-1)
        for bit in range(DIGIT_BITS):
            is_set = b.trunc(b.lshr(place, I32(bit)), I1)
            having = kernel.target.ballot(b, is_set)
            peers = b.and_(peers, b.xor(having, b.select(is_set, mask(0), mask(-1))))
        of_lane = b.shl(mask(1), lane if size == 32 else b.zext(lane, mask))
        before = b.ctpop(b.and_(peers, b.sub(of_lane, mask(1))))
        address = self.counters[0].address(b, (Affine(wide(b, place)),))

        def counted() -> list[ir.Value]:
            number = b.ctpop(peers)
            number = number if size == 32 else b.trunc(number, I32)
            return [b.atomic_rmw("add", address, number, f'syncscope("{kernel.target.block_scope}") monotonic')]

        old = replaced_if(b, b.icmp_unsigned("==", before, mask(0)), [I32(0)], counted)
        leader = b.cttz(peers, I1(1))
        if size != 32:
            leader, before = b.trunc(leader, I32), b.trunc(before, I32)
        return b.or_(b.shl(place, I32(_RANK_BITS)), b.add(value_of_lane(kernel, leader, old)[0], before))


class _CounterTile(DigitTile):
    def __init__(self, kernel: Kernel, order: SortOrder) -> None:
        super().__init__(kernel, order)
        places = _HALVES * THREADS + 2 * THREADS
        self.counters = Array(kernel.shared(2 * places), Shape(U16, (places,)))
        self.begins, self.ends = (shared_arrays(kernel, [_COUNTER], DIGITS) for _ in range(2))
        self.scan = BlockScan(kernel, [_COUNTER], sum_of(kernel.builder))

    def sort(self, count, shift, load, total, leave):
        kernel, b, thread = self.kernel, self.kernel.builder, self.kernel.thread()
        numbers = [b.add(thread, I32(number * THREADS)) for number in range(self.each)]
        for number, record in zip(numbers, self._loaded(thread, THREADS, count, load)):
            store_all(kernel, self.records, number, record)
        for arrays in (self.begins, self.ends):
            store_all(kernel, arrays, thread, [I32(0)])
        kernel.barrier()
        for half in range(DIGIT_BITS // _HALF_BITS):
            self._sort_by_half(b.add(shift, I32(half * _HALF_BITS)))

        def digit_at(place: ir.Value) -> ir.Value:
            return digit_of(b, self.load(place)[0], shift, DIGITS)

        for number in numbers:
            with b.if_then(b.icmp_unsigned("<", number, count)):
                digit = digit_at(number)
                for step, end, arrays in ((-1, I32(0), self.begins), (1, b.sub(count, I32(1)), self.ends)):
                    is_at_end = b.icmp_unsigned("==", number, end)
                    other = digit_at(b.select(is_at_end, number, b.add(number, I32(step))))
                    with b.if_then(b.or_(is_at_end, b.icmp_unsigned("!=", digit, other))):
                        store_all(kernel, arrays, digit, [number if step < 0 else b.add(number, I32(1))])
        kernel.barrier()
        (begin,), (end,) = (load_all(kernel, arrays, thread) for arrays in (self.begins, self.ends))
        there = b.sub(end, begin)
        leave(there)
        return there, begin, self._sum_before(total)

    def _sum_before(self, value: ir.Value) -> ir.Value:
        self.scan.run([value])
        return self.kernel.builder.sub(self.scan.of(self.kernel.thread())[0], value)

    def _sort_by_half(self, shift: ir.Value) -> None:
        """Each thread counts the digits of its neighbouring records for itself; the counts, digit by digit, are scanned."""
        b, thread = self.kernel.builder, self.kernel.thread()
        for digit in range(_HALVES):
            self._count(b.add(thread, I32(digit * THREADS)), I16(0))
        own = b.mul(thread, I32(self.each))
        records = [self.load(b.add(own, I32(number))) for number in range(self.each)]
        ranks, counters = [], []
        for record in records:
            digit = digit_of(b, record[0], shift, _HALVES)
            counter = b.add(b.mul(digit, I32(THREADS)), thread)
            rank = self._counted(counter)
            self._count(counter, b.add(rank, I16(1)))
            ranks.append(rank)
            counters.append(counter)
        self.kernel.barrier()
        places = [b.add(b.mul(thread, I32(_HALVES)), I32(number)) for number in range(_HALVES)]
        total: ir.Value = I32(0)
        for place in places:
            total = b.add(total, b.zext(self._counted(place), I32))
        before = self._sum_before(total)
        for place in places:  # which are loaded again: that many registers would be held meanwhile
            count = b.zext(self._counted(place), I32)
            self._count(place, b.trunc(before, I16))
            before = b.add(before, count)
        self.kernel.barrier()
        for record, rank, counter in zip(records, ranks, counters):
            store_all(self.kernel, self.records, b.zext(b.add(self._counted(counter), rank), I32), record)
        self.kernel.barrier()

    def _counter_place(self, number: ir.Value) -> ir.Value:
        """Two are left free behind those that a thread scans, so that it has other banks than the next."""
        b = self.kernel.builder
        return b.add(number, b.shl(b.lshr(number, I32(_HALF_BITS)), I32(1)))

    def _count(self, number: ir.Value, value: ir.Value) -> None:
        store_all(self.kernel, [self.counters], self._counter_place(number), [value])

    def _counted(self, number: ir.Value) -> ir.Value:
        return load_all(self.kernel, [self.counters], self._counter_place(number))[0]


def digit_of(b: ir.IRBuilder, number: ir.Value, shift: ir.Value, digits: int) -> ir.Value:
    """The digit of a number that begins at a bit: i32."""
    found = of_width(b, b.lshr(number, of_width(b, shift, number.type)), I32)
    return b.and_(found, I32(digits - 1))
