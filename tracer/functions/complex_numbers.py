"""Quotients and exponentials of complex numbers by the formulas of NumPy's loops.

HLO's divide is C99's. NumPy's is R. L. Smith's method ("Algorithm 116: Complex division", 1962), and what that makes of
infinities, NaN and overflow. Kernels divide complex numbers by these functions.
"""

from __future__ import annotations

import math

import numpy as np

from ... import hlo
from .kernel_parts import finfo, is_zero

Instruction = hlo.Instruction


def _ordered(z: Instruction, real_first: Instruction) -> tuple[Instruction, Instruction]:
    """The real and the imaginary part, or the other way round."""
    return hlo.select(real_first, hlo.real(z), hlo.imag(z)), hlo.select(real_first, hlo.imag(z), hlo.real(z))


def quotient(x: Instruction, y: Instruction) -> Instruction:
    """x / y; by zero, each part divided by +0."""
    real_first = hlo.ge(hlo.abs(hlo.real(y)), hlo.abs(hlo.imag(y)))
    larger, smaller = _ordered(y, real_first)
    ratio = hlo.divide(smaller, larger)
    scale = hlo.divide(1, hlo.add(larger, hlo.multiply(smaller, ratio)))
    first, second = _ordered(x, real_first)
    scaled = hlo.multiply(first, ratio)
    over = hlo.add(first, hlo.multiply(second, ratio))
    across = hlo.select(real_first, hlo.subtract(second, scaled), hlo.subtract(scaled, second))
    by_zero = hlo.and_(real_first, is_zero(larger))
    parts = [
        hlo.select(by_zero, hlo.multiply(part, np.inf), hlo.multiply(found, scale))
        for part, found in ((hlo.real(x), over), (hlo.imag(x), across))
    ]
    return hlo.complex(*parts)


def reciprocal(z: Instruction) -> Instruction:
    """1 / z; NaN of 0."""
    real_first = hlo.ge(hlo.abs(hlo.real(z)), hlo.abs(hlo.imag(z)))
    larger, smaller = _ordered(z, real_first)
    ratio = hlo.divide(smaller, larger)
    divisor = hlo.add(larger, hlo.multiply(smaller, ratio))
    across = hlo.negate(hlo.select(real_first, ratio, 1))
    return hlo.complex(hlo.divide(hlo.select(real_first, 1, ratio), divisor), hlo.divide(across, divisor))


def scaled_parts(z: Instruction, factor: float) -> Instruction:
    """z times a real number; the product with a complex one would have NaN where a part is infinite."""
    return hlo.complex(hlo.multiply(hlo.real(z), factor), hlo.multiply(hlo.imag(z), factor))


def exponential_of_two(z: Instruction) -> Instruction:
    """2 to the power z."""
    return hlo.exponential(scaled_parts(z, math.log(2)))


def exponential_minus_one(z: Instruction) -> Instruction:
    """e to the power z, minus 1: (e**x - 1) cos y - 2 sin(y/2)**2 + i e**x sin y, with what that is of infinities and NaN."""
    x, y, result = hlo.real(z), hlo.imag(z), hlo.exponential_minus_one(z)
    overflows = hlo.not_(hlo.le(x, math.log(float(finfo(x).max))))
    lost = hlo.not_(hlo.is_finite(y))
    imaginary_lost = hlo.or_(lost, hlo.and_(is_zero(y), overflows))
    return hlo.complex(hlo.select(lost, np.nan, hlo.real(result)), hlo.select(imaginary_lost, np.nan, hlo.imag(result)))
