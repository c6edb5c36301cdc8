"""Call inlining: called computations become instructions of their caller."""

from __future__ import annotations

from collections.abc import Sequence

from ..hlo import Computation, Instruction, Module, Shape, make_instruction, rebuild
from ..hlo.operation import ELEMENTWISE
from .pass_manager import module_pass
from .traversal import has_effects, on_operands, transform_computations


def inlined(computation: Computation, arguments: Sequence[Instruction]) -> Instruction:
    """The computation's root, computed from these arguments by new instructions."""
    values: dict[Instruction, Instruction] = {}
    for instruction in computation.instructions:
        if instruction.opcode == "parameter":
            values[instruction] = arguments[instruction.attributes["number"]]
        else:
            values[instruction] = instruction.with_operands([values[operand] for operand in instruction.operands])
    return values[computation.root]


def inlined_elementwise(computation: Computation, arguments: Sequence[Instruction]) -> Instruction | None:
    """A computation on scalars, as instructions on whole arrays of one shape; None where not all of it is elementwise."""
    dimensions = arguments[0].shape.dimensions
    values: dict[Instruction, Instruction] = {}
    for instruction in computation.instructions:
        opcode = instruction.opcode
        if opcode == "parameter":
            values[instruction] = arguments[instruction.attributes["number"]]
            continue
        if instruction.shape.is_tuple or instruction.shape.rank != 0:
            return None
        shape = Shape(instruction.shape.element_type, dimensions)
        if opcode == "constant":
            constant = instruction.with_operands(())
            values[instruction] = make_instruction(
                "broadcast", (constant,), {"dimensions": ()}, shape, source=instruction.source
            )
        elif ELEMENTWISE in instruction.operation.traits:
            operands = [values[operand] for operand in instruction.operands]
            values[instruction] = make_instruction(opcode, operands, instruction.attributes, shape, source=instruction.source)
        else:
            return None
    return values[computation.root]


def _with_effects_inlined(computation: Computation) -> Computation:
    """The computation with the calls that have effects replaced by all of their instructions, in order.

    `inlined` keeps what the root needs alone, which may leave effects out.
    """
    values: dict[Instruction, Instruction] = {}
    instructions: list[Instruction] = []
    for instruction in computation.instructions:
        operands = tuple([values[operand] for operand in instruction.operands])
        if instruction.opcode != "call" or not has_effects(instruction):
            values[instruction] = on_operands(instruction, operands)
            instructions.append(values[instruction])
            continue
        callee, inner = instruction.attributes["to_apply"], {}
        for called in callee.instructions:
            if called.opcode == "parameter":
                inner[called] = operands[called.attributes["number"]]
            else:
                inner[called] = called.with_operands([inner[operand] for operand in called.operands])
                instructions.append(inner[called])
        values[instruction] = inner[callee.root]
    return Computation(computation.name, tuple(instructions), values[computation.root])


@module_pass("inline-calls")
def inline_calls(module: Module) -> Module:
    """Replaces call and fusion by the instructions of their computations, and map by those on whole arrays where its
    computation is elementwise.

    A fusion that the program brings along has been cut for another compiler.
    """
    return transform_computations(module, _inline)


def _inline(computation: Computation) -> Computation:
    if not any(instruction.opcode in ("call", "fusion", "map") for instruction in computation.instructions):
        return computation
    if any(instruction.opcode == "call" and has_effects(instruction) for instruction in computation.instructions):
        computation = _with_effects_inlined(computation)

    def transform(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        opcode = instruction.opcode
        if opcode == "call":
            return inlined(instruction.attributes["to_apply"], operands)
        if opcode == "fusion":
            return inlined(_inline(instruction.attributes["calls"]), operands)
        if opcode == "map":
            result = inlined_elementwise(instruction.attributes["to_apply"], operands)
            if result is not None:
                return result
        return on_operands(instruction, operands)

    return rebuild(computation, transform)
