"""Top-k as a sort and a slice, where not a few of many elements are wanted."""

from __future__ import annotations

from ...hlo import S32, Builder, Instruction, Shape
from ..traversal import on_operands
from .table import expansion

# As many are kept in a list by insertion; and of no fewer than this many times as many elements.
_FEW = 64
_OF_MANY = 4


def is_few_of_many(topk: Instruction) -> bool:
    """Whether a backend had better look for the elements in one pass, which needs an order that bytes have."""
    shape, k = topk.operands[0].shape, topk.attributes["k"]
    few = 0 < k <= _FEW and k * _OF_MANY <= shape.dimensions[-1]
    return few and shape.element_type.has_order_of_bytes


@expansion("topk")
def expand_topk(b: Builder, topk: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """topk(x), k=2 -> slices of the first two of sort(x, iota), by a stable comparator in total order."""
    if is_few_of_many(topk):
        return on_operands(topk, operands)
    (operand,) = operands
    shape = operand.shape
    element_type, last = shape.element_type, shape.rank - 1
    direction = "GT" if topk.attributes["largest"] else "LT"
    c = Builder(f"topk_{direction.lower()}_{element_type.name}")
    first, second, *_ = (c.parameter(Shape(t), n) for t, n in zip((element_type, element_type, S32, S32), "abij"))
    total = "TOTALORDER" if element_type.is_float else ""
    comparator = c.build(c.emit("compare", first, second, direction=direction, type=total))
    positions = b.emit("iota", shape=shape.with_element_type(S32), iota_dimension=last)
    both = b.emit("sort", operand, positions, dimensions=(last,), is_stable=True, to_apply=comparator)
    chosen = [(0, size, 1) for size in shape.dimensions[:-1]] + [(0, topk.attributes["k"], 1)]
    return b.emit("tuple", *(b.emit("slice", b.get_tuple_element(both, part), slice=chosen) for part in (0, 1)))
