"""What the GPU backends fuse."""

from __future__ import annotations

from ...compile.fusion_policy import FusionPolicy, is_degenerate_reshape
from ...hlo import Instruction
from ...hlo.operation import DATA_MOVEMENT, ELEMENTWISE


def is_fusible(instruction: Instruction) -> bool:
    """Whether the elemental emitter finds the elements of an array from their indices alone."""
    shape = instruction.shape
    if shape.is_tuple or not shape.dimensions or shape.dynamic_dimensions:
        return False
    if ELEMENTWISE in instruction.operation.traits:
        return True
    opcode = instruction.opcode
    if opcode == "reshape":  # any other is free as a second name of a buffer
        return is_degenerate_reshape(instruction)
    if opcode == "bitcast-convert":
        return instruction.operands[0].shape.dimensions == shape.dimensions
    return DATA_MOVEMENT in instruction.operation.traits and instruction.operation.updated_operand is None


def is_hero(instruction: Instruction) -> bool:
    return instruction.opcode == "reduce"


def may_stand_in(instruction: Instruction, root: Instruction) -> bool:
    return True


def shares_loops(result: Instruction) -> bool:
    """Not a reduction."""
    return not is_hero(result)


FUSION_POLICY = FusionPolicy(
    is_fusible,
    is_hero,
    may_stand_in,
    shares_loops,
    recomputation_budget=40.0,
    maximum_paths=8,
    maximum_instructions=200,
    maximum_instructions_of_scan=0,
    maximum_cost_in_scan=0.0,
    maximum_cost_in_scatter=lambda scatter: 0.0,
    maximum_operands_and_results=32,
)
