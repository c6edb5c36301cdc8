"""Calls that bypass Python: of programs that the thread which calls them runs on a processor, on arrays where they lie.

The CPU backend's entries (`cpu.call`) check arguments, allocate results and run a function of the addresses of both. Here that
is a function which hands them to the one that runs plans (`native_run`).
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ...compile.trip_count import known_trip_count
from ...hlo import Module
from ...runtime.kernel_time import kernel_time
from ...runtime.locks import new_lock
from ..cpu.call import CallSignature, Fact, bind_entry, install_entry, unsupported_reason, words_of
from ..cpu.call.native_functions import python_call_addresses
from ..cpu.call.python_calls import CHECK_INTERRUPTS
from ..cpu.kept_code import kept_object_code
from ..cpu.machine_code import LoadedCode
from ..cpu.target import host_target
from .drivers.forks import FORKS
from .drivers.native_calls import READERS
from .drivers.opencl import OpenCLCode, OpenCLDevice
from .host_call import functions_of
from .memory import GpuMemory
from .memory_pool import Block
from .native_run import PAUSED, NativeRun
from .plan import HostCall, Plan, inside
from .program import GpuProgram
from .short_plans import has_blocks_of_one_thread, waits

_MOST_BYTES = 8 << 20  # of temporaries that an entry keeps

# What a function is given of its entry: how many bytes of addresses of arguments and of results are to be copied to the slots,
# these, the words of a run and the place of its position among them, the function that runs it, a mutex, as zeros initialize
# it, and what looks for interrupts where the run pauses. Where a thread runs the plan others go by way of Python, and so does
# what that thread calls meanwhile.
_WORDS, _CHECK = 16, 11
# What is returned where another thread runs the plan.
_BUSY = 0x7FFFFFFD
# Functions, each of its own entry, that are loaded together: that takes as long as for one.
_TOGETHER = 32
_NUMBERS = {"TOGETHER": _TOGETHER, "WORDS": _WORDS, "CHECK": _CHECK, "BUSY": _BUSY, "PAUSED": PAUSED}
_ASSEMBLY = """
@contexts = global [TOGETHER x [WORDS x i64]] zeroinitializer
declare i32 @pthread_mutex_trylock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define internal i32 @kernel(ptr %context, ptr %arguments, ptr %results) {
  %argument_bytes = load i64, ptr %context
  %behind = getelementptr i64, ptr %context, i64 1
  %result_bytes = load i64, ptr %behind
  %slots = call ptr @word(ptr %context, i64 2)
  %words = call ptr @word(ptr %context, i64 3)
  %position = call ptr @word(ptr %context, i64 4)
  %run = call ptr @word(ptr %context, i64 5)
  %mutex = getelementptr i64, ptr %context, i64 6
  %locked = call i32 @pthread_mutex_trylock(ptr %mutex)
  %is_busy = icmp ne i32 %locked, 0
  br i1 %is_busy, label %busy, label %own
busy:
  ret i32 BUSY
own:
  call void @llvm.memcpy.p0.p0.i64(ptr %slots, ptr %arguments, i64 %argument_bytes, i1 false)
  %result_slots = getelementptr i8, ptr %slots, i64 %argument_bytes
  call void @llvm.memcpy.p0.p0.i64(ptr %result_slots, ptr %results, i64 %result_bytes, i1 false)
  store i64 0, ptr %position
  br label %go_on
go_on:
  %status = call i32 %run(ptr %words)
  %has_paused = icmp eq i32 %status, PAUSED
  br i1 %has_paused, label %paused, label %end
paused:
  %check = call ptr @word(ptr %context, i64 CHECK)
  %interrupted = call i32 %check()
  %is_interrupted = icmp ne i32 %interrupted, 0
  br i1 %is_interrupted, label %end, label %go_on
end:
  %code = phi i32 [ %status, %go_on ], [ %interrupted, %paused ]
  %unlocked = call i32 @pthread_mutex_unlock(ptr %mutex)
  ret i32 %code
}
"""
_OF_ONE_ENTRY = """
define i32 @kernel.NUMBER(ptr %arguments, ptr %results) {
  %context = getelementptr [WORDS x i64], ptr @contexts, i64 NUMBER
  %status = call i32 @kernel(ptr %context, ptr %arguments, ptr %results)
  ret i32 %status
}
"""


class _Function(NamedTuple):
    """The function of an entry, and the address of what it is given."""

    address: int
    context: int
    code: LoadedCode


_lock = new_lock()
_unused: list[_Function] = []


def _function() -> _Function:
    with _lock:
        if not _unused:
            each = [_OF_ONE_ENTRY.replace("NUMBER", str(number)) for number in range(_TOGETHER)]
            text = "".join([READERS, _ASSEMBLY, *each])
            for name, value in _NUMBERS.items():
                text = text.replace(name, str(value))
            code = LoadedCode([kept_object_code(text, host_target())], host_target(), {})
            first = code.address("contexts")
            addresses = [(code.address(f"kernel.{number}"), first + 8 * _WORDS * number) for number in range(_TOGETHER)]
            _unused.extend([_Function(*one, code) for one in addresses])
        return _unused.pop()


class _Busy(Exception):
    """The program is being run by an entry."""


class NativeEntry:
    """What entries of a program run, and what has to stand in memory where they may."""

    def __init__(
        self,
        module: Module,
        program: GpuProgram,
        device: OpenCLDevice,
        memory: GpuMemory,
        code: OpenCLCode,
        constants: Block,
    ) -> None:
        arguments, results = len(program.parameters), len(program.results)
        # A kernel's arguments belong to it, and calls by way of Python set them, too.
        kernels = {name: code.kernel_apart(name, program.target.arguments_together) for name in program.kernels}
        self._run = NativeRun(device, program.plan, kernels, arguments, results, of_entry=True)
        # As in the CPU backend's entries, no other thread runs while random numbers are drawn.
        draws = any(function.draws for function in self._run.functions.values())
        self._releases_gil = _may_take_long(module, program.plan) and not draws
        temporaries = memory.allocate_bytes(program.plan.temporary_bytes)
        self._words, run = self._run.words_of_entry(constants.address, temporaries.address)
        words, slots = self._words, ctypes.addressof(self._words.slots)
        function = _function()
        given = 8 * arguments, 8 * results, slots, words.address, words.position_address, run
        (ctypes.c_int64 * len(given)).from_address(function.context)[:] = given
        check = ctypes.c_int64.from_address(function.context + 8 * _CHECK)
        check.value = python_call_addresses()[CHECK_INTERRUPTS]
        weakref.finalize(self, _unused.append, function).atexit = False
        self._address = function.address
        self._kept = temporaries, constants
        self._facts = [
            ("word", ctypes.addressof(FORKS), device.forks),
            ("word", ctypes.addressof(device.is_lost), 0),
            ("word", ctypes.addressof(kernel_time.is_limited), 0),
        ]

    def install(self, instance: Any, signature: CallSignature, facts: Sequence[Fact], options: dict[str, Any]) -> bool:
        """Let calls of the instance that fit the signature run it; whether they can. The options are those of `bind_entry`."""
        facts = [*facts, *self._facts]
        if unsupported_reason() is not None or words_of(facts) is None:
            return False
        options["left_to_python"] = (*options.get("left_to_python", ()), _Busy)
        signature = replace(signature, release_gil=self._releases_gil)
        entry = bind_entry(signature, self._address, self, facts=facts, raise_error=self._raise_error, **options)
        install_entry(instance, entry)
        return True

    def _raise_error(self, status: int) -> None:
        """Raise what a status of the driver stands for; where another thread is in the entry, what leaves a call to Python."""
        if status == _BUSY:
            raise _Busy
        self._run.fail(status, self._words)


def has_entry(program: GpuProgram, device: Any) -> bool:
    """Whether calls of a program may bypass Python: the thread that asks runs all of it, and evaluates nothing in Python."""
    plan = program.plan
    if not isinstance(device, OpenCLDevice) or device.own_thread is None or plan.temporary_bytes > _MOST_BYTES:
        return False
    functions = functions_of(device, plan, of_entry=True)
    calls = [step.instruction for step in inside(plan.steps) if isinstance(step, HostCall)]
    return has_blocks_of_one_thread(plan.steps) and all(call in functions for call in calls)


def _may_take_long(module: Module, plan: Plan) -> bool:
    """Whether a plan takes long, or nobody knows how long: other threads run Python meanwhile."""
    loops = [one for computation in module.computations() for one in computation.instructions if one.opcode == "while"]
    return not plan.is_short or any(map(waits, inside(plan.steps))) or any(known_trip_count(loop) is None for loop in loops)
