"""NVIDIA: PTX, by LLVM's NVPTX target.

Source: PTX ISA 8.0; LLVM's "User Guide for NVPTX Back-end".
"""

from __future__ import annotations

from llvmlite import ir

from ...llvm.module import declaration
from ...llvm.types import I1, I32
from ..target import AddressSpaces, Dimensions, Target, intrinsic_index

_AXES = "xyz"
_FULL_MASK = -1
# Of shared memory, by architecture ("CUDA C++ Programming Guide", technical specifications); others have less.
_DYNAMIC_BYTES = {80: 163 << 10, 87: 163 << 10, 90: 227 << 10, 100: 227 << 10, 103: 227 << 10}


def _registers(kind: str) -> tuple[str, str, str]:
    return tuple(f"llvm.nvvm.read.ptx.sreg.{kind}.{axis}" for axis in _AXES)


def _barrier(builder: ir.IRBuilder) -> None:
    function = declaration(builder.module, "llvm.nvvm.barrier.cta.sync.aligned.all", ir.VoidType(), [I32])
    builder.call(function, [I32(0)])


def _shuffle_xor(builder: ir.IRBuilder, value: ir.Value, distance: int) -> ir.Value:
    function = declaration(builder.module, "llvm.nvvm.shfl.sync.bfly.i32", I32, [I32] * 4)
    return builder.call(function, [I32(_FULL_MASK), value, I32(distance), I32(31)])


def _shuffle(builder: ir.IRBuilder, value: ir.Value, lane: ir.Value) -> ir.Value:
    function = declaration(builder.module, "llvm.nvvm.shfl.sync.idx.i32", I32, [I32] * 4)
    return builder.call(function, [I32(_FULL_MASK), value, lane, I32(31)])


def _ballot(builder: ir.IRBuilder, condition: ir.Value) -> ir.Value:
    function = declaration(builder.module, "llvm.nvvm.vote.ballot.sync", I32, [I32, I1])
    return builder.call(function, [I32(_FULL_MASK), condition])


def _finish(function: ir.Function, block: Dimensions) -> None:
    sizes = ",".join(map(str, block))
    function.text_attributes = f'"nvvm.maxntid"="{sizes}"'


def _keep_resident(function: ir.Function, blocks: int) -> None:
    function.text_attributes += f' "nvvm.minctasm"="{blocks}"'


def nvptx_target(architecture: str = "sm_80", threads: int = 1024, shared_bytes: int = 48 << 10) -> Target:
    """The target of devices of this architecture, ``sm_80`` or later."""
    number = int("".join(filter(str.isdigit, architecture)))
    return Target(
        family="nvptx",
        architecture=architecture,
        triple="nvptx64-nvidia-cuda",
        features="+ptx80" if number >= 90 else "+ptx72",
        calling_convention="ptx_kernel",
        spaces=AddressSpaces(generic=0),
        sub_group=32,
        threads=threads,
        shared_bytes=shared_bytes,
        vector_bytes=16,
        thread_index=intrinsic_index(_registers("tid")),
        block_index=intrinsic_index(_registers("ctaid")),
        barrier=_barrier,
        finish=_finish,
        shuffle_xor=_shuffle_xor,
        shuffle=_shuffle,
        ballot=_ballot,
        keep_resident=_keep_resident,
        dynamic_bytes=_DYNAMIC_BYTES.get(number, 99 << 10),
        block_scope="block",
    )
