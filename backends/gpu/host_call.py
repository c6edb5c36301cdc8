"""Instructions that the host evaluates on arrays of a device: where these lie, if it is the processor, else on copies."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...compile.memo import Memo
from ...hlo import Computation, Instruction, Module, array_leaves, make_instruction, parse_module
from ...hlo.ops.random_calls import draw_of
from ...hlo.ops.ufunc_calls import ufunc_call_of
from ...runtime import find_target
from ..cpu.backend import CpuBackend
from ..cpu.executable import NativeExecutable
from ..cpu.linear_algebra import loop_call
from ..host_evaluation import evaluation_of, of_table
from ..instruction_texts import instructions_text
from .drivers.driver import ALIGNMENT, Device
from .memory import side_by_side
from .plan import HostCall, Plan, inside

MOST_BYTES = 1 << 18  # of arrays of what native code calls


class HostInstruction:
    """An instruction of a plan on a device. Safe to use from several threads at once."""

    def __init__(self, device: Device, instruction: Instruction) -> None:
        self._device, self._instruction = device, instruction
        given = [shape for operand in instruction.operands for shape in array_leaves(operand.shape)]
        results = array_leaves(instruction.shape)
        self._given, self.arrays = len(given), len(given) + len(results)
        self._sizes = [shape.byte_size for shape in (*given, *results)]
        self._offsets, self._bytes = side_by_side([*given, *results])
        self._table = ctypes.c_int64 * self.arrays

    @cached_property
    def _evaluate(self) -> Callable[[int], None]:
        """A function of the address of a table: what NumPy has functions in C for, as the CPU backend calls these."""
        instruction, target = self._instruction, None
        if is_function(instruction):
            native = _compiled(instruction)
            return of_table(instruction, lambda operands: native(*operands), keeps=False)
        if instruction.opcode == "custom-call":
            target = find_target(instruction.attributes["custom_call_target"])
        return of_table(instruction, evaluation_of(instruction, target))

    def __call__(self, addresses: Sequence[int]) -> None:
        """Evaluate it on arrays at these addresses of the device, and leave the results' arrays at those that follow.

        What it raises tells of the instruction's line in the user's program. Raises NotImplementedError for a custom-call whose
        target is not registered in this process.
        """
        device = self._device
        if device.properties.is_processor:
            device.synchronize()
            table = self._table(*addresses)
            self._evaluate(ctypes.addressof(table))
            return
        memory = np.empty(self._bytes + ALIGNMENT, np.uint8)
        begin = -(-memory.ctypes.data // ALIGNMENT) * ALIGNMENT
        places = list(zip([begin + offset for offset in self._offsets], addresses, self._sizes, strict=True))
        for place, address, size in places[: self._given]:
            device.read(place, address, size)
        table = self._table(*[place for place, _, _ in places])
        self._evaluate(ctypes.addressof(table))
        for place, address, size in places[self._given :]:
            device.write(address, place, size)


class HostFunction(NamedTuple):
    """The address of native code that is given tables of pointers to operands and results, and what it lives in."""

    address: int
    executable: NativeExecutable

    @property
    def draws(self) -> bool:
        return self.executable.program.draws


def functions_of(device: Device, plan: Plan, of_entry: bool = False) -> dict[Instruction, HostFunction]:
    """What need not be evaluated by way of Python of a plan, where a device is the processor: draws, linear algebra of NumPy's,
    loops with such.

    of_entry: for calls that bypass Python. Others keep the interpreter's lock, and one of the plan's, and only call what does
    not take long, nor Python.
    """
    if not device.properties.is_processor:
        return {}
    found = {}
    for call in [step.instruction for step in inside(plan.steps) if isinstance(step, HostCall)]:
        if call.opcode not in ("call", "custom-call") or not (of_entry or _is_called_between_launches(call)):
            continue
        executable = _compiled(call)
        if isinstance(executable, NativeExecutable) and (of_entry or _is_soon_done(executable)):
            found[call] = HostFunction(executable.kernel, executable)
    return found


def _is_called_between_launches(call: Instruction) -> bool:
    return is_function(call) and (call.opcode == "call" or not ufunc_call_of(call.attributes["custom_call_target"]))


def _is_soon_done(executable: NativeExecutable) -> bool:
    program = executable.program
    return not (program.may_take_long or program.host_calls) and executable.bytes_touched <= MOST_BYTES


def _compiled(call: Instruction) -> Any:
    """The CPU backend's code of a call alone."""
    # Of operands that are the same each is given.
    operands = [make_instruction("parameter", (), {"number": at}, one.shape) for at, one in enumerate(call.operands)]
    alone = call.with_operands(operands)
    if call.opcode == "call" or not is_function(call):  # what Python raises in it tells of lines, which are in no text
        known = _compiled_with_lines.get(call)
        if known is None:
            root = make_instruction("tuple", [alone])
            module = Module("host_calls", Computation("host_calls", (*operands, alone, root), root))
            known = _compiled_with_lines[call] = CpuBackend().compile(module)
        return known
    # The names of a plan that was kept are others, and code is kept by them.
    return _compiled_text(parse_module(instructions_text([alone])).as_text(names="canonical"))


_compiled_with_lines: Memo[Instruction, Any] = Memo()


@lru_cache(maxsize=256)
def _compiled_text(text: str) -> Any:
    return CpuBackend().compile(parse_module(text))


def is_function(instruction: Instruction) -> bool:
    """Whether the CPU backend has code for it: for a call of functions in C, and for what a loop does."""
    if instruction.opcode != "custom-call":
        return instruction.opcode == "call"
    target = instruction.attributes["custom_call_target"]
    return any(made is not None for made in (draw_of(target), ufunc_call_of(target), loop_call(instruction)))
