"""How the result of a contraction is divided into register blocks, and these among threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial

from llvmlite import ir

from ..llvm import index as indices
from ..llvm.index import Base
from ..llvm.loops import counted_loop
from ..llvm.pieces import in_one_piece, independent_loop
from .vectors import blocks_up_to

_FEW_VECTORS = 8
_TALL = 512  # rows


def block_shape(rows: int, vectors: int, accumulators: int) -> tuple[int, int]:
    """Rows and vectors of a block that fits into this many accumulators.

    The more products a load serves the better; a vector comes from farther away than the scalar of a row, so tall blocks
    are better than wide ones. In a small result, blocks that cover it evenly come first: each remainder is a loop nest of
    its own to compile.
    """
    small = rows * vectors <= 16 * accumulators

    def cost(shape: tuple[int, int]) -> tuple:
        height, width = shape
        uneven = small * ((rows % height != 0) + (vectors % width != 0))
        # Of few strips of a tall result it matters how many the last one makes them.
        strips = -(-vectors // width) / vectors if vectors <= _FEW_VECTORS and rows >= _TALL else 1 / width
        return (height * width * 2 < min(accumulators, rows * vectors), uneven, 2 / height + strips, width)

    shapes = [(h, w) for w in range(1, min(4, vectors) + 1) for h in range(1, min(rows, 8, accumulators // w) + 1)]
    return min(shapes, key=cost)


def strips(
    builder: ir.IRBuilder, size: int, block: int, stop: ir.Value | None, least: int
) -> Iterator[tuple[AbstractContextManager[Base], int]]:
    """Loops that cover [0, size), or up to the stop, and how many they take at once: full blocks, then one smaller block.

    They are divided if ``least``, the number of blocks that a piece has at least, is not 0.
    """
    whole, rest = divmod(size, block)
    if whole:
        yield _blocks(builder, whole, block, blocks_up_to(builder, stop, block, whole), least), block
    if rest:
        yield _last_block(builder, whole * block, least), rest


@contextmanager
def _blocks(builder: ir.IRBuilder, count: int, block: int, stop: ir.Value | None, least: int) -> Iterator[Base]:
    loop = partial(independent_loop, least=least, divides_inner=True) if least else counted_loop
    with loop(builder, count, stop=stop) as number:
        yield indices.multiply_base(builder, number, block)


@contextmanager
def _last_block(builder: ir.IRBuilder, first: int, least: int) -> Iterator[Base]:
    with in_one_piece(builder, apart=least == 1) if least else nullcontext():
        yield first
