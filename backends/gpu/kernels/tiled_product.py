"""Products as tiles of multiply-adds: a block computes a tile of the result, from tiles of the operands that its threads share.

The next tiles are fetched into registers while the products of this one are added up.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace

from llvmlite import ir

from ....hlo import ElementType, Instruction, Shape
from ...llvm.arrays import Array, lanes_constant
from ...llvm.branches import replaced_if
from ...llvm.builder import undefined
from ...llvm.elemental import Binding
from ...llvm.index import Affine
from ...llvm.loops import carried_loop
from ...llvm.types import (
    I8,
    I32,
    I64,
    ComplexValue,
    RegisterValue,
    broadcast_lanes,
    lane_values,
    register_bytes,
    register_type,
    selected,
)
from .. import choices
from ..frame import Frame
from ..kernel import Grid, Kernel, wide
from ..values import Stored
from .epilogue import Results, StagedTile
from .product import Axis, Product, as_factor, columns_at_once, multiply_add, offsets_of, sum_type, zero
from .product_extent import Amount, Extent, as_given, extent_of, in_kernel, is_general, narrow_amount, wide_amount
from .product_tiles import LARGEST_TILE, SIDE, THREADS, Tile, tile_for

_RUN = 4  # rows or columns of a thread that are neighbours, at most


def launch_tiled_product(
    frame: Frame, instruction: Instruction, product: Product, operands: tuple[Stored, Stored], results: Results, count: int
) -> None:
    """Compute a product, or the sums of its parts, of which there are so many."""
    element_type = instruction.shape.element_type
    width = register_bytes(element_type) * (2 if element_type.is_complex else 1)
    tile = tile_for(product, width, count, frame.target.registers)
    types = tuple([operand.shape.element_type for operand in operands])
    form = _form_of(product, tile, count, types, results.element_type)
    extent, numbers = extent_of(product, tile.rows, tile.columns, tile.terms, count), ()
    grid = Grid((extent.row_tiles * extent.column_tiles * product.sizes[0] * count, 1, 1), (THREADS, 1, 1))
    outputs, sizes = results.outputs, product.sizes
    if frame.takes_numbers and all(form.is_full) and form.has_steps and results.epilogue is None and is_general(product):
        (extent, numbers), sizes = as_given(extent), ()
        # Their sizes are not the kernel's.
        operands, outputs = map(_without_sizes, (operands, outputs))

    def write(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        kernel.target.keep_resident(kernel.function, 2)
        kernel.is_plain = True
        of_kernel = in_kernel(extent, kernel.numbers) if numbers else extent
        _Tiles(kernel, instruction, form, of_kernel, product.sizes, bindings, arrays, results).emit()

    key = (form, extent, sizes, instruction.opcode, element_type, results.key)
    frame.launch("product", key, [*operands, *results.inputs], outputs, grid, write, instruction.source, numbers=numbers)


def _without_sizes(stored: tuple[Stored, ...]) -> tuple[Stored, ...]:
    return tuple([replace(one, shape=Shape(one.shape.element_type, (1,))) for one in stored])


@dataclass(frozen=True)
class _Form:
    """What a kernel's code depends on besides numbers.

    Of each operand: whether pieces that a thread fetches lie side by side by terms, or by lines, and of how many elements they
    are; ``is_full``: whether there are whole tiles only, of rows, of columns, of terms. ``at_once`` columns are stored.
    """

    tile: Tile
    along_terms: tuple[bool, bool]
    widths: tuple[int, int]
    is_full: tuple[bool, bool, bool]
    has_parts: bool
    has_steps: bool
    at_once: int


def _form_of(product: Product, tile: Tile, parts: int, types: tuple[ElementType, ElementType], result: ElementType) -> _Form:
    _, rows, columns, terms = product.sizes
    along_terms, widths = [], []
    for side, (axes, count) in enumerate(((product.rows, tile.rows), (product.columns, tile.columns))):
        innermost = product.terms[-1].steps[side] if product.terms else 0
        along_terms.append(innermost == 1 or not axes or abs(axes[-1].steps[side]) > abs(innermost) > 0)
        walked, sizes = (product.terms, tile.terms) if along_terms[side] else (axes, count)
        widths.append(_width(product, tile, side, types[side], count, walked, sizes))
    is_full = not rows % tile.rows, not columns % tile.columns, not terms % (tile.terms * parts)
    at_once = 1 if result.is_complex else min(_RUN, tile.columns // SIDE, max(1, 16 // result.byte_size))
    at_once = columns_at_once(product, at_once, parts)
    return _Form(tile, tuple(along_terms), tuple(widths), is_full, parts > 1, terms > tile.terms * parts, at_once)


def _width(
    product: Product, tile: Tile, side: int, element_type: ElementType, count: int, walked: tuple[Axis, ...], size: int
) -> int:
    """How many elements a thread fetches at once: those of 16 bytes, where all such pieces are inside of the operand."""
    if element_type.is_complex or element_type.bits < 8 or not walked or walked[-1].steps[side] != 1:
        return 1
    others = [*product.batch, *product.rows, *product.columns, *product.terms]
    others.remove(walked[-1])
    numbers = [walked[-1].size, size, *[axis.steps[side] for axis in others]]
    width = 16 // element_type.byte_size
    while width > 1 and (count * tile.terms % (THREADS * width) or any(number % width for number in numbers)):
        width //= 2
    return width


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
        self, kernel: Kernel, instruction: Instruction, form: _Form, extent: Extent, sizes: tuple[int, int, int, int],
        bindings: list[Binding], arrays: list[Array], results: Results,
    ) -> None:  # fmt: skip
        """``sizes`` are the product's, of which only those matter that are no whole tiles."""
        self.kernel, self.builder, self.instruction = kernel, kernel.builder, instruction
        self.form, self.extent, self.product, self.tile = form, extent, extent.product, form.tile
        self.operands, self.inputs, self.arrays, self.results = bindings[:2], bindings[2:], arrays, results
        self.element_type: ElementType = instruction.shape.element_type
        b, tile, product = self.builder, self.tile, self.product
        _, self.rows, self.columns, self.terms = sizes
        self.thread = kernel.thread()
        number, column_tile = self._divided(kernel.block(), extent.column_tiles)
        batch, row_tile = self._divided(number, extent.row_tiles)
        self.first_row = b.mul(row_tile, I32(tile.rows))
        self.first_column = b.mul(column_tile, I32(tile.columns))
        part, self.origin = I32(0), I64(0)
        if form.has_parts:
            batch, part = self._divided(batch, extent.parts)
            self.origin = b.mul(wide(b, part), wide_amount(extent.part_size))
        self.batch = offsets_of(b, wide(b, batch), product.batch)
        # Each part has so many steps; it takes those behind the terms' end as zeros.
        self.steps = narrow_amount(b, extent.steps)
        self.first_term = b.mul(part, b.mul(self.steps, I32(tile.terms)))
        # Elements of both tiles that a thread fetches: neighbouring threads those that lie side by side.
        self.is_full = form.is_full
        self.loads = (
            self._places(0, tile.rows, self.first_row, product.rows, self.rows),
            self._places(1, tile.columns, self.first_column, product.columns, self.columns),
        )
        self.shared_type = sum_type(self.element_type)
        # Threads that store neighbouring terms do so to different banks.
        size = self.shared_type.byte_size
        padding = 0 if self.element_type.is_complex or size < 4 else 16 // size
        self.pitches = tile.rows + padding, tile.columns + padding
        # With two buffers no thread waits until the others are done with the one before.
        total = size * tile.terms * sum(self.pitches)
        self.buffers = 2 if 2 * total <= kernel.target.shared_bytes and form.has_steps else 1
        self.shapes = tuple([Shape(self.shared_type, (tile.terms * pitch,)) for pitch in self.pitches])
        self.buffer_bytes = total
        size_of_row = size * SIDE * self.pitches[1]  # of each thread's
        self.staged_rows = next(count for count in (4, 2, 1) if self._may_stage(count, size_of_row, self.buffers * total))
        staged = self.staged_rows * size_of_row if results.epilogue is not None else 0
        self.memory = kernel.shared(max(staged, self.buffers * total))

    def _may_stage(self, count: int, size_of_row: int, size: int) -> bool:
        """Whether so many rows of each thread are side by side, and fit in so much memory, if not one alone has to."""
        return count == 1 or not (self.tile.rows // SIDE) % count and count * size_of_row <= size

    # --- where elements lie ---

    def _places(self, side: int, count: int, first: ir.Value, axes: tuple[Axis, ...], size: int) -> _Places:
        b, terms = self.builder, self.tile.terms
        along_terms, width = self.form.along_terms[side], self.form.widths[side]
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
            is_inside, within = None, place
            if not self.is_full[side]:
                is_inside = b.icmp_unsigned("<", place, I32(size))
                within = b.select(is_inside, place, I32(max(size - (1 if along_terms else width), 0)))
            base = b.add(offsets_of(b, within, axes)[side], self.batch[side])
            is_used = b.icmp_unsigned("<", position, I32(count * terms)) if count * terms % THREADS else None
            places.append((line, term, base, is_inside, is_used))
        return _Places(tuple(places), width, along_terms)

    def _divided(self, number: ir.Value, count: Amount) -> tuple[ir.Value, ir.Value]:
        by = narrow_amount(self.builder, count)
        return self.builder.udiv(number, by), self.builder.urem(number, by)

    # --- the steps ---

    def emit(self) -> None:
        b, tile = self.builder, self.tile
        height, width = tile.rows // SIDE, tile.columns // SIDE
        sums = [self._zeros(length) for length in self._lanes(width)] * height
        if self.terms:
            places = self._fetched_places()
            self._share(self._fetch(self.first_term, places), I32(0))
            own = self._own_memory(height, width)

            def step(number: ir.Value, carried: list[RegisterValue]) -> list[RegisterValue]:
                """Multiply what a buffer has, and fetch for the other one in the meantime, if there is another step."""
                buffer, here, totals = carried[0], carried[1 : len(places) + 1], carried[len(places) + 1 :]
                other = b.sub(I32(self.buffer_bytes), buffer) if self.buffers > 1 else buffer
                self.kernel.barrier()
                following = b.add(number, I32(1), flags=["nsw", "nuw"])
                here = self._moved(here)
                fetched = self._fetch_if(b.icmp_signed("<", following, self.steps), following, here)
                totals = self._multiply(totals, height, width, own, buffer)
                if self.buffers == 1:
                    self.kernel.barrier()
                self._share(fetched, other)
                return [other, *here, *totals]

            carried = carried_loop(b, 0, self.steps, 1, [I32(0), *places, *sums], step, "tiles", index_type=I32, runs=True)
            sums = carried[len(places) + 1 :]
        self._store(sums, height, width)

    def _fetched_places(self) -> list[ir.Value]:
        """Where what a thread fetches first is in both operands, where that moves by the same distance from step to step."""
        b, terms = self.builder, self.product.terms
        if not self.is_full[2] or len(terms) != 1:
            return []
        places = []
        for side, loads in enumerate(self.loads):
            for _, term, base, _, _ in loads.places:
                offset = b.add(base, offsets_of(b, b.add(self.first_term, term), terms)[side])
                places.append(self._flat(side).address(b, (Affine(offset),)))
        return places

    def _moved(self, places: list[ir.Value]) -> list[ir.Value]:
        """The places of the next step."""
        b, following = self.builder, iter(places)
        if not places:
            return []
        steps = [b.mul(I64(self.tile.terms), wide_amount(step)) for step in self.product.terms[0].steps[:2]]
        return [
            replace(self._flat(side), pointer=next(following)).address(b, (Affine(steps[side]),))
            for side in (0, 1)
            for _ in self.loads[side].places
        ]

    def _fetch_if(self, condition: ir.Value, step: ir.Value, places: list[ir.Value]) -> list[RegisterValue]:
        """This thread's elements of both tiles of a step; anything where the condition does not hold."""
        b = self.builder
        anything = [self._anything(loads.width) for loads in self.loads for _ in loads.places]
        first_term = b.add(self.first_term, b.mul(step, I32(self.tile.terms)))
        return replaced_if(b, condition, anything, lambda: self._fetch(first_term, places))

    def _fetch(self, first_term: ir.Value, places: list[ir.Value]) -> list[RegisterValue]:
        """This thread's elements of both tiles, zero outside of the operands; at the places, where these are known."""
        known = iter(places)
        return [value for side in (0, 1) for value in self._fetched(side, first_term, known if places else None)]

    def _flat(self, side: int) -> Array:
        """An operand as elements side by side, of which a thread fetches as many at once as it does."""
        array, width = self.operands[side], self.loads[side].width
        size = width * array.shape.element_type.byte_size if width > 1 else 0
        return Array(array.pointer, Shape(array.shape.element_type, (max(1, array.shape.size),)), vector_alignment=size)

    def _fetched(self, side: int, first_term: ir.Value, known: Iterator[ir.Value] | None) -> list[RegisterValue]:
        b, flat, loads = self.builder, self._flat(side), self.loads[side]
        element_type, width = flat.shape.element_type, loads.width
        nothing = self._zeros(width)
        values = []
        for _, term, base, is_inside, _ in loads.places:
            conditions = [] if self.is_full[side] else [is_inside]
            if known is not None:
                place, offset = replace(flat, pointer=next(known)), I64(0)
            else:
                place = flat
                number = b.add(first_term, term)
                if not self.is_full[2]:
                    is_term = b.icmp_unsigned("<", number, I32(self.terms))
                    number = b.select(is_term, number, I32(max(self.terms - (width if loads.along_terms else 1), 0)))
                    conditions.append(is_term)
                offset = b.add(base, offsets_of(b, number, self.product.terms)[side])
            value = place.load(b, (Affine(offset, int(width > 1)),), width)
            value = as_factor(b, self.instruction, value, element_type, width)
            for condition in conditions:
                value = selected(b, condition, value, nothing)
            values.append(value)
        return values

    def _share(self, values: list[RegisterValue], buffer: ir.Value) -> None:
        b, following = self.builder, iter(values)
        for (side, pitch), shared in zip(enumerate(self.pitches), self._shared(buffer)):
            loads = self.loads[side]
            width = loads.width
            vectors = Array(shared.pointer, shared.shape, vector_alignment=min(16, width * self.shared_type.byte_size))
            for line, term, _, _, is_used in loads.places:
                value, place = next(following), b.add(b.mul(term, I32(pitch)), line)
                with nullcontext() if is_used is None else b.if_then(is_used):
                    if width == 1:
                        shared.store(b, (Affine(wide(b, place)),), value, 1)
                    elif not loads.along_terms:
                        vectors.store(b, (Affine(wide(b, place), 1),), value, width)
                    else:
                        for number in range(width):
                            at = Affine(wide(b, b.add(place, I32(number * pitch))))
                            shared.store(b, (at,), b.extract_element(value, I32(number)), 1)

    def _shared(self, buffer: ir.Value) -> tuple[Array, Array]:
        """The tiles of both operands in the buffer that begins at this byte of the block's memory."""
        b = self.builder
        left = b.gep(self.memory, [wide(b, buffer)], source_etype=I8)
        right = b.gep(left, [I64(self.shapes[0].byte_size)], source_etype=I8)
        return Array(left, self.shapes[0]), Array(right, self.shapes[1])

    def _own_memory(self, height: int, width: int) -> list[list[ir.Value]]:
        """Where in the first buffer, for the first term, this thread's runs of rows begin, and those of columns."""
        b, firsts = self.builder, []
        for array, own, count in zip(self._shared(I32(0)), (self._own_row(), self._own_column()), (height, width)):
            places = [b.add(b.mul(own, I32(length)), I32(run * SIDE)) for run, length in _runs(count)]
            firsts.append([array.address(b, (Affine(wide(b, place)),)) for place in places])
        return firsts

    def _multiply(
        self, totals: list[RegisterValue], height: int, width: int, own: list[list[ir.Value]], buffer: ir.Value
    ) -> list[RegisterValue]:
        b, terms = self.builder, self.tile.terms
        here = [[b.gep(place, [wide(b, buffer)], source_etype=I8) for place in places] for places in own]
        at_once = self._terms_at_once(height * width)

        def multiply(number: ir.Value, carried: list[RegisterValue]) -> list[RegisterValue]:
            firsts, totals = here, list(carried)
            if at_once < terms:
                firsts = [self._moved_by(number, side, places) for side, places in enumerate(here)]
            for term in range(at_once):
                left, right = (self._line(side, term, firsts[side], count) for side, count in enumerate((height, width)))
                rows = [lane for vector in left for lane in lane_values(b, vector)]
                lanes = self._lanes(width)
                for i, row in enumerate(rows):
                    factors = {length: broadcast_lanes(b, row, length) for length in dict.fromkeys(lanes)}
                    for j, length in enumerate(lanes):
                        place = i * len(lanes) + j
                        totals[place] = multiply_add(b, self.element_type, factors[length], right[j], totals[place])
            return totals

        return carried_loop(b, 0, terms, at_once, totals, multiply, "terms", index_type=I32)

    def _terms_at_once(self, sums: int) -> int:
        """Of how many terms the code is written out, as a divisor of those of a tile."""
        terms = self.tile.terms
        if self.tile == LARGEST_TILE:
            return terms
        steps = 4 if self.element_type.is_complex else 1
        while not terms % 2 and terms * sums * steps > choices.MULTIPLY_ADDS_OF_ROUND:
            terms //= 2
        return terms

    def _moved_by(self, term: ir.Value, side: int, places: list[ir.Value]) -> list[ir.Value]:
        """Places in the block's memory so many terms further."""
        b = self.builder
        distance = wide(b, b.mul(term, I32(self.pitches[side] * self.shared_type.byte_size)))
        return [b.gep(place, [distance], source_etype=I8) for place in places]

    def _line(self, side: int, term: int, firsts: list[ir.Value], count: int) -> list[RegisterValue]:
        """The elements of a term that this thread's rows or columns have, in vectors of `_lanes`."""
        b, values = self.builder, []
        for first, (_, length) in zip(firsts, _runs(count)):
            place, lanes = term * self.pitches[side], 1 if self._is_loaded_alone else length
            array = Array(first, self.shapes[side], vector_alignment=min(16, lanes * self.shared_type.byte_size))
            for number in range(0, length, lanes):
                values.append(array.load(b, (Affine(I64(place + number), int(lanes > 1)),), lanes))
        return values

    def _lanes(self, count: int) -> list[int]:
        """How many of a thread's rows or columns are in each vector, in which they are loaded and added up."""
        return [1] * count if self._is_loaded_alone else [length for _, length in _runs(count)]

    def _zeros(self, lanes: int) -> RegisterValue:
        return zero(self.element_type) if lanes == 1 else ir.Constant(register_type(self.element_type, lanes), None)

    def _anything(self, lanes: int) -> RegisterValue:
        value = undefined(register_type(self.element_type, lanes))
        return ComplexValue(value, value) if self.element_type.is_complex else value

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
        is_full = self.is_full[:2]
        places, column = [], 0
        for vector, lanes in enumerate(self._lanes(width)):
            at_once = min(lanes, self.form.at_once)
            for lane in range(0, lanes, at_once):
                number = self._numbered(self.first_column, self._own_column(), width, column + lane)
                places.append((vector, lane, at_once, number, offsets_of(b, number, self.product.columns)[2]))
            column += lanes
        for i in range(height):
            row = self._numbered(self.first_row, self._own_row(), height, i)
            with nullcontext() if is_full[0] else b.if_then(b.icmp_unsigned("<", row, I32(self.rows))):
                start = b.add(offsets_of(b, row, self.product.rows)[2], base)
                for vector, lane, at_once, number, offset in places:
                    with nullcontext() if is_full[1] else b.if_then(b.icmp_unsigned("<", number, I32(self.columns))):
                        value = self._part(sums[i * len(sums) // height + vector], lane, at_once)
                        self.results.store(b, self.inputs, self.arrays, b.add(start, offset), value, at_once)

    def _part(self, vector: RegisterValue, first: int, count: int) -> RegisterValue:
        """Some lanes of a vector."""
        if isinstance(vector, ComplexValue) or not isinstance(vector.type, ir.VectorType) or vector.type.count == count:
            return vector
        if count == 1:
            return self.builder.extract_element(vector, I32(first))
        lanes = lanes_constant(range(first, first + count))
        return self.builder.shuffle_vector(vector, undefined(vector.type), lanes)

    def _store_by_memory(self, sums: list[RegisterValue], height: int, width: int) -> None:
        """As many of each thread's rows at a time as fit into the memory that the tiles of the operands had.

        These bands are the rounds of a loop, so that there is one copy of the epilogue.
        """
        b, kernel, count = self.builder, self.kernel, self.staged_rows
        shape = Shape(self.shared_type, (count * SIDE * self.pitches[1],))
        staged = StagedTile(Array(self.memory, shape), count * SIDE, self.tile.rows, self.tile.columns, self.pitches[1])
        origin = b.add(self.batch[2], self.origin)
        bands = height // count
        of_row = len(sums) // height

        def store(band: ir.Value, carried: list[RegisterValue]) -> list[RegisterValue]:
            kernel.barrier()
            for number in range(bands):
                with nullcontext() if bands == 1 else b.if_then(b.icmp_unsigned("==", band, I32(number))):
                    self._stage(staged.array, sums[number * count * of_row : (number + 1) * count * of_row], width)
            kernel.barrier()
            first = b.mul(band, I32(count))

            def row_of(line: ir.Value) -> ir.Value:
                own, within = kernel.divided(line, count)
                run, length = b.udiv(first, I32(_RUN)), min(_RUN, height)
                within = b.add(within, b.sub(first, b.mul(run, I32(_RUN))))
                start = b.add(self.first_row, b.mul(run, I32(_RUN * SIDE)))
                return b.add(b.add(start, b.mul(own, I32(length))), within)

            staged.store(kernel, self.results, self.inputs, self.arrays, self.product, origin, row_of, self.first_column)
            return []

        carried_loop(b, 0, bands, 1, [], store, "bands", index_type=I32)

    def _stage(self, array: Array, sums: list[RegisterValue], width: int) -> None:
        """Write some of a thread's rows of sums to the block's memory."""
        b, values, count = self.builder, iter(sums), self.staged_rows
        for number in range(count):
            line = b.add(b.mul(self._own_row(), I32(count)), I32(number))
            for run, length in _runs(width):
                place = b.add(b.mul(line, I32(self.pitches[1])), I32(run * SIDE))
                place = wide(b, b.add(place, b.mul(self._own_column(), I32(length))))
                lanes = 1 if self._is_loaded_alone else length
                vectors = replace(array, vector_alignment=min(16, lanes * self.shared_type.byte_size))
                for lane in range(0, length, lanes):
                    at = Affine(b.add(place, I64(lane)), int(lanes > 1))
                    vectors.store(b, (at,), next(values), lanes)

    @property
    def _is_loaded_alone(self) -> bool:
        return self.element_type.is_complex or self.element_type.kind == "pred"

    def _numbered(self, first: ir.Value, own: ir.Value, count: int, number: int) -> ir.Value:
        """The row or column of a thread's sum with this number."""
        b, passed = self.builder, 0
        for run, length in _runs(count):
            if number < passed + length:
                return b.add(b.add(first, I32(run * SIDE + number - passed)), b.mul(own, I32(length)))
            passed += length
        raise AssertionError(number)


def _runs(count: int) -> list[tuple[int, int]]:
    """Where the runs of a thread's rows or columns begin, of ``count`` a thread, and how long they are."""
    return [(start, min(_RUN, count - start)) for start in range(0, count, _RUN)]
