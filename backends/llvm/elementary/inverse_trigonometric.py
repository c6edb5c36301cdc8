"""The inverse trigonometric functions atan, atan2, asin and acos.

Method for atan: a quotient of at most 1 by exchange of numerator and denominator, at most 1/2 by the addition theorem, then
an odd polynomial; for f32 the quotient is a sum of two numbers. For asin and acos: an odd polynomial for |x| <= 1/2, else
asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)); for f32 in f64 with polynomials of f32 accuracy. The polynomials were fitted with
the Remez exchange algorithm for this module.
"""

from ..arithmetic import (
    absolute,
    add,
    clamp_above,
    compare,
    constant,
    divide,
    fma,
    is_single,
    multiply,
    narrow,
    negate,
    polynomial,
    select,
    set_sign_of,
    square_root,
    subtract,
    to_bits,
    widen,
)
from .double_double import fast_two_sum
from .table import elementary

PI = (3.141592653589793, 1.2246467991473532e-16)
PI_HALF = (1.5707963267948966, 6.123233995736766e-17)
PI_QUARTER = (0.7853981633974483, 3.061616997868383e-17)
# pi / 4, pi / 2, 3 pi / 4 and pi for f32.
QUARTERS_SINGLE = (
    (0.7853981852531433, -2.1855694143368964e-08),
    (1.5707963705062866, -4.371138828673793e-08),
    (2.356194496154785, -5.962440319251527e-09),
    (3.1415927410125732, -8.742277657347586e-08),
)

# (atan(t) - t) / t**3 in powers of t**2 on |t| <= 1/2; error relative to atan(t) 2**-27.3 and 2**-59.2.
ARCTANGENT_SINGLE = (
    -0.3333323299884796,
    0.19994167983531952,
    -0.14174190163612366,
    0.10155623406171799,
    -0.051245905458927155,
)
ARCTANGENT = (
    -0.3333333333333298,
    0.19999999999903006,
    -0.14285714276374328,
    0.11111110659082338,
    -0.09090896229763079,
    0.07692073660272701,
    -0.06663807848351024,
    0.05858278843772467,
    -0.051219106129970625,
    0.041862208808834,
    -0.027430145871578403,
    0.010113316513408275,
)
# (asin(s) - s) / s**3 in powers of s**2 on |s| <= 1/2; error relative to asin(s) 2**-31.8 and 2**-59.0.
WIDE_ARCSINE = (
    0.16666659991070504,
    0.07500504201032923,
    0.04451695236065648,
    0.03180773553345419,
    0.014438569897682154,
    0.03751645512431,
)
ARCSINE = (
    0.1666666666666676,
    0.07499999999970867,
    0.04464285717457628,
    0.030381942707836517,
    0.022372215037941175,
    0.0173516101310374,
    0.013980854943531924,
    0.011398536917877159,
    0.010782849372280216,
    0.003694912169873763,
    0.02173902937503528,
    -0.02104810697800133,
    0.03266153700881031,
)


def arctangent_of_quotient(builder, smaller, larger):
    """Return atan(smaller / larger) for f64 lanes 0 <= smaller <= larger, in [0, pi/4]."""
    # From one half on, the difference is exact.
    upper = compare(builder, ">=", add(builder, smaller, smaller), larger)
    numerator = select(builder, upper, subtract(builder, smaller, larger), smaller)
    denominator = select(builder, upper, add(builder, smaller, larger), larger)
    t = divide(builder, numerator, denominator)
    base = select(builder, upper, constant(t.type, PI_QUARTER[0]), 0.0)
    base_low = select(builder, upper, constant(t.type, PI_QUARTER[1]), 0.0)
    square = multiply(builder, t, t)
    tail = fma(builder, multiply(builder, square, t), polynomial(builder, square, ARCTANGENT), base_low)
    return add(builder, base, add(builder, t, tail))


def _single_arctangent(builder, smaller, larger, opposite, octants):
    """Return the sum of an angle and atan(smaller / larger), or where `opposite` their difference.

    For f32 lanes 0 <= smaller <= larger, larger in [2**-85, 2**80]. `octants(upper)` are the two parts of the angle, to which
    pi / 4 has been added, or from which it was taken, where `upper`.
    """
    upper = compare(builder, ">=", add(builder, smaller, smaller), larger)
    total, total_low = fast_two_sum(builder, larger, smaller)
    numerator = select(builder, upper, subtract(builder, smaller, larger), smaller)
    denominator = builder.select(upper, total, larger)
    reciprocal = divide(builder, 1.0, denominator)
    t = multiply(builder, numerator, reciprocal)
    negative = negate(builder, t)
    remainder = fma(builder, negative, denominator, numerator)
    remainder = fma(builder, negative, select(builder, upper, total_low, 0.0), remainder)
    square = multiply(builder, t, t)
    q = polynomial(builder, square, ARCTANGENT_SINGLE)
    tail = fma(builder, multiply(builder, square, t), q, multiply(builder, remainder, reciprocal))
    t, tail = (builder.select(opposite, negate(builder, part), part) for part in (t, tail))
    high, low = octants(upper)
    angle, error = fast_two_sum(builder, high, t)
    return add(builder, angle, add(builder, error, add(builder, low, tail)))


def _complement(builder, condition, total, angle):
    """Return total - angle where the condition holds, else angle; `total` is a sum of two numbers."""
    difference = subtract(builder, total[0], subtract(builder, angle, total[1]))
    return builder.select(condition, difference, angle)


