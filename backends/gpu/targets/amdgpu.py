"""AMD: code objects, by LLVM's AMDGPU target.

Source: LLVM's "User Guide for AMDGPU Backend".
"""

from __future__ import annotations

from llvmlite import ir

from ...llvm.module import declaration
from ...llvm.types import I32
from ..target import AddressSpaces, Dimensions, Target, intrinsic_index

_AXES = "xyz"
_WAVEFRONT_OF_64 = ("gfx9",)
_WITH_ACCUMULATORS = ("gfx90a", "gfx94")


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


def _shuffle_xor(builder: ir.IRBuilder, value: ir.Value, distance: int) -> ir.Value:
    permute = declaration(builder.module, "llvm.amdgcn.ds.bpermute", I32, [I32, I32])
    other = builder.xor(_lane(builder), I32(distance))
    return builder.call(permute, [builder.shl(other, I32(2)), value])


def _finish(function: ir.Function, block: Dimensions) -> None:
    threads = block[0] * block[1] * block[2]
    function.text_attributes = f'"amdgpu-flat-work-group-size"="{threads},{threads}"'


def amdgpu_target(architecture: str = "gfx942", threads: int = 1024, shared_bytes: int = 64 << 10) -> Target:
    """The target of devices of this architecture: ``gfx90a``, ``gfx942``, ``gfx1100``."""
    return Target(
        family="amdgpu",
        architecture=architecture,
        triple="amdgcn-amd-amdhsa",
        features="",
        calling_convention="amdgpu_kernel",
        spaces=AddressSpaces(generic=0, private=5),
        sub_group=64 if architecture.startswith(_WAVEFRONT_OF_64) else 32,
        threads=threads,
        shared_bytes=shared_bytes,
        vector_bytes=16,
        thread_index=intrinsic_index(_names("workitem")),
        block_index=intrinsic_index(_names("workgroup")),
        barrier=_barrier,
        finish=_finish,
        shuffle_xor=_shuffle_xor,
        device_scope="agent",
        registers=256,
        sum_registers=256 if architecture.startswith(_WITH_ACCUMULATORS) else 0,
        shared_barrier=_shared_barrier,
    )
