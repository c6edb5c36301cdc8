"""Calls: what the inliner has left of them is a native function for each computation, emitted once.

It is called as the kernel is, with tables of pointers to its arguments and results; its temporaries are a part of the caller's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llvmlite import ir

from ...hlo import Computation, Instruction
from ..llvm.interruption import InterruptibleFunction
from ..llvm.types import I32, POINTER
from .arena import BorrowedArena
from .call.python_calls import INTERRUPTED
from .host_calls import native_table, operand_arrays, result_arrays, result_leaves

if TYPE_CHECKING:
    from .module_emitter import Leaf, ModuleEmitter, Values


def emit_function(emitter: ModuleEmitter, computation: Computation) -> None:
    """``i32 (ptr arguments, ptr results, ptr temporaries)``, for the calls of the computation that are emitted later."""
    function = InterruptibleFunction(
        emitter.llvm,
        emitter.llvm.get_unique_name("call"),
        [POINTER, POINTER, POINTER],
        lambda builder: emitter.return_code(I32(INTERRUPTED)),
    )
    function.linkage = "internal"
    emitter.builder = ir.IRBuilder(function.append_basic_block("entry"))
    emitter.arguments, emitter.results, memory = function.args
    emitter.own_arena = BorrowedArena(memory)
    emitter.emit_body(computation)
    emitter.functions[computation] = function


def emit_call(emitter: ModuleEmitter, call: Instruction, values: Values) -> list[Leaf]:
    """Call the function of the computation; scalars go by way of the stack."""
    function, b = emitter.functions[call.attributes["to_apply"]], emitter.builder
    inputs = native_table(emitter, [array.pointer for array in operand_arrays(emitter, call, values)])
    outputs = result_arrays(emitter, call)
    results = native_table(emitter, [output.pointer for output in outputs if output is not None])
    scratch = emitter.assignment.scratch.get(call)
    memory = ir.Constant(POINTER, None) if scratch is None else emitter._buffer_pointer(scratch)
    code = b.call(function, [inputs, results, memory])
    with b.if_then(b.icmp_signed("!=", code, I32(0)), likely=False):
        emitter.return_code(code)
    b.function.interruption.called(b, function)
    return result_leaves(b, outputs)
