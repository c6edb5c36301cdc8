"""Dead code elimination: only what the result or an effect needs remains."""

from __future__ import annotations

from ..hlo import Computation, Instruction
from ..hlo.operation import CALLS, EFFECTFUL
from .pass_manager import module_pass
from .traversal import has_effects, of_each_computation


@module_pass("dce")
@of_each_computation()
def eliminate_dead_code(computation: Computation) -> Computation:
    """Removes instructions on which neither the root nor an effect depends; parameters stay."""
    live: set[Instruction] = {computation.root}
    for instruction in reversed(computation.instructions):
        if instruction in live:
            live.update(instruction.operands)
            continue
        traits = instruction.operation.traits
        if CALLS in traits or EFFECTFUL in traits:
            if has_effects(instruction):
                live.add(instruction)
                live.update(instruction.operands)
        elif instruction.opcode == "parameter":
            live.add(instruction)
    if len(live) == len(computation.instructions):
        return computation
    kept = tuple(instruction for instruction in computation.instructions if instruction in live)
    return Computation(computation.name, kept, computation.root)
