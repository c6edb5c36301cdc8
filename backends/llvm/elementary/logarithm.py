"""The natural logarithms: log and log-plus-one.

Method: x = 2**k m with m near 1, log(x) = k ln 2 + log(1 + f) with f = m - 1, and a minimax polynomial q with
log(1 + f) = f + f**2 q(f), fitted with the Remez exchange algorithm for this module. For log-plus-one, f is formed from x
itself, 2**-k x + (2**-k - 1), so that nothing of a small x is lost.
"""

from ..arithmetic import (
    add,
    compare,
    constant,
    fma,
    from_bits,
    integer_type,
    is_single,
    multiply,
    negate,
    polynomial,
    select,
    set_sign_of,
    subtract,
    to_bits,
)
from .exponential import LN2_DOUBLE, LN2_SINGLE
from .logarithm_table import table_logarithm, wide_table_logarithm
from .table import elementary
from .wide_registers import has_wide_registers

# (log(1 + f) - f) / f**2 on -1/4 <= f <= 1/2; error relative to log(1 + f) 2**-27.0. The last
# coefficient is moved by 2.5e-6, so that the one argument of log-plus-one whose f = 2 x + 1 is inexact rounds well.
LOGARITHM_SINGLE = (
    -0.5,
    0.33333462476730347,
    -0.2500019073486328,
    0.19990438222885132,
    -0.1664302498102188,
    0.1447577327489853,
    -0.132063627243042,
    0.10585226118564606,
    -0.046007346361875534,
)
# The same function on sqrt(1/2) <= 1 + f <= sqrt(2); error relative to log(1 + f) 2**-54.1.
LOGARITHM_DOUBLE = (
    -0.5000000000000003,
    0.33333333333332726,
    -0.24999999999977557,
    0.2000000000017959,
    -0.16666666670923944,
    0.14285714269529604,
    -0.12499999632480767,
    0.11111111628153648,
    -0.10000017156870548,
    0.09090911742348132,
    -0.08332870533252192,
    0.07691709505391232,
    -0.07150073272621682,
    0.06683113291220938,
    -0.061907403995208055,
    0.056736790314226564,
    -0.05709473370902219,
    0.0650800276083195,
    -0.05908820656218709,
    0.025517077312981133,
)
# The same for f32 evaluated in f64; error 2**-35.7.
WIDE_LOGARITHM = (
    -0.5000000002152345,
    0.33333334044296936,
    -0.2499999482499664,
    0.19999898063986674,
    -0.16666927690518538,
    0.14290573979778015,
    -0.1249740943901839,
    0.11009567811021265,
    -0.09927299829812954,
    0.1001563522312743,
    -0.09872107322693968,
    0.05358486771995276,
)

INFINITY = float("inf")


def split_exponent(builder, x):
    """Return (k, exponent_bits) with x = 2**k m, m in (3/4, 3/2] for f32 and about [sqrt(1/2), sqrt(2)) for f64.

    `exponent_bits` is k in the exponent field: subtract it from the bits of x to get those of m. x is positive and normal.
    """
    single = is_single(x)
    bits_type = integer_type(x.type)
    bits = to_bits(builder, x)
    if single:
        difference = builder.sub(bits, constant(bits_type, 0x3F400001))
        exponent_bits = builder.and_(difference, constant(bits_type, 0xFF800000))
        return multiply(builder, builder.sitofp(exponent_bits, x.type), 2.0**-23), exponent_bits
    # Conversion and arithmetic shift of 64-bit integers are missing below AVX-512: a biased exponent is shifted in
    # unsigned and read off the low bits of a large number.
    biased = builder.sub(bits, constant(bits_type, 0x3FE6A09E00000000 - (1024 << 52)))
    shifted = builder.lshr(biased, constant(bits_type, 52))
    large = from_bits(builder, builder.or_(shifted, constant(bits_type, 0x4330000000000000)), x.type)
    k = subtract(builder, large, 2.0**52 + 1024)
    return k, builder.sub(builder.shl(shifted, constant(bits_type, 52)), constant(bits_type, 1024 << 52))


