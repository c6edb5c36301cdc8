"""A GPU backend: HLO modules to kernels and a plan, for the devices of one driver."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

from ...compile.buffer_assignment import assign_buffers
from ...compile.dynamic_padding import PaddedModule
from ...compile.pass_manager import Step, run_steps
from ...hlo import Module, Shape, array_leaves
from ...hlo.address_space import check_address_space
from ...runtime.garbage import rare_collections
from ...runtime.locks import compilation_lock
from ...runtime.progress import Progress
from ..arguments import parameter_leaves
from ..llvm.module import written_out
from ..padding import padding_of
from ..requirements import require_runnable
from .code_generation.compiling import compile_kernels
from .drivers.available import DRIVERS, find_driver, unavailable_drivers
from .drivers.driver import Device, DeviceProperties
from .dynamic_shapes import PaddedExecutable
from .emitter_table import scratch_bytes_on
from .errors import DriverUnavailableError
from .executable import GpuExecutable
from .fewer_launches import in_fewer_launches
from .frame import ALIGNMENT, Frame, is_deterministic
from .host_programs import HostExecutable, is_for_the_host
from .host_runs import HostRuns
from .kept_code import kept_program
from .kernels.contraction import runs_on_units
from .memory import GpuMemory
from .narrow_factors import MULTIPLY_NARROW_FACTORS, narrow_factors_pass
from .persistent import loops_in_kernels
from .pipeline import PIPELINE, PROCESSOR_PIPELINE
from .plan import Plan
from .plan import Step as PlanStep
from .program import GpuProgram, Texts
from .support import support
from .target import Target
from .targets.amdgpu import amdgpu_target_of
from .targets.nvptx import nvptx_target_of
from .targets.spirv import spirv_target_of

# What kernels for a device are generated for, by the name of its driver.
TARGET_OF: dict[str, Callable[[DeviceProperties], Target]] = {
    "cuda": nvptx_target_of,
    "rocm": amdgpu_target_of,
    "opencl": spirv_target_of,
}


class GpuBackend:
    """Compiles modules for a device.

    has_host: whether programs for one thread run as code of the host, on arrays there, where the device is the processor.
    """

    is_deterministic = False

    def __init__(self, name: str, device: Device, target: Target, number: int = 0, has_host: bool = False) -> None:
        self.name, self.device, self.target = name, device, target
        self._has_host = has_host and target.processor is not None and device.properties.reaches_host
        self.memory = GpuMemory(f"{name}:{number}", device)
        self.properties, self.pipeline = device.properties, pipeline_of(target)

    def compile(self, module: Module) -> GpuExecutable | PaddedExecutable | HostExecutable:
        """The module, optimized and compiled.

        Raises NotImplementedError, naming it, for an operation or element type without code, and hlo.AddressSpaceError for
        arrays that no memory can hold.
        """
        if self._has_host and is_for_the_host(module):
            return HostExecutable(module, self._as_kernels, self.memory)
        return self._as_kernels(module)

    def compile_for_buffers(self, module: Module) -> GpuExecutable | PaddedExecutable | HostExecutable:
        """Likewise, for arrays that lie on the device."""
        return self.compile(module) if HostRuns.may_be_of(module, self.device) else self._as_kernels(module)

    def _as_kernels(self, module: Module) -> GpuExecutable | PaddedExecutable:
        require_runnable(module)
        check_address_space(module)
        with compilation_lock, Progress(module.name, "optimizing"), rare_collections():
            program = kept_program(module, self.target, program_of, _texts_of)
            executable = GpuExecutable(module, program, self.device, self.memory)
        padding = executable.program.padding
        return executable if padding is None else PaddedExecutable(executable, padding, self._as_kernels)

    def support(self, opcode: str) -> str | None:
        return support(opcode)


class _Written(NamedTuple):
    """A module as kernels and a plan; ``native`` is the module, or the padded one in its place."""

    native: Module
    optimized: Module
    frame: Frame
    plan: Plan
    llvm_ir: str

    def texts(self) -> Texts:
        return Texts(self.optimized, zlib.compress(self.llvm_ir.encode(), 1))


def pipeline_of(target: Target) -> tuple[Step, ...]:
    """What is done to a program before it becomes kernels for a target."""
    if target.processor is not None:
        return PROCESSOR_PIPELINE
    narrow_factors = narrow_factors_pass(partial(runs_on_units, target))
    return tuple([narrow_factors if step is MULTIPLY_NARROW_FACTORS else step for step in PIPELINE])


def program_of(module: Module, target: Target) -> GpuProgram:
    """The kernels of a module and its plan."""
    written = _written(module, target)
    frame, texts = written.frame, written.texts()
    padding = padding_of(module, written.native) if isinstance(written.native, PaddedModule) else None
    native = module if padding is None else written.native
    return GpuProgram(
        name=module.name,
        target=target,
        plan=written.plan,
        code=compile_kernels(written.llvm_ir, target) if frame.kernels.names else b"",
        kernels=tuple(frame.kernels.names),
        custom_kernels=frame.custom_kernels,
        parameters=tuple(parameter_leaves(native)),
        results=tuple([Shape(shape.element_type, shape.dimensions) for shape in array_leaves(native.entry.shape)]),
        padding=padding,
        texts=lambda: texts,
    )


def _texts_of(module: Module, target: Target) -> Texts:
    with compilation_lock:
        return _written(module, target).texts()


def _written(module: Module, target: Target) -> _Written:
    """Optimized, and as LLVM assembly."""
    steps = dict(run_steps(module, pipeline_of(target)))
    prepared = steps["insert-copies"]
    scratch = scratch_bytes_on(target, is_deterministic(prepared))
    frame = Frame(prepared, assign_buffers(prepared, scratch, ALIGNMENT), target)
    plan = frame.emit(_arranged)
    return _Written(steps["pad-dynamic-dimensions"], prepared, frame, plan, written_out(frame.kernels.llvm))


def _arranged(frame: Frame, steps: list[PlanStep]) -> list[PlanStep]:
    """The steps of a plan with fewer launches."""
    if frame.target.processor is not None:
        steps = in_fewer_launches(frame, steps)
    return loops_in_kernels(frame, steps)


def backend_of_driver(name: str, number: int = 0) -> GpuBackend:
    """The backend for a driver's device of this number, the same object each time.

    Raises DriverUnavailableError where the driver is not there.
    """
    return _backend(_driver_meant(name), number)


def device_count(name: str) -> int:
    """How many devices a driver has; none where it is not there."""
    try:
        return len(find_driver(_driver_meant(name)).devices())
    except DriverUnavailableError:
        return 0


def _driver_meant(name: str) -> str:
    if name != "gpu":
        return name
    reasons = unavailable_drivers()
    for driver in DRIVERS:
        if driver not in reasons:
            return driver
    raise DriverUnavailableError("; ".join([f"{driver}: {reason}" for driver, reason in reasons.items()]))


@cache
def _backend(name: str, number: int) -> GpuBackend:
    device = find_driver(name).open(number)
    return GpuBackend(name, device, TARGET_OF[name](device.properties), number, has_host=True)
