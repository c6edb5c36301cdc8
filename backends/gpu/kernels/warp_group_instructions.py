"""Products of small matrices by four warps together, from the block's memory, while these go on: `wgmma`, of sm_90a alone.

Source: PTX ISA 8.0, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions".
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from ....hlo import BF16, F16, F32, S8
from ...llvm.types import I64
from .warp_instructions import WarpInstruction

WARPS = 4
ROWS = 64  # of the left operand, 16 a warp
_STEP_BYTES = 32  # of the terms that an instruction takes
_MEMORY = "~{memory}"
# Descriptors: addresses and distances are in units of 16 bytes.
_LEADING, _STRIDE, _LAYOUT = 16, 32, 62
_RUNS_OF_128_BYTES = 1
_GROUP_BYTES = 1024  # eight runs


def has_group_instruction(architecture: str, instruction: WarpInstruction, are_by_terms: tuple[bool, bool]) -> bool:
    """Whether warps can multiply such tiles together: terms lie side by side, or are 16 bits wide."""
    operand = instruction.operand
    if "s8.u8" in instruction.name or "u8.s8" in instruction.name:  # of PTX 8.4
        return False
    return architecture == "sm_90a" and (operand in (BF16, F16) or (operand in (S8, F32) and all(are_by_terms)))


def describe(b: ir.IRBuilder, address: ir.Value, is_by_terms: bool, panel_bytes: int) -> ir.Value:
    """A tile of `warp_tiles`, for instructions, at an address in the block's memory, i32."""
    leading = 1 if is_by_terms else panel_bytes >> 4
    constant = (leading << _LEADING) | (_GROUP_BYTES >> 4 << _STRIDE) | (_RUNS_OF_128_BYTES << _LAYOUT)
    return b.or_(b.zext(b.lshr(address, address.type(4)), I64), I64(constant - (1 << 64) if constant >> 63 else constant))


def step_offset(is_by_terms: bool, element_bytes: int) -> int:
    """How far apart the steps of a tile are, as descriptors count."""
    return _STEP_BYTES >> 4 if is_by_terms else _STEP_BYTES // element_bytes * 128 >> 4


def multiply_tiles(
    b: ir.IRBuilder, instruction: WarpInstruction, columns: int, steps: int, descriptors: tuple[ir.Value, ir.Value],
    are_by_terms: tuple[bool, bool], sums: Sequence[ir.Value],
) -> list[ir.Value]:  # fmt: skip
    """Begin to add the products of all steps of two tiles to the sums, which are valid after `wait_for_products`."""
    sum_type, constraint = instruction.sum_register
    count = len(sums)
    registers = ", ".join(f"${number}" for number in range(count))
    bytes_of_element = instruction.operand.byte_size
    shape, _, _, sum_kind, left_kind, right_kind, _ = instruction.name.split(".")
    terms = shape.rpartition("k")[2]
    name = f"wgmma.mma_async.sync.aligned.m64n{columns}k{terms}.{sum_kind}.{left_kind}.{right_kind}"
    transposed = "".join(f", {int(not one)}" for one in are_by_terms) if bytes_of_element == 2 else ""
    signs = ", 1, 1" if instruction.sums.is_float else ""
    lines = [
        "{ .reg .pred added; .reg .b32 one; .reg .b64 left, right; mov.b32 one, 1; setp.ne.b32 added, one, 0;",
        "wgmma.fence.sync.aligned;",
    ]
    for step in range(steps):
        offsets = [step * step_offset(one, bytes_of_element) for one in are_by_terms]
        lines += [f"add.s64 {side}, ${2 * count + k}, {offsets[k]};" for k, side in enumerate(("left", "right"))]
        lines.append(f"{name} {{{registers}}}, left, right, added{signs}{transposed};")
    lines.append("wgmma.commit_group.sync.aligned; }")
    constraints = [f"={constraint}"] * count + [str(number) for number in range(count)] + ["l", "l", _MEMORY]
    type_ = ir.FunctionType(ir.LiteralStructType([sum_type] * count), [sum_type] * count + [I64, I64])
    made = b.call(ir.InlineAsm(type_, " ".join(lines), ",".join(constraints), side_effect=True), [*sums, *descriptors])
    return [b.extract_value(made, number) for number in range(count)]


def show_copies(b: ir.IRBuilder) -> None:
    """Let products see what this thread has written to the block's memory."""
    _plain(b, "fence.proxy.async.shared::cta;")


def wait_for_products(b: ir.IRBuilder, but: int) -> None:
    """Wait for this warp's products, but for so many of the latest `multiply_tiles`: their operands may be written over."""
    _plain(b, f"wgmma.wait_group.sync.aligned {but};")


def finished(b: ir.IRBuilder, instruction: WarpInstruction, sums: Sequence[ir.Value]) -> list[ir.Value]:
    """The sums, when all products have been added."""
    sum_type, constraint = instruction.sum_register
    count = len(sums)
    constraints = [f"={constraint}"] * count + [str(number) for number in range(count)] + [_MEMORY]
    type_ = ir.FunctionType(ir.LiteralStructType([sum_type] * count), [sum_type] * count)
    made = b.call(ir.InlineAsm(type_, "wgmma.wait_group.sync.aligned 0;", ",".join(constraints), side_effect=True), list(sums))
    return [b.extract_value(made, number) for number in range(count)]


def _plain(b: ir.IRBuilder, text: str) -> None:
    b.call(ir.InlineAsm(ir.FunctionType(ir.VoidType(), []), text, _MEMORY, side_effect=True), [])
