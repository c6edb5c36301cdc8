"""The trigonometric functions sine, cosine and tan.

Method: x = n pi/2 + r with |r| <= pi / 4; n modulo 4 decides between +-sin(r) and +-cos(r). The reduction subtracts pi/2 in
parts (W. J. Cody and W. Waite, "Software Manual for the Elementary Functions", 1980) with fused operations, and r is kept as
a sum of two numbers. Arguments beyond a limit take the path of `huge_argument`. The polynomials were fitted with the Remez
exchange algorithm for this module.
"""

import math

from ..arithmetic import (
    absolute,
    add,
    constant,
    divide,
    fma,
    from_bits,
    integer_type,
    is_single,
    multiply,
    negate,
    polynomial,
    round_by_magic,
    subtract,
    to_bits,
)
from .double_double import divide_sums, fast_two_sum, two_product
from .huge_argument import reduce_huge, replace_huge
from .table import elementary

# pi / 2 as an unevaluated sum of three numbers of the format.
PI_HALF_SINGLE = (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15)
PI_HALF_DOUBLE = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
LIMIT_SINGLE = 2.0**17
LIMIT_DOUBLE = 2.0**30

# (sin(r) - r) / r**3 in powers of r**2 on |r| <= pi / 4; error relative to sin(r) 2**-27.8 and 2**-57.9.
SINE_SINGLE = (
    -0.16666653752326965,
    0.008332106284797192,
    -0.00019507906108628958,
)
SINE_DOUBLE = (
    -0.1666666666666663,
    0.008333333333321844,
    -0.0001984126982936261,
    2.7557313540191194e-06,
    -2.5050734677994127e-08,
    1.589545107463372e-10,
)
# (cos(r) - 1) / r**2, the same; error relative to cos(r) 2**-32.9.
COSINE_SINGLE = (
    -0.5,
    0.04166664555668831,
    -0.0013887303648516536,
    2.443119592498988e-05,
)
# (cos(r) - 1 + r**2 / 2) / r**4, the same; error relative to cos(r) 2**-63.9.
COSINE_DOUBLE = (
    0.041666666666666595,
    -0.0013888888888873327,
    2.4801587288985853e-05,
    -2.7557314210855324e-07,
    2.087570439125744e-09,
    -1.1358690080984446e-11,
)
# (tan(r) - r) / r**3, the same; error relative to tan(r) 2**-29.5.
TANGENT_SINGLE = (
    0.33333349227905273,
    0.13332675397396088,
    0.05405891314148903,
    0.02128620818257332,
    0.010827437974512577,
    9.828052861848846e-05,
    0.00437265494838357,
)


def reduce_moderate(builder, x):
    """Return (bits, r, r_low) with x = n pi/2 + r + r_low, |r| <= pi / 4; `bits` holds n, see `round_by_magic`.

    Valid up to the limits above.
    """
    parts = PI_HALF_SINGLE if is_single(x) else PI_HALF_DOUBLE
    n, bits = round_by_magic(builder, x, 2.0 / math.pi)
    first = fma(builder, n, -parts[0], x)  # exact
    product, product_error = two_product(builder, n, constant(x.type, parts[1]))
    r = subtract(builder, first, product)
    r_error = subtract(builder, subtract(builder, first, r), product)
    return bits, r, subtract(builder, r_error, fma(builder, n, parts[2], product_error))


def sine_of_reduced(builder, r, r_low, square):
    """Return (high, tail) with sin(r + r_low) = high + tail unevaluated, for |r| <= pi / 4 and square = r**2."""
    q = polynomial(builder, square, SINE_SINGLE if is_single(r) else SINE_DOUBLE)
    return r, fma(builder, multiply(builder, square, r), q, r_low)


def cosine_of_reduced(builder, r, r_low, square):
    """Return (high, tail) with cos(r + r_low) = high + tail unevaluated, for |r| <= pi / 4 and square = r**2 of f64."""
    half_square = multiply(builder, square, 0.5)
    high = subtract(builder, 1.0, half_square)
    rounding = subtract(builder, subtract(builder, 1.0, high), half_square)
    q = polynomial(builder, square, COSINE_DOUBLE)
    return high, fma(builder, multiply(builder, square, square), q, fma(builder, negate(builder, r), r_low, rounding))


def lowest_bit(builder, bits):
    """Return an i1 per lane: the lowest of `bits`. LLVM has no such truncation of vectors for all devices."""
    return builder.icmp_unsigned("!=", builder.and_(bits, constant(bits.type, 1)), constant(bits.type, 0))


