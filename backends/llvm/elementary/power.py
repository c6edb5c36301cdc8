"""The power function, with the special cases of C99 Annex F.9.4.4.

Method: |x|**y = exp(y log|x|), the sign from the parity of y. For f32 both steps run in f64, with polynomials of f32
accuracy. For f64 the logarithm is a sum of two numbers, from log(m) = 2 atanh((m - 1) / (m + 1)), good to about 66 bits,
as y log|x| may be as large as 745. The polynomials were fitted with the Remez exchange algorithm for this module.
"""

from ..arithmetic import (
    absolute,
    add,
    clamp_above,
    clamp_below,
    compare,
    constant,
    divide,
    fma,
    from_bits,
    is_single,
    multiply,
    narrow,
    negate,
    polynomial,
    select,
    subtract,
    to_bits,
    truncate,
    widen,
)
from .double_double import fast_two_sum, two_product
from .exponential import (
    EXPONENTIAL_DOUBLE,
    LN2_DOUBLE,
    LOG2_E,
    least_argument,
    reduce_by_ln2,
    scale_by_half_power,
    shift_into_exponent,
    wide_exponential_of_two,
)
from .logarithm import WIDE_LOGARITHM, split_exponent
from .table import elementary
from .table_power import table_power

# (2 atanh(s) / s - 2 - 2 z / 3) / z**2 in powers of z = s**2, |s| <= 0.1717; error relative to 2 atanh(s) 2**-66.
ATANH_TAIL = (
    0.3999999999999998,
    0.2857142857144514,
    0.22222222217528964,
    0.18181818871238303,
    0.1538455680765567,
    0.13336319871158114,
    0.11674768393180458,
    0.11989433448387839,
)
TWO_THIRDS = (0.6666666666666666, 3.700743415417188e-17)

INFINITY = float("inf")


def _wide_power(builder, x, y):
    """Return x**y to f32 accuracy for f64 lanes x >= 0 and y that hold f32 numbers."""
    k, exponent_bits = split_exponent(builder, x)
    f = subtract(builder, from_bits(builder, builder.sub(to_bits(builder, x), exponent_bits), x.type), 1.0)
    q = polynomial(builder, f, WIDE_LOGARITHM)
    logarithm = fma(builder, fma(builder, multiply(builder, f, f), q, f), LOG2_E, k)
    product = multiply(builder, y, _logarithm_at_ends(builder, logarithm, x))
    return wide_exponential_of_two(builder, product)


def _logarithm_at_ends(builder, logarithm, x):
    logarithm = select(builder, compare(builder, "==", x, 0.0), -INFINITY, logarithm)
    return select(builder, compare(builder, "==", x, INFINITY), INFINITY, logarithm)


def logarithm_sum(builder, x):
    """Return (high, low) with log(x) = high + low to about 66 bits, for f64 lanes x > 0."""
    subnormal = compare(builder, "<", x, 2.0**-1022)
    normal = select(builder, subnormal, multiply(builder, x, 2.0**54), x)
    k, exponent_bits = split_exponent(builder, normal)
    k = select(builder, subnormal, subtract(builder, k, 54.0), k)
    m = from_bits(builder, builder.sub(to_bits(builder, normal), exponent_bits), x.type)
    f = subtract(builder, m, 1.0)
    denominator = add(builder, m, 1.0)
    denominator_low = subtract(builder, m, subtract(builder, denominator, 1.0))
    reciprocal = divide(builder, 1.0, denominator)
    s = multiply(builder, f, reciprocal)
    remainder = fma(builder, negate(builder, s), denominator, f)
    s_low = multiply(builder, fma(builder, negate(builder, s), denominator_low, remainder), reciprocal)

    z, z_low = two_product(builder, s, s)
    z_low = fma(builder, add(builder, s, s), s_low, z_low)
    tail = multiply(builder, z, polynomial(builder, z, ATANH_TAIL))
    v, v_low = fast_two_sum(builder, constant(x.type, TWO_THIRDS[0]), tail)
    v_low = add(builder, v_low, TWO_THIRDS[1])
    w, w_low = two_product(builder, z, v)
    w_low = fma(builder, z, v_low, fma(builder, z_low, v, w_low))
    cubic, cubic_low = two_product(builder, w, s)
    cubic_low = fma(builder, w, s_low, fma(builder, w_low, s, cubic_low))

    base, base_low = two_product(builder, k, constant(x.type, LN2_DOUBLE[0]))
    base_low = fma(builder, k, LN2_DOUBLE[1], base_low)
    high, first_error = fast_two_sum(builder, base, add(builder, s, s))
    high, second_error = fast_two_sum(builder, high, cubic)
    low = add(builder, add(builder, first_error, second_error), add(builder, base_low, cubic_low))
    return fast_two_sum(builder, high, add(builder, low, add(builder, s_low, s_low)))


