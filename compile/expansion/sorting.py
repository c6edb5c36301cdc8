"""Top-k as a sort and a slice."""

from __future__ import annotations

from ...hlo import S32, Builder, Instruction, Shape
from .table import expansion


@expansion("topk")
def expand_topk(b: Builder, topk: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """topk(x), k=2 -> slices of the first two of sort(x, iota), by a stable comparator in total order."""
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
