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

from ....compile.fused_computations import as_computation, producers
from ....compile.in_place import updated_operand
from ....compile.live_sizes import inside_of
from ....hlo import S32, S64, Computation, Instruction, Shape, leaves
from ....hlo.slices import slice_dimensions
from ...llvm import index as indices
from ...llvm.arithmetic import any_lane
from ...llvm.arrays import Array, stack_array
from ...llvm.branches import chosen
from ...llvm.elemental import Binding, ElementalEmitter
from ...llvm.index import Affine, Base, Component, Index
from ...llvm.loops import carried_loop, counted_loop
from ...llvm.pieces import loop_of_piece, piece_bounds
from ...llvm.scalar_computations import emit_scalar_computation
from ...llvm.scalar_control_flow import has_control_flow
from ...llvm.start_indices import moved, widened
from ...llvm.types import (
    I32,
    I64,
    RegisterValue,
    broadcast_lanes,
    integer_constant,
    lane_numbers,
    memory_type,
    register_bytes,
    vector_of,
)
from ..emitter_table import emits
from ..frame import Frame, Leaf, Values
from ..nest_samples import combining, samples
from ..nests import Nest, emit_nest
from ..target import Target
from ..vectors import VectorLoop, lanes_for
from .scatter_tables import emit_in_tables, table_bytes

# What combines an element with an update costs so much where several are combined at once.
_LEAST_COST = 10.0
# Updates in a loop without looks for interrupts, and how many of them stand in it one after the other.
_BLOCK, _AT_A_TIME = 1024, 4
# Indices and updates that cost more than this, each, are computed by vectors first: as much as to write and to read them.
_MOST_COST_AT_ONCE = 5.0


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
        _Scatter(nest.builder, nest.target, nest.instruction, _Stored(indices, updates), nest.outputs).emit(nest.stops)


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
            given = _Computed(computation, dict(zip(computation.parameters, bindings)))
            _Scatter(builder, frame.target, root, given, [table], divided).emit({})

    if table_bytes(instruction):
        emit_in_tables(frame, instruction, computation, arguments, output, emit)
    else:
        frame.regions.emit(
            frame.builder,
            ("scatter", computation),
            [*arguments, output],
            lambda builder, bindings: emit(builder, bindings[:-1], bindings[-1]),
            1,
        )
    return frame.loaded([output])


class _Stored:
    """Indices and updates that lie in memory."""

    def __init__(self, indices: Array, updates: list[Array]) -> None:
        self.indices, self.updates = indices, updates

    def start(self, b: ir.IRBuilder, index: Index, lanes: int, mask: ir.Value | None) -> ir.Value:
        return self.indices.load(b, index, lanes, mask)

    def elements(self, b: ir.IRBuilder, index: Index, lanes: int, mask: ir.Value | None) -> list[RegisterValue]:
        return [update.load(b, index, lanes, mask) for update in self.updates]

    def costs_much(self) -> bool:
        return False

    def lie_side_by_side(self, of_updates: int, of_indices: int | None = None) -> bool:
        """Whether those along these dimensions make vectors."""
        is_contiguous = of_indices is None or self.indices.strides[of_indices] == 1
        return is_contiguous and all(update.strides[of_updates] == 1 for update in self.updates)


class _Computed:
    """Indices and updates whose elements are computed where they are needed."""

    def __init__(self, computation: Computation, bindings: dict[Instruction, Binding]) -> None:
        _, self._indices, self._updates = computation.root.operands
        self._computation, self._bindings = computation, bindings

    def start(self, b: ir.IRBuilder, index: Index, lanes: int, mask: ir.Value | None) -> ir.Value:
        return ElementalEmitter(b, lanes, self._bindings).emit(self._indices, index, mask)

    def elements(self, b: ir.IRBuilder, index: Index, lanes: int, mask: ir.Value | None) -> list[RegisterValue]:
        return [ElementalEmitter(b, lanes, self._bindings).emit(self._updates, index, mask)]

    def costs_much(self) -> bool:
        """Whether an index, and an update, take more to compute than to write and read."""
        inside = (one for one in self._computation.instructions if one is not self._computation.root)
        return sum(one.operation.cost or 0.0 for one in inside) > _MOST_COST_AT_ONCE

    def lanes(self, target: Target, size: int) -> int:
        """How many indices, and updates, are computed at once."""
        inside = [one for one in self._computation.instructions if one is not self._computation.root]
        if has_control_flow([producers(self._computation, self._computation.root.operands[1:])]):
            return 1
        return target.lanes(max(register_bytes(one.shape.element_type) for one in inside), size)

    def is_one_update(self) -> bool:
        """Whether all updates are the same number."""
        return self._updates.opcode == "broadcast" and not self._updates.operands[0].shape.rank

    def lie_side_by_side(self, of_updates: int, of_indices: int | None = None) -> bool:
        """Any elements can be computed as vectors."""
        return True


