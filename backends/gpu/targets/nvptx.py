"""NVIDIA: PTX, by LLVM's NVPTX target.

Source: PTX ISA 8.1; LLVM's "User Guide for NVPTX Back-end".
"""

from __future__ import annotations

from llvmlite import ir

from ....hlo import ElementType
from ...llvm.module import declaration
from ...llvm.types import I1, I16, I32, I64
from ..code_generation.ptx import compile_to_ptx, ptx_text
from ..drivers.driver import DeviceProperties
from ..errors import DriverUnavailableError
from ..family import Family
from ..given_code.forms import CUBIN, NVIDIA_FAT_BINARY, PTX_TEXT
from ..kernels.warp_product import WARP_UNITS
from ..target import AddressSpaces, AtomicAdd, Dimensions, Target, intrinsic_index

NVPTX = Family(
    name="nvptx",
    backend="cuda",
    compile=compile_to_ptx,
    assembly=ptx_text,
    forms=(CUBIN, NVIDIA_FAT_BINARY, PTX_TEXT),
    matrix_units=WARP_UNITS,
    is_text=True,
    sort_bytes=32 << 10,
)

_AXES = "xyz"
# PTX ISA, "rcp.approx.ftz" and "rsqrt.approx.ftz": relative errors of 2**-23 and 2**-22.9.
_APPROXIMATIONS = {"reciprocal": "llvm.nvvm.rcp.approx.ftz.f", "reciprocal root": "llvm.nvvm.rsqrt.approx.ftz.f"}
# "rcp.approx.ftz.f64" looks at 20 bits of a number and gives as many. "CUDA C++ Programming Guide", throughput of arithmetic
# instructions: these architectures compute half as many doubles as floats, others a thirty-second or a sixty-fourth.
_APPROXIMATIONS_OF_DOUBLES = {"reciprocal of doubles": "llvm.nvvm.rcp.approx.ftz.d"}
_HAVE_FAST_DOUBLES = frozenset({80, 90, 100})
_FULL_MASK = -1
# Of shared memory, by architecture ("CUDA C++ Programming Guide", technical specifications); others have less.
_DYNAMIC_BYTES = {80: 163 << 10, 87: 163 << 10, 90: 227 << 10, 100: 227 << 10, 103: 227 << 10}
# PTX ISA, release notes: the version that has an architecture, or all that kernels for it use. LLVM ends the process over an
# earlier one, and takes an architecture that it does not know for its oldest.
_PTX_VERSIONS = {
    80: 72, 86: 72, 87: 74, 88: 90, 89: 78, 90: 81, 100: 86, 103: 88, 110: 90, 120: 87, 121: 88,
}  # fmt: skip
_FIRST = min(_PTX_VERSIONS)


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


# PTX ISA, "red": f32 in global memory is flushed, f16 and bf16 are not; vectors are from sm_90 on.
_ATOMIC_ADDS = {"f32": AtomicAdd(flushes=True), "f64": AtomicAdd(), "f16": AtomicAdd((2,))}
_ATOMIC_ADDS_OF_90 = _ATOMIC_ADDS | {
    "f32": AtomicAdd((1, 2, 4), flushes=True),
    "f16": AtomicAdd((2, 4, 8)),
    "bf16": AtomicAdd((2, 4, 8)),
}


def _add_atomically(builder: ir.IRBuilder, element_type: ElementType, address: ir.Value, parts: list[ir.Value]) -> None:
    if len(parts) == 1:
        builder.atomic_rmw("fadd", address, parts[0], 'syncscope("device") monotonic')
        return
    kind, letter, words = "f32", "f", parts
    if element_type.bits == 16:
        kind, letter = f"{element_type.name}x2", "r"
        words = [_pair(builder, *parts[at : at + 2]) for at in range(0, len(parts), 2)]
    many = f".v{len(words)}" if len(words) > 1 else ""
    names = ", ".join(f"${number + 1}" for number in range(len(words)))
    names = f"{{{names}}}" if len(words) > 1 else names
    rounding = "" if kind == "f32" else ".noftz"
    place = builder.ptrtoint(builder.addrspacecast(address, ir.PointerType(addrspace=1)), I64)
    function = ir.FunctionType(ir.VoidType(), [I64, *[word.type for word in words]])
    text = f"red.relaxed.gpu.global.add{rounding}{many}.{kind} [$0], {names};"
    constraints = ",".join(["l", *[letter] * len(words), "~{memory}"])
    builder.asm(function, text, constraints, [place, *words], side_effect=True)


def _pair(builder: ir.IRBuilder, first: ir.Value, second: ir.Value) -> ir.Value:
    bits = [value if value.type == I16 else builder.bitcast(value, I16) for value in (first, second)]
    low, high = (builder.zext(value, I32) for value in bits)
    return builder.or_(low, builder.shl(high, I32(16)))


def _keep_resident(function: ir.Function, blocks: int) -> None:
    function.text_attributes += f' "nvvm.minctasm"="{blocks}"'


def nvptx_target(architecture: str = "sm_80", threads: int = 1024, shared_bytes: int = 48 << 10) -> Target:
    """The target of devices of this architecture, one of those that LLVM knows from ``sm_80`` on."""
    number = _number(architecture)
    return Target(
        family=NVPTX,
        architecture=architecture,
        triple="nvptx64-nvidia-cuda",
        features=f"+ptx{_PTX_VERSIONS[number]}",
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
        atomic_adds=_ATOMIC_ADDS_OF_90 if number >= 90 else _ATOMIC_ADDS,
        add_atomically=_add_atomically,
        approximations=_APPROXIMATIONS | (_APPROXIMATIONS_OF_DOUBLES if number in _HAVE_FAST_DOUBLES else {}),
        has_float_extrema=True,  # from sm_80 on
    )


def nvptx_target_of(device: DeviceProperties) -> Target:
    """What kernels for a device are generated for: the last architecture that LLVM knows whose code it runs.

    Raises DriverUnavailableError where that is too old.
    """
    number = _number(device.architecture)
    if number < _FIRST:
        raise DriverUnavailableError(
            f"{device.name} is of the architecture {device.architecture}; kernels are made for sm_{_FIRST} and later ones"
        )
    known = max(one for one in _PTX_VERSIONS if one <= number)
    # What this one alone has is in code for it under another name.
    return nvptx_target("sm_90a" if number == 90 else f"sm_{known}")


def _number(architecture: str) -> int:
    return int("".join(filter(str.isdigit, architecture)))
