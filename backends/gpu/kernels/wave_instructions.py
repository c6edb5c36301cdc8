"""AMD's instructions for products of small matrices by a wave: MFMA of CDNA, by 64 lanes, and WMMA of RDNA 3, by 32.

Both operands have as many lines as a *group* of lanes has lanes: a lane's number in its group is its line, and that of the
group says which of the terms it has. WMMA wants the same terms in all groups. It does not matter which terms an instruction
takes, if both operands have the same: so a lane loads runs of 16 bytes, and instructions take these one after the other.

Source: "AMD Instinct MI200" and "MI300 Instruction Set Architecture", Matrix Arithmetic Instructions; "RDNA3 Instruction Set
Architecture", Wave Matrix Multiply Accumulate; AMD's matrix instruction calculator; LLVM's "User Guide for AMDGPU Backend".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from llvmlite import ir

from ....hlo import BF16, F16, F32, F64, S8, S32, U8, ElementType
from ...llvm.module import declaration
from ...llvm.types import DOUBLE, FLOAT, HALF, I1, I16, I32, I64, vector_of_values
from ..target import Target
from .matrix_instructions import MatrixInstruction, SumPlaces


def _in_fours(b: ir.IRBuilder, lane: ir.Value) -> tuple[ir.Value, ir.Value]:
    return b.mul(b.udiv(lane, I32(32)), I32(4)), b.urem(lane, I32(32))


def _by_sixteen(b: ir.IRBuilder, lane: ir.Value) -> tuple[ir.Value, ir.Value]:
    return b.udiv(lane, I32(16)), b.urem(lane, I32(16))


# Rows 0 to 3, 8 to 11, ... by the lanes that are first, the others by those that are second.
_SIDE_32 = SumPlaces(32, 32, _in_fours, tuple([(number // 4 * 8 + number % 4, 0) for number in range(16)]))
# Every fourth row, of f64; every second row, of WMMA.
_SIDE_16_OF_F64 = SumPlaces(16, 16, _by_sixteen, tuple([(4 * number, 0) for number in range(4)]))
_SIDE_16_OF_WMMA = SumPlaces(16, 16, _by_sixteen, tuple([(2 * number, 0) for number in range(8)]))


@dataclass(frozen=True)
class WaveInstruction(MatrixInstruction):
    """Multiplies a matrix of ``places.rows`` rows with one of as many columns.

    A lane holds ``words`` words of an operand, as a register of the type ``register``; its terms are those of its group, of
    ``groups``. ``signs`` say whether the bytes of the operands have one, where the instruction wants to know. ``is_widened``:
    halves become f32 before they are multiplied, by as many instructions as there are in the words.

    ``is_shifted``: the bytes of these operands have no sign, but those of the instruction do: it multiplies what is left when
    128 is taken off. 128 times the sum of a row, or column, is added for the other operand's 128, and 128 * 128 for both.
    """

    register: ir.Type
    words: int
    groups: int
    signs: tuple[bool, bool] | None = None
    is_widened: bool = False
    is_shifted: tuple[bool, bool] = (False, False)

    @property
    def adds_lines(self) -> tuple[bool, bool]:
        """See `MatrixInstruction`."""
        return self.is_shifted[1], self.is_shifted[0]

    @property
    def step_words(self) -> int:
        """How many words of a line's terms a lane loads at once."""
        return max(4, self.words)

    def factors(self, b: ir.IRBuilder, words: Sequence[ir.Value], side: int) -> Sequence[ir.Value]:
        """An operand's words as the instruction takes them."""
        return [b.xor(word, I32(0x80808080)) for word in words] if self.is_shifted[side] else words

    def line_sum(self, b: ir.IRBuilder, words: Sequence[ir.Value], total: ir.Value) -> ir.Value:
        """The bytes of words that it multiplies, added to a total."""
        add = declaration(b.module, "llvm.amdgcn.sdot4", I32, [I32, I32, I32, I1])
        for word in words:
            total = b.call(add, [word, I32(0x01010101), total, I1(0)])
        return total

    def emit(self, b: ir.IRBuilder, left: Sequence[ir.Value], right: Sequence[ir.Value], sums: ir.Value) -> ir.Value:
        """The new sums, by the words of a step."""
        for first in range(0, len(left), self.words):
            factors = [words[first : first + self.words] for words in (left, right)]
            if self.is_widened:
                for pair in zip(*[self._widened(b, one) for one in factors]):
                    sums = self._call(b, *pair, sums)
            else:
                sums = self._call(b, *[_packed(b, one, self.register) for one in factors], sums)
        return sums

    def _widened(self, b: ir.IRBuilder, words: Sequence[ir.Value]) -> list[ir.Value]:
        values = []
        for word in words:
            if self.operand is BF16:
                bits = b.shl(word, I32(16)), b.and_(word, I32(0xFFFF0000))
                values += [b.bitcast(one, FLOAT) for one in bits]
            else:
                pair = b.fpext(b.bitcast(word, ir.VectorType(HALF, 2)), ir.VectorType(FLOAT, 2))
                values += [b.extract_element(pair, I32(number)) for number in (0, 1)]
        return values

    def _call(self, b: ir.IRBuilder, left: ir.Value, right: ir.Value, sums: ir.Value) -> ir.Value:
        if self.signs is not None:
            arguments = [I1(self.signs[0]), left, I1(self.signs[1]), right, sums, I1(0)]
        elif self.name.startswith("wmma"):
            arguments = [left, right, sums]
        else:
            arguments = [left, right, sums, I32(0), I32(0), I32(0)]  # nothing is broadcast or permuted
        types = [one.type for one in arguments]
        return b.call(declaration(b.module, f"llvm.amdgcn.{self.name}", sums.type, types), arguments)


