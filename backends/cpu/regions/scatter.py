"""The scatter region: a loop over the scatter indices, in order, each of which updates one window.

A window that does not lie inside of the operands is skipped as a whole, so that nothing is tested for each element. The
innermost loop is a vector loop where the window's elements there lie next to each other in memory. Windows of one element, with
which much is done, are updated by vectors, too, as long as no place comes twice in a vector. What it takes much to compute,
indices and updates, is computed for a block of them by vectors, before the block's updates are made.

Many updates of few elements are divided among threads: each piece makes its own in a table of its own (`scatter_tables`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext

from llvmlite import ir

from ....compile.fused_computations import as_computation
from ....compile.in_place import updated_operand
from ....compile.masks import inside_of
from ....hlo import Computation, Instruction, leaves
from ....hlo.slices import slice_dimensions
from ...llvm import index as indices
from ...llvm.arithmetic import any_lane
from ...llvm.arrays import Array
from ...llvm.branches import chosen
from ...llvm.builder import undefined
from ...llvm.elemental import Binding
from ...llvm.index import Affine, Base, Component, Index
from ...llvm.loops import carried_loop, counted_loop
from ...llvm.pieces import loop_of_piece, piece_bounds
from ...llvm.scalar_computations import emit_scalar_computation
from ...llvm.start_indices import moved, widened
from ...llvm.types import (
    I32,
    I64,
    broadcast_lanes,
    integer_constant,
    lane_numbers,
)
from ..emitter_table import emits
from ..frame import Frame, Leaf, Values
from ..nest_samples import combining, samples
from ..nests import Nest, emit_nest
from ..scatter_operands import Block, Computed, Stored, block_of
from ..target import Target
from ..vectors import VectorLoop, lanes_for
from .scatter_tables import emit_in_tables, table_bytes

# What combines an element with an update costs so much where several are combined at once.
_LEAST_COST = 10.0
# Updates in a loop without looks for interrupts, and how many of them stand in it one after the other.
_BLOCK, _AT_A_TIME = 1024, 4


@samples(
    """
    x = s32[10,20] parameter(0)
    i = s32[7,1] parameter(1)
    u = s32[7,20] parameter(2)
    ROOT y = s32[10,20] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
      index_vector_dim=1, to_apply=add_s32
    """,
    # Its operand is needed afterwards.
    """
    x = s32[10] parameter(0)
    i = s32[30] parameter(1)
    u = s32[30] parameter(2)
    y = s32[10] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
      index_vector_dim=1, to_apply=add_s32
    ROOT both = (s32[10], s32[10]) tuple(x, y)
    """,
    # Several places at once, some of them twice.
    """
    x = f32[10] parameter(0)
    i = s32[3,37] parameter(1)
    u = f32[3,37] parameter(2)
    ROOT y = f32[10] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
      index_vector_dim=2, to_apply=remainder_f32
    """,
    calls=combining("add", "s32[]") + combining("remainder", "f32[]"),
)
@emits("scatter", scratch=table_bytes)
def scatter(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    """Update the operands' own memory, or copies where they are needed afterwards; scalars by way of the stack."""
    count = len(leaves(instruction.shape))
    operands, following = instruction.operands[:count], instruction.operands[count:]
    outputs = [frame.updated(instruction, leaf, operand, values) for leaf, operand in enumerate(operands)]
    arrays = [frame.in_memory(values[operand][0], operand.shape) for operand in following]
    stops = frame.stops(instruction, values)
    if count == 1 and not stops:
        return _emit_computed(frame, instruction, as_computation(instruction), [outputs[0], *arrays], outputs[0])
    return emit_nest(frame, instruction, _emit, arrays, outputs, weight=10, stops=stops)


def _emit(nest: Nest) -> None:
    """Apply the updates to the outputs, which hold the operands."""
    indices, *updates = nest.operands
    if updates[0].shape.size and nest.outputs[0].shape.size:
        _Scatter(nest.builder, nest.target, nest.instruction, Stored(indices, updates), nest.outputs).emit(nest.stops)


