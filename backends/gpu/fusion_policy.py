"""What the GPU backends fuse."""

from __future__ import annotations

from ...compile.fusion_policy import FusionPolicy, is_fusible
from ...hlo import Instruction
from ..cpu.fusion_policy import FUSION_POLICY as CPU_FUSION_POLICY


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

# What the CPU backend fuses, whose nests devices have that are processors.
PROCESSOR_FUSION_POLICY = CPU_FUSION_POLICY
