"""The window regions: reduce-window and select-and-scatter.

Each place of the window is one element (or vector of elements) of the result, and a loop nest over the positions in the window
stands inside it.
"""

from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir

from ....hlo import Computation, Shape
from ....hlo.window import WindowDimension
from ...llvm import index as indices
from ...llvm.arrays import Array
from ...llvm.index import Affine, Component, Index, add_base, i64
from ...llvm.loops import loop_nest
from ...llvm.pieces import independent_loop, independent_loops
from ...llvm.scalar_computations import emit_scalar_computation
from ...llvm.types import I1, I64, RegisterValue, broadcast_lanes, register_bytes
from ...llvm.windows import interior, select_all, visit_window
from ..nest_samples import combining, samples
from ..nests import Nest, always, emits_nest
from ..target import Target
from ..vectors import VectorLoop, lanes_for


@dataclass(frozen=True)
class ReduceWindow:
    """What is reduced: arrays of the same dimensions, by a computation that starts from scalar registers."""

    operands: list[Array]
    init_values: list[RegisterValue]
    window: tuple[WindowDimension, ...]
    to_apply: Computation

    @property
    def dimensions(self) -> tuple[int, ...]:
        return self.operands[0].shape.dimensions

    def combined(
        self, builder: ir.IRBuilder, accumulators: list[RegisterValue], index: Index, lanes: int, mask: ir.Value | None
    ) -> list[RegisterValue]:
        elements = [operand.load(builder, index, lanes, mask) for operand in self.operands]
        return emit_scalar_computation(builder, self.to_apply, [*accumulators, *elements], lanes)


@samples(
    """
    x = f32[2,30,40] parameter(0)
    init = f32[] parameter(1)
    ROOT y = f32[2,15,38] reduce-window(x, init), window={size=1x2x3 stride=1x2x1}, to_apply=maximum_f32
    """,
    """
    x = f32[13,40] parameter(0)
    init = f32[] parameter(1)
    ROOT y = f32[16,29] reduce-window(x, init), window={size=3x23 pad=2_3x5_6 lhs_dilate=1x1}, to_apply=maximum_f32
    """,
    """
    x = f32[13] parameter(0)
    init = f32[] parameter(1)
    ROOT y = f32[27] reduce-window(x, init), window={size=3 pad=2_2 lhs_dilate=2}, to_apply=maximum_f32
    """,
    calls=combining("maximum", "f32[]"),
)
@emits_nest("reduce-window", scalars=lambda instruction: len(instruction.operands) // 2, divides=always)
def emit_reduce_window(nest: Nest) -> None:
    """Reduce the elements at each place of the window into the outputs."""
    builder, target, outputs, count = nest.builder, nest.target, nest.outputs, len(nest.outputs)
    attributes = nest.instruction.attributes
    reduction = ReduceWindow(nest.operands[:count], nest.operands[count:], attributes["window"], attributes["to_apply"])
    places = outputs[0].shape.dimensions
    if 0 in places:
        return
    if not places:
        _emit_place(builder, reduction, outputs, (), 1, None)
        return
    with independent_loops(builder, places[:-1]) as outer:
        start, stop = interior(reduction.window[-1], reduction.dimensions[-1], places[-1])
        for first, last in ((0, start), (stop, places[-1])):
            if first < last:
                with independent_loop(builder, last - first) as number:
                    index = (*outer, Affine(add_base(builder, number, first)))
                    _emit_place(builder, reduction, outputs, index, 1, None)
        if start < stop:
            lanes = _lanes(target, reduction, stop - start)

            def vector(component: Component, lanes: int, mask: ir.Value | None) -> None:
                index = (*outer, indices.add(builder, component, start))
                _emit_place(builder, reduction, outputs, index, lanes, mask, inside=True)

            VectorLoop(builder, lanes, in_place=False, independent=True).emit(stop - start, vector)


def _lanes(target: Target, reduction: ReduceWindow, size: int) -> int:
    return lanes_for(target, size, reduction.to_apply, (operand.shape.element_type for operand in reduction.operands))


def _emit_place(
    builder: ir.IRBuilder,
    reduction: ReduceWindow,
    outputs: list[Array],
    place: Index,
    lanes: int,
    mask: ir.Value | None,
    inside: bool = False,
) -> None:
    """Reduce one place, or ``lanes`` places along the last dimension, whose window lies ``inside`` there."""

    def visit(index: Index, is_element: ir.Value | bool, values: list[RegisterValue]) -> list[RegisterValue]:
        combined = reduction.combined(builder, values, index, lanes, mask)
        return select_all(builder, is_element, combined, values, lanes)

    init = [broadcast_lanes(builder, value, lanes) for value in reduction.init_values]
    totals = visit_window(builder, reduction.window, reduction.dimensions, place, inside, init, visit)
    for output, total in zip(outputs, totals):
        output.store(builder, place, total, lanes, mask)


# --- select-and-scatter ---


@samples(
    """
    x = s32[8,18] parameter(0)
    source = s32[4,6] parameter(1)
    init = s32[] parameter(2)
    ROOT y = s32[8,18] select-and-scatter(x, source, init), window={size=2x3 stride=2x3}, select=compare_s32, scatter=add_s32
    """,
    calls=combining("compare", "s32[]", "pred[]", ", direction=GE") + combining("add", "s32[]"),
)
@emits_nest("select-and-scatter", scalars=lambda instruction: 1)
def emit_select_and_scatter(nest: Nest) -> None:
    """Send the elements of the source to where each window's chosen element lies."""
    b, target, attributes = nest.builder, nest.target, nest.instruction.attributes
    window, select, scatter = (attributes[name] for name in ("window", "select", "scatter"))
    (operand, source, init_value), (output,) = nest.operands, nest.outputs
    if output.shape.size == 0:
        return
    elements = Array(output.pointer, Shape(output.shape.element_type, (output.shape.size,)))
    _fill(b, target, elements, init_value)
    if source.shape.size == 0:
        return
    with loop_nest(b, source.shape.dimensions) as place:

        def visit(index: Index, is_element: ir.Value | bool, values: list[RegisterValue]) -> list[RegisterValue]:
            found, _, best = values
            candidate = operand.load(b, index, 1)
            (first,) = emit_scalar_computation(b, select, [best, candidate], 1)
            position = indices.linear_offset(b, index, output.strides, 1)
            here: list[RegisterValue] = [I1(1), i64(position.base), candidate]
            chosen = select_all(b, b.and_(found, first), values, here)
            return select_all(b, is_element, chosen, values)

        nothing: list[RegisterValue] = [I1(0), I64(0), init_value]
        found, position, _ = visit_window(b, window, operand.shape.dimensions, place, False, nothing, visit)
        with b.if_then(found):
            index = (Affine(position),)
            current, sent = elements.load(b, index, 1), source.load(b, place, 1)
            (combined,) = emit_scalar_computation(b, scatter, [current, sent], 1)
            elements.store(b, index, combined, 1)


def _fill(builder: ir.IRBuilder, target: Target, elements: Array, value: RegisterValue) -> None:
    """Store a scalar in every element of an array of rank 1."""
    size = elements.shape.size
    lanes = target.lanes(register_bytes(elements.shape.element_type), size)

    def store(component: Component, lanes: int, mask: ir.Value | None) -> None:
        elements.store(builder, (component,), broadcast_lanes(builder, value, lanes), lanes, mask)

    VectorLoop(builder, lanes, in_place=False).emit(size, store)