def _power_of_magnitude(builder, x, y):
    """Return x**y for f64 lanes x >= 0."""
    high, low = logarithm_sum(builder, x)
    high = _logarithm_at_ends(builder, high, x)
    product, product_low = two_product(builder, y, high)
    product_low = fma(builder, y, low, product_low)
    # Beyond this the low part decides nothing, and may be inf - inf.
    moderate = compare(builder, "<", absolute(builder, product), 1000.0)
    product_low = select(builder, moderate, product_low, 0.0)
    product = clamp_below(builder, clamp_above(builder, product, 710.0), least_argument(single=False))
    n, bits, reduced = reduce_by_ln2(builder, product)
    r = fma(builder, n, -LN2_DOUBLE[1], reduced)
    r_low = add(builder, fma(builder, n, -LN2_DOUBLE[1], subtract(builder, reduced, r)), product_low)
    q = polynomial(builder, r, EXPONENTIAL_DOUBLE)
    tail = fma(builder, multiply(builder, r, r), q, r)
    tail = add(builder, tail, fma(builder, tail, r_low, r_low))
    p = add(builder, tail, 1.0)
    return scale_by_half_power(builder, n, shift_into_exponent(builder, bits), [add(builder, p, p)])[0]


@elementary
def power(builder, x, y):
    """Return x**y."""
    return _power(builder, x, y) if is_single(x) else table_power(builder, x, y, _power)


def _power(builder, x, y):
    single = is_single(x)
    magnitude = absolute(builder, x)
    # A finite y keeps 0 * inf out of y log|x|; it is large enough to overflow for every |x| but 1.
    largest = 2.0**127 if single else 2.0**1000
    exponent = clamp_below(builder, clamp_above(builder, y, largest), -largest)
    if single:
        result = narrow(builder, _wide_power(builder, widen(builder, magnitude), widen(builder, exponent)))
    else:
        result = _power_of_magnitude(builder, magnitude, exponent)

    half = multiply(builder, y, 0.5)
    is_integer = compare(builder, "==", truncate(builder, y), y)
    # For |y| too large to be odd, y / 2 is an integer too; one half of a subnormal y does not matter.
    is_odd = builder.and_(is_integer, compare(builder, "!=", truncate(builder, half), half))
    signed = from_bits(builder, builder.or_(to_bits(builder, result), _sign_bits(builder, x)), x.type)
    result = builder.select(is_odd, signed, result)
    is_fraction = builder.fcmp_unordered("!=", truncate(builder, y), y)
    negative = builder.and_(compare(builder, "<", x, 0.0), compare(builder, ">", x, -INFINITY))
    undefined = builder.and_(negative, is_fraction)
    undefined = builder.or_(undefined, builder.fcmp_unordered("uno", x, y))
    result = select(builder, undefined, float("nan"), result)
    one = builder.or_(compare(builder, "==", x, 1.0), compare(builder, "==", y, 0.0))
    return select(builder, one, 1.0, result)


def _sign_bits(builder, x):
    bits = to_bits(builder, x)
    width = 32 if is_single(x) else 64
    return builder.and_(bits, constant(bits.type, 1 << (width - 1)))
