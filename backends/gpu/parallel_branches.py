"""Of two branches that come to the same, the one whose work threads share.

Before: ``conditional(custom-call(p), ...)``, the custom-call to `phlox.unless_in_steps`.
After: ``conditional(true, ...)``.
"""

from __future__ import annotations

import numpy as np

from ...compile.pass_manager import Pass
from ...compile.traversal import of_each_computation, on_operands
from ...hlo import Computation, Instruction, make_instruction, rebuild
from ...hlo.ops.known_calls import PREFERENCE


@of_each_computation()
def choose_parallel_branches(computation: Computation) -> Computation:
    """Makes predicates true whose other branch would take many steps one after the other, to the same result."""

    def chosen(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        if instruction.opcode == "custom-call" and instruction.attributes["custom_call_target"] == PREFERENCE:
            return make_instruction("constant", (), {"literal": np.asarray(True)}, instruction.shape)
        return on_operands(instruction, operands)

    return rebuild(computation, chosen)


CHOOSE_PARALLEL_BRANCHES = Pass("choose-parallel-branches", choose_parallel_branches)
