"""The window regions: reduce-window and select-and-scatter.

Each place of the window is one element (or vector of elements) of the result, and a loop nest over the positions in the window
stands inside it. A dimension's loop runs over those positions alone that lie on the base, so that nothing is tested inside but
the holes of a dilated base.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llvmlite import ir

from ....hlo import Computation, Shape
from ....hlo.window import WindowDimension, dilated_size, output_size
from ...llvm import index as indices
from ...llvm.arrays import Array
from ...llvm.elemental import emit_scalar_computation
from ...llvm.index import Affine, Base, Component, Index, add_base, i64, multiply_base
from ...llvm.loops import carried_loop, counted_loop, loop_nest
from ...llvm.types import I1, I64, ComplexValue, RegisterValue, broadcast_lanes, register_bytes
from ..nests import Nest, emits_nest
from ..target import Target
from ..vectors import VectorLoop, lanes_for

# The positions of a window that are written out one by one instead of looped over.
_UNROLLED_POSITIONS = 16

# What is done at one position: (element's index, in range; whether there is an element; values) to new values.
Visit = Callable[[Index, "ir.Value | bool", list[RegisterValue]], list[RegisterValue]]


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


@emits_nest("reduce-window", scalars=lambda instruction: len(instruction.operands) // 2)
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
    with loop_nest(builder, places[:-1]) as outer:
        start, stop = _interior(reduction.window[-1], reduction.dimensions[-1], places[-1])
        for first, last in ((0, start), (stop, places[-1])):
            if first < last:
                with counted_loop(builder, last - first) as number:
                    index = (*outer, Affine(add_base(builder, number, first)))
                    _emit_place(builder, reduction, outputs, index, 1, None)
        if start < stop:
            lanes = _lanes(target, reduction, stop - start)

            def vector(component: Component, lanes: int, mask: ir.Value | None) -> None:
                index = (*outer, indices.add(builder, component, start))
                _emit_place(builder, reduction, outputs, index, lanes, mask, inside=True)

            VectorLoop(builder, lanes, in_place=False).emit(stop - start, vector)


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


def select_all(
    builder: ir.IRBuilder,
    condition: ir.Value | bool,
    on_true: list[RegisterValue],
    on_false: list[RegisterValue],
    lanes: int = 1,
) -> list[RegisterValue]:
    """Registers, chosen together by a condition that is the same in all lanes."""
    if isinstance(condition, bool):
        return on_true if condition else on_false
    chosen: list[RegisterValue] = []
    spread = broadcast_lanes(builder, condition, lanes)
    for t, f in zip(on_true, on_false):
        if isinstance(t, ComplexValue):
            chosen.append(ComplexValue(*(builder.select(spread, a, b) for a, b in zip(t, f))))
        else:
            chosen.append(builder.select(spread, t, f))
    return chosen


# --- the positions in a window ---


def _interior(dimension: WindowDimension, base: int, places: int) -> tuple[int, int]:
    """The places, from start to before stop, at which each position in the window lies on an element of the base."""
    if dimension.base_dilation > 1:
        return 0, 0
    start = max(0, -(-dimension.padding_low // dimension.stride))
    room = base + dimension.padding_low - dilated_size(dimension.size, dimension.window_dilation)
    stop = min(places, room // dimension.stride + 1)
    return (start, stop) if start < stop else (0, 0)


def visit_window(
    builder: ir.IRBuilder,
    window: Sequence[WindowDimension],
    sizes: Sequence[int],
    place: Index,
    inside: bool,
    initial: list[RegisterValue],
    visit: Visit,
) -> list[RegisterValue]:
    """Loop over the positions in the window at a place, in row-major order, the values carried from one to the next.

    The place's last component may differ from lane to lane if the window lies ``inside`` the base there, at each lane.
    """
    b, rank = builder, len(window)
    limits = []
    for d, (dimension, size) in enumerate(zip(window, sizes)):
        limits.append((0, dimension.size) if inside and d == rank - 1 else _limits(b, dimension, size, place[d]))
    unrolled: set[int] = set()
    positions = 1
    for d in reversed(range(rank)):
        start, stop = limits[d]
        if not (isinstance(start, int) and isinstance(stop, int)) or positions * (stop - start) > _UNROLLED_POSITIONS:
            break
        positions *= max(1, stop - start)
        unrolled.add(d)

    def loops(d: int, index: Index, conditions: list[ir.Value], values: list[RegisterValue]) -> list[RegisterValue]:
        if d == rank:
            return visit(index, indices.conjunction(b, *conditions), values)
        dimension = window[d]

        def at(offset: Base, carried: list[RegisterValue]) -> list[RegisterValue]:
            moved = add_base(b, multiply_base(b, offset, dimension.window_dilation), -dimension.padding_low)
            position = indices.add(b, indices.scale(b, place[d], dimension.stride), moved)
            if dimension.base_dilation == 1:
                return loops(d + 1, (*index, position), conditions, carried)
            dilation = I64(dimension.base_dilation)
            is_element = b.icmp_signed("==", b.urem(i64(position.base), dilation), I64(0))
            element = Affine(b.udiv(i64(position.base), dilation))
            return loops(d + 1, (*index, element), [*conditions, is_element], carried)

        start, stop = limits[d]
        if d in unrolled:
            for offset in range(start, stop):
                values = at(offset, values)
            return values
        return carried_loop(b, start, stop, 1, values, at, "window")

    return loops(0, (), [], initial)


def _limits(builder: ir.IRBuilder, dimension: WindowDimension, base: int, place: Component) -> tuple[Base, Base]:
    """The positions in the window, from start to before stop, that lie on the dilated base at a place."""
    positions, low, step = dilated_size(base, dimension.base_dilation), dimension.padding_low, dimension.window_dilation
    if not isinstance(place, Affine) or place.stride:
        raise AssertionError("the places of lanes must lie inside the base")
    origin = multiply_base(builder, place.base, dimension.stride)

    def first_from(bound: int) -> Base:
        """The lowest position in the window that does not lie before a position of the base."""
        if isinstance(origin, int):
            return max(0, min(dimension.size, -((origin - low - bound) // step)))
        distance = builder.sub(I64(low + bound), origin)
        if step > 1:
            distance = builder.sdiv(builder.add(distance, I64(step - 1)), I64(step))
        return indices.clamp_base(builder, distance, 0, dimension.size)

    # Which of the two limits holds at every place is known from the shapes.
    start = 0 if low <= 0 else first_from(0)
    last_place = place.base if isinstance(place.base, int) else output_size(dimension, base) - 1
    last_position = last_place * dimension.stride + (dimension.size - 1) * step - low
    return start, dimension.size if last_position < positions else first_from(positions)


# --- select-and-scatter ---


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
