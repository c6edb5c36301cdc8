"""Kernels of exponential, logarithmic, trigonometric and hyperbolic ufuncs.

Functions that HLO has an operation for are that operation. Of the others, log2 and log10 split off the exponent (as in
FreeBSD's msun), so that powers of the base give integers.
"""

from __future__ import annotations

import math

import numpy as np

from ... import hlo
from ..recording.function_tables import kernel, special
from .complex_numbers import exponential_minus_one, exponential_of_two, scaled_parts
from .kernel_parts import bits_of, finfo, float_of, in_float32, is_nan, is_zero

Instruction = hlo.Instruction

for _ufunc, _emit in (
    (np.exp, hlo.exponential), (np.log, hlo.log), (np.log1p, hlo.log_plus_one), (np.sqrt, hlo.sqrt), (np.cbrt, hlo.cbrt),
    (np.sin, hlo.sine), (np.cos, hlo.cosine), (np.tan, hlo.tan), (np.sinh, hlo.sinh), (np.cosh, hlo.cosh), (np.tanh, hlo.tanh),
    (np.arcsin, hlo.asin), (np.arccos, hlo.acos), (np.arctan, hlo.atan), (np.arctan2, hlo.atan2),
    (np.arcsinh, hlo.asinh), (np.arccosh, hlo.acosh), (np.arctanh, hlo.atanh),
):  # fmt: skip
    kernel(_ufunc)(_emit)


@kernel(np.deg2rad, np.radians)
@in_float32
def _(x):
    return hlo.multiply(x, math.pi / 180)


@kernel(np.rad2deg, np.degrees)
@in_float32
def _(x):
    return hlo.multiply(x, 180 / math.pi)


@kernel(np.exp2)
def _(x):
    return exponential_of_two(x) if x.shape.element_type.is_complex else hlo.power(2, x)


@kernel(np.expm1)
def _(x):
    return exponential_minus_one(x) if x.shape.element_type.is_complex else hlo.exponential_minus_one(x)


@kernel(np.log2)
@in_float32
def log2(x):
    if x.shape.element_type.is_complex:
        return scaled_parts(hlo.log(x), 1 / math.log(2))
    mantissa, exponent = _mantissa_near_one(x)
    return hlo.add(hlo.multiply(hlo.log(mantissa), 1 / math.log(2)), exponent)


@kernel(np.log10)
@in_float32
def log10(x):
    if x.shape.element_type.is_complex:
        return scaled_parts(hlo.log(x), 1 / math.log(10))
    mantissa, exponent = _mantissa_near_one(x)
    # log10(2) in two parts, the first with few enough bits that its product with the exponent is exact.
    high, low = (3.01029995663611771306e-01, 3.69423907715893078616e-13)
    if x.shape.element_type is hlo.F32:
        high, low = 3.0102920532e-01, 7.9034151668e-07
    rest = hlo.add(hlo.multiply(exponent, low), hlo.multiply(hlo.log(mantissa), 1 / math.log(10)))
    return hlo.add(rest, hlo.multiply(exponent, high))


def _mantissa_near_one(x: Instruction) -> tuple[Instruction, Instruction]:
    """x = mantissa * 2**exponent with the mantissa in [sqrt(1/2), sqrt(2)), the exponent as a float.

    Zeros, infinities and NaN are their own mantissa.
    """
    info = finfo(x)
    fraction_bits, lift = int(info.nmant), int(info.nmant) + 2
    tiny = hlo.lt(x, float(info.smallest_normal))
    bits = bits_of(hlo.select(tiny, hlo.multiply(x, 2.0**lift), x))
    integers = bits.shape.dtype.type
    first, infinity = (np.array(one, info.dtype).view(integers)[()] for one in (math.sqrt(0.5), np.inf))
    exponent = hlo.shift_right_arithmetic(hlo.subtract(bits, first), fraction_bits)
    mantissa = float_of(hlo.subtract(bits, hlo.shift_left(exponent, fraction_bits)), x.shape.element_type)
    is_finite = hlo.and_(hlo.gt(bits, 0), hlo.lt(bits, infinity))
    exponent = hlo.convert(exponent, x.shape.element_type)
    exponent = hlo.select(tiny, hlo.subtract(exponent, lift), exponent)
    return hlo.select(is_finite, mantissa, x), hlo.select(is_finite, exponent, 0)


@kernel(np.logaddexp)
@in_float32
def _(x, y):
    larger = hlo.maximum(x, y)
    sum_ = hlo.add(larger, hlo.log_plus_one(hlo.exponential(hlo.negate(hlo.abs(hlo.subtract(x, y))))))
    return hlo.select(hlo.eq(x, y), hlo.add(x, math.log(2)), sum_)  # equal infinities have no difference


