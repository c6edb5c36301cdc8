"""Operations that native code hands back to Python: those that depend on what is outside of the program.

The code calls a Python object with the address of a table of pointers, first to the operands' arrays, then to the results'. An
exception stays set in the thread and ends the kernel, and whoever called that raises it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir

from ...compile.aliasing import Value
from ...hlo import TOKEN, Evaluator, Instruction, Shape, array_leaves, leaves
from ...hlo.evaluation import evaluate_instruction
from ...hlo.shape import AnyShape
from ...runtime import current_environment, find_target
from ...runtime.custom_calls import NativeTarget
from ..arguments import flatten, pack
from ..llvm.arrays import Array
from ..llvm.memory import stack_memory
from ..llvm.module import declaration
from ..llvm.types import I32, I64, POINTER, TOKEN_VALUE
from .call.python_calls import CALL_PYTHON

if TYPE_CHECKING:
    from .module_emitter import Leaf, ModuleEmitter, Values


class HostCall:
    """A Python function that evaluates one instruction, of the address of a table.

    The evaluation gets copies of the operands, so it may keep them.
    """

    def __init__(self, instruction: Instruction) -> None:
        self._instruction = instruction
        self._operands = [operand.shape for operand in instruction.operands]
        self._arrays = [shape for operand in self._operands for shape in array_leaves(operand)]
        self._results = array_leaves(instruction.shape)
        self._table_type = ctypes.c_void_p * (len(self._arrays) + len(self._results))

    @property
    def address(self) -> int:
        """The address of the object."""
        return id(self)

    def __call__(self, table: int) -> None:
        pointers = list(self._table_type.from_address(table))
        count = len(self._arrays)
        arrays = (np.array(_view(p, shape))[()] for p, shape in zip(pointers[:count], self._arrays))
        operands = tuple([pack(shape, arrays) for shape in self._operands])
        evaluator = Evaluator(environment=current_environment())
        with np.errstate(all="ignore"):
            value = evaluate_instruction(self._instruction, operands, evaluator)
        for pointer, shape, result in zip(pointers[count:], self._results, flatten(value), strict=True):
            self._store(_view(pointer, shape), result)

    def _store(self, target: np.ndarray, result: Any) -> None:
        array = np.asarray(result)
        if array.shape != target.shape or array.dtype != target.dtype:
            required = f"{target.dtype} of shape {target.shape}"
            raise TypeError(f"{self._instruction.opcode}: {required} is required, got {array.dtype} of shape {array.shape}")
        target[...] = array


def emit_host_call(emitter: ModuleEmitter, instruction: Instruction, values: Values) -> list[Leaf]:
    """Call the instruction's evaluation; its results lie in their planned buffers, scalars in registers."""
    if instruction.opcode == "custom-call":
        target = find_target(instruction.attributes["custom_call_target"])
        if isinstance(target, NativeTarget):
            return _emit_native_call(emitter, instruction, values, target)
    b = emitter.builder
    outputs = result_arrays(emitter, instruction)
    arrays = [*operand_arrays(emitter, instruction, values), *(output for output in outputs if output is not None)]
    table = native_table(emitter, [array.pointer for array in arrays])
    call_python = declaration(b.module, CALL_PYTHON, I32, [POINTER, POINTER])
    code = b.call(call_python, [emitter.host_object(HostCall(instruction)), table])
    with b.if_then(b.icmp_signed("!=", code, I32(0)), likely=False):
        emitter.return_code(code)
    return result_leaves(b, outputs)


def _emit_native_call(emitter: ModuleEmitter, instruction: Instruction, values: Values, target: NativeTarget) -> list[Leaf]:
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


def _view(pointer: int, shape: Shape) -> np.ndarray:
    """The array at this address, in the shape's layout."""
    if shape.size == 0:
        return np.empty(shape.dimensions, shape.dtype)
    memory = (ctypes.c_uint8 * shape.byte_size).from_address(pointer)
    major_to_minor = shape.minor_to_major[::-1]
    sizes = [shape.dimensions[dimension] for dimension in major_to_minor]
    array = np.frombuffer(memory, np.uint8).view(shape.dtype).reshape(sizes)
    return array.transpose([major_to_minor.index(dimension) for dimension in range(shape.rank)])
