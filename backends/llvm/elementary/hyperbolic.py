"""The hyperbolic functions tanh, sinh and cosh.

Method: an odd polynomial where |x| is small, else the exponential of |x|. For f32, sinh and cosh keep it as a sum of
two numbers, and need no quotient for that of -|x|. The polynomials were fitted with the Remez exchange algorithm for this
module.
"""

from ..arithmetic import (
    absolute,
    add,
    clamp_above,
    compare,
    constant,
    divide,
    fma,
    from_bits,
    is_single,
    moderate_quotient,
    multiply,
    negate,
    polynomial,
    set_sign_of,
    subtract,
)
from .double_double import fast_two_sum
from .exponential import (
    LN2_SINGLE,
    add_to_exponent,
    exponential_parts,
    power_of_two_bits,
    reduce_by_ln2,
    scaled_exponential,
    shift_into_exponent,
)
from .table import elementary

# (tanh(x) - x) / x**3 in powers of x**2 on |x| <= 0.9 (f32) and 0.6 (f64); error relative to tanh(x) 2**-29.7 and 2**-57.7.
TANH_SINGLE = (
    -0.33333322405815125,
    0.13332980871200562,
    -0.05392947420477867,
    0.02166409231722355,
    -0.008265454322099686,
    0.0025834229309111834,
    -0.0004557077190838754,
)
TANH_DOUBLE = (
    -0.33333333333333126,
    0.13333333333299768,
    -0.05396825394933613,
    0.021869488003379532,
    -0.008863226787322601,
    0.0035920374550330375,
    -0.0014552157412599479,
    0.0005871896301938953,
    -0.0002303992889509361,
    7.931679813742622e-05,
    -1.7180143667565097e-05,
)

# (cosh(r) - 1) / r**2 and (sinh(r) - r) / r**3 in powers of r**2 on |r| <= ln 2 / 2; error relative to exp(r) 2**-29.3 and
# 2**-27.9.
EVEN_SINGLE = (
    0.5,
    0.04166625067591667,
    0.0013947136467322707,
)
ODD_SINGLE = (
    0.16666513681411743,
    0.008369365707039833,
)
# (sinh(x) - x) / x**3 in powers of x**2 on |x| <= 1; error relative to sinh(x) 2**-34.2 and 2**-61.8.
WIDE_SINH = (
    0.16666666497622118,
    0.008333350055478092,
    0.00019836160186419393,
    2.8169491377044467e-06,
)
SINH = (
    0.16666666666666669,
    0.008333333333332912,
    0.00019841269841593324,
    2.7557319106821483e-06,
    2.5052130981674806e-08,
    1.6056661052472155e-10,
    7.776525625525993e-13,
)


def odd_polynomial(builder, x, coefficients):
    """Return x + x**3 q(x**2), q given by its coefficients."""
    square = multiply(builder, x, x)
    q = polynomial(builder, square, coefficients)
    return fma(builder, multiply(builder, square, x), q, x)


@elementary
def tanh(builder, x):
    """Return the hyperbolic tangent of x."""
    single = is_single(x)
    magnitude = absolute(builder, x)
    small = odd_polynomial(builder, x, TANH_SINGLE if single else TANH_DOUBLE)
    # tanh rounds to 1 beyond 9.01 (f32) and 19.06 (f64)
    doubled = clamp_above(builder, add(builder, magnitude, magnitude), 20.0 if single else 40.0)
    _, exponent_bits, p = exponential_parts(builder, doubled, accurate=True)
    e = add_to_exponent(builder, p, exponent_bits)
    large = subtract(builder, 1.0, moderate_quotient(builder, 2.0, add(builder, e, 1.0)))
    # The polynomial also serves NaN, which the exponent arithmetic would not survive.
    result = builder.select(compare(builder, ">=", magnitude, 0.9 if single else 0.6), large, small)
    return set_sign_of(builder, result, x)


def _halves(builder, magnitude):
    """Return e**magnitude / 2 and e**-magnitude / 2."""
    half = scaled_exponential(builder, magnitude, -1)
    return half, divide(builder, 0.25, half)


def _halves_single(builder, magnitude):
    """Return (p, low, factor, decaying) with e**magnitude / 2 = (p + low) factor and e**-magnitude / 2 = decaying.

    With r what is left of the magnitude, both are made of cosh(r) and sinh(r), here twice as large.
    """
    # Beyond this, the half overflows; 2**(n - 2) does not.
    n, bits, high = reduce_by_ln2(builder, clamp_above(builder, magnitude, 89.5))
    r = fma(builder, n, -LN2_SINGLE[1], high)
    r_low = fma(builder, n, -LN2_SINGLE[1], subtract(builder, high, r))
    square, doubled = multiply(builder, r, r), add(builder, r, r)
    even = multiply(builder, square, polynomial(builder, square, [2.0 * c for c in EVEN_SINGLE]))
    odd = polynomial(builder, square, [2.0 * c for c in ODD_SINGLE])
    cubic = fma(builder, multiply(builder, square, r), odd, add(builder, r_low, r_low))
    p, low = fast_two_sum(builder, constant(r.type, 2.0), add(builder, doubled, add(builder, even, cubic)))
    exponent, quarter = shift_into_exponent(builder, bits), constant(bits.type, power_of_two_bits(-2, True))
    factor = from_bits(builder, builder.add(quarter, exponent), r.type)
    opposite = builder.sub(quarter, exponent)
    is_zero = builder.icmp_signed("<", opposite, constant(bits.type, 0))
    opposite = from_bits(builder, builder.select(is_zero, constant(bits.type, 0), opposite), r.type)
    mirrored = add(builder, subtract(builder, subtract(builder, even, cubic), doubled), 2.0)
    return p, low, factor, multiply(builder, mirrored, opposite)


@elementary
def sinh(builder, x):
    """Return the hyperbolic sine of x."""
    magnitude = absolute(builder, x)
    if is_single(x):
        p, low, factor, decaying = _halves_single(builder, magnitude)
        large = fma(builder, p, factor, fma(builder, low, factor, negate(builder, decaying)))
    else:
        large = subtract(builder, *_halves(builder, magnitude))
    small = odd_polynomial(builder, x, WIDE_SINH if is_single(x) else SINH)
    return builder.select(compare(builder, ">", magnitude, 1.0), set_sign_of(builder, large, x), small)


@elementary
def cosh(builder, x):
    """Return the hyperbolic cosine of x."""
    magnitude = absolute(builder, x)
    if is_single(x):
        p, low, factor, decaying = _halves_single(builder, magnitude)
        return fma(builder, p, factor, fma(builder, low, factor, decaying))
    return add(builder, *_halves(builder, magnitude))
