"""Kernels of the ufuncs that look at the parts of a floating-point number: sign, exponent, fraction, neighbours.

Source: IEEE 754's binary formats; the exponent field is read from the bits.
"""

from __future__ import annotations

import numpy as np

from ... import hlo
from ..recording.function_tables import kernel
from .kernel_parts import bits_of, finfo, float_of, in_float32, is_nan, is_zero, sign_bit

Instruction = hlo.Instruction


def truncate(x: Instruction) -> Instruction:
    return hlo.select(hlo.lt(x, 0), hlo.ceil(x), hlo.floor(x))


def copysign(x: Instruction, y: Instruction) -> Instruction:
    magnitude = hlo.abs(x)
    return hlo.select(sign_bit(y), hlo.negate(magnitude), magnitude)


@kernel(np.copysign)
def _(x, y):
    return copysign(x, y)


@kernel(np.signbit)
def _(x):
    return sign_bit(x)


@kernel(np.modf)
def _(x):
    whole = truncate(x)
    infinite = hlo.eq(hlo.abs(x), np.inf)
    fraction = hlo.select(infinite, hlo.full_like(x, 0), hlo.subtract(x, whole))
    return copysign(fraction, x), whole


def split(x: Instruction) -> tuple[Instruction, Instruction]:
    """x = mantissa * 2**exponent with the mantissa's size in [1/2, 1); zeros, infinities and NaN are their own mantissa.

    The exponent has the integer type as wide as x.
    """
    info = finfo(x)
    fraction_bits = int(info.nmant)
    bias = int(-info.minexp) + 1  # of the exponent field
    tiny = hlo.lt(hlo.abs(x), float(info.smallest_normal))
    scaled = hlo.select(tiny, hlo.multiply(x, 2.0 ** (fraction_bits + 1)), x)
    bits = bits_of(scaled)
    field = hlo.and_(hlo.shift_right_logical(bits, fraction_bits), (1 << (info.bits - 1 - fraction_bits)) - 1)
    shift = hlo.full_like(field, -(fraction_bits + 1))
    exponent = hlo.add(hlo.subtract(field, bias - 1), hlo.select(tiny, shift, hlo.full_like(field, 0)))
    keep = np.array(-1 ^ (((1 << (info.bits - 1 - fraction_bits)) - 1) << fraction_bits)).astype(bits.shape.dtype)[()]
    half = hlo.or_(hlo.and_(bits, keep), (bias - 1) << fraction_bits)
    mantissa = float_of(half, x.shape.element_type)
    special = hlo.or_(is_zero(x), hlo.or_(is_nan(x), hlo.eq(hlo.abs(x), np.inf)))
    return hlo.select(special, x, mantissa), hlo.select(special, 0, exponent)


@kernel(np.frexp)
def _(x):
    mantissa, exponent = split(x)
    return mantissa, hlo.convert(exponent, hlo.S32)


@kernel(np.ldexp)
@in_float32
def _(x, n):
    # The power is split in three, so that only the last product can leave the range of normal numbers, and rounds once.
    mantissa, exponent = split(x)
    wide = exponent.shape.element_type
    limit = 1 << 14
    n = hlo.convert(hlo.minimum(hlo.maximum(n, -limit), limit), wide)
    total = hlo.add(exponent, n)
    info = finfo(x)
    bound = -int(info.minexp) - 2
    first = hlo.minimum(hlo.maximum(total, -bound), bound)
    second = hlo.minimum(hlo.maximum(hlo.subtract(total, first), -bound), bound)
    return hlo.multiply(hlo.multiply(mantissa, _power_of_two(first, x)), _power_of_two(second, x))


def _power_of_two(n: Instruction, like: Instruction) -> Instruction:
    """2**n for n in the range of normal exponents, from its bits."""
    info = finfo(like)
    bits = hlo.shift_left(hlo.add(n, int(-info.minexp) + 1), hlo.full_like(n, int(info.nmant)))
    return float_of(bits, like.shape.element_type)


def next_after(x: Instruction, y: Instruction) -> Instruction:
    """The next float from x in the direction of y."""
    bits = bits_of(x)
    away = hlo.gt(y, x)
    grows = hlo.ne(away, sign_bit(x))  # away from zero the bits count up, on both sides of it
    stepped = float_of(hlo.select(grows, hlo.add(bits, 1), hlo.subtract(bits, 1)), x.shape.element_type)
    smallest = float_of(hlo.full_like(bits, 1), x.shape.element_type)
    from_zero = hlo.select(hlo.gt(y, 0), smallest, hlo.negate(smallest))
    result = hlo.select(is_zero(x), from_zero, stepped)
    unordered = hlo.or_(is_nan(x), is_nan(y))
    same = x if x.shape.element_type is hlo.F16 else y  # of zeros with two signs, for halves NumPy takes the first one
    return hlo.select(hlo.eq(x, y), same, hlo.select(unordered, hlo.add(x, y), result))


@kernel(np.nextafter)
def _(x, y):
    return next_after(x, y)


@kernel(np.spacing)
def _(x):
    infinity = hlo.full_like(x, np.inf)
    # Away from zero, with the sign of x; for halves, NumPy takes the next larger number.
    target = infinity if x.shape.element_type is hlo.F16 else copysign(infinity, x)
    gap = hlo.subtract(next_after(x, target), x)
    return hlo.select(is_zero(x), float_of(hlo.full_like(bits_of(x), 1), x.shape.element_type), gap)
