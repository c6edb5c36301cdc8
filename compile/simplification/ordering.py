"""Rules that put operations before data movement: elementwise ones before broadcasts and reshapes, where there are fewer
elements and reshapes meet, and sorting before transposes; and the few first or last of what is sorted, which are found without
sorting all.
"""

from __future__ import annotations

from ... import hlo
from ...hlo import F32, S32, Instruction, Shape
from ...hlo.builder import ascending_order
from ..comparators import sort_key
from ..traversal import scalar_under
from .rule import ANY_ELEMENTWISE, Users, f32, pred, rule, s32


@rule(
    ANY_ELEMENTWISE,
    fires=[
        lambda: hlo.add(hlo.broadcast(f32(), (2, 3), ()), hlo.broadcast(f32(), (2, 3), ())),
        lambda: hlo.exponential(hlo.broadcast(f32(3), (2, 3), (1,))),
        lambda: hlo.multiply(hlo.broadcast(f32(3), (2, 3), (1,)), hlo.broadcast(f32(), (2, 3), ())),
        lambda: hlo.clamp(f32(), hlo.broadcast(f32(3), (2, 3), (1,)), f32()),
    ],
    unchanged=lambda: hlo.add(hlo.broadcast(f32(2), (2, 3), (0,)), hlo.broadcast(f32(3), (2, 3), (1,))),
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
        operands.append(source if source.shape.dimensions else hlo.broadcast_in_dim(source, inner, ()))
    result = hlo.emit(operation.opcode, *operands, shape=shape.with_dimensions(inner), **operation.attributes)
    return hlo.broadcast_in_dim(result, shape.dimensions, widest.attributes["dimensions"])


@rule(
    ANY_ELEMENTWISE,
    fires=[
        lambda: hlo.add(hlo.reshape(f32(4, 6), (8, 3)), hlo.reshape(f32(4, 6), (8, 3))),
        lambda: hlo.multiply(hlo.reshape(f32(3), (3, 1)), 2),
        lambda: hlo.select(hlo.reshape(pred(3), (3, 1)), hlo.reshape(f32(3), (3, 1)), 2),
        lambda: hlo.convert(hlo.reshape(f32(6), (2, 3)), S32),
    ],
    unchanged=[
        lambda: hlo.add(hlo.reshape(f32(4, 6), (8, 3)), f32(8, 3)),
        lambda: hlo.add(hlo.reshape(f32(4, 6), (8, 3)), hlo.reshape(f32(24), (8, 3))),
        lambda: hlo.negate(hlo.reshape(f32(1), ())),
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
            operands.append(operand if scalar is None else hlo.broadcast_in_dim(scalar, inner, ()))
    result = hlo.emit(operation.opcode, *operands, shape=shape.with_dimensions(inner), **operation.attributes)
    return hlo.reshape(result, shape.dimensions)


def _sorts(*order: int, along: int):
    def build():
        x = hlo.transpose(f32(2, 3, 4), dimensions=order)
        if order == (1, 2, 0):
            return hlo.sort(x, dimensions=(along,), to_apply=ascending_order((F32,)))
        positions = hlo.iota(x.shape.with_element_type(S32), 1)
        return hlo.sort(x, positions, dimensions=(along,), is_stable=True, to_apply=_less(F32, S32))

    return build


def _less(*element_types):
    shapes = [Shape(element_type) for element_type in element_types for _ in range(2)]
    return hlo.computation("less", shapes, lambda first, second, *_: hlo.lt(first, second))


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
            operands.append(hlo.iota(operand.shape.with_dimensions(sizes), dimension))
        else:
            return None
    result = hlo.sort(*operands, **{**sort.attributes, "dimensions": (len(order) - 1,)})
    if not sort.shape.is_tuple:
        return hlo.transpose(result, dimensions=order)
    elements = (hlo.get_tuple_element(result, index) for index in range(len(operands)))
    return hlo.tuple(*(hlo.transpose(element, dimensions=order) for element in elements))


# So few elements of so long lines, and of so many times as many, are found in one pass, which looks at few others closely.
_FEW, _LONG_LINE, _OF_MANY = 128, 256, 32


def _sorted(x: Instruction, direction: str = "LT", **attributes) -> Instruction:
    shapes = [Shape(x.shape.element_type)] * 2
    to_apply = hlo.computation("order", shapes, lambda one, other: hlo.compare(one, other, direction=direction))
    return hlo.sort(x, dimensions=(x.shape.rank - 1,), to_apply=to_apply, **attributes)


def _in_numpy_order(x: Instruction) -> Instruction:
    def before(one: Instruction, other: Instruction) -> Instruction:
        return hlo.or_(hlo.lt(one, other), hlo.and_(hlo.ne(other, other), hlo.eq(one, one)))

    to_apply = hlo.computation("before", [Shape(x.shape.element_type)] * 2, before)
    return hlo.sort(x, dimensions=(x.shape.rank - 1,), to_apply=to_apply)


@rule(
    "slice",
    fires=[
        lambda: hlo.slice(_sorted(s32(5000)), (4990,), (5000,)),
        lambda: hlo.slice(_sorted(s32(5000), "GT", is_stable=True), (0,), (7,)),
        lambda: hlo.slice(_sorted(s32(3, 5000), "GT"), (0, 4980), (3, 5000)),
        lambda: hlo.slice(_in_numpy_order(f32(5000)), (4900,), (5000,)),
    ],
    unchanged=[
        lambda: hlo.slice(_sorted(s32(5000)), (4980,), (4990,)),
        lambda: hlo.slice(_sorted(s32(5000)), (4000,), (5000,)),
        lambda: hlo.slice(_sorted(s32(50)), (40,), (50,)),
        lambda: (x := _sorted(s32(5000)), hlo.negate(x), hlo.slice(x, (4990,), (5000,)))[-1],
    ],
)
def slice_of_sort(slice_: Instruction, users: Users) -> Instruction | None:
    """slice(sort(x)) -> topk(x), reversed where that begins at the other end, of few elements at an end"""
    sort = slice_.operands[0]
    if sort.opcode != "sort" or sort.shape.is_tuple or sort.shape.dynamic_dimensions or _end_of_lines(slice_) is None:
        return None
    known, key = users(sort), sort_key(sort.attributes["to_apply"])
    if not known or any(_end_of_lines(user) is None for user in known):
        return None
    if key is None or key.zeros_equal and sort.attributes["is_stable"]:
        return None
    (x,), (is_first, count) = sort.operands, _end_of_lines(slice_)
    if key.zeros_equal:  # the sign of NaN does not count
        x = hlo.select(hlo.ne(x, x), hlo.full_like(x, float("nan")), x)
    best = hlo.get_tuple_element(hlo.topk(x, k=count, largest=is_first == key.is_descending, is_stable=True), 0)
    return best if is_first else hlo.reverse(best, (x.shape.rank - 1,))


def _end_of_lines(slice_: Instruction) -> tuple[bool, int] | None:
    """Whether a slice takes the first elements of sorted lines, or the last ones, and how many; None if it does neither."""
    if slice_.opcode != "slice":
        return None
    *others, (start, limit, step) = slice_.attributes["slice"]
    sort = slice_.operands[0]
    *outer, size = sort.shape.dimensions
    count = limit - start
    is_end = (start == 0 or limit == size) and step == 1
    is_few = 0 < count <= _FEW and size >= max(_LONG_LINE, count * _OF_MANY)
    is_along_last = sort.opcode == "sort" and sort.attributes["dimensions"] == (sort.shape.rank - 1,)
    is_whole = all((begin, end, step) == (0, whole, 1) for (begin, end, step), whole in zip(others, outer))
    return (start == 0, count) if is_end and is_few and is_along_last and is_whole else None
