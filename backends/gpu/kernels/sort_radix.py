"""Long lines of numbers: a radix sort from the least significant digit, stable, that reads and writes records once a digit.

One kernel counts all digits of all numbers. Then, for each digit, blocks take tiles, sort them by the digit in their memory, so
that neighbouring threads write neighbours, and find by `look_back` how often each digit stands before their tile. The kernel of
the last digit may write what becomes of records instead of these. Source: A. Adinets, D. Merrill, "Onesweep: a faster least
significant digit radix sort for GPUs", 2022.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from llvmlite import ir

from ....hlo import S32, U32, U64, Instruction, Shape
from ...llvm.arrays import Array
from ...llvm.branches import chosen
from ...llvm.elemental import Binding
from ...llvm.index import Affine, i64, least
from ...llvm.loops import carried_loop
from ...llvm.types import I32, I64
from ..frame import Frame
from ..kernel import Grid, Kernel, wide
from ..plan import Fill
from ..target import Target
from ..values import Leaf, Stored
from .look_back import LookBack, TileWords, begun_block
from .scan_tile import THREADS, load_all, shared_arrays, store_all
from .sort_digit import DIGIT_BITS, DIGITS, digit_of, digit_tile, records_of_thread, sum_of
from .sort_merge import aligned, records_bytes, stored_records
from .sort_order import Lines, Record, SortedRecords, SortOrder, flat

# So many blocks count digits at most, of which each thread loads some at once. So many bytes of a block's memory are counters:
# a digit has a few, so that threads seldom meet.
_COUNTING_BLOCKS, _AT_ONCE, _COUNTER_BYTES, _MOST_COPIES = 1024, 8, 16 << 10, 8
# So many blocks that move wide records are on a processor at once, and have the registers for what they hold.
_RESIDENT_BLOCKS = 2
# Words of 32 bits say how often a digit stands in lines that are shorter.
_NARROW = 1 << 31

_COUNTER = Shape(U32)

# Writes what becomes of a record, at a position of a line: ``(b, operands, outputs, record, line, position)``.
WriteRecord = Callable[[ir.IRBuilder, list[Array], list[Array], Record, ir.Value, ir.Value], None]


@dataclass(frozen=True, eq=False)
class RadixSort:
    """A sort of lines by numbers of so many bits."""

    order: SortOrder
    lines: Lines
    bits: int

    @property
    def digits(self) -> int:
        return -(-self.bits // DIGIT_BITS)

    @property
    def total(self) -> int:
        return self.lines.count * self.lines.size

    def tile(self, target: Target | None = None) -> int:
        """How many records a tile has; without a target as few as for any."""
        return records_of_thread(self.order, target) * THREADS

    def words(self, target: Target | None = None) -> TileWords:
        tiles = -(-self.lines.size // self.tile(target))
        return TileWords(self.lines.count * DIGITS, tiles, 1, bits=32 if self.lines.size < _NARROW else 64)

    @property
    def totals(self) -> int:
        """How many counters there are for how often digits stand in lines."""
        return self.lines.count * self.digits * DIGITS

    @property
    def counters_bytes(self) -> int:
        """Memory for the numbers of blocks that have begun, and for how often digits stand in lines."""
        return aligned(4 * self.digits) + aligned(4 * self.totals)

    @property
    def scratch_bytes(self) -> int:
        """Memory for the records, twice, for counters, and for what tiles have, twice."""
        return 2 * records_bytes(self.order, self.total) + self.counters_bytes + 2 * aligned(self.words().bytes)


def radix_sort(
    frame: Frame,
    instruction: Instruction,
    key: tuple,
    radix: RadixSort,
    records: SortedRecords,
    inputs: list[Leaf],
    outputs: list[Stored] | None = None,
    write: WriteRecord | None = None,
) -> list[Stored]:
    """The records of all lines, sorted, one line after the other; or ``outputs``, which ``write`` makes of them."""
    order, lines, words, source = radix.order, radix.lines, radix.words(frame.target), instruction.source
    size = records_bytes(order, radix.total)
    held, spare = (stored_records(frame, instruction, order, radix.total, n * size) for n in (0, 1))
    begun = frame.scratch(instruction, _COUNTER.with_dimensions((radix.digits,)), 2 * size)
    totals = frame.scratch(instruction, _COUNTER.with_dimensions((radix.totals,)), 2 * size + aligned(4 * radix.digits))
    shape = Shape(U32 if words.bits == 32 else U64, (max(words.count, 1),))
    offset = 2 * size + radix.counters_bytes
    found, following = (frame.scratch(instruction, shape, offset + n * aligned(words.bytes)) for n in (0, 1))
    frame.add(Fill(begun.place, 0, radix.counters_bytes + aligned(words.bytes)))
    key = (*key, radix.bits)
    parts = max(1, min(_COUNTING_BLOCKS // lines.count, -(-lines.size // (THREADS * _AT_ONCE))))
    counting = _Counting(radix, records, parts)
    grid = Grid((lines.count * parts, 1, 1), (THREADS, 1, 1))
    frame.launch("radix_count", key, inputs, [totals], grid, counting.write, source)
    grid = Grid((lines.count * words.tiles, 1, 1), (THREADS, 1, 1))
    given: list[Leaf] = inputs
    for digit in range(radix.digits):
        is_first, is_last = digit == 0, digit == radix.digits - 1 and write is not None
        number = frame.constant(np.array(digit, np.int32), Shape(S32))
        moving = _Moving(radix, words, records if is_first else None, len(given), write if is_last else None)
        targets = outputs if is_last else held
        operands = inputs if is_last else []
        frame.launch(
            "radix_move", (*key, is_first, is_last), [*given, *operands, totals, number], [*targets, begun, found, following],
            grid, moving.write, source,
        )  # fmt: skip
        given, held, spare = targets, spare, held
        found, following = following, found
    return given


def _load(
    radix: RadixSort,
    records: SortedRecords | None,
    b: ir.IRBuilder,
    given: list[Array],
    line: ir.Value,
    position: ir.Value,
    offset: int = 0,
) -> Record:
    """The record that comes so many behind a position of a line, of operands; of records where ``records`` is None."""
    lines = radix.lines if records is not None else Lines(radix.lines.count, radix.lines.size, 1)
    place = b.add(lines.place(b, line, position), I64(offset * lines.inner))
    if records is not None:
        return records.load(b, list(map(flat, given)), place, b.add(position, I32(offset)))
    return [array.load(b, (Affine(place),), 1) for array in given]


class _Counting:
    """The kernel that counts all digits: some blocks for each line, each with counters in its memory."""

    def __init__(self, radix: RadixSort, records: SortedRecords, parts: int) -> None:
        self.radix, self.records, self.parts = radix, records, parts

    def write(self, kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b, thread, radix, (totals,) = kernel.builder, kernel.thread(), self.radix, arrays
        digits, size = radix.digits, radix.lines.size
        copies = min(_MOST_COPIES, _COUNTER_BYTES // (4 * DIGITS * digits))
        line, part = b.udiv(kernel.block(), I32(self.parts)), b.urem(kernel.block(), I32(self.parts))
        counters = shared_arrays(kernel, [_COUNTER], digits * DIGITS * copies)
        for number in range(digits * copies):
            store_all(kernel, counters, b.add(thread, I32(number * DIGITS)), [I32(0)])
        kernel.barrier()
        copy, at_once = b.and_(thread, I32(copies - 1)), THREADS * _AT_ONCE
        in_block = f'syncscope("{kernel.target.block_scope}") monotonic'

        def count(start: ir.Value, _: list) -> tuple:
            left = b.trunc(least(b, b.sub(I64(size), start), at_once), I32)
            first = b.trunc(start, I32)
            offsets = [number * THREADS for number in range(_AT_ONCE)]
            are_there = [b.icmp_unsigned("<", b.add(thread, I32(offset)), left) for offset in offsets]

            def whole() -> list[ir.Value]:
                position = b.add(first, thread)
                return [_load(radix, self.records, b, bindings, line, position, offset)[0] for offset in offsets]

            def part() -> list[ir.Value]:
                found = []
                for offset, is_there in zip(offsets, are_there):
                    position = b.add(first, b.select(is_there, b.add(thread, I32(offset)), I32(0)))
                    found.append(_load(radix, self.records, b, bindings, line, position)[0])
                return found

            found = chosen(b, b.icmp_unsigned("==", left, I32(at_once)), [whole, part])
            for number, is_there in zip(found, are_there):
                with b.if_then(is_there):
                    for digit in range(digits):
                        place = b.add(digit_of(b, number, I32(digit * DIGIT_BITS), DIGITS), I32(digit * DIGITS))
                        place = b.add(b.mul(place, I32(copies)), copy)
                        b.atomic_rmw("add", counters[0].address(b, (Affine(wide(b, place)),)), I32(1), in_block)
            return ()

        most = -(-size // (self.parts * at_once))
        carried_loop(b, b.mul(wide(b, part), I64(at_once)), size, self.parts * at_once, (), count, "count", most=most)
        kernel.barrier()
        for digit in range(digits):
            total: ir.Value = I32(0)
            own = b.mul(b.add(thread, I32(digit * DIGITS)), I32(copies))
            for number in range(copies):
                total = b.add(total, load_all(kernel, counters, b.add(own, I32(number)))[0])
            with b.if_then(b.icmp_unsigned("!=", total, I32(0))):
                address = totals.address(b, (_total_place(b, radix, line, I32(digit), thread),))
                b.atomic_rmw("add", address, total, f'syncscope("{kernel.target.device_scope}") monotonic')


def _total_place(b: ir.IRBuilder, radix: RadixSort, line: ir.Value, number: ir.Value, digit: ir.Value) -> Affine:
    """Where it stands how often a line has a digit as that with this number."""
    row = b.add(b.mul(wide(b, line), I64(radix.digits)), wide(b, number))
    return Affine(b.add(b.mul(row, I64(DIGITS)), wide(b, digit)))


class _Moving:
    """The kernel that moves records to where one of their digits belongs."""

    def __init__(
        self, radix: RadixSort, words: TileWords, records: SortedRecords | None, given: int, write: WriteRecord | None
    ) -> None:
        self.radix, self.words, self.records, self.given, self.write_record = radix, words, records, given, write

    def write(self, kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b, radix, thread = kernel.builder, self.radix, kernel.thread()
        if radix.order.record_bytes > 4:
            kernel.target.keep_resident(kernel.function, _RESIDENT_BLOCKS)
        *given, totals, number = bindings
        given, operands = given[: self.given], given[self.given :]
        *targets, begun, found, following = arrays
        lines, shift = radix.lines, b.mul(number, I32(DIGIT_BITS))
        block = begun_block(kernel, begun.address(b, (Affine(wide(b, number)),)))
        tile_number, line = b.udiv(block, I32(lines.count)), b.urem(block, I32(lines.count))
        tile = digit_tile(kernel, radix.order)
        start = b.mul(wide(b, tile_number), I64(tile.size))
        count = b.trunc(least(b, b.sub(i64(lines.size), start), tile.size), I32)
        start = b.trunc(start, I32)
        total = totals.load(b, (_total_place(b, radix, line, number, thread),), 1)
        of_digit = b.add(b.mul(line, I32(DIGITS)), thread)
        look_back = LookBack(kernel, self.words, found.pointer, of_digit, tile_number, sum_of(b), [I32(0)])
        offsets = shared_arrays(kernel, [_COUNTER], DIGITS)

        def load(place: ir.Value, offset: int) -> Record:
            return _load(radix, self.records, b, given, line, b.add(start, place), offset)

        often, begin, before = tile.sort(count, shift, load, total, lambda often: look_back.leave([often]))
        (before,) = look_back.by_one_thread([often], [before])
        store_all(kernel, offsets, thread, [b.sub(before, begin)])
        self._clear(kernel, following)
        kernel.barrier()
        for place in [b.add(thread, I32(n * THREADS)) for n in range(tile.each)]:
            with b.if_then(b.icmp_unsigned("<", place, count)):
                record = tile.load(place)
                digit = digit_of(b, record[0], shift, DIGITS)
                position = b.add(load_all(kernel, offsets, digit)[0], place)
                if self.write_record is not None:
                    self.write_record(b, list(map(flat, operands)), list(map(flat, targets)), record, line, position)
                    continue
                store_all(kernel, targets, Lines(lines.count, lines.size, 1).place(b, line, position), record)

    def _clear(self, kernel: Kernel, words: Array) -> None:
        """Clear a part of the words that the next digit uses, of which none is used now."""
        b, count = kernel.builder, self.words.count
        word, step = ir.IntType(self.words.bits), kernel.grid.blocks[0] * THREADS

        def clear(place: ir.Value, _: list) -> tuple:
            words.store(b, (Affine(place),), word(0), 1)
            return ()

        carried_loop(b, wide(b, kernel.number()), count, step, (), clear, "clear", most=-(-count // step))
