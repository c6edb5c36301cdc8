"""The exponential family: exponential, exponential-minus-one and logistic.

Method: x = n ln 2 + r with |r| <= ln 2 / 2 (reduced in two fused steps, W. J. Cody and W. Waite, "Software Manual for the
Elementary Functions", 1980), a minimax polynomial q with exp(r) = 1 + r + r**2 q(r), and scaling by 2**n in the exponent
field. The polynomials were fitted with the Remez exchange algorithm for this module.
"""

import math

from ..arithmetic import (
    absolute,
    add,
    clamp_above,
    clamp_below,
    compare,
    constant,
    fma,
    from_bits,
    integer_type,
    is_single,
    multiply,
    negate,
    polynomial,
    round_by_magic,
    select,
    set_sign_of,
    subtract,
    to_bits,
)
from .double_double import divide_sums
from .table import elementary

LOG2_E = 1.4426950408889634
# ln 2 as an unevaluated sum of two numbers of the format.
LN2_SINGLE = (0.693147182464599609375, -1.904654299957768e-09)
LN2_DOUBLE = (0.6931471805599453, 2.3190468138462996e-17)

# (exp(r) - 1 - r) / r**2 on |r| <= ln 2 / 2; error relative to exp(r) 2**-28.2 and 2**-57.8.
EXPONENTIAL_SINGLE = (
    0.4999999403953552,
    0.16666516661643982,
    0.041668105870485306,
    0.008369126357138157,
    0.0013836412690579891,
)
EXPONENTIAL_DOUBLE = (
    0.5000000000000011,
    0.166666666666664,
    0.04166666666652522,
    0.008333333333501709,
    0.0013888888945123854,
    0.00019841269493877652,
    2.4801491385005526e-05,
    2.755759467976437e-06,
    2.7630907979470263e-07,
    2.499856029627248e-08,
)
# The same function; error relative to exp(r) - 1 2**-28.2 and 2**-60.5.
MINUS_ONE_SINGLE = (
    0.5,
    0.16666635870933533,
    0.041666511446237564,
    0.008341514505445957,
    0.0013930563582107425,
    0.0001503619714640081,
)
MINUS_ONE_DOUBLE = (
    0.5,
    0.16666666666666677,
    0.041666666666666685,
    0.008333333333321806,
    0.0013888888888894794,
    0.00019841269885344657,
    2.480158727547081e-05,
    2.7557245060615377e-06,
    2.7557331585124983e-07,
    2.5108769587914113e-08,
    2.0894388717859577e-09,
)

# (2**r - 1) / r on |r| <= 1/2, for f32 evaluated in f64; error relative to 2**r 2**-28.9.
WIDE_EXPONENTIAL = (
    0.693147202879556,
    0.2402264791069732,
    0.05550332415195924,
    0.009618437485069192,
    0.0013398897333100478,
    0.00015353379498562247,
)


def reduce_by_ln2(builder, x):
    """Return (n, bits, high) with x = n ln 2 + r and r = high - n ln2_low, the last step left to the caller.

    `bits` holds n in its low bits, see `round_by_magic`.
    """
    high, _ = LN2_SINGLE if is_single(x) else LN2_DOUBLE
    n, bits = round_by_magic(builder, x, LOG2_E)
    return n, bits, fma(builder, n, -high, x)


def shift_into_exponent(builder, bits):
    """Return n shifted into the exponent field, from the `bits` of `round_by_magic`."""
    return builder.shl(bits, constant(bits.type, 23 if _is_32_bit(bits) else 52))


def _is_32_bit(bits):
    return getattr(bits.type, "element", bits.type).width == 32


def add_to_exponent(builder, value, exponent_bits):
    """Return value * 2**n for a normal result; `exponent_bits` is n in the exponent field."""
    return from_bits(builder, builder.add(to_bits(builder, value), exponent_bits), value.type)


