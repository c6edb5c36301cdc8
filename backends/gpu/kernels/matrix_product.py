"""Products on NVIDIA's matrix units.

Each block of threads computes a tile of the result. Tiles of the operands are copied to its memory several steps ahead, in a
ring of stages; each of its warps multiplies a part of these in registers, or warps do so together, from that memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from llvmlite import ir

from ....hlo import F32, Instruction, Shape
from ....hlo.fast_math import has_fast_math
from ...llvm.arrays import Array
from ...llvm.elemental import Binding
from ...llvm.index import Affine
from ...llvm.loops import carried_loop
from ...llvm.types import I32, I64, POINTER
from ..frame import Frame, Stored
from ..kernel import Grid, Kernel, wide
from ..target import Target
from .epilogue import Results, StagedTile, vector_of_values
from .matrix_group_instructions import (
    ROWS,
    WARPS,
    describe,
    finished,
    has_group_instruction,
    multiply_tiles,
    show_copies,
    wait_for_products,
)
from .matrix_instructions import MatrixInstruction, end_group, matrix_instruction, wait_for_groups
from .matrix_tiles import RUN_BYTES, OperandTiles, Reading, reading_of, turned
from .product import Product, offsets_of

_WARP = 32
# So many blocks keep a device busy.
_BUSY_BLOCKS = 112
# Neighbouring blocks have so many rows of tiles in common caches.
_BAND = 8


@dataclass(frozen=True)
class Division:
    """The tile of a block, how many warps it has along rows and columns, and into how many parts the terms are divided."""

    rows: int
    columns: int
    warp_rows: int
    warp_columns: int
    stages: int
    parts: int = 1
    is_grouped: bool = False  # four warps multiply together

    @property
    def threads(self) -> int:
        return _WARP * self.warp_rows * self.warp_columns

    @property
    def stage_bytes(self) -> int:
        return (self.rows + self.columns) * RUN_BYTES

    def tiles(self, product: Product) -> tuple[int, int]:
        return -(-product.sizes[1] // self.rows), -(-product.sizes[2] // self.columns)


# From the one that reads least to the one that has most blocks.
_DIVISIONS = (
    Division(128, 256, 2, 4, 4),
    Division(128, 128, 2, 4, 3),
    Division(64, 128, 2, 2, 4),
    Division(64, 64, 2, 2, 4),
)


_GROUPED_DIVISIONS = (
    Division(128, 256, 8, 1, 4, is_grouped=True),
    Division(128, 128, 8, 1, 6, is_grouped=True),
)


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
    if target.family != "nvptx" or not product.sizes[3] or instruction.opcode not in ("dot", "convolution"):
        return None
    types = [shape.element_type for shape in shapes]
    precise = {"high", "highest"} & set(instruction.annotations.get("operand_precision", "").strip("{}").split(","))
    unit = matrix_instruction(target.architecture, *types, instruction.shape.element_type, fast_math and not precise)
    if unit is None or max(product.sizes) >= 1 << 30:
        return None
    readings = reading_of(product, 0, shapes[0]), reading_of(product, 1, shapes[1])
    together = (turned(readings[0]), turned(readings[1])) if unit.operand is F32 else readings
    are_by_terms = together[0].is_by_terms, together[1].is_by_terms
    is_grouped = has_group_instruction(target.architecture, unit, are_by_terms)
    division = _division(target, product, unit, parts, is_grouped)
    return Form(product, unit, together if division.is_grouped else readings, division)


def _division(target: Target, product: Product, unit: MatrixInstruction, parts: int, is_grouped: bool) -> Division:
    batches, rows, columns, terms = product.sizes
    known = (*_GROUPED_DIVISIONS, *_DIVISIONS) if is_grouped else _DIVISIONS
    fitting = [one for one in known if one.stages * one.stage_bytes <= target.dynamic_bytes]
    if unit.sums.bits == 64:  # several blocks on a processor hide how long its instructions take
        fitting = fitting[-1:]
    for division in fitting:
        tiles = division.tiles(product)
        if batches * tiles[0] * tiles[1] >= _BUSY_BLOCKS and _fits(division, rows, columns):
            return division
    smallest = fitting[-1]
    tiles = smallest.tiles(product)
    steps = -(-terms * unit.operand.byte_size // RUN_BYTES)
    wanted = min(parts, 2 * _BUSY_BLOCKS // (batches * tiles[0] * tiles[1]), steps // 4)
    return replace(smallest, parts=max(1, wanted))


def _fits(division: Division, rows: int, columns: int) -> bool:
    """Whether at most half of a tile is empty."""
    return division.rows < 2 * max(32, rows) and division.columns < 2 * max(32, columns)


def launch_matrix_product(
    frame: Frame, instruction: Instruction, form: Form, operands: tuple[Stored, Stored], results: Results
) -> None:
    """Compute a product, or the sums of its parts, where the form's product has them."""
    division, product = form.division, form.product
    tiles = division.tiles(product)
    grid = Grid((tiles[0] * tiles[1] * product.sizes[0] * division.parts, 1, 1), (division.threads, 1, 1))

    def write(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        if division.columns * division.rows * form.instruction.sums.byte_size <= 256 * division.threads:
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
        division, product = form.division, form.product
        self.warp_lines = division.rows // division.warp_rows, division.columns // division.warp_columns
        thread = kernel.thread()
        warp = b.udiv(thread, I32(_WARP))
        own_row = b.mul(b.udiv(warp, I32(division.warp_columns)), I32(self.warp_lines[0]))
        own_column = b.mul(b.urem(warp, I32(division.warp_columns)), I32(self.warp_lines[1]))
        row_tile, column_tile, batch, self.part = self._block()
        firsts = self.firsts = b.mul(row_tile, I32(division.rows)), b.mul(column_tile, I32(division.columns))
        self.batch = offsets_of(b, wide(b, batch), product.batch)
        lane = b.urem(thread, I32(_WARP))
        # Where the lane's sums are: two neighbouring columns of two rows.
        self.row = b.add(b.add(firsts[0], own_row), b.udiv(lane, I32(4)))
        self.column = b.add(b.add(firsts[1], own_column), b.mul(b.urem(lane, I32(4)), I32(2)))
        lines = division.rows, division.columns
        self.tiles = tuple([
            OperandTiles(
                kernel, form.instruction, product, side, form.readings[side], lines[side], division.threads,
                self._address(operands[side]), self.batch[side], firsts[side], (own_row, own_column)[side],
            )
            for side in (0, 1)
        ])  # fmt: skip
        staged = 0 if results.epilogue is None else division.rows * self._pitch * form.instruction.sums.byte_size
        self.memory = kernel.dynamic_shared(max(staged, division.stages * division.stage_bytes))

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
        b, division, stages = self.builder, self.form.division, self.form.division.stages
        left, right = self.tiles
        steps = -(-self.form.product.sizes[3] // left.terms)
        own_steps = -(-steps // division.parts)  # a part's, of which those behind the end are zeros
        first = b.mul(self.part, I32(own_steps * left.terms))
        # Products that go on while the next ones begin still read the stage before last.
        ahead = stages - 2 if division.is_grouped else stages - 1
        for stage in range(ahead):
            self._fill(I32(stage * division.stage_bytes), b.add(first, I32(stage * left.terms)))
        sum_type, _ = self.form.instruction.sum_register
        zero = sum_type(0) if isinstance(sum_type, ir.IntType) else ir.Constant(sum_type, 0.0)
        count = (self.warp_lines[0] // 16) * (self.warp_lines[1] // 8) * 4
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
        sums = carried_loop(b, 0, own_steps, 1, carried, step, "stages")[3:]
        self._store(finished(b, self.form.instruction, sums) if division.is_grouped else sums)

    def _following(self, stage: ir.Value) -> ir.Value:
        b, size = self.builder, self.form.division.stage_bytes
        is_last = b.icmp_unsigned("==", stage, I32((self.form.division.stages - 1) * size))
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
        height, width = self.warp_lines[0] // 16, self.warp_lines[1] // 8
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
                    sums[own] = self.form.instruction.emit(b, rows[i], columns[j], sums[own])
        return sums

    def _multiply_together(self, memory: ir.Value, sums: list[ir.Value]) -> list[ir.Value]:
        b, (left, right), instruction = self.builder, self.tiles, self.form.instruction
        are_by_terms = left.reading.is_by_terms, right.reading.is_by_terms
        # A group's rows are 64, of which 64 terms' runs, or one panel of 128 bytes, have 8 KiB either way.
        group = b.udiv(self.kernel.thread(), I32(_WARP * WARPS))
        of_group = b.add(memory, b.mul(group, I32(ROWS * RUN_BYTES)))
        descriptors = (
            describe(b, of_group, are_by_terms[0], left.terms * RUN_BYTES),
            describe(b, b.add(memory, I32(left.bytes)), are_by_terms[1], right.terms * RUN_BYTES),
        )
        columns = self.form.division.columns
        return multiply_tiles(b, instruction, columns, left.steps, descriptors, are_by_terms, sums)

    # --- the results ---

    def _has_pairs(self) -> bool:
        """Whether two neighbouring columns can be stored at once."""
        product = self.form.product
        columns = product.columns
        if not columns or columns[-1].steps[2] != 1 or columns[-1].size % 2:
            return False
        others = (*product.batch, *product.rows, *columns[:-1])
        return not any(axis.steps[2] % 2 for axis in others) and (self.form.division.parts == 1 or not self._part_size % 2)

    @property
    def _part_size(self) -> int:
        batches, rows, columns, _ = self.form.product.sizes
        return batches * rows * columns

    @property
    def _pitch(self) -> int:
        """How far rows of sums are apart in the block's memory: pairs of eight rows are in different banks."""
        return self.form.division.columns + 32 // self.form.instruction.sums.byte_size

    def _store_by_memory(self, sums: list[ir.Value]) -> None:
        """The tile of sums has the place of those of the operands."""
        b, kernel, division, type_ = self.builder, self.kernel, self.form.division, self.form.instruction.sums
        wait_for_groups(b, 0)  # copies behind the last term are zeros, which arrive as well
        kernel.barrier()
        pointer = b.inttoptr(self.memory, ir.PointerType(addrspace=kernel.target.spaces.shared))
        shape = Shape(type_, (division.rows * self._pitch,))
        array = Array(b.addrspacecast(pointer, POINTER), shape, vector_alignment=2 * type_.byte_size)
        height, width = self.warp_lines[0] // 16, self.warp_lines[1] // 8
        for i in range(height):
            for below in (0, 1):
                row = b.sub(b.add(self.row, I32(16 * i + 8 * below)), self.firsts[0])
                start = b.add(b.mul(row, I32(self._pitch)), b.sub(self.column, self.firsts[1]))
                for j in range(width):
                    pair = vector_of_values(b, sums[4 * (i * width + j) + 2 * below :][:2])
                    array.store(b, (Affine(wide(b, b.add(start, I32(8 * j))), 1),), pair, 2)
        kernel.barrier()
        staged = StagedTile(Array(array.pointer, shape), division.rows, division.rows, division.columns, self._pitch)
        first_row, first_column = self.firsts
        staged.store(
            kernel, self.results, self.inputs, self.arrays, self.form.product, self.batch[2],
            lambda row: b.add(first_row, row), first_column,
        )  # fmt: skip

    def _store(self, sums: list[ir.Value]) -> None:
        if self.results.epilogue is not None:
            self._store_by_memory(sums)
            return
        b, product = self.builder, self.form.product
        _, rows, columns, _ = product.sizes
        height, width = self.warp_lines[0] // 16, self.warp_lines[1] // 8
        has_pairs = self._has_pairs()
        base = b.add(self.batch[2], b.mul(wide(b, self.part), I64(self._part_size)))
        places = []
        for j in range(width):
            for second in (0,) if has_pairs else (0, 1):
                column = b.add(self.column, I32(8 * j + second))
                is_inside = b.icmp_unsigned("<", column, I32(columns))
                places.append((4 * j + second, offsets_of(b, column, product.columns)[2], is_inside))
        for i in range(height):
            for below in (0, 1):
                row = b.add(self.row, I32(16 * i + 8 * below))
                is_row = b.icmp_unsigned("<", row, I32(rows))
                start = b.add(base, offsets_of(b, row, product.rows)[2])
                for number, offset, is_inside in places:
                    first = 4 * i * width + number + 2 * below
                    with b.if_then(b.and_(is_row, is_inside)):
                        self._store_one(b.add(start, offset), sums[first : first + 1 + has_pairs])

    def _store_one(self, offset: ir.Value, values: list[ir.Value]) -> None:
        b = self.builder
        self.results.store(b, self.inputs, self.arrays, offset, vector_of_values(b, values), len(values))


def allows_less_precision(frame: Frame) -> bool:
    """Whether products of f32 may lose bits of their factors."""
    return has_fast_math(frame.program)
