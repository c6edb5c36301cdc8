"""AMD: code objects, by LLVM's AMDGPU target.

Source: LLVM's "User Guide for AMDGPU Backend".
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from ....hlo import BF16, ElementType
from ...llvm.module import declaration
from ...llvm.types import I1, I32, vector_of_values
from ..code_generation.code_object import link_code_object
from ..code_generation.lane_negations import with_lane_negations
from ..code_generation.optimized_modules import assembly_text, object_code
from ..drivers.driver import DeviceProperties
from ..errors import DriverUnavailableError
from ..family import Family
from ..given_code.forms import CODE_OBJECT
from ..kernels.wave_product import WAVE_UNITS
from ..target import AddressSpaces, AtomicAdd, Dimensions, Target, intrinsic_index

AMDGPU = Family(
    name="amdgpu",
    backend="rocm",
    compile=lambda llvm_ir, target, is_trusted: link_code_object(object_code(llvm_ir, target, is_trusted)),
    assembly=assembly_text,
    forms=(CODE_OBJECT,),
    matrix_units=WAVE_UNITS,
    rewrite=with_lane_negations,
)

_AXES = "xyz"
_WAVEFRONT_OF_64 = ("gfx9",)
_WITH_ACCUMULATORS = ("gfx90a", "gfx94")
# That of LLVM itself is 6, which drivers before 2024 refuse; it has nothing else that is used here.
_CODE_OBJECT_VERSION = ("amdhsa_code_object_version", 500)


def _names(kind: str) -> tuple[str, str, str]:
    return tuple(f"llvm.amdgcn.{kind}.id.{axis}" for axis in _AXES)


class _LocalFence(ir.instructions.Fence):
    """A fence for the block's memory alone. Those of llvmlite have no metadata, which says so."""

    def descr(self, buf: list[str]) -> None:
        start = len(buf)
        super().descr(buf)
        tag = self.module.add_metadata(["amdgpu-synchronize-as", "local"])
        buf[start] = f"{buf[start].rstrip()}, !mmra {tag.get_reference()}\n"


def _barrier(builder: ir.IRBuilder) -> None:
    builder.fence("release", "workgroup")
    builder.call(declaration(builder.module, "llvm.amdgcn.s.barrier", ir.VoidType(), []), [])
    builder.fence("acquire", "workgroup")


def _shared_barrier(builder: ir.IRBuilder) -> None:
    block, first = builder.block, len(builder.block.instructions)
    _barrier(builder)
    for place, instruction in enumerate(block.instructions[first:], first):
        if isinstance(instruction, ir.instructions.Fence):
            block.instructions[place] = _LocalFence(block, instruction.ordering, instruction.targetscope)


def _lane(builder: ir.IRBuilder) -> ir.Value:
    low = declaration(builder.module, "llvm.amdgcn.mbcnt.lo", I32, [I32, I32])
    high = declaration(builder.module, "llvm.amdgcn.mbcnt.hi", I32, [I32, I32])
    return builder.call(high, [I32(-1), builder.call(low, [I32(-1), I32(0)])])


def _shuffle(builder: ir.IRBuilder, value: ir.Value, lane: ir.Value) -> ir.Value:
    permute = declaration(builder.module, "llvm.amdgcn.ds.bpermute", I32, [I32, I32])
    return builder.call(permute, [builder.shl(lane, I32(2)), value])


def _shuffle_xor(builder: ir.IRBuilder, value: ir.Value, distance: int) -> ir.Value:
    return _shuffle(builder, value, builder.xor(_lane(builder), I32(distance)))


def _ballot(bits: int) -> Callable[[ir.IRBuilder, ir.Value], ir.Value]:
    def ballot(builder: ir.IRBuilder, condition: ir.Value) -> ir.Value:
        mask = ir.IntType(bits)
        return builder.call(declaration(builder.module, f"llvm.amdgcn.ballot.i{bits}", mask, [I1]), [condition])

    return ballot


class _BFloat(ir.Type):
    def _to_string(self) -> str:
        return "bfloat"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _BFloat)

    def __hash__(self) -> int:
        return hash(_BFloat)


