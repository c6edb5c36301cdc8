"""Rules of data movement: operations that undo, repeat or need not be."""

from __future__ import annotations

from ... import hlo
from ...hlo import S32, Instruction, Shape
from ...hlo.attributes import SliceDimension
from ...hlo.operation import ELEMENTWISE
from .rule import Users, f32, real_value, rule, s32, scalar_under, uniform_literal, without_ones


def _identity(count: int) -> tuple[int, ...]:
    return tuple(range(count))


@rule("reshape", fires=lambda: hlo.emit("reshape", f32(2, 3), shape=Shape(f32().shape.element_type, (2, 3))))
def reshape_to_own_dimensions(operation: Instruction) -> Instruction | None:
    """reshape(x) -> x, to the dimensions it has"""
    x = operation.operands[0]
    return x if x.shape.dimensions == operation.shape.dimensions else None


@rule("reshape", fires=lambda: hlo.reshape(hlo.reshape(f32(4, 6), (8, 3)), (2, 12)))
def reshape_of_reshape(operation: Instruction) -> Instruction | None:
    """reshape(reshape(x)) -> reshape(x)"""
    inner = operation.operands[0]
    return hlo.reshape(inner.operands[0], operation.shape.dimensions) if inner.opcode == "reshape" else None


@rule("reshape", fires=lambda: hlo.reshape(f32(), (1, 1)), unchanged=lambda: hlo.reshape(f32(1), (1, 1)))
def reshape_of_scalar(operation: Instruction) -> Instruction | None:
    """reshape(x) -> broadcast(x), for a scalar x"""
    x = operation.operands[0]
    return None if x.shape.dimensions else hlo.broadcast_in_dim(x, operation.shape.dimensions, ())


@rule(
    "reshape",
    fires=[
        lambda: hlo.reshape(hlo.full_like(f32(2, 3), 1.5), (6,)), lambda: hlo.reshape(hlo.broadcast(f32(3), (2, 1, 3), (2,)),
        (2, 3)),
        lambda: hlo.reshape(hlo.broadcast(f32(3, 1), (2, 3, 1), (1, 2)), (1, 2, 3)), lambda: hlo.reshape(hlo.full_like(f32(1),
        2), ()),
    ],
    unchanged=lambda: hlo.reshape(hlo.broadcast(f32(3), (2, 3), (1,)), (6,)),
)  # fmt: skip
def reshape_of_broadcast(operation: Instruction) -> Instruction | None:
    """reshape(broadcast(x)) -> broadcast(x), of a scalar x or where dimensions of size 1 come and go"""
    inner = operation.operands[0]
    if inner.opcode != "broadcast":
        return None
    x, dimensions = inner.operands[0], operation.shape.dimensions
    if not x.shape.dimensions:
        return hlo.broadcast_in_dim(x, dimensions, ())
    if without_ones(inner.shape.dimensions) != without_ones(dimensions):
        return None
    wide_before = [d for d, size in enumerate(inner.shape.dimensions) if size != 1]
    wide_after = [d for d, size in enumerate(dimensions) if size != 1]
    moved = dict(zip(wide_before, wide_after))
    mapping = [moved[d] for d in inner.attributes["dimensions"] if d in moved]
    return hlo.broadcast_in_dim(hlo.reshape(x, without_ones(x.shape.dimensions)), dimensions, mapping)


@rule(
    "reshape",
    fires=[
        lambda: hlo.reshape(hlo.iota(Shape(S32, (3, 1)), 0), (3,)),
        lambda: hlo.reshape(hlo.iota(Shape(S32, (3, 1)), 1), (1, 3)),
    ],
    unchanged=lambda: hlo.reshape(hlo.iota(Shape(S32, (3, 2)), 0), (6,)),
)  # fmt: skip
def reshape_of_iota(operation: Instruction) -> Instruction | None:
    """reshape(iota) -> iota, where dimensions of size 1 come and go"""
    inner = operation.operands[0]
    before, after = inner.shape.dimensions, operation.shape.dimensions
    if inner.opcode != "iota" or without_ones(before) != without_ones(after):
        return None
    counted = inner.attributes["iota_dimension"]
    if before[counted] == 1:
        return hlo.broadcast_in_dim(hlo.constant(0, operation.shape.element_type), after, ())
    position = sum(size != 1 for size in before[:counted])
    return hlo.iota(operation.shape, [d for d, size in enumerate(after) if size != 1][position])


