"""Calls of ufuncs of libraries, by the loops that they run (see `phlox.runtime.ufunc_loops`): without Python."""

from __future__ import annotations

from llvmlite import ir

from ...hlo import Instruction
from ...hlo.ops.ufunc_calls import UfuncCall
from ...hlo.shape import leaves
from ...runtime.ufunc_loops import DATA, FUNCTION
from ..llvm.interruption import interruption_of
from ..llvm.loops import carried_loop
from ..llvm.memory import element_address, pointer_table, stack_memory
from ..llvm.module import declaration
from ..llvm.types import I8, I32, I64, POINTER
from .call.python_calls import LOOK_FOR_EXCEPTION
from .frame import Frame, Leaf, Values

# How many elements a loop is given at once: between them a program can be interrupted.
_BLOCK = 1 << 12
# What an element is taken to cost, in instructions.
_WORK = 100


def emit_ufunc_call(frame: Frame, instruction: Instruction, values: Values, call: UfuncCall) -> list[Leaf]:
    """The loop, called for all elements, a block at a time."""
    b, outputs = frame.builder, frame.outputs(instruction)
    operands = [frame.in_memory(values[operand][0], operand.shape) for operand in instruction.operands]
    arrays, count = [*operands, *outputs], leaves(instruction.shape)[0].size
    # A scalar is taken for each element.
    strides = [array.shape.element_type.byte_size if array.shape.rank else 0 for array in arrays]
    function = frame.module.native_function(f"{call.target}{FUNCTION}", ir.FunctionType(ir.VoidType(), [POINTER] * 4))
    data_at = frame.module.native_function(f"{call.target}{DATA}", ir.FunctionType(ir.VoidType(), []))
    look_for_exception = declaration(b.module, LOOK_FOR_EXCEPTION, I32, [])
    with b.goto_entry_block():
        size_at, strides_at = stack_memory(b, 8, 8), stack_memory(b, 8 * len(arrays), 8)
        for number, stride in enumerate(strides):
            b.store(I64(stride), element_address(b, strides_at, I64(number), I64))

    def run(start: ir.Value, _: list) -> tuple:
        left = b.sub(I64(count), start)
        b.store(b.select(b.icmp_signed("<", left, I64(_BLOCK)), left, I64(_BLOCK)), size_at)
        places = [element_address(b, array.pointer, b.mul(start, I64(stride)), I8) for array, stride in zip(arrays, strides)]
        b.call(function, [pointer_table(b, places), size_at, strides_at, b.load(data_at, typ=POINTER)])
        code = b.call(look_for_exception, [])
        with b.if_then(b.icmp_signed("!=", code, I32(0)), likely=False):
            frame.return_code(code)
        if (interruption := interruption_of(b)) is not None:
            interruption.add(_WORK * min(count, _BLOCK))
        return ()

    carried_loop(b, 0, count, _BLOCK, (), run, "blocks")
    return frame.loaded(outputs)
