"""What the CPU backend fuses."""

from __future__ import annotations

from ...compile.fusion_policy import FusionPolicy, is_fusible
from ...compile.spread_update import writes_with_steps
from ...hlo import Instruction
from .regions import scan, scatter
from .regions.scatter_tables import table_bytes

# The nest of a scan holds its elements' code once for each lane, or computes them one by one.
_MAXIMUM_COST_IN_SCAN = 10.0
# What computes an element of a scatter's operands, in one thread: less than to write and to read a vector of them; in all of
# them, where the scatter is divided.
_MAXIMUM_COST_IN_SCATTER, _MAXIMUM_COST_IN_DIVIDED_SCATTER = 5.0, 200.0

# So many writes with steps, as by ``x[::3] = y``, one over the other, stand in the nest of something else.
_MOST_WRITES_WITH_STEPS = 2


def is_hero(instruction: Instruction) -> bool:
    if instruction.opcode == "scatter":
        return scatter.may_hold_producers(instruction)
    return instruction.opcode == "reduce" or instruction.opcode == "scan" and scan.is_native(instruction)


def may_stand_in(instruction: Instruction, root: Instruction) -> bool:
    """Anything but what a nest would compute much slower than one of its own.

    The nest of a scan turns tiles where the scanned dimension, or the operand's last, becomes the last. That of a transposition
    gathers elements, and of those of a concatenate it would have to ask in which operand each is. Of writes with steps, one
    over the other, a nest asks of each element where it stands between the steps of each; alone they touch what they write.
    """
    if _writes_over_others(instruction):
        return False
    if root.opcode == "transpose":
        return instruction.opcode != "concatenate"
    if root.opcode != "scan":
        return True
    if instruction.opcode == "transpose":
        last = instruction.shape.rank - 1
        across = instruction.attributes["dimensions"].index(last)
        return across == last or root.attributes["dimensions"][0] in (across, last)
    return instruction.operation.cost <= _MAXIMUM_COST_IN_SCAN


def _writes_over_others(instruction: Instruction) -> bool:
    """Whether an array is written with steps so often that the last write is better a nest of its own."""
    for _ in range(_MOST_WRITES_WITH_STEPS):
        if not writes_with_steps(instruction):
            return False
        instruction = instruction.operands[2]
    return writes_with_steps(instruction)


def shares_loops(result: Instruction) -> bool:
    """Not a concatenate, each operand of which is best copied by loops of its own, a reduction or scan, or a write of many."""
    return result.opcode != "concatenate" and not is_hero(result) and not _writes_over_others(result)


def maximum_cost_in_scatter(instruction: Instruction) -> float:
    return _MAXIMUM_COST_IN_DIVIDED_SCATTER if table_bytes(instruction) else _MAXIMUM_COST_IN_SCATTER


FUSION_POLICY = FusionPolicy(
    is_fusible,
    is_hero,
    may_stand_in,
    shares_loops,
    recomputation_budget=8.0,
    maximum_paths=8,
    maximum_instructions=200,
    maximum_instructions_of_scan=16,
    maximum_cost_in_scan=_MAXIMUM_COST_IN_SCAN,
    maximum_cost_in_scatter=maximum_cost_in_scatter,
    maximum_operands_and_results=24,
    writes_parts=True,
)
