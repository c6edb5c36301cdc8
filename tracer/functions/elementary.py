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
from .emission import (
    absolute,
    acos,
    acosh,
    add,
    and_,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cbrt,
    convert,
    cosh,
    cosine,
    divide,
    eq,
    erf,
    exp,
    expm1,
    full_like,
    gt,
    in_float32,
    is_nan,
    is_zero,
    log,
    log1p,
    logistic,
    lt,
    maximum,
    multiply,
    negate,
    or_,
    power,
    select,
    sine,
    sinh,
    sqrt,
    subtract,
    tangent,
    tanh,
)  # fmt: skip
from .floating_point import split

Instruction = hlo.Instruction
Builder = hlo.Builder

for _ufunc, _emit in (
    (np.exp, exp), (np.log, log), (np.log1p, log1p), (np.sqrt, sqrt), (np.cbrt, cbrt), (np.sin, sine), (np.cos, cosine),
    (np.tan, tangent), (np.tanh, tanh), (np.arctan2, atan2), (np.arccos, acos), (np.arccosh, acosh),
    (np.arcsin, asin), (np.arcsinh, asinh), (np.arctan, atan), (np.arctanh, atanh), (np.cosh, cosh), (np.sinh, sinh),
):  # fmt: skip
    kernel(_ufunc)(_emit)


@kernel(np.deg2rad, np.radians)
@in_float32
def _(b, x):
    return multiply(b, x, math.pi / 180)


@kernel(np.rad2deg, np.degrees)
@in_float32
def _(b, x):
    return multiply(b, x, 180 / math.pi)


@kernel(np.exp2)
def _(b, x):
    return exponential_of_two(b, x) if x.shape.element_type.is_complex else power(b, 2, x)


@kernel(np.expm1)
def _(b, x):
    return exponential_minus_one(b, x) if x.shape.element_type.is_complex else expm1(b, x)


@kernel(np.log2)
@in_float32
def log2(b, x):
    if x.shape.element_type.is_complex:
        return scaled_parts(b, log(b, x), 1 / math.log(2))
    mantissa, exponent = _mantissa_near_one(b, x)
    return add(b, multiply(b, log(b, mantissa), 1 / math.log(2)), exponent)


@kernel(np.log10)
@in_float32
def log10(b, x):
    if x.shape.element_type.is_complex:
        return scaled_parts(b, log(b, x), 1 / math.log(10))
    mantissa, exponent = _mantissa_near_one(b, x)
    # log10(2) in two parts, the first with few enough bits that its product with the exponent is exact.
    high, low = (3.01029995663611771306e-01, 3.69423907715893078616e-13)
    if x.shape.element_type is hlo.F32:
        high, low = 3.0102920532e-01, 7.9034151668e-07
    rest = add(b, multiply(b, exponent, low), multiply(b, log(b, mantissa), 1 / math.log(10)))
    return add(b, rest, multiply(b, exponent, high))


def _mantissa_near_one(b: Builder, x: Instruction) -> tuple[Instruction, Instruction]:
    """x = mantissa * 2**exponent with the mantissa in [sqrt(1/2), sqrt(2)), the exponent as a float.

    Zeros, infinities and NaN are their own mantissa.
    """
    mantissa, exponent = split(b, x)
    exponent = convert(b, exponent, x.shape.element_type)
    low = lt(b, mantissa, math.sqrt(0.5))
    mantissa = select(b, low, multiply(b, mantissa, 2), mantissa)
    return mantissa, select(b, and_(b, low, gt(b, x, 0)), subtract(b, exponent, 1), exponent)


@kernel(np.logaddexp)
@in_float32
def _(b, x, y):
    larger = maximum(b, x, y)
    sum_ = add(b, larger, log1p(b, exp(b, negate(b, absolute(b, subtract(b, x, y))))))
    return select(b, eq(b, x, y), add(b, x, math.log(2)), sum_)  # equal infinities have no difference


@kernel(np.logaddexp2)
@in_float32
def _(b, x, y):
    larger = maximum(b, x, y)
    small = log1p(b, power(b, 2, negate(b, absolute(b, subtract(b, x, y)))))
    return select(b, eq(b, x, y), add(b, x, 1), add(b, larger, multiply(b, small, 1 / math.log(2))))


# --- scipy.special ---

special("erf")(lambda b, x: erf(b, x))
special("erfinv")(lambda b, x: b.emit("erf-inv", x))
special("gammaln")(lambda b, x: b.emit("lgamma", x))
special("psi")(lambda b, x: b.emit("digamma", x))
special("expit")(lambda b, x: logistic(b, x))
special("log1p")(lambda b, x: log1p(b, x))
special("expm1")(lambda b, x: expm1(b, x))
special("cbrt")(lambda b, x: cbrt(b, x))
special("exp2")(lambda b, x: power(b, 2, x))
special("exp10")(lambda b, x: power(b, 10, x))


@special("logit")
@in_float32
def _(b, p):
    middle = and_(b, gt(b, p, 0.3), lt(b, p, 0.65))
    s = multiply(b, subtract(b, p, 0.5), 2)
    near_half = subtract(b, log1p(b, s), log1p(b, negate(b, s)))
    return select(b, middle, near_half, log(b, divide(b, p, subtract(b, 1, p))))


@special("xlogy")
@in_float32
def _(b, x, y):
    zero = and_(b, is_zero(b, x), eq(b, y, y))
    return select(b, zero, 0, multiply(b, x, log(b, y)))


@special("xlog1py")
@in_float32
def _(b, x, y):
    zero = and_(b, is_zero(b, x), eq(b, y, y))
    return select(b, zero, 0, multiply(b, x, log1p(b, y)))


@special("entr")
@in_float32
def _(b, x):
    inside = negate(b, multiply(b, x, log(b, x)))
    outside = select(b, is_zero(b, x), full_like(b, 0, x), -np.inf)
    return select(b, or_(b, gt(b, x, 0), is_nan(b, x)), inside, outside)
