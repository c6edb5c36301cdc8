"""Modulus, sign, quotient and roots of complex numbers, without overflow or underflow on the way.

All functions but the modulus compute in f64. The parts of a c64 are widened: their squares and products neither overflow nor
underflow there, and one rounding at the end leaves the error near half an ULP. The parts of a c128 are first scaled by a power
of two where their squares would leave the range.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

from llvmlite import ir

from .arithmetic import (
    absolute,
    add,
    any_lane,
    compare,
    constant,
    copysign,
    fma,
    is_single,
    multiply,
    narrow,
    negate,
    select,
    square_root,
    subtract,
    widen,
)
from .arithmetic import (
    divide as real_divide,
)
from .branches import RARE, replaced_if
from .types import ComplexValue, RegisterValue

INFINITY = float("inf")
# Beyond 2**THRESHOLD numbers are scaled by 2**-SHIFT, below 2**-THRESHOLD by 2**SHIFT; then their squares are normal.
THRESHOLD_SINGLE, SHIFT_SINGLE = 50, 100
THRESHOLD, SHIFT = 500, 600


def in_double(function: Callable[..., ComplexValue]) -> Callable[..., ComplexValue]:
    """Let ``function(builder, single, *operands)`` on f64 parts take parts of f32 too.

    ``single`` says that the operands are f32 numbers, widened, and that the result will be rounded to f32.
    """

    @functools.wraps(function)
    def emit(builder: ir.IRBuilder, *operands: ComplexValue) -> ComplexValue:
        if not is_single(operands[0].real):
            return function(builder, False, *operands)
        result = function(builder, True, *(ComplexValue(*(widen(builder, part) for part in z)) for z in operands))
        return ComplexValue(*(narrow(builder, part) for part in result))

    return emit


def in_single(builder: ir.IRBuilder, single: bool, function: Callable, *operands: ir.Value) -> ir.Value:
    """A real elementary function of f64 operands; computed in f32 where they are ``single``."""
    if not single:
        return function(builder, *operands)
    return widen(builder, function(builder, *(narrow(builder, operand) for operand in operands)))


def is_infinite(builder: ir.IRBuilder, x: ir.Value) -> ir.Value:
    return compare(builder, "==", absolute(builder, x), INFINITY)


def is_finite(builder: ir.IRBuilder, x: ir.Value) -> ir.Value:
    return compare(builder, "<", absolute(builder, x), INFINITY)


def sum_of_products(builder: ir.IRBuilder, a: ir.Value, b: ir.Value, c: ir.Value, d: ir.Value) -> ir.Value:
    """Return a b + c d within 1.5 ULP, also where the products cancel.

    Source: C.-P. Jeannerod, N. Louvet, J.-M. Muller, "Further analysis of Kahan's algorithm for the accurate computation of 2x2
    determinants", 2013.
    """
    product = multiply(builder, c, d)
    error = fma(builder, c, d, negate(builder, product))
    return add(builder, fma(builder, a, b, product), error)


class Scaled(NamedTuple):
    """The parts of a complex number times a power of two; ``huge`` and ``tiny`` say in which lanes it is not 1."""

    real: ir.Value
    imag: ir.Value
    huge: ir.Value | None
    tiny: ir.Value | None

    def power(self, builder: ir.IRBuilder, fraction: float) -> ir.Value | float:
        """Return scale**fraction: 2**(-SHIFT * fraction) where the number was huge, 2**(SHIFT * fraction) where it was tiny."""
        if self.huge is None:
            return 1.0
        exponent = (SHIFT_SINGLE if is_single(self.real) else SHIFT) * fraction
        usual = select(builder, self.tiny, constant(self.real.type, 2.0**exponent), 1.0)
        return select(builder, self.huge, 2.0**-exponent, usual)


def scaled(builder: ir.IRBuilder, z: ComplexValue, needed: bool = True) -> Scaled:
    """Return z scaled such that the square of the larger part is a normal number; z itself if that is not ``needed``."""
    if not needed:
        return Scaled(z.real, z.imag, None, None)
    x, y = absolute(builder, z.real), absolute(builder, z.imag)
    # Where a part is NaN the other decides, or neither: the squares are NaN in any case.
    largest = builder.select(compare(builder, ">", x, y), x, y)
    threshold = THRESHOLD_SINGLE if is_single(z.real) else THRESHOLD
    huge = compare(builder, ">", largest, 2.0**threshold)
    tiny = compare(builder, "<", largest, 2.0**-threshold)
    unscaled = Scaled(z.real, z.imag, huge, tiny)
    scale = unscaled.power(builder, 1.0)
    return unscaled._replace(real=multiply(builder, z.real, scale), imag=multiply(builder, z.imag, scale))


def scaled_modulus(builder: ir.IRBuilder, z: Scaled) -> ir.Value:
    """Return the modulus of the scaled number; NaN, not infinity, where a part is NaN."""
    return square_root(builder, fma(builder, z.real, z.real, multiply(builder, z.imag, z.imag)))


def has_infinite_part(builder: ir.IRBuilder, z: ComplexValue) -> ir.Value:
    return builder.or_(is_infinite(builder, z.real), is_infinite(builder, z.imag))


def modulus(builder: ir.IRBuilder, z: ComplexValue) -> ir.Value:
    """Return |z|, infinite where a part is, even if the other is NaN; in f32 for f32: two wide square roots would be slower."""
    parts = scaled(builder, z)
    result = multiply(builder, scaled_modulus(builder, parts), parts.power(builder, -1.0))
    return select(builder, has_infinite_part(builder, z), INFINITY, result)


@in_double
def sign(builder, single, z):
    """Return z / |z|, and 0 of 0; the unit of the infinite part where one is infinite, NaN where both are."""
    parts = scaled(builder, z, not single)
    length = scaled_modulus(builder, parts)
    zero = compare(builder, "==", length, 0.0)
    infinite = [is_infinite(builder, part) for part in z]
    one_infinite = builder.xor(*infinite)
    results = []
    for part, part_scaled, part_infinite in zip(z, parts, infinite):
        result = select(builder, zero, 0.0, real_divide(builder, part_scaled, length))
        unit = select(builder, part_infinite, copysign(builder, constant(part.type, 1.0), part), 0.0)
        results.append(builder.select(one_infinite, unit, result))
    return ComplexValue(*results)


def branch_for_rare(
    builder: ir.IRBuilder, condition: ir.Value, usual: ComplexValue, rare: Callable[[], ComplexValue]
) -> ComplexValue:
    """Return ``usual`` with the lanes where the condition holds replaced by ``rare()``; the builder ends in a new block."""

    def replaced() -> list[RegisterValue]:
        return [ComplexValue(*(builder.select(condition, new, old) for new, old in zip(rare(), usual)))]

    (result,) = replaced_if(builder, any_lane(builder, condition), [usual], replaced, RARE)
    return result


def quotient(builder: ir.IRBuilder, single: bool, x: ComplexValue, y: ComplexValue) -> tuple[ComplexValue, ir.Value]:
    """Return x / y and where it must not be used: where a part of x or y is not finite, or y is zero."""
    numerator, denominator = scaled(builder, x, not single), scaled(builder, y, not single)
    a, b, c, d = numerator.real, numerator.imag, denominator.real, denominator.imag
    if single:
        # The products are exact: nothing is lost where they cancel.
        real = fma(builder, a, c, multiply(builder, b, d))
        imag = subtract(builder, multiply(builder, b, c), multiply(builder, a, d))
    else:
        real = sum_of_products(builder, a, c, b, d)
        imag = sum_of_products(builder, b, c, negate(builder, a), d)
    square = fma(builder, c, c, multiply(builder, d, d))
    reciprocal = real_divide(builder, 1.0, square)
    results = [multiply(builder, part, reciprocal) for part in (real, imag)]
    if not single:
        # Scaling back by the square root twice: the factor as a whole need not be representable.
        half = multiply(builder, denominator.power(builder, 0.5), numerator.power(builder, -0.5))
        results = [multiply(builder, multiply(builder, part, half), half) for part in results]
    squares = fma(builder, a, a, fma(builder, b, b, square))
    usual = builder.and_(compare(builder, ">", square, 0.0), compare(builder, "<", squares, INFINITY))
    return ComplexValue(*results), builder.not_(usual)


@in_double
def divide(builder, single, x, y):
    """Return x / y; with infinities or where y is zero as C99 G.5.1 has it; the builder ends in a new block.

    Infinite is a number with an infinite part, even if the other one is NaN. Over zero both parts are multiplied by infinity
    with the sign of the divisor's real part.
    """
    usual, special = quotient(builder, single, x, y)
    return branch_for_rare(builder, special, usual, lambda: _special_quotient(builder, x, y))


def _boxed(builder: ir.IRBuilder, z: ComplexValue, infinite: ir.Value) -> list[ir.Value]:
    """Where z is infinite: 1 or -1 for its infinite parts, 0 with its sign for another one; z itself elsewhere."""
    parts = []
    for part in z:
        size = select(builder, is_infinite(builder, part), constant(part.type, 1.0), 0.0)
        parts.append(builder.select(infinite, copysign(builder, size, part), part))
    return parts


def _special_quotient(builder: ir.IRBuilder, x: ComplexValue, y: ComplexValue) -> ComplexValue:
    x_infinite, y_infinite = has_infinite_part(builder, x), has_infinite_part(builder, y)
    (a, b), (c, d) = _boxed(builder, x, x_infinite), _boxed(builder, y, y_infinite)
    # Over infinity a sum that overflows would give inf * 0.
    quarter = select(builder, y_infinite, constant(a.type, 0.25), 1.0)
    a, b = multiply(builder, a, quarter), multiply(builder, b, quarter)
    real = add(builder, multiply(builder, a, c), multiply(builder, b, d))
    imag = subtract(builder, multiply(builder, b, c), multiply(builder, a, d))
    over_infinity = select(builder, x_infinite, constant(a.type, float("nan")), 0.0)
    factor = select(builder, y_infinite, over_infinity, INFINITY)
    by_zero = builder.and_(*(compare(builder, "==", part, 0.0) for part in y))
    of_zero = copysign(builder, constant(a.type, INFINITY), y.real)
    return ComplexValue(
        *(
            builder.select(by_zero, multiply(builder, part, of_zero), multiply(builder, result, factor))
            for part, result in zip(x, (real, imag))
        )
    )


def _parts_of_root(
    builder: ir.IRBuilder, z: ComplexValue, parts: Scaled, length: ir.Value
) -> tuple[ir.Value, ir.Value, ir.Value, ir.Value]:
    """Return (right, larger, other, larger_scaled): the root's larger and smaller part and where the larger is the real one.

    ``length`` is the modulus of the scaled number. ``larger_scaled`` is the larger part of the scaled number's root.
    """
    half = multiply(builder, add(builder, absolute(builder, parts.real), length), 0.5)
    larger_scaled = square_root(builder, half)
    larger = multiply(builder, larger_scaled, parts.power(builder, -0.5))
    other = real_divide(builder, z.imag, add(builder, larger, larger))
    return compare(builder, ">=", z.real, 0.0), larger, other, larger_scaled


def principal_root(builder: ir.IRBuilder, single: bool, z: ComplexValue) -> ComplexValue:
    """Return the square root of f64 parts that lies in the right half-plane."""
    parts = scaled(builder, z, not single)
    length = select(builder, has_infinite_part(builder, z), INFINITY, scaled_modulus(builder, parts))
    right, larger, other, _ = _parts_of_root(builder, z, parts, length)
    other = select(builder, compare(builder, "==", larger, 0.0), z.imag, other)
    real = builder.select(right, larger, absolute(builder, other))
    imag = builder.select(right, other, copysign(builder, larger, z.imag))
    vertical = is_infinite(builder, z.imag)
    # The comparison with 0 takes a NaN to the left half-plane, but its root is NaN in both parts.
    return ComplexValue(select(builder, vertical, INFINITY, real), builder.select(vertical, z.imag, imag))


@in_double
def sqrt(builder, single, z):
    """Return the principal square root; the branch cut is the negative real axis, where the sign of the zero decides."""
    return principal_root(builder, single, z)


@in_double
def rsqrt(builder, single, z):
    """Return 1 / sqrt(z): conj(sqrt(z)) / |z|; inf + NaN i of 0, and 0 of infinity, as NumPy's quotient has it."""
    parts = scaled(builder, z, not single)
    length = scaled_modulus(builder, parts)
    right, _, other, larger_scaled = _parts_of_root(builder, z, parts, length)
    reciprocal = real_divide(builder, 1.0, length)
    larger = multiply(builder, multiply(builder, larger_scaled, reciprocal), parts.power(builder, 0.5))
    other = multiply(builder, multiply(builder, other, reciprocal), parts.power(builder, 1.0))
    real = builder.select(right, larger, absolute(builder, other))
    imag = builder.select(right, negate(builder, other), negate(builder, copysign(builder, larger, z.imag)))
    zero = compare(builder, "==", length, 0.0)
    real = select(builder, zero, INFINITY, real)
    imag = select(builder, zero, float("nan"), imag)
    infinite = has_infinite_part(builder, z)
    signed_zero = negate(builder, copysign(builder, constant(imag.type, 0.0), z.imag))
    return ComplexValue(select(builder, infinite, 0.0, real), builder.select(infinite, signed_zero, imag))