@rule(
    "broadcast",
    fires=lambda: hlo.broadcast(f32(2, 3), (2, 3), (0, 1)),
    unchanged=lambda: hlo.broadcast(f32(3, 3), (3, 3), (1, 0)),
)
def broadcast_to_own_dimensions(operation: Instruction) -> Instruction | None:
    """broadcast(x) -> x, to the dimensions it has, in order"""
    x = operation.operands[0]
    if x.shape.dimensions != operation.shape.dimensions:
        return None
    return x if operation.attributes["dimensions"] == _identity(x.shape.rank) else None


@rule("broadcast", fires=lambda: hlo.broadcast(hlo.broadcast(f32(3), (2, 3), (1,)), (2, 4, 3), (0, 2)))
def broadcast_of_broadcast(operation: Instruction) -> Instruction | None:
    """broadcast(broadcast(x)) -> broadcast(x)"""
    inner = operation.operands[0]
    if inner.opcode != "broadcast":
        return None
    outer = operation.attributes["dimensions"]
    return hlo.broadcast_in_dim(
        inner.operands[0], operation.shape.dimensions, [outer[d] for d in inner.attributes["dimensions"]]
    )


@rule(
    "broadcast",
    fires=[lambda: hlo.broadcast(f32(2, 3), (2, 1, 3), (0, 2)), lambda: hlo.broadcast(f32(2, 3), (3, 2), (1, 0))],
    unchanged=[lambda: hlo.broadcast(f32(3), (2, 3), (1,)), lambda: hlo.broadcast(f32(), (1, 1), ())],
)
def broadcast_that_repeats_nothing(operation: Instruction) -> Instruction | None:
    """broadcast(x) -> reshape(x) or transpose(x), where every element appears once"""
    x, mapping = operation.operands[0], operation.attributes["dimensions"]
    if not x.shape.dimensions or x.shape.size != operation.shape.size:
        return None
    if list(mapping) == sorted(mapping):
        return hlo.reshape(x, operation.shape.dimensions)
    if x.shape.rank == operation.shape.rank:
        return hlo.transpose(x, dimensions=tuple(mapping.index(d) for d in range(len(mapping))))
    return None


@rule(
    "broadcast",
    fires=lambda: hlo.broadcast(hlo.reshape(f32(3), (1, 3)), (1, 4, 3), (0, 2)),
    unchanged=lambda: hlo.broadcast(hlo.reshape(f32(1, 3), (3,)), (4, 3), (1,)),
)
def broadcast_of_added_ones(operation: Instruction) -> Instruction | None:
    """broadcast(reshape(x)) -> broadcast(x), where the reshape only adds dimensions of size 1"""
    inner = operation.operands[0]
    if inner.opcode != "reshape":
        return None
    x = inner.operands[0]
    if 1 in x.shape.dimensions or x.shape.dimensions != without_ones(inner.shape.dimensions):
        return None
    mapping = [d for d, size in zip(operation.attributes["dimensions"], inner.shape.dimensions) if size != 1]
    return hlo.broadcast_in_dim(x, operation.shape.dimensions, mapping)


@rule("transpose", fires=lambda: hlo.transpose(f32(2, 3), dimensions=(0, 1)))
def transpose_to_own_order(transpose: Instruction) -> Instruction | None:
    """transpose(x) -> x, in the order it has"""
    return transpose.operands[0] if transpose.attributes["dimensions"] == _identity(transpose.shape.rank) else None


@rule("transpose", fires=lambda: hlo.transpose(hlo.transpose(f32(2, 3, 4), dimensions=(1, 2, 0)), dimensions=(0, 2, 1)))
def transpose_of_transpose(transpose: Instruction) -> Instruction | None:
    """transpose(transpose(x)) -> transpose(x)"""
    inner = transpose.operands[0]
    if inner.opcode != "transpose":
        return None
    order = tuple(inner.attributes["dimensions"][d] for d in transpose.attributes["dimensions"])
    return inner.operands[0] if order == _identity(len(order)) else hlo.transpose(inner.operands[0], dimensions=order)


@rule("transpose", fires=lambda: hlo.transpose(hlo.broadcast(f32(3), (2, 3), (1,)), dimensions=(1, 0)))
def transpose_of_broadcast(transpose: Instruction) -> Instruction | None:
    """transpose(broadcast(x)) -> broadcast(x)"""
    inner = transpose.operands[0]
    if inner.opcode != "broadcast":
        return None
    order = transpose.attributes["dimensions"]
    return hlo.broadcast_in_dim(
        inner.operands[0], transpose.shape.dimensions, [order.index(d) for d in inner.attributes["dimensions"]]
    )


