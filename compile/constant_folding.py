"""Constant folding: what depends on small constants alone is computed now, by the operations' own evaluation."""

from __future__ import annotations

import numpy as np

from ..hlo import Computation, Evaluator, Instruction, make_instruction, rebuild
from ..hlo.evaluation import evaluate_instruction
from .pass_manager import module_pass
from .traversal import of_each_computation, on_operands

LARGEST_FOLDED = 1024  # elements, of the operands together and of the result


@module_pass("fold-constants")
@of_each_computation()
def fold_constants(computation: Computation) -> Computation:
    """Replaces operations on constants by their results, where both are small and the result is no larger than the operands.

    So a broadcast of a constant and an iota stay what they are.
    """

    def transform(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        current = on_operands(instruction, operands)
        if not operands:
            return current
        for operand in operands:
            if operand.opcode != "constant":
                return current
        return _folded(current) or current

    return rebuild(computation, transform)


def _folded(instruction: Instruction) -> Instruction | None:
    if not instruction.operation.is_foldable or instruction.shape.is_tuple:
        return None
    size = sum(operand.shape.size for operand in instruction.operands if not operand.shape.is_tuple)
    if instruction.opcode != "reshape" and (size > LARGEST_FOLDED or instruction.shape.size > size):
        return None
    literals = tuple(operand.attributes["literal"] for operand in instruction.operands)
    with np.errstate(all="ignore"):
        value = evaluate_instruction(instruction, literals, Evaluator())
    return make_instruction("constant", (), {"literal": value}, name=instruction.name, source=instruction.source)
