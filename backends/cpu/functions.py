"""Computations as functions of the module, each emitted once.

What the inliner has left of calls is called as the kernel is, with tables of pointers to arguments and results; its temporaries
are a part of the caller's. Computations on scalars that hold arrays are functions of the module that applies them to its
elements.
"""

from __future__ import annotations

from llvmlite import ir

from ...compile.buffer_assignment import assign_buffers
from ...compile.pass_manager import run_passes
from ...compile.traversal import called_functions
from ...hlo import Computation, Instruction, Module, Shape, leaves
from ...hlo.operation import HOST_CALL
from ..llvm.arrays import Array, stack_array
from ..llvm.interruption import InterruptibleFunction, call_interruptible
from ..llvm.memory import pointer_table, stack_memory
from ..llvm.module import align_stack
from ..llvm.types import I32, POINTER, RegisterValue
from .arena import ALIGNMENT, STACK_LIMIT, BorrowedArena
from .call.python_calls import INTERRUPTED
from .emitter_table import emits, scratch_bytes
from .frame import EmittedModule, Frame, Leaf, Values
from .pipeline import CALLED_PIPELINE

# They lie on the stack, behind those of the kernel.
_LARGEST_TEMPORARIES = STACK_LIMIT // 2


def emit_functions(frame: Frame) -> None:
    """The functions of a program's calls, callees before their callers."""
    for computation in called_functions(frame.program):
        _emit_function(frame, computation)


def _emit_function(frame: Frame, computation: Computation) -> None:
    """``i32 (ptr arguments, ptr results, ptr temporaries)``, for the calls of the computation that are emitted later."""
    function = InterruptibleFunction(
        frame.llvm,
        frame.llvm.get_unique_name("call"),
        [POINTER, POINTER, POINTER],
        lambda builder: frame.return_code(I32(INTERRUPTED)),
    )
    function.linkage = "internal"
    frame.emit_function(function, computation, lambda builder: BorrowedArena(function.args[2]))
    frame.functions[computation] = function


@emits("call")
def emit_call(frame: Frame, call: Instruction, values: Values) -> list[Leaf]:
    """Call the function of the computation; scalars go by way of the stack."""
    function, b = frame.functions[call.attributes["to_apply"]], frame.builder
    inputs = pointer_table(b, [array.pointer for array in frame.operand_arrays(call, values)])
    outputs = frame.outputs(call)
    results = pointer_table(b, [output.pointer for output in outputs if output is not None])
    memory = frame.scratch(call)
    code = b.call(function, [inputs, results, ir.Constant(POINTER, None) if memory is None else memory])
    with b.if_then(b.icmp_signed("!=", code, I32(0)), likely=False):
        frame.return_code(code)
    b.function.interruption.called(b, function)
    return frame.loaded(outputs)


class CalledComputations:
    """Emits calls into a module, and each function with the first call of it.

    A function takes what the module's kernel takes: an array of pointers to its arguments, and one of pointers to its results.
    """

    def __init__(self, program: Module, module: EmittedModule) -> None:
        self._program, self._module = program, module
        self._functions: dict[Computation, InterruptibleFunction] = {}

    def __call__(self, builder: ir.IRBuilder, computation: Computation, arguments: list[RegisterValue]) -> list[RegisterValue]:
        function = self._functions.get(computation)
        if function is None:
            function = self._functions[computation] = self._define(computation)
        inputs, input_table = _scalars_in_memory(builder, [parameter.shape for parameter in computation.parameters])
        outputs, output_table = _scalars_in_memory(builder, leaves(computation.shape))
        for slot, argument in zip(inputs, arguments):
            slot.store(builder, (), argument, 1)
        call_interruptible(builder, function, [input_table, output_table])
        return [slot.load(builder, (), 1) for slot in outputs]

    def _define(self, computation: Computation) -> InterruptibleFunction:
        module = Module(computation.name, computation, _header(self._program))
        prepared = run_passes(module, CALLED_PIPELINE)
        _require_no_host_calls(prepared)
        assignment = assign_buffers(prepared, scratch_bytes, ALIGNMENT)
        if assignment.arena_size > _LARGEST_TEMPORARIES:
            raise NotImplementedError(
                f"{computation!r}, which is applied to each element, needs {assignment.arena_size} bytes of temporaries: "
                f"there is native code for at most {_LARGEST_TEMPORARIES}; the reference backend runs it"
            )
        frame, llvm = Frame(prepared, assignment, self._module), self._module.llvm
        emit_functions(frame)
        name = llvm.get_unique_name("called")
        function = InterruptibleFunction(llvm, name, [POINTER, POINTER], lambda builder: builder.ret(I32(INTERRUPTED)))
        function.linkage = "internal"
        align_stack(function, frame.target.vector_bytes)
        size = max(1, assignment.arena_size)
        frame.emit_function(function, prepared.entry, lambda builder: BorrowedArena(stack_memory(builder, size, ALIGNMENT)))
        return function


def _header(module: Module) -> dict[str, str]:
    return {name: text for name, text in module.attributes.items() if name in ("replica_count", "num_partitions")}


def _scalars_in_memory(builder: ir.IRBuilder, shapes: list[Shape]) -> tuple[list[Array], ir.Value]:
    """Memory for scalars, and a table of pointers to it."""
    scalars = [stack_array(builder, shape) for shape in shapes]
    return scalars, pointer_table(builder, [scalar.pointer for scalar in scalars], at_entry=True)


def _require_no_host_calls(module: Module) -> None:
    for computation in module.computations():
        for instruction in computation.instructions:
            if instruction.has_trait(HOST_CALL):
                raise NotImplementedError(
                    f"{instruction.opcode} in a computation that is applied to each element has no native code; the reference "
                    "backend runs it"
                )
