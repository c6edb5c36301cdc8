"""Top-k: the best of each tile of a line, then the best of these, until all fit one tile. Of many, by sorting whole lines."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from llvmlite import ir

from ....compile.comparators import SortKey
from ....hlo import Instruction
from ...llvm.arrays import Array
from ...llvm.elemental import Binding
from ...llvm.index import Affine
from ...llvm.types import I32
from ..emitter_table import emits
from ..frame import Frame
from ..kernel import Grid, Kernel
from ..values import Leaf, Values
from .sort import sort_bytes, sort_lines
from .sort_merge import records_bytes, stored_records
from .sort_order import Lines, SortedRecords, flat, records_of_key
from .sort_tile import Tile, threads_for, tile_size

# A tile leaves so many times fewer elements, at least.
_LEAST_LEFT_OUT = 4


def _records(topk: Instruction) -> SortedRecords:
    element_type = topk.operands[0].shape.element_type
    return records_of_key(SortKey(0, element_type, topk.attributes["largest"], zeros_equal=False))


def _lines(topk: Instruction) -> Lines:
    *outer, size = topk.operands[0].shape.dimensions
    return Lines(prod(outer), size, 1)


def _takes_few(topk: Instruction) -> bool:
    size = tile_size(_records(topk).order)
    return topk.attributes["k"] * _LEAST_LEFT_OUT <= size < _lines(topk).size


def _rounds(size: int, tile: int, k: int) -> Iterator[int]:
    """How many records of a line are left after each round but the last."""
    while size > tile:
        size = -(-size // tile) * k
        yield size


def _scratch(topk: Instruction) -> int:
    lines, records, k = _lines(topk), _records(topk), topk.attributes["k"]
    if not k or not lines.count:
        return 0
    if not _takes_few(topk):
        return sort_bytes(lines, records)
    left = _rounds(lines.size, tile_size(records.order), k)
    return sum(records_bytes(records.order, lines.count * count) for count in left)


@emits("topk", scratch=_scratch, is_native=lambda topk: topk.operands[0].shape.element_type.has_order_of_bytes)
def top_k(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    outputs = frame.outputs(instruction)
    lines, records, k = _lines(instruction), _records(instruction), instruction.attributes["k"]
    inputs = [values[instruction.operands[0]][0]]
    if not k or not lines.count:
        return list(outputs)
    key = (records.key, lines, k)
    if not _takes_few(instruction):
        sort_lines(frame, instruction, key, lines, k, records, inputs, outputs)
        return list(outputs)
    order, size, offset, held = records.order, lines.size, 0, None
    for left in _rounds(size, tile_size(order), k):
        results = stored_records(frame, instruction, order, lines.count * left, offset)
        offset += records_bytes(order, lines.count * left)
        _select(frame, instruction, key, lines, size, records, held, inputs, results, is_last=False)
        held, size = results, left
    _select(frame, instruction, key, lines, size, records, held, inputs, outputs, is_last=True)
    return list(outputs)


def _select(frame, instruction, key, lines, size, records, held, inputs, results, is_last) -> None:
    """Leave the k best records of each tile, of lines of so many records; those of the operand where none are ``held``."""
    order, k = records.order, instruction.attributes["k"]
    tiles = -(-size // tile_size(order))
    slots = min(tile_size(order), 1 << (size - 1).bit_length())
    grid = Grid((lines.count * tiles, 1, 1), (frame.block_threads(threads_for(slots)), 1, 1))
    given, kept = Lines(lines.count, size, 1), Lines(lines.count, tiles * k, 1)

    def write(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b, block = kernel.builder, kernel.block()
        operands, targets = [flat(bindings[0])], list(map(flat, arrays))
        tile = Tile(kernel, order, slots)
        line, number_of_tile = b.udiv(block, I32(tiles)), b.urem(block, I32(tiles))
        start = b.mul(number_of_tile, I32(slots))

        def fill(number: ir.Value) -> None:
            position = b.add(start, number)
            with b.if_else(b.icmp_unsigned("<", position, I32(size))) as (then, otherwise):
                with then:
                    place = given.place(b, line, position)
                    if held is None:
                        tile.store(number, records.load(b, operands, place, position))
                    else:
                        tile.store(number, [array.load(b, (Affine(place),), 1) for array in bindings[1:]])
                with otherwise:
                    tile.store(number, order.padding(b))

        def empty(number: ir.Value) -> None:
            with b.if_then(b.icmp_unsigned("<", number, I32(k))):
                place = kept.place(b, line, b.add(b.mul(number_of_tile, I32(k)), number))
                values = tile.load(number)
                if is_last:
                    values = records.elements(b, values, operands, lambda origin: lines.place(b, line, origin))
                for array, value in zip(targets, values):
                    array.store(b, (Affine(place),), value, 1)

        tile.each(slots, fill)
        tile.sort(slots)
        tile.each(slots, empty)

    name = "topk" if is_last else "topk_of_tiles"
    frame.launch(name, (*key, size), [*inputs, *(held or ())], results, grid, write, instruction.source)
