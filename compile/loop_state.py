"""The state of while loops: what is an element of it, and loops that carry more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..hlo import Computation, Instruction, TupleShape, make_instruction, rebuild
from .traversal import on_operands

# What stands for an instruction of the body, given the new element of the state and the instruction's operands.
Replacement = Callable[[Instruction, tuple[Instruction, ...]], Instruction]


def is_state(instruction: Instruction) -> bool:
    """Whether this is an element of the state, in a body or a condition."""
    return instruction.opcode == "get-tuple-element" and instruction.operands[0].opcode == "parameter"


def with_more_state(
    loop: Instruction, values: Sequence[Instruction], replaced: Mapping[Instruction, Replacement]
) -> Instruction:
    """The loop with these values as further elements of its state, which never change.

    Each of them is for one of the ``replaced`` instructions of the body, in order. The result has the elements of before.
    """
    init = loop.operands[0]
    count = len(init.operands)
    shape = TupleShape((*init.shape.elements, *(value.shape for value in values)))
    new_init = make_instruction("tuple", (*init.operands, *values), source=loop.source)

    def extended(computation: Computation, replaced: Mapping[Instruction, Replacement], grow_root: bool) -> Computation:
        old = computation.parameters[0]
        parameter = make_instruction("parameter", (), {"number": 0}, shape, name=old.name, source=old.source)
        elements = {
            instruction: make_instruction(
                "get-tuple-element", (parameter,), {"index": count + offset}, name=instruction.name, source=instruction.source
            )
            for offset, instruction in enumerate(replaced)
        }

        def transform(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
            if instruction is old:
                return parameter
            if instruction in replaced:
                return replaced[instruction](elements[instruction], operands)
            if grow_root and instruction is computation.root:
                return make_instruction("tuple", (*operands, *elements.values()), source=instruction.source)
            return on_operands(instruction, operands)

        return rebuild(computation, transform)

    attributes = {
        "condition": extended(loop.attributes["condition"], {}, False),
        "body": extended(loop.attributes["body"], replaced, True),
    }
    whole = make_instruction("while", (new_init,), attributes, name=loop.name, source=loop.source, annotations=loop.annotations)
    # The users of the loop know its first elements only.
    parts = [make_instruction("get-tuple-element", (whole,), {"index": index}, source=loop.source) for index in range(count)]
    return make_instruction("tuple", parts, source=loop.source)
