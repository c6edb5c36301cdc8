"""What is computed of scalars alone comes first: loops need sizes before they begin."""

from __future__ import annotations

from ..hlo import PRED, S32, S64, Computation, Instruction, Shape
from ..hlo.operation import ELEMENTWISE
from .traversal import is_scalar_constant

_SCALARS = (Shape(S32), Shape(S64), Shape(PRED))


def scalars_first(computation: Computation) -> Computation:
    """The computation with what is computed of scalars alone as early as can be."""
    users: dict[Instruction, list[Instruction]] = {}
    missing: dict[Instruction, int] = {}
    for instruction in computation.instructions:
        if _is_scalar(instruction):
            operands = {operand for operand in instruction.operands if not is_scalar_constant(operand)}
            missing[instruction] = len(operands)
            for operand in operands:
                users.setdefault(operand, []).append(instruction)
    placed: dict[Instruction, None] = {}

    def place(instruction: Instruction) -> None:
        pending = [instruction]
        while pending:
            one = pending.pop()
            if one not in placed:
                placed.update(dict.fromkeys(filter(is_scalar_constant, one.operands)))
                placed[one] = None
                for user in users.get(one, ()):
                    missing[user] -= 1
                    if not missing[user]:
                        pending.append(user)

    for instruction in computation.instructions:
        place(instruction)
    return Computation(computation.name, tuple(placed), computation.root)


def _is_scalar(instruction: Instruction) -> bool:
    return instruction.shape in _SCALARS and ELEMENTWISE in instruction.operation.traits and bool(instruction.operands)
