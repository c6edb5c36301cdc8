"""Where sums, differences and products of integers are not what the type can hold."""

from __future__ import annotations

import functools

import numpy as np

from ... import hlo

Instruction = hlo.Instruction


def sum_overflows(x: Instruction, y: Instruction) -> Instruction:
    (x, y), (least, largest) = _constant_last(x, y), _limits(x)
    if (number := _constant(y)) is not None:
        return _is_outside(x, least - number, largest - number)
    total = hlo.add(x, y)
    if _is_unsigned(x):
        return hlo.lt(total, x)
    return hlo.lt(hlo.and_(hlo.xor(x, total), hlo.xor(y, total)), 0)


def difference_overflows(x: Instruction, y: Instruction) -> Instruction:
    if _is_unsigned(x):
        return hlo.lt(x, y)
    least, largest = _limits(x)
    if (number := _constant(y)) is not None:
        return _is_outside(x, least + number, largest + number)
    if (number := _constant(x)) is not None:
        return _is_outside(y, number - largest, number - least)
    return hlo.lt(hlo.and_(hlo.xor(x, y), hlo.xor(x, hlo.subtract(x, y))), 0)


def product_overflows(x: Instruction, y: Instruction) -> Instruction:
    """A product that has wrapped around is off by 2**bits at least, the one of the floats by much less."""
    (x, y), (least, largest) = _constant_last(x, y), _limits(x)
    if (number := _constant(y)) is not None:
        if not number:
            return hlo.ne(x, x)
        low, high = (least, largest) if number > 0 else (largest, least)
        return _is_outside(x, -(-low // number), high // number)
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


def _constant_last(x: Instruction, y: Instruction) -> tuple[Instruction, Instruction]:
    return (x, y) if _constant(x) is None else (y, x)


def _constant(x: Instruction) -> int | None:
    """The number that a scalar is."""
    return int(x.attributes["literal"]) if x.opcode == "constant" and not x.shape.rank else None


def _limits(x: Instruction) -> tuple[int, int]:
    limits = np.iinfo(x.shape.dtype)
    return int(limits.min), int(limits.max)


def _is_outside(x: Instruction, low: int, high: int) -> Instruction:
    """Where x does not lie in [low, high]."""
    least, largest = _limits(x)
    conditions = [hlo.lt(x, low)] if low > least else []
    conditions += [hlo.gt(x, high)] if high < largest else []
    return functools.reduce(hlo.or_, conditions) if conditions else hlo.ne(x, x)


def _is_unsigned(x: Instruction) -> bool:
    return x.shape.element_type.kind == "unsigned"
