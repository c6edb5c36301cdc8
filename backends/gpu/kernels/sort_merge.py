"""Long lines: tiles of records are sorted in blocks' memory, and runs of tiles merged in pairs until one is left.

Each block writes one tile of two merged runs: where in the runs its part begins was searched before. What a block merges
ascends and then descends, so that a bitonic network sorts it. Source of the search: O. Green, R. McColl, D. Bader, "GPU Merge
Path", 2012.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir

from ....hlo import S32, U32, Instruction, Shape
from ...llvm.arrays import Array
from ...llvm.elemental import Binding
from ...llvm.index import Affine
from ...llvm.loops import carried_loop, while_loop
from ...llvm.types import I8, I32
from ..frame import ALIGNMENT, Frame
from ..kernel import Grid, Kernel, wide
from ..values import Leaf, Stored
from .sort_order import Lines, Record, SortedRecords, SortOrder, flat
from .sort_tile import Tile, threads_for, tile_size

_THREADS = 256


def aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def records_bytes(order: SortOrder, count: int) -> int:
    """Memory for so many records."""
    return sum(aligned(count * shape.byte_size) for shape in order.shapes)


def merged_bytes(order: SortOrder, lines: Lines) -> int:
    """Memory for the records, twice, and for where tiles begin in the runs that are merged."""
    return 2 * records_bytes(order, lines.count * lines.size) + aligned(4 * lines.count * tiles_of(order, lines))


def tiles_of(order: SortOrder, lines: Lines) -> int:
    return -(-lines.size // tile_size(order))


def stored_records(frame: Frame, instruction: Instruction, order: SortOrder, count: int, offset: int) -> list[Stored]:
    """Arrays of the components of so many records in an instruction's own memory, from an offset on."""
    arrays = []
    for shape in order.shapes:
        arrays.append(frame.scratch(instruction, shape.with_dimensions((count,)), offset))
        offset += aligned(count * shape.byte_size)
    return arrays


