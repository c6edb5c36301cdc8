"""The scatter region: a loop over the scatter indices, in order, each of which updates one window.

A window that does not lie inside of the operands is skipped as a whole, so that nothing is tested for each element. The
innermost loop is a vector loop where the window's elements there lie next to each other in memory.
"""

from __future__ import annotations

from collections.abc import Mapping

from llvmlite import ir

from ....hlo import Instruction, leaves
from ....hlo.slices import slice_dimensions
from ...llvm.arrays import Array
from ...llvm.index import Affine, Component
from ...llvm.loops import carried_loop, loop_nest
from ...llvm.scalar_computations import emit_scalar_computation
from ...llvm.start_indices import moved, widened
from ...llvm.types import I64
from ..emitter_table import emits
from ..frame import Frame, Leaf, Values
from ..nest_samples import combining, samples
from ..nests import Nest, emit_nest
from ..target import Target
from ..vectors import VectorLoop, lanes_for


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
    calls=combining("add", "s32[]"),
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
        b, numbers = self.builder, self.numbers
        full, sizes = self.outputs[0].shape.dimensions, self.updates[0].shape.dimensions
        windows = {window: sizes[offset] for window, offset in zip(numbers.window_dims, numbers.offset_dims)}
        ends = {number: stops[d] for number, d in enumerate(numbers.batch_dims) if d in stops}
        with loop_nest(b, [sizes[d] for d in numbers.batch_dims], ends) as batch:
            starts: dict[int, ir.Value] = {}
            inside: list[ir.Value] = []
            for k, dimension in enumerate(numbers.index_map):
                value = self.indices.load(b, numbers.start_index(batch, Affine(k)), 1)
                starts[dimension] = widened(b, self.indices.shape.element_type, value)
                places = full[dimension] - windows.get(dimension, 1) + 1
                inside.append(b.icmp_unsigned("<", starts[dimension], I64(places)))
            output_index: list[Component] = [Affine(starts.get(dimension, 0)) for dimension in range(numbers.rank)]
            for dimension, position in numbers.batching.items():
                output_index[dimension] = batch[position]
            update_index: list[Component] = [Affine(0)] * len(sizes)
            for dimension, component in zip(numbers.batch_dims, batch):
                update_index[dimension] = component
            if not inside:
                self._window(0, starts, output_index, update_index)
                return
            holds = inside[0]
            for other in inside[1:]:
                holds = b.and_(holds, other)
            with b.if_then(holds):
                self._window(0, starts, output_index, update_index)

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


def _is_used(computation, number: int) -> bool:
    parameter = computation.parameters[number]
    return parameter is computation.root or any(parameter in instruction.operands for instruction in computation.instructions)
