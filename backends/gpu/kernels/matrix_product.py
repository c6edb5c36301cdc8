"""Products on matrix units, of NVIDIA's and of AMD's devices.

Each block of threads computes a tile of the result. How it comes by the sums of products is its family's (`warp_product`,
`wave_product`); which tile it is, and where the sums go, is the same for all.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

from llvmlite import ir

from ....hlo import Instruction, Shape
from ....hlo.fast_math import has_fast_math
from ...llvm.arrays import Array
from ...llvm.elemental import Binding
from ...llvm.index import Affine
from ...llvm.types import I32, I64, vector_of_values
from ..frame import Frame
from ..kernel import Grid, Kernel, wide
from ..precision import wants_precision
from ..target import Target
from ..values import Stored
from .epilogue import Results, StagedTile, in_vectors
from .matrix_divisions import Division
from .matrix_instructions import MatrixInstruction
from .matrix_tiles import Reading
from .matrix_units import BlockSums
from .product import Axis, Product, columns_at_once, offsets_of

# Neighbouring blocks have so many rows of tiles in common caches.
_BAND = 8


@dataclass(frozen=True)
class Form:
    """A product that is computed so."""

    product: Product
    instruction: MatrixInstruction
    readings: tuple[Reading, Reading]
    division: Division


def matrix_form(
    target: Target, instruction: Instruction, fast_math: bool, product: Product, shapes: tuple[Shape, Shape], parts: int
) -> Form | None:
    """How a product is computed on matrix units; None where it is not. ``parts``: how many there may be."""
    units = target.family.matrix_units
    if units is None or not product.sizes[3] or instruction.opcode not in ("dot", "convolution"):
        return None
    types = [shape.element_type for shape in shapes]
    may_lose_bits = fast_math and not wants_precision(instruction)
    unit = units.instruction(target, *types, instruction.shape.element_type, may_lose_bits)
    if unit is None or max(product.sizes) >= 1 << 30:
        return None
    readings, division = units.plan(target, product, unit, shapes, parts)
    return Form(product, unit, readings, division)


def launch_matrix_product(
    frame: Frame, instruction: Instruction, form: Form, operands: tuple[Stored, Stored], results: Results
) -> None:
    """Compute a product, or the sums of its parts, where the form's product has them."""
    division, product = form.division, form.product
    tiles = division.tiles(product)
    grid = Grid((tiles[0] * tiles[1] * product.sizes[0] * division.parts, 1, 1), (division.threads, 1, 1))

    def write(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        if division.sum_registers(form.instruction) <= 64:
            kernel.target.keep_resident(kernel.function, 2)
        _MatrixProduct(kernel, form, bindings, arrays, results).emit()

    key = (form, results.key)
    frame.launch("matrix_product", key, [*operands, *results.inputs], results.outputs, grid, write, instruction.source)


class _MatrixProduct:
    """The kernel while it is emitted."""

    def __init__(self, kernel: Kernel, form: Form, bindings: list[Binding], arrays: list[Array], results: Results) -> None:
        self.kernel, self.form, self.arrays, self.results = kernel, form, arrays, results
        operands, self.inputs = bindings[:2], bindings[2:]
        b = self.builder = kernel.builder
        division, product, places = form.division, form.product, form.instruction.places
        self.warp_lines = division.warp_lines
        warp, lane = kernel.divided(kernel.thread(), division.warp)
        self.warp_row = b.udiv(warp, I32(division.warp_columns))
        owns = (
            b.mul(self.warp_row, I32(self.warp_lines[0])),
            b.mul(b.urem(warp, I32(division.warp_columns)), I32(self.warp_lines[1])),
        )
        row_tile, column_tile, batch, self.part = self._block()
        firsts = self.firsts = b.mul(row_tile, I32(division.rows)), b.mul(column_tile, I32(division.columns))
        self.batch = offsets_of(b, wide(b, batch), product.batch)
        # Where the lane's first sum is.
        self.lane_row, column = places.first(b, lane)
        self.row, self.column = (b.add(b.add(firsts[k], owns[k]), one) for k, one in enumerate((self.lane_row, column)))
        self.units = kernel.target.family.matrix_units
        self.tiles = tuple([
            self.units.tiles(
                kernel, form.instruction, product, side, form.readings[side], division,
                self._address(operands[side]), self.batch[side], firsts[side], owns[side],
            )
            for side in (0, 1)
        ])  # fmt: skip

    def _address(self, array: Array) -> ir.Value:
        """Of the device's memory, as copies take it."""
        device = self.builder.addrspacecast(array.pointer, ir.PointerType(addrspace=self.kernel.target.spaces.device))
        return self.builder.ptrtoint(device, I64)

    def _block(self) -> tuple[ir.Value, ir.Value, ir.Value, ir.Value]:
        """Which tile, batch and part are this block's: those of a band of rows after each other, column by column."""
        b, division = self.builder, self.form.division
        rows, columns = division.tiles(self.form.product)
        number = self.kernel.block()
        tile, outer = b.urem(number, I32(rows * columns)), b.udiv(number, I32(rows * columns))
        batch, part = b.udiv(outer, I32(division.parts)), b.urem(outer, I32(division.parts))
        band, within = b.udiv(tile, I32(_BAND * columns)), b.urem(tile, I32(_BAND * columns))
        first = b.mul(band, I32(_BAND))
        left = b.sub(I32(rows), first)
        height = b.select(b.icmp_unsigned("<", left, I32(_BAND)), left, I32(_BAND))
        return b.add(first, b.urem(within, height)), b.udiv(within, height), batch, part

    def emit(self) -> None:
        b, division, unit, terms = self.builder, self.form.division, self.form.instruction, self.tiles[0].terms
        steps = -(-self.form.product.sizes[3] // terms)
        own_steps = -(-steps // division.parts)  # a part's, of which those behind the end are zeros
        staged_bytes = self._staged_bytes(self._staged_heights) if self._is_staged else 0
        product = self.units.product(self.kernel, unit, division, self.tiles, max(division.memory_bytes, staged_bytes))
        self._store(product, product.sums(b.mul(self.part, I32(own_steps * terms)), own_steps))

    # --- the results ---

    @property
    def _is_staged(self) -> bool:
        """Whether sums pass through the block's memory: where there is an epilogue, and where a lane's sums are apart."""
        return self.results.epilogue is not None or self.form.instruction.places.run == 1

    @property
    def _part_size(self) -> int:
        batches, rows, columns, _ = self.form.product.sizes
        return batches * rows * columns

    @property
    def _origin(self) -> ir.Value:
        """Where the first element of the batch, or of its part, is in the output."""
        b = self.builder
        return b.add(self.batch[2], b.mul(wide(b, self.part), I64(self._part_size)))

    @property
    def _pitch(self) -> int:
        """How far rows of sums are apart in the block's memory, of 32 banks: those of one instruction are in different ones."""
        return self.form.division.columns + self.form.instruction.places.columns % 32

    @property
    def _staged_heights(self) -> int:
        """How many rows of instructions each warp has in the block's memory at once: as many as fit where the operands' tiles
        were.
        """
        division, unit = self.form.division, self.form.instruction
        height = self.warp_lines[0] // unit.places.rows
        fitting = [one for one in range(1, height + 1) if not height % one and self._staged_bytes(one) <= division.memory_bytes]
        return max(fitting, default=1)

    def _staged_bytes(self, heights: int) -> int:
        division, unit = self.form.division, self.form.instruction
        return division.warp_rows * heights * unit.places.rows * self._pitch * unit.sums.byte_size

    def _store_by_memory(self, product: BlockSums, sums: list[ir.Value]) -> None:
        """Bands of the tile of sums take the place of those of the operands, one after the other."""
        b, kernel, division, unit = self.builder, self.kernel, self.form.division, self.form.instruction
        results = self.results
        if results.epilogue is None:
            results = in_vectors(results, kernel.target.vector_bytes, self.form.product)
        places, (count, run) = unit.places, (len(unit.places.others), unit.places.run)
        heights, width = self._staged_heights, self.warp_lines[1] // places.columns
        of_warp = heights * places.rows
        shape = Shape(unit.sums, (division.warp_rows * of_warp * self._pitch,))
        memory = product.free_memory()
        array = Array(memory, shape, vector_alignment=run * unit.sums.byte_size)
        staged = StagedTile(Array(memory, shape), division.warp_rows * of_warp, division.rows, division.columns, self._pitch)
        own_row = b.add(b.mul(self.warp_row, I32(of_warp)), self.lane_row)
        own_column = b.sub(self.column, self.firsts[1])
        for band in range(0, self.warp_lines[0] // places.rows, heights):
            if band:
                kernel.shared_barrier()
            for i in range(heights):
                for j in range(width):
                    for number in range(0, count, run):
                        row, column = places.others[number]
                        line = b.add(own_row, I32(places.rows * i + row))
                        place = b.add(b.mul(line, I32(self._pitch)), b.add(own_column, I32(places.columns * j + column)))
                        first = ((band + i) * width + j) * count + number
                        value = vector_of_values(b, sums[first : first + run])
                        array.store(b, (Affine(wide(b, place), int(run > 1)),), value, run)
            kernel.shared_barrier()

            def row_of(line: ir.Value, band: int = band) -> ir.Value:
                warp, within = kernel.divided(line, of_warp)
                row = b.add(b.mul(warp, I32(self.warp_lines[0])), b.add(within, I32(band * places.rows)))
                return b.add(self.firsts[0], row)

            staged.store(kernel, results, self.inputs, self.arrays, self.form.product, self._origin, row_of, self.firsts[1])

    def _store(self, product: BlockSums, sums: list[ir.Value]) -> None:
        """The sums of an instruction are after each other, those of a row of such matrices, and then those of the next row."""
        if self._is_staged:
            self._store_by_memory(product, sums)
            return
        b, product, places = self.builder, self.form.product, self.form.instruction.places
        _, rows, columns, _ = product.sizes
        run, count = columns_at_once(product, places.run, self.form.division.parts), len(places.others)
        width = self.warp_lines[1] // places.columns
        division = self.form.division
        is_full = not rows % division.rows and not columns % division.columns
        base = self._origin
        of_columns: dict[int, tuple[ir.Value, ir.Value]] = {}
        for first in range(0, self.warp_lines[1], places.columns):
            for _, behind in places.others:
                if first + behind not in of_columns:
                    column = b.add(self.column, I32(first + behind))
                    is_inside = b.icmp_unsigned("<", column, I32(columns))
                    of_columns[first + behind] = self._offset(self.column, first + behind, product.columns), is_inside
        for i in range(self.warp_lines[0] // places.rows):
            for below in dict.fromkeys([row for row, _ in places.others]):
                row = b.add(self.row, I32(places.rows * i + below))
                is_row = b.icmp_unsigned("<", row, I32(rows))
                start = b.add(base, self._offset(self.row, places.rows * i + below, product.rows))
                own = [(number, behind) for number, (other, behind) in enumerate(places.others) if other == below][::run]
                for j in range(width):
                    for number, behind in own:
                        offset, is_inside = of_columns[places.columns * j + behind]
                        first = (i * width + j) * count + number
                        with nullcontext() if is_full else b.if_then(b.and_(is_row, is_inside)):
                            self._store_one(b.add(start, offset), sums[first : first + run])

    def _offset(self, first: ir.Value, behind: int, axes: tuple[Axis, ...]) -> ir.Value:
        """How far from the output's beginning the row or column is that is so far behind the first one."""
        b = self.builder
        if len(axes) > 1:
            return offsets_of(b, b.add(first, I32(behind)), axes)[2]
        return b.add(offsets_of(b, first, axes)[2], I64(behind * axes[0].steps[2] if axes else 0))

    def _store_one(self, offset: ir.Value, values: list[ir.Value]) -> None:
        b = self.builder
        self.results.store(b, self.inputs, self.arrays, offset, vector_of_values(b, values), len(values))


def allows_less_precision(frame: Frame) -> bool:
    """Whether products of f32 may lose bits of their factors."""
    return has_fast_math(frame.program)
