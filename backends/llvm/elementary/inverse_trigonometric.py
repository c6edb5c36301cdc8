"""The inverse trigonometric functions atan, atan2, asin and acos.

Method for atan: a quotient of at most 1 by exchange of numerator and denominator, at most 1/2 by the addition theorem, then
an odd polynomial. For asin and acos: an odd polynomial for |x| <= 1/2, else asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)).
For f32 all of it runs in f64 with polynomials of f32 accuracy. The polynomials were fitted with the Remez exchange
algorithm for this module.
"""

from ..arithmetic import (
    absolute,
    add,
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

# (atan(t) - t) / t**3 in powers of t**2 on |t| <= 1/2; error relative to atan(t) 2**-30.5 and 2**-59.2.
WIDE_ARCTANGENT = (
    -0.33333326914309697,
    0.19999489085046765,
    -0.14272062285473852,
    0.10940833029636465,
    -0.07983452714931344,
    0.0387140949777034,
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


def arctangent_of_quotient(builder, smaller, larger, coefficients):
    """Return atan(smaller / larger) for f64 lanes 0 <= smaller <= larger, in [0, pi/4]."""
    # From one half on, the difference is exact.
    upper = compare(builder, ">=", add(builder, smaller, smaller), larger)
    numerator = select(builder, upper, subtract(builder, smaller, larger), smaller)
    denominator = select(builder, upper, add(builder, smaller, larger), larger)
    t = divide(builder, numerator, denominator)
    base = select(builder, upper, constant(t.type, PI_QUARTER[0]), 0.0)
    base_low = select(builder, upper, constant(t.type, PI_QUARTER[1]), 0.0)
    square = multiply(builder, t, t)
    tail = fma(builder, multiply(builder, square, t), polynomial(builder, square, coefficients), base_low)
    return add(builder, base, add(builder, t, tail))


def _complement(builder, condition, total, angle):
    """Return total - angle where the condition holds, else angle; `total` is a sum of two numbers."""
    difference = subtract(builder, total[0], subtract(builder, angle, total[1]))
    return builder.select(condition, difference, angle)


def _arctangent(builder, x, coefficients):
    magnitude = absolute(builder, x)
    inverted = compare(builder, ">", magnitude, 1.0)
    infinite = compare(builder, "==", magnitude, float("inf"))
    smaller = select(builder, inverted, 1.0, magnitude)
    larger = select(builder, inverted, magnitude, 1.0)
    # The addition theorem would divide inf by inf; any large number does.
    larger = select(builder, infinite, 2.0**1000, larger)
    angle = arctangent_of_quotient(builder, smaller, larger, coefficients)
    return set_sign_of(builder, _complement(builder, inverted, PI_HALF, angle), x)


@elementary
def atan(builder, x):
    """Return the arctangent of x in radians."""
    if is_single(x):
        return narrow(builder, _arctangent(builder, widen(builder, x), WIDE_ARCTANGENT))
    return _arctangent(builder, x, ARCTANGENT)


def _arctangent_of_two(builder, y, x, coefficients):
    y_magnitude, x_magnitude = absolute(builder, y), absolute(builder, x)
    inverted = compare(builder, ">", y_magnitude, x_magnitude)
    smaller = builder.select(inverted, x_magnitude, y_magnitude)
    larger = builder.select(inverted, y_magnitude, x_magnitude)
    infinity = float("inf")
    # inf / inf is to be 1 and 0 / 0 to be 0; sums of the largest numbers must not overflow.
    infinite = compare(builder, "==", larger, infinity)
    both = select(builder, compare(builder, "==", smaller, infinity), constant(x.type, 1.0), 0.0)
    smaller = builder.select(infinite, both, smaller)
    larger = select(builder, builder.or_(infinite, compare(builder, "==", larger, 0.0)), 1.0, larger)
    scale = select(builder, compare(builder, ">", larger, 2.0**1000), constant(x.type, 2.0**-100), 1.0)
    smaller, larger = multiply(builder, smaller, scale), multiply(builder, larger, scale)
    angle = arctangent_of_quotient(builder, smaller, larger, coefficients)
    bits = to_bits(builder, x)
    negative = builder.icmp_signed("<", bits, constant(bits.type, 0))
    # pi/2 - angle, pi - angle and pi/2 + angle for the other octants
    angle = builder.select(builder.xor(inverted, negative), negate(builder, angle), angle)
    high, low = (
        select(builder, inverted, half, select(builder, negative, constant(x.type, whole), 0.0))
        for half, whole in zip(PI_HALF, PI)
    )
    angle = add(builder, high, add(builder, low, angle))
    angle = set_sign_of(builder, angle, y)
    return select(builder, builder.fcmp_unordered("uno", x, y), float("nan"), angle)


@elementary
def atan2(builder, y, x):
    """Return the angle of the point (x, y) in radians, with the special cases of C99 Annex F.9.1.4."""
    if is_single(y):
        return narrow(builder, _arctangent_of_two(builder, widen(builder, y), widen(builder, x), WIDE_ARCTANGENT))
    return _arctangent_of_two(builder, y, x, ARCTANGENT)


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