def merge_tiles(
    frame: Frame, instruction: Instruction, key: tuple, lines: Lines, records: SortedRecords, inputs: list[Leaf]
) -> list[Stored]:
    """The records of all lines, sorted, one line after the other."""
    order, total = records.order, lines.count * lines.size
    size, tiles = tile_size(order), tiles_of(order, lines)
    held, spare = (stored_records(frame, instruction, order, total, n * records_bytes(order, total)) for n in (0, 1))
    splits = frame.scratch(instruction, Shape(U32, (lines.count * tiles,)), 2 * records_bytes(order, total))
    grid = Grid((lines.count * tiles, 1, 1), (frame.block_threads(threads_for(size)), 1, 1))

    def write_tiles(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b, operands = kernel.builder, list(map(flat, bindings))
        tile = Tile(kernel, order, size)
        line, start = _tile_of_block(kernel, tiles, size)

        def fill(number: ir.Value) -> None:
            position = b.add(start, number)
            with b.if_else(b.icmp_unsigned("<", position, I32(lines.size))) as (then, otherwise):
                with then:
                    tile.store(number, records.load(b, operands, lines.place(b, line, position), position))
                with otherwise:
                    tile.store(number, order.padding(b))

        tile.each(size, fill)
        tile.sort(size)
        _write_tile(kernel, tile, lines, line, start, I32(lines.size), arrays)

    frame.launch("sort_tiles", key, inputs, held, grid, write_tiles, instruction.source)
    runs = _Runs(order, lines, size, tiles)
    width = size
    while width < lines.size:
        step = frame.constant(np.array(width, np.int32), Shape(S32))
        search = Grid.of(lines.count * tiles, _THREADS)
        frame.launch("merge_search", key, [*held, step], [splits], search, runs.write_search, instruction.source)
        if not order.is_consistent:
            repair = Grid((lines.count, 1, 1), (_THREADS, 1, 1))
            frame.launch("merge_repair", key, [step], [splits], repair, runs.write_repair, instruction.source)
        frame.launch("merge", key, [*held, splits, step], spare, grid, runs.write_merge, instruction.source)
        held, spare = spare, held
        width *= 2
    return held


def _tile_of_block(kernel: Kernel, tiles: int, size: int) -> tuple[ir.Value, ir.Value]:
    """The line of the block's tile, and where it begins there."""
    b, block = kernel.builder, kernel.block()
    return b.udiv(block, I32(tiles)), b.mul(b.urem(block, I32(tiles)), I32(size))


def _write_tile(
    kernel: Kernel, tile: Tile, lines: Lines, line: ir.Value, start: ir.Value, end: ir.Value, arrays: list[Array]
) -> None:
    """Store a tile in its line, as far as that goes."""
    b, whole = kernel.builder, Lines(lines.count, lines.size, 1)

    def empty(number: ir.Value) -> None:
        position = b.add(start, number)
        with b.if_then(b.icmp_unsigned("<", position, end)):
            place = whole.place(b, line, position)
            for array, value in zip(arrays, tile.load(number)):
                array.store(b, (Affine(place),), value, 1)

    tile.each(tile.slots, empty)


class _Runs:
    """Two runs after the other of each line, which are merged. Their width, that of so many tiles, is known at run time."""

    def __init__(self, order: SortOrder, lines: Lines, size: int, tiles: int) -> None:
        self.order, self.lines, self.size, self.tiles = order, lines, size, tiles

    def pair(self, b: ir.IRBuilder, start: ir.Value, width: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
        """Where the runs begin that a tile belongs to, the first and the second one, and where the second one ends."""
        end = I32(self.lines.size)

        def within(position: ir.Value) -> ir.Value:
            return b.select(b.icmp_unsigned("<", position, end), position, end)

        first = b.and_(start, b.not_(b.sub(b.shl(width, I32(1)), I32(1))))
        second = within(b.add(first, width))
        return first, second, within(b.add(second, width))

    def write_search(self, kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        """How many records of the first run stand before each tile."""
        b, number = kernel.builder, kernel.number()
        *held, width = bindings
        whole = Lines(self.lines.count, self.lines.size, 1)
        with b.if_then(b.icmp_unsigned("<", number, number.type(self.lines.count * self.tiles))):
            line, tile = b.udiv(number, number.type(self.tiles)), b.urem(number, number.type(self.tiles))
            start = b.mul(tile, I32(self.size))
            first, second, end = self.pair(b, start, width)
            before = b.sub(start, first)
            count, other = b.sub(second, first), b.sub(end, second)

            def at(position: ir.Value) -> Record:
                place = Affine(whole.place(b, line, position))
                return [array.load(b, (place,), 1) for array in held]

            low = b.select(b.icmp_unsigned(">", before, other), b.sub(before, other), I32(0))
            high = b.select(b.icmp_unsigned("<", before, count), before, count)
            with while_loop(b, [low, high], "search", most=32) as loop:
                low, high = loop.values
                loop.leave_unless(b.icmp_unsigned("<", low, high))
                middle = b.lshr(b.add(low, high), I32(1))
                mine = at(b.add(first, middle))
                opposite = at(b.add(second, b.sub(b.sub(before, middle), I32(1))))
                is_high = self.order.less(b, opposite, mine)
                loop.carry([b.select(is_high, low, b.add(middle, I32(1))), b.select(is_high, middle, high)])
            arrays[0].store(b, (Affine(wide(b, number)),), low, 1)

    def extent(self, b: ir.IRBuilder, splits: Array, line: ir.Value, start: ir.Value, width: ir.Value) -> list[ir.Value]:
        """Of the tile that begins here: how many records of the first run stand before it and its end, as was found, how
        many it has, and the numbers that `pair` returns.
        """
        first, second, end = self.pair(b, start, width)
        tile = b.udiv(start, I32(self.size))
        place = b.add(b.mul(line, I32(self.tiles)), tile)
        begin = splits.load(b, (Affine(wide(b, place)),), 1)
        following = b.add(start, I32(self.size))
        is_last = b.icmp_unsigned(">=", following, end)
        next_place = b.select(is_last, place, b.add(place, I32(1)))
        stop = b.select(is_last, b.sub(second, first), splits.load(b, (Affine(wide(b, next_place)),), 1))
        count = b.sub(b.select(is_last, end, following), start)
        return [begin, stop, count, first, second, end]

    def write_repair(self, kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        """Where a comparator is no order, what was found for one tile may contradict what was found for the next."""
        b, (width,), (splits,) = kernel.builder, bindings, arrays
        line, thread = kernel.block(), kernel.thread()
        is_wrong = kernel.shared(1)
        with b.if_then(b.icmp_unsigned("==", thread, I32(0))):
            b.store(I8(0), is_wrong)
        kernel.barrier()

        def check(tile: ir.Value, _: list) -> tuple:
            begin, stop, count, *_ = self.extent(b, splits, line, b.mul(b.trunc(tile, I32), I32(self.size)), width)
            taken = b.sub(stop, begin)
            with b.if_then(b.icmp_unsigned(">", taken, count)):
                b.store(I8(1), is_wrong)
            return ()

        carried_loop(b, wide(b, thread), self.tiles, _THREADS, (), check, "check", most=-(-self.tiles // _THREADS))
        kernel.barrier()
        must = b.and_(b.icmp_unsigned("==", thread, I32(0)), b.icmp_unsigned("!=", b.load(is_wrong, typ=I8), I8(0)))
        with b.if_then(must):
            base = b.mul(line, I32(self.tiles))

            def repair(tile: ir.Value, before: list) -> list:
                tile = b.trunc(tile, I32)
                start = b.mul(tile, I32(self.size))
                first, _, _ = self.pair(b, start, width)
                place = Affine(wide(b, b.add(base, tile)))
                found = splits.load(b, (place,), 1)
                most = b.add(before[0], I32(self.size))
                kept = b.select(b.icmp_unsigned("<", found, before[0]), before[0], found)
                kept = b.select(b.icmp_unsigned(">", kept, most), most, kept)
                kept = b.select(b.icmp_unsigned("==", first, start), found, kept)
                splits.store(b, (place,), kept, 1)
                return [kept]

            carried_loop(b, 0, self.tiles, 1, [I32(0)], repair, "repair")

    def write_merge(self, kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b = kernel.builder
        *held, splits, width = bindings
        whole = Lines(self.lines.count, self.lines.size, 1)
        tile = Tile(kernel, self.order, self.size)
        line, start = _tile_of_block(kernel, self.tiles, self.size)
        begin, stop, count, first, second, _ = self.extent(b, splits, line, start, width)
        taken = b.sub(stop, begin)
        others = b.sub(count, taken)
        mine = b.add(first, begin)
        opposite = b.add(second, b.sub(b.sub(start, first), begin))

        def fill(number: ir.Value) -> None:
            from_end = b.sub(I32(self.size - 1), number)
            is_mine, is_other = b.icmp_unsigned("<", number, taken), b.icmp_unsigned("<", from_end, others)
            with b.if_else(b.or_(is_mine, is_other)) as (then, otherwise):
                with then:
                    position = b.select(is_mine, b.add(mine, number), b.add(opposite, from_end))
                    place = whole.place(b, line, position)
                    tile.store(number, [array.load(b, (Affine(place),), 1) for array in held])
                with otherwise:
                    tile.store(number, self.order.padding(b))

        tile.each(self.size, fill)
        tile.merge()
        _write_tile(kernel, tile, self.lines, line, start, b.add(start, count), arrays)
