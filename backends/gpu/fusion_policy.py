"""What the GPU backends fuse."""

from __future__ import annotations

from ...compile.fusion_policy import FusionPolicy, is_fusible
from ...hlo import Instruction
from .epilogue_form import PRODUCTS


def is_hero(instruction: Instruction) -> bool:
    return instruction.opcode == "reduce"


def may_stand_in(instruction: Instruction, root: Instruction) -> bool:
    return True


def shares_loops(result: Instruction) -> bool:
    """Not a reduction."""
    return not is_hero(result)


def has_epilogue(instruction: Instruction) -> bool:
    return instruction.opcode in PRODUCTS and not instruction.shape.is_tuple


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
    cost_of_loop=2e6,
    has_epilogue=has_epilogue,
)
