"""Programs on a device that can be called, with arrays or with buffers of the device."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...hlo import Module
from ..arguments import check_sizes
from ..device_memory import Buffer, call_on_device, in_layout
from .code import assembly
from .drivers.driver import Device
from .memory import GpuMemory
from .native_run import NativeRun
from .program import GpuProgram


class GpuExecutable:
    """A program, loaded on a device. ``module`` is the module as given."""

    def __init__(self, module: Module, program: GpuProgram, device: Device, memory: GpuMemory) -> None:
        self.module, self.program, self.device, self.memory = module, program, device, memory
        self._code = device.load(program.code) if program.code else None
        self._kernels = {name: self._code.kernel(name) for name in program.kernels} if self._code else {}
        constants = np.frombuffer(program.plan.constants, np.uint8)
        self._constants = memory.allocate_bytes(constants.size)
        device.write(self._constants.address, constants.ctypes.data, constants.size)
        self._run = NativeRun(device, program.plan, self._kernels, len(program.parameters), len(program.results))

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        program = self.program
        return call_on_device(self.memory, self.execute, program.name, program.parameters, arguments)

    def execute(self, arguments: Iterable[Buffer]) -> tuple[Buffer, ...]:
        """The results, as buffers, for one buffer for each leaf of the parameters.

        Raises TypeError and ValueError for buffers that are of another memory, or have other element types or dimensions.
        """
        given = self._in_layout(list(arguments))
        results = [self.memory.allocate(shape) for shape in self.program.results]
        temporaries = self.memory.allocate_bytes(self.program.plan.temporary_bytes)
        addresses = [[one.address for one in given], [one.address for one in results]]
        self._run(addresses[0], addresses[1], self._constants.address, temporaries.address)
        return tuple(results)

    def _in_layout(self, arguments: list[Buffer]) -> list[Buffer]:
        program, found = self.program, []
        if len(arguments) != len(program.parameters):
            raise TypeError(f"module {program.name} takes {len(program.parameters)} arrays, {len(arguments)} given")
        for number, (buffer, (name, shape)) in enumerate(zip(arguments, program.parameters)):
            self.memory.own(f"argument {number}", buffer)
            if buffer.shape.element_type != shape.element_type:
                raise TypeError(f"module {program.name}, {name}: {shape} is required, {buffer.shape} given")
            if buffer.shape.dimensions != shape.dimensions:
                check_sizes(f"module {program.name}, {name}", shape, buffer.shape.dimensions)
            found.append(in_layout(self.memory, buffer, shape))
        return found

    def as_text(self, form: str = "hlo") -> str:
        """The optimized module; "plan": what the host asks of the device; "llvm": the kernels; "assembly": their code as text."""
        forms = {
            "hlo": lambda: self.program.optimized.as_text(),
            "plan": lambda: self.program.plan.as_text(),
            "llvm": lambda: self.program.llvm_ir,
            "assembly": lambda: assembly(self.program.llvm_ir, self.program.target),
        }
        if form not in forms:
            raise ValueError(f"as_text: one of {', '.join(forms)} is required, {form!r} given")
        return forms[form]()

    def memory_analysis(self) -> dict[str, int]:
        """Bytes of ``arguments``, ``results`` and ``temporaries`` (the arena that buffers share, and the slots of scalars)."""
        return {
            "arguments": sum(shape.byte_size for _, shape in self.program.parameters),
            "results": sum(shape.byte_size for shape in self.program.results),
            "temporaries": self.program.plan.temporary_bytes,
        }
