"""The error function erf.

Method: x times an even polynomial for small |x|, else 1 - erfc(|x|). For f32, erfc(t) = 2**g(t) with a polynomial g; for
f64, erfc(t) = exp(-t**2) R(1 / (t + 2)) with a polynomial R. Beyond the upper limit erf rounds to 1. The polynomials were
fitted with the Remez exchange algorithm for this module.
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
    negate,
    polynomial,
    round_by_magic,
    select,
    set_sign_of,
    subtract,
)
from .exponential import add_to_exponent, exponential_parts, shift_into_exponent
from .table import elementary

# erf(x) / x - 1 in powers of x**2 on |x| <= 1; error relative to erf(x) 2**-29.4 and 2**-55.5.
SMALL_SINGLE = (
    0.12837916612625122,
    -0.3761262595653534,
    0.11283578723669052,
    -0.026853347197175026,
    0.005187162198126316,
    -0.000799785484559834,
    7.80692498665303e-05,
)
SMALL_DOUBLE = (
    0.12837916709551256,
    -0.37612638903183343,
    0.11283791670936938,
    -0.026866170641954668,
    0.005223977596674787,
    -0.000854832548080041,
    0.000120552803312101,
    -1.4924461679252343e-05,
    1.6444091950561916e-06,
    -1.6183467863470843e-07,
    1.3614118820583764e-08,
    -7.602418228674854e-10,
)
# log2(erfc(t)) = START_SINGLE + t q(t) on 0.95 <= t <= 4, with a START_SINGLE of few bits; error of erf relative to erf(t)
# 2**-29.3.
START_SINGLE = -3 * 2.0**-13
LOGARITHM_SINGLE = (
    -1.6265448331832886,
    -0.91984623670578,
    -0.14942412078380585,
    0.03181540593504906,
    -0.00432680593803525,
    0.00027611528639681637,
)
# (2**r - 1) / r on |r| <= 1/2; error relative to 2**r 2**-26.1.
POWER_OF_TWO_SINGLE = (
    0.6931471824645996,
    0.24022594094276428,
    0.055503662675619125,
    0.009625392034649849,
    0.001338785863481462,
    0.0001334658300038427,
)
# erfc(t) exp(t**2) in powers of 1 / (t + 2) on 0.98 <= t <= 5.95; error of erf relative to erf(t) 2**-54.4.
SCALED_DOUBLE = (
    3.083736734699805e-05,
    0.5628498676076475,
    1.1546452713492623,
    1.6690802723906,
    5.148983045783834,
    -9.357795499608173,
    41.69033008253869,
    -99.75677185017277,
    87.1683671519442,
    23.245895120592664,
    -90.59514950878167,
    45.82642990380404,
)


def _complement_single(builder, t):
    """Return erfc(t) for f32 lanes 0.95 <= t <= 4, with a small absolute error."""
    q = polynomial(builder, t, LOGARITHM_SINGLE)
    n, bits = round_by_magic(builder, fma(builder, t, q, START_SINGLE), 1.0)
    # Directly from the product, so that the size of the logarithm costs no digits; START_SINGLE - n is exact.
    r = fma(builder, t, q, subtract(builder, START_SINGLE, n))
    p = polynomial(builder, r, (1.0, *POWER_OF_TWO_SINGLE))
    return add_to_exponent(builder, p, shift_into_exponent(builder, bits))


def _complement_double(builder, t):
    """Return erfc(t) for f64 lanes 0.98 <= t <= 5.95, with a small absolute error."""
    scaled = polynomial(builder, divide(builder, 1.0, add(builder, t, 2.0)), SCALED_DOUBLE)
    _, exponent_bits, p = exponential_parts(builder, negate(builder, multiply(builder, t, t)))
    return multiply(builder, add_to_exponent(builder, p, exponent_bits), scaled)


@elementary
def erf(builder, x):
    """Return the error function 2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x."""
    single = is_single(x)
    magnitude = absolute(builder, x)
    square = multiply(builder, x, x)
    small = fma(builder, x, polynomial(builder, square, SMALL_SINGLE if single else SMALL_DOUBLE), x)
    t = clamp_above(builder, magnitude, 3.95 if single else 5.93)
    complement = _complement_single(builder, t) if single else _complement_double(builder, t)
    large = set_sign_of(builder, subtract(builder, 1.0, complement), x)
    # The polynomial also serves NaN, which the exponent arithmetic would not survive.
    return select(builder, compare(builder, ">=", magnitude, 1.0), large, small)