def may_hold_producers(scatter: Instruction) -> bool:
    """Whether the loop over the indices may compute them, and the updates: where each updates one element.

    Those that a mask moves outside of the operand behind a size stay in memory: the loop over these may end there.
    """
    if scatter.shape.is_tuple or not scatter.shape.rank or scatter.attributes["update_window_dims"]:
        return False
    return not any(inside_of(scatter.operands[1], scatter))


@samples(
    """
    x = f64[50] parameter(0)
    i = s64[300] parameter(1)
    u = f32[300] parameter(2)
    zero = s64[] constant(0)
    size = s64[] constant(50)
    zeros = s64[300] broadcast(zero), dimensions={}
    sizes = s64[300] broadcast(size), dimensions={}
    negative = pred[300] compare(i, zeros), direction=LT
    behind = s64[300] add(i, sizes)
    place = s64[300] select(negative, behind, i)
    wide = f64[300] convert(u)
    ROOT y = f64[50] scatter(x, place, wide), update_window_dims={}, inserted_window_dims={0},
      scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add_f64
    """,
    # Its operand is needed afterwards, and the updates are read across.
    """
    x = s32[9,8] parameter(0)
    i = s32[6,7,2] parameter(1)
    u = s32[7,6] parameter(2)
    t = s32[6,7] transpose(u), dimensions={1,0}
    n = s32[6,7] negate(t)
    y = s32[9,8] scatter(x, i, n), update_window_dims={}, inserted_window_dims={0,1}, scatter_dims_to_operand_dims={1,0},
      index_vector_dim=2, to_apply=add_s32
    ROOT both = (s32[9,8], s32[9,8]) tuple(x, y)
    """,
    calls=combining("add", "s32[]") + combining("add", "f64[]"),
)
def fused_scatter(frame: Frame, instruction: Instruction, computation: Computation, values: Values) -> list[Leaf]:
    """Update the operand's own memory, or a copy where it is needed afterwards, at indices that the loop over them computes."""
    output = frame.updated(instruction, 0, instruction.operands[updated_operand(instruction)], values)
    return _emit_computed(frame, instruction, computation, [values[operand][0] for operand in instruction.operands], output)


def _emit_computed(
    frame: Frame, instruction: Instruction, computation: Computation, arguments: list[Binding], output: Array
) -> list[Leaf]:
    """A computation that ends with the scatter into one array: in tables of the pieces, where they are worth it, or there."""
    root = computation.root

    def emit(builder: ir.IRBuilder, bindings: list[Binding], table: Array, divided: bool = False) -> None:
        if root.operands[2].shape.size and table.shape.size:
            given = Computed(computation, dict(zip(computation.parameters, bindings)))
            _Scatter(builder, frame.target, root, given, [table], divided).emit({})

    if table_bytes(instruction):
        emit_in_tables(frame, instruction, computation, arguments, output, emit)
    else:
        frame.regions.emit(
            frame.builder,
            ("scatter", computation),
            [*arguments, output],
            lambda builder, bindings: emit(builder, bindings[:-1], bindings[-1]),
            10 if instruction.opcode == "scatter" else 1,
        )
    return frame.loaded([output])


