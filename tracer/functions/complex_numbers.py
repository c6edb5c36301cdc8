"""Quotients and exponentials of complex numbers by the formulas of NumPy's loops.

HLO's divide is C99's. NumPy's is R. L. Smith's method ("Algorithm 116: Complex division", 1962), and what that makes of
infinities, NaN and overflow. Kernels divide complex numbers by these functions.
"""

from __future__ import annotations

import math

import numpy as np

from ... import hlo
from .emission import (
    absolute,
    add,
    and_,
    complex_,
    divide,
    exp,
    expm1,
    finfo,
    ge,
    imag,
    is_finite,
    is_zero,
    le,
    multiply,
    negate,
    not_,
    or_,
    real,
    select,
    subtract,
)

Instruction = hlo.Instruction
Builder = hlo.Builder


def _ordered(b: Builder, z: Instruction, real_first: Instruction) -> tuple[Instruction, Instruction]:
    """The real and the imaginary part, or the other way round."""
    return select(b, real_first, real(b, z), imag(b, z)), select(b, real_first, imag(b, z), real(b, z))


def quotient(b: Builder, x: Instruction, y: Instruction) -> Instruction:
    """x / y; by zero, each part divided by +0."""
    real_first = ge(b, absolute(b, real(b, y)), absolute(b, imag(b, y)))
    larger, smaller = _ordered(b, y, real_first)
    ratio = divide(b, smaller, larger)
    scale = divide(b, 1, add(b, larger, multiply(b, smaller, ratio)))
    first, second = _ordered(b, x, real_first)
    scaled = multiply(b, first, ratio)
    over = add(b, first, multiply(b, second, ratio))
    across = select(b, real_first, subtract(b, second, scaled), subtract(b, scaled, second))
    by_zero = and_(b, real_first, is_zero(b, larger))
    parts = [
        select(b, by_zero, multiply(b, part, np.inf), multiply(b, found, scale))
        for part, found in ((real(b, x), over), (imag(b, x), across))
    ]
    return complex_(b, *parts)


def reciprocal(b: Builder, z: Instruction) -> Instruction:
    """1 / z; NaN of 0."""
    real_first = ge(b, absolute(b, real(b, z)), absolute(b, imag(b, z)))
    larger, smaller = _ordered(b, z, real_first)
    ratio = divide(b, smaller, larger)
    divisor = add(b, larger, multiply(b, smaller, ratio))
    across = negate(b, select(b, real_first, ratio, 1))
    return complex_(b, divide(b, select(b, real_first, 1, ratio), divisor), divide(b, across, divisor))


def scaled_parts(b: Builder, z: Instruction, factor: float) -> Instruction:
    """z times a real number; the product with a complex one would have NaN where a part is infinite."""
    return complex_(b, multiply(b, real(b, z), factor), multiply(b, imag(b, z), factor))


def exponential_of_two(b: Builder, z: Instruction) -> Instruction:
    """2 to the power z."""
    return exp(b, scaled_parts(b, z, math.log(2)))


def exponential_minus_one(b: Builder, z: Instruction) -> Instruction:
    """e to the power z, minus 1: (e**x - 1) cos y - 2 sin(y/2)**2 + i e**x sin y, with what that is of infinities and NaN."""
    x, y, result = real(b, z), imag(b, z), expm1(b, z)
    overflows = not_(b, le(b, x, math.log(float(finfo(x).max))))
    lost = not_(b, is_finite(b, y))
    imaginary_lost = or_(b, lost, and_(b, is_zero(b, y), overflows))
    return complex_(b, select(b, lost, np.nan, real(b, result)), select(b, imaginary_lost, np.nan, imag(b, result)))
