"""Sorting: lines that fit a block's memory there, longer ones in tiles that are merged."""

from __future__ import annotations

from math import prod

from ....hlo import Instruction, leaves
from ...llvm.arrays import Array
from ...llvm.elemental import Binding
from ...llvm.index import Affine
from ...llvm.types import I32
from ..emitter_table import emits
from ..frame import Frame
from ..kernel import Grid, Kernel
from ..values import Leaf, Stored, Values
from .sort_lines import sorted_bytes, sorted_records, write_sorted
from .sort_order import Lines, SortedRecords, flat, records_of
from .sort_tile import Tile, threads_for, tile_size

THREADS = 256


def lines_of(sort: Instruction) -> Lines:
    """The lines that are sorted."""
    (along,) = sort.attributes["dimensions"]
    sizes = leaves(sort.shape)[0].dimensions
    return Lines(prod(sizes[:along]), sizes[along], prod(sizes[along + 1 :]))


def _is_long(lines: Lines, records: SortedRecords) -> bool:
    return lines.size > tile_size(records.order)


def sort_bytes(lines: Lines, records: SortedRecords) -> int:
    """The memory that sorting lines takes."""
    return sorted_bytes(records.order, lines, records.key_bits) if lines.count and _is_long(lines, records) else 0


@emits("sort", scratch=lambda sort: sort_bytes(lines_of(sort), records_of(sort)))
def sort(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    outputs = frame.outputs(instruction)
    lines, records = lines_of(instruction), records_of(instruction)
    inputs = [values[operand][0] for operand in instruction.operands]
    if not lines.count or not lines.size:
        return list(outputs)
    key = (frame.kernels.number(instruction.attributes["to_apply"]), lines, records.has_positions, records.positions)
    sort_lines(frame, instruction, key, lines, lines.size, records, inputs, outputs)
    return list(outputs)


def sort_lines(
    frame: Frame,
    instruction: Instruction,
    key: tuple,
    lines: Lines,
    wanted: int,
    records: SortedRecords,
    inputs: list[Leaf],
    outputs: list[Stored],
) -> None:
    """Sort the lines of arrays; of each line so many elements are wanted."""
    if _is_long(lines, records):
        _sort_long(frame, instruction, key, lines, wanted, records, inputs, outputs)
    else:
        _sort_short(frame, instruction, key, lines, wanted, records, inputs, outputs)


def _sort_short(frame, instruction, key, lines, wanted, records, inputs, outputs) -> None:
    """Some lines a block, each in so many slots, a power of two."""
    padded = max(2, 1 << (lines.size - 1).bit_length())
    together = max(1, min(tile_size(records.order) // padded, 1 << (lines.count - 1).bit_length()))
    slots = together * padded
    grid = Grid((-(-lines.count // together), 1, 1), (frame.block_threads(threads_for(slots)), 1, 1))
    results = Lines(lines.outer, wanted, lines.inner)

    def write(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b = kernel.builder
        operands, targets = [flat(one) for one in bindings], [flat(one) for one in arrays]
        tile = Tile(kernel, records.order, slots)
        first = b.mul(kernel.block(), I32(together))

        def parts(number):
            """The line, the position, and the place in the tile of an element: neighbours lie side by side in memory."""
            if lines.inner == 1:
                line, position = b.udiv(number, I32(padded)), b.urem(number, I32(padded))
                return b.add(first, line), position, number
            line, position = b.urem(number, I32(together)), b.udiv(number, I32(together))
            return b.add(first, line), position, b.add(b.mul(line, I32(padded)), position)

        def fill(number) -> None:
            line, position, place = parts(number)
            is_inside = b.and_(b.icmp_unsigned("<", line, I32(lines.count)), b.icmp_unsigned("<", position, I32(lines.size)))
            with b.if_else(is_inside) as (then, otherwise):
                with then:
                    tile.store(place, records.load(b, operands, lines.place(b, line, position), position))
                with otherwise:
                    tile.store(place, records.order.padding(b))

        def empty(number) -> None:
            line, position, place = parts(number)
            is_wanted = b.and_(b.icmp_unsigned("<", line, I32(lines.count)), b.icmp_unsigned("<", position, I32(wanted)))
            with b.if_then(is_wanted):
                found = records.elements(b, tile.load(place), operands, lambda origin: lines.place(b, line, origin))
                records.store(b, targets, results.place(b, line, position), found)

        tile.each(slots, fill)
        tile.sort(padded)
        tile.each(slots, empty)

    frame.launch("sort", (*key, wanted), inputs, outputs, grid, write, instruction.source)


def _sort_long(frame, instruction, key, lines, wanted, records, inputs, outputs) -> None:
    """Tiles of records are sorted, and merged, in memory; then the elements are put where their records are."""
    results = Lines(lines.outer, wanted, lines.inner)

    def write_record(b, operands, targets, record, line, position) -> None:
        with b.if_then(b.icmp_unsigned("<", position, I32(wanted))):
            found = records.elements(b, record, operands, lambda origin: lines.place(b, line, origin))
            records.store(b, targets, results.place(b, line, position), found)

    if write_sorted(frame, instruction, (*key, wanted), lines, records, inputs, outputs, write_record):
        return
    sorted_ = sorted_records(frame, instruction, key, lines, records, inputs)
    count = len(sorted_)

    def write(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b, number = kernel.builder, kernel.number()
        held, operands, targets = (list(map(flat, some)) for some in (bindings[:count], bindings[count:], arrays))
        with b.if_then(b.icmp_unsigned("<", number, number.type(results.count * wanted))):
            if lines.inner == 1:
                line, position = b.udiv(number, number.type(wanted)), b.urem(number, number.type(wanted))
            else:  # neighbours lie side by side in the results
                inner, rest = b.urem(number, number.type(lines.inner)), b.udiv(number, number.type(lines.inner))
                position = b.urem(rest, number.type(wanted))
                line = b.add(b.mul(b.udiv(rest, number.type(wanted)), number.type(lines.inner)), inner)
            line, position = (one if one.type == I32 else b.trunc(one, I32) for one in (line, position))
            source = Lines(lines.count, lines.size, 1).place(b, line, position)
            record = [array.load(b, (Affine(source),), 1) for array in held]
            found = records.elements(b, record, operands, lambda origin: lines.place(b, line, origin))
            records.store(b, targets, results.place(b, line, position), found)

    grid = Grid.of(results.count * wanted, THREADS)
    frame.launch("sorted", (*key, wanted), [*sorted_, *inputs], outputs, grid, write, instruction.source)
