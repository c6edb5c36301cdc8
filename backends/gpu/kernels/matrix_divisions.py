"""How products on matrix units are divided among blocks and the threads in step of a block, by family and size.

Of the tiles that fit into a block's memory and a thread's registers, the largest is taken of which there are enough to keep a
device busy; otherwise the smallest, and the terms are divided into parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .. import choices
from ..target import Target
from .matrix_instructions import MatrixInstruction
from .product import Product

# Of a thread, besides its sums and what it loads: addresses, counters.
_OTHER_REGISTERS = 48


@dataclass(frozen=True)
class Division:
    """The tile of a block, how many groups of threads in step (*warps*) it has along rows and columns, how many tiles it holds
    at once, and into how many parts the terms are divided. ``run_bytes`` of a line's terms are in a tile.
    """

    rows: int
    columns: int
    warp_rows: int
    warp_columns: int
    stages: int
    parts: int = 1
    is_grouped: bool = False  # four warps multiply together
    run_bytes: int = 128
    warp: int = 32  # threads

    @property
    def threads(self) -> int:
        return self.warp * self.warp_rows * self.warp_columns

    @property
    def stage_bytes(self) -> int:
        return (self.rows + self.columns) * self.run_bytes

    @property
    def memory_bytes(self) -> int:
        return self.stages * self.stage_bytes

    @property
    def warp_lines(self) -> tuple[int, int]:
        """Rows and columns of a warp."""
        return self.rows // self.warp_rows, self.columns // self.warp_columns

    def tiles(self, product: Product) -> tuple[int, int]:
        return -(-product.sizes[1] // self.rows), -(-product.sizes[2] // self.columns)

    def sum_registers(self, instruction: MatrixInstruction) -> int:
        """Of a thread, each of 32 bits."""
        return self.rows * self.columns * instruction.sums.byte_size // (4 * self.threads)


# From the one that reads least to the one that has most blocks.
WARP_DIVISIONS = (
    Division(128, 256, 2, 4, 4),
    Division(128, 128, 2, 4, 3),
    Division(64, 128, 2, 2, 4),
    Division(64, 64, 2, 2, 4),
)
GROUPED_WARP_DIVISIONS = (
    Division(128, 256, 8, 1, 4, is_grouped=True),
    Division(128, 128, 8, 1, 6, is_grouped=True),
)
# Tiles pass through registers on their way to a block's memory, 64 KiB at most.
WAVES_OF_64 = (
    Division(256, 256, 2, 2, 2, run_bytes=64, warp=64),
    Division(128, 256, 2, 2, 2, run_bytes=64, warp=64),
    Division(128, 128, 2, 2, 2, run_bytes=64, warp=64),
    Division(64, 64, 2, 2, 2, run_bytes=64, warp=64),
)
WAVES_OF_32 = (
    Division(128, 128, 2, 4, 2, run_bytes=64),
    Division(64, 64, 2, 2, 2, run_bytes=64),
)


def busy_blocks(target: Target) -> int:
    return choices.BUSY_BLOCKS_OF.get(target.architecture, choices.BUSY_BLOCKS)


def known_divisions(target: Target, instruction: MatrixInstruction, is_grouped: bool) -> Sequence[Division]:
    """Those that fit."""
    if target.registers is not None:
        known = WAVES_OF_64 if target.sub_group == 64 else WAVES_OF_32
        # Of instructions that take long, those of a second block on the processor fill the gaps.
        blocks = 1 if instruction.operand.bits < 32 or target.sub_group == 32 else 2
        most_bytes, most = target.shared_bytes // blocks, (target.registers + target.sum_registers) // blocks
        fitting = [one for one in known if one.memory_bytes <= most_bytes]
        if any(instruction.adds_lines):  # LLVM spills some of the largest tile then
            fitting = fitting[1:]
        return [one for one in fitting if registers(one, instruction) <= most]
    known = (*GROUPED_WARP_DIVISIONS, *WARP_DIVISIONS) if is_grouped else WARP_DIVISIONS
    fitting = [one for one in known if one.memory_bytes <= target.dynamic_bytes]
    # Several blocks on a processor hide how long instructions of 64 bits take.
    return fitting[-1:] if instruction.sums.bits == 64 else fitting


def registers(division: Division, instruction: MatrixInstruction) -> int:
    """About how many a thread needs that holds the next tiles of the operands, and a step's elements twice."""
    staged = division.stage_bytes // (4 * division.threads)
    rows, columns = division.warp_lines
    lines = rows // instruction.places.rows + columns // instruction.places.columns
    return division.sum_registers(instruction) + staged + 2 * 4 * lines + _OTHER_REGISTERS


def division_for(
    target: Target, product: Product, instruction: MatrixInstruction, parts: int, is_grouped: bool = False
) -> Division:
    """The division of a product, whose terms are divided into so many parts at most."""
    batches, rows, columns, terms = product.sizes
    known, busy = known_divisions(target, instruction, is_grouped), busy_blocks(target)
    for division in known:
        tiles = division.tiles(product)
        if batches * tiles[0] * tiles[1] >= busy and _fits(division, rows, columns):
            return division
    smallest = known[-1]
    tiles = smallest.tiles(product)
    steps = -(-terms * instruction.operand.byte_size // smallest.run_bytes)
    wanted = min(parts, 2 * busy // (batches * tiles[0] * tiles[1]), steps * smallest.run_bytes // 512)
    return replace(smallest, parts=max(1, wanted))


def _fits(division: Division, rows: int, columns: int) -> bool:
    """Whether at most half of a tile is empty."""
    return division.rows < 2 * max(32, rows) and division.columns < 2 * max(32, columns)
