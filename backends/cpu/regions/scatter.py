"""The scatter region: a loop over the scatter indices, in order, each of which updates one window.

A window that does not lie inside of the operands is skipped as a whole, so that nothing is tested for each element. The
innermost loop is a vector loop where the window's elements there lie next to each other in memory. Windows of one element, with
which much is done, are updated by vectors, too, as long as no place comes twice in a vector.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext

from llvmlite import ir

from ....hlo import Instruction, leaves
from ....hlo.slices import slice_dimensions
from ...llvm import index as indices
from ...llvm.arithmetic import any_lane
from ...llvm.arrays import Array
from ...llvm.branches import chosen
from ...llvm.index import Affine, Base, Component, Index
from ...llvm.loops import carried_loop, counted_loop, loop_nest
from ...llvm.scalar_computations import emit_scalar_computation
from ...llvm.start_indices import moved, widened
from ...llvm.types import I32, I64, broadcast_lanes, integer_constant, lane_numbers
from ..emitter_table import emits
from ..frame import Frame, Leaf, Values
from ..nest_samples import combining, samples
from ..nests import Nest, emit_nest
from ..target import Target
from ..vectors import VectorLoop, lanes_for

# What combines an element with an update costs so much where several are combined at once.
_LEAST_COST = 10.0


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
@emits("scatter")
def scatter(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    """Update the operands' own memory, or copies where they are needed afterwards; scalars by way of the stack."""
    count = len(leaves(instruction.shape))
    operands, following = instruction.operands[:count], instruction.operands[count:]
    outputs = [frame.updated(instruction, leaf, operand, values) for leaf, operand in enumerate(operands)]
    arrays = [frame.in_memory(values[operand][0], operand.shape) for operand in following]
    return emit_nest(frame, instruction, _emit, arrays, outputs, weight=10, stops=frame.stops(instruction, values))


def _emit(nest: Nest) -> None:
    """Apply the updates to the outputs, which hold the operands."""
    indices, *updates = nest.operands
    if updates[0].shape.size and nest.outputs[0].shape.size:
        _Scatter(nest.builder, nest.target, nest.instruction, indices, updates, nest.outputs).emit(nest.stops)


class _Scatter:
    def __init__(
        self,
        builder: ir.IRBuilder,
        target: Target,
        scatter: Instruction,
        indices: Array,
        updates: list[Array],
        outputs: list[Array],
    ) -> None:
        self.builder, self.target = builder, target
        self.indices, self.updates, self.outputs = indices, updates, outputs
        self.combine = scatter.attributes["to_apply"]
        rank = outputs[0].shape.rank
        self.numbers = slice_dimensions("scatter", rank, indices.shape.rank, scatter.attributes)
        self.reads_current = [_is_used(self.combine, number) for number in range(len(outputs))]

    def emit(self, stops: Mapping[int, ir.Value]) -> None:
        b, numbers, sizes = self.builder, self.numbers, self.updates[0].shape.dimensions
        batch_sizes = [sizes[d] for d in numbers.batch_dims]
        ends = {number: stops[d] for number, d in enumerate(numbers.batch_dims) if d in stops}
        lanes = self._lanes()
        if lanes == 1:
            with loop_nest(b, batch_sizes, ends) as batch:
                self._one(batch)
            return
        *outer, size = batch_sizes
        end = ends.get(len(outer))
        with (
            loop_nest(b, outer, ends) as before,
            counted_loop(b, -(-size // lanes), "vectors", _vectors(b, end, lanes)) as number,
        ):
            first = indices.multiply_base(b, number, lanes)
            left = indices.add_base(b, indices.multiply_base(b, first, -1), size if end is None else end)
            self._at_once(before, first, lanes, indices.least(b, left, lanes))

    def _lanes(self) -> int:
        """How many elements are updated at once, where that is worth a test whether their places differ."""
        numbers, combine = self.numbers, self.combine
        if numbers.window_dims or not numbers.batch_dims or not numbers.index_map:
            return 1
        along = numbers.batch_dims[-1]
        starts = numbers.start_index(tuple(range(len(numbers.batch_dims))), None)
        is_contiguous = self.indices.strides[starts.index(len(numbers.batch_dims) - 1)] == 1
        cost = sum(instruction.operation.cost or 0.0 for instruction in combine.instructions)
        if cost < _LEAST_COST or not is_contiguous or any(update.strides[along] != 1 for update in self.updates):
            return 1
        return lanes_for(self.target, self.updates[0].shape.dimensions[along], combine)

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
        full, sizes = self.outputs[0].shape.dimensions, self.updates[0].shape.dimensions
        windows = {window: sizes[offset] for window, offset in zip(numbers.window_dims, numbers.offset_dims)}
        output: list[Component] = [Affine(0)] * numbers.rank
        inside = mask
        for k, dimension in enumerate(numbers.index_map):
            value = self.indices.load(b, numbers.start_index(batch, Affine(k)), lanes, mask)
            start = widened(b, self.indices.shape.element_type, value)
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
        size = self.updates[0].shape.dimensions[offset]
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
        return all(array.strides[dimension] == 1 for array in self.outputs) and all(
            array.strides[offset] == 1 for array in self.updates
        )

    def _update(self, output_index: tuple, update_index: tuple, lanes: int, mask: ir.Value | None) -> None:
        b = self.builder
        current = [
            output.load(b, output_index, lanes, mask) if used else None
            for output, used in zip(self.outputs, self.reads_current)
        ]
        values = [update.load(b, update_index, lanes, mask) for update in self.updates]
        for output, value in zip(self.outputs, emit_scalar_computation(b, self.combine, [*current, *values], lanes)):
            output.store(b, output_index, value, lanes, mask)


def _vectors(builder: ir.IRBuilder, end: ir.Value | None, lanes: int) -> ir.Value | None:
    """How many vectors there are up to an end; None without one."""
    return None if end is None else builder.udiv(builder.add(end, I64(lanes - 1)), I64(lanes))


def _turned(builder: ir.IRBuilder, vector: ir.Value, distance: int) -> ir.Value:
    lanes = vector.type.count
    order = ir.Constant(ir.VectorType(I32, lanes), [I32((lane + distance) % lanes) for lane in range(lanes)])
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), order)


def _is_used(computation, number: int) -> bool:
    parameter = computation.parameters[number]
    return parameter is computation.root or any(parameter in instruction.operands for instruction in computation.instructions)
