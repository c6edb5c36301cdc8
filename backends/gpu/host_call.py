"""Instructions that the host evaluates on arrays of a device: where these lie, if it is the processor, else on copies."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...hlo import Instruction, array_leaves, parse_module
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

_MOST_BYTES = 1 << 18  # of arrays of what native code calls


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
        if instruction.opcode == "custom-call":
            if _is_native(instruction):
                native = _compiled(instruction)
                return of_table(instruction, lambda operands: native(*operands), keeps=False)
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
    executable: Any
    draws: bool


def functions_of(device: Device, plan: Plan) -> dict[Instruction, HostFunction]:
    """What need not be evaluated in Python of a plan, where a device is the processor: draws, and linear algebra of NumPy's.

    It is called with the interpreter's lock, and so only if it does not take long.
    """
    if not device.properties.is_processor:
        return {}
    calls = [step.instruction for step in inside(plan.steps) if isinstance(step, HostCall)]
    found = {}
    for call in [one for one in calls if one.opcode == "custom-call"]:
        draws = draw_of(call.attributes["custom_call_target"]) is not None
        if not draws and loop_call(call) is None:
            continue
        executable = _compiled(call)
        is_native = isinstance(executable, NativeExecutable) and not executable.program.may_take_long
        if is_native and executable.bytes_touched <= _MOST_BYTES:
            found[call] = HostFunction(executable.kernel, executable, draws)
    return found


def _compiled(call: Instruction) -> Any:
    """The CPU backend's code of a custom call alone."""
    # The names of a plan that was kept are others, and code is kept by them.
    return _compiled_text(parse_module(instructions_text([call])).as_text(names="canonical"))


@lru_cache(maxsize=256)
def _compiled_text(text: str) -> Any:
    return CpuBackend().compile(parse_module(text))


def _is_native(call: Instruction) -> bool:
    """Whether the CPU backend's code for a custom call is one of functions in C."""
    target = call.attributes["custom_call_target"]
    return any(made is not None for made in (draw_of(target), ufunc_call_of(target), loop_call(call)))
