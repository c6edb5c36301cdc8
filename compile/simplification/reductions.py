"""Rules of reductions and dot products."""

from __future__ import annotations

from ...hlo import Instruction, scalar_computation
from ..inlining import inlined_elementwise
from .rule import broadcast, f32, f64, new, reshape, rule, s32, uniform, without_ones


def _sum(b, operand, dimensions):
    element_type = operand.shape.element_type
    return b.Reduce(operand, b.constant(0, element_type), scalar_computation("add", element_type), dimensions)


@rule(
    "reduce",
    fires=[lambda b: _sum(b, f32(b, 1, 3), (0,)), lambda b: _sum(b, f32(b, 2, 3), ()), lambda b: _sum(b, s32(b), ())],
    unchanged=lambda b: _sum(b, f32(b, 2, 3), (0,)),
)
def reduce_of_ones(reduce: Instruction) -> Instruction | None:
    """reduce(x, init) -> op(broadcast(init), reshape(x)), along dimensions of size 1 or none"""
    if reduce.shape.is_tuple:
        return None
    x, init = reduce.operands
    if any(x.shape.dimensions[d] != 1 for d in reduce.attributes["dimensions"]):
        return None
    dimensions = reduce.shape.dimensions
    return inlined_elementwise(reduce.attributes["to_apply"], (broadcast(init, dimensions, ()), reshape(x, dimensions)))


@rule(
    "reduce",
    fires=lambda b: _sum(b, b.Transpose(f32(b, 2, 3, 4), dimensions=(1, 0, 2)), (0, 1)),
    unchanged=lambda b: _sum(b, b.Transpose(f32(b, 2, 3, 4), dimensions=(1, 0, 2)), (2,)),
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
    return new("reduce", transpose.operands[0], init, dimensions=dimensions, to_apply=reduce.attributes["to_apply"])


def _matrix_product(lhs, rhs):
    return {"lhs_contracting_dimensions": (lhs,), "rhs_contracting_dimensions": (rhs,)}


@rule(
    "dot",
    fires=[
        lambda b: b.Dot(b.Transpose(f32(b, 4, 3), dimensions=(1, 0)), f32(b, 4, 5)),
        lambda b: b.Dot(f32(b, 3, 4), b.Transpose(f32(b, 5, 4), dimensions=(1, 0))),
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
    return new("dot", *operands, shape=dot.shape, **attributes)


@rule(
    "dot",
    fires=[
        lambda b: b.DotGeneral(f64(b, 3), f64(b, 4)), lambda b: b.Dot(f32(b, 3, 1), f32(b, 1, 4)), lambda b: b.Dot(f32(b,
        1), f32(b, 1)),
        lambda b: b.Dot(f32(b, 3, 0), f32(b, 0, 4)),
    ],
    unchanged=lambda b: b.Dot(f32(b, 3, 2), f32(b, 2, 4)),
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
        return uniform(dot, 0)
    if without_ones(contracted) or dot.shape.element_type.is_complex:
        return None
    batch_rank = len(dot.attributes["lhs_batch_dimensions"])
    factors = []
    offset = batch_rank
    for operand, side in ((lhs, "lhs"), (rhs, "rhs")):
        batch, contracting = dot.attributes[f"{side}_batch_dimensions"], dot.attributes[f"{side}_contracting_dimensions"]
        kept = [d for d in range(operand.shape.rank) if d not in contracting]
        squeezed = reshape(operand, [operand.shape.dimensions[d] for d in kept])
        mapping = []
        for d in kept:
            if d in batch:
                mapping.append(batch.index(d))
            else:
                mapping.append(offset)
                offset += 1
        factors.append(broadcast(squeezed, dot.shape.dimensions, mapping))
    return new("multiply", *factors)
