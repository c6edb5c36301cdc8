"""Rules of slices and paddings: those that take or add nothing, follow each other, or take what was made from one value."""

from __future__ import annotations

from ... import hlo
from ...hlo import S32, Instruction
from ...hlo.attributes import SliceDimension
from ..traversal import scalar_under
from .rule import Users, f32, real_value, rule, s32, uniform_literal

# So many operands and users of a concatenate are compared with each other.
_MOST_TRIED = 64


@rule("slice", fires=lambda: hlo.slice(f32(2, 3), (0, 0), (2, 3)))
def slice_of_everything(operation: Instruction) -> Instruction | None:
    """slice(x) -> x, where it takes everything"""
    x = operation.operands[0]
    return x if x.shape.dimensions == operation.shape.dimensions else None


@rule("slice", fires=lambda: hlo.slice(hlo.slice(f32(20), (3,), (17,), (2,)), (1,), (6,), (3,)))
def slice_of_slice(operation: Instruction) -> Instruction | None:
    """slice(slice(x)) -> slice(x)"""
    inner = operation.operands[0]
    if inner.opcode != "slice":
        return None
    ranges = []
    for outer, mine, size in zip(operation.attributes["slice"], inner.attributes["slice"], operation.shape.dimensions):
        start, stride = mine.start + outer.start * mine.stride, mine.stride * outer.stride
        ranges.append((start, start + (size - 1) * stride + 1 if size else start, stride))
    return hlo.emit("slice", inner.operands[0], slice=ranges)


@rule("slice", fires=[lambda: hlo.slice(hlo.broadcast(f32(6), (4, 6), (1,)), (1, 2), (3, 6), (1, 2))])
def slice_of_broadcast(operation: Instruction) -> Instruction | None:
    """slice(broadcast(x)) -> broadcast(slice(x))"""
    inner = operation.operands[0]
    if inner.opcode != "broadcast":
        return None
    x, mapping = inner.operands[0], inner.attributes["dimensions"]
    if mapping:
        x = hlo.emit("slice", x, slice=[operation.attributes["slice"][d] for d in mapping])
    return hlo.broadcast_in_dim(x, operation.shape.dimensions, mapping)


@rule(
    "slice",
    fires=lambda: hlo.slice(hlo.concatenate(f32(2, 3), f32(2, 5), dimensions=(1,)), (0, 4), (2, 8), (1, 2)),
    unchanged=[
        lambda: hlo.slice(hlo.concatenate(f32(3), f32(5), dimensions=(0,)), (2,), (8,)),
        lambda: (c := hlo.concatenate(f32(3), f32(5), dimensions=(0,)), hlo.negate(c), hlo.slice(c, (1,), (3,)))[-1],
    ],
)
def slice_of_concatenate(operation: Instruction, users: Users) -> Instruction | None:
    """slice(concatenate(x, y)) -> slice(x), where it takes from one operand alone, and so do all users of the concatenate"""
    inner = operation.operands[0]
    if inner.opcode != "concatenate" or len(inner.operands) > _MOST_TRIED:
        return None
    (along,) = inner.attributes["dimensions"]
    source, offset = _one_source(inner, operation, along)
    if source is None:
        return None
    known = users(inner)
    if not known or len(known) > _MOST_TRIED or any(_one_source(inner, user, along)[0] is None for user in known):
        return None
    ranges = list(operation.attributes["slice"])
    start, limit, stride = ranges[along]
    ranges[along] = SliceDimension(start - offset, limit - offset, stride)
    return hlo.emit("slice", source, slice=ranges)


def _one_source(concatenate: Instruction, user: Instruction, along: int) -> tuple[Instruction | None, int]:
    """The one operand from which a slice takes all, and where that operand starts."""
    if user.opcode == "slice":
        start, limit, _ = user.attributes["slice"][along]
        offset = 0
        for x in concatenate.operands:
            end = offset + x.shape.dimensions[along]
            if offset <= start and limit <= end:
                return x, offset
            offset = end
    return None, 0


@rule(
    "slice",
    fires=lambda: hlo.slice(hlo.pad(f32(4, 5), f32(), padding=[(1, 2), (0, 3)]), (1, 1), (5, 4)),
    unchanged=lambda: hlo.slice(hlo.pad(f32(4), f32(), padding=[(1, 2)]), (0,), (4,)),
)
def slice_of_pad(operation: Instruction) -> Instruction | None:
    """slice(pad(x)) -> slice(x), where it takes nothing of the padding"""
    inner = operation.operands[0]
    if inner.opcode != "pad":
        return None
    x, ranges = inner.operands[0], []
    for (start, limit, stride), (low, _, interior), size in zip(
        operation.attributes["slice"], inner.attributes["padding"], x.shape.dimensions
    ):
        if interior or start < low or limit > low + size:
            return None
        ranges.append((start - low, limit - low, stride))
    return hlo.emit("slice", x, slice=ranges)


