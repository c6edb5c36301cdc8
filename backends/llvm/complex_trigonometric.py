"""The circular functions of complex numbers and tanh, from the real circular and hyperbolic functions of the parts.

sinh(h + it) = sinh h cos t + i cosh h sin t, cosh(h + it) = cosh h cos t + i sinh h sin t; with i z for z, sin z and cos z.
Special values are those of C99 G.6.2. Functions take f64 parts; see `complex_algebra.in_double`.
"""

from __future__ import annotations

from llvmlite import ir

from .arithmetic import (
    absolute,
    add,
    clamp_above,
    clamp_below,
    compare,
    constant,
    copysign,
    divide,
    fma,
    from_bits,
    integer_type,
    multiply,
    narrow,
    negate,
    round_by_magic,
    select,
    set_sign_of,
    square_root,
    subtract,
    to_bits,
    widen,
)
from .complex_algebra import INFINITY, in_double, is_finite, is_infinite
from .elementary import ELEMENTARY_FUNCTIONS
from .elementary.exponential import exponential_parts, power_of_two_bits, shift_into_exponent, wide_exponential
from .elementary.huge_argument import reduce_huge, replace_huge
from .elementary.hyperbolic import SINH, WIDE_SINH, odd_polynomial
from .elementary.trigonometric import LIMIT_DOUBLE, LIMIT_SINGLE, flip_sign, quarter_turns, reduce_moderate
from .types import ComplexValue


