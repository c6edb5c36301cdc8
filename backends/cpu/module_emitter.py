"""One HLO module becomes one native function, and those that it calls.

``i32 kernel(ptr arguments, ptr results)`` gets arrays of pointers to the data of the entry's parameter leaves and result
leaves, and returns 0, or OUT_OF_MEMORY, or, with an exception set, CALL_FAILED or INTERRUPTED. Loops and branches of the
program are branches of the function.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...compile.buffer_assignment import BufferAssignment
from ...hlo import Module, Shape
from ..llvm.interruption import InterruptibleFunction, Interruption
from ..llvm.types import I32, POINTER
from . import control_flow, host_calls, operations, regions  # noqa: F401  (importing them fills the table of emitters)
from .arena import Arena
from .call.python_calls import INTERRUPTED
from .frame import EmittedModule, Frame
from .functions import CalledComputations, emit_functions
from .line_clock import LineClock
from .target import Target

KERNEL_NAME = "kernel"


def emit_module(
    program: Module,
    assignment: BufferAssignment,
    target: Target,
    clock: LineClock | None = None,
    results: Sequence[Shape] = (),
) -> tuple[EmittedModule, Interruption]:
    """The LLVM module of a program, and what is known of how long its kernel runs.

    results: the shapes of a padded program's results.
    """
    module = EmittedModule(program, target)
    module.llvm.called_computations = CalledComputations(program, module)
    frame = Frame(program, assignment, module, clock, results)
    if clock is not None:
        clock.define(module.llvm, module.constant_pointer)
    emit_functions(frame)
    kernel = InterruptibleFunction(
        module.llvm, KERNEL_NAME, [POINTER, POINTER], lambda builder: frame.return_code(I32(INTERRUPTED))
    )
    may_grow = frame.parts.may_be_needed(program.entry)
    frame.emit_function(kernel, program.entry, lambda builder: Arena(builder, assignment.arena_size, may_grow=may_grow))
    if clock is not None:
        clock.surround(kernel)
    return module, kernel.interruption
