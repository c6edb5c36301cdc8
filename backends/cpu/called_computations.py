"""Computations on scalars that hold arrays, as functions of the module that applies them to its elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llvmlite import ir

from ...compile.buffer_assignment import assign_buffers
from ...compile.pass_manager import run_passes
from ...compile.traversal import called_functions
from ...hlo import Computation, Module, Shape, leaves
from ...hlo.operation import HOST_CALL
from ..llvm.arrays import Array
from ..llvm.interruption import InterruptibleFunction, call_interruptible
from ..llvm.memory import stack_memory
from ..llvm.module import align_stack
from ..llvm.types import I32, I64, POINTER, RegisterValue
from . import function_calls
from .arena import ALIGNMENT, STACK_LIMIT, BorrowedArena
from .call.python_calls import INTERRUPTED
from .pipeline import CALLED_PIPELINE
from .scratch import scratch_bytes

if TYPE_CHECKING:
    from .module_emitter import ModuleEmitter


# They lie on the stack, behind those of the kernel.
_LARGEST_TEMPORARIES = STACK_LIMIT // 2


class CalledComputations:
    """Emits calls into a module, and each function with the first call of it.

    A function takes what the module's kernel takes: an array of pointers to its arguments, and one of pointers to its results.
    """

    def __init__(self, emitter: ModuleEmitter) -> None:
        self.emitter = emitter
        self._functions: dict[Computation, InterruptibleFunction] = {}

    def __call__(self, builder: ir.IRBuilder, computation: Computation, arguments: list[RegisterValue]) -> list[RegisterValue]:
        function = self._functions.get(computation)
        if function is None:
            function = self._functions[computation] = self._define(computation)
        inputs, input_table = _slots(builder, [parameter.shape for parameter in computation.parameters])
        outputs, output_table = _slots(builder, leaves(computation.shape))
        for slot, argument in zip(inputs, arguments):
            slot.store(builder, (), argument, 1)
        call_interruptible(builder, function, [input_table, output_table])
        return [slot.load(builder, (), 1) for slot in outputs]

    def _define(self, computation: Computation) -> InterruptibleFunction:
        module = Module(computation.name, computation, _header(self.emitter.hlo))
        prepared = run_passes(module, CALLED_PIPELINE)
        _require_no_host_calls(prepared)
        assignment = assign_buffers(prepared, scratch_bytes, ALIGNMENT)
        if assignment.arena_size > _LARGEST_TEMPORARIES:
            raise NotImplementedError(
                f"{computation!r}, which is applied to each element, needs {assignment.arena_size} bytes of temporaries: "
                f"there is native code for at most {_LARGEST_TEMPORARIES}; the reference backend runs it"
            )
        outer = self.emitter
        emitter = type(outer)(prepared, assignment, outer.target, outer)
        for called in called_functions(prepared):
            function_calls.emit_function(emitter, called)
        llvm = outer.llvm
        name = llvm.get_unique_name("called")
        function = InterruptibleFunction(llvm, name, [POINTER, POINTER], lambda builder: builder.ret(I32(INTERRUPTED)))
        function.linkage = "internal"
        align_stack(function, outer.target.vector_bytes)
        emitter.builder = ir.IRBuilder(function.append_basic_block("entry"))
        emitter.arguments, emitter.results = function.args
        emitter.own_arena = BorrowedArena(stack_memory(emitter.builder, max(1, assignment.arena_size), ALIGNMENT))
        emitter.emit_body(prepared.entry)
        return function


def _header(module: Module) -> dict[str, str]:
    return {name: text for name, text in module.attributes.items() if name in ("replica_count", "num_partitions")}


def _slots(builder: ir.IRBuilder, shapes: list[Shape]) -> tuple[list[Array], ir.Value]:
    """Stack memory for scalars, and a table of pointers to it."""
    with builder.goto_entry_block():
        slots = [Array(stack_memory(builder, 16, 16), Shape(shape.element_type)) for shape in shapes]
        table = stack_memory(builder, 8 * max(1, len(slots)), 8)
        for number, slot in enumerate(slots):
            builder.store(slot.pointer, builder.gep(table, [I64(number)], source_etype=POINTER))
    return slots, table


def _require_no_host_calls(module: Module) -> None:
    for computation in module.computations():
        for instruction in computation.instructions:
            if instruction.has_trait(HOST_CALL):
                raise NotImplementedError(
                    f"{instruction.opcode} in a computation that is applied to each element has no native code; the reference "
                    "backend runs it"
                )
