"""The exponential and logarithm of complex numbers, and what is made of them.

exp(x + iy) = e**x (cos y + i sin y), log z = log|z| + i arg z. Where the textbook formula cancels or overflows, the sums are
arranged otherwise. Functions take f64 parts; see `complex_algebra.in_double`.
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
    negate,
    select,
    subtract,
    to_bits,
)
from .complex_algebra import INFINITY, SHIFT, has_infinite_part, in_double, in_single, is_finite, is_infinite, scaled
from .complex_trigonometric import power_of_two, sine_and_cosine
from .elementary import ELEMENTARY_FUNCTIONS
from .elementary.double_double import two_product, two_sum
from .elementary.exponential import exponential_parts, power_of_two_bits, wide_exponential
from .elementary.logarithm import apply_special_values, combine_double, combine_wide, split_exponent
from .types import ComplexValue


def real_exponential(builder: ir.IRBuilder, single: bool, x: ir.Value) -> ir.Value:
    """Return e**x of f64; to f32 accuracy and for -208 < x < 208 where ``single``."""
    if not single:
        return ELEMENTARY_FUNCTIONS["exponential"](builder, x)
    # NaN does not survive the arithmetic on exponents.
    return builder.select(builder.fcmp_unordered("uno", x, x), x, wide_exponential(builder, x))


def times_exponential(builder: ir.IRBuilder, single: bool, x: ir.Value, *values: ir.Value) -> list[ir.Value]:
    """Return e**x v for each v, |v| <= 1; finite where the product is, however large e**x."""
    if single:
        factor = real_exponential(builder, single, x)
        return [multiply(builder, value, factor) for value in values]
    # The smallest v is 2**-1074: beyond these limits the product is infinite or 0 for every v but 0.
    n, _, p = exponential_parts(builder, clamp_below(builder, clamp_above(builder, x, 1455.0), -800.0))
    third = multiply(builder, n, 1 / 3)
    third, factor = power_of_two(builder, third)
    _, rest = power_of_two(builder, fma(builder, third, -2.0, n))
    p = multiply(builder, p, rest)
    return [multiply(builder, multiply(builder, multiply(builder, p, value), factor), factor) for value in values]


def apply_infinite_exponent(
    builder: ir.IRBuilder, x: ir.Value, y: ir.Value, result: ComplexValue, at_minus_infinity: float
) -> ComplexValue:
    """Correct a result of the kind of exp(x + iy) for infinite x with y infinite or NaN, and for y = 0."""
    special = builder.and_(is_infinite(builder, x), builder.not_(is_finite(builder, y)))
    vanishing = builder.and_(special, compare(builder, "<", x, 0.0))
    real = select(builder, special, INFINITY, result.real)
    real = select(builder, vanishing, at_minus_infinity, real)
    imag = builder.select(vanishing, copysign(builder, constant(y.type, 0.0), y), result.imag)
    return ComplexValue(real, builder.select(compare(builder, "==", y, 0.0), y, imag))


@in_double
def exponential(builder, single, z):
    """Return e**z; the builder ends in a new block."""
    x, y = z
    sine, cosine = sine_and_cosine(builder, single, y)
    result = ComplexValue(*times_exponential(builder, single, x, cosine, sine))
    return apply_infinite_exponent(builder, x, y, result, 0.0)


def one_plus_cosine(builder: ir.IRBuilder, sine: ir.Value, cosine: ir.Value) -> ir.Value:
    """Return 1 + cos y without cancellation; with -cos y for cos y, 1 - cos y."""
    negative = compare(builder, "<", cosine, 0.0)
    quotient = divide(builder, multiply(builder, sine, sine), subtract(builder, 1.0, cosine))
    return builder.select(negative, quotient, add(builder, cosine, 1.0))


def _real_exponential_minus_one(builder: ir.IRBuilder, single: bool, x: ir.Value) -> ir.Value:
    return in_single(builder, single, ELEMENTARY_FUNCTIONS["exponential-minus-one"], x)


@in_double
def exponential_minus_one(builder, single, z):
    """Return e**z - 1, accurate near 0: (e**x - 1) cos y - (1 - cos y) + i e**x sin y; the builder ends in a new block."""
    x, y = z
    sine, cosine = sine_and_cosine(builder, single, y)
    large_cosine, imag = times_exponential(builder, single, x, cosine, sine)
    versine = one_plus_cosine(builder, sine, negate(builder, cosine))
    near = fma(builder, _real_exponential_minus_one(builder, single, x), cosine, negate(builder, versine))
    # e**x may be too large for e**x - 1 where e**x cos y is not.
    far = compare(builder, ">", x, 40.0 if not single else 1.0)
    real = builder.select(far, subtract(builder, large_cosine, 1.0), near)
    return apply_infinite_exponent(builder, x, y, ComplexValue(real, imag), -1.0)


@in_double
def logistic(builder, single, z):
    """Return 1 / (1 + e**-z); the builder ends in a new block.

    With e = e**-|x| the divisor |1 + e**-z|**2 is (1 - e)**2 + 2 e (1 + cos y): two positive terms, also near the poles.
    """
    x, y = z
    sine, cosine = sine_and_cosine(builder, single, y)
    exponent = negate(builder, absolute(builder, x))
    e = real_exponential(builder, single, exponent)
    minus_one = _real_exponential_minus_one(builder, single, exponent)
    successor = one_plus_cosine(builder, sine, cosine)
    square = fma(builder, minus_one, minus_one, multiply(builder, add(builder, e, e), successor))
    # The conjugate of 1 + e**-z, for x < 0 divided by the conjugate of e**-z.
    right = fma(builder, e, successor, negate(builder, minus_one))
    near_pole = compare(builder, "<", cosine, -0.5)
    left = builder.select(near_pole, add(builder, successor, minus_one), add(builder, cosine, e))
    negative = compare(builder, "<", x, 0.0)
    real = divide(builder, builder.select(negative, multiply(builder, e, left), right), square)
    imag = divide(builder, multiply(builder, e, sine), square)
    special = builder.and_(is_infinite(builder, x), builder.not_(is_finite(builder, y)))
    real = builder.select(special, select(builder, negative, constant(x.type, 0.0), 1.0), real)
    imag = select(builder, special, 0.0, imag)
    return ComplexValue(real, builder.select(compare(builder, "==", y, 0.0), y, imag))


def log_modulus(builder: ir.IRBuilder, single: bool, z: ComplexValue, real_low: ir.Value | None = None) -> ir.Value:
    """Return log |z + real_low|, accurate also where the modulus is near 1.

    The square of the modulus is taken as a sum of two numbers, h + low = 2**k (1 + f + f_low).
    """
    parts = scaled(builder, z, not single)
    p, p_low = two_product(builder, parts.real, parts.real)
    q, q_low = two_product(builder, parts.imag, parts.imag)
    h, low = two_sum(builder, p, q)
    low = add(builder, low, add(builder, p_low, q_low))
    if real_low is not None:
        real_low = multiply(builder, real_low, parts.power(builder, 1.0))
        low = fma(builder, add(builder, parts.real, parts.real), real_low, low)
    k, exponent_bits = split_exponent(builder, h)
    bits_type = integer_type(h.type)
    f = subtract(builder, from_bits(builder, builder.sub(to_bits(builder, h), exponent_bits), h.type), 1.0)
    power = from_bits(builder, builder.sub(constant(bits_type, power_of_two_bits(0, False)), exponent_bits), h.type)
    if single:
        result = combine_wide(builder, k, fma(builder, low, power, f))
    else:
        offset = select(builder, parts.tiny, constant(k.type, -2.0 * SHIFT), 0.0)
        k = add(builder, k, select(builder, parts.huge, 2.0 * SHIFT, offset))
        result = combine_double(builder, k, f, multiply(builder, low, power))
    result = apply_special_values(builder, multiply(builder, result, 0.5), h, 0.0)
    return select(builder, has_infinite_part(builder, z), INFINITY, result)


def argument(builder: ir.IRBuilder, single: bool, z: ComplexValue) -> ir.Value:
    """Return the angle of z in [-pi, pi]."""
    return in_single(builder, single, ELEMENTARY_FUNCTIONS["atan2"], z.imag, z.real)


@in_double
def log(builder, single, z):
    """Return the principal logarithm; the branch cut is the negative real axis."""
    return ComplexValue(log_modulus(builder, single, z), argument(builder, single, z))


@in_double
def log_plus_one(builder, single, z):
    """Return log(1 + z), accurate near 0."""
    high, low = two_sum(builder, z.real, constant(z.real.type, 1.0))
    # Infinity less infinity leaves no low part.
    low = select(builder, is_finite(builder, z.real), low, 0.0)
    successor = ComplexValue(high, z.imag)
    return ComplexValue(log_modulus(builder, single, successor, low), argument(builder, single, successor))
