"""Scatter in the module's function: where its results lie, and what they hold before the updates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...compile.aliasing import Value
from ...hlo import Instruction, leaves
from ..llvm.arrays import Array

if TYPE_CHECKING:
    from .module_emitter import Leaf, ModuleEmitter, Values


def scatter(emitter: ModuleEmitter, instruction: Instruction, values: Values) -> list[Leaf]:
    """Update the operands' own memory, or copies where they are needed afterwards; scalars by way of the stack."""
    count = len(leaves(instruction.shape))
    operands, indices, updates = instruction.operands[:count], instruction.operands[count], instruction.operands[count + 1 :]
    outputs = [_output(emitter, instruction, leaf, operand, values) for leaf, operand in enumerate(operands)]
    arrays = [emitter._in_memory(values[operand][0], operand.shape) for operand in (indices, *updates)]
    emitter.regions.emit_scatter(emitter.builder, instruction, arrays[0], arrays[1:], outputs)
    return [output if output.shape.rank else output.load(emitter.builder, (), 1) for output in outputs]


def _output(emitter: ModuleEmitter, instruction: Instruction, leaf: int, operand: Instruction, values: Values) -> Array:
    """The memory of a result, holding the operand."""
    source = values[operand][0]
    if not operand.shape.rank:
        return emitter._in_memory(source, operand.shape)
    output = emitter._array(Value(instruction, leaf), operand.shape)
    if emitter.assignment.of(Value(operand)) is not emitter.assignment.of(Value(instruction, leaf)):
        emitter._copy(output.pointer, source.pointer, operand.shape.byte_size)
    return output
