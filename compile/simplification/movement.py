"""Rules of reshapes, broadcasts, transposes and reverses: that undo, repeat or need not be."""

from __future__ import annotations

from ... import hlo
from ...hlo import S32, Instruction, Shape
from ...hlo.operation import ELEMENTWISE
from .rule import f32, rule, without_ones


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
