"""Long lines of numbers: a radix sort from the least significant digit, stable.

Each digit takes three kernels: blocks count the digits of their parts of a line; the counts are scanned; blocks move their
parts, a tile after the other, which they sort by the digit in their memory, half a digit at a time, so that what goes to
neighbouring places is written by neighbouring threads. Source: D. Merrill, A. Grimshaw, "High performance and scalable radix
sorting", 2011.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from llvmlite import ir

from ....hlo import S32, U16, U32, Instruction, Shape
from ...llvm.arrays import Array
from ...llvm.elemental import Binding
from ...llvm.index import Affine, i64, least
from ...llvm.loops import carried_loop
from ...llvm.types import I16, I32, I64
from ..frame import Frame, Leaf, Stored
from ..kernel import Grid, Kernel, wide
from .scan_tile import ScanTile, TileShape
from .sort_merge import aligned, records_bytes, stored_records
from .sort_order import Lines, Record, SortedRecords, SortOrder, flat

_DIGIT_BITS, _DIGITS = 8, 256
_HALF_BITS, _HALVES = 4, 16
# So many parts keep a device busy; as many counters has each digit in the memory of a block, so that threads seldom meet.
_BUSY_BLOCKS, _COPIES = 1024, 8
# Records of a thread; fewer where they are wide.
_MOST_EACH, _BYTES_OF_EACH = 8, 64

_COUNTER = Shape(U32)
THREADS = 256


@dataclass(frozen=True, eq=False)
class RadixSort:
    """A sort of lines by numbers of so many bits."""

    order: SortOrder
    lines: Lines
    bits: int

    @property
    def each(self) -> int:
        return _MOST_EACH if _MOST_EACH * self.order.record_bytes <= _BYTES_OF_EACH else _MOST_EACH // 2

    @property
    def tile(self) -> int:
        return self.each * THREADS

    @property
    def part_size(self) -> int:
        wanted = -(-_BUSY_BLOCKS // self.lines.count)
        return -(-self.lines.size // (wanted * self.tile)) * self.tile

    @property
    def parts(self) -> int:
        return -(-self.lines.size // self.part_size)

    @property
    def total(self) -> int:
        return self.lines.count * self.lines.size

    @property
    def scratch_bytes(self) -> int:
        """Memory for the records, twice, and for counts."""
        counters = aligned(4 * _DIGITS * self.lines.count * self.parts) + aligned(4 * _DIGITS * self.lines.count)
        return 2 * records_bytes(self.order, self.total) + counters


def radix_sort(
    frame: Frame, instruction: Instruction, key: tuple, radix: RadixSort, records: SortedRecords, inputs: list[Leaf]
) -> list[Stored]:
    """The records of all lines, sorted, one line after the other."""
    order, lines, parts = radix.order, radix.lines, radix.parts
    size = records_bytes(order, radix.total)
    held, spare = (stored_records(frame, instruction, order, radix.total, n * size) for n in (0, 1))
    counts = frame.scratch(instruction, _COUNTER.with_dimensions((lines.count * _DIGITS * parts,)), 2 * size)
    offset = 2 * size + aligned(4 * _DIGITS * lines.count * parts)
    totals = frame.scratch(instruction, _COUNTER.with_dimensions((lines.count * _DIGITS,)), offset)
    blocks, digits = (Grid((lines.count * number, 1, 1), (THREADS, 1, 1)) for number in (parts, _DIGITS))
    key = (*key, radix.bits)
    given: list[Leaf] = inputs
    for digit in range(-(-radix.bits // _DIGIT_BITS)):
        shift = frame.constant(np.array(digit * _DIGIT_BITS, np.int32), Shape(S32))
        writer = _Pass(radix, records if digit == 0 else None)
        source = instruction.source
        frame.launch("radix_count", (*key, digit > 0), [*given, shift], [counts], blocks, writer.write_count, source)
        frame.launch("radix_scan", key, [], [counts, totals], digits, writer.write_scan, source)
        frame.launch("radix_move", (*key, digit > 0), [*given, counts, totals, shift], held, blocks, writer.write_move, source)
        given, held, spare = held, spare, held
    return given


class _Pass:
    """The kernels of a digit: of records where ``records`` is None, else of what becomes these."""

    def __init__(self, radix: RadixSort, records: SortedRecords | None) -> None:
        self.radix, self.records = radix, records

    def _load(self, b: ir.IRBuilder, given: list[Array], line: ir.Value, position: ir.Value) -> Record:
        lines = self.radix.lines
        if self.records is not None:
            return self.records.load(b, list(map(flat, given)), lines.place(b, line, position), position)
        place = Affine(Lines(lines.count, lines.size, 1).place(b, line, position))
        return [array.load(b, (place,), 1) for array in given]

    def _part(self, kernel: Kernel) -> tuple[ir.Value, ir.Value, ir.Value, ir.Value]:
        """The line and part of a block, where that begins, and ends: i64."""
        b, block, radix = kernel.builder, kernel.block(), self.radix
        line, part = b.udiv(block, I32(radix.parts)), b.urem(block, I32(radix.parts))
        start = b.mul(wide(b, part), I64(radix.part_size))
        return line, part, start, i64(least(b, b.add(start, I64(radix.part_size)), radix.lines.size))

    def _counter(self, b: ir.IRBuilder, line: ir.Value, digit: ir.Value, part: ir.Value) -> Affine:
        row = b.add(b.mul(wide(b, line), I64(_DIGITS)), wide(b, digit))
        return Affine(b.add(b.mul(row, I64(self.radix.parts)), wide(b, part)))

    def write_count(self, kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        """How often each digit stands in each part."""
        b, thread = kernel.builder, kernel.thread()
        *given, shift = bindings
        counters = Array(kernel.shared(4 * _DIGITS * _COPIES), _COUNTER.with_dimensions((_DIGITS * _COPIES,)))
        line, part, start, end = self._part(kernel)
        for copy in range(_COPIES):
            counters.store(b, (Affine(wide(b, b.add(thread, I32(copy * THREADS)))),), I32(0), 1)
        kernel.barrier()
        copy = b.and_(thread, I32(_COPIES - 1))

        def count(position: ir.Value, _: list) -> tuple:
            digit = _digit(b, self._load(b, given, line, b.trunc(position, I32))[0], shift, _DIGITS)
            place = Affine(wide(b, b.add(b.mul(digit, I32(_COPIES)), copy)))
            b.atomic_rmw("add", counters.address(b, (place,)), I32(1), f'syncscope("{kernel.target.block_scope}") monotonic')
            return ()

        most = -(-self.radix.part_size // THREADS)
        carried_loop(b, b.add(start, wide(b, thread)), end, THREADS, (), count, "count", most=most)
        kernel.barrier()
        total: ir.Value = I32(0)
        for number in range(_COPIES):
            place = b.add(b.mul(thread, I32(_COPIES)), I32(number))
            total = b.add(total, counters.load(b, (Affine(wide(b, place)),), 1))
        arrays[0].store(b, (self._counter(b, line, thread, part),), total, 1)

    def write_scan(self, kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        """Of each digit, how often it stands before each part, and in all: a block for each digit of each line."""
        b, row, parts = kernel.builder, wide(kernel.builder, kernel.block()), self.radix.parts
        counts, totals = arrays
        tile = ScanTile(kernel, TileShape(1, 2048), [_COUNTER], lambda x, y: [b.add(x[0], y[0])])
        begin, size = b.mul(row, I64(parts)), 2048

        def one(base: ir.Value, carries: list) -> list:
            count = b.trunc(least(b, b.sub(I64(parts), base), size), I32)

            def place(element: ir.Value) -> tuple:
                return (Affine(b.add(b.add(begin, base), wide(b, element))),)

            tile.fill(count, lambda element: [counts.load(b, place(element), 1)])
            total = tile.reduce(count)

            def store(element: ir.Value, values: list) -> None:
                own = counts.load(b, place(element), 1)
                counts.store(b, place(element), b.sub(values[0], own), 1)

            tile.scan(count, carries, store)
            return tile.combine(carries, total)

        (total,) = carried_loop(b, 0, parts, size, [I32(0)], one, "parts")
        with b.if_then(b.icmp_unsigned("==", kernel.thread(), I32(0))):
            totals.store(b, (Affine(row),), total, 1)

    def write_move(self, kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        """Move the records of a part to where their digit belongs."""
        b, radix, thread = kernel.builder, self.radix, kernel.thread()
        *given, counts, totals, shift = bindings
        line, part, start, end = self._part(kernel)
        tile = _DigitTile(kernel, radix)
        base, first = (Array(kernel.shared(4 * _DIGITS), _COUNTER.with_dimensions((_DIGITS,))) for _ in range(2))
        mine = (Affine(wide(b, thread)),)
        row = b.add(b.mul(wide(b, line), I64(_DIGITS)), wide(b, thread))
        before = tile.sum_before(totals.load(b, (Affine(row),), 1))
        base.store(b, mine, b.add(before, counts.load(b, (self._counter(b, line, thread, part),), 1)), 1)
        whole = Lines(radix.lines.count, radix.lines.size, 1)

        def one(position: ir.Value, _: list) -> tuple:
            position = b.trunc(position, I32)
            left = b.sub(b.trunc(end, I32), position)
            count = b.select(b.icmp_unsigned("<", left, I32(radix.tile)), left, I32(radix.tile))
            tile.fill(count, lambda element: self._load(b, given, line, b.add(position, element)))
            tile.sort(shift)

            def digit_at(element: ir.Value) -> ir.Value:
                return _digit(b, tile.load(element)[0], shift, _DIGITS)

            def neighbour_differs(element: ir.Value, digit: ir.Value, step: int) -> ir.Value:
                is_at_end = b.icmp_unsigned("==", element, I32(0) if step < 0 else b.sub(count, I32(1)))
                other = digit_at(b.select(is_at_end, element, b.add(element, I32(step))))
                return b.or_(is_at_end, b.icmp_unsigned("!=", digit, other))

            elements = [b.add(thread, I32(number * THREADS)) for number in range(radix.each)]
            for element in elements:
                with b.if_then(b.icmp_unsigned("<", element, count)):
                    digit = digit_at(element)
                    with b.if_then(neighbour_differs(element, digit, -1)):
                        first.store(b, (Affine(wide(b, digit)),), element, 1)
            kernel.barrier()
            for element in elements:
                with b.if_then(b.icmp_unsigned("<", element, count)):
                    record = tile.load(element)
                    at = (Affine(wide(b, _digit(b, record[0], shift, _DIGITS))),)
                    target = b.add(base.load(b, at, 1), b.sub(element, first.load(b, at, 1)))
                    place = Affine(whole.place(b, line, target))
                    for array, value in zip(arrays, record):
                        array.store(b, (place,), value, 1)
            kernel.barrier()
            for element in elements:
                with b.if_then(b.icmp_unsigned("<", element, count)):
                    digit = digit_at(element)
                    with b.if_then(neighbour_differs(element, digit, 1)):
                        at = (Affine(wide(b, digit)),)
                        passed = b.sub(b.add(element, I32(1)), first.load(b, at, 1))
                        base.store(b, at, b.add(base.load(b, at, 1), passed), 1)
            return ()

        carried_loop(b, start, end, radix.tile, (), one, "tiles", most=-(-radix.part_size // radix.tile))


class _DigitTile:
    """Records in the memory of a block, sorted by one digit."""

    def __init__(self, kernel: Kernel, radix: RadixSort) -> None:
        self.kernel, self.order, self.each = kernel, radix.order, radix.each
        size = radix.tile
        self.arrays = [Array(kernel.shared(size * one.byte_size), one.with_dimensions((size,))) for one in radix.order.shapes]
        places = _HALVES * THREADS + 2 * THREADS
        self.counters = Array(kernel.shared(2 * places), Shape(U16, (places,)))
        self.sums = [Array(kernel.shared(4 * THREADS), _COUNTER.with_dimensions((THREADS,))) for _ in range(2)]

    def load(self, element: ir.Value) -> Record:
        b = self.kernel.builder
        return [array.load(b, (Affine(wide(b, element)),), 1) for array in self.arrays]

    def _store(self, element: ir.Value, record: Record) -> None:
        b = self.kernel.builder
        for array, value in zip(self.arrays, record):
            array.store(b, (Affine(wide(b, element)),), value, 1)

    def fill(self, count: ir.Value, load) -> None:
        """Set the first ``count`` records, and behind them what comes last. Begins and ends with a barrier."""
        b, thread = self.kernel.builder, self.kernel.thread()
        self.kernel.barrier()
        for number in range(self.each):
            element = b.add(thread, I32(number * THREADS))
            with b.if_else(b.icmp_unsigned("<", element, count)) as (then, otherwise):
                with then:
                    self._store(element, load(element))
                with otherwise:
                    self._store(element, self.order.padding(b))
        self.kernel.barrier()

    def sum_before(self, value: ir.Value) -> ir.Value:
        """The sum of the values, i32, of all threads before this one. Ends with a barrier."""
        b, thread = self.kernel.builder, self.kernel.thread()
        source, target = self.sums
        mine, distance = value, 1
        source.store(b, (Affine(wide(b, thread)),), mine, 1)
        while distance < THREADS:
            self.kernel.barrier()
            has_other = b.icmp_unsigned(">=", thread, I32(distance))
            place = b.select(has_other, b.sub(thread, I32(distance)), thread)
            other = source.load(b, (Affine(wide(b, place)),), 1)
            mine = b.add(mine, b.select(has_other, other, I32(0)))
            target.store(b, (Affine(wide(b, thread)),), mine, 1)
            source, target = target, source
            distance *= 2
        self.kernel.barrier()
        return b.sub(mine, value)

    def sort(self, shift: ir.Value) -> None:
        """Sort by the digit that begins at a bit, stably. Ends with a barrier."""
        b = self.kernel.builder
        for half in range(_DIGIT_BITS // _HALF_BITS):
            self._sort_by_half(b.add(shift, I32(half * _HALF_BITS)))

    def _sort_by_half(self, shift: ir.Value) -> None:
        """Each thread counts the digits of its neighbouring records for itself; the counts, digit by digit, are scanned."""
        b, thread = self.kernel.builder, self.kernel.thread()
        for digit in range(_HALVES):
            self._count(b.add(thread, I32(digit * THREADS)), I16(0))
        own = b.mul(thread, I32(self.each))
        records = [self.load(b.add(own, I32(number))) for number in range(self.each)]
        ranks, counters = [], []
        for record in records:
            digit = _digit(b, record[0], shift, _HALVES)
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
        before = self.sum_before(total)
        for place in places:  # which are loaded again: that many registers would be held meanwhile
            count = b.zext(self._counted(place), I32)
            self._count(place, b.trunc(before, I16))
            before = b.add(before, count)
        self.kernel.barrier()
        for record, rank, counter in zip(records, ranks, counters):
            self._store(b.zext(b.add(self._counted(counter), rank), I32), record)
        self.kernel.barrier()

    def _counter_place(self, number: ir.Value) -> tuple:
        """Two are left free behind those that a thread scans, so that it has other banks than the next."""
        b = self.kernel.builder
        return (Affine(wide(b, b.add(number, b.shl(b.lshr(number, I32(_HALF_BITS)), I32(1))))),)

    def _count(self, number: ir.Value, value: ir.Value) -> None:
        self.counters.store(self.kernel.builder, self._counter_place(number), value, 1)

    def _counted(self, number: ir.Value) -> ir.Value:
        return self.counters.load(self.kernel.builder, self._counter_place(number), 1)


def _digit(b: ir.IRBuilder, number: ir.Value, shift: ir.Value, digits: int) -> ir.Value:
    """The digit of a number that begins at a bit: i32."""
    integer = number.type
    shift = shift if integer == I32 else (b.zext if integer == I64 else b.trunc)(shift, integer)
    found = b.lshr(number, shift)
    found = found if integer == I32 else (b.trunc if integer == I64 else b.zext)(found, I32)
    return b.and_(found, I32(digits - 1))
