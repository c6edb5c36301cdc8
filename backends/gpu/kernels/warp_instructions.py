"""NVIDIA's instructions for products of small matrices by a warp, and what feeds them: inline assembly of PTX.

Addresses in the memory of a block are i32. Source: PTX ISA 8.0, "Warp Level Matrix Multiply-Accumulate Instructions",
"cp.async", "ldmatrix".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llvmlite import ir

from ....hlo import BF16, F16, F32, F64, S8, S32, U8, ElementType
from ...llvm.types import DOUBLE, FLOAT, I32
from ..target import Target
from .matrix_instructions import MatrixInstruction, SumPlaces

_MEMORY = "~{memory}"


def _first_sum(b: ir.IRBuilder, lane: ir.Value) -> tuple[ir.Value, ir.Value]:
    return b.udiv(lane, I32(4)), b.mul(b.urem(lane, I32(4)), I32(2))


_PLACES = SumPlaces(16, 8, _first_sum, ((0, 0), (0, 1), (8, 0), (8, 1)))


@dataclass(frozen=True)
class WarpInstruction(MatrixInstruction):
    """Multiplies a matrix of 16 (or 8) rows with one of 8 columns.

    Both operands are as those of a *step*, which is two halves: ``terms`` of a half are 16 bytes, or 4 numbers of 64 bits. A
    lane holds of each half, for each 8 rows or columns, one register. ``rows`` is 16 where one instruction takes all four
    registers of the left operand.
    """

    places: SumPlaces = _PLACES
    rows: int = 16

    @property
    def terms(self) -> int:
        return 4 if self.operand is F64 else 16 // self.operand.byte_size

    @property
    def register(self) -> tuple[ir.Type, str]:
        """The type and the constraint of an operand's register."""
        return (DOUBLE, "d") if self.operand is F64 else (I32, "r")

    @property
    def sum_register(self) -> tuple[ir.Type, str]:
        return self.sum_type, {DOUBLE: "d", FLOAT: "f", I32: "r"}[self.sum_type]

    def emit(
        self, b: ir.IRBuilder, left: Sequence[ir.Value], right: Sequence[ir.Value], sums: Sequence[ir.Value]
    ) -> list[ir.Value]:
        """The new sums, four registers: those of 16 rows."""
        if self.rows == 16:
            return self._call(b, left, right, sums)
        sums = list(sums)
        for half in (0, 1):
            for row in (0, 1):
                pair = slice(2 * row, 2 * row + 2)
                sums[pair] = self._call(b, [left[2 * half + row]], [right[half]], sums[pair])
        return sums

    def _call(self, b: ir.IRBuilder, left: Sequence[ir.Value], right: Sequence[ir.Value], sums: Sequence[ir.Value]):
        (type_, constraint), (sum_type, of_sum) = self.register, self.sum_register
        count = len(sums)
        numbers = iter(range(100))
        lists = ["{" + ", ".join(f"${next(numbers)}" for _ in group) + "}" for group in (sums, left, right)]
        old = "{" + ", ".join(f"${next(numbers)}" for _ in sums) + "}"
        text = f"mma.sync.aligned.{self.name} {lists[0]}, {lists[1]}, {lists[2]}, {old};"
        constraints = [f"={of_sum}"] * count + [constraint] * (len(left) + len(right)) + [of_sum] * count
        arguments = [type_] * (len(left) + len(right)) + [sum_type] * count
        result = ir.LiteralStructType([sum_type] * count)
        # What all lanes of a warp do together may not be moved into a branch.
        assembly = ir.InlineAsm(ir.FunctionType(result, arguments), text, ",".join(constraints), side_effect=True)
        made = b.call(assembly, [*left, *right, *sums])
        return [b.extract_value(made, number) for number in range(count)]


_INTEGERS = {S8: "s8", U8: "u8"}


