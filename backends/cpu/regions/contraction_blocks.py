"""Register blocks: the inner loops of a contraction.

From the outside in: batch dimensions; chunks of the terms; strips of columns as wide as a block; rows, a block at a time; the
contracted dimensions. A block of the result is held in registers while all terms of a chunk are added to it. A large right
operand is first packed, strip by strip, into a panel that lies in one piece, so that its rows do not fight for the same cache
sets and every block of rows finds it there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from copy import copy
from dataclasses import replace
from math import prod
from types import MappingProxyType

from llvmlite import ir

from ....compile.contraction import Contraction
from ....hlo import Shape
from ...llvm import index as indices
from ...llvm.arrays import Array, View
from ...llvm.builder import Builder
from ...llvm.conversion import convert_value
from ...llvm.elementwise import ElementwiseContext
from ...llvm.index import Affine, Base, Component, Index, least
from ...llvm.loops import counted_loop, flatten, loop_nest, unflatten
from ...llvm.module import Module, SharedFunction, align_stack, contracting, declared, may_contract
from ...llvm.pieces import in_one_piece, independent_loop, independent_loops
from ...llvm.types import (
    I1,
    I64,
    RegisterValue,
    broadcast_lanes,
    is_narrow,
    register_bytes,
    round_to_type,
)
from ..call_tables import CALLED, IN_PLACE, Called, Loop, Node, call_once, number_of, run_calls
from ..contraction_arithmetic import multiplied_and_added, zero
from ..contraction_forms import FAN_IN, LEAST_ANY_TERMS, RUN, BlockForm, Columns, distance, levels_of_sums, longest
from ..contraction_strips import block_shape, strips
from ..nest_samples import samples
from ..target import WIDEST_VECTOR_BYTES, Target
from ..vectors import blocks_up_to, tail_mask
from .contraction_calls import LEAST_BLOCKS, MANY_GROUPS, BlockCalls
from .contraction_panels import copying
from .contraction_sums import SumsOfTerms, Terms
from .contraction_terms import in_one_chunk, term_chunks

# So many strips are divided among threads.
_DIVIDED_STRIPS = 2
# A left operand that is larger than this is read again from memory for each strip, unless all strips are done for some rows
# before the next ones. It pays to pack the strips again if so many rows use them.
_LARGE_LEFT_BYTES, _ROWS_BYTES, _LEAST_ROWS = 2 << 20, 256 << 10, 192
# A block of fewer multiply-adds stays where it is, so that a call costs nothing beside it; so does one of more terms, whose
# loops may have to be interrupted.
_LEAST_CALLED, _MOST_CALLED = 512, 1 << 15

IndexOfTerms = Callable[[Terms], Index]
Row = Callable[[int], Index]


class Blocks(SumsOfTerms):
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
        self.stops_of_chunk = {}
        self._is_first: ir.Value | None = None
        types = (lhs.shape.element_type, rhs.shape.element_type, self.result_type)
        # A complex number takes two registers.
        widest = self.accumulator_bytes or max(map(register_bytes, types)) * (2 if self.result_type.is_complex else 1)
        self.lanes = target.lanes(widest, contraction.column_count)
        rows = lhs.shape.dimensions[contraction.rows[-1]] if contraction.rows else 1
        vectors = max(1, contraction.column_count // self.lanes)
        accumulators = (24 if target.vector_registers >= 32 else 8) // (4 if self.result_type.is_complex else 1)
        self.block_rows, self.block_vectors = block_shape(rows, vectors, accumulators)

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
        if self._emit_calls():
            return
        b, c, lanes = self.builder, self.contraction, self.lanes
        stop = blocks_up_to(b, self._stop_of_columns(), lanes, c.column_count)
        divides_strips = self._divides_strips

        def all_columns(batch: Index, rows: Callable[[Index, Columns], None]) -> None:
            for loop, count in strips(b, c.column_count // lanes, self.block_vectors, stop, int(divides_strips)):
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

    @property
    def _divides_strips(self) -> bool:
        """Many strips are divided among threads; where there are few, the rows of each."""
        return self.contraction.column_count >= _DIVIDED_STRIPS * self.block_vectors * self.lanes

    def _emit_calls(self) -> bool:
        """Emit the nest as a table of calls, where all of its blocks are functions, and say whether they are."""
        c, b, lanes, (height, width) = self.contraction, self.builder, self.lanes, (self.block_rows, self.block_vectors)
        if self.stops or not (c.rows and c.columns) or not isinstance(b.module, Module):
            return False
        is_packed = self.panel is not None
        if self._chunks.count > 1 and len(self.term_sizes) != 1 or is_packed and self._column_step != 1:
            return False
        vectors, rest = divmod(c.column_count, lanes)
        columns = {}
        for count in {width if vectors >= width else 0, vectors % width} - {0}:
            places = [Affine(k * lanes, int(lanes > 1)) for k in range(count)]
            seen = [self._panel_of(count) if is_packed else self.rhs] * count
            columns[count] = self._of_panel(places, seen) if is_packed else self._in_place(places, seen)
        if rest:
            columns[0] = self._in_place([Affine(0, 1)], [self.rhs], tail_mask(lanes, rest))
        self._is_first = I1(1) if self._chunks.count > 1 else None
        heights = {height if c.lhs.dimensions[c.rows[-1]] >= height else 0, c.lhs.dimensions[c.rows[-1]] % height} - {0}
        forms = {(rows, count): self._form_of(rows, columns[count], 0) for rows in heights for count in columns}
        if None in forms.values() or self._form_of(max(heights), columns[max(columns)]) is None:
            return False
        called = {key: self._called(form, columns[key[1]]) for key, form in forms.items()}
        given = (c, self.lhs, self.rhs, self._flat_output(), lanes, (height, width), self._chunks, self._column_step)
        copied = {count: self._copied(count) for count in columns if count and is_packed}
        calls = BlockCalls(*given, self._blocks_in_group(), self._divides_strips, called, copied)
        addresses = [array.pointer for array in (self.lhs, self.rhs, self.output)]
        run_calls(b, calls.node(), addresses, self.term_sizes[-1], self.panel, self._range)
        return True

    @property
    def _column_step(self) -> int:
        """From one column of the right operand to the next, in elements."""
        return self.rhs.strides[self.contraction.columns[-1]] if self.contraction.columns else 1

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

            def row(first: Base) -> Row:
                return lambda k: (*outer, Affine(indices.add_base(b, first, k)))

            with independent_loop(b, groups, divides_inner=groups < MANY_GROUPS) as number:
                begin = indices.multiply_base(b, number, length)
                count = None if blocks % length == 0 else least(b, b.sub(I64(blocks), indices.i64(begin)), length)

                def whole_blocks(batch: Index, columns: Columns) -> None:
                    with counted_loop(b, length, "blocks", count) as block_number:
                        first = indices.multiply_base(b, indices.add_base(b, begin, block_number), block)
                        self._block(batch, row(first), block, columns)

                all_columns(batch, whole_blocks)
            if rest:
                with in_one_piece(b):
                    last_rows = row(blocks * block)
                    all_columns(batch, lambda batch, columns: self._block(batch, last_rows, rest, columns))

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
            self._block(batch, lambda _: (), 1, columns)
            return
        *outer_rows, last = c.rows
        stops = {d - len(c.batch): stop for d, stop in self.stops.items()}
        with independent_loops(b, [c.lhs.dimensions[d] for d in outer_rows], stops) as outer:
            for loop, count in strips(b, c.lhs.dimensions[last], self.block_rows, stops.get(len(outer_rows)), LEAST_BLOCKS):
                with loop as first:
                    self._block(batch, lambda k: (*outer, Affine(indices.add_base(b, first, k))), count, columns)

    def _stop_of_columns(self) -> ir.Value | None:
        c = self.contraction
        return self.stops.get(len(c.batch) + len(c.rows)) if len(c.columns) == 1 else None

    def _columns(self, batch: Index, positions: list[Affine]) -> Columns:
        return self.direct(batch, positions) if self.panel is None else self.packed(batch, positions)

    def rest_of_columns(self, batch: Index, position: Affine, mask: ir.Value) -> Columns:
        """The columns behind the last whole vector."""
        return self.direct(batch, [position], mask)

    def direct(self, batch: Index, positions: list[Affine], mask: ir.Value | None = None) -> Columns:
        """Columns read where the right operand lies."""
        starts = [self._right_index(batch, self.origin, Affine(position.base)) for position in positions]
        return self._in_place(positions, [self.rhs.seen_from(self.builder, start) for start in starts], mask)

    def _in_place(self, positions: list[Affine], arrays: list[Array], mask: ir.Value | None = None) -> Columns:
        """Columns in the right operand, seen from the first one of each vector."""
        lane_steps = Affine(0, positions[0].stride)
        return Columns(positions, arrays, lambda terms: self._right_index((), terms, lane_steps), mask, step=self._column_step)

    def packed(self, batch: Index, positions: list[Affine]) -> Columns:
        """Columns copied into the panel: all terms of a chunk of one, side by side with those of the others."""
        b, lanes = self.builder, self.lanes
        direct, sizes = self.direct(batch, positions), self.term_sizes
        if isinstance(b.module, Module) and len(sizes) == 1 and direct.step == 1:
            call_once(b, self._copying(len(positions)), [direct.arrays[0].pointer, self.panel], self.stop_of_terms(0))
        else:
            panel = self._panel_of(len(positions))
            with loop_nest(b, sizes, self.stops_of_chunk) as index:
                source = direct.index(dict(enumerate(index)))
                for number, array in enumerate(direct.arrays):
                    place = (*index, Affine(number * lanes, int(lanes > 1)))
                    panel.store(b, place, array.load(b, source, lanes), lanes)
        panel, zeros = self._panel_of(len(positions)), (indices.ZERO,) * len(sizes)
        arrays = [panel.seen_from(b, (*zeros, Affine(number * lanes))) for number in range(len(positions))]
        return self._of_panel(positions, arrays)

    def _panel_of(self, count: int) -> Array:
        """The panel, as so many vectors of columns lie there."""
        return Array(self.panel, self.rhs.shape.with_dimensions((*self.term_sizes, count * self.lanes)))

    def _of_panel(self, positions: list[Affine], arrays: list[Array]) -> Columns:
        depths, lane_steps = range(len(self.term_sizes)), Affine(0, int(self.lanes > 1))
        return Columns(positions, arrays, lambda terms: (*(terms[depth] for depth in depths), lane_steps))

    def _copying(self, count: int) -> Called:
        """What copies so many vectors of columns into the panel, of all terms of the last dimension."""
        step = self.rhs.strides[self.contraction.terms[-1][1]]
        return copying(self.builder.module, count, self.lanes, self.rhs.shape.element_type, step, self.term_sizes[-1])

    def _copied(self, count: int) -> Node:
        """The same of all terms."""
        node, sizes = Loop(self._copying(count), 1, IN_PLACE), self.term_sizes
        element_bytes = self.rhs.shape.element_type.byte_size
        for depth in reversed(range(len(sizes) - 1)):
            read = self.rhs.strides[self.contraction.terms[depth][1]]
            written = prod(sizes[depth + 1 :]) * count * self.lanes
            node = Loop(node, sizes[depth], (element_bytes * read, element_bytes * written, 0))
        return node

    def _block(self, batch: Index, row: Row, height: int, columns: Columns) -> None:
        """One block of the result: a register for each row and vector of columns, summed over all terms."""
        form = self._form_of(height, columns)
        if form is not None:
            self._call_block(form, batch, row(0), columns)
            return
        rows = [row(k) for k in range(height)]
        sums, flat = self.sums(batch, rows, columns), self._flat_output()
        self._store([(flat, (*batch, *row, column)) for row in rows for column in columns.positions], sums, columns.mask)

    def _store(self, places: list[tuple[Array, Index]], sums: list[RegisterValue], mask: ir.Value | None) -> None:
        b, lanes = self.builder, self.lanes
        for (array, index), value in zip(places, sums):
            if self._is_first is not None:
                value = self._added(array.load(b, index, lanes, mask), value)
            if is_narrow(self.result_type):
                value = round_to_type(b, self.result_type, value)
            array.store(b, index, value, lanes, mask)

    def sums(self, batch: Index, rows: list[Index], columns: Columns) -> list[RegisterValue]:
        """The sums of a block, row by row."""
        # What does not change from term to term is added to the addresses before the loop.
        left_rows = [self.lhs.seen_from(self.builder, self.left_index(batch, row, self.origin)) for row in rows]
        return self._sums_of(left_rows, lambda terms: self.left_index((), (), terms), columns)

    def _sums_of(self, left_rows: list[Array], left_index: IndexOfTerms, columns: Columns) -> list[RegisterValue]:
        b, lanes, width = self.builder, self.lanes, len(columns.arrays)

        def step(terms: Terms, sums: list[RegisterValue]) -> list[RegisterValue]:
            index, right_index = left_index(terms), columns.index(terms)
            right = [self._converted(array.load(b, right_index, lanes, columns.mask), array, lanes) for array in columns.arrays]
            result = []
            for number, array in enumerate(left_rows):
                left = broadcast_lanes(b, self._converted(array.load(b, index, 1), array, 1), lanes)
                for position, value in enumerate(right):
                    result.append(multiplied_and_added(b, self.result_type, left, value, sums[number * width + position]))
            return result

        return self.sum_of_terms(0, {}, [zero(self.result_type, lanes)] * (len(left_rows) * width), step)

    def _form_of(self, height: int, columns: Columns, least: int = _LEAST_CALLED) -> BlockForm | None:
        """What the code of a block depends on; None where it stays where it is, as one of fewer multiply-adds does."""
        c, sizes, width = self.contraction, self.term_sizes, len(columns.arrays)
        module = self.builder.module
        if not isinstance(module, Module) or not (c.rows and c.columns):
            return None
        if prod(sizes) * height * width < least:
            return None
        if prod(sizes) > _MOST_CALLED:
            return None
        left_steps, right_steps = self._steps_of_terms(columns)
        has_groups = len(sizes) == 2 and sizes[1] > RUN and right_steps[0] == sizes[1] * right_steps[1]
        if len(sizes) == 1 and sizes[0] >= LEAST_ANY_TERMS:
            sizes = (longest(sizes[0]),)
        elif not all(isinstance(self.stop_of_terms(depth), int) for depth in range(len(sizes))):
            return None
        elif has_groups:
            sizes = (FAN_IN ** levels_of_sums(sizes[0]), longest(sizes[1]))
        if len(sizes) == 1 or has_groups:  # steps that blocks have in common make shorter code
            any_steps = (None,) * (len(sizes) - 1)
            left_steps = (*any_steps, left_steps[-1] if left_steps[-1] == 1 else None)
            right_steps = (*any_steps, right_steps[-1] if right_steps[-1] == width * self.lanes else None)
        return BlockForm(
            (self.lhs.shape.element_type, self.rhs.shape.element_type, self.result_type),
            (height, width, self.lanes),
            sizes,
            left_steps,
            right_steps,
            columns.step,
            self._flat_output().strides[-1],
            None if columns.mask is None else str(columns.mask),
            self._is_first is not None,
            may_contract(module),
        )

    def _steps_of_terms(self, columns: Columns) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """How far the elements of one term lie from those of the next, in each dimension of terms, in both operands."""
        depths = range(len(self.term_sizes))
        units = [{other: Affine(int(other == depth)) for other in depths} for depth in depths]
        left = tuple([distance(self.lhs, self.left_index((), (), unit)) for unit in units])
        return left, tuple([distance(columns.arrays[0], columns.index(unit)) for unit in units])

    def _call_block(self, form: BlockForm, batch: Index, row: Index, columns: Columns) -> None:
        """Let a function compute the block, which all contractions with such blocks call."""
        b, column = self.builder, Affine(columns.positions[0].base)
        left = self.lhs.address(b, self.left_index(batch, row, self.origin))
        addresses = [left, columns.arrays[0].pointer, self._flat_output().address(b, (*batch, *row, column))]
        call_once(b, self._called(form, columns), addresses, self.stop_of_terms(len(self.term_sizes) - 1), self._is_first)

    def _called(self, form: BlockForm, columns: Columns) -> Called:
        c, module, flat = self.contraction, self.builder.module, self._flat_output()
        function = module.inner_loops.get(form)
        if function is None:
            function = module.inner_loops[form] = self._declare_block(form, columns)
        rows = (self.lhs.strides[c.rows[-1]], flat.strides[len(c.batch) + len(c.rows) - 1])
        left, right = self._steps_of_terms(columns)
        numbers = (*rows, left[-1], right[-1], left[0], self.term_sizes[0])
        return Called(function, numbers, form.instructions_of_term * prod(self.term_sizes))

    def _declare_block(self, form: BlockForm, columns: Columns) -> ir.Function:
        """The function of a block: what all programs may have in common is compiled once a process."""
        module = self.builder.module
        if form.is_shared:
            return declared(
                module, SharedFunction(form.name, CALLED, lambda function: self._define_block(function, form, columns))
            )
        function = ir.Function(module, CALLED, module.get_unique_name(form.name))
        function.linkage = "internal"
        self._define_block(function, form, columns)
        return function

    def _define_block(self, function: ir.Function, form: BlockForm, columns: Columns) -> None:
        height, width, lanes = form.shape
        align_stack(function, WIDEST_VECTOR_BYTES)
        left, right, output, numbers, terms, is_first = function.args
        inside = copy(self)
        b = inside.builder = Builder(function.append_basic_block("entry"))
        left_step, output_step, *steps, left_group_step, groups = [number_of(b, numbers, place) for place in range(6)]
        inside.term_sizes, inside.stops = form.sizes, {}
        last = len(form.sizes) - 1
        inside.stops_of_chunk = {last: terms, last - 1: groups} if form.has_any_terms else {}
        inside._is_first = b.icmp_signed("!=", is_first, I64(0)) if form.is_added else None
        right_step = steps[1] if form.right_steps[-1:] == (None,) else I64(form.right_steps[-1])
        left_steps = {last: steps[0], last - 1: left_group_step}
        right_steps = {last: right_step, last - 1: b.mul(terms, right_step)}
        lane_steps = Affine(0, int(lanes > 1))
        types_of = dict(zip(("left", "right", "result"), form.types))

        def placed(terms: Terms, of_form: tuple[int | None, ...], steps: dict[int, ir.Value]) -> Index:
            """Places of terms in views, whose steps are those of the form, or 1."""
            return tuple(
                [
                    one if of_form[depth] is not None else Affine(b.mul(indices.i64(one.base), steps[depth]))
                    for depth, one in terms.items()
                ]
            )

        def at(pointer: ir.Value, kind: str, offset: Base, steps: tuple[int | None, ...]) -> View:
            steps = tuple([1 if step is None else step for step in steps])
            shape = Shape(types_of[kind], (1,) * len(steps))
            return View(View(pointer, Shape(types_of[kind], (1,)), (1,)).address(b, (Affine(offset),)), shape, steps)

        left_rows = [at(left, "left", indices.multiply_base(b, left_step, k), form.left_steps) for k in range(height)]
        arrays = [at(right, "right", k * form.column_step, (*form.right_steps, form.lane_step)) for k in range(width)]
        of_right = (form.right_steps, right_steps)
        within = replace(columns, arrays=arrays, index=lambda terms: (*placed(terms, *of_right), lane_steps))
        with contracting(function.module, form.contracts):
            sums = inside._sums_of(left_rows, lambda terms: placed(terms, form.left_steps, left_steps), within)
        results = [at(output, "result", indices.multiply_base(b, output_step, k), (form.result_step,)) for k in range(height)]
        places = [Affine(k * lanes, int(lanes > 1)) for k in range(width)]
        inside._store([(row, (place,)) for row in results for place in places], sums, columns.mask)
        b.ret_void()

    def _added(self, before: RegisterValue, value: RegisterValue) -> RegisterValue:
        """The sum of a chunk and what the chunks before it gave, if it is not the first one."""
        b, is_first, nothing = self.builder, self._is_first, zero(self.result_type, self.lanes)
        parts = [(b.select(is_first, none, old), new) for none, old, new in zip(*map(flatten, ([nothing], [before], [value])))]
        add = b.add if isinstance(nothing, ir.Value) and not self.result_type.is_float else b.fadd
        return unflatten([add(old, new) for old, new in parts], [nothing])[0]

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

    def _flat_output(self) -> Array:
        """The output with its column dimensions as one; a view has no more of them."""
        if isinstance(self.output, View):
            return self.output
        c = self.contraction
        kept = len(c.batch) + len(c.rows)
        return Array(
            self.output.pointer, self.output.shape.with_dimensions((*self.output.shape.dimensions[:kept], c.column_count))
        )
