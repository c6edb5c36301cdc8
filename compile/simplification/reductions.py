"""Rules of reductions and dot products."""

from __future__ import annotations

from ... import hlo
from ...hlo import F32, S8, S16, S32, S64, U8, U32, Instruction, scalar_computation
from ...hlo.ops.elementwise import ADD
from ..fusion_policy import is_degenerate_reshape
from ..inlining import inlined_elementwise
from ..traversal import scalar_under
from .rule import f32, f64, is_negative_zero, real_value, rule, s8, s32, u8, without_ones


def _product(lhs, rhs):
    return hlo.dot(lhs, rhs, lhs_contracting_dimensions=(1,), rhs_contracting_dimensions=(0,))


def _sum(operand, dimensions):
    element_type = operand.shape.element_type
    return hlo.reduce(
        operand, hlo.constant(0, element_type), dimensions=dimensions, to_apply=scalar_computation("add", element_type)
    )


@rule(
    "reduce",
    fires=[lambda: _sum(f32(1, 3), (0,)), lambda: _sum(f32(2, 3), ()), lambda: _sum(s32(), ())],
    unchanged=lambda: _sum(f32(2, 3), (0,)),
)
def reduce_of_ones(reduce: Instruction) -> Instruction | None:
    """reduce(x, init) -> op(broadcast(init), reshape(x)), along dimensions of size 1 or none"""
    if reduce.shape.is_tuple:
        return None
    x, init = reduce.operands
    if any(x.shape.dimensions[d] != 1 for d in reduce.attributes["dimensions"]):
        return None
    dimensions = reduce.shape.dimensions
    return inlined_elementwise(
        reduce.attributes["to_apply"], (hlo.broadcast_in_dim(init, dimensions, ()), hlo.reshape(x, dimensions))
    )


@rule(
    "reduce",
    fires=lambda: _sum(hlo.transpose(f32(2, 3, 4), dimensions=(1, 0, 2)), (0, 1)),
    unchanged=lambda: _sum(hlo.transpose(f32(2, 3, 4), dimensions=(1, 0, 2)), (2,)),
    tolerance=1e-5,
)
def reduce_of_transpose(reduce: Instruction) -> Instruction | None:
    """reduce(transpose(x)) -> reduce(x), where the dimensions that remain keep their order"""
    if reduce.shape.is_tuple or reduce.operands[0].opcode != "transpose":
        return None
    transpose, init = reduce.operands
    order, reduced = transpose.attributes["dimensions"], reduce.attributes["dimensions"]
    kept = [order[d] for d in range(len(order)) if d not in reduced]
    if kept != sorted(kept):
        return None
    dimensions = sorted(order[d] for d in reduced)
    return hlo.reduce(transpose.operands[0], init, dimensions=dimensions, to_apply=reduce.attributes["to_apply"])


@rule(
    "reduce",
    fires=[
        lambda: _sum(hlo.reshape(f32(2, 3), (2, 1, 3, 1)), (1, 2)),
        lambda: _sum(hlo.reshape(f32(2, 1, 3), (1, 2, 3)), (0, 1)),
    ],
    unchanged=[lambda: _sum(hlo.reshape(f32(2, 6), (2, 3, 2)), (0,)), lambda: _sum(hlo.reshape(f32(6), (6, 1)), (1,))],
    tolerance=1e-5,
)
def reduce_of_added_ones(reduce: Instruction) -> Instruction | None:
    """reduce(reshape(x)) -> reshape(reduce(x)), where the reshape only adds or removes dimensions of size 1"""
    reshape = reduce.operands[0]
    if reduce.shape.is_tuple or reshape.opcode != "reshape" or not is_degenerate_reshape(reshape):
        return None
    (x,), init = reshape.operands, reduce.operands[1]
    before, after = ([d for d, size in enumerate(one.shape.dimensions) if size != 1] for one in (x, reshape))
    dimensions = [old for old, new in zip(before, after) if new in reduce.attributes["dimensions"]]
    if not dimensions:
        return None
    reduced = hlo.reduce(x, init, dimensions=dimensions, to_apply=reduce.attributes["to_apply"])
    return hlo.reshape(reduced, reduce.shape.dimensions)


