"""The inverse circular and hyperbolic functions of complex numbers.

Method: W. Kahan, "Branch cuts for complex elementary functions, or much ado about nothing's sign bit", 1987. With the roots
s = sqrt(1 - z) and t = sqrt(1 + z), asin z and acos z are real functions of products of their parts in which no two terms
cancel; atanh z of sums in which only what does not matter cancels. Beyond LARGE, where the products would overflow, asin and
acos are log |2z| and an angle but for terms that rounding swallows. The others follow: asinh z = -i asin(iz),
atan z = -i atanh(iz), acosh z = |Im acos z| + i Re acos z with the sign of Im z. Special values are those of C99 G.6.1 and
G.6.2. Functions take f64 parts; see `complex_algebra.in_double`.
"""

from __future__ import annotations

import math

from llvmlite import ir

from .arithmetic import (
    absolute,
    add,
    compare,
    constant,
    copysign,
    divide,
    fma,
    multiply,
    negate,
    select,
    subtract,
)
from .complex_algebra import branch_for_rare, has_infinite_part, in_double, principal_root, scaled
from .complex_exponential import log_modulus
from .complex_trigonometric import complex_cosh, complex_sinh
from .elementary import inverse_hyperbolic, inverse_trigonometric, logarithm
from .types import ComplexValue

# Where a part is larger, 1 + z is z, and 1 / z**2 is nothing beside 1.
LARGE = 2.0**60


def _is_large(builder: ir.IRBuilder, x: ir.Value, y: ir.Value) -> ir.Value:
    """Where a part is beyond LARGE or infinite, even if the other is NaN."""
    return builder.or_(*(compare(builder, ">", absolute(builder, part), LARGE) for part in (x, y)))


def _log_doubled_modulus(builder: ir.IRBuilder, single: bool, x: ir.Value, y: ir.Value) -> ir.Value:
    """Return log |2 z|; infinite where a part is."""
    return add(builder, log_modulus(builder, single, ComplexValue(x, y)), math.log(2))


def _roots(builder: ir.IRBuilder, single: bool, x: ir.Value, y: ir.Value) -> tuple[ComplexValue, ComplexValue]:
    """Return sqrt(1 - z) and sqrt(1 + z)."""
    difference = ComplexValue(subtract(builder, 1.0, x), negate(builder, y))
    total = ComplexValue(add(builder, x, 1.0), y)
    return principal_root(builder, single, difference), principal_root(builder, single, total)


def _difference_of_products(builder: ir.IRBuilder, a: ir.Value, b: ir.Value, c: ir.Value, d: ir.Value) -> ir.Value:
    """Return a b - c d, whose terms have different signs: the sum does not cancel."""
    return fma(builder, a, b, negate(builder, multiply(builder, c, d)))


def _arcsine(builder: ir.IRBuilder, single: bool, x: ir.Value, y: ir.Value) -> ComplexValue:
    s, t = _roots(builder, single, x, y)
    real = inverse_trigonometric.atan2(builder, x, _difference_of_products(builder, s.real, t.real, s.imag, t.imag))
    imag = inverse_hyperbolic.asinh(builder, _difference_of_products(builder, s.real, t.imag, s.imag, t.real))
    usual = ComplexValue(real, imag)

    def large() -> ComplexValue:
        angle = inverse_trigonometric.atan2(builder, x, absolute(builder, y))
        return ComplexValue(angle, copysign(builder, _log_doubled_modulus(builder, single, x, y), y))

    result = branch_for_rare(builder, _is_large(builder, x, y), usual, large)
    # On the imaginary axis the result is on it too, even if the imaginary part is NaN.
    return ComplexValue(builder.select(compare(builder, "==", x, 0.0), x, result.real), result.imag)


def _arccosine(builder: ir.IRBuilder, single: bool, x: ir.Value, y: ir.Value) -> ComplexValue:
    s, t = _roots(builder, single, x, y)
    angle = inverse_trigonometric.atan2(builder, s.real, t.real)
    imag = inverse_hyperbolic.asinh(builder, _difference_of_products(builder, t.real, s.imag, t.imag, s.real))
    usual = ComplexValue(add(builder, angle, angle), imag)

    def large() -> ComplexValue:
        angle = inverse_trigonometric.atan2(builder, absolute(builder, y), x)
        return ComplexValue(angle, copysign(builder, _log_doubled_modulus(builder, single, x, y), negate(builder, y)))

    result = branch_for_rare(builder, _is_large(builder, x, y), usual, large)
    return ComplexValue(select(builder, compare(builder, "==", x, 0.0), math.pi / 2, result.real), result.imag)


