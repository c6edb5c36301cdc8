"""The CPU backend: HLO modules to native code for the host."""

from __future__ import annotations

import re
import time
import zlib
from collections.abc import Callable
from dataclasses import astuple, replace
from functools import cached_property
from time import perf_counter
from typing import NamedTuple
from weakref import WeakSet

import numpy as np

from ...compile.buffer_assignment import BufferAssignment, assign_buffers
from ...compile.dynamic_padding import PaddedModule
from ...compile.pass_manager import run_steps
from ...compile.scalars_first import scalars_first
from ...compile.traversal import transform_computations
from ...hlo import Module, array_leaves
from ...hlo.address_space import check_address_space
from ...hlo.fast_math import has_fast_math
from ...hlo.operation import HOST_CALL
from ...runtime.compile_budget import current_budget
from ...runtime.garbage import rare_collections
from ...runtime.locks import compilation_lock
from ...runtime.progress import Progress, announced, set_stage
from ..arguments import parameter_leaves
from ..device_memory import HOST_MEMORY
from ..instruction_texts import instructions_text
from ..kept_programs import program_key
from ..llvm.interruption import Interruption
from ..llvm.module import written_out
from ..padding import padding_of
from ..requirements import require_runnable
from .arena import ALIGNMENT, SPARE_BLOCK_NAME
from .call.capsule_end import capsule_end
from .compile_effort import CODE_GENERATION, WRITING, code_generation, leaves_out
from .dynamic_shapes import PaddedExecutable
from .emitter_table import scratch_bytes
from .executable import CpuExecutable, Texts
from .frame import EmittedModule
from .kept_code import hasty_key, keep_program, kept_program
from .line_clock import KeyOf, LineClock, Moments, kernel_of, lines_of
from .machine_code import compile_objects
from .module_emitter import KERNEL_NAME, emit_module
from .module_parts import parts_by_level
from .native_program import NativeProgram
from .pipeline import PIPELINE
from .rare_code import rare_functions
from .shared_functions import shared_code
from .support import support
from .target import QUICK, Target, host_target
from .thread_pool import RUN_PIECES


class _Written(NamedTuple):
    """A module as LLVM assembly; ``native`` is the module, or the padded one in its place."""

    native: Module
    optimized: Module
    assignment: BufferAssignment
    emitted: EmittedModule
    interruption: Interruption
    clock: LineClock | None
    llvm_ir: str
    rare: frozenset[str]

    def texts(self) -> Texts:
        return Texts(self.optimized, zlib.compress(self.llvm_ir.encode(), 1))


# Calls that run more instructions than this may take long.
_MANY_INSTRUCTIONS = 1 << 18
# What these steps of the pipeline leave is needed at its end.
_KEPT_STEPS = {"pad-dynamic-dimensions", "fuse-updates", "insert-copies"}