def warp_instruction(
    target: Target, left: ElementType, right: ElementType, result: ElementType, may_lose_bits: bool
) -> WarpInstruction | None:
    """The instruction for operands of these types, or None.

    Those of f32 drop thirteen bits of their factors: they are for products that ``may_lose_bits``.
    """
    if left in _INTEGERS and right in _INTEGERS:
        if result.kind not in ("signed", "unsigned") or result.bits > 32:
            return None
        return WarpInstruction(f"m16n8k32.row.col.s32.{_INTEGERS[left]}.{_INTEGERS[right]}.s32", S8, S32)
    if left is not right:
        return None
    if left in (BF16, F16) and result in (left, F32):
        kind = left.name.lower()
        return WarpInstruction(f"m16n8k16.row.col.f32.{kind}.{kind}.f32", left, F32)
    if left is F32 and result is F32 and may_lose_bits:
        return WarpInstruction("m16n8k8.row.col.f32.tf32.tf32.f32", F32, F32)
    if left is F64 and result is F64:
        has_sixteen_rows = int("".join(filter(str.isdigit, target.architecture))) >= 90
        shape, rows = ("m16n8k8", 16) if has_sixteen_rows else ("m8n8k4", 8)
        return WarpInstruction(f"{shape}.row.col.f64.f64.f64.f64", F64, F64, rows=rows)
    return None


def load_matrices(b: ir.IRBuilder, address: ir.Value, offset: int, transposed: bool) -> list[ir.Value]:
    """Four matrices of 8 rows of 16 bytes; each lane has the address of a row: of 8 lanes those of a matrix."""
    result = ir.LiteralStructType([I32] * 4)
    text = f"ldmatrix.sync.aligned.m8n8.x4{'.trans' if transposed else ''}.shared.b16 {{$0, $1, $2, $3}}, [$4+{offset}];"
    assembly = ir.InlineAsm(ir.FunctionType(result, [I32]), text, f"=r,=r,=r,=r,r,{_MEMORY}", side_effect=True)
    made = b.call(assembly, [address])
    return [b.extract_value(made, number) for number in range(4)]


def load_shared(b: ir.IRBuilder, address: ir.Value, offset: int, type_: ir.Type, constraint: str) -> ir.Value:
    """One register."""
    text = f"ld.shared.b{64 if type_ == DOUBLE else 32} $0, [$1+{offset}];"
    assembly = ir.InlineAsm(ir.FunctionType(type_, [I32]), text, f"={constraint},r,{_MEMORY}", side_effect=True)
    return b.call(assembly, [address])


def store_shared(b: ir.IRBuilder, address: ir.Value, values: Sequence[ir.Value]) -> None:
    """Four registers of 32 bits."""
    text = "st.shared.v4.b32 [$0], {$1, $2, $3, $4};"
    assembly = ir.InlineAsm(ir.FunctionType(ir.VoidType(), [I32] * 5), text, f"r,r,r,r,r,{_MEMORY}", side_effect=True)
    b.call(assembly, [address, *values])


def copy_async(b: ir.IRBuilder, target: ir.Value, source: ir.Value, size: int, read: ir.Value) -> None:
    """Copy so many bytes to the block's memory: the first ones are read, the others are zero."""
    cached = "cg" if size == 16 else "ca"
    text = f"cp.async.{cached}.shared.global [$0], [$1], {size}, $2;"
    type_ = ir.FunctionType(ir.VoidType(), [I32, source.type, I32])
    b.call(ir.InlineAsm(type_, text, f"r,l,r,{_MEMORY}", side_effect=True), [target, source, read])


def end_group(b: ir.IRBuilder) -> None:
    """All copies that this thread has asked for and that are in no group yet are one."""
    _plain(b, "cp.async.commit_group;")


def wait_for_groups(b: ir.IRBuilder, but: int) -> None:
    """Wait for this thread's groups of copies, but for so many of the latest."""
    _plain(b, f"cp.async.wait_group {but};")


def round_to_tf32(b: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """The bits of an f32, rounded to those that products use."""
    assembly = ir.InlineAsm(ir.FunctionType(I32, [I32]), "cvt.rna.tf32.f32 $0, $1;", "=r,r")
    return b.call(assembly, [value])


def _plain(b: ir.IRBuilder, text: str) -> None:
    b.call(ir.InlineAsm(ir.FunctionType(ir.VoidType(), []), text, _MEMORY, side_effect=True), [])