# So many elementwise operations are looked through for transposes.
_MOST_UNTRANSPOSED = 16


@rule(
    "transpose",
    fires=[
        lambda: hlo.transpose(
            hlo.add(hlo.transpose(f32(2, 3), dimensions=(1, 0)), hlo.transpose(f32(2, 3), dimensions=(1, 0))), dimensions=(1, 0)
        ),
        lambda: hlo.transpose(
            hlo.negate(hlo.multiply(hlo.transpose(f32(2, 3), dimensions=(1, 0)), hlo.broadcast(f32(), (3, 2), ()))),
            dimensions=(1, 0),
        ),
    ],
    unchanged=lambda: hlo.transpose(hlo.add(hlo.transpose(f32(2, 3), dimensions=(1, 0)), f32(3, 2)), dimensions=(1, 0)),
)
def transpose_of_transposes(transpose: Instruction) -> Instruction | None:
    """transpose(f(transpose(x), transpose(y), broadcast(z))) -> f(x, y, broadcast(z)), where x and y lie as the result does"""
    order = transpose.attributes["dimensions"]
    inverse = tuple(order.index(d) for d in range(len(order)))
    found: list[Instruction] = []  # f's operations, of which the first is the last to be computed
    pending = [transpose.operands[0]]
    while pending:
        one = pending.pop()
        if one.opcode == "broadcast" or one.opcode == "transpose" and one.attributes["dimensions"] == inverse:
            continue
        if ELEMENTWISE not in one.operation.traits or one.shape.is_tuple or len(found) == _MOST_UNTRANSPOSED:
            return None
        found.append(one)
        pending += [operand for operand in one.operands if operand.shape.is_tuple or operand.shape.rank]
    if not found:
        return None
    made: dict[Instruction, Instruction] = {}

    def turned(one: Instruction) -> Instruction:
        if one not in made:
            if not one.shape.rank:
                made[one] = one
            elif one.opcode == "transpose":
                made[one] = one.operands[0]
            elif one.opcode == "broadcast":
                made[one] = hlo.transpose(one, dimensions=order)
            else:
                shape = one.shape.with_dimensions(transpose.shape.dimensions)
                operands = [turned(operand) for operand in one.operands]
                made[one] = hlo.emit(one.opcode, *operands, shape=shape, **one.attributes)
        return made[one]

    return turned(found[0])


@rule("transpose", fires=lambda: hlo.transpose(hlo.iota(Shape(S32, (2, 3)), 1), dimensions=(1, 0)))
def transpose_of_iota(transpose: Instruction) -> Instruction | None:
    """transpose(iota) -> iota"""
    inner = transpose.operands[0]
    if inner.opcode != "iota":
        return None
    position = transpose.attributes["dimensions"].index(inner.attributes["iota_dimension"])
    return hlo.iota(transpose.shape, position)


@rule(
    "transpose",
    fires=lambda: hlo.transpose(f32(2, 1, 3), dimensions=(1, 0, 2)),
    unchanged=lambda: hlo.transpose(f32(2, 1, 3), dimensions=(2, 1, 0)),
)
def transpose_of_ones(transpose: Instruction) -> Instruction | None:
    """transpose(x) -> reshape(x), where only dimensions of size 1 change places"""
    x = transpose.operands[0]
    wide = [d for d in transpose.attributes["dimensions"] if x.shape.dimensions[d] != 1]
    return hlo.reshape(x, transpose.shape.dimensions) if wide == sorted(wide) else None


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


# So many operands and users of a concatenate are compared with each other.
_MOST_TRIED = 64
# A concatenate of more operands may have been divided for a backend.
_MOST_JOINED = 128


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


@rule(
    "reverse",
    fires=[lambda: hlo.reverse(f32(2, 3), dimensions=()), lambda: hlo.reverse(f32(1, 3), dimensions=(0, 1))],
    unchanged=lambda: hlo.reverse(f32(2, 3), dimensions=(1,)),
)
def reverse_of_ones(reverse: Instruction) -> Instruction | None:
    """reverse(x) -> reverse(x) along fewer dimensions, without those of size 1; x itself where none remain"""
    x, dimensions = reverse.operands[0], reverse.attributes["dimensions"]
    kept = tuple(d for d in dimensions if x.shape.dimensions[d] != 1)
    if not kept:
        return x
    return hlo.reverse(x, dimensions=kept) if len(kept) < len(dimensions) else None