def power_of_two(builder: ir.IRBuilder, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Return (n, 2**n) with n the integer nearest to x of f64, which must lie in the range of normal exponents."""
    n, bits = round_by_magic(builder, x, 1.0)
    one = constant(integer_type(x.type), power_of_two_bits(0, False))
    return n, from_bits(builder, builder.add(shift_into_exponent(builder, bits), one), x.type)


def _following_quarter(builder: ir.IRBuilder, bits: ir.Value) -> ir.Value:
    return builder.add(bits, constant(bits.type, 1))


def _huge_sine(builder, x):
    return quarter_turns(builder, *reduce_huge(builder, x))


def _huge_cosine(builder, x):
    n, r, r_low = reduce_huge(builder, x)
    return quarter_turns(builder, _following_quarter(builder, n), r, r_low)


def sine_and_cosine(builder: ir.IRBuilder, single: bool, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Return (sin x, cos x) of f64, by way of f32 where x is ``single``; ends in a new block."""
    if single:
        x = narrow(builder, x)
    limit, sign_bit = (LIMIT_SINGLE, 31) if single else (LIMIT_DOUBLE, 63)
    magnitude = absolute(builder, x)
    bits, r, r_low = reduce_moderate(builder, magnitude)
    sine = quarter_turns(builder, bits, r, r_low)
    cosine = quarter_turns(builder, _following_quarter(builder, bits), r, r_low)
    sine = replace_huge(builder, "sine", magnitude, sine, limit, _huge_sine)
    cosine = replace_huge(builder, "cosine", magnitude, cosine, limit, _huge_cosine)
    sine = flip_sign(builder, sine, to_bits(builder, x), sign_bit)
    return (widen(builder, sine), widen(builder, cosine)) if single else (sine, cosine)


def sinh_and_cosh(builder: ir.IRBuilder, single: bool, x: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Return (s, c, factor) of f64 with sinh x = s factor**2 and cosh x = c factor**2.

    The factor is 1 unless cosh x is near the limit of the format or beyond; its product with a small number may be finite.
    """
    magnitude = absolute(builder, x)
    if single:
        half = wide_exponential(builder, magnitude, 0.5)
        factor = constant(x.type, 1.0)
    else:
        n, _, p = exponential_parts(builder, clamp_above(builder, magnitude, 1456.0), 0.5)
        excess = clamp_below(builder, fma(builder, n, 0.5, -500.0), 0.0)
        excess, factor = power_of_two(builder, excess)
        _, power = power_of_two(builder, fma(builder, excess, -2.0, n))
        half = multiply(builder, p, power)
    decaying = divide(builder, 0.25, half)
    cosh = add(builder, half, decaying)
    small = odd_polynomial(builder, x, WIDE_SINH if single else SINH)
    large = set_sign_of(builder, subtract(builder, half, decaying), x)
    sinh = builder.select(compare(builder, ">", magnitude, 1.0), large, small)
    nan = builder.fcmp_unordered("uno", x, x)
    return builder.select(nan, x, sinh), builder.select(nan, x, cosh), factor


def _products(builder, single, h, values_of):
    """Return products of (sinh h, cosh h) with two values, given by ``values_of(sinh, cosh)``, with the factor applied."""
    sinh, cosh, factor = sinh_and_cosh(builder, single, h)
    products = (multiply(builder, x, y) for x, y in values_of(sinh, cosh))
    if single:
        return list(products)
    return [multiply(builder, multiply(builder, product, factor), factor) for product in products]


def complex_sinh(builder: ir.IRBuilder, single: bool, h: ir.Value, t: ir.Value) -> ComplexValue:
    """Return sinh(h + it) of f64 parts."""
    sine, cosine = sine_and_cosine(builder, single, t)
    real, imag = _products(builder, single, h, lambda sinh, cosh: ((sinh, cosine), (cosh, sine)))
    undefined = builder.not_(is_finite(builder, t))
    # 0 and infinity keep the real part what it is where cos t is not known.
    kept = builder.and_(undefined, builder.or_(compare(builder, "==", h, 0.0), is_infinite(builder, h)))
    return ComplexValue(builder.select(kept, h, real), builder.select(compare(builder, "==", t, 0.0), t, imag))


def complex_cosh(builder: ir.IRBuilder, single: bool, h: ir.Value, t: ir.Value) -> ComplexValue:
    """Return cosh(h + it) of f64 parts."""
    sine, cosine = sine_and_cosine(builder, single, t)
    real, imag = _products(builder, single, h, lambda sinh, cosh: ((cosh, cosine), (sinh, sine)))
    undefined = builder.not_(is_finite(builder, t))
    real = select(builder, builder.and_(undefined, is_infinite(builder, h)), INFINITY, real)
    # Where h or t is 0 the imaginary part is, too, even if the other has no sine or an infinite sinh.
    zero = builder.or_(builder.and_(undefined, compare(builder, "==", h, 0.0)), compare(builder, "==", t, 0.0))
    unit = copysign(builder, constant(h.type, 1.0), t)
    signed_zero = multiply(builder, copysign(builder, constant(h.type, 0.0), h), unit)
    return ComplexValue(real, builder.select(zero, signed_zero, imag))


def complex_tanh(builder: ir.IRBuilder, single: bool, h: ir.Value, t: ir.Value) -> ComplexValue:
    """Return tanh(h + it) of f64 parts: (sinh h cosh h + i sin t cos t) / (sinh(h)**2 + cos(t)**2), a sum of positive terms."""
    sine, cosine = sine_and_cosine(builder, single, t)
    magnitude = absolute(builder, h)
    # Beyond the limits the imaginary part is 0; for f32 the divisor stays finite.
    limit = 60.0 if single else 400.0
    clamped = copysign(builder, clamp_above(builder, magnitude, limit), h)
    sinh = _real_sinh(builder, single, clamped)
    cosh = square_root(builder, fma(builder, sinh, sinh, 1.0))
    divisor = fma(builder, sinh, sinh, multiply(builder, cosine, cosine))
    product = multiply(builder, sine, cosine)
    if single:
        reciprocal = divide(builder, 1.0, divisor)
        imag = multiply(builder, product, reciprocal)
        real = multiply(builder, multiply(builder, sinh, cosh), reciprocal)
    else:
        # sinh(h)**2 would overflow: divide by sinh(h) twice where cos(t)**2 no longer matters.
        large = compare(builder, ">", magnitude, 22.0)
        reciprocal = divide(builder, 1.0, builder.select(large, absolute(builder, sinh), divisor))
        imag = multiply(builder, multiply(builder, product, reciprocal), select(builder, large, reciprocal, 1.0))
        real = multiply(builder, multiply(builder, sinh, select(builder, large, 1.0, cosh)), reciprocal)
        real = fma(builder, cosine, 0.0, real)  # NaN where t has no cosine
    infinite = is_infinite(builder, h)
    # At a zero of the real part it is 0, and 1 or -1 at infinity, even where t is infinite or NaN.
    one = copysign(builder, constant(h.type, 1.0), h)
    real = builder.select(infinite, one, builder.select(compare(builder, "==", h, 0.0), h, real))
    undefined = builder.and_(infinite, builder.not_(is_finite(builder, t)))
    imag = builder.select(undefined, copysign(builder, constant(h.type, 0.0), t), imag)
    return ComplexValue(real, builder.select(compare(builder, "==", t, 0.0), t, imag))


def _real_sinh(builder: ir.IRBuilder, single: bool, x: ir.Value) -> ir.Value:
    if not single:
        return ELEMENTARY_FUNCTIONS["sinh"](builder, x)
    sinh, _, _ = sinh_and_cosh(builder, single, x)
    return sinh


@in_double
def sine(builder, single, z):
    """Return sin z = -i sinh(iz); the builder ends in a new block."""
    w = complex_sinh(builder, single, negate(builder, z.imag), z.real)
    return ComplexValue(w.imag, negate(builder, w.real))


@in_double
def cosine(builder, single, z):
    """Return cos z = cosh(iz); the builder ends in a new block."""
    return complex_cosh(builder, single, negate(builder, z.imag), z.real)


@in_double
def tan(builder, single, z):
    """Return tan z = -i tanh(iz); the builder ends in a new block."""
    w = complex_tanh(builder, single, negate(builder, z.imag), z.real)
    return ComplexValue(w.imag, negate(builder, w.real))


@in_double
def tanh(builder, single, z):
    """Return tanh z; the builder ends in a new block."""
    return complex_tanh(builder, single, *z)
