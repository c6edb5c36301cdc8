"""What the GPU backends fuse."""

from __future__ import annotations

from ...compile.fusion_policy import FusionPolicy, is_fusible
from ...hlo import Instruction
from ...hlo.slices import slice_dimensions
from ..cpu.fusion_policy import FUSION_POLICY as CPU_FUSION_POLICY
from .epilogue_form import PRODUCTS


def is_hero(instruction: Instruction) -> bool:
    return instruction.opcode == "reduce"


def gathers_rows(gather: Instruction) -> bool:
    """Whether a gather is of whole rows, which the last dimension of the result walks."""
    operand, starts = gather.operands
    numbers = slice_dimensions("gather", operand.shape.rank, starts.shape.rank, gather.attributes)
    walked = dict(zip(numbers.offset_dims, numbers.window_dims)).get(gather.shape.rank - 1)
    if walked is None or walked != operand.shape.rank - 1:
        return False
    return gather.attributes["slice_sizes"][walked] == operand.shape.dimensions[walked]


def may_stand_in(instruction: Instruction, root: Instruction) -> bool:
    return True


def shares_loops(result: Instruction) -> bool:
    """Not a reduction."""
    return not is_hero(result)


# What computing a place costs beside loading it, in threads that wait for what they load from there.
_WHILE_WAITING = 0.5
_VECTOR_BYTES = 16


def place_evaluations(gather: Instruction) -> float:
    """Once for each vector, where rows are gathered in vectors."""
    lanes = _VECTOR_BYTES // gather.shape.element_type.byte_size if gathers_rows(gather) else 1
    while lanes > 1 and gather.shape.dimensions[-1] % lanes:
        lanes //= 2
    return _WHILE_WAITING / max(1, lanes)


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
    place_evaluations=place_evaluations,
    cost_of_loop=2e6,
    has_epilogue=has_epilogue,
)

# What the CPU backend fuses, whose nests devices have that are processors.
PROCESSOR_FUSION_POLICY = CPU_FUSION_POLICY