def _packed(b: ir.IRBuilder, words: Sequence[ir.Value], type_: ir.Type) -> ir.Value:
    """Words as one register."""
    register = vector_of_values(b, words)
    return register if register.type == type_ else b.bitcast(register, type_)


def _mfma(
    name: str, operand: ElementType, sums: ElementType, register: ir.Type, words: int, is_widened: bool = False
) -> WaveInstruction:
    places = _SIDE_16_OF_F64 if sums is F64 else _SIDE_32
    return WaveInstruction(f"mfma.{name}", operand, sums, places, register, words, 64 // places.rows, None, is_widened)


_HALVES, _SHORTS = ir.VectorType(HALF, 4), ir.VectorType(I16, 4)
_OF_CDNA = {
    F64: _mfma("f64.16x16x4f64", F64, F64, DOUBLE, 2),
    F32: _mfma("f32.32x32x2f32", F32, F32, FLOAT, 1),
    F16: _mfma("f32.32x32x8f16", F16, F32, _HALVES, 2),
    BF16: _mfma("f32.32x32x8bf16.1k", BF16, F32, _SHORTS, 2),
}  # fmt: skip
# The instructions of CDNA 2 take subnormal numbers of 16 bits for zero; those of f32 do not.
_OF_CDNA_2 = {
    S8: _mfma("i32.32x32x8i8", S8, S32, I32, 1),
    F16: _mfma("f32.32x32x2f32", F16, F32, FLOAT, 2, is_widened=True),
    BF16: _mfma("f32.32x32x2f32", BF16, F32, FLOAT, 2, is_widened=True),
}
_OF_CDNA_3 = {S8: _mfma("i32.32x32x16.i8", S8, S32, I64, 2)}
_XF32 = _mfma("f32.32x32x4.xf32", F32, F32, ir.VectorType(FLOAT, 2), 2)


def _wmma(
    name: str, operand: ElementType, sums: ElementType, register: ir.Type, words: int, signs: tuple[bool, bool] | None = None
) -> WaveInstruction:
    return WaveInstruction(f"wmma.{name}", operand, sums, _SIDE_16_OF_WMMA, register, words, 1, signs)


_OF_RDNA_3 = {
    F16: _wmma("f32.16x16x16.f16.v8f32.v16f16", F16, F32, ir.VectorType(HALF, 16), 8),
    BF16: _wmma("f32.16x16x16.bf16.v8f32.v16i16", BF16, F32, ir.VectorType(I16, 16), 8),
}


def wave_instruction(
    target: Target, left: ElementType, right: ElementType, result: ElementType, may_lose_bits: bool
) -> WaveInstruction | None:
    """The instruction for operands of these types, or None; a product ``may_lose_bits`` of its factors, or subnormal ones."""
    architecture = target.architecture
    if left in (S8, U8) and right in (S8, U8):
        if result.kind not in ("signed", "unsigned") or result.bits > 32:
            return None
        if architecture == "gfx1100":
            signs = left is S8, right is S8
            return _wmma("i32.16x16x16.iu8.v8i32.v4i32", S8, S32, ir.VectorType(I32, 4), 4, signs)
        signed = {"gfx90a": _OF_CDNA_2, "gfx942": _OF_CDNA_3}.get(architecture, {}).get(S8)
        return signed and replace(signed, is_shifted=(left is U8, right is U8))  # MFMA has none without a sign
    if left is not right or result not in ((left, F32) if left in (F16, BF16) else (left,)):
        return None
    if left is F32 and may_lose_bits and architecture == "gfx942":
        return _XF32
    of_architecture = {
        "gfx90a": _OF_CDNA if may_lose_bits else _OF_CDNA | _OF_CDNA_2,
        "gfx942": _OF_CDNA,
        "gfx1100": _OF_RDNA_3,
    }
    return of_architecture.get(architecture, {}).get(left)
