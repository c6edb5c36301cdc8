"""Dead code elimination: only what the result or an effect needs remains."""

from __future__ import annotations

from ..hlo import Computation, Instruction, Module
from ..hlo.operation import CALLS, EFFECTFUL
from .memo import Memo
from .pass_manager import module_pass
from .traversal import has_effects, transform_computations

_settled: Memo[Computation, bool] = Memo()


@module_pass("dce")
def eliminate_dead_code(module: Module) -> Module:
    """Removes instructions on which neither the root nor an effect depends; parameters stay."""
    return transform_computations(module, without_dead_code, settled=_settled)


def without_dead_code(computation: Computation) -> Computation:
    """One computation without its dead instructions; the same object where there are none."""
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
