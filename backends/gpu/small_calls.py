"""Calls with arrays of the host that are small: all arguments are copied to the device at once, and all results back.

What such a call needs, the memory of both sides and the native function's arguments, is kept for the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import c_ubyte
from typing import Any

from .drivers.driver import Device, Kernel
from .memory import GpuMemory, array_in, side_by_side
from .memory_pool import Block
from .native_run import NativeRun
from .plan_code import Packed
from .program import GpuProgram

_MOST_BYTES = 256 << 10


class SmallCalls:
    """Runs of a program for arrays of the host. Safe to use from several threads at once."""

    def __init__(
        self, program: GpuProgram, device: Device, memory: GpuMemory, kernels: dict[str, Kernel], constants: Block
    ) -> None:
        self.parameters = [shape for _, shape in program.parameters]
        self.results = program.results
        self.argument_offsets, self.argument_bytes = side_by_side(self.parameters)
        self.result_offsets, self.result_bytes = side_by_side(self.results)
        self.temporary_bytes = program.plan.temporary_bytes
        self.device, self.memory, self.constants = device, memory, constants
        packed = Packed(self.argument_bytes, self.result_bytes, self.argument_bytes)
        self.run = NativeRun(device, program.plan, kernels, len(self.parameters), len(self.results), packed)
        self._unused: list[_Places] = []

    @classmethod
    def of(
        cls, program: GpuProgram, device: Device, memory: GpuMemory, kernels: dict[str, Kernel], constants: Block
    ) -> SmallCalls | None:
        """None where the arrays of a program are not so small."""
        shapes = [shape for _, shape in program.parameters] + list(program.results)
        if any(shape.has_dynamic_dimensions for shape in shapes):
            return None
        sizes = side_by_side([shape for _, shape in program.parameters])[1], side_by_side(program.results)[1]
        if not sizes[1] or sum(sizes) + program.plan.temporary_bytes > _MOST_BYTES:
            return None
        return cls(program, device, memory, kernels, constants)

    def __call__(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        try:
            places = self._unused.pop()
        except IndexError:
            places = _Places(self)
        for view, argument in zip(places.arguments, arguments):
            view[...] = argument
        self.run(*places.addresses)
        results = tuple([view[()] if scalar else view.copy("K") for view, scalar in places.results])
        self._unused.append(places)
        return results


class _Places:
    """Where the arrays of one call at a time are, on both sides."""

    def __init__(self, calls: SmallCalls) -> None:
        total = calls.argument_bytes + calls.result_bytes
        self._on_device = calls.memory.allocate_bytes(total + calls.temporary_bytes)
        self._on_host = calls.device.host_block(total)
        given, first = self._on_device.address, calls.argument_bytes
        memory = (c_ubyte * total).from_address(self._on_host.address)
        self.arguments = [array_in(memory, at, shape) for at, shape in zip(calls.argument_offsets, calls.parameters)]
        views = [array_in(memory, first + at, shape) for at, shape in zip(calls.result_offsets, calls.results)]
        self.results = [(view, not view.ndim) for view in views]
        self.addresses = (
            [given + at for at in calls.argument_offsets],
            [given + first + at for at in calls.result_offsets],
            calls.constants.address,
            given + total,
            self._on_host.address,
        )
