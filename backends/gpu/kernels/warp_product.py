"""The sums of a block of NVIDIA's.

Tiles of the operands are copied to its memory several steps ahead, in a ring of stages; each of its warps multiplies a part of
these in registers, or warps do so together, from that memory.
"""

from __future__ import annotations

from llvmlite import ir

from ....hlo import F32, Shape
from ...llvm.loops import carried_loop
from ...llvm.types import I32, POINTER
from ..kernel import Kernel
from ..target import Target
from .matrix_divisions import Division, division_for
from .matrix_tiles import Reading, reading_of
from .matrix_units import MatrixUnits
from .product import Product
from .warp_group_instructions import (
    ROWS,
    WARPS,
    describe,
    finished,
    has_group_instruction,
    multiply_tiles,
    show_copies,
    wait_for_products,
)
from .warp_instructions import WarpInstruction, end_group, wait_for_groups, warp_instruction
from .warp_tiles import RUN_BYTES, WarpTiles, turned


def _plan(
    target: Target, product: Product, instruction: WarpInstruction, shapes: tuple[Shape, Shape], parts: int
) -> tuple[tuple[Reading, Reading], Division]:
    left, right = (reading_of(product, side, shape, through_registers=False) for side, shape in enumerate(shapes))
    together = (turned(left), turned(right)) if instruction.operand is F32 else (left, right)
    are_by_terms = together[0].is_by_terms, together[1].is_by_terms
    is_grouped = has_group_instruction(target.architecture, instruction, are_by_terms)
    division = division_for(target, product, instruction, parts, is_grouped)
    return together if division.is_grouped else (left, right), division


class WarpProduct:
    """The sums while they are emitted."""

    def __init__(
        self, kernel: Kernel, instruction: WarpInstruction, division: Division, tiles: tuple[WarpTiles, WarpTiles], size: int
    ) -> None:
        self.kernel, self.builder = kernel, kernel.builder
        self.instruction, self.division, self.tiles = instruction, division, tiles
        self.memory = kernel.dynamic_shared(size)

    def sums(self, first: ir.Value, steps: int) -> list[ir.Value]:
        """Of so many tiles' terms, from a term on: those of 16 rows and 8 columns after each other."""
        b, division, stages, (left, _) = self.builder, self.division, self.division.stages, self.tiles
        # Products that go on while the next ones begin still read the stage before last.
        ahead = stages - 2 if division.is_grouped else stages - 1
        for stage in range(ahead):
            self._fill(I32(stage * division.stage_bytes), b.add(first, I32(stage * left.terms)))
        sum_type = self.instruction.sum_type
        zero = sum_type(0) if isinstance(sum_type, ir.IntType) else ir.Constant(sum_type, 0.0)
        count = division.sum_registers(self.instruction) * 4 // self.instruction.sums.byte_size
        last = I32(ahead * division.stage_bytes)

        def step(number: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            read, write, term, *sums = carried
            wait_for_groups(b, ahead - 1)
            if division.is_grouped:
                show_copies(b)
            self.kernel.barrier()
            if division.is_grouped:
                sums = self._multiply_together(b.add(self.memory, read), sums)
                self._fill(write, term)
                wait_for_products(b, 1)
            else:
                self._fill(write, term)
                sums = self._multiply(b.add(self.memory, read), sums)
            return [self._following(read), self._following(write), b.add(term, I32(left.terms)), *sums]

        behind = b.add(first, I32(ahead * left.terms))
        carried = [I32(0), last, behind, *[zero] * count]
        sums = carried_loop(b, 0, steps, 1, carried, step, "stages")[3:]
        return finished(b, self.instruction, sums) if division.is_grouped else sums

    def free_memory(self) -> ir.Value:
        b = self.builder
        wait_for_groups(b, 0)  # copies behind the last term are zeros, which arrive as well
        self.kernel.barrier()
        return b.addrspacecast(b.inttoptr(self.memory, ir.PointerType(addrspace=self.kernel.target.spaces.shared)), POINTER)

    def _following(self, stage: ir.Value) -> ir.Value:
        b, size = self.builder, self.division.stage_bytes
        is_last = b.icmp_unsigned("==", stage, I32((self.division.stages - 1) * size))
        return b.select(is_last, I32(0), b.add(stage, I32(size)))

    def _fill(self, stage: ir.Value, term: ir.Value) -> None:
        """Ask for the operands' tiles; a group of copies, which may be empty."""
        b, (left, right) = self.builder, self.tiles
        memory = b.add(self.memory, stage)
        left.fill(memory, term)
        right.fill(b.add(memory, I32(left.bytes)), term)
        end_group(b)

    def _multiply(self, memory: ir.Value, sums: list[ir.Value]) -> list[ir.Value]:
        b, (left, right) = self.builder, self.tiles
        height, width = self.division.warp_lines[0] // 16, self.division.warp_lines[1] // 8
        right_memory = b.add(memory, I32(left.bytes))
        sums = list(sums)

        def fragments(step: int) -> tuple[list[list[ir.Value]], list[list[ir.Value]]]:
            rows = [left.fragments(memory, step, 16 * number) for number in range(height)]
            columns = []
            for number in range(width // 2):
                one, other, one_below, other_below = right.fragments(right_memory, step, 16 * number)
                columns += [[one, one_below], [other, other_below]]
            return rows, columns

        following = fragments(0)
        for step in range(left.steps):
            rows, columns = following
            if step + 1 < left.steps:  # loaded while this step's are multiplied
                following = fragments(step + 1)
            for i in range(height):
                for j in range(width):
                    own = slice(4 * (i * width + j), 4 * (i * width + j) + 4)
                    sums[own] = self.instruction.emit(b, rows[i], columns[j], sums[own])
        return sums

    def _multiply_together(self, memory: ir.Value, sums: list[ir.Value]) -> list[ir.Value]:
        b, (left, right), instruction = self.builder, self.tiles, self.instruction
        are_by_terms = left.reading.is_by_terms, right.reading.is_by_terms
        # A group's rows are 64, of which 64 terms' runs, or one panel of 128 bytes, have 8 KiB either way.
        group = b.udiv(self.kernel.thread(), I32(self.division.warp * WARPS))
        of_group = b.add(memory, b.mul(group, I32(ROWS * RUN_BYTES)))
        descriptors = (
            describe(b, of_group, are_by_terms[0], left.terms * RUN_BYTES),
            describe(b, b.add(memory, I32(left.bytes)), are_by_terms[1], right.terms * RUN_BYTES),
        )
        columns = self.division.columns
        return multiply_tiles(b, instruction, columns, left.steps, descriptors, are_by_terms, sums)


WARP_UNITS = MatrixUnits(warp_instruction, _plan, WarpTiles, WarpProduct)
