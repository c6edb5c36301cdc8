"""The hyperbolic functions tanh, sinh and cosh.

Method: an odd polynomial where |x| is small, else the exponential of |x|. For f32, sinh and cosh keep it as a sum of
two numbers. The polynomials were fitted with the Remez exchange algorithm for this module.
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
    multiply,
    polynomial,
    set_sign_of,
    subtract,
)
from .double_double import fast_two_sum
from .exponential import (
    LN2_SINGLE,
    MINUS_ONE_SINGLE,
    add_to_exponent,
    exponential_parts,
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
    large = subtract(builder, 1.0, divide(builder, 2.0, add(builder, e, 1.0)))
    # The polynomial also serves NaN, which the exponent arithmetic would not survive.
    result = builder.select(compare(builder, ">=", magnitude, 0.9 if single else 0.6), large, small)
    return set_sign_of(builder, result, x)


def _halves(builder, magnitude):
    """Return (e**magnitude / 2, what that lacks, e**-magnitude / 2)."""
    if not is_single(magnitude):
        half = scaled_exponential(builder, magnitude, -1)
        return half, None, divide(builder, 0.25, half)
    # Beyond this, the half overflows; 2**(n - 2) does not.
    n, bits, high = reduce_by_ln2(builder, clamp_above(builder, magnitude, 89.5))
    r = fma(builder, n, -LN2_SINGLE[1], high)
    r_low = fma(builder, n, -LN2_SINGLE[1], subtract(builder, high, r))
    q = polynomial(builder, r, [2.0 * c for c in MINUS_ONE_SINGLE])
    tail = fma(builder, multiply(builder, r, r), q, add(builder, r_low, r_low))
    p, p_low = fast_two_sum(builder, constant(r.type, 2.0), add(builder, add(builder, r, r), tail))
    exponent = builder.add(bits, constant(bits.type, 127 - 2))
    scale = from_bits(builder, shift_into_exponent(builder, exponent), r.type)
    half = multiply(builder, p, scale)
    return half, multiply(builder, p_low, scale), divide(builder, 0.25, half)


@elementary
def sinh(builder, x):
    """Return the hyperbolic sine of x."""
    magnitude = absolute(builder, x)
    growing, low, decaying = _halves(builder, magnitude)
    large = subtract(builder, growing, decaying if low is None else subtract(builder, decaying, low))
    small = odd_polynomial(builder, x, WIDE_SINH if is_single(x) else SINH)
    return builder.select(compare(builder, ">", magnitude, 1.0), set_sign_of(builder, large, x), small)


@elementary
def cosh(builder, x):
    """Return the hyperbolic cosine of x."""
    growing, low, decaying = _halves(builder, absolute(builder, x))
    if low is not None:
        # As much as the one half lacks, the other one has too much, where they are equal.
        share = multiply(builder, multiply(builder, decaying, decaying), -4.0)
        decaying = add(builder, decaying, fma(builder, low, share, low))
    return add(builder, growing, decaying)
