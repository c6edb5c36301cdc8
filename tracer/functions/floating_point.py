"""Kernels of the ufuncs that look at the parts of a floating-point number: sign, exponent, fraction, neighbours.

Source: IEEE 754's binary formats; the exponent field is read from the bits.
"""

from __future__ import annotations

import numpy as np

from ... import hlo
from ..recording.function_tables import kernel
from .emission import (
    absolute,
    add,
    and_,
    bits_of,
    convert,
    eq,
    finfo,
    float_of,
    floor,
    full_like,
    gt,
    in_float32,
    is_nan,
    is_zero,
    lt,
    maximum,
    minimum,
    multiply,
    negate,
    or_,
    select,
    shift_right_logical,
    sign_bit,
    subtract,
)  # fmt: skip

Instruction = hlo.Instruction
Builder = hlo.Builder


def truncate(b: Builder, x: Instruction) -> Instruction:
    return select(b, lt(b, x, 0), b.emit("ceil", x), floor(b, x))


def copysign(b: Builder, x: Instruction, y: Instruction) -> Instruction:
    magnitude = absolute(b, x)
    return select(b, sign_bit(b, y), negate(b, magnitude), magnitude)


@kernel(np.copysign)
def _(b, x, y):
    return copysign(b, x, y)


@kernel(np.signbit)
def _(b, x):
    return sign_bit(b, x)


@kernel(np.modf)
def _(b, x):
    whole = truncate(b, x)
    infinite = eq(b, absolute(b, x), np.inf)
    fraction = select(b, infinite, full_like(b, 0, x), subtract(b, x, whole))
    return copysign(b, fraction, x), whole


def split(b: Builder, x: Instruction) -> tuple[Instruction, Instruction]:
    """x = mantissa * 2**exponent with the mantissa's size in [1/2, 1); zeros, infinities and NaN are their own mantissa.

    The exponent has the integer type as wide as x.
    """
    info = finfo(x)
    fraction_bits = int(info.nmant)
    bias = int(-info.minexp) + 1  # of the exponent field
    tiny = lt(b, absolute(b, x), float(info.smallest_normal))
    scaled = select(b, tiny, multiply(b, x, 2.0 ** (fraction_bits + 1)), x)
    bits = bits_of(b, scaled)
    field = and_(b, shift_right_logical(b, bits, fraction_bits), (1 << (info.bits - 1 - fraction_bits)) - 1)
    shift = full_like(b, -(fraction_bits + 1), field)
    exponent = add(b, subtract(b, field, bias - 1), select(b, tiny, shift, full_like(b, 0, field)))
    keep = np.array(-1 ^ (((1 << (info.bits - 1 - fraction_bits)) - 1) << fraction_bits)).astype(bits.shape.dtype)[()]
    half = or_(b, and_(b, bits, keep), (bias - 1) << fraction_bits)
    mantissa = float_of(b, half, x.shape.element_type)
    special = or_(b, is_zero(b, x), or_(b, is_nan(b, x), eq(b, absolute(b, x), np.inf)))
    return select(b, special, x, mantissa), select(b, special, 0, exponent)


@kernel(np.frexp)
def _(b, x):
    mantissa, exponent = split(b, x)
    return mantissa, convert(b, exponent, hlo.S32)


@kernel(np.ldexp)
@in_float32
def _(b, x, n):
    # The power is split in three, so that only the last product can leave the range of normal numbers, and rounds once.
    mantissa, exponent = split(b, x)
    wide = exponent.shape.element_type
    limit = 1 << 14
    n = convert(b, minimum(b, maximum(b, n, -limit), limit), wide)
    total = add(b, exponent, n)
    info = finfo(x)
    bound = -int(info.minexp) - 2
    first = minimum(b, maximum(b, total, -bound), bound)
    second = minimum(b, maximum(b, subtract(b, total, first), -bound), bound)
    return multiply(b, multiply(b, mantissa, _power_of_two(b, first, x)), _power_of_two(b, second, x))


def _power_of_two(b: Builder, n: Instruction, like: Instruction) -> Instruction:
    """2**n for n in the range of normal exponents, from its bits."""
    info = finfo(like)
    bits = b.emit("shift-left", add(b, n, int(-info.minexp) + 1), full_like(b, int(info.nmant), n))
    return float_of(b, bits, like.shape.element_type)


def next_after(b: Builder, x: Instruction, y: Instruction) -> Instruction:
    """The next float from x in the direction of y."""
    bits = bits_of(b, x)
    away = gt(b, y, x)
    grows = b.emit("compare", away, sign_bit(b, x), direction="NE")  # away from zero the bits count up, on both sides of it
    stepped = float_of(b, select(b, grows, add(b, bits, 1), subtract(b, bits, 1)), x.shape.element_type)
    smallest = float_of(b, full_like(b, 1, bits), x.shape.element_type)
    from_zero = select(b, gt(b, y, 0), smallest, negate(b, smallest))
    result = select(b, is_zero(b, x), from_zero, stepped)
    unordered = or_(b, is_nan(b, x), is_nan(b, y))
    return select(b, eq(b, x, y), y, select(b, unordered, add(b, x, y), result))


@kernel(np.nextafter)
def _(b, x, y):
    return next_after(b, x, y)


@kernel(np.spacing)
def _(b, x):
    infinity = full_like(b, np.inf, x)
    # Away from zero, with the sign of x; for halves, NumPy takes the next larger number.
    target = infinity if x.shape.element_type is hlo.F16 else copysign(b, infinity, x)
    gap = subtract(b, next_after(b, x, target), x)
    return select(b, is_zero(b, x), float_of(b, full_like(b, 1, bits_of(b, x)), x.shape.element_type), gap)