class _Scatter:
    def __init__(
        self,
        builder: ir.IRBuilder,
        target: Target,
        scatter: Instruction,
        given: Stored | Computed,
        outputs: list[Array],
        divided: bool = False,
    ) -> None:
        self.builder, self.target = builder, target
        self.given, self.outputs, self.divided = given, outputs, divided
        self.block: Block | None = None
        self.combine = scatter.attributes["to_apply"]
        self.index_type = scatter.operands[len(outputs)].shape.element_type
        self.sizes = scatter.operands[-1].shape.dimensions
        rank = outputs[0].shape.rank
        self.numbers = slice_dimensions("scatter", rank, scatter.operands[len(outputs)].shape.rank, scatter.attributes)
        self.reads_current = [_is_used(self.combine, number) for number in range(len(outputs))]

    def emit(self, stops: Mapping[int, ir.Value]) -> None:
        b, numbers = self.builder, self.numbers
        lanes = self._lanes()
        if not numbers.batch_dims:
            self._one(())
            return
        with self._outer_loops(stops) as before:
            last = numbers.batch_dims[-1]
            size = self.sizes[last]
            start, end, most = 0, stops.get(last, size), size
            if self.divided and not before:
                start, end, most = piece_bounds(b, size)
            if lanes > 1:
                count = indices.add_base(b, end, indices.multiply_base(b, start, -1))
                stop = None if isinstance(count, int) else _quotient(b, count, lanes)
                with counted_loop(b, -(-most // lanes), "vectors", stop) as number:
                    done = indices.multiply_base(b, number, lanes)
                    left = indices.add_base(b, indices.multiply_base(b, done, -1), count)
                    self._at_once(before, indices.add_base(b, done, start), lanes, indices.least(b, left, lanes))
            elif numbers.window_dims:
                with counted_loop(b, most, "update", None if isinstance(end, int) else end, start) as index:
                    self._one((*before, Affine(index)))
            elif self.given.is_costly:
                self._computed_in_blocks(before, start, end, most)
            else:
                self._in_blocks(before, start, end, most)

    @contextmanager
    def _outer_loops(self, stops: Mapping[int, ir.Value]) -> Iterator[Index]:
        """The loops over all dimensions of the scatter indices but the last."""
        b = self.builder
        with ExitStack() as nest:
            index = []
            for d in self.numbers.batch_dims[:-1]:
                loop = loop_of_piece if self.divided and not index else counted_loop
                index.append(Affine(nest.enter_context(loop(b, self.sizes[d], stop=stops.get(d)))))
            yield tuple(index)

    def _in_blocks(self, before: Index, start: Base, end: Base, most: int) -> None:
        """One update after the other: some at a time, in loops that are short enough to need no look for interrupts."""
        b = self.builder
        count = indices.add_base(b, end, indices.multiply_base(b, start, -1))
        blocks = count // _BLOCK if isinstance(count, int) else b.udiv(count, I64(_BLOCK))

        def block(number: ir.Value, _: list) -> tuple:
            first = indices.add_base(b, b.mul(number, I64(_BLOCK)), start)

            def some(index: ir.Value, _: list) -> tuple:
                for k in range(_AT_A_TIME):
                    self._one((*before, Affine(b.add(first, b.add(index, I64(k))))))
                return ()

            carried_loop(b, 0, _BLOCK, _AT_A_TIME, (), some, "updates")
            return ()

        def one(index: ir.Value, _: list) -> tuple:
            self._one((*before, Affine(index)))
            return ()

        if most >= _BLOCK:
            carried_loop(b, 0, blocks, 1, (), block, "blocks", most // _BLOCK)
        carried_loop(b, indices.add_base(b, indices.multiply_base(b, blocks, _BLOCK), start), end, 1, (), one, "update", _BLOCK)

    def _computed_in_blocks(self, before: Index, start: Base, end: Base, most: int) -> None:
        """What is costly is computed by vectors for a block of updates, into memory, before these are made one by one."""
        b, size = self.builder, min(_BLOCK, most)
        lanes = self.given.lanes(b.module, self.target, size)
        self.block = block_of(b, self.given, size + lanes, len(self.numbers.index_map))

        def block(number: ir.Value, _: list) -> tuple:
            first = self.block.first = indices.add_base(b, indices.multiply_base(b, number, size), start)
            count = indices.i64(indices.least(b, indices.add_base(b, end, indices.multiply_base(b, first, -1)), size))
            self._compute_block(before, count, lanes, size)

            def update(place: ir.Value, _: list) -> tuple:
                for k in range(step):
                    self._one((*before, Affine(b.add(first, b.add(place, I64(k))))))
                return ()

            step, several = _AT_A_TIME, b.and_(count, I64(-_AT_A_TIME))
            carried_loop(b, 0, several, step, (), update, "updates", -(-size // step))
            step = 1
            carried_loop(b, several, count, step, (), update, "update", _AT_A_TIME)
            return ()

        count = indices.add_base(b, end, indices.multiply_base(b, start, -1))
        carried_loop(b, 0, _quotient(b, count, size), 1, (), block, "blocks", -(-most // size))
        self.block = None

    def _compute_block(self, before: Index, count: ir.Value, lanes: int, most: int) -> None:
        """Fill the memory of the block for so many updates."""
        b, block, given = self.builder, self.block, self.given

        def vector(place: Base, mask: ir.Value | None) -> None:
            stride = int(lanes > 1)
            here, batch = (Affine(place, stride),), (*before, Affine(indices.add_base(b, block.first, place), stride))
            for k, array in enumerate(block.indices or ()):
                value = given.start(b, self.numbers.start_index(batch, Affine(k)), lanes, mask)
                array.store(b, here, value, lanes)
            if block.updates is not None:
                (value,) = given.elements(b, tuple(self._update_index(batch)), lanes, mask)
                block.updates.store(b, here, value, lanes)

        def whole(number: ir.Value, _: list) -> tuple:
            vector(indices.multiply_base(b, number, lanes), None)
            return ()

        vectors = b.udiv(count, I64(lanes))
        carried_loop(b, 0, vectors, 1, (), whole, "compute", -(-most // lanes))
        done = b.mul(vectors, I64(lanes))
        if lanes > 1:
            with b.if_then(b.icmp_unsigned("<", done, count)):
                vector(done, b.icmp_signed("<", lane_numbers(I64, lanes), broadcast_lanes(b, b.sub(count, done), lanes)))

    def _lanes(self) -> int:
        """How many elements are updated at once, where that is worth a test whether their places differ."""
        numbers, combine = self.numbers, self.combine
        if numbers.window_dims or not numbers.batch_dims or not numbers.index_map:
            return 1
        along = numbers.batch_dims[-1]
        starts = numbers.start_index(tuple(range(len(numbers.batch_dims))), None)
        cost = sum(instruction.operation.cost or 0.0 for instruction in combine.instructions)
        lie_side_by_side = self.given.lie_side_by_side(along, starts.index(len(numbers.batch_dims) - 1))
        return 1 if cost < _LEAST_COST or not lie_side_by_side else lanes_for(self.target, self.sizes[along], combine)

    def _at_once(self, before: Index, first: Base, lanes: int, count: Base) -> None:
        """So many updates, the lanes at most, from the first one on: in lanes where no place is one of another's, too."""
        b = self.builder
        known = b.icmp_signed("<", lane_numbers(I64, lanes), broadcast_lanes(b, indices.i64(count), lanes))
        output, update, inside = self._places((*before, Affine(first, 1)), lanes, known)
        offset = indices.linear_offset(b, output, self.outputs[0].strides, lanes)
        # What is outside does not collide.
        offset = b.select(inside, offset, b.not_(lane_numbers(I64, lanes)))
        collides = integer_constant(inside.type, 0)
        for distance in range(1, lanes // 2 + 1):
            collides = b.or_(collides, b.icmp_unsigned("==", offset, _turned(b, offset, distance)))

        def one_by_one() -> list:
            with counted_loop(b, lanes, "lane", indices.i64(count)) as lane:
                self._one((*before, Affine(indices.add_base(b, lane, first))))
            return []

        def in_lanes() -> list:
            self._update(tuple(output), tuple(update), lanes, inside)
            return []

        chosen(b, any_lane(b, collides), [one_by_one, in_lanes])

    def _places(
        self, batch: Index, lanes: int, mask: ir.Value | None
    ) -> tuple[list[Component], list[Component], ir.Value | None]:
        """Where the windows begin of these updates, in the outputs and updates, and whether they lie inside of the outputs."""
        b, numbers = self.builder, self.numbers
        full, sizes = self.outputs[0].shape.dimensions, self.sizes
        windows = {window: sizes[offset] for window, offset in zip(numbers.window_dims, numbers.offset_dims)}
        output: list[Component] = [Affine(0)] * numbers.rank
        inside = mask
        for k, dimension in enumerate(numbers.index_map):
            if self.block is not None and self.block.indices is not None:
                value = self.block.indices[k].load(b, self.block.place(b, batch[-1]), lanes, mask)
            else:
                value = self.given.start(b, numbers.start_index(batch, Affine(k)), lanes, mask)
            start = widened(b, self.index_type, value)
            places = full[dimension] - windows.get(dimension, 1) + 1
            holds = b.icmp_unsigned("<", start, integer_constant(start.type, places))
            inside = holds if inside is None else b.and_(inside, holds)
            output[dimension] = Affine(start) if lanes == 1 else start
        for dimension, position in numbers.batching.items():
            output[dimension] = batch[position]
        return output, self._update_index(batch), inside

    def _update_index(self, batch: Index) -> list[Component]:
        """Where the windows begin in the updates."""
        update: list[Component] = [Affine(0)] * len(self.sizes)
        for dimension, component in zip(self.numbers.batch_dims, batch):
            update[dimension] = component
        return update

    def _one(self, batch: Index) -> None:
        """The window of one update."""
        output, update, inside = self._places(batch, 1, None)
        starts = {dimension: output[dimension].base for dimension in self.numbers.index_map}
        with nullcontext() if inside is None else self.builder.if_then(inside):
            self._window(0, starts, output, update)

    def _window(self, level: int, starts: dict, output_index: list[Component], update_index: list[Component]) -> None:
        """The loops over the window's dimensions from this one on."""
        b, numbers = self.builder, self.numbers
        if level == len(numbers.window_dims):
            self._update(tuple(output_index), tuple(update_index), 1, None)
            return
        dimension, offset = numbers.window_dims[level], numbers.offset_dims[level]
        size = self.sizes[offset]
        start = starts.get(dimension)

        def at(component: Component) -> tuple[list[Component], list[Component]]:
            output, update = list(output_index), list(update_index)
            output[dimension] = component if start is None else moved(b, component, start, 1)
            update[offset] = component
            return output, update

        if level == len(numbers.window_dims) - 1 and self._is_contiguous(dimension, offset):

            def update_lanes(component: Component, lanes: int, mask: ir.Value | None) -> None:
                output, update = at(component)
                self._update(tuple(output), tuple(update), lanes, mask)

            VectorLoop(b, lanes_for(self.target, size, self.combine), in_place=True).emit(size, update_lanes)
            return

        def step(index: ir.Value, _: list) -> tuple:
            self._window(level + 1, starts, *at(Affine(index)))
            return ()

        carried_loop(b, 0, size, 1, (), step, "window")

    def _is_contiguous(self, dimension: int, offset: int) -> bool:
        return all(array.strides[dimension] == 1 for array in self.outputs) and self.given.lie_side_by_side(offset)

    def _update(self, output_index: tuple, update_index: tuple, lanes: int, mask: ir.Value | None) -> None:
        b = self.builder
        current = [
            output.load(b, output_index, lanes, mask) if used else None
            for output, used in zip(self.outputs, self.reads_current)
        ]
        if self.block is not None and self.block.updates is not None:
            along = update_index[self.numbers.batch_dims[-1]]
            values = [self.block.updates.load(b, self.block.place(b, along), lanes, mask)]
        else:
            values = self.given.elements(b, update_index, lanes, mask)
        for output, value in zip(self.outputs, emit_scalar_computation(b, self.combine, [*current, *values], lanes)):
            output.store(b, output_index, value, lanes, mask)


def _quotient(builder: ir.IRBuilder, count: Base, size: int) -> Base:
    """How many groups of this size hold so many."""
    return -(-count // size) if isinstance(count, int) else builder.udiv(builder.add(count, I64(size - 1)), I64(size))


def _turned(builder: ir.IRBuilder, vector: ir.Value, distance: int) -> ir.Value:
    lanes = vector.type.count
    order = ir.Constant(ir.VectorType(I32, lanes), [I32((lane + distance) % lanes) for lane in range(lanes)])
    return builder.shuffle_vector(vector, undefined(vector.type), order)


def _is_used(computation, number: int) -> bool:
    parameter = computation.parameters[number]
    return parameter is computation.root or any(parameter in instruction.operands for instruction in computation.instructions)
