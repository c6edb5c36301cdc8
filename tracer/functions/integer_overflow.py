"""Where sums, differences and products of integers are not what the type can hold."""

from __future__ import annotations

import numpy as np

from ... import hlo

Instruction = hlo.Instruction


def sum_overflows(x: Instruction, y: Instruction) -> Instruction:
    total = hlo.add(x, y)
    if _is_unsigned(x):
        return hlo.lt(total, x)
    return hlo.lt(hlo.and_(hlo.xor(x, total), hlo.xor(y, total)), 0)


def difference_overflows(x: Instruction, y: Instruction) -> Instruction:
    if _is_unsigned(x):
        return hlo.lt(x, y)
    return hlo.lt(hlo.and_(hlo.xor(x, y), hlo.xor(x, hlo.subtract(x, y))), 0)


def product_overflows(x: Instruction, y: Instruction) -> Instruction:
    """A product that has wrapped around is off by 2**bits at least, the one of the floats by much less."""
    rounded = hlo.multiply(hlo.convert(x, hlo.F64), hlo.convert(y, hlo.F64))
    wrapped = hlo.convert(hlo.multiply(x, y), hlo.F64)
    return hlo.gt(hlo.abs(hlo.subtract(rounded, wrapped)), 2.0 ** (x.shape.element_type.bits - 2))


def negative_overflows(x: Instruction) -> Instruction:
    return hlo.ne(x, 0) if _is_unsigned(x) else is_least(x)


def absolute_overflows(x: Instruction) -> Instruction:
    return hlo.constant(False, hlo.PRED) if _is_unsigned(x) else is_least(x)


def is_least(x: Instruction, *_: Instruction) -> Instruction:
    """Where a signed integer is the one that has no negative."""
    return hlo.eq(x, int(np.iinfo(x.shape.dtype).min))


def _is_unsigned(x: Instruction) -> bool:
    return x.shape.element_type.kind == "unsigned"
