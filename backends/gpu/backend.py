"""A GPU backend: HLO modules to kernels and a plan, for the devices of one driver."""

from __future__ import annotations

import os
from functools import cache

from ...compile.buffer_assignment import assign_buffers
from ...compile.dynamic_padding import PaddedModule
from ...compile.pass_manager import Step, run_steps
from ...hlo import Module, Shape, array_leaves
from ...hlo.address_space import check_address_space
from ...runtime.locks import compilation_lock
from ...runtime.progress import Progress
from ..arguments import parameter_leaves
from ..cpu.target import host_target
from ..padding import padding_of
from ..requirements import require_runnable
from .code import compile_kernels
from .drivers.available import find_driver, unavailable_drivers
from .drivers.driver import Device, DeviceProperties
from .dynamic_shapes import PaddedExecutable
from .emitter_table import scratch_bytes_on
from .errors import DriverUnavailableError
from .executable import GpuExecutable
from .fewer_launches import in_fewer_launches
from .frame import ALIGNMENT, Frame
from .memory import GpuMemory
from .pipeline import PIPELINE, PROCESSOR_PIPELINE
from .program import GpuProgram
from .support import support
from .target import Target
from .targets.amdgpu import amdgpu_target
from .targets.nvptx import nvptx_target
from .targets.spirv import spirv_target

_VARIABLE = "PHLOX_OPENCL_KERNELS"


class GpuBackend:
    """Compiles modules for a device."""

    def __init__(self, name: str, device: Device, target: Target, number: int = 0) -> None:
        self.name, self.device, self.target = name, device, target
        self.memory = GpuMemory(f"{name}:{number}", device)
        self.properties, self.pipeline = device.properties, pipeline_of(target)

    def compile(self, module: Module) -> GpuExecutable | PaddedExecutable:
        """The module, optimized and compiled.

        Raises NotImplementedError, naming it, for an operation or element type without code, and hlo.AddressSpaceError for
        arrays that no memory can hold.
        """
        require_runnable(module)
        check_address_space(module)
        with compilation_lock, Progress(module.name, "optimizing"):
            executable = GpuExecutable(module, program_of(module, self.target), self.device, self.memory)
        padding = executable.program.padding
        return executable if padding is None else PaddedExecutable(executable, padding)

    def support(self, opcode: str) -> str | None:
        return support(opcode)


def pipeline_of(target: Target) -> tuple[Step, ...]:
    """What is done to a program before it becomes kernels for a target."""
    return PIPELINE if target.processor is None else PROCESSOR_PIPELINE


def program_of(module: Module, target: Target) -> GpuProgram:
    """The kernels of a module and its plan."""
    steps = dict(run_steps(module, pipeline_of(target)))
    native, prepared = steps["pad-dynamic-dimensions"], steps["insert-copies"]
    assignment = assign_buffers(prepared, scratch_bytes_on(target), ALIGNMENT)
    frame = Frame(prepared, assignment, target)
    plan = frame.emit() if target.processor is None else frame.emit(in_fewer_launches)
    llvm_ir = str(frame.kernels.llvm)
    padding = padding_of(module, native) if isinstance(native, PaddedModule) else None
    native = module if padding is None else native
    return GpuProgram(
        name=module.name,
        target=target,
        optimized=prepared,
        plan=plan,
        llvm_ir=llvm_ir,
        code=compile_kernels(llvm_ir, target) if frame.kernels.names else b"",
        kernels=tuple(frame.kernels.names),
        custom_kernels=frame.custom_kernels,
        parameters=tuple(parameter_leaves(native)),
        results=tuple([Shape(shape.element_type, shape.dimensions) for shape in array_leaves(native.entry.shape)]),
        padding=padding,
    )


# What "gpu" stands for: the first of these that has a device.
_PREFERRED = ("cuda", "rocm", "opencl")


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
    for preferred in _PREFERRED:
        if preferred not in reasons:
            return preferred
    raise DriverUnavailableError("; ".join([f"{driver}: {reason}" for driver, reason in reasons.items()]))


@cache
def _backend(name: str, number: int) -> GpuBackend:
    driver = find_driver(name)
    device = driver.open(number)
    return GpuBackend(name, device, target_of(driver.family, device.properties), number)


def target_of(family: str, properties: DeviceProperties) -> Target:
    """What kernels for a device are generated for."""
    if family == "nvptx":
        # What this one alone has is in code for it under another name.
        name = "sm_90a" if properties.architecture == "sm_90" else properties.architecture
        return nvptx_target(name)
    if family == "amdgpu":
        return amdgpu_target(properties.architecture.partition(":")[0])  # code for any setting of its features
    processor = host_target() if properties.is_processor and not _runs_kernels_of_gpus() else None
    return spirv_target(processor=processor, takes_intrinsics=properties.takes_intrinsics)


def _runs_kernels_of_gpus() -> bool:
    """Whether devices that are processors are to run the kernels of GPUs, as tests of these have it. Raises ValueError."""
    wanted = os.environ.get(_VARIABLE) or ""
    if wanted not in ("", "gpu"):
        raise ValueError(f"{_VARIABLE} requires 'gpu', or nothing; given {wanted!r}")
    return wanted == "gpu"