@rule("reverse", fires=lambda: hlo.reverse(hlo.reverse(f32(2, 3), dimensions=(0, 1)), dimensions=(1,)))
def reverse_of_reverse(reverse: Instruction) -> Instruction | None:
    """reverse(reverse(x)) -> reverse(x), along the dimensions that one of them reverses"""
    inner = reverse.operands[0]
    if inner.opcode != "reverse":
        return None
    once = set(reverse.attributes["dimensions"]) ^ set(inner.attributes["dimensions"])
    return hlo.reverse(inner.operands[0], dimensions=sorted(once))


@rule("reverse", fires=lambda: hlo.reverse(hlo.broadcast(f32(3), (2, 3), (1,)), dimensions=(0, 1)))
def reverse_of_broadcast(reverse: Instruction) -> Instruction | None:
    """reverse(broadcast(x)) -> broadcast(reverse(x)), along the dimensions of x alone"""
    inner = reverse.operands[0]
    if inner.opcode != "broadcast":
        return None
    x, mapping = inner.operands[0], inner.attributes["dimensions"]
    dimensions = [i for i, d in enumerate(mapping) if d in reverse.attributes["dimensions"]]
    x = hlo.reverse(x, dimensions=dimensions) if dimensions else x
    return hlo.broadcast_in_dim(x, reverse.shape.dimensions, mapping)


@rule(
    "concatenate",
    fires=[
        lambda: hlo.concatenate(f32(3), dimensions=(0,)),
        lambda: hlo.concatenate(f32(2, 0), f32(2, 3), f32(2, 4), dimensions=(1,)),
    ],
    unchanged=lambda: hlo.concatenate(f32(3), f32(2), dimensions=(0,)),
)
def concatenate_of_nothing(concatenate: Instruction) -> Instruction | None:
    """concatenate(x) -> x; operands without elements are left out"""
    (along,) = concatenate.attributes["dimensions"]
    kept = [x for x in concatenate.operands if x.shape.dimensions[along]]
    if len(kept) == 1:
        return kept[0]
    return hlo.concatenate(*kept, dimensions=(along,)) if 0 < len(kept) < len(concatenate.operands) else None


@rule(
    "concatenate",
    fires=lambda: hlo.concatenate(f32(2), hlo.concatenate(f32(3), f32(4), dimensions=(0,)), dimensions=(0,)),
    unchanged=lambda: hlo.concatenate(f32(2), hlo.concatenate(*[f32(1)] * _MOST_JOINED, dimensions=(0,)), dimensions=(0,)),
)
def concatenate_of_concatenate(concatenate: Instruction) -> Instruction | None:
    """concatenate(x, concatenate(y, z)) -> concatenate(x, y, z), along the same dimension, where these are not too many"""
    operands: list[Instruction] = []
    for x in concatenate.operands:
        nested = x.opcode == "concatenate" and x.attributes == concatenate.attributes
        operands.extend(x.operands if nested else (x,))
    if not len(concatenate.operands) < len(operands) <= _MOST_JOINED:
        return None
    return hlo.concatenate(*operands, dimensions=concatenate.attributes["dimensions"])


@rule(
    "concatenate",
    fires=lambda: hlo.concatenate(hlo.broadcast(v := f32(), (2,), ()), hlo.broadcast(v, (3,), ()), dimensions=(0,)),
    unchanged=lambda: hlo.concatenate(hlo.broadcast(f32(), (2,), ()), hlo.broadcast(f32(), (3,), ()), dimensions=(0,)),
)
def concatenate_of_same_value(concatenate: Instruction) -> Instruction | None:
    """concatenate(broadcast(v), broadcast(v)) -> broadcast(v), for a scalar v"""
    scalar = scalar_under(concatenate.operands[0])
    if scalar is None or any(scalar_under(x) is not scalar for x in concatenate.operands):
        return None
    return hlo.broadcast_in_dim(scalar, concatenate.shape.dimensions, ())


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


@rule(
    "dynamic-update-slice",
    fires=[
        lambda: hlo.dynamic_update_slice(f32(3), f32(3), s32()),
        lambda: hlo.dynamic_update_slice(f32(3), f32(0), s32()),
    ],
    unchanged=lambda: hlo.dynamic_update_slice(f32(3), f32(2), s32()),
)
def update_of_everything(operation: Instruction) -> Instruction | None:
    """dynamic-update-slice(x, y, i) -> y, where y has the size of x; x, where y has no elements"""
    x, update = operation.operands[:2]
    if 0 in update.shape.dimensions:
        return x
    return update if x.shape.dimensions == update.shape.dimensions else None