class CpuBackend:
    """Compiles each module into one native function."""

    name = "cpu"
    memory = HOST_MEMORY
    pipeline = PIPELINE

    def __init__(self, target: Target | None = None) -> None:
        self.target = target or host_target()

    @cached_property
    def timing_lines(self) -> TimingCpuBackend:
        """The backend that times lines: `JittedFunction.profile`."""
        return TimingCpuBackend(self.target)

    def timing_kernels(self, room: int) -> TimingCpuBackend:
        """A backend whose programs time what they compute in one go; its ``moments`` has room for so many beginnings."""
        return TimingCpuBackend(self.target, kernel_of, Moments(room))

    @staticmethod
    def capsule_end(deleter: int) -> int:
        """The address of the destructor of DLPack's capsules (`call/capsule_end.py`)."""
        return capsule_end(deleter)

    def compile(self, module: Module) -> CpuExecutable | PaddedExecutable:
        """The module, optimized and compiled.

        Raises NotImplementedError, naming it, for an operation or element type without native code, and hlo.AddressSpaceError
        for arrays that no memory can hold.
        """
        require_runnable(module)
        check_address_space(module)
        with compilation_lock, Progress(module.name, "optimizing"), rare_collections():
            key, budget = self._key_of(module), current_budget()
            program = kept_program(key, module) or kept_program(hasty_key(key, budget), module)
            if program is not None:
                # It binds to what this process has under the names that it calls, as code that is made here does.
                return self._executable(module, program, lambda: self._written(module).texts())
            written = self._written(module)
            program = self._program(module, written)
            keep_program(hasty_key(key, budget) if budget is not None and budget.given_up else key, program, module)
            texts = written.texts()
            return self._executable(module, program, lambda: texts, written.clock)

    def _executable(
        self, module: Module, program: NativeProgram, texts: Callable[[], Texts], clock: LineClock | None = None
    ) -> CpuExecutable | PaddedExecutable:
        if program.padding is None:
            return CpuExecutable(module, program, texts, clock)
        return PaddedExecutable(CpuExecutable(module, replace(program, padding=None), texts, clock), program.padding, module)

    def _written(self, module: Module) -> _Written:
        """Optimized, and as LLVM assembly."""
        names = [step if isinstance(step, str) else step.name for step in PIPELINE]
        steps = announced(run_steps(module, PIPELINE, leaves_out), [f"optimizing ({name})" for name in names])
        after = {name: result for name, result in steps if name in _KEPT_STEPS}
        set_stage("writing LLVM assembly")
        started = perf_counter()
        native = after["pad-dynamic-dimensions"]  # with padded arrays in place of those with dynamic dimensions
        is_padded = isinstance(native, PaddedModule)
        native = native if is_padded else module
        prepared = after["insert-copies"]
        if is_padded:
            prepared = transform_computations(prepared, scalars_first)
        clock = self._clock_of(prepared)
        results = native.results if is_padded else ()
        assignment = assign_buffers(prepared, scratch_bytes, ALIGNMENT, _given_up(native, prepared))
        emitted, interruption = emit_module(prepared, assignment, self.target, clock, results)
        if assignment.over_arguments and interruption.can_leave:  # arguments must not be left half changed
            assignment = assign_buffers(prepared, scratch_bytes, ALIGNMENT)
            emitted, interruption = emit_module(prepared, assignment, self.target, clock, results)
        rare = rare_functions(interruption)
        llvm_ir = written_out(emitted.llvm)
        WRITING.measured(prepared.instruction_count(), started)
        return _Written(native, after["fuse-updates"], assignment, emitted, interruption, clock, llvm_ir, rare)

    def _program(self, module: Module, written: _Written) -> NativeProgram:
        """What was written, as native code."""
        set_stage("compiling with LLVM")
        native, assignment, emitted, interruption = written.native, written.assignment, written.emitted, written.interruption
        shared = shared_code(emitted.llvm.shared_functions, self.target)
        runs = None if interruption.can_leave else interruption.cost
        level, given_up = code_generation(written.llvm_ir, module, runs)
        started = perf_counter()
        parts, rare = parts_by_level(
            written.llvm_ir, written.rare if level != QUICK and not has_fast_math(module) else frozenset()
        )
        object_codes = compile_objects({**dict.fromkeys(parts, level), **dict.fromkeys(rare, QUICK)}, self.target)
        CODE_GENERATION[level].measured(written.llvm_ir.count("\n"), started)
        padding = padding_of(module, native) if isinstance(native, PaddedModule) else None
        return NativeProgram(
            name=native.name,
            target=self.target,
            object_codes=object_codes,
            entry=KERNEL_NAME,
            parameters=tuple(parameter_leaves(native)),
            results=tuple(array_leaves(native.entry.shape)),
            temporary_bytes=assignment.arena_size,  # and no more, since the assignment knows all values
            keeps_block=SPARE_BLOCK_NAME in emitted.llvm.globals,
            over_arguments=tuple(assignment.over_arguments.items()),
            may_take_long=interruption.can_leave or interruption.cost > _MANY_INSTRUCTIONS,
            draws=emitted.draws,
            divides=RUN_PIECES in emitted.llvm.globals,
            constants=tuple((symbol, _bytes_of(literal)) for symbol, literal in emitted.constants.items()),
            host_calls=tuple(emitted.host_calls.values()),
            host_instructions=instructions_text(emitted.host_calls) if emitted.host_calls else "",
            host_lines=tuple([one.source for one in emitted.host_calls]),
            native_calls=tuple(emitted.native_calls.items()),
            shared=shared,
            padding=padding,
            level=level,
            given_up=given_up,
        )

    def _key_of(self, module: Module) -> str | None:
        """What the program is kept under on disk; None where it is not kept."""
        return program_key(module, astuple(self.target))

    def _clock_of(self, program: Module) -> LineClock | None:
        return None

    def support(self, opcode: str) -> str | None:
        return support(opcode)


class TimingCpuBackend(CpuBackend):
    """Its programs take down the time that they spend at each of the user's lines, or in each kernel, in ``clocks``.

    ``compilations`` has their names, and when their compilation began and ended, in nanoseconds of the monotonic clock.
    """

    def __init__(self, target: Target, key_of: KeyOf = lines_of, moments: Moments | None = None) -> None:
        super().__init__(target)
        self._key_by, self.moments = key_of, moments
        self.clocks: WeakSet[LineClock] = WeakSet()
        self.compilations: list[tuple[str, int, int]] = []

    def compile(self, module: Module) -> CpuExecutable | PaddedExecutable:
        begin = time.monotonic_ns()
        executable = super().compile(module)
        self.compilations.append((module.name, begin, time.monotonic_ns()))
        return executable

    def _clock_of(self, program: Module) -> LineClock:
        clock = LineClock(program, self._key_by, self.moments)
        self.clocks.add(clock)
        return clock

    def _key_of(self, module: Module) -> str | None:
        return None


def _given_up(module: Module, prepared: Module) -> list[tuple[int, int]]:
    """The results that are to lie where arguments do, and these; none where the program may end in the middle."""
    pairs = re.findall(r"\{(\d*)\}: \((\d+), \{\}, must-alias\)", module.attributes.get("input_output_alias", ""))
    has_tuples = any(parameter.shape.is_tuple for parameter in prepared.entry.parameters)
    if not pairs or has_tuples or isinstance(module, PaddedModule):
        return []
    instructions = [instruction for computation in prepared.computations() for instruction in computation.instructions]
    may_end = any(one.has_trait(HOST_CALL) or one.opcode in ("while", "call") for one in instructions)
    return [] if may_end else [(int(result or 0), int(argument)) for result, argument in pairs]


def _bytes_of(literal: np.ndarray) -> memoryview:
    return literal.reshape(-1).view(np.uint8).data