@elementary
def atan(builder, x):
    """Return the arctangent of x in radians."""
    single = is_single(x)
    magnitude = absolute(builder, x)
    inverted = compare(builder, ">", magnitude, 1.0)
    smaller = select(builder, inverted, 1.0, magnitude)
    larger = select(builder, inverted, magnitude, 1.0)
    if single:
        # Beyond this, all that is left is pi/2.
        larger = clamp_above(builder, larger, 2.0**80)

        def octants(upper):
            for quarter, half, *_ in zip(*QUARTERS_SINGLE):
                other = select(builder, inverted, constant(x.type, half), 0.0)
                yield select(builder, upper, quarter, other)

        return set_sign_of(builder, _single_arctangent(builder, smaller, larger, inverted, octants), x)
    infinite = compare(builder, "==", magnitude, float("inf"))
    # The addition theorem would divide inf by inf; any large number does.
    larger = select(builder, infinite, 2.0**1000, larger)
    angle = arctangent_of_quotient(builder, smaller, larger)
    return set_sign_of(builder, _complement(builder, inverted, PI_HALF, angle), x)


@elementary
def atan2(builder, y, x):
    """Return the angle of the point (x, y) in radians, with the special cases of C99 Annex F.9.1.4."""
    single = is_single(y)
    y_magnitude, x_magnitude = absolute(builder, y), absolute(builder, x)
    inverted = compare(builder, ">", y_magnitude, x_magnitude)
    smaller = builder.select(inverted, x_magnitude, y_magnitude)
    larger = builder.select(inverted, y_magnitude, x_magnitude)
    infinity = float("inf")
    # inf / inf is to be 1 and 0 / 0 to be 0; sums of the largest numbers, or reciprocals, must not overflow.
    infinite = compare(builder, "==", larger, infinity)
    both = select(builder, compare(builder, "==", smaller, infinity), constant(x.type, 1.0), 0.0)
    smaller = builder.select(infinite, both, smaller)
    larger = select(builder, builder.or_(infinite, compare(builder, "==", larger, 0.0)), 1.0, larger)
    many, scaled = (2.0**80, 2.0**-64) if single else (2.0**1000, 2.0**-100)
    scale = select(builder, compare(builder, ">", larger, many), constant(x.type, scaled), 1.0)
    if single:
        # What a quotient leaves must not be subnormal, unless the quotient is.
        scale = select(builder, compare(builder, "<", larger, 2.0**10), 2.0**64, scale)
    smaller, larger = multiply(builder, smaller, scale), multiply(builder, larger, scale)
    bits = to_bits(builder, x)
    negative = builder.icmp_signed("<", bits, constant(bits.type, 0))
    # pi/2 - angle, pi - angle and pi/2 + angle for the other octants
    opposite = builder.xor(inverted, negative)
    if single:

        def octants(upper):
            for quarter, half, three, whole in zip(*QUARTERS_SINGLE):
                other = select(builder, inverted, half, select(builder, negative, constant(x.type, whole), 0.0))
                yield select(builder, upper, select(builder, negative, constant(x.type, three), quarter), other)

        angle = _single_arctangent(builder, smaller, larger, opposite, octants)
    else:
        high, low = (
            select(builder, inverted, half, select(builder, negative, constant(x.type, whole), 0.0))
            for half, whole in zip(PI_HALF, PI)
        )
        angle = arctangent_of_quotient(builder, smaller, larger)
        angle = builder.select(opposite, negate(builder, angle), angle)
        angle = add(builder, high, add(builder, low, angle))
    angle = set_sign_of(builder, angle, y)
    return select(builder, builder.fcmp_unordered("uno", x, y), float("nan"), angle)


def _reduced_arcsine(builder, magnitude, coefficients):
    """Return (large, s, p) with asin(s) = s + p, s = sqrt((1 - magnitude) / 2) where `large`, else s = magnitude."""
    large = compare(builder, ">", magnitude, 0.5)
    halved = fma(builder, magnitude, -0.5, 0.5)
    z = builder.select(large, halved, multiply(builder, magnitude, magnitude))
    s = builder.select(large, square_root(builder, halved), magnitude)
    return large, s, multiply(builder, multiply(builder, s, z), polynomial(builder, z, coefficients))


def _arcsine(builder, x, coefficients):
    large, s, p = _reduced_arcsine(builder, absolute(builder, x), coefficients)
    high, error = fast_two_sum(builder, constant(x.type, PI_HALF[0]), multiply(builder, s, -2.0))
    complement = add(builder, high, add(builder, error, fma(builder, p, -2.0, PI_HALF[1])))
    return set_sign_of(builder, builder.select(large, complement, add(builder, s, p)), x)


@elementary
def asin(builder, x):
    """Return the arcsine of x in radians."""
    if is_single(x):
        return narrow(builder, _arcsine(builder, widen(builder, x), WIDE_ARCSINE))
    return _arcsine(builder, x, ARCSINE)


def _arccosine(builder, x, coefficients):
    large, s, p = _reduced_arcsine(builder, absolute(builder, x), coefficients)
    doubled = multiply(builder, add(builder, s, p), 2.0)
    negative = compare(builder, "<", x, 0.0)
    outer = _complement(builder, negative, PI, doubled)
    # pi/2 - asin(x) with the sign of x put back into both terms
    signed_s = builder.select(negative, negate(builder, s), s)
    signed_p = builder.select(negative, negate(builder, p), p)
    inner = subtract(builder, PI_HALF[0], add(builder, signed_s, subtract(builder, signed_p, PI_HALF[1])))
    return builder.select(large, outer, inner)


@elementary
def acos(builder, x):
    """Return the arccosine of x in radians."""
    if is_single(x):
        return narrow(builder, _arccosine(builder, widen(builder, x), WIDE_ARCSINE))
    return _arccosine(builder, x, ARCSINE)
