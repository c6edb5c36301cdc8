"""OpenCL: SPIR-V, by LLVM's SPIR-V target.

The functions are OpenCL C's, whose mangled names the target knows. Source: "OpenCL C 3.0 Specification", 6.15 (built-in
functions); LLVM's "User Guide for SPIR-V Target".
"""

from __future__ import annotations

import os

from llvmlite import ir

from ...cpu.target import Target as ProcessorTarget
from ...cpu.target import host_target, portable
from ...llvm.module import declaration
from ...llvm.types import I32, I64
from ..code_generation.spirv import compile_to_spirv, spirv_text
from ..drivers.driver import DeviceProperties
from ..family import Family
from ..given_code.forms import SPIRV_MODULE, SPIRV_TEXT
from ..target import AddressSpaces, Dimensions, Target

SPIRV = Family(
    name="spirv",
    backend="opencl",
    compile=compile_to_spirv,
    assembly=spirv_text,
    forms=(SPIRV_MODULE, SPIRV_TEXT),
    takes_numbers=False,
    takes_generic_pointers=False,
    shared_is_argument=True,
    hides_uniform_numbers=True,
)

_VARIABLE = "PHLOX_OPENCL_KERNELS"
_LOCAL_AND_GLOBAL_FENCE = 3
_LACKS = frozenset({"extrema", "saturation", "pointer vectors", "lane masks", "long vectors", "atomic loads"})
# The driver takes a microsecond for each pointer, to set it and to keep track of what it points to, and for a vector no longer.
_ARGUMENTS_TOGETHER = 16


def _reader(name: str):
    def read(builder: ir.IRBuilder, dimension: int) -> ir.Value:
        function = declaration(builder.module, name, I64, [I32])
        return builder.trunc(builder.call(function, [I32(dimension)]), I32)

    return read


def _block_behind_offset(builder: ir.IRBuilder, dimension: int) -> ir.Value:
    """Some of a launch's blocks, of one thread each, may be run apart, behind an offset, by which groups are not numbered."""
    names = ("_Z12get_group_idj", "_Z17get_global_offsetj")
    return builder.add(*[_reader(name)(builder, dimension) for name in names])


def _barrier(builder: ir.IRBuilder) -> None:
    function = declaration(builder.module, "_Z7barrierj", ir.VoidType(), [I32])
    function.attributes.add("convergent")
    builder.call(function, [I32(_LOCAL_AND_GLOBAL_FENCE)])


def _finish(function: ir.Function, block: Dimensions) -> None:
    function.set_metadata("reqd_work_group_size", function.module.add_metadata([I32(size) for size in block]))


def spirv_target(
    threads: int = 256,
    shared_bytes: int = 32 << 10,
    processor: ProcessorTarget | None = None,
    takes_intrinsics: bool = False,
) -> Target:
    """The target of OpenCL devices that take SPIR-V; of such a processor, where the device is one.

    takes_intrinsics: whether the driver makes instructions of the processor's of functions that SPIR-V imports under the names
        of LLVM's intrinsics.
    """
    return Target(
        family=SPIRV,
        architecture="",
        triple="spirv64-unknown-unknown",
        features="",
        calling_convention="spir_kernel",
        spaces=AddressSpaces(generic=4),
        sub_group=1,
        threads=threads,
        shared_bytes=shared_bytes,
        vector_bytes=16,
        thread_index=_reader("_Z12get_local_idj"),
        block_index=_reader("_Z12get_group_idj") if processor is None else _block_behind_offset,
        barrier=_barrier,
        finish=_finish,
        lacks=_LACKS if processor is None else _LACKS | {"integer quotients"},
        # A device may be a processor that runs the kernels of GPUs, and takes ten times as long for a barrier.
        phases=1 << 20 if processor is not None else 1 << 11,
        processor=None if processor is None else portable(processor, takes_intrinsics),
        arguments_together=1 if processor is None else _ARGUMENTS_TOGETHER,
    )


def spirv_target_of(device: DeviceProperties) -> Target:
    """What kernels for a device are generated for: those of processors, where it is one."""
    processor = host_target() if device.is_processor and not _runs_kernels_of_gpus() else None
    return spirv_target(processor=processor, takes_intrinsics=device.takes_intrinsics)


def _runs_kernels_of_gpus() -> bool:
    """Whether devices that are processors are to run the kernels of GPUs, as tests of these have it. Raises ValueError."""
    wanted = os.environ.get(_VARIABLE) or ""
    if wanted not in ("", "gpu"):
        raise ValueError(f"{_VARIABLE} requires 'gpu', or nothing; given {wanted!r}")
    return wanted == "gpu"
