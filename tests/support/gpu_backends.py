"""The GPU backends in tests: on which devices programs run, and code that is made without a device."""

import functools
import sys

import pytest
from fiber_family import register_fibers
from nvidia_emulator.cuda import EmulatedCuda
from operation_checks import gap_rows, module_of
from phlox.backends.cpu.target import host_target
from phlox.backends.gpu import backend as gpu_backend
from phlox.backends.gpu.drivers.available import find_driver
from phlox.backends.gpu.drivers.cuda import CudaDriver
from phlox.backends.gpu.drivers.hip import HipDriver
from phlox.backends.gpu.memory_pool import MemoryPool
from phlox.backends.gpu.plan import Launch
from phlox.backends.gpu.targets.amdgpu import amdgpu_target
from phlox.backends.gpu.targets.nvptx import nvptx_target
from phlox.backends.gpu.targets.spirv import spirv_target
from phlox.backends.registry import BackendUnavailableError, get_backend
from phlox.hlo import OPERATIONS, parse_module

# Where tests run programs: OpenCL, also on processors; kernels of GPUs in machine code of this one; and the devices that
# `pytest -m gpu` is for.
DEVICES = ["opencl", "fibers", *[pytest.param(name, marks=pytest.mark.gpu) for name in ("cuda", "rocm")]]

PTX_ARCHITECTURES = ("sm_80", "sm_90a")
AMD_ARCHITECTURES = ("gfx90a", "gfx942", "gfx1100")

register_fibers()

WITH_SAMPLES = [opcode for opcode, record in OPERATIONS.items() if record.samples()]


def target(architecture):
    """The target of this architecture, "" that of SPIR-V."""
    if not architecture:
        return spirv_target()
    return (amdgpu_target if architecture.startswith("gfx") else nvptx_target)(architecture)


def backend_or_skip(name):
    """The backend; skips the test, with the reason, where its driver or a device is not there."""
    try:
        return get_backend(name)
    except BackendUnavailableError as error:
        pytest.skip(str(error))


def compiled(backend, instructions):
    """The executable of a program whose entry has these instructions."""
    return backend.compile(parse_module(f"HloModule m\nENTRY e {{\n{instructions}\n}}"))


def launched(executable):
    """The names of the kernels that a plan without loops launches, in order."""
    return [step.kernel for step in executable.program.plan.steps if isinstance(step, Launch)]


@functools.cache
def _processor_backend():
    driver = find_driver("opencl")
    for number, properties in enumerate(driver.devices()):
        if properties.is_processor:
            target = spirv_target(processor=host_target(), takes_intrinsics=properties.takes_intrinsics)
            return gpu_backend.GpuBackend("opencl", driver.open(number), target, number)
    return None


def processor_backend():
    """The backend of an OpenCL device that is a processor, with the kernels of these; skips the test where there is none."""
    backend_or_skip("opencl")
    backend = _processor_backend()
    return backend if backend is not None else pytest.skip("no OpenCL device is a processor")


class _BlockByItself:
    """Memory of its own, of which the driver knows then what lies outside of it."""

    def __init__(self, device, size):
        self.device, self.address, self.size = device, device.allocate(size), size

    def __del__(self):
        if not sys.is_finalizing():  # when the driver's module may be gone
            self.device.free(self.address)


class _BlocksByThemselves(MemoryPool):
    def allocate(self, size):
        return _BlockByItself(self.device, size)


_emulated = {}


def emulated_backend(architecture):
    """The backend of an emulated device behind its vendor's driver, another one once a kernel has failed.

    Skips the test where the tables of AMD's instructions are not installed.
    """
    library, backend = _emulated.get(architecture, (None, None))
    if library is None or library.failure is not None:
        if architecture.startswith("gfx"):
            library, driver, name = _emulated_hip(architecture), HipDriver, "rocm"
        else:
            library, driver, name = EmulatedCuda(architecture), CudaDriver, "cuda"
        device = driver(library).open(0)
        backend = gpu_backend.GpuBackend(name, device, gpu_backend.TARGET_OF[name](device.properties))
        backend.memory.pool = _BlocksByThemselves(device)
        _emulated[architecture] = library, backend
    return backend


def emulated_failure(architecture):
    """What went wrong in a kernel on the emulated device, None if nothing did."""
    return _emulated[architecture][0].failure


def _emulated_hip(architecture):
    pytest.importorskip("tinygrad", reason="tinygrad, whose tables the emulator of AMD's devices reads, is not installed")
    from amd_emulator.hip import EmulatedHip  # which needs them

    return EmulatedHip(architecture)


def operations_without_gpu_code():
    """Those that docs/gaps.md lists for the GPU backends."""
    return {name.strip("`") for name, backend, *_ in gap_rows("Operations") if backend == "gpu"}


def types_without_gpu_code():
    return {name for names, backend in gap_rows("Element types") if backend == "gpu" for name in names.replace("`", "").split()}


@functools.cache
def native_samples(opcode):
    """The operation's samples that the GPU backends have code for."""
    samples = OPERATIONS[opcode].samples()
    return (
        samples if opcode not in operations_without_gpu_code() else [one for one in samples if refusal(opcode, [one]) is None]
    )


def refusal(opcode, samples):
    """The message with which a program of these samples is refused; None if it is not. Nothing is compiled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gpu_backend, "compile_kernels", lambda llvm_ir, target: b"")
        try:
            gpu_backend.program_of(module_of(opcode, samples)[0], spirv_target())
        except NotImplementedError as error:
            return str(error)
    return None
