"""Reduce-window, select-and-scatter, sort, top-k and scan: from the instruction and its operands to the region that runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llvmlite import ir

from ...compile.aliasing import Value
from ...compile.fused_computations import as_computation
from ...hlo import Instruction, leaves
from ..llvm.arrays import Array
from ..llvm.elemental import Binding
from .regions.scan import emit_scan
from .regions.sort import emit_sort
from .regions.top_k import emit_top_k
from .regions.window import ReduceWindow, emit_reduce_window, emit_select_and_scatter

if TYPE_CHECKING:
    from .module_emitter import Leaf, ModuleEmitter, Values


def reduce_window(emitter: ModuleEmitter, instruction: Instruction, values: Values) -> list[Leaf]:
    count = len(instruction.operands) // 2
    operands = [emitter._in_memory(values[operand][0], operand.shape) for operand in instruction.operands[:count]]
    init_values = [values[operand][0] for operand in instruction.operands[count:]]
    outputs = _outputs(emitter, instruction)
    window, to_apply = instruction.attributes["window"], instruction.attributes["to_apply"]

    def emit(builder: ir.IRBuilder, bindings: list[Binding]) -> None:
        reduction = ReduceWindow(bindings[:count], bindings[count : 2 * count], window, to_apply)
        emit_reduce_window(builder, emitter.target, reduction, bindings[2 * count :])

    emitter.regions.emit_region(emitter.builder, instruction, [*operands, *init_values, *outputs], emit)
    return _leaves(emitter, outputs)


def select_and_scatter(emitter: ModuleEmitter, instruction: Instruction, values: Values) -> list[Leaf]:
    operand, source, init_value = instruction.operands
    arrays = [emitter._in_memory(values[array][0], array.shape) for array in (operand, source)]
    outputs = _outputs(emitter, instruction)
    attributes = instruction.attributes
    computations = (attributes["select"], attributes["scatter"])

    def emit(builder: ir.IRBuilder, bindings: list[Binding]) -> None:
        emit_select_and_scatter(builder, emitter.target, attributes["window"], computations, *bindings)

    emitter.regions.emit_region(emitter.builder, instruction, [*arrays, values[init_value][0], *outputs], emit)
    return _leaves(emitter, outputs)


def sort(emitter: ModuleEmitter, instruction: Instruction, values: Values) -> list[Leaf]:
    operands = [values[operand][0] for operand in instruction.operands]
    outputs = _outputs(emitter, instruction)
    count = len(operands)
    buffer = emitter.assignment.scratch.get(instruction)
    scratch = [] if buffer is None else [emitter._buffer_pointer(buffer)]

    def emit(builder: ir.IRBuilder, bindings: list[Binding]) -> None:
        pointer = bindings[2 * count] if scratch else None
        emit_sort(builder, emitter.target, instruction, bindings[:count], bindings[count : 2 * count], pointer)

    emitter.regions.emit_region(emitter.builder, instruction, [*operands, *outputs, *scratch], emit)
    return _leaves(emitter, outputs)


def top_k(emitter: ModuleEmitter, instruction: Instruction, values: Values) -> list[Leaf]:
    outputs = _outputs(emitter, instruction)

    def emit(builder: ir.IRBuilder, bindings: list[Binding]) -> None:
        emit_top_k(builder, emitter.target, instruction, *bindings)

    operand = values[instruction.operands[0]][0]
    emitter.regions.emit_region(emitter.builder, instruction, [operand, *outputs], emit)
    return _leaves(emitter, outputs)


def scan(emitter: ModuleEmitter, instruction: Instruction, values: Values) -> list[Leaf]:
    """A scan, or a fusion that holds one."""
    computation = instruction.attributes["calls"] if instruction.opcode == "fusion" else as_computation(instruction)
    arguments, outputs = [values[operand][0] for operand in instruction.operands], _outputs(emitter, instruction)
    count = len(arguments)

    def emit(builder: ir.IRBuilder, bindings: list[Binding]) -> None:
        emit_scan(builder, emitter.target, computation, bindings[:count], bindings[count:])

    emitter.regions.emit_region(emitter.builder, instruction, [*arguments, *outputs], emit)
    return _leaves(emitter, outputs)


def _outputs(emitter: ModuleEmitter, instruction: Instruction) -> list[Array]:
    """Memory for the results; on the stack for scalars."""
    return [
        emitter._array(Value(instruction, leaf), shape) if shape.rank else emitter._scalar_slot(shape)
        for leaf, shape in enumerate(leaves(instruction.shape))
    ]


def _leaves(emitter: ModuleEmitter, outputs: list[Array]) -> list[Leaf]:
    return [output if output.shape.rank else output.load(emitter.builder, (), 1) for output in outputs]
