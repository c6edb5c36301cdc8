"""Calls of ufuncs of libraries, by the loops that they run (see `phlox.runtime.ufunc_loops`): without Python."""

from __future__ import annotations

from llvmlite import ir

from ...hlo import Instruction
from ...hlo.ops.ufunc_calls import UfuncCall
from ...hlo.shape import leaves
from ...runtime.ufunc_loops import DATA, FUNCTION
from ..llvm.interruption import interruption_of
from ..llvm.loops import carried_loop
from ..llvm.memory import element_address, stack_memory
from ..llvm.module import declaration
from ..llvm.types import I32, I64, POINTER
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
    (count, *_) = [shape.size for shape in leaves(instruction.shape)]
    widths = [kind.byte_size for kind in (*call.takes, *call.gives)]
    arrays = [*operands, *outputs]
    # A scalar is taken for each element.
    strides = [width if array.shape.rank or count == 1 else 0 for width, array in zip(widths, arrays)]
    function = frame.module.native_function(f"{call.target}{FUNCTION}", ir.FunctionType(ir.VoidType(), [POINTER] * 4))
    slot = frame.module.native_function(f"{call.target}{DATA}", ir.FunctionType(ir.VoidType(), []))
    with b.goto_entry_block():
        table = stack_memory(b, 8 * (2 * len(arrays) + 1), 8)
        size_at, strides_at, *_ = [element_address(b, table, I64(k), I64) for k in (0, 1)]
        pointers_at = element_address(b, table, I64(1 + len(arrays)), I64)

    def run(start: ir.Value, _: list) -> tuple:
        if count > _BLOCK:
            left = b.sub(I64(count), start)
            b.store(b.select(b.icmp_signed("<", left, I64(_BLOCK)), left, I64(_BLOCK)), size_at)
        else:
            b.store(I64(count), size_at)
        for number, (array, stride) in enumerate(zip(arrays, strides)):
            b.store(I64(stride), element_address(b, strides_at, I64(number), I64))
            address = (
                element_address(b, array.pointer, b.mul(start, I64(stride)), ir.IntType(8)) if count > _BLOCK else array.pointer
            )
            b.store(address, element_address(b, pointers_at, I64(number), I64))
        b.call(function, [pointers_at, size_at, strides_at, b.load(slot, typ=POINTER)])
        look = declaration(b.module, LOOK_FOR_EXCEPTION, I32, [])
        code = b.call(look, [])
        with b.if_then(b.icmp_signed("!=", code, I32(0)), likely=False):
            frame.return_code(code)
        if (interruption := interruption_of(b)) is not None:
            interruption.add(_WORK * min(count, _BLOCK))
        return ()

    carried_loop(b, 0, count, _BLOCK, (), run, "blocks")
    return frame.loaded(outputs)
