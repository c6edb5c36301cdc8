"""Instructions outside of their program, as HLO text: what has to be evaluated where the program runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..hlo import Computation, Instruction, Module, TupleShape, make_instruction, parse_module, rebuild
from ..hlo.instruction import SourceLocation
from ..hlo.ops.collective_handles import visible_start
from ..hlo.shape import AnyShape


def instructions_text(instructions: Iterable[Instruction]) -> str:
    """HLO text of a module whose root is the tuple of these instructions. Their operands are parameters.

    The operand of a done is its start where the program shows which that is: what the done waits for depends on it. Which lines
    of the user they come from is not in the text.
    """
    parameters: dict[Instruction, Instruction] = {}
    alone: dict[Instruction, Instruction] = {}

    def operand_of(instruction: Instruction, operand: Instruction) -> Instruction:
        start = visible_start(instruction) if instruction.opcode.endswith("-done") else None
        if start in alone and start.shape == operand.shape:
            return alone[start]
        if operand not in parameters:
            number = {"number": len(parameters)}
            parameters[operand] = make_instruction("parameter", (), number, _with_spelling(operand.shape), operand.name)
        return parameters[operand]

    for instruction in instructions:
        operands = [operand_of(instruction, operand) for operand in instruction.operands]
        own = {}
        if instruction.opcode == "async-start":  # in HLO text none shares its computation with another
            own["calls"] = rebuild(instruction.attributes["calls"], Instruction.with_operands)
        attributes, shape = {**instruction.attributes, **own}, _with_spelling(instruction.shape)
        about = instruction.name, instruction.source, instruction.annotations
        alone[instruction] = Instruction(instruction.operation, tuple(operands), attributes, shape, *about)
    root = make_instruction("tuple", alone.values())
    entry = Computation("host_calls", (*parameters.values(), *alone.values(), root), root)
    return Module("host_calls", entry).as_text()


def _with_spelling(shape: AnyShape) -> AnyShape:
    """The shape, without the padding that HLO text does not spell; arrays lie without it."""
    if shape.is_tuple:
        return TupleShape(tuple(map(_with_spelling, shape.elements)))
    if shape.layout is None or not shape.layout.padded_dimensions:
        return shape
    return replace(shape, layout=replace(shape.layout, padded_dimensions=()))


def instructions_of(text: str, sources: Sequence[SourceLocation | None]) -> tuple[Instruction, ...]:
    """The instructions of such a text, in their order, from these lines."""
    entry = parse_module(text).entry
    lines = dict(zip(entry.root.operands, sources, strict=True))

    def at_its_line(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        moved = instruction.with_operands(operands)
        moved.source = lines.get(instruction, instruction.source)
        return moved

    return rebuild(entry, at_its_line).root.operands