# What has no instruction, or one that makes zeros of subnormal numbers and has no others beside it, is exchanged.
_ATOMIC_ADDS = {
    "gfx90a": {"f32": AtomicAdd(flushes=True), "f64": AtomicAdd(), "f16": AtomicAdd((2,))},
    "gfx942": {"f32": AtomicAdd(), "f64": AtomicAdd(), "f16": AtomicAdd((2,)), "bf16": AtomicAdd((2,))},
    "gfx1100": {"f32": AtomicAdd()},
}
# What arrays lie in: memory of the device itself, which no other one changes meanwhile. In other memory only some atomic
# instructions work; for all else, as the larger of two integers, LLVM then writes loops that compare and exchange.
_OF_THE_DEVICE = ("amdgpu.no.fine.grained.memory", "amdgpu.no.remote.memory")


def _add_atomically(architecture: str):
    flushes = [name for name, add in _ATOMIC_ADDS.get(architecture, {}).items() if add.flushes]

    def add(builder: ir.IRBuilder, element_type: ElementType, address: ir.Value, parts: list[ir.Value]) -> None:
        value = vector_of_values(builder, parts)
        if element_type is BF16:  # always a pair, of integers
            value = builder.bitcast(value, ir.VectorType(_BFloat(), 2))
        added = builder.atomic_rmw("fadd", address, value, 'syncscope("agent") monotonic')
        ignored = ("amdgpu.ignore.denormal.mode",) if element_type.name in flushes else ()
        for name in (*_OF_THE_DEVICE, *ignored):
            added.set_metadata(name, builder.module.add_metadata([]))

    return add


def _finish(function: ir.Function, block: Dimensions) -> None:
    threads = block[0] * block[1] * block[2]
    function.text_attributes = f'"amdgpu-flat-work-group-size"="{threads},{threads}"'


def amdgpu_target(architecture: str = "gfx942", threads: int = 1024, shared_bytes: int = 64 << 10) -> Target:
    """The target of devices of this architecture: ``gfx90a``, ``gfx942``, ``gfx1100``."""
    sub_group = 64 if architecture.startswith(_WAVEFRONT_OF_64) else 32
    return Target(
        family=AMDGPU,
        architecture=architecture,
        triple="amdgcn-amd-amdhsa",
        features="",
        calling_convention="amdgpu_kernel",
        spaces=AddressSpaces(generic=0, private=5),
        sub_group=sub_group,
        threads=threads,
        shared_bytes=shared_bytes,
        vector_bytes=16,
        thread_index=intrinsic_index(_names("workitem")),
        block_index=intrinsic_index(_names("workgroup")),
        barrier=_barrier,
        finish=_finish,
        shuffle_xor=_shuffle_xor,
        shuffle=_shuffle,
        ballot=_ballot(sub_group),
        device_scope="agent",
        registers=256,
        sum_registers=256 if architecture.startswith(_WITH_ACCUMULATORS) else 0,
        shared_barrier=_shared_barrier,
        atomic_adds=_ATOMIC_ADDS.get(architecture, {}),
        add_atomically=_add_atomically(architecture),
        lacks=frozenset({"unoptimized calls"}),
        module_flags=(_CODE_OBJECT_VERSION,),
        atomic_metadata=_OF_THE_DEVICE,
        grid_threads=1 << 32,  # the packet of a dispatch counts work-items, in words
    )


def amdgpu_target_of(device: DeviceProperties) -> Target:
    """What kernels for a device are generated for: code for any setting of its features.

    Raises DriverUnavailableError where waves are not as wide as code would have them.
    """
    target = amdgpu_target(device.architecture.partition(":")[0])
    if not target.architecture or target.sub_group != device.sub_group:
        raise DriverUnavailableError(
            f"{device.name} is of the architecture {device.architecture or 'without a name'}, with waves of {device.sub_group} "
            "lanes; kernels are made for gfx9 with 64 lanes, and for later ones with 32"
        )
    return target
