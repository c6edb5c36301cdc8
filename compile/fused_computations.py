"""Fused computations as loop nests see them: their results, their producers, and a single instruction as one of them."""

from __future__ import annotations

from ..hlo import Computation, Instruction, make_instruction


def result_roots(computation: Computation) -> tuple[Instruction, ...]:
    """The instructions whose values a fused computation returns."""
    return computation.root.operands if computation.root.opcode == "tuple" else (computation.root,)


def has_scan(computation: Computation) -> bool:
    """Whether a scan gives the loop nest its form."""
    return any(instruction.opcode == "scan" for instruction in computation.instructions)


def as_computation(instruction: Instruction) -> Computation:
    """One instruction as a computation of its own, its operands as parameters."""
    parameters = tuple(
        make_instruction("parameter", (), {"number": number}, operand.shape)
        for number, operand in enumerate(instruction.operands)
    )
    root = instruction.with_operands(parameters)
    return Computation(instruction.opcode, (*parameters, root), root)


class FusedOperands:
    """What a computation that is being fused reads, each once, and the parameters that stand for it there.

    >>> from phlox import hlo
    >>> x = hlo.make_instruction("parameter", (), {"number": 0}, hlo.Shape(hlo.F32, (3,)))
    >>> read = FusedOperands()
    >>> read.parameter_for(x) is read.parameter_for(x), read.operands == [x]
    (True, True)
    """

    def __init__(self) -> None:
        self._parameters: dict[Instruction, Instruction] = {}

    def parameter_for(self, operand: Instruction) -> Instruction:
        """The parameter that stands for it: the next one where there was none."""
        found = self._parameters.get(operand)
        if found is None:
            number = len(self._parameters)
            found = make_instruction("parameter", (), {"number": number}, operand.shape, name=f"p{number}")
            self._parameters[operand] = found
        return found

    @property
    def operands(self) -> list[Instruction]:
        return list(self._parameters)

    @property
    def parameters(self) -> list[Instruction]:
        return list(self._parameters.values())


def producers(computation: Computation, operands: tuple[Instruction, ...]) -> Computation:
    """The part of a computation that computes these operands of its root."""
    instructions = tuple(instruction for instruction in computation.instructions if instruction is not computation.root)
    if len(operands) == 1:
        return Computation(computation.name, instructions, operands[0])
    root = make_instruction("tuple", operands)
    return Computation(computation.name, (*instructions, root), root)