@rule(
    "slice",
    fires=lambda: hlo.slice(hlo.dynamic_slice(f32(9, 8), s32(), s32(), sizes=(2, 8)), (0, 3), (2, 5)),
    unchanged=[
        lambda: hlo.slice(hlo.dynamic_slice(f32(9, 8), s32(), s32(), sizes=(2, 8)), (1, 0), (2, 8)),
        lambda: hlo.slice(hlo.dynamic_slice(f32(9, 8), s32(), s32(), sizes=(2, 8)), (0, 0), (2, 8), (1, 3)),
    ],
)
def slice_of_dynamic_slice(operation: Instruction) -> Instruction | None:
    """slice(dynamic-slice(x, i, j)) -> dynamic-slice(x, i, c), where a part is taken of dimensions that were taken whole"""
    whole = operation.operands[0]
    if whole.opcode != "dynamic-slice":
        return None
    x, *places = whole.operands
    for dimension, (start, limit, step) in enumerate(operation.attributes["slice"]):
        size = whole.shape.dimensions[dimension]
        if step == 1 and (start, limit) == (0, size):
            continue
        index_type = places[dimension].shape.element_type
        if step != 1 or size != x.shape.dimensions[dimension] or start >= 1 << index_type.bits - 1:
            return None
        places[dimension] = hlo.constant(start, index_type)
    return hlo.dynamic_slice(x, *places, sizes=operation.shape.dimensions)


@rule("pad", fires=lambda: hlo.pad(f32(2, 3), f32(), padding=[(0, 0), (0, 0)]))
def pad_by_nothing(pad: Instruction) -> Instruction | None:
    """pad(x) -> x, where nothing is added"""
    return pad.operands[0] if not any(map(any, pad.attributes["padding"])) else None


@rule(
    "pad",
    fires=lambda: hlo.pad(hlo.full_like(f32(2, 3), 1.5), hlo.constant(1.5, f32().shape.element_type), padding=[(1, 0), (0, 2)]),
    unchanged=lambda: hlo.pad(hlo.full_like(f32(2), 1.5), hlo.constant(2, f32().shape.element_type), padding=[(1, 0)]),
)
def pad_of_same_value(pad: Instruction) -> Instruction | None:
    """pad(broadcast(c), c) -> broadcast(c)"""
    x, value = pad.operands
    scalar = scalar_under(x)
    if scalar is None:
        return None
    mine, other = uniform_literal(scalar), uniform_literal(value)
    alike = scalar is value or (mine is not None and other is not None and mine.tobytes() == other.tobytes())
    return hlo.broadcast_in_dim(scalar, pad.shape.dimensions, ()) if alike else None


@rule(
    "pad",
    fires=lambda: hlo.pad(f32(5, 6), f32(), padding=[(-1, 0), (-2, -1)]),
    unchanged=lambda: hlo.pad(f32(5), f32(), padding=[(-1, 1)]),
)
def pad_that_only_removes(pad: Instruction) -> Instruction | None:
    """pad(x) -> slice(x), where elements are removed and none are added"""
    x = pad.operands[0]
    ranges = []
    for (low, high, interior), size in zip(pad.attributes["padding"], x.shape.dimensions):
        if low > 0 or high > 0 or interior:
            return None
        ranges.append((-low, size + high, 1))
    return hlo.emit("slice", x, slice=ranges)


@rule(
    "pad",
    fires=lambda: hlo.pad(hlo.pad(f32(4), v := f32(), padding=[(1, 2)]), v, padding=[(3, 0)]),
    unchanged=lambda: hlo.pad(hlo.pad(f32(4), f32(), padding=[(1, 2)]), f32(), padding=[(3, 0)]),
)
def pad_of_pad(pad: Instruction) -> Instruction | None:
    """pad(pad(x, v), v) -> pad(x, v), where both add at the edges alone"""
    inner, value = pad.operands
    if inner.opcode != "pad" or inner.operands[1] is not value:
        return None
    padding = []
    for mine, outer in zip(inner.attributes["padding"], pad.attributes["padding"]):
        if min(*mine, *outer) < 0 or mine.interior or outer.interior:
            return None
        padding.append((mine.low + outer.low, mine.high + outer.high, 0))
    return hlo.pad(inner.operands[0], value, padding=padding)


@rule("dynamic-slice", fires=lambda: hlo.dynamic_slice(f32(2, 3), s32(), s32(), sizes=(2, 3)))
def dynamic_slice_of_everything(operation: Instruction) -> Instruction | None:
    """dynamic-slice(x, i) -> x, where it takes everything: the start is clamped to 0"""
    x = operation.operands[0]
    return x if x.shape.dimensions == operation.shape.dimensions else None


@rule("dynamic-slice", fires=lambda: hlo.dynamic_slice(hlo.broadcast(f32(), (4, 5), ()), s32(), s32(), sizes=(2, 3)))
def dynamic_slice_of_scalar(operation: Instruction) -> Instruction | None:
    """dynamic-slice(broadcast(v), i) -> broadcast(v), for a scalar v"""
    scalar = scalar_under(operation.operands[0])
    return None if scalar is None else hlo.broadcast_in_dim(scalar, operation.shape.dimensions, ())


@rule(
    "dynamic-slice",
    fires=[
        lambda: hlo.dynamic_slice(f32(9, 8), hlo.constant(3, S32), hlo.constant(-2, S32), sizes=(2, 3)),
        lambda: hlo.dynamic_slice(f32(9), hlo.constant(100, S32), sizes=(2,)),
    ],
    unchanged=lambda: hlo.dynamic_slice(f32(9, 8), s32(), hlo.constant(2, S32), sizes=(2, 3)),
)
def dynamic_slice_at_constant(operation: Instruction) -> Instruction | None:
    """dynamic-slice(x, c) -> slice(x), for constant starts, clamped"""
    x, *indices = operation.operands
    starts = [real_value(index) for index in indices]
    ranges = []
    for start, size, full_size in zip(starts, operation.shape.dimensions, x.shape.dimensions):
        if start is None:
            if size != full_size:
                return None
            start = 0
        start = max(0, min(int(start), full_size - size))
        ranges.append((start, start + size, 1))
    return hlo.emit("slice", x, slice=ranges) if ranges else None
