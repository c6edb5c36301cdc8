"""Loops that are the same but for their sizes."""

from __future__ import annotations

from ...compile.fused_computations import result_roots
from ...hlo import Computation, Instruction, make_instruction
from ...hlo.operation import ELEMENTWISE

_SIZE = 1 << 20


def of_any_size(computation: Computation) -> Computation | None:
    """The same loop over arrays of a size that says nothing, of one dimension; None where its code depends on the size.

    >>> from phlox import hlo
    >>> def loop(*sizes):
    ...     x = hlo.make_instruction("parameter", (), {"number": 0}, hlo.Shape(hlo.F32, sizes))
    ...     root = hlo.exponential(x)
    ...     return Computation("loop", (x, root), root)
    >>> [str(of_any_size(loop(*sizes)).root.shape) for sizes in ((3,), (4, 5))]
    ['f32[1048576]', 'f32[1048576]']
    """
    result = result_roots(computation)[0].shape
    if result.is_tuple:
        return None
    sizes = result.dimensions
    made: dict[Instruction, Instruction] = {}
    for instruction in computation.instructions:
        operands = tuple([made[operand] for operand in instruction.operands])
        if instruction.opcode == "tuple":
            made[instruction] = make_instruction("tuple", operands)
            continue
        shape = instruction.shape
        if shape.is_tuple or shape.rank and (shape.dimensions != sizes or not _is_the_same_anywhere(instruction)):
            return None
        shape = shape.with_dimensions((_SIZE,)) if shape.rank else shape
        attributes = dict(instruction.attributes)
        made[instruction] = Instruction(instruction.operation, operands, attributes, shape, instruction.name)
    root = made[computation.root]
    return Computation(computation.name, tuple(made.values()), root)


def _is_the_same_anywhere(instruction: Instruction) -> bool:
    """Whether each element is computed alike, from elements at the same place or scalars."""
    if instruction.opcode == "broadcast":
        return not instruction.operands[0].shape.rank
    return instruction.opcode == "parameter" or ELEMENTWISE in instruction.operation.traits
