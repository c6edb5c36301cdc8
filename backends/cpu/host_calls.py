"""Calls of functions outside of the program: of those that evaluate an instruction in Python, and of native custom calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from llvmlite import ir

from ...compile.aliasing import Value
from ...hlo import TOKEN, Instruction, leaves
from ...hlo.shape import AnyShape
from ...runtime import find_target
from ...runtime.custom_calls import NativeTarget
from ..llvm.arrays import Array
from ..llvm.memory import stack_memory
from ..llvm.module import declaration
from ..llvm.types import I32, I64, POINTER, TOKEN_VALUE
from .call.python_calls import CALL_PYTHON

if TYPE_CHECKING:
    from .module_emitter import Leaf, ModuleEmitter, Values


def emit_host_call(emitter: ModuleEmitter, instruction: Instruction, values: Values) -> list[Leaf]:
    """Call the instruction's evaluation; its results lie in their planned buffers, scalars in registers."""
    if instruction.opcode == "custom-call":
        target = instruction.attributes["custom_call_target"]
        if isinstance(find_target(target), NativeTarget):
            return _emit_native_call(emitter, instruction, values, target)
    b = emitter.builder
    outputs = result_arrays(emitter, instruction)
    arrays = [*operand_arrays(emitter, instruction, values), *(output for output in outputs if output is not None)]
    table = native_table(emitter, [array.pointer for array in arrays])
    call_python = declaration(b.module, CALL_PYTHON, I32, [POINTER, POINTER])
    code = b.call(call_python, [emitter.host_object(instruction), table])
    with b.if_then(b.icmp_signed("!=", code, I32(0)), likely=False):
        emitter.return_code(code)
    return result_leaves(b, outputs)


def _emit_native_call(emitter: ModuleEmitter, instruction: Instruction, values: Values, target: str) -> list[Leaf]:
    """``void name(void* out, void** in)``, called as it is."""
    b = emitter.builder
    outputs = result_arrays(emitter, instruction)
    inputs = [_native_argument(emitter, operand.shape, iter(values[operand])) for operand in instruction.operands]
    out = _native_argument(emitter, instruction.shape, iter(outputs))
    function = emitter.host_function(target, ir.FunctionType(ir.VoidType(), [POINTER, POINTER]))
    b.call(function, [out, native_table(emitter, inputs)])
    return result_leaves(b, outputs)


def _native_argument(emitter: ModuleEmitter, shape: AnyShape, held: Iterator[Leaf | None]) -> ir.Value:
    """The address of a value's data, or of a table of its elements' addresses; null for a token."""
    if shape.is_tuple:
        return native_table(emitter, [_native_argument(emitter, element, held) for element in shape.elements])
    value = next(held)
    return ir.Constant(POINTER, None) if shape.element_type is TOKEN else emitter._in_memory(value, shape).pointer


def native_table(emitter: ModuleEmitter, pointers: list[ir.Value]) -> ir.Value:
    """The address of a table of pointers on the stack."""
    b = emitter.builder
    with b.goto_entry_block():
        table = stack_memory(b, 8 * max(1, len(pointers)), 8)
    for number, pointer in enumerate(pointers):
        b.store(pointer, b.gep(table, [I64(number)], source_etype=POINTER))
    return table


def operand_arrays(emitter: ModuleEmitter, instruction: Instruction, values: Values) -> list[Array]:
    """The leaves of the operands in memory, scalars on the stack, without tokens."""
    return [
        emitter._in_memory(value, shape)
        for operand in instruction.operands
        for value, shape in zip(values[operand], leaves(operand.shape))
        if shape.element_type is not TOKEN
    ]


def result_arrays(emitter: ModuleEmitter, instruction: Instruction) -> list[Array | None]:
    """Memory for each leaf of the result: its planned buffer, for a scalar a place on the stack, none for a token."""
    return [
        None
        if shape.element_type is TOKEN
        else emitter._array(Value(instruction, leaf), shape)
        if shape.rank
        else emitter._scalar_slot(shape)
        for leaf, shape in enumerate(leaves(instruction.shape))
    ]


def result_leaves(builder: ir.IRBuilder, arrays: list[Array | None]) -> list[Leaf]:
    """What `result_arrays` hold after the call."""
    return [TOKEN_VALUE if array is None else array if array.shape.rank else array.load(builder, (), 1) for array in arrays]
