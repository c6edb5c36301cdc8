"""How many rounds the loops of a program have at most, where that follows from how they count.

What is known of registers while code is emitted (`llvm.known_ranges`) is found here before, of what stands for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from ...compile.aliasing import invariant_leaves
from ...hlo import Computation, Instruction, leaves
from ...hlo.operation import DATA_MOVEMENT, RENAMES
from ..llvm.known_ranges import known_rounds, note_result
from ..llvm.types import I64

# Computations that many loops share are gone through for each of them.
_MOST_INSTRUCTIONS = 50_000


class _Register:
    """Stands for one that holds anything but for what is noted of it."""


_ANYTHING = _Register()


def most_rounds(entry: Computation) -> dict[Instruction, int]:
    """The loops of which a bound is known, each with it."""
    walk = _Walk()
    try:
        walk.results(entry, [[_ANYTHING] * len(leaves(parameter.shape)) for parameter in entry.parameters])
    except _TooLongError:
        return {}
    return {loop: most for loop, most in walk.found.items() if most is not None}


class _TooLongError(Exception):
    pass


class _Walk:
    def __init__(self) -> None:
        self.found: dict[Instruction, int | None] = {}
        self._left = _MOST_INSTRUCTIONS

    def results(self, computation: Computation, arguments: Sequence[list[Any]]) -> list[Any]:
        """The leaves of what a computation makes of arguments, each of them a list of leaves."""
        self._left -= len(computation.instructions)
        if self._left < 0:
            raise _TooLongError
        values: dict[Instruction, list[Any]] = {}
        for instruction in computation.instructions:
            if instruction.opcode == "parameter":
                values[instruction] = arguments[instruction.attributes["number"]]
            else:
                values[instruction] = self._leaves(instruction, [values[operand] for operand in instruction.operands])
        return values[computation.root]

    def _leaves(self, instruction: Instruction, operands: list[list[Any]]) -> list[Any]:
        shape = instruction.shape
        match instruction.opcode:
            case "tuple":
                return [leaf for operand in operands for leaf in operand]
            case "get-tuple-element":
                offsets, index = instruction.operands[0].shape.leaf_offsets, instruction.attributes["index"]
                return operands[0][offsets[index] : offsets[index + 1]]
            case "while":
                return self._while(instruction, operands[0])
            case "conditional":
                for branch, operand in zip(instruction.called_computations, operands[1:]):
                    self.results(branch, [operand])
            case "call":
                return self.results(instruction.called_computations[0], operands)
            case "fusion" if any(_is_number(leaf) for leaf in leaves(shape)):
                return self.results(instruction.attributes["calls"], operands)
        if not _is_number(shape):
            return [_ANYTHING] * len(leaves(shape))
        if instruction.opcode == "constant":
            return [ir.Constant(I64, int(instruction.attributes["literal"]))]
        if _is_the_operand(instruction) and instruction.operands[0].shape == shape:
            return operands[0]
        found = _Register()
        note_result(instruction, [operand[0] for operand in operands], found)
        return [found]

    def _while(self, loop: Instruction, initial: list[Any]) -> list[Any]:
        rounds, invariant = known_rounds(loop, initial), invariant_leaves(loop)
        most = None if rounds is None else rounds.most
        known = self.found.get(loop, 0)
        self.found[loop] = None if most is None or known is None else max(known, most)
        state = [one if leaf in invariant else _Register() for leaf, one in enumerate(initial)]
        after = list(state)
        if rounds is not None and rounds.index not in invariant:
            state[rounds.index] = _Register()
            rounds.note(state[rounds.index])
        self.results(loop.attributes["body"], [state])
        return after


def _is_the_operand(instruction: Instruction) -> bool:
    """Whether the result, a number, is what the only operand is if that is one."""
    moves = instruction.opcode == "copy" or not instruction.operation.traits.isdisjoint({DATA_MOVEMENT, RENAMES})
    return moves and len(instruction.operands) == 1


def _is_number(shape: Any) -> bool:
    return not shape.is_tuple and not shape.rank and shape.element_type.is_integer
