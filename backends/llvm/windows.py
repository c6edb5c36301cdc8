"""The positions of a window at one place of it, or at several side by side.

A dimension's loop runs over those positions alone that lie on the base, so that nothing is tested inside but the holes of a
dilated base.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from ...hlo.window import WindowDimension, dilated_size, output_size
from . import index as indices
from .index import Affine, Base, Component, Index, add_base, i64, multiply_base
from .loops import carried_loop
from .types import I64, RegisterValue, broadcast_lanes, selected

# The positions of a window that are written out one by one instead of looped over.
_UNROLLED_POSITIONS = 16

# What is done at one position: (element's index, in range; whether there is an element; values) to new values.
Visit = Callable[[Index, "ir.Value | bool", list[RegisterValue]], list[RegisterValue]]


def interior(dimension: WindowDimension, base: int, places: int) -> tuple[int, int]:
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
    spread = broadcast_lanes(builder, condition, lanes)
    return [selected(builder, spread, t, f) for t, f in zip(on_true, on_false)]
