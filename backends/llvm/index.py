"""Indices of the elements that a vector of lanes stands for.

An index has one component for each dimension. A component is affine (``base + lane * stride``, the base a Python int or an
i64 register), a base with a known offset for each lane, or a vector of i64, one number a lane. With one lane every component is
affine with stride 0.
"""

from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir

from .known_ranges import known_range
from .types import I1, I64, broadcast_lanes, integer_constant, lane_numbers

Base = int | ir.Value


@dataclass(frozen=True, eq=False, slots=True)
class Affine:
    """The component ``base + lane * stride``."""

    base: Base
    stride: int = 0


@dataclass(frozen=True, eq=False, slots=True)
class Offsets:
    """The component ``base + offsets[lane]``."""

    base: Base
    offsets: tuple[int, ...]


Component = Affine | Offsets | ir.Value
Index = tuple[Component, ...]

ZERO = Affine(0)


def i64(value: Base) -> ir.Value:
    return I64(value) if isinstance(value, int) else value


def add_base(builder: ir.IRBuilder, first: Base, second: Base) -> Base:
    if isinstance(first, int) and isinstance(second, int):
        return first + second
    if isinstance(first, int):
        first, second = second, first
    if isinstance(second, int) and second == 0:
        return first
    return builder.add(i64(first), i64(second))


def multiply_base(builder: ir.IRBuilder, base: Base, factor: int) -> Base:
    if isinstance(base, int):
        return base * factor
    if factor == 1:
        return base
    return builder.mul(base, I64(factor)) if factor else 0


def least(builder: ir.IRBuilder, first: Base, second: Base) -> Base:
    """The smaller one, as signed integers."""
    if isinstance(first, int) and isinstance(second, int):
        return min(first, second)
    first, second = i64(first), i64(second)
    return builder.select(builder.icmp_signed("<", first, second), first, second)


def greatest(builder: ir.IRBuilder, first: Base, second: Base) -> Base:
    """The larger one, as signed integers."""
    if isinstance(first, int) and isinstance(second, int):
        return max(first, second)
    first, second = i64(first), i64(second)
    return builder.select(builder.icmp_signed(">", first, second), first, second)


def merge_levels(builder: ir.IRBuilder, count: Base) -> Base:
    """How often so many runs, one at least, are merged in pairs until one is left."""
    if isinstance(count, int):
        return (count - 1).bit_length()
    return builder.sub(I64(64), builder.ctlz(builder.sub(count, I64(1)), I1(0)))


def add(builder: ir.IRBuilder, component: Component, offset: Base) -> Component:
    """The component plus a number that is the same in all lanes."""
    if isinstance(component, Affine):
        return Affine(add_base(builder, component.base, offset), component.stride)
    if isinstance(component, Offsets):
        return Offsets(add_base(builder, component.base, offset), component.offsets)
    return builder.add(component, _in_lanes(builder, offset, component.type.count))


def scale(builder: ir.IRBuilder, component: Component, factor: int) -> Component:
    if isinstance(component, Affine):
        return Affine(multiply_base(builder, component.base, factor), component.stride * factor)
    if isinstance(component, Offsets):
        return Offsets(multiply_base(builder, component.base, factor), tuple([n * factor for n in component.offsets]))
    return builder.mul(component, integer_constant(component.type, factor))


def as_vector(builder: ir.IRBuilder, component: Component, lanes: int) -> ir.Value:
    """The component's numbers in a register: i64, or a vector of them."""
    if isinstance(component, Offsets):
        numbers = ir.Constant(ir.VectorType(I64, lanes), [I64(number) for number in component.offsets])
        return builder.add(_in_lanes(builder, component.base, lanes), numbers)
    if not isinstance(component, Affine):
        return component
    if lanes == 1:
        return i64(component.base)
    if component.stride == 0:
        return _in_lanes(builder, component.base, lanes)
    numbers = lane_numbers(I64, lanes, component.stride)
    if isinstance(component.base, int) and component.base == 0:
        return numbers
    return builder.add(_in_lanes(builder, component.base, lanes), numbers)


def _in_lanes(builder: ir.IRBuilder, base: Base, lanes: int) -> ir.Value:
    return broadcast_lanes(builder, i64(base), lanes)


def linear_offset(builder: ir.IRBuilder, index: Index, strides: tuple[int, ...], lanes: int) -> Component:
    """The sum of the components times the strides: the element's position in memory."""
    base: Base = 0
    stride, vectors = 0, []
    offsets: list[int] | None = None  # which few have
    for component, step in zip(index, strides):
        if isinstance(component, Affine):
            base = add_base(builder, base, multiply_base(builder, component.base, step))
            stride += component.stride * step
        elif isinstance(component, Offsets):
            base = add_base(builder, base, multiply_base(builder, component.base, step))
            offsets = [offset + other * step for offset, other in zip(offsets or [0] * lanes, component.offsets)]
        else:
            vectors.append(scale(builder, component, step))
    if offsets is None:
        total: Component = Affine(base, stride if lanes > 1 else 0)
    else:
        total = _with_offsets(builder, base, [offset + stride * lane for lane, offset in enumerate(offsets)])
    for vector in vectors:
        total = builder.add(vector, as_vector(builder, total, lanes))
    return total


def _with_offsets(builder: ir.IRBuilder, base: Base, offsets: list[int]) -> Component:
    """The base with these offsets, affine where they are."""
    first, stride = offsets[0], offsets[1] - offsets[0] if len(offsets) > 1 else 0
    if offsets == [first + stride * lane for lane in range(len(offsets))]:
        return Affine(add_base(builder, base, first), stride)
    return Offsets(base, tuple(offsets))


def compare(builder: ir.IRBuilder, relation: str, component: Component, bound: int, lanes: int) -> ir.Value | bool:
    """Whether ``component relation bound`` (signed), lane by lane; a Python bool where that is known."""
    if isinstance(component, Affine) and component.stride == 0:
        if isinstance(component.base, int):
            return {"<": component.base < bound, ">=": component.base >= bound}[relation]
        holds = builder.icmp_signed(relation, component.base, I64(bound))
        if lanes == 1:
            return holds
        return broadcast_lanes(builder, holds, lanes)
    vector = as_vector(builder, component, lanes)
    return builder.icmp_signed(relation, vector, integer_constant(vector.type, bound))


def conjunction(builder: ir.IRBuilder, *conditions: ir.Value | bool | None) -> ir.Value | bool:
    """All conditions together; None and True count as holding."""
    result: ir.Value | bool = True
    for condition in conditions:
        if condition is None or condition is True:
            continue
        if condition is False:
            return False
        result = condition if result is True else builder.and_(result, condition)
    return result


def condition_value(condition: ir.Value | bool, lanes: int) -> ir.Value:
    """A condition as an i1 register."""
    if isinstance(condition, bool):
        return integer_constant(I1 if lanes == 1 else ir.VectorType(I1, lanes), int(condition))
    return condition


def clamp_base(builder: ir.IRBuilder, base: Base, low: int, high: int) -> Base:
    """The base moved into [low, high]."""
    if isinstance(base, int):
        return max(low, min(base, high))
    least, largest = known_range(base) or (low - 1, high + 1)
    if least < low:
        base = builder.select(builder.icmp_signed("<", base, I64(low)), I64(low), base)
    if largest > high:
        base = builder.select(builder.icmp_signed(">", base, I64(high)), I64(high), base)
    return base