def combine_single(builder, k, f):
    """Return k ln 2 + log(1 + f) for f32."""
    q = polynomial(builder, f, LOGARITHM_SINGLE)
    # Where k ln 2 cancels half of f + f**2 q, the rounding error of this sum would be half an ULP by itself.
    leading = fma(builder, k, LN2_SINGLE[0], f)
    error = add(builder, fma(builder, k, LN2_SINGLE[0], negate(builder, leading)), f)
    return add(builder, leading, fma(builder, multiply(builder, f, f), q, error))


def combine_double(builder, k, f, f_low=None):
    """Return k ln 2 + log(1 + f + f_low) for f64."""
    high, low = LN2_DOUBLE
    q = polynomial(builder, f, LOGARITHM_DOUBLE)
    tail = fma(builder, multiply(builder, f, f), q, multiply(builder, k, low))
    if f_low is not None:
        tail = add(builder, tail, fma(builder, negate(builder, f), f_low, f_low))
    return fma(builder, k, high, add(builder, f, tail))


def combine_wide(builder, k, f):
    """Return k ln 2 + log(1 + f) to f32 accuracy for f64 lanes."""
    q = polynomial(builder, f, WIDE_LOGARITHM)
    return fma(builder, k, LN2_DOUBLE[0], fma(builder, multiply(builder, f, f), q, f))


def apply_special_values(builder, result, x, pole):
    """Return `result` corrected outside its domain: -inf at the pole, NaN below it, x itself for +inf and NaN."""
    # One choice behind the result, which others wait for; the rest is known long before.
    special = select(builder, compare(builder, "<", x, pole), float("nan"), x)
    special = select(builder, compare(builder, "==", x, pole), -INFINITY, special)
    usual = builder.and_(compare(builder, ">", x, pole), compare(builder, "<", x, INFINITY))
    return select(builder, usual, result, special)


def log_of_normal(builder, x, wide=False):
    """Return the natural logarithm of positive normal numbers, for f64 lanes to f32 accuracy where `wide`."""
    if not wide:
        return table_logarithm(builder, x)
    if has_wide_registers(builder.module):
        return wide_table_logarithm(builder, x)
    k, exponent_bits = split_exponent(builder, x)
    m = from_bits(builder, builder.sub(to_bits(builder, x), exponent_bits), x.type)
    return combine_wide(builder, k, subtract(builder, m, 1.0))


@elementary
def log(builder, x):
    """Return the natural logarithm of x."""
    if not is_single(x):
        return table_logarithm(builder, x)
    subnormal = compare(builder, "<", x, 2.0**-126)
    normal = select(builder, subnormal, multiply(builder, x, 2.0**24), x)
    k, exponent_bits = split_exponent(builder, normal)
    k = select(builder, subnormal, subtract(builder, k, 24.0), k)
    m = from_bits(builder, builder.sub(to_bits(builder, normal), exponent_bits), x.type)
    result = combine_single(builder, k, subtract(builder, m, 1.0))
    return apply_special_values(builder, result, x, 0.0)


def split_successor(builder, x):
    """Return (k, shift, scaled, power) with 1 + x = 2**k (1 + shift + scaled), near 1 in brackets, and power = 4 * 2**-k."""
    bits_type = integer_type(x.type)
    k, exponent_bits = split_exponent(builder, add(builder, x, 1.0))
    scaled = from_bits(builder, builder.sub(to_bits(builder, x), exponent_bits), x.type)
    # 2**-k is subnormal for the largest x; four times it is not.
    four = constant(bits_type, 0x40800000 if is_single(x) else 0x4010000000000000)
    power = from_bits(builder, builder.sub(four, exponent_bits), x.type)
    return k, fma(builder, power, 0.25, -1.0), scaled, power


def log_plus_one_of_sum(builder, x, x_low, k_offset):
    """Return log(1 + x + x_low) + k_offset ln 2 for f64 lanes x >= 0 and x_low far below x."""
    k, shift, scaled, power = split_successor(builder, x)
    f_low = multiply(builder, multiply(builder, x_low, 0.25), power)
    return combine_double(builder, add(builder, k, k_offset), add(builder, shift, scaled), f_low)


@elementary
def log_plus_one(builder, x):
    """Return log(1 + x) without cancellation for small x."""
    k, shift, scaled, _ = split_successor(builder, x)
    f = add(builder, shift, scaled)
    result = combine_single(builder, k, f) if is_single(x) else combine_double(builder, k, f)
    result = apply_special_values(builder, result, x, -1.0)
    return set_sign_of(builder, result, x)
