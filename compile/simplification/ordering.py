"""Rules that put operations before data movement: elementwise ones before broadcasts and reshapes, where there are fewer
elements and reshapes meet, and sorting before transposes.
"""

from __future__ import annotations

from ...hlo import F32, S32, Builder, Instruction, Shape
from .rule import ANY_ELEMENTWISE, broadcast, f32, full, new, pred, reshape, rule, s32, scalar_under


@rule(
    ANY_ELEMENTWISE,
    fires=[
        lambda b: b.Add(b.broadcast(f32(b), (2, 3), ()), b.broadcast(f32(b), (2, 3), ())),
        lambda b: b.Exp(b.broadcast(f32(b, 3), (2, 3), (1,))),
        lambda b: b.Mul(b.broadcast(f32(b, 3), (2, 3), (1,)), b.broadcast(f32(b), (2, 3), ())),
        lambda b: b.Clamp(f32(b), b.broadcast(f32(b, 3), (2, 3), (1,)), f32(b)),
    ],
    unchanged=lambda b: b.Add(b.broadcast(f32(b, 2), (2, 3), (0,)), b.broadcast(f32(b, 3), (2, 3), (1,))),
)
def elementwise_before_broadcast(operation: Instruction) -> Instruction | None:
    """add(broadcast(x), broadcast(y)) -> broadcast(add(x, y)), along the same dimensions, or where x or y is a scalar"""
    shape = operation.shape
    if shape.is_tuple or not shape.dimensions:
        return None
    widest: Instruction | None = None
    for operand in operation.operands:
        if not operand.shape.is_tuple and not operand.shape.dimensions:
            continue
        if operand.opcode != "broadcast":
            return None
        if operand.operands[0].shape.dimensions or widest is None:
            if widest is not None and widest.operands[0].shape.dimensions:
                if widest.attributes["dimensions"] != operand.attributes["dimensions"]:
                    return None
            widest = operand
    if widest is None:
        return None
    inner = widest.operands[0].shape.dimensions
    if inner and widest.operands[0].shape.size >= shape.size:
        return None
    operands = []
    for operand in operation.operands:
        source = operand.operands[0] if operand.shape.dimensions else operand
        operands.append(source if source.shape.dimensions else broadcast(source, inner, ()))
    result = new(operation.opcode, *operands, shape=shape.with_dimensions(inner), **operation.attributes)
    return broadcast(result, shape.dimensions, widest.attributes["dimensions"])


@rule(
    ANY_ELEMENTWISE,
    fires=[
        lambda b: b.Add(b.reshape(f32(b, 4, 6), (8, 3)), b.reshape(f32(b, 4, 6), (8, 3))),
        lambda b: b.Mul(x := b.reshape(f32(b, 3), (3, 1)), full(b, x, 2)),
        lambda b: b.Select(b.reshape(pred(b, 3), (3, 1)), x := b.reshape(f32(b, 3), (3, 1)), full(b, x, 2)),
        lambda b: b.emit("convert", b.reshape(f32(b, 6), (2, 3)), shape=s32(b, 2, 3).shape),
    ],
    unchanged=[
        lambda b: b.Add(b.reshape(f32(b, 4, 6), (8, 3)), f32(b, 8, 3)),
        lambda b: b.Add(b.reshape(f32(b, 4, 6), (8, 3)), b.reshape(f32(b, 24), (8, 3))),
        lambda b: b.Neg(b.reshape(f32(b, 1), ())),
    ],
)
def elementwise_before_reshape(operation: Instruction) -> Instruction | None:
    """add(reshape(x), reshape(y)) -> reshape(add(x, y)), where x and y have the same dimensions or one is a repeated scalar"""
    shape = operation.shape
    if shape.is_tuple or not shape.dimensions:
        return None
    inner: tuple[int, ...] | None = None
    for operand in operation.operands:
        if operand.opcode == "reshape" and operand.shape.dimensions:
            dimensions = operand.operands[0].shape.dimensions
            if inner is not None and dimensions != inner:
                return None
            inner = dimensions
        elif operand.shape.dimensions and scalar_under(operand) is None:
            return None
    if not inner:
        return None
    operands = []
    for operand in operation.operands:
        if operand.opcode == "reshape" and operand.shape.dimensions:
            operands.append(operand.operands[0])
        else:
            scalar = scalar_under(operand)
            operands.append(operand if scalar is None else broadcast(scalar, inner, ()))
    result = new(operation.opcode, *operands, shape=shape.with_dimensions(inner), **operation.attributes)
    return reshape(result, shape.dimensions)


def _sorts(*order: int, along: int):
    def build(b):
        x = b.Transpose(f32(b, 2, 3, 4), dimensions=order)
        pair = b.Sort([x, b.Iota(x.shape.with_element_type(S32), 1)], _less(F32, S32), along, is_stable=True)
        return b.Sort(x, dimension=along) if order == (1, 2, 0) else pair

    return build


def _less(*element_types):
    c = Builder("less")
    first, second, *_ = [c.parameter(Shape(element_type)) for element_type in element_types for _ in range(2)]
    return c.build(c.Lt(first, second))


@rule("sort", fires=[_sorts(1, 2, 0, along=1), _sorts(2, 1, 0, along=0)], unchanged=_sorts(1, 2, 0, along=2))
def sort_before_transpose(sort: Instruction) -> Instruction | None:
    """sort(transpose(x)) -> transpose(sort(x)), along the last dimension of x, of which each line is in one piece

    Of several operands some may be iotas.
    """
    order = next((x.attributes["dimensions"] for x in sort.operands if x.opcode == "transpose"), None)
    if order is None:
        return None
    (along,) = sort.attributes["dimensions"]
    if order[along] != len(order) - 1:
        return None
    operands = []
    for operand in sort.operands:
        if operand.opcode == "transpose" and operand.attributes["dimensions"] == order:
            operands.append(operand.operands[0])
        elif operand.opcode == "iota":
            sizes = [operand.shape.dimensions[order.index(dimension)] for dimension in range(len(order))]
            dimension = order[operand.attributes["iota_dimension"]]
            operands.append(new("iota", shape=operand.shape.with_dimensions(sizes), iota_dimension=dimension))
        else:
            return None
    result = new("sort", *operands, **{**sort.attributes, "dimensions": (len(order) - 1,)})
    if not sort.shape.is_tuple:
        return new("transpose", result, dimensions=order)
    elements = (new("get-tuple-element", result, index=index) for index in range(len(operands)))
    return new("tuple", *(new("transpose", element, dimensions=order) for element in elements))
