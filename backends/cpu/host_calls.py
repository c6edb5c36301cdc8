"""Calls of functions outside of the program: of those that evaluate an instruction in Python, and of native custom calls."""

from __future__ import annotations

from collections.abc import Iterator

from llvmlite import ir

from ...hlo import TOKEN, Instruction
from ...hlo.ops.known_calls import ALLOCATE, COMPRESS
from ...hlo.ops.random_calls import draw_of
from ...hlo.ops.ufunc_calls import ufunc_call_of
from ...hlo.shape import AnyShape
from ...runtime import find_target
from ...runtime.clocks import clock_number
from ...runtime.custom_calls import NativeTarget
from ..llvm.arrays import Array
from ..llvm.memory import pointer_table
from ..llvm.module import declaration
from ..llvm.types import I32, POINTER
from .call.python_calls import CALL_PYTHON
from .clocks import emit_now
from .emitter_table import emits_host_calls
from .frame import Frame, Leaf, Values
from .linear_algebra import emit_loop_call, is_empty, loop_call, scratch_bytes
from .random_draws import draw_bytes, emit_draw
from .regions.compaction import compaction
from .regions.small_solve import is_small, rows_bytes, small_solve
from .ufunc_loops import emit_ufunc_call


def _scratch_bytes(instruction: Instruction) -> int:
    return rows_bytes(instruction) or draw_bytes(instruction) or scratch_bytes(instruction)


@emits_host_calls(custom_call=_scratch_bytes)
def emit_host_call(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    """Call the instruction's evaluation; its results lie in their planned buffers, scalars in registers."""
    if instruction.opcode == "custom-call":
        target = instruction.attributes["custom_call_target"]
        if target == ALLOCATE:
            return frame.loaded(frame.outputs(instruction))
        if target == COMPRESS:
            return compaction(frame, instruction, values)
        if (clock := clock_number(target)) is not None:
            return [emit_now(frame.builder, clock)]
        if (draw := draw_of(target)) is not None:
            return emit_draw(frame, instruction, values, draw)
        if (ufunc_call := ufunc_call_of(target)) is not None:
            return emit_ufunc_call(frame, instruction, values, ufunc_call)
        if isinstance(find_target(target), NativeTarget):
            return _emit_native_call(frame, instruction, values, target)
    outputs = frame.outputs(instruction)
    operands = frame.operand_arrays(instruction, values)
    if instruction.opcode == "custom-call" and is_small(instruction):
        is_doubtful = small_solve(frame, instruction, operands, outputs)
        with frame.builder.if_then(is_doubtful, likely=False):
            _call_numpy(frame, instruction, operands, outputs)
    else:
        _call_numpy(frame, instruction, operands, outputs)
    return frame.loaded(outputs)


def _call_numpy(frame: Frame, instruction: Instruction, operands: list[Array], outputs: list[Array | None]) -> None:
    call = loop_call(instruction) if instruction.opcode == "custom-call" else None
    if call is None:
        _call_python(frame, instruction, operands, outputs)
    elif not call.sizes:
        emit_loop_call(frame, call, operands, outputs, frame.scratch(instruction))
    else:
        with frame.builder.if_else(is_empty(frame, call, operands), likely=False) as (nothing, something):
            with nothing:
                _call_python(frame, instruction, operands, outputs)
            with something:
                emit_loop_call(frame, call, operands, outputs, frame.scratch(instruction))


def _call_python(frame: Frame, instruction: Instruction, operands: list[Array], outputs: list[Array | None]) -> None:
    b = frame.builder
    arrays = [*operands, *(output for output in outputs if output is not None)]
    table = pointer_table(b, [array.pointer for array in arrays])
    call_python = declaration(b.module, CALL_PYTHON, I32, [POINTER, POINTER])
    code = b.call(call_python, [frame.module.host_object(instruction), table])
    with b.if_then(b.icmp_signed("!=", code, I32(0)), likely=False):
        frame.return_code(code)


def _emit_native_call(frame: Frame, instruction: Instruction, values: Values, target: str) -> list[Leaf]:
    """``void name(void* out, void** in)``, called as it is."""
    b = frame.builder
    outputs = frame.outputs(instruction)
    inputs = [_native_argument(frame, operand.shape, iter(values[operand])) for operand in instruction.operands]
    out = _native_argument(frame, instruction.shape, iter(outputs))
    function = frame.module.native_function(target, ir.FunctionType(ir.VoidType(), [POINTER, POINTER]))
    b.call(function, [out, pointer_table(b, inputs)])
    return frame.loaded(outputs)


def _native_argument(frame: Frame, shape: AnyShape, held: Iterator[Leaf | None]) -> ir.Value:
    """The address of a value's data, or of a table of its elements' addresses; null for a token."""
    if shape.is_tuple:
        return pointer_table(frame.builder, [_native_argument(frame, element, held) for element in shape.elements])
    value = next(held)
    return ir.Constant(POINTER, None) if shape.element_type is TOKEN else frame.in_memory(value, shape).pointer