def exponential_parts(builder, x, leading=1.0, accurate=False):
    """Return (n, exponent_bits, p) with exp(x) = 2**n * p / leading, for x within the range of the scaling.

    `leading` (a power of two) multiplies every coefficient, which makes a scaling of the result free. `accurate` spends one
    more operation on f32, as f64 always does.
    """
    single = is_single(x)
    n, bits, r = reduce_by_ln2(builder, x)
    r = fma(builder, n, -(LN2_SINGLE if single else LN2_DOUBLE)[1], r)
    if single and not accurate:
        p = polynomial(builder, r, [leading * c for c in (1.0, 1.0, *EXPONENTIAL_SINGLE)])
    else:
        q = polynomial(builder, r, [leading * c for c in (EXPONENTIAL_SINGLE if single else EXPONENTIAL_DOUBLE)])
        scaled_r = r if leading == 1.0 else multiply(builder, r, leading)
        p = add(builder, fma(builder, multiply(builder, r, r), q, scaled_r), leading)
    return n, shift_into_exponent(builder, bits), p


def power_of_two_bits(exponent, single):
    """Return the bit pattern of 2**exponent as a Python integer."""
    return (exponent + 127) << 23 if single else (exponent + 1023) << 52


def scale_by_half_power(builder, n, exponent_bits, values):
    """Return [v * 2**(n - 1) for v in values], also where the result is subnormal or 2**n too large for the format."""
    value_type = values[0].type
    single = is_single(values[0])
    smallest, lift = (-125.0, 64) if single else (-1021.0, 128)
    bits_type = integer_type(value_type)
    tiny = compare(builder, "<", n, smallest)
    usual = constant(bits_type, power_of_two_bits(-1, single))
    lifted = constant(bits_type, power_of_two_bits(lift - 1, single))
    bias = builder.select(tiny, lifted, usual)
    scale = from_bits(builder, builder.add(exponent_bits, bias), value_type)
    lowered = builder.select(tiny, constant(value_type, 2.0**-lift), constant(value_type, 1.0))
    return [multiply(builder, multiply(builder, value, scale), lowered) for value in values]


def least_argument(single, exponent=0):
    """Return the x below which 2**exponent * e**x is taken for what it is there, zero: the lifted scale is zero, too.

    A processor takes fifty times as long to round a product to zero, or to a subnormal number.
    """
    return math.log(2) * ((-190 if single else -1150) - exponent)


def scaled_exponential(builder, x, exponent=0):
    """Return 2**exponent * e**x for a small `exponent`; a subnormal result is rounded a second time."""
    single = is_single(x)
    x = clamp_above(builder, x, 89.0 if single else 710.0 if exponent == 0 else 711.0)
    x = clamp_below(builder, x, least_argument(single, exponent))
    # Twice the mantissa, so that 2**(n - 1) is finite for every finite result.
    n, exponent_bits, p = exponential_parts(builder, x, 2.0)
    if exponent:
        n = add(builder, n, float(exponent))
        exponent_bits = builder.add(exponent_bits, constant(exponent_bits.type, exponent << (23 if single else 52)))
    return scale_by_half_power(builder, n, exponent_bits, [p])[0]


def wide_exponential_of_two(builder, x, factor=1.0):
    """Return factor * 2**x to f32 accuracy for f64 lanes; beyond +-300 the result is that of +-300, outside f32."""
    x = clamp_below(builder, clamp_above(builder, x, 300.0), -300.0)
    n, bits = round_by_magic(builder, x, 1.0)
    p = polynomial(builder, subtract(builder, x, n), [factor * c for c in (1.0, *WIDE_EXPONENTIAL)])
    return add_to_exponent(builder, p, shift_into_exponent(builder, bits))


