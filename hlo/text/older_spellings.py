"""What XLA's text said differently in earlier years, in today's terms."""

from __future__ import annotations

from ..instruction import Instruction, make_instruction
from ..shape import Shape

# Opcodes of 2017 to 2019, with the attributes that they now need.
OPCODES: dict[str, tuple[str, dict[str, object]]] = {
    "equal-to": ("compare", {"direction": "EQ"}),
    "not-equal-to": ("compare", {"direction": "NE"}),
    "greater-than-or-equal-to": ("compare", {"direction": "GE"}),
    "greater-than": ("compare", {"direction": "GT"}),
    "less-than-or-equal-to": ("compare", {"direction": "LE"}),
    "less-than": ("compare", {"direction": "LT"}),
    "generate-token": ("after-all", {}),
    "cross-replica-sum": ("all-reduce", {}),
}
# Attributes of gather before they were renamed in 2018.
ATTRIBUTES: dict[tuple[str, str], str] = {
    ("gather", "output_window_dims"): "offset_dims",
    ("gather", "elided_window_dims"): "collapsed_slice_dims",
    ("gather", "gather_dims_to_operand_dims"): "start_index_map",
    ("gather", "window_bounds"): "slice_sizes",
}
# Operations whose start indices were once one vector, and the place of that among the operands.
_START_INDICES = {"dynamic-slice": 1, "dynamic-update-slice": 2}


def scalar_start_indices(opcode: str, operands: list[Instruction], added: list[Instruction]) -> list[Instruction]:
    """The operands with a vector of start indices replaced by its elements; the instructions for that are added.

    ``dynamic-slice(x, s32[2] starts)`` was the form until 2019.
    """
    first = _START_INDICES.get(opcode)
    if first is None or len(operands) != first + 1:
        return operands
    vector = operands[first]
    if vector.shape.is_tuple or vector.shape.rank != 1 or vector.shape.size > 64:
        return operands
    operands = operands[:first]
    for number in range(vector.shape.size):
        element = make_instruction("slice", (vector,), {"slice": ((number, number + 1, 1),)}, name=f"{vector.name}.slice")
        scalar = make_instruction("reshape", (element,), {}, Shape(vector.shape.element_type), f"{vector.name}.element")
        added += (element, scalar)
        operands.append(scalar)
    return operands