class _Scatter:
    def __init__(
        self,
        builder: ir.IRBuilder,
        target: Target,
        scatter: Instruction,
        given: _Stored | _Computed,
        outputs: list[Array],
        divided: bool = False,
    ) -> None:
        self.builder, self.target = builder, target
        self.given, self.outputs, self.divided = given, outputs, divided
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
                with counted_loop(b, -(-most // lanes), "vectors", _vectors(b, count, lanes)) as number:
                    done = indices.multiply_base(b, number, lanes)
                    left = indices.add_base(b, indices.multiply_base(b, done, -1), count)
                    self._at_once(before, indices.add_base(b, done, start), lanes, indices.least(b, left, lanes))
            elif numbers.window_dims:
                with counted_loop(b, most, "update", None if isinstance(end, int) else end, start) as index:
                    self._one((*before, Affine(index)))
            elif self.given.costs_much():
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
        """The places of a block of updates, and these, computed by vectors into memory; then one update after the other."""
        b, given, (output,) = self.builder, self.given, self.outputs
        lanes, size = given.lanes(self.target, most), min(_BLOCK, -(-most // _AT_A_TIME) * _AT_A_TIME)
        flat = Array(output.pointer, output.shape.with_dimensions((output.shape.size,)))
        places = stack_array(b, Shape(S32 if output.shape.size < 2**31 else S64, (size + lanes,)))
        updates = None if given.is_one_update() else stack_array(b, output.shape.with_dimensions((size + lanes,)))

        def block(number: ir.Value, _: list) -> tuple:
            first = indices.add_base(b, indices.multiply_base(b, number, size), start)
            count = indices.least(b, indices.add_base(b, end, indices.multiply_base(b, first, -1)), size)

            def compute(place: Base, mask: ir.Value | None) -> None:
                index = Affine(indices.add_base(b, first, place), int(lanes > 1))
                at, update, inside = self._places((*before, index), lanes, mask)
                offset = indices.as_vector(b, indices.linear_offset(b, at, output.strides, lanes), lanes)
                offset = offset if inside is None else b.select(inside, offset, integer_constant(offset.type, -1))
                narrow = vector_of(memory_type(places.shape.element_type), lanes)
                offset = offset if narrow == offset.type else b.trunc(offset, narrow)
                places.store(b, (Affine(place, 1),), offset, lanes)
                if updates is not None:
                    updates.store(b, (Affine(place, 1),), *given.elements(b, tuple(update), lanes, mask), lanes)

            def whole(number: ir.Value, _: list) -> tuple:
                compute(indices.multiply_base(b, number, lanes), None)
                return ()

            def update(place: ir.Value, _: list) -> tuple:
                for k in range(step):
                    index = (Affine(indices.add_base(b, place, k)),)
                    offset = widened(b, places.shape.element_type, places.load(b, index, 1))
                    with b.if_then(b.icmp_signed(">=", offset, I64(0))):
                        value = updates.load(b, index, 1) if updates is not None else given.elements(b, zeros, 1, None)[0]
                        self._combine(flat, (Affine(offset),), value)
                return ()

            done = indices.i64(count)
            vectors = b.udiv(done, I64(lanes))
            carried_loop(b, 0, vectors, 1, (), whole, "compute", -(-size // lanes))
            if lanes > 1:
                rest = b.mul(vectors, I64(lanes))
                with b.if_then(b.icmp_unsigned("<", rest, done)):
                    left = broadcast_lanes(b, b.sub(done, rest), lanes)
                    compute(rest, b.icmp_signed("<", lane_numbers(I64, lanes), left))
            zeros = tuple([Affine(0)] * len(self.sizes))
            step = _AT_A_TIME
            several = b.and_(done, I64(-step))
            carried_loop(b, 0, several, step, (), update, "updates", size // step)
            step = 1
            carried_loop(b, several, done, 1, (), update, "update", _AT_A_TIME)
            return ()

        carried_loop(b, 0, _blocks(b, start, end, size), 1, (), block, "blocks", -(-most // size))

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
            value = self.given.start(b, numbers.start_index(batch, Affine(k)), lanes, mask)
            start = widened(b, self.index_type, value)
            places = full[dimension] - windows.get(dimension, 1) + 1
            holds = b.icmp_unsigned("<", start, integer_constant(start.type, places))
            inside = holds if inside is None else b.and_(inside, holds)
            output[dimension] = Affine(start) if lanes == 1 else start
        for dimension, position in numbers.batching.items():
            output[dimension] = batch[position]
        update: list[Component] = [Affine(0)] * len(sizes)
        for dimension, component in zip(numbers.batch_dims, batch):
            update[dimension] = component
        return output, update, inside

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
        values = self.given.elements(b, update_index, lanes, mask)
        for output, value in zip(self.outputs, emit_scalar_computation(b, self.combine, [*current, *values], lanes)):
            output.store(b, output_index, value, lanes, mask)

    def _combine(self, output: Array, index: tuple, update: RegisterValue) -> None:
        """Replace an element of the one output by what it is combined with the update to."""
        current = output.load(self.builder, index, 1) if self.reads_current[0] else None
        (value,) = emit_scalar_computation(self.builder, self.combine, [current, update], 1)
        output.store(self.builder, index, value, 1)


def _blocks(builder: ir.IRBuilder, start: Base, end: Base, size: int) -> Base:
    """How many blocks of this size hold what lies between."""
    count = indices.add_base(builder, end, indices.multiply_base(builder, start, -1))
    return -(-count // size) if isinstance(count, int) else builder.sdiv(builder.add(count, I64(size - 1)), I64(size))


def _vectors(builder: ir.IRBuilder, count: Base, lanes: int) -> ir.Value | None:
    """How many vectors hold so many elements; None where that is known."""
    return None if isinstance(count, int) else builder.udiv(builder.add(count, I64(lanes - 1)), I64(lanes))


def _turned(builder: ir.IRBuilder, vector: ir.Value, distance: int) -> ir.Value:
    lanes = vector.type.count
    order = ir.Constant(ir.VectorType(I32, lanes), [I32((lane + distance) % lanes) for lane in range(lanes)])
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), order)


def _is_used(computation, number: int) -> bool:
    parameter = computation.parameters[number]
    return parameter is computation.root or any(parameter in instruction.operands for instruction in computation.instructions)
