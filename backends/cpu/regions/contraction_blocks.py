"""Register blocks: the inner loops of a contraction.

From the outside in: batch dimensions; chunks of the terms; strips of columns as wide as a block; rows, a block at a time; the
contracted dimensions. A block of the result is held in registers while all terms of a chunk are added to it. A large right
operand is first packed, strip by strip, into a panel that lies in one piece, so that its rows do not fight for the same cache
sets and every block of rows finds it there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from math import prod
from types import MappingProxyType

from llvmlite import ir

from ....compile.contraction import Contraction
from ....hlo import S8, U8
from ...llvm import index as indices
from ...llvm.arithmetic import constant, multiply_add
from ...llvm.arrays import Array, View
from ...llvm.conversion import convert_value
from ...llvm.elementwise import ElementwiseContext
from ...llvm.index import Affine, Base, Component, Index, least
from ...llvm.loops import carried_loop, counted_loop, flatten, loop_nest, unflatten
from ...llvm.memory import stack_memory
from ...llvm.pieces import in_one_piece, independent_loop, independent_loops
from ...llvm.types import (
    I64,
    ComplexValue,
    RegisterValue,
    broadcast_lanes,
    integer_constant,
    is_narrow,
    register_bytes,
    register_type,
    round_to_type,
)
from ..nest_samples import samples
from ..target import WIDEST_VECTOR_BYTES, Target
from ..vectors import blocks_up_to, tail_mask
from .contraction_terms import in_one_chunk, term_chunks

# A right operand larger than this does not stay in the first-level cache; packing it pays if so many rows use it.
_PACKED_BYTES = 24 << 10
_PACKED_ROWS = 16
_WIDEST_BLOCK, _FEW_VECTORS = 4, 8  # vectors
_TALL = 512  # rows
# So many strips are divided among threads, and as many blocks of rows make a piece.
_DIVIDED_STRIPS, _LEAST_BLOCKS = 2, 16
# A left operand that is larger than this is read again from memory for each strip, unless all strips are done for some rows
# before the next ones. It pays to pack the strips again if so many rows use them; as many groups of rows are divided alone.
_LARGE_LEFT_BYTES, _ROWS_BYTES, _LEAST_ROWS, _MANY_GROUPS = 2 << 20, 256 << 10, 192, 32
# So many floating-point terms are added one after the other, then so many of their sums, of the sums of these, and so on: the
# error is that of summation by pairs, and does not grow with the number of terms.
_RUN = 64
_FAN_IN = 8

Terms = dict[int, Component]
Step = Callable[[Terms, list[RegisterValue]], list[RegisterValue]]


def panel_bytes(contraction: Contraction) -> int:
    """Memory for the panel of packed columns; 0 where packing does not pay."""
    c = contraction
    operand_bytes = c.term_count * c.column_count * c.rhs.element_type.byte_size
    is_small = operand_bytes <= _PACKED_BYTES and not _are_bytes(c)
    if c.row_count < _PACKED_ROWS or is_small or c.column_count < WIDEST_VECTOR_BYTES:
        return 0
    return prod(term_chunks(c).sizes) * _WIDEST_BLOCK * WIDEST_VECTOR_BYTES


def _are_bytes(contraction: Contraction) -> bool:
    """Whether instructions may take several terms at once, which have to lie side by side (contraction_bytes.py)."""
    return all(shape.element_type in (S8, U8) for shape in (contraction.lhs, contraction.rhs))


@dataclass(frozen=True)
class Columns:
    """Vectors of the right operand: an array for each, and the index of a vector's first element for given terms.

    ``totals`` are the addresses of the sums of the columns, where they are needed.
    """

    positions: list[Affine]
    arrays: list[Array]
    index: Callable[[dict[int, Component]], Index]
    mask: ir.Value | None = None
    totals: Sequence[ir.Value] = ()


class Blocks:
    """Emits the loop nest of one contraction. ``panel`` is memory of panel_bytes, or None.

    ``stops`` says of some dimensions, of the result and then of the terms, where they end: no term behind that is read.
    ``chunks`` says from which chunk of the terms on, and up to which, they are added; all are, if it is left out.
    """

    # Of a sum in a register, if not those of the widest of the operands and the result.
    accumulator_bytes: int | None = None

    def __init__(
        self,
        builder: ir.IRBuilder,
        target: Target,
        contraction: Contraction,
        lhs: Array,
        rhs: Array,
        output: Array,
        panel: ir.Value | None,
        stops: Mapping[int, ir.Value] = MappingProxyType({}),
        chunks: tuple[Base, Base] | None = None,
    ) -> None:
        self.builder, self.contraction, self.panel = builder, contraction, panel
        self.lhs, self.rhs, self.output, self.stops = lhs, rhs, output, stops
        self.result_type = contraction.dot.shape.element_type
        stops_terms = any(d >= contraction.dot.shape.rank for d in stops)
        self._chunks = in_one_chunk(contraction) if stops_terms else term_chunks(contraction)
        self._range, self.term_sizes = chunks or (0, self._chunks.count), self._chunks.sizes
        # Of the chunk that is being added: its first terms, where it ends, and whether there are sums before it.
        self.origin: dict[int, Component] = {}
        self.stops_of_chunk: Mapping[int, ir.Value] = {}
        self._is_first: ir.Value | None = None
        types = (lhs.shape.element_type, rhs.shape.element_type, self.result_type)
        # A complex number takes two registers.
        widest = self.accumulator_bytes or max(map(register_bytes, types)) * (2 if self.result_type.is_complex else 1)
        self.lanes = target.lanes(widest, contraction.column_count)
        rows = lhs.shape.dimensions[contraction.rows[-1]] if contraction.rows else 1
        vectors = max(1, contraction.column_count // self.lanes)
        accumulators = (24 if target.vector_registers >= 32 else 8) // (4 if self.result_type.is_complex else 1)
        self.block_rows, self.block_vectors = _block_shape(rows, vectors, accumulators)

    @samples(
        """
        x = f32[20,100] parameter(0)
        y = f32[100,90] parameter(1)
        ROOT dot = f32[20,90] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        """,
        """
        x = bf16[3,9] parameter(0)
        y = bf16[9,5] parameter(1)
        ROOT dot = f32[3,5] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        """,
        """
        x = c128[3,9] parameter(0)
        y = c128[9,17] parameter(1)
        ROOT dot = c128[3,17] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        """,
    )
    def emit(self) -> None:
        b, c, lanes = self.builder, self.contraction, self.lanes
        stop = blocks_up_to(b, self._stop_of_columns(), lanes, c.column_count)
        # Many strips are divided among threads; where there are few, the rows of each.
        divides_strips = c.column_count >= _DIVIDED_STRIPS * self.block_vectors * lanes

        def all_columns(batch: Index, rows: Callable[[Index, Columns], None]) -> None:
            for loop, count in _strips(b, c.column_count // lanes, self.block_vectors, stop, int(divides_strips)):
                with loop as first:
                    base = indices.multiply_base(b, first, lanes)
                    positions = [Affine(indices.add_base(b, base, k * lanes), int(lanes > 1)) for k in range(count)]
                    rows(batch, self._columns(batch, positions))
            rest = c.column_count % lanes
            if rest:
                position = Affine(c.column_count - rest, 1)
                with in_one_piece(b, apart=True) if divides_strips else nullcontext():
                    rows(batch, self.rest_of_columns(batch, position, tail_mask(lanes, rest)))

        with independent_loops(b, [c.lhs.dimensions[left] for left, _ in c.batch], self.stops) as batch, self._each_chunk():
            if self._blocks_in_group():
                self._groups_of_rows(batch, all_columns)
            else:
                all_columns(batch, self._rows)

    def _blocks_in_group(self) -> int:
        """How many blocks of rows are taken through all strips before the next ones are; 0 where it is all of them."""
        c = self.contraction
        strips = -(-c.column_count // (self.block_vectors * self.lanes))
        if not c.rows or self.stops or strips == 1 or c.row_count * c.term_count * self._left_bytes <= _LARGE_LEFT_BYTES:
            return 0
        row_bytes = prod(self.term_sizes) * self._left_bytes
        rows = min(c.lhs.dimensions[c.rows[-1]], _ROWS_BYTES // row_bytes)
        return rows // self.block_rows if rows >= _LEAST_ROWS else 0

    @property
    def _left_bytes(self) -> int:
        return self.lhs.shape.element_type.byte_size

    def _groups_of_rows(self, batch: Index, all_columns: Callable[[Index, Callable[[Index, Columns], None]], None]) -> None:
        b, c, block = self.builder, self.contraction, self.block_rows
        *outer_rows, last = c.rows
        length = self._blocks_in_group()
        blocks, rest = divmod(c.lhs.dimensions[last], block)
        groups = -(-blocks // length)
        with independent_loops(b, [c.lhs.dimensions[d] for d in outer_rows]) as outer:

            def rows(first: Base, count: int) -> list[Index]:
                return [(*outer, Affine(indices.add_base(b, first, k))) for k in range(count)]

            with independent_loop(b, groups, divides_inner=groups < _MANY_GROUPS) as number:
                begin = indices.multiply_base(b, number, length)
                count = None if blocks % length == 0 else least(b, b.sub(I64(blocks), indices.i64(begin)), length)

                def whole_blocks(batch: Index, columns: Columns) -> None:
                    with counted_loop(b, length, "blocks", count) as block_number:
                        first = indices.multiply_base(b, indices.add_base(b, begin, block_number), block)
                        self._block(batch, rows(first, block), columns)

                all_columns(batch, whole_blocks)
            if rest:
                with in_one_piece(b):
                    last_rows = rows(blocks * block, rest)
                    all_columns(batch, lambda batch, columns: self._block(batch, last_rows, columns))

    @contextmanager
    def _each_chunk(self) -> Iterator[None]:
        """A loop over the chunks, within which the terms are those of the chunk."""
        b, (first, end), count = self.builder, self._range, self._chunks.count
        with counted_loop(b, count, "chunks", None if isinstance(end, int) else end, first) as number:
            self.origin = dict(self._chunks.origin(b, number))
            self.stops_of_chunk = self._chunks.stops(b, self._chunks.origin(b, number))
            self._is_first = b.icmp_signed("==", indices.i64(number), indices.i64(first)) if count > 1 else None
            yield

    def _rows(self, batch: Index, columns: Columns) -> None:
        b, c = self.builder, self.contraction
        if not c.rows:
            self._block(batch, [()], columns)
            return
        *outer_rows, last = c.rows
        stops = {d - len(c.batch): stop for d, stop in self.stops.items()}
        with independent_loops(b, [c.lhs.dimensions[d] for d in outer_rows], stops) as outer:
            for loop, count in _strips(b, c.lhs.dimensions[last], self.block_rows, stops.get(len(outer_rows)), _LEAST_BLOCKS):
                with loop as first:
                    self._block(batch, [(*outer, Affine(indices.add_base(b, first, k))) for k in range(count)], columns)

    def _stop_of_columns(self) -> ir.Value | None:
        c = self.contraction
        return self.stops.get(len(c.batch) + len(c.rows)) if len(c.columns) == 1 else None

    def stop_of_terms(self, depth: int) -> Base:
        stop = self.stops.get(self.contraction.dot.shape.rank + depth, self.term_sizes[depth])
        return self.stops_of_chunk.get(depth, stop)

    def _columns(self, batch: Index, positions: list[Affine]) -> Columns:
        return self.direct(batch, positions) if self.panel is None else self.packed(batch, positions)

    def rest_of_columns(self, batch: Index, position: Affine, mask: ir.Value) -> Columns:
        """The columns behind the last whole vector."""
        return self.direct(batch, [position], mask)

    def direct(self, batch: Index, positions: list[Affine], mask: ir.Value | None = None) -> Columns:
        """Columns read where the right operand lies."""
        starts = [self._right_index(batch, self.origin, Affine(position.base)) for position in positions]
        arrays = [self.rhs.seen_from(self.builder, start) for start in starts]
        lane_steps = Affine(0, positions[0].stride)
        return Columns(positions, arrays, lambda terms: self._right_index((), terms, lane_steps), mask)

    def packed(self, batch: Index, positions: list[Affine]) -> Columns:
        """Columns copied into the panel: all terms of a chunk of one, side by side with those of the others."""
        b, lanes = self.builder, self.lanes
        direct = self.direct(batch, positions)
        sizes = self.term_sizes
        panel = Array(self.panel, self.rhs.shape.with_dimensions((*sizes, len(positions) * lanes)))
        with loop_nest(b, sizes, self.stops_of_chunk) as index:
            source = direct.index(dict(enumerate(index)))
            for number, array in enumerate(direct.arrays):
                place = (*index, Affine(number * lanes, int(lanes > 1)))
                panel.store(b, place, array.load(b, source, lanes), lanes)
        zeros = (indices.ZERO,) * len(sizes)
        arrays = [panel.seen_from(b, (*zeros, Affine(number * lanes))) for number in range(len(positions))]
        lane_steps = Affine(0, int(lanes > 1))
        return Columns(positions, arrays, lambda terms: (*(terms[depth] for depth in range(len(sizes))), lane_steps))

    def _block(self, batch: Index, rows: list[Index], columns: Columns) -> None:
        """One block of the result: a register for each row and vector of columns, summed over all terms."""
        b, lanes, width = self.builder, self.lanes, len(columns.arrays)
        sums, flat = self.sums(batch, rows, columns), self._flat_output()
        for number, row in enumerate(rows):
            for position, column in enumerate(columns.positions):
                value = sums[number * width + position]
                if self._is_first is not None:
                    value = self._added(flat.load(b, (*batch, *row, column), lanes, columns.mask), value)
                if is_narrow(self.result_type):
                    value = round_to_type(b, self.result_type, value)
                flat.store(b, (*batch, *row, column), value, lanes, columns.mask)

    def sums(self, batch: Index, rows: list[Index], columns: Columns) -> list[RegisterValue]:
        """The sums of a block, row by row."""
        b, lanes, width = self.builder, self.lanes, len(columns.arrays)
        # What does not change from term to term is added to the addresses before the loop.
        left_rows = [self.lhs.seen_from(b, self.left_index(batch, row, self.origin)) for row in rows]

        def step(terms: Terms, sums: list[RegisterValue]) -> list[RegisterValue]:
            left_index, right_index = self.left_index((), (), terms), columns.index(terms)
            right = [self._converted(array.load(b, right_index, lanes, columns.mask), array, lanes) for array in columns.arrays]
            result = []
            for number, array in enumerate(left_rows):
                left = broadcast_lanes(b, self._converted(array.load(b, left_index, 1), array, 1), lanes)
                for position, value in enumerate(right):
                    result.append(self._multiply_add(left, value, sums[number * width + position]))
            return result

        return self._sum(0, {}, [_zero(self.result_type, lanes)] * (len(rows) * width), step)

    def _added(self, before: RegisterValue, value: RegisterValue) -> RegisterValue:
        """The sum of a chunk and what the chunks before it gave, if it is not the first one."""
        b, is_first, zero = self.builder, self._is_first, _zero(self.result_type, self.lanes)
        parts = [(b.select(is_first, none, old), new) for none, old, new in zip(*map(flatten, ([zero], [before], [value])))]
        add = b.add if isinstance(zero, ir.Value) and not self.result_type.is_float else b.fadd
        return unflatten([add(old, new) for old, new in parts], [zero])[0]

    def _sum(self, depth: int, terms: Terms, zeros: list[RegisterValue], step: Step) -> list[RegisterValue]:
        """The sums over the terms from one dimension on, of whom each is the sum of a few sums of a few terms, and so on."""
        sizes = self.term_sizes[depth:]
        if prod(sizes) <= _RUN or self.result_type.kind not in ("float", "complex"):
            return self.over_terms(depth, terms, zeros, step)
        size, inner = sizes[0], prod(sizes[1:])
        stop, length = self.stop_of_terms(depth), max(1, _RUN // inner)

        def run(number: Base) -> list[RegisterValue]:
            if inner > _RUN:
                return self._sum(depth + 1, {**terms, depth: Affine(number)}, zeros, step)
            start = indices.multiply_base(self.builder, number, length)
            return self.over_terms(depth, terms, zeros, step, start, self._end(start, length, stop))

        runs = -(-size // length)
        levels = 1
        while _FAN_IN**levels < runs:
            levels += 1
        runs = runs if isinstance(stop, int) else blocks_up_to(self.builder, stop, length, runs)
        return self._cascade(run, 0, runs, levels, zeros)

    def _cascade(
        self, run: Callable[[Base], list[RegisterValue]], first: Base, runs: Base, levels: int, zeros: list[RegisterValue]
    ) -> list[RegisterValue]:
        """The sum of up to _FAN_IN**levels runs, from the first on: added up in memory, by a cascade of one level less."""
        if levels == 0:
            return run(first)
        b, registers = self.builder, flatten(zeros)
        with b.goto_entry_block():
            memory = stack_memory(b, len(registers) * WIDEST_VECTOR_BYTES, WIDEST_VECTOR_BYTES)
        places = [b.gep(memory, [I64(number)], source_etype=r.type) for number, r in enumerate(registers)]
        for place, zero in zip(places, registers):
            b.store(zero, place)

        def add(number: ir.Value, nothing: list[RegisterValue]) -> list[RegisterValue]:
            for place, value in zip(places, flatten(self._cascade(run, number, runs, levels - 1, zeros))):
                b.store(b.fadd(b.load(place, typ=value.type), value), place)
            return nothing

        end = self._end(first, _FAN_IN**levels, runs)
        carried_loop(b, first, end, _FAN_IN ** (levels - 1), [], add, "runs", most=_FAN_IN)
        return unflatten([b.load(place, typ=r.type) for place, r in zip(places, registers)], zeros)

    def over_terms(
        self,
        depth: int,
        terms: Terms,
        sums: list[RegisterValue],
        step: Step,
        start: Base = 0,
        stop: Base | None = None,
        depths: int | None = None,
    ) -> list[RegisterValue]:
        """Add all terms from one dimension on, in that dimension those from start to stop, one after the other.

        depths: of how many dimensions the terms are, if not of all.
        """
        if depth == (len(self.term_sizes) if depths is None else depths):
            return step(terms, sums)

        def iteration(number: ir.Value, carried: list[RegisterValue]) -> list[RegisterValue]:
            return self.over_terms(depth + 1, {**terms, depth: Affine(number)}, carried, step, depths=depths)

        stop = self.stop_of_terms(depth) if stop is None else stop
        return carried_loop(self.builder, start, stop, 1, sums, iteration, "terms", most=_RUN)

    def _end(self, start: Base, length: int, size: Base) -> Base:
        """The end of a run of this length, or of everything."""
        return least(self.builder, indices.add_base(self.builder, start, length), size)

    def left_index(self, batch: Index, row: Index, terms: dict[int, Component]) -> Index:
        """An index into the left operand; what is left out is 0."""
        c, index = self.contraction, dict.fromkeys(range(self.lhs.shape.rank), indices.ZERO)
        index.update({left: component for (left, _), component in zip(c.batch, batch)})
        index.update(zip(c.rows, row))
        index.update({c.terms[depth][0]: component for depth, component in terms.items()})
        return tuple(index.values())

    def _right_index(self, batch: Index, terms: dict[int, Component], column: Affine) -> Index:
        """An index into the right operand; its columns are one run in memory, addressed through the last of them."""
        c, index = self.contraction, dict.fromkeys(range(self.rhs.shape.rank), indices.ZERO)
        index.update({right: component for (_, right), component in zip(c.batch, batch)})
        index.update({c.terms[depth][1]: component for depth, component in terms.items()})
        if c.columns:
            index[c.columns[-1]] = column
        return tuple(index.values())

    def _converted(self, value: RegisterValue, array: Array, lanes: int) -> RegisterValue:
        if array.shape.element_type is self.result_type:
            return value
        context = ElementwiseContext(self.builder, self.contraction.dot, lanes)
        return convert_value(context, value, array.shape.element_type, self.result_type)

    def _multiply_add(self, left: RegisterValue, right: RegisterValue, total: RegisterValue) -> RegisterValue:
        b, kind = self.builder, self.result_type.kind
        if kind == "float":
            return multiply_add(b, left, right, total)
        if kind == "complex":
            real = multiply_add(b, left.real, right.real, total.real)
            imag = multiply_add(b, left.real, right.imag, total.imag)
            return ComplexValue(
                multiply_add(b, b.fneg(left.imag), right.imag, real), multiply_add(b, left.imag, right.real, imag)
            )
        if kind == "pred":
            return b.or_(total, b.and_(left, right))
        return b.add(total, b.mul(left, right))

    def _flat_output(self) -> Array:
        """The output with its column dimensions as one; a view has no more of them."""
        if isinstance(self.output, View):
            return self.output
        c = self.contraction
        kept = len(c.batch) + len(c.rows)
        return Array(
            self.output.pointer, self.output.shape.with_dimensions((*self.output.shape.dimensions[:kept], c.column_count))
        )


def _block_shape(rows: int, vectors: int, accumulators: int) -> tuple[int, int]:
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


def _zero(element_type, lanes: int) -> RegisterValue:
    type_ = register_type(element_type, lanes)
    if element_type.is_complex:
        return ComplexValue(constant(type_, 0.0), constant(type_, 0.0))
    return constant(type_, 0.0) if element_type.is_float else integer_constant(type_, 0)


def _strips(
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