def _in_front(size, dimensions, along, element_type=S64):
    counted = hlo.iota(hlo.Shape(size.shape.element_type, dimensions), along)
    return hlo.convert(hlo.lt(counted, hlo.full_like(counted, size)), element_type)


@rule(
    "reduce",
    fires=[
        lambda: _sum(_in_front(s32(), (5,), 0), (0,)), lambda: _sum(_in_front(s32(), (3, 4), 1), (0, 1)),
        lambda: _sum(_in_front(hlo.negate(s32()), (5,), 0, S32), (0,)),
    ],
    unchanged=[
        lambda: _sum(_in_front(s32(), (3, 4), 1), (0,)), lambda: _sum(_in_front(s32(), (200,), 0, S8), (0,)),
        lambda: _sum(_in_front(s32(), (5,), 0, F32), (0,)),
    ],
)  # fmt: skip
def count_in_front_of_size(reduce: Instruction) -> Instruction | None:
    """reduce(convert(compare(iota, size, LT)), 0) -> clamp(0, size, n), of integers that hold as many"""
    if reduce.shape.is_tuple or reduce.shape.rank:
        return None
    counts, element_type = reduce.operands[0], reduce.shape.element_type
    mask = counts.operands[0] if counts.opcode == "convert" else counts
    if mask.opcode != "compare" or mask.attributes["direction"] != "LT" or not element_type.is_integer:
        return None
    position, bound = mask.operands
    size, shape = scalar_under(bound), position.shape
    if position.opcode != "iota" or size is None:
        return None
    is_sum = reduce.attributes["to_apply"].combining_operation is ADD and real_value(reduce.operands[1]) == 0
    least_bits = min(element_type.bits, size.shape.element_type.bits)
    if not is_sum or size.shape.element_type not in (S32, S64) or shape.size >= 2 ** (least_bits - 1):
        return None
    along = shape.dimensions[position.attributes["iota_dimension"]]
    count = hlo.clamp(0, size, along)
    return hlo.multiply(hlo.convert(count, element_type), shape.size // along) if along else None


@rule(
    "add",
    fires=[lambda: hlo.add(_sum(f32(2, 3), (0,)), 0.0), lambda: hlo.add(_sum(f64(3), (0,)), 0.0)],
    unchanged=lambda: hlo.add(_sum(hlo.negate(f32(1, 3)), (1,)), 1.0),
)
def zero_added_to_sum(add: Instruction) -> Instruction | None:
    """add(reduce(x, 0.0), 0.0) -> reduce(x, 0.0), of sums of floats, which are not -0.0"""
    total, addend = add.operands
    if total.opcode != "reduce" or total.shape.is_tuple or not total.shape.element_type.is_float or real_value(addend) != 0:
        return None
    start = real_value(total.operands[1])
    is_sum = total.attributes["to_apply"].combining_operation is ADD
    return total if is_sum and start == 0 and not is_negative_zero(start) else None


def _converted_product(lhs, rhs, element_type):
    return _product(hlo.convert(lhs, element_type), hlo.convert(rhs, element_type))


@rule(
    "dot",
    fires=[
        lambda: _converted_product(s8(3, 4), s8(4, 5), S32),
        lambda: _converted_product(u8(3, 4), s8(4, 5), S16),
        lambda: _converted_product(u8(3, 4), u8(4, 5), U32),
    ],
    unchanged=[
        lambda: _converted_product(s8(3, 4), s8(4, 5), F32),
        lambda: _converted_product(s32(3, 4), s8(4, 5), S64),
        lambda: _product(hlo.convert(s8(3, 4), S32), s32(4, 5)),
    ],
)
def dot_of_converted_bytes(dot: Instruction) -> Instruction | None:
    """dot(convert(x), convert(y)) -> dot(x, y), of bytes that become wider integers, no narrower than the result"""
    bits = dot.shape.element_type.bits
    for operand in dot.operands:
        if operand.opcode != "convert" or operand.operands[0].shape.element_type not in (S8, U8):
            return None
        if not operand.shape.element_type.is_integer or operand.shape.element_type.bits < max(bits, 16):
            return None
    return hlo.dot(*[operand.operands[0] for operand in dot.operands], shape=dot.shape, **dot.attributes)


@rule(
    "dot",
    fires=[
        lambda: _product(hlo.transpose(f32(4, 3), dimensions=(1, 0)), f32(4, 5)),
        lambda: _product(f32(3, 4), hlo.transpose(f32(5, 4), dimensions=(1, 0))),
    ],
    tolerance=1e-4,
)
def dot_of_transpose(dot: Instruction) -> Instruction | None:
    """dot(transpose(x), y) -> dot(x, y) along other dimensions, where the dimensions that remain keep their order"""
    operands, attributes = list(dot.operands), dict(dot.attributes)
    for position, side in enumerate(("lhs", "rhs")):
        operand = operands[position]
        if operand.opcode != "transpose":
            continue
        order = operand.attributes["dimensions"]
        batch, contracting = f"{side}_batch_dimensions", f"{side}_contracting_dimensions"
        bound = (*attributes[batch], *attributes[contracting])
        free = [order[d] for d in range(len(order)) if d not in bound]
        if free == sorted(free):
            operands[position] = operand.operands[0]
            for name in (batch, contracting):
                attributes[name] = tuple(order[d] for d in attributes[name])
    if operands == list(dot.operands):
        return None
    return hlo.dot(*operands, shape=dot.shape, **attributes)


@rule(
    "dot",
    fires=[
        lambda: hlo.dot(f64(3), f64(4)), lambda: _product(f32(3, 1), f32(1, 4)),
        lambda: hlo.dot(f32(1), f32(1), lhs_contracting_dimensions=(0,), rhs_contracting_dimensions=(0,)),
        lambda: _product(f32(3, 0), f32(0, 4)),
    ],
    unchanged=lambda: _product(f32(3, 2), f32(2, 4)),
    tolerance=1e-7,
)  # fmt: skip
def dot_of_one_term(dot: Instruction) -> Instruction | None:
    """dot(x, y) -> multiply(broadcast(x), broadcast(y)), where each sum has one term, up to the sign of zero; 0 where it has
    none"""
    lhs, rhs = dot.operands
    types = {lhs.shape.element_type, rhs.shape.element_type, dot.shape.element_type}
    if len(types) > 1 or dot.shape.element_type.kind == "pred":
        return None
    contracted = [lhs.shape.dimensions[d] for d in dot.attributes["lhs_contracting_dimensions"]]
    if 0 in contracted:
        return hlo.full_like(dot, 0)
    if without_ones(contracted) or dot.shape.element_type.is_complex:
        return None
    batch_rank = len(dot.attributes["lhs_batch_dimensions"])
    factors = []
    offset = batch_rank
    for operand, side in ((lhs, "lhs"), (rhs, "rhs")):
        batch, contracting = dot.attributes[f"{side}_batch_dimensions"], dot.attributes[f"{side}_contracting_dimensions"]
        kept = [d for d in range(operand.shape.rank) if d not in contracting]
        squeezed = hlo.reshape(operand, [operand.shape.dimensions[d] for d in kept])
        mapping = []
        for d in kept:
            if d in batch:
                mapping.append(batch.index(d))
            else:
                mapping.append(offset)
                offset += 1
        factors.append(hlo.broadcast_in_dim(squeezed, dot.shape.dimensions, mapping))
    return hlo.multiply(*factors)
