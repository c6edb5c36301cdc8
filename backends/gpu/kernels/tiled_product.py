"""Products as tiles of multiply-adds: a block computes a tile of the result, from tiles of the operands that its threads share.

The next tiles are fetched into registers while the products of this one are added up.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from math import prod

from llvmlite import ir

from ....hlo import ElementType, Instruction, Shape
from ...llvm.arrays import Array
from ...llvm.elemental import Binding
from ...llvm.index import Affine
from ...llvm.loops import carried_loop
from ...llvm.types import I8, I32, I64, RegisterValue, register_bytes, register_type, selected, vector_of_values
from ..frame import Frame, Stored
from ..kernel import Grid, Kernel, wide
from .epilogue import Results, StagedTile
from .product import Axis, Product, as_factor, multiply_add, offsets_of, sum_type, zero

THREADS = 256
_SIDE = 16  # threads along rows and along columns of a tile


@dataclass(frozen=True)
class Tile:
    """How many rows, columns and terms a block takes at once."""

    rows: int
    columns: int
    terms: int


# From the one that reads least to the one of which there are most.
TILES = tuple([
    Tile(*sizes)
    for sizes in (
        (128, 128, 8), (128, 64, 16), (64, 128, 16), (64, 64, 16), (32, 64, 16), (64, 32, 16), (16, 128, 16), (128, 16, 16),
        (32, 32, 16),
    )
])  # fmt: skip
_SMALLEST_TILE = Tile(16, 16, 16)
_LEAST_TERMS = 8
_BUSY_BLOCKS = 128
_MOST_SUM_BYTES = 256  # of a thread


def tile_for(product: Product, element_bytes: int, parts: int = 1, registers: int | None = None) -> Tile:
    """The largest tile of which the result has enough to keep a device busy, whose sums fit into registers.

    Where there are just so many registers, all that may be in them does.
    """
    batches, rows, columns, _ = product.sizes
    for tile in TILES:
        tiles = parts * batches * -(-rows // tile.rows) * -(-columns // tile.columns)
        is_half_empty = tile.rows >= 2 * max(16, rows) or tile.columns >= 2 * max(16, columns)
        fits = tile.rows * tile.columns * element_bytes <= THREADS * _MOST_SUM_BYTES
        if not fits or tiles < _BUSY_BLOCKS or is_half_empty:
            continue
        for fitting in (tile, replace(tile, terms=_LEAST_TERMS)):
            if registers is None or registers_of(fitting, element_bytes) <= registers:
                return fitting
    return _SMALLEST_TILE


def registers_of(tile: Tile, element_bytes: int) -> int:
    """How many a thread needs, of 32 bits: for its sums, for what it fetches, and for its rows and columns of all terms of a
    tile, as LLVM may load these before it multiplies any.
    """
    lines = tile.rows + tile.columns
    elements = tile.rows * tile.columns // THREADS + lines * tile.terms // THREADS + lines // _SIDE * tile.terms
    return elements * -(-element_bytes // 4)


def launch_tiled_product(
    frame: Frame, instruction: Instruction, product: Product, operands: tuple[Stored, Stored], results: Results, count: int
) -> None:
    """Compute a product, or the sums of its parts, of which there are so many."""
    element_type = instruction.shape.element_type
    width = register_bytes(element_type) * (2 if element_type.is_complex else 1)
    tile = tile_for(product, width, count, frame.target.registers)
    batches, rows, columns, _ = product.sizes
    grid = Grid((-(-columns // tile.columns) * -(-rows // tile.rows) * batches * count, 1, 1), (THREADS, 1, 1))

    def write(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        kernel.target.keep_resident(kernel.function, 2)
        _Tiles(kernel, instruction, product, tile, count, bindings, arrays, results).emit()

    key = (product, tile, count, instruction.opcode, element_type, results.key)
    frame.launch("product", key, [*operands, *results.inputs], results.outputs, grid, write, instruction.source)


@dataclass(frozen=True)
class _Places:
    """What a thread fetches of an operand's tile: pieces of so many elements, which lie side by side by terms, or by lines.

    Of each piece: its first row or column in the tile, its first term, how far it is from the operand's beginning but for the
    term, whether there is such a row or column, and whether there is such a piece, if that is not sure.
    """

    places: tuple[tuple[ir.Value, ir.Value, ir.Value, ir.Value, ir.Value | None], ...]
    width: int
    along_terms: bool


class _Tiles:
    """The kernel while it is emitted."""

    def __init__(
        self, kernel: Kernel, instruction: Instruction, product: Product, tile: Tile, parts: int, bindings: list[Binding],
        arrays: list[Array], results: Results,
    ) -> None:  # fmt: skip
        self.kernel, self.builder, self.instruction = kernel, kernel.builder, instruction
        self.product, self.tile, self.operands, self.inputs = product, tile, bindings[:2], bindings[2:]
        self.arrays, self.results = arrays, results
        self.element_type: ElementType = instruction.shape.element_type
        b = self.builder
        _, self.rows, self.columns, self.terms = product.sizes
        self.thread = kernel.thread()
        tiles_of_rows, tiles_of_columns = -(-self.rows // tile.rows), -(-product.sizes[2] // tile.columns)
        number, column_tile = (divide(kernel.block(), I32(tiles_of_columns)) for divide in (b.udiv, b.urem))
        batch, row_tile = (divide(number, I32(tiles_of_rows)) for divide in (b.udiv, b.urem))
        self.first_row = b.mul(row_tile, I32(tile.rows))
        self.first_column = b.mul(column_tile, I32(tile.columns))
        part = I32(0)
        if parts > 1:
            batch, part = b.udiv(batch, I32(parts)), b.urem(batch, I32(parts))
        self.batch = offsets_of(b, wide(b, batch), product.batch)
        # Each part has so many steps; it takes those behind the terms' end as zeros.
        self.steps = -(-self.terms // (tile.terms * parts))
        self.first_term = b.mul(part, I32(self.steps * tile.terms))
        self.origin = b.mul(wide(b, part), I64(prod(product.sizes[:3]))) if parts > 1 else I64(0)
        # Elements of both tiles that a thread fetches: neighbouring threads those that lie side by side.
        self.loads = (
            self._places(0, tile.rows, self.first_row, product.rows, self.rows),
            self._places(1, tile.columns, self.first_column, product.columns, self.columns),
        )
        self.is_full = (
            not self.rows % tile.rows, not self.columns % tile.columns, not self.terms % (tile.terms * parts)
        )  # fmt: skip
        self.shared_type = sum_type(self.element_type)
        # Threads that store neighbouring terms do so to different banks.
        size = self.shared_type.byte_size
        padding = 0 if self.element_type.is_complex or size < 4 else 16 // size
        self.pitches = tile.rows + padding, tile.columns + padding
        # With two buffers no thread waits until the others are done with the one before.
        total = size * tile.terms * sum(self.pitches)
        self.buffers = 2 if 2 * total <= kernel.target.shared_bytes and not self.steps % 2 else 1
        shapes = [Shape(self.shared_type, (self.buffers * tile.terms * pitch,)) for pitch in self.pitches]
        size_of_row = size * _SIDE * self.pitches[1]  # of each thread's
        self.staged_rows = next(count for count in (4, 2, 1) if self._may_stage(count, size_of_row, self.buffers * total))
        staged = self.staged_rows * size_of_row if results.epilogue is not None else 0
        self.memory = kernel.shared(max(staged, sum(shape.byte_size for shape in shapes)))
        right = b.gep(self.memory, [I64(shapes[0].byte_size)], source_etype=I8)
        self.shared = tuple([Array(memory, shape) for memory, shape in zip((self.memory, right), shapes)])

    def _may_stage(self, count: int, size_of_row: int, size: int) -> bool:
        """Whether so many rows of each thread are side by side, and fit in so much memory, if not one alone has to."""
        return count == 1 or not (self.tile.rows // _SIDE) % count and count * size_of_row <= size

    # --- where elements lie ---

    def _places(self, side: int, count: int, first: ir.Value, axes: tuple[Axis, ...], size: int) -> _Places:
        b, terms = self.builder, self.tile.terms
        innermost = self.product.terms[-1].steps[side] if self.product.terms else 0
        along_terms = innermost == 1 or not axes or abs(axes[-1].steps[side]) > abs(innermost) > 0
        width = self._width(side, count, self.product.terms if along_terms else axes, along_terms)
        places = []
        for number in range(-(-count * terms // (THREADS * width))):
            position = b.add(self.thread, I32(number * THREADS))
            if along_terms:
                line, term = b.udiv(position, I32(terms // width)), b.urem(position, I32(terms // width))
                term = b.mul(term, I32(width))
            else:
                line, term = b.urem(position, I32(count // width)), b.udiv(position, I32(count // width))
                line = b.mul(line, I32(width))
            place = b.add(first, line)
            is_inside = b.icmp_unsigned("<", place, I32(size))
            within = b.select(is_inside, place, I32(max(size - (1 if along_terms else width), 0)))
            base = b.add(offsets_of(b, within, axes)[side], self.batch[side])
            is_used = b.icmp_unsigned("<", position, I32(count * terms)) if count * terms % THREADS else None
            places.append((line, term, base, is_inside, is_used))
        return _Places(tuple(places), width, along_terms)

    def _width(self, side: int, count: int, walked: tuple[Axis, ...], along_terms: bool) -> int:
        """How many elements a thread fetches at once: those of 16 bytes, where all such pieces are inside of the operand."""
        product, tile = self.product, self.tile
        element_type = self.operands[side].shape.element_type
        if element_type.is_complex or element_type.bits < 8 or not walked or walked[-1].steps[side] != 1:
            return 1
        others = [*product.batch, *product.rows, *product.columns, *product.terms]
        others.remove(walked[-1])
        steps = [axis.steps[side] for axis in others]
        sizes = walked[-1].size, tile.terms if along_terms else count
        width = 16 // element_type.byte_size
        while width > 1 and (count * tile.terms % (THREADS * width) or any(one % width for one in (*steps, *sizes))):
            width //= 2
        return width

    # --- the steps ---

    def emit(self) -> None:
        b, tile = self.builder, self.tile
        height, width = tile.rows // _SIDE, tile.columns // _SIDE
        sums: list[RegisterValue] = [zero(self.element_type)] * (height * width)
        if self.terms:
            fetched = self._fetch(self.first_term)
            last = b.add(self.first_term, I32((self.steps - 1) * tile.terms))

            def step(number: ir.Value, carried: list[RegisterValue]) -> list[RegisterValue]:
                kept, totals = carried[: len(fetched)], carried[len(fetched) :]
                for buffer in range(self.buffers):
                    self._share(kept, buffer)
                    self.kernel.barrier()
                    following = b.mul(b.trunc(b.add(number, I64(buffer + 1)), I32), I32(tile.terms))
                    following = b.add(self.first_term, following)
                    if self.is_full[2]:  # the last step's is not used
                        following = b.select(b.icmp_unsigned("<", following, last), following, last)
                    kept = self._fetch(following)
                    totals = self._multiply(totals, height, width, buffer)
                if self.buffers == 1:
                    self.kernel.barrier()
                return [*kept, *totals]

            sums = carried_loop(b, 0, self.steps, self.buffers, [*fetched, *sums], step, "tiles")[len(fetched) :]
        self._store(sums, height, width)

    def _fetch(self, first_term: ir.Value) -> list[RegisterValue]:
        """This thread's elements of both tiles, zero outside of the operands."""
        return [value for side in (0, 1) for value in self._fetched(side, first_term)]

    def _fetched(self, side: int, first_term: ir.Value) -> list[RegisterValue]:
        b, array, loads = self.builder, self.operands[side], self.loads[side]
        element_type, width = array.shape.element_type, loads.width
        size = width * element_type.byte_size if width > 1 else 0
        flat = Array(array.pointer, Shape(element_type, (max(1, array.shape.size),)), vector_alignment=size)
        nothing = zero(self.element_type) if width == 1 else ir.Constant(register_type(self.element_type, width), None)
        values = []
        for _, term, base, is_inside, _ in loads.places:
            number, conditions = b.add(first_term, term), [] if self.is_full[side] else [is_inside]
            if not self.is_full[2]:
                is_term = b.icmp_unsigned("<", number, I32(self.terms))
                number = b.select(is_term, number, I32(max(self.terms - (width if loads.along_terms else 1), 0)))
                conditions.append(is_term)
            offset = b.add(base, offsets_of(b, number, self.product.terms)[side])
            value = flat.load(b, (Affine(offset, int(width > 1)),), width)
            value = as_factor(b, self.instruction, value, element_type, width)
            for condition in conditions:
                value = selected(b, condition, value, nothing)
            values.append(value)
        return values

    def _share(self, values: list[RegisterValue], buffer: int) -> None:
        b, following = self.builder, iter(values)
        for side, pitch in enumerate(self.pitches):
            shared, loads = self.shared[side], self.loads[side]
            start, width = I32(buffer * self.tile.terms * pitch), loads.width
            vectors = Array(shared.pointer, shared.shape, vector_alignment=min(16, width * self.shared_type.byte_size))
            for line, term, _, _, is_used in loads.places:
                value, place = next(following), b.add(b.add(b.mul(term, I32(pitch)), line), start)
                with nullcontext() if is_used is None else b.if_then(is_used):
                    if width == 1:
                        shared.store(b, (Affine(wide(b, place)),), value, 1)
                    elif not loads.along_terms:
                        vectors.store(b, (Affine(wide(b, place), 1),), value, width)
                    else:
                        for number in range(width):
                            at = Affine(wide(b, b.add(place, I32(number * pitch))))
                            shared.store(b, (at,), b.extract_element(value, I32(number)), 1)

    def _multiply(self, totals: list[RegisterValue], height: int, width: int, buffer: int) -> list[RegisterValue]:
        totals = list(totals)
        row, column = self._own_row(), self._own_column()
        for term in range(buffer * self.tile.terms, (buffer + 1) * self.tile.terms):
            left = self._line(0, term, row, height)
            right = self._line(1, term, column, width)
            for i in range(height):
                for j in range(width):
                    total = totals[i * width + j]
                    totals[i * width + j] = multiply_add(self.builder, self.element_type, left[i], right[j], total)
        return totals

    def _line(self, side: int, term: int, first: ir.Value, count: int) -> list[RegisterValue]:
        """The elements of a term that this thread's rows or columns have: runs of four, as they are loaded at once."""
        b, values = self.builder, []
        for run, length in _runs(count):
            place = b.add(I32(term * self.pitches[side] + run * _SIDE), b.mul(first, I32(length)))
            values += self._loaded(side, wide(b, place), length)
        return values

    def _loaded(self, side: int, place: ir.Value, length: int) -> list[RegisterValue]:
        b, shared = self.builder, self.shared[side]
        if length == 1 or self._is_loaded_alone:
            return [shared.load(b, (Affine(b.add(place, I64(number))),), 1) for number in range(length)]
        align = min(16, length * self.shared_type.byte_size)
        array = Array(shared.pointer, shared.shape, vector_alignment=align)
        vector = array.load(b, (Affine(place, 1),), length)
        return [b.extract_element(vector, I32(number)) for number in range(length)]

    # Of 32 threads in step, neighbours have a column in common, those next but one a row, and 16 have 2 rows of 8 columns: so
    # NVIDIA's devices load runs of four elements of these in as few cycles as they can.

    def _own_row(self) -> ir.Value:
        b, thread = self.builder, self.thread
        in_group = b.or_(b.and_(thread, I32(1)), b.and_(b.lshr(thread, I32(3)), I32(2)))
        return b.or_(in_group, b.and_(b.lshr(thread, I32(4)), I32(12)))

    def _own_column(self) -> ir.Value:
        b, thread = self.builder, self.thread
        return b.or_(b.and_(b.lshr(thread, I32(1)), I32(7)), b.and_(b.lshr(thread, I32(2)), I32(8)))

    def _store(self, sums: list[RegisterValue], height: int, width: int) -> None:
        if self.results.epilogue is not None:
            self._store_by_memory(sums, height, width)
            return
        b = self.builder
        base = b.add(self.batch[2], self.origin)
        columns = [self._numbered(self.first_column, self._own_column(), width, number) for number in range(width)]
        of_columns = [offsets_of(b, column, self.product.columns)[2] for column in columns]
        for i in range(height):
            row = self._numbered(self.first_row, self._own_row(), height, i)
            with b.if_then(b.icmp_unsigned("<", row, I32(self.rows))):
                start = b.add(offsets_of(b, row, self.product.rows)[2], base)
                for j, (column, offset) in enumerate(zip(columns, of_columns)):
                    with b.if_then(b.icmp_unsigned("<", column, I32(self.columns))):
                        self.results.store(b, self.inputs, self.arrays, b.add(start, offset), sums[i * width + j])

    def _store_by_memory(self, sums: list[RegisterValue], height: int, width: int) -> None:
        """As many of each thread's rows at a time as fit into the memory that the tiles of the operands had."""
        b, kernel, columns = self.builder, self.kernel, self.tile.columns
        rows = self.staged_rows * _SIDE
        shape = Shape(self.shared_type, (rows * self.pitches[1],))
        staged = StagedTile(Array(self.memory, shape), rows, self.tile.rows, columns, self.pitches[1])
        for first in range(0, height, self.staged_rows):
            kernel.barrier()
            for i in range(first, first + self.staged_rows):
                line = b.add(b.mul(self._own_row(), I32(self.staged_rows)), I32(i - first))
                for run, length in _runs(width):
                    place = b.add(b.mul(line, I32(self.pitches[1])), I32(run * _SIDE))
                    place = b.add(place, b.mul(self._own_column(), I32(length)))
                    self._stage(staged.array, wide(b, place), sums[i * width + run : i * width + run + length])
            kernel.barrier()

            def row_of(line: ir.Value, first: int = first) -> ir.Value:
                own, number = kernel.divided(line, self.staged_rows)
                return b.add(self._numbered(self.first_row, own, height, first), number)

            origin = b.add(self.batch[2], self.origin)
            staged.store(kernel, self.results, self.inputs, self.arrays, self.product, origin, row_of, self.first_column)

    def _stage(self, array: Array, place: ir.Value, values: list[RegisterValue]) -> None:
        b, count = self.builder, len(values)
        if count == 1 or self._is_loaded_alone:
            for number, value in enumerate(values):
                array.store(b, (Affine(b.add(place, I64(number))),), value, 1)
            return
        align = min(16, count * self.shared_type.byte_size)
        array = Array(array.pointer, array.shape, vector_alignment=align)
        array.store(b, (Affine(place, 1),), vector_of_values(b, values), count)

    @property
    def _is_loaded_alone(self) -> bool:
        return self.element_type.is_complex or self.element_type.kind == "pred"

    def _numbered(self, first: ir.Value, own: ir.Value, count: int, number: int) -> ir.Value:
        """The row or column of a thread's sum with this number."""
        b, passed = self.builder, 0
        for run, length in _runs(count):
            if number < passed + length:
                return b.add(b.add(first, I32(run * _SIDE + number - passed)), b.mul(own, I32(length)))
            passed += length
        raise AssertionError(number)


def _runs(count: int) -> list[tuple[int, int]]:
    """Where the runs of a thread's rows or columns begin, of ``count`` a thread, and how long they are: four at most."""
    return [(start, min(4, count - start)) for start in range(0, count, 4)]