def exponential_of_two(builder, x):
    """Return 2**x: `power` where its base is known."""
    single = is_single(x)
    x = clamp_below(builder, clamp_above(builder, x, 128.0 if single else 1024.0), least_argument(single) * LOG2_E)
    n, bits = round_by_magic(builder, x, 1.0)
    fraction = subtract(builder, x, n)
    high, low = LN2_SINGLE if single else LN2_DOUBLE
    r = multiply(builder, fraction, high)
    r_low = fma(builder, fraction, low, fma(builder, fraction, high, negate(builder, r)))
    q = polynomial(builder, r, [2.0 * c for c in (EXPONENTIAL_SINGLE if single else EXPONENTIAL_DOUBLE)])
    tail = fma(builder, multiply(builder, r, r), q, add(builder, r_low, r_low))
    p = add(builder, add(builder, tail, add(builder, r, r)), 2.0)
    return scale_by_half_power(builder, n, shift_into_exponent(builder, bits), [p])[0]


def wide_exponential(builder, x, factor=1.0):
    """Return factor * e**x, as `wide_exponential_of_two`."""
    return wide_exponential_of_two(builder, multiply(builder, x, LOG2_E), factor)


@elementary
def exponential(builder, x):
    """Return e**x."""
    return scaled_exponential(builder, x)


@elementary
def exponential_minus_one(builder, x):
    """Return e**x - 1 without cancellation for small x."""
    single = is_single(x)
    bits_type = integer_type(x.type)
    _, low = LN2_SINGLE if single else LN2_DOUBLE
    argument = clamp_above(builder, x, 89.0 if single else 710.0)
    argument = clamp_below(builder, argument, -18.0 if single else -39.0)
    n, bits, high = reduce_by_ln2(builder, argument)
    r = fma(builder, n, -low, high)
    r_low = fma(builder, n, -low, subtract(builder, high, r))
    square = multiply(builder, r, r)
    q = polynomial(builder, r, MINUS_ONE_SINGLE if single else MINUS_ONE_DOUBLE)
    tail = fma(builder, square, q, r_low)
    # 2**128 (2**1024) does not exist: the last binade is computed at half its size.
    last = compare(builder, ">", n, 127.0 if single else 1023.0)
    half = constant(bits_type, power_of_two_bits(-1, single))
    one = constant(bits_type, power_of_two_bits(0, single))
    exponent_bits = builder.add(shift_into_exponent(builder, bits), builder.select(last, half, one))
    scale = from_bits(builder, exponent_bits, x.type)
    shifted = subtract(builder, scale, 1.0)
    leading = fma(builder, scale, r, shifted)
    rest = fma(builder, scale, r, subtract(builder, shifted, leading))
    if single:
        # 2**25 - 1 does not fit in 24 bits, and the unit lost is half an ULP.
        rest = add(builder, rest, subtract(builder, subtract(builder, scale, shifted), 1.0))
    result = add(builder, leading, fma(builder, scale, tail, rest))
    result = select(builder, last, add(builder, result, result), result)
    return set_sign_of(builder, result, x)


@elementary
def logistic(builder, x):
    """Return 1 / (1 + e**-x).

    Computed from e**-|x| kept as a sum of two numbers, with one step of refinement of the quotient.
    """
    single = is_single(x)
    argument = clamp_below(builder, builder.fneg(absolute(builder, x)), least_argument(single))
    n, bits, r = reduce_by_ln2(builder, argument)
    r = fma(builder, n, -(LN2_SINGLE if single else LN2_DOUBLE)[1], r)
    q = polynomial(builder, r, [2.0 * c for c in (EXPONENTIAL_SINGLE if single else EXPONENTIAL_DOUBLE)])
    p_tail = fma(builder, multiply(builder, r, r), q, add(builder, r, r))
    p = add(builder, p_tail, 2.0)
    p_low = add(builder, subtract(builder, 2.0, p), p_tail)
    e, e_low = scale_by_half_power(builder, n, shift_into_exponent(builder, bits), [p, p_low])
    negative = compare(builder, "<", x, 0.0)
    numerator = select(builder, negative, e, 1.0)
    numerator_low = select(builder, negative, e_low, 0.0)
    denominator = add(builder, e, 1.0)
    denominator_low = add(builder, add(builder, subtract(builder, 1.0, denominator), e), e_low)
    return divide_sums(builder, numerator, numerator_low, denominator, denominator_low)