def _area_tangent(builder: ir.IRBuilder, single: bool, x: ir.Value, y: ir.Value) -> ComplexValue:
    """Return atanh z = log(1 + 4 x / ((1 - x)**2 + y**2)) / 4 + i arg((1 - x) (1 + x) - y**2 + 2 i y) / 2."""
    magnitude, height = absolute(builder, x), absolute(builder, y)
    below = subtract(builder, 1.0, magnitude)
    square = multiply(builder, y, y)
    quotient = divide(builder, multiply(builder, magnitude, 4.0), fma(builder, below, below, square))
    # Above the branch point the square of y may underflow: log(1 + 4 / y**2) / 4 is log(2 / y) / 2 there.
    near = builder.and_(compare(builder, "==", magnitude, 1.0), compare(builder, "<", height, 2.0**-60))
    quotient = builder.select(near, divide(builder, 2.0, height), quotient)
    factor = select(builder, near, constant(x.type, 0.5), 0.25)
    real = multiply(builder, logarithm.log_plus_one(builder, quotient), factor)
    cosine = fma(builder, below, add(builder, magnitude, 1.0), negate(builder, square))
    imag = multiply(builder, inverse_trigonometric.atan2(builder, add(builder, y, y), cosine), 0.5)
    usual = ComplexValue(copysign(builder, real, x), imag)

    def large() -> ComplexValue:
        # The real part of 1 / z; the imaginary part is a right angle.
        parts = scaled(builder, ComplexValue(x, y), not single)
        modulus_square = fma(builder, parts.real, parts.real, multiply(builder, parts.imag, parts.imag))
        reciprocal = multiply(builder, divide(builder, parts.real, modulus_square), parts.power(builder, 1.0))
        infinite = has_infinite_part(builder, ComplexValue(x, y))
        real = builder.select(infinite, copysign(builder, constant(x.type, 0.0), x), reciprocal)
        imag = copysign(builder, constant(y.type, math.pi / 2), y)
        undefined = builder.or_(builder.fcmp_unordered("uno", y, y), builder.fcmp_unordered("uno", real, real))
        return ComplexValue(real, select(builder, undefined, float("nan"), imag))

    result = branch_for_rare(builder, _is_large(builder, x, y), usual, large)
    return ComplexValue(builder.select(compare(builder, "==", x, 0.0), x, result.real), result.imag)


@in_double
def asin(builder, single, z):
    """Return the arcsine of z; the branch cuts are the real axis beyond -1 and 1. The builder ends in a new block."""
    return _arcsine(builder, single, *z)


@in_double
def acos(builder, single, z):
    """Return the arccosine of z; the branch cuts are the real axis beyond -1 and 1. The builder ends in a new block."""
    return _arccosine(builder, single, *z)


@in_double
def asinh(builder, single, z):
    """Return asinh z = -i asin(iz); the branch cuts are the imaginary axis beyond -i and i. The builder ends in a new block."""
    w = _arcsine(builder, single, negate(builder, z.imag), z.real)
    return ComplexValue(w.imag, negate(builder, w.real))


@in_double
def acosh(builder, single, z):
    """Return the inverse hyperbolic cosine of z, of real part >= 0; the branch cut is the real axis below 1.

    The builder ends in a new block.
    """
    w = _arccosine(builder, single, *z)
    return ComplexValue(absolute(builder, w.imag), copysign(builder, w.real, z.imag))


@in_double
def atanh(builder, single, z):
    """Return the inverse hyperbolic tangent of z; the branch cuts are the real axis beyond -1 and 1.

    The builder ends in a new block.
    """
    return _area_tangent(builder, single, *z)


@in_double
def atan(builder, single, z):
    """Return atan z = -i atanh(iz); the branch cuts are the imaginary axis beyond -i and i. The builder ends in a new block."""
    w = _area_tangent(builder, single, negate(builder, z.imag), z.real)
    return ComplexValue(w.imag, negate(builder, w.real))


@in_double
def sinh(builder, single, z):
    """Return sinh z; the builder ends in a new block."""
    return complex_sinh(builder, single, *z)


@in_double
def cosh(builder, single, z):
    """Return cosh z; the builder ends in a new block."""
    return complex_cosh(builder, single, *z)
