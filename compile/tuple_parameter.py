"""Computations with one parameter, a tuple: bodies of loops and branches, with fewer of its elements."""

from __future__ import annotations

from ..hlo import Computation, Instruction, TupleShape, make_instruction
from .traversal import has_effects, on_operands


def on_smaller_tuple(computation: Computation, shape: TupleShape, position: dict[int, int], root: Instruction) -> Computation:
    """The computation with this root and a parameter of fewer elements, without what neither the root nor an effect needs.

    ``position`` maps the elements that the root needs to their places in the new parameter, of this shape.
    """
    old = computation.parameters[0]
    parameter = make_instruction("parameter", (), {"number": 0}, shape, name=old.name, source=old.source)
    values: dict[Instruction, Instruction] = {}

    def value_of(instruction: Instruction) -> Instruction:
        opcode = instruction.opcode
        if opcode == "get-tuple-element" and instruction.operands[0] is old:
            attributes = {"index": position[instruction.attributes["index"]]}
            return make_instruction(
                "get-tuple-element", (parameter,), attributes, name=instruction.name, source=instruction.source
            )
        return on_operands(instruction, tuple(values[operand] for operand in instruction.operands))

    live = needed_instructions(computation, root)
    instructions = [instruction for instruction in computation.instructions if instruction in live and instruction is not old]
    if root not in live or root not in set(computation.instructions):
        instructions.append(root)
    for instruction in instructions:
        values[instruction] = value_of(instruction)
    return Computation(computation.name, (parameter, *values.values()), values[root])


def needed_instructions(computation: Computation, root: Instruction) -> set[Instruction]:
    """What the root, which need not stand in the computation, and the effects depend on, and the root itself."""
    live = {root, *root.operands}
    for instruction in reversed(computation.instructions):
        if instruction in live or has_effects(instruction):
            live.add(instruction)
            live.update(instruction.operands)
    return live
