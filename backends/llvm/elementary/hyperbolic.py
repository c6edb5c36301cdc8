"""The hyperbolic functions tanh, sinh and cosh.

Method: an odd polynomial where |x| is small, else the exponential of |x|. For f32, sinh and cosh run in f64, where nothing
overflows. The polynomials were fitted with the Remez exchange algorithm for this module.
"""

from ..arithmetic import (
    absolute,
    add,
    clamp_above,
    compare,
    divide,
    fma,
    is_single,
    multiply,
    narrow,
    polynomial,
    set_sign_of,
    subtract,
    widen,
)
from .exponential import add_to_exponent, exponential_parts, scaled_exponential, wide_exponential
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


def _halves(builder, magnitude, single):
    """Return e**magnitude / 2 and e**-magnitude / 2 in f64."""
    half = wide_exponential(builder, magnitude, 0.5) if single else scaled_exponential(builder, magnitude, -1)
    return half, divide(builder, 0.25, half)


@elementary
def sinh(builder, x):
    """Return the hyperbolic sine of x."""
    single = is_single(x)
    argument = widen(builder, x) if single else x
    magnitude = absolute(builder, argument)
    growing, decaying = _halves(builder, magnitude, single)
    large = set_sign_of(builder, subtract(builder, growing, decaying), argument)
    small = odd_polynomial(builder, argument, WIDE_SINH if single else SINH)
    result = builder.select(compare(builder, ">", magnitude, 1.0), large, small)
    return narrow(builder, result) if single else result


@elementary
def cosh(builder, x):
    """Return the hyperbolic cosine of x."""
    single = is_single(x)
    result = add(builder, *_halves(builder, absolute(builder, widen(builder, x) if single else x), single))
    return narrow(builder, result) if single else result
