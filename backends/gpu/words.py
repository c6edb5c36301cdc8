"""Registers as words of 32 bits, in which threads hand them to each other."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from ..llvm.types import I32, I64, RegisterValue, flatten, unflatten

_FLOAT_BITS = {"half": 16, "float": 32, "double": 64}


def word_count(values: Sequence[RegisterValue]) -> int:
    return sum(1 + (_bits(register.type) > 32) for register in flatten(values))


def words_of(b: ir.IRBuilder, values: Sequence[RegisterValue]) -> list[ir.Value]:
    """The words of values: one for each register, two for those of 64 bits."""
    words: list[ir.Value] = []
    for register in flatten(values):
        kind, bits = register.type, _bits(register.type)
        number = register if isinstance(kind, ir.IntType) else b.bitcast(register, ir.IntType(bits))
        if bits > 32:
            words += [b.trunc(number, I32), b.trunc(b.lshr(number, I64(32)), I32)]
        else:
            words.append(number if bits == 32 else b.zext(number, I32))
    return words


def from_words(b: ir.IRBuilder, words: Sequence[ir.Value], like: Sequence[RegisterValue]) -> list[RegisterValue]:
    """The values of these words, of the same types as others."""
    following, registers = iter(words), []
    for register in flatten(like):
        kind, bits = register.type, _bits(register.type)
        number = next(following)
        if bits > 32:
            number = b.or_(b.zext(number, I64), b.shl(b.zext(next(following), I64), I64(32)))
        elif bits < 32:
            number = b.trunc(number, ir.IntType(bits))
        registers.append(number if isinstance(kind, ir.IntType) else b.bitcast(number, kind))
    return unflatten(registers, like)


def _bits(kind: ir.Type) -> int:
    return kind.width if isinstance(kind, ir.IntType) else _FLOAT_BITS[str(kind)]