def flip_sign(builder, value, bits, position):
    """Return -value where bit `position` of `bits` is set, else value."""
    bits_type = integer_type(value.type)
    top = 31 if is_single(value) else 63
    shifted = bits if position == top else builder.shl(bits, constant(bits_type, top - position))
    sign = builder.and_(shifted, constant(bits_type, 1 << top))
    return from_bits(builder, builder.xor(to_bits(builder, value), sign), value.type)


def quarter_turns(builder, bits, r, r_low):
    """Return sin(n pi/2 + r + r_low), where `bits` holds n in its low bits."""
    if is_single(r):
        # (r + r_low)**2 rounded once: the cosine has no other place for r_low
        square = fma(builder, r, r, multiply(builder, add(builder, r, r), r_low))
    else:
        square = multiply(builder, r, r)
    sine_value = add(builder, *sine_of_reduced(builder, r, r_low, square))
    if is_single(r):
        cosine_value = fma(builder, square, polynomial(builder, square, COSINE_SINGLE), 1.0)
    else:
        cosine_value = add(builder, *cosine_of_reduced(builder, r, r_low, square))
    value = builder.select(lowest_bit(builder, bits), cosine_value, sine_value)
    return flip_sign(builder, value, bits, 1)


def _limit(x):
    return LIMIT_SINGLE if is_single(x) else LIMIT_DOUBLE


def _huge_sine(builder, x):
    return quarter_turns(builder, *reduce_huge(builder, x))


@elementary
def sine(builder, x):
    """Return sin(x), x in radians; the builder ends in a new block."""
    magnitude = absolute(builder, x)
    value = quarter_turns(builder, *reduce_moderate(builder, magnitude))
    value = replace_huge(builder, "sine", magnitude, value, _limit(x), _huge_sine)
    return flip_sign(builder, value, to_bits(builder, x), 31 if is_single(x) else 63)


def _next_quarter(builder, bits):
    return builder.add(bits, constant(bits.type, 1))


def _huge_cosine(builder, x):
    n, r, r_low = reduce_huge(builder, x)
    return quarter_turns(builder, _next_quarter(builder, n), r, r_low)


@elementary
def cosine(builder, x):
    """Return cos(x), x in radians; the builder ends in a new block."""
    magnitude = absolute(builder, x)
    bits, r, r_low = reduce_moderate(builder, magnitude)
    value = quarter_turns(builder, _next_quarter(builder, bits), r, r_low)
    return replace_huge(builder, "cosine", magnitude, value, _limit(x), _huge_cosine)


def tangent_of_reduced(builder, bits, r, r_low):
    """Return tan(n pi/2 + r + r_low) for f64, |r| <= pi / 4, where `bits` holds n in its low bits."""
    square = multiply(builder, r, r)
    sine_high, sine_low = fast_two_sum(builder, *sine_of_reduced(builder, r, r_low, square))
    cosine_high, cosine_low = fast_two_sum(builder, *cosine_of_reduced(builder, r, r_low, square))
    odd = lowest_bit(builder, bits)
    numerator = builder.select(odd, cosine_high, sine_high)
    numerator_low = builder.select(odd, cosine_low, sine_low)
    denominator = builder.select(odd, negate(builder, sine_high), cosine_high)
    denominator_low = builder.select(odd, negate(builder, sine_low), cosine_low)
    return divide_sums(builder, numerator, numerator_low, denominator, denominator_low)


def _single_tangent(builder, bits, r, r_low):
    """Return tan(n pi/2 + r + r_low) for f32, |r| <= pi / 4, where `bits` holds n in its low bits."""
    square, square_low = two_product(builder, r, r)
    ratio = multiply(builder, r, polynomial(builder, square, TANGENT_SINGLE))
    # The derivative of the tangent is 1 + tan(r)**2, between 1 + r**2 and 1 + 1.63 r**2.
    tail = fma(builder, square_low, ratio, multiply(builder, r_low, fma(builder, square, 1.5, 1.0)))
    high, low = fast_two_sum(builder, r, fma(builder, square, ratio, tail))
    cotangent = divide(builder, -1.0, high)
    residual = fma(builder, cotangent, low, fma(builder, cotangent, high, 1.0))
    cotangent = fma(builder, cotangent, residual, cotangent)
    return builder.select(lowest_bit(builder, bits), cotangent, high)


def _huge_tangent(builder, x):
    return tangent_of_reduced(builder, *reduce_huge(builder, x))


@elementary
def tan(builder, x):
    """Return tan(x), x in radians; the builder ends in a new block."""
    magnitude = absolute(builder, x)
    of_reduced = _single_tangent if is_single(x) else tangent_of_reduced
    value = of_reduced(builder, *reduce_moderate(builder, magnitude))
    value = replace_huge(builder, "tan", magnitude, value, _limit(x), _huge_tangent)
    return flip_sign(builder, value, to_bits(builder, x), 31 if is_single(x) else 63)
