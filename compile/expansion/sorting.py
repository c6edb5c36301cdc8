"""Top-k as a sort and a slice."""

from __future__ import annotations

from ... import hlo
from ...hlo import S32, Instruction, Shape
from .table import expansion


@expansion("topk")
def expand_topk(topk: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """topk(x), k=2 -> slices of the first two of sort(x, iota), by a stable comparator in total order."""
    (operand,) = operands
    shape = operand.shape
    element_type, last = shape.element_type, shape.rank - 1
    direction = "GT" if topk.attributes["largest"] else "LT"
    total = "TOTALORDER" if element_type.is_float else ""
    scalars = [Shape(one) for one in (element_type, element_type, S32, S32)]
    name = f"topk_{direction.lower()}_{element_type.name}"
    comparator = hlo.computation(name, scalars, lambda first, second, *_: hlo.compare(first, second, direction, total))
    positions = hlo.iota(shape.with_element_type(S32), last)
    both = hlo.sort(operand, positions, dimensions=(last,), is_stable=True, to_apply=comparator)
    chosen = [(0, size, 1) for size in shape.dimensions[:-1]] + [(0, topk.attributes["k"], 1)]
    return hlo.tuple(*(hlo.emit("slice", hlo.get_tuple_element(both, part), slice=chosen) for part in (0, 1)))