@kernel(np.logaddexp2)
@in_float32
def _(x, y):
    larger = hlo.maximum(x, y)
    small = hlo.log_plus_one(hlo.power(2, hlo.negate(hlo.abs(hlo.subtract(x, y)))))
    return hlo.select(hlo.eq(x, y), hlo.add(x, 1), hlo.add(larger, hlo.multiply(small, 1 / math.log(2))))


# --- scipy.special ---

special("erf")(lambda x: hlo.erf(x))
special("erfinv")(lambda x: hlo.erf_inv(x))
special("gammaln")(lambda x: hlo.lgamma(x))
special("psi")(lambda x: hlo.digamma(x))
special("expit")(lambda x: hlo.logistic(x))
special("log1p")(lambda x: hlo.log_plus_one(x))
special("expm1")(lambda x: hlo.exponential_minus_one(x))
special("cbrt")(lambda x: hlo.cbrt(x))
special("exp2")(lambda x: hlo.power(2, x))
special("exp10")(lambda x: hlo.power(10, x))


# (1 + 2 z) exp(z**2) erfc(z) for z >= 0 in Chebyshev polynomials of (z - 3.75) / (z + 3.75), computed with 40 digits by mpmath.
_COMPLEMENT = (
    1.1775789345674017, -0.004590054580646478, -0.08424913336651792, 0.05920993999819189, -0.026658668435305753,
    0.009074997670705265, -0.002413163540417608, 0.0004907758365258086, -6.916973302501207e-05, 4.13902798607301e-06,
    7.74038306619849e-07, -2.1886401049234397e-07, 1.076499946567091e-08, 4.521959811218287e-09, -7.754400208831351e-10,
    -6.318088340886684e-11, 2.86879501093067e-11, 1.9455868545777347e-13, -9.65469674843344e-13, 3.25254814814874e-14,
    3.3478119482868056e-14, -1.864562880419313e-15, -1.2507950530688648e-15, 7.418235256624044e-17, 5.068148904796111e-17,
)  # fmt: skip


@special("erfc")
def _(x):
    given = hlo.convert(x, hlo.F64)
    z = hlo.minimum(hlo.abs(given), 30.0)  # beyond which it is 0
    y = hlo.divide(hlo.subtract(z, 3.75), hlo.add(z, 3.75))
    twice, last, before = hlo.multiply(y, 2.0), hlo.full_like(z, 0.0), hlo.full_like(z, 0.0)
    for coefficient in reversed(_COMPLEMENT[1:]):  # by Clenshaw
        last, before = hlo.add(hlo.subtract(hlo.multiply(twice, last), before), coefficient), last
    series = hlo.add(hlo.subtract(hlo.multiply(y, last), before), _COMPLEMENT[0])
    spread = hlo.multiply(z, 2.0**27 + 1)  # the upper half of z, whose square is exact
    upper = hlo.subtract(spread, hlo.subtract(spread, z))
    rest = hlo.multiply(hlo.subtract(z, upper), hlo.add(z, upper))
    decay = hlo.multiply(hlo.exponential(hlo.negate(hlo.multiply(upper, upper))), hlo.exponential(hlo.negate(rest)))
    found = hlo.multiply(hlo.divide(series, hlo.add(hlo.multiply(z, 2.0), 1.0)), decay)
    return hlo.convert(hlo.select(hlo.lt(given, 0.0), hlo.subtract(2.0, found), found), x.shape.element_type)


@special("logit")
@in_float32
def _(p):
    middle = hlo.and_(hlo.gt(p, 0.3), hlo.lt(p, 0.65))
    s = hlo.multiply(hlo.subtract(p, 0.5), 2)
    near_half = hlo.subtract(hlo.log_plus_one(s), hlo.log_plus_one(hlo.negate(s)))
    return hlo.select(middle, near_half, hlo.log(hlo.divide(p, hlo.subtract(1, p))))


@special("xlogy")
@in_float32
def _(x, y):
    zero = hlo.and_(is_zero(x), hlo.eq(y, y))
    return hlo.select(zero, 0, hlo.multiply(x, hlo.log(y)))


@special("xlog1py")
@in_float32
def _(x, y):
    zero = hlo.and_(is_zero(x), hlo.eq(y, y))
    return hlo.select(zero, 0, hlo.multiply(x, hlo.log_plus_one(y)))


@special("entr")
@in_float32
def _(x):
    inside = hlo.negate(hlo.multiply(x, hlo.log(x)))
    outside = hlo.select(is_zero(x), hlo.full_like(x, 0), -np.inf)
    return hlo.select(hlo.or_(hlo.gt(x, 0), is_nan(x)), inside, outside)
