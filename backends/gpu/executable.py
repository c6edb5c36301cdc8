"""Programs on a device that can be called, with arrays or with buffers of the device."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...hlo import Module
from ...runtime.kernel_time import kernel_time
from ..arguments import check_arguments
from ..device_memory import Buffer, call_on_device
from ..text_forms import text_in_form
from .code_generation.compiling import assembly
from .custom_kernels import load_kernel
from .driver_code import load_code
from .drivers.driver import Device
from .errors import DeviceOutOfMemoryError
from .given_buffers import GivenBuffers
from .given_up import results_in_place, with_arguments_given_up
from .host_arrays import call_where_they_lie, reaches_arrays
from .memory import DeviceBuffer, GpuMemory
from .native_entry import NativeEntry, has_entry
from .native_run import NativeRun
from .program import GpuProgram
from .small_calls import SmallCalls


class GpuExecutable:
    """A program, loaded on a device. ``module`` is the module as given."""

    def __init__(self, module: Module, program: GpuProgram, device: Device, memory: GpuMemory) -> None:
        self.module, self.program, self.device, self.memory = module, program, device, memory
        self._code = load_code(device, program.code) if program.code else None
        together = program.target.arguments_together
        self._kernels = {name: self._code.kernel(name, together) for name in program.kernels} if self._code else {}
        self._kernels |= {one.name: load_kernel(device, one) for one in program.custom_kernels}
        constants = np.frombuffer(program.plan.constants, np.uint8)
        self._constants = memory.allocate_bytes(constants.size)
        device.write(self._constants.address, constants.ctypes.data, constants.size)
        self._run = NativeRun(device, program.plan, self._kernels, len(program.parameters), len(program.results))
        self._allocate = memory.pool.allocate
        self._temporary_bytes = program.plan.temporary_bytes
        self._results = [(shape, shape.byte_size) for shape in program.results]
        self._in_place = results_in_place(program.plan, [shape for _, shape in program.parameters], program.results)
        self._runs_in_place: dict[frozenset[int], tuple[NativeRun, dict[int, int]]] = {}
        self._given = GivenBuffers(program.name, program.parameters, memory)
        self.reaches_arrays = reaches_arrays(program, device)
        self._small = None if self.reaches_arrays else SmallCalls.of(program, device, memory, self._kernels, self._constants)
        self._entry: NativeEntry | None = None

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        program = self.program
        # What runs for too long is left behind, and writes to memory of the device alone.
        if kernel_time.seconds is None and (self.reaches_arrays or self._small is not None):
            check_arguments(program.name, program.parameters, arguments)
            if self._small is not None:
                return self._small(arguments)
            return call_where_they_lie(program, self.device, self._run, self._allocate, self._constants, arguments)
        return call_on_device(self.memory, self.execute, program.name, program.parameters, arguments)

    def execute(self, arguments: Iterable[Buffer], given_up: Iterable[int] = ()) -> tuple[Buffer, ...]:
        """The results, as buffers, for one buffer for each leaf of the parameters.

        given_up: the numbers of arguments that nobody needs any more, whose memory results may take.

        Raises TypeError and ValueError for buffers that are of another memory, or have other element types or dimensions.
        """
        given, addresses = self._given(arguments)
        device = self.device
        allocate, results = self._allocate, []
        run, taken = self._run, None
        if given_up and self._in_place:
            run, taken = self._run_over(given_up)
        try:
            for number, (shape, size) in enumerate(self._results):
                if taken is not None and number in taken:
                    argument = given[taken[number]]
                    results.append(DeviceBuffer(shape, argument.address, argument.owner, device))
                    addresses.append(argument.address)
                    continue
                block = allocate(size)
                results.append(DeviceBuffer(shape, block.address, block, device))
                addresses.append(block.address)
            # What uses it is in the queue before it is given to others.
            temporaries = allocate(self._temporary_bytes) if self._temporary_bytes else None
        except DeviceOutOfMemoryError as error:
            raise self._out_of_memory(error) from None
        addresses += (self._constants.address, 0 if temporaries is None else temporaries.address, 0)
        run.at(addresses)
        return tuple(results)

    def install(self, instance: Any, signature: Any, *, facts: Sequence[Any] = (), **options: Any) -> bool:
        """As `cpu.executable.NativeExecutable.install`; False where calls of the program do not bypass Python."""
        if kernel_time.seconds is not None or not self.reaches_arrays or not has_entry(self.program, self.device):
            return False
        if self._entry is None:
            self._entry = NativeEntry(self.module, self.program, self.device, self.memory, self._code, self._constants)
        return self._entry.install(instance, signature, facts, options)

    def _run_over(self, given_up: Iterable[int]) -> tuple[NativeRun, dict[int, int]]:
        """What runs the plan where these arguments are given up, and by results the arguments whose memory they take."""
        key = frozenset(given_up) & frozenset(self._in_place.values())
        found = self._runs_in_place.get(key)
        if found is None:
            program = self.program
            plan, taken = with_arguments_given_up(program.plan, self._in_place, key)
            run = NativeRun(self.device, plan, self._kernels, len(program.parameters), len(program.results))
            found = self._runs_in_place[key] = run, taken
        return found

    @property
    def takes_over_arguments(self) -> bool:
        """Whether results take the memory of arguments that are given up."""
        return bool(self._in_place)

    def _out_of_memory(self, error: DeviceOutOfMemoryError) -> DeviceOutOfMemoryError:
        shapes = ", ".join([f"{shape} ({size:,} bytes)" for shape, size in self._results]) or "nothing"
        needs = f"the results of {self.program.name} are {shapes}, its temporaries have {self._temporary_bytes:,} bytes"
        return DeviceOutOfMemoryError(f"{needs}: {error}")

    @property
    def optimized(self) -> Module:
        return self.program.optimized

    def as_text(self, form: str = "hlo") -> str:
        """The optimized module; "plan": what the host asks of the device; "llvm": the kernels; "assembly": their code.

        Raises ValueError for another form.
        """
        program = self.program
        forms = {
            "hlo": program.optimized.as_text,
            "plan": program.plan.as_text,
            "llvm": lambda: program.llvm_ir,
            "assembly": lambda: assembly(program.llvm_ir, program.target),
        }
        return text_in_form(form, forms)

    def memory_analysis(self) -> dict[str, int]:
        """Bytes of ``arguments``, ``results`` and ``temporaries`` (the arena that buffers share, and the slots of scalars)."""
        return {
            "arguments": sum(shape.byte_size for _, shape in self.program.parameters),
            "results": sum(shape.byte_size for shape in self.program.results),
            "temporaries": self.program.plan.temporary_bytes,
        }
