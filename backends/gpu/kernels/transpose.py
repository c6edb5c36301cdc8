"""Loops with transposes that move the last dimension: what they read goes through square tiles in a block's memory.

Element by element, either reads or writes of neighbouring threads would lie far apart. So the threads of a block compute what
is transposed in the order in which it was, and the results in theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from llvmlite import ir

from ....compile.fused_computations import result_roots
from ....hlo import Computation, Instruction, Shape
from ....hlo.operation import ELEMENTWISE
from ...llvm.arrays import Array
from ...llvm.elemental import Binding, ElementalEmitter
from ...llvm.index import Affine, Index
from ...llvm.types import I32
from ..kernel import Grid, Kernel, index_of, wide
from ..target import Target

TILE = 32
_ROWS = 8  # of a tile are computed at a time: a block has so many times as many threads as a tile's row has elements
# Shorter dimensions would leave most threads of a tile without work.
_SHORTEST = 8


@dataclass(frozen=True, eq=False)
class TiledForm:
    """A computation whose ``transposes`` have been contiguous along the dimension ``across`` of the results."""

    computation: Computation
    transposes: tuple[Instruction, ...]
    across: int

    @property
    def sizes(self) -> tuple[int, ...]:
        return result_roots(self.computation)[0].shape.dimensions

    @property
    def blocks(self) -> tuple[int, ...]:
        """How many there are along each dimension."""
        tiled = (self.across, len(self.sizes) - 1)
        return tuple(-(-size // TILE) if d in tiled else size for d, size in enumerate(self.sizes))

    @property
    def grid(self) -> Grid:
        return Grid((prod(self.blocks), 1, 1), (TILE * _ROWS, 1, 1))


def tiled_form(computation: Computation, target: Target) -> TiledForm | None:
    """How to compute the results by tiles; None where that would not help, or what is transposed is needed at other places."""
    sizes = result_roots(computation)[0].shape.dimensions
    found: dict[int, list[Instruction]] = {}
    for instruction in computation.instructions:
        if instruction.opcode == "transpose" and _is_needed_in_order(computation, instruction):
            last = max((d for d, size in enumerate(instruction.operands[0].shape.dimensions) if size > 1), default=None)
            if last is not None:
                found.setdefault(instruction.attributes["dimensions"].index(last), []).append(instruction)
    found.pop(len(sizes) - 1, None)
    if not found:
        return None
    across, transposes = max(found.items(), key=lambda item: len(item[1]))
    form = TiledForm(computation, tuple(transposes), across)
    if min(sizes[across], sizes[-1]) < _SHORTEST or form.grid.blocks[0] >= 1 << 31:
        return None
    return form if sum(map(_tile_bytes, transposes)) <= target.shared_bytes else None


def _tile_bytes(instruction: Instruction) -> int:
    return TILE * (TILE + 1) * instruction.shape.element_type.byte_size


def _is_needed_in_order(computation: Computation, instruction: Instruction) -> bool:
    """Whether all that comes of an instruction, up to the results, has its elements at the same places."""
    others, roots = {instruction}, result_roots(computation)
    for user in computation.instructions:
        if user in others or others.isdisjoint(user.operands):
            continue
        if ELEMENTWISE in user.operation.traits:
            others.add(user)
        elif user is not computation.root or user.opcode != "tuple":
            return False
    return not others.isdisjoint(roots)


def write_tiles(kernel: Kernel, form: TiledForm, bindings: list[Binding], arrays: list[Array]) -> None:
    """The kernel; the arrays have the results' shapes."""
    b, sizes = kernel.builder, form.sizes
    last, roots = len(sizes) - 1, result_roots(form.computation)
    block = index_of(b, kernel.block(), form.blocks)
    row, column = kernel.divided(kernel.thread(), TILE)
    tiles = [Array(kernel.shared(_tile_bytes(one)), Shape(one.shape.element_type, (TILE, TILE + 1))) for one in form.transposes]
    bound = dict(zip(form.computation.parameters, bindings))

    def place(along_across: ir.Value, along_last: ir.Value) -> tuple[Index, ir.Value]:
        """The index of a tile's element, and whether there is one."""
        index, inside = list(block), None
        for d, offset in ((form.across, along_across), (last, along_last)):
            start = block[d].base
            start = I32(0) if isinstance(start, int) else b.trunc(start, I32)
            number = b.add(b.mul(start, I32(TILE)), offset)
            index[d] = Affine(wide(b, number))
            if sizes[d] % TILE:
                is_one = b.icmp_unsigned("<", number, I32(sizes[d]))
                inside = is_one if inside is None else b.and_(inside, is_one)
        return tuple(index), inside

    def for_each(first_across: bool, compute) -> None:
        for first in range(0, TILE, _ROWS):
            slow = b.add(row, I32(first))
            along_across, along_last = (column, slow) if first_across else (slow, column)
            index, inside = place(along_across, along_last)
            in_tile = Affine(wide(b, along_last)), Affine(wide(b, along_across))
            if inside is None:
                compute(index, in_tile)
            else:
                with b.if_then(inside):
                    compute(index, in_tile)

    def fill(index: Index, in_tile: Index) -> None:
        emitter = ElementalEmitter(b, 1, bound)
        for transpose, tile in zip(form.transposes, tiles):
            tile.store(b, in_tile, emitter.emit(transpose, index), 1)

    def finish(index: Index, in_tile: Index) -> None:
        loaded = {one: tile.load(b, in_tile, 1) for one, tile in zip(form.transposes, tiles)}
        emitter = ElementalEmitter(b, 1, {**bound, **loaded})
        for array, value in zip(arrays, [emitter.emit(root, index) for root in roots]):
            array.store(b, index, value, 1)

    for_each(True, fill)
    kernel.barrier()
    for_each(False, finish)
