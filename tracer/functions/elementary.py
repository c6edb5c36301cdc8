"""Kernels of exponential, logarithmic, trigonometric and hyperbolic ufuncs.

Functions that HLO has an operation for are that operation. The others are expressed by those: inverse trigonometric
functions by atan2, hyperbolic ones by exponential-minus-one and log-plus-one, which keep small arguments accurate (the
identities of Kahan, "Branch cuts for complex elementary functions", 1987, for real arguments), log2 and log10 by
splitting off the exponent (as in FreeBSD's msun), so that powers of the base give integers.
"""

from __future__ import annotations

import math

import numpy as np

from ... import hlo
from ..dispatch import kernel, special
from .emission import (
    absolute,
    add,
    and_,
    atan2,
    cbrt,
    complex_,
    convert,
    cosine,
    divide,
    eq,
    erf,
    exp,
    expm1,
    full_like,
    gt,
    imag,
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
    real,
    select,
    sine,
    sqrt,
    subtract,
    tangent,
    tanh,
)  # fmt: skip
from .floating_point import copysign, split

Instruction = hlo.Instruction
Builder = hlo.Builder

for _ufunc, _emit in (
    (np.exp, exp), (np.expm1, expm1), (np.log, log), (np.log1p, log1p), (np.sqrt, sqrt), (np.cbrt, cbrt), (np.sin, sine),
    (np.cos, cosine), (np.tan, tangent), (np.tanh, tanh), (np.arctan2, atan2),
):  # fmt: skip
    kernel(_ufunc)(_emit)


def _operation(ufunc: np.ufunc, opcode: str, complex_expansion=None):
    """Decorator: the kernel is HLO's own operation where the language has it, the decorated expansion where it has not."""

    def declare(expansion):
        expansion = in_float32(expansion)

        def emit(b: Builder, x: Instruction) -> Instruction:
            if opcode in hlo.OPERATIONS:
                return b.emit(opcode, x)
            if x.shape.element_type.is_complex:
                if complex_expansion is None:
                    raise NotImplementedError(
                        f"np.{ufunc.__name__} of complex numbers needs the operation {opcode}, which is not there yet"
                    )
                return complex_expansion(b, x)
            return expansion(b, x)

        kernel(ufunc)(emit)
        return emit

    return declare


def _times_i(b: Builder, z: Instruction) -> Instruction:
    return complex_(b, negate(b, imag(b, z)), real(b, z))


def _over_i(b: Builder, z: Instruction) -> Instruction:
    return complex_(b, imag(b, z), negate(b, real(b, z)))


@_operation(np.arcsin, "asin")
def arcsin(b, x):
    return atan2(b, x, sqrt(b, multiply(b, subtract(b, 1, x), add(b, x, 1))))


@_operation(np.arccos, "acos")
def arccos(b, x):
    return atan2(b, sqrt(b, multiply(b, subtract(b, 1, x), add(b, x, 1))), x)


@_operation(np.arctan, "atan")
def arctan(b, x):
    return atan2(b, x, 1)


@_operation(np.sinh, "sinh", lambda b, z: _over_i(b, sine(b, _times_i(b, z))))
def sinh(b, x):
    # (u + u / (u + 1)) / 2 with u = e^|x| - 1; where that overflows, e^(|x|/2) squared.
    size = absolute(b, x)
    u = expm1(b, size)
    small = multiply(b, 0.5, add(b, u, divide(b, u, add(b, u, 1))))
    root = exp(b, multiply(b, size, 0.5))
    large = multiply(b, multiply(b, root, 0.5), root)
    return copysign(b, select(b, gt(b, size, 20), large, small), x)


@_operation(np.cosh, "cosh", lambda b, z: cosine(b, _times_i(b, z)))
def cosh(b, x):
    root = exp(b, multiply(b, absolute(b, x), 0.5))
    large = multiply(b, multiply(b, root, 0.5), root)
    e = exp(b, absolute(b, x))
    return select(b, gt(b, absolute(b, x), 20), large, multiply(b, 0.5, add(b, e, divide(b, 1, e))))


@_operation(np.arcsinh, "asinh")
def arcsinh(b, x):
    # log1p(a + a^2 / (1 + sqrt(1 + a^2))); for large a, log(a) + log(2).
    size = absolute(b, x)
    square = multiply(b, size, size)
    moderate = log1p(b, add(b, size, divide(b, square, add(b, sqrt(b, add(b, square, 1)), 1))))
    large = add(b, log(b, size), math.log(2))
    return copysign(b, select(b, gt(b, size, 1e8), large, moderate), x)


@_operation(np.arccosh, "acosh")
def arccosh(b, x):
    t = subtract(b, x, 1)
    moderate = log1p(b, add(b, t, sqrt(b, multiply(b, t, add(b, t, 2)))))
    large = add(b, log(b, x), math.log(2))
    return select(b, gt(b, x, 1e8), large, select(b, lt(b, x, 1), np.nan, moderate))


@_operation(np.arctanh, "atanh")
def arctanh(b, x):
    size = absolute(b, x)
    ratio = divide(b, multiply(b, size, 2), subtract(b, 1, size))
    return copysign(b, multiply(b, log1p(b, ratio), 0.5), x)


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
    return power(b, 2, x)


@kernel(np.log2)
@in_float32
def log2(b, x):
    if x.shape.element_type.is_complex:
        return multiply(b, log(b, x), 1 / math.log(2))
    mantissa, exponent = _mantissa_near_one(b, x)
    return add(b, multiply(b, log(b, mantissa), 1 / math.log(2)), exponent)


@kernel(np.log10)
@in_float32
def log10(b, x):
    if x.shape.element_type.is_complex:
        return multiply(b, log(b, x), 1 / math.log(10))
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


@kernel(np.logaddexp, identity=-np.inf)
@in_float32
def _(b, x, y):
    larger = maximum(b, x, y)
    sum_ = add(b, larger, log1p(b, exp(b, negate(b, absolute(b, subtract(b, x, y))))))
    return select(b, eq(b, x, y), add(b, x, math.log(2)), sum_)  # equal infinities have no difference


@kernel(np.logaddexp2, identity=-np.inf)
@in_float32
def _(b, x, y):
    larger = maximum(b, x, y)
    small = log1p(b, power(b, 2, negate(b, absolute(b, subtract(b, x, y)))))
    return select(b, eq(b, x, y), add(b, x, 1), add(b, larger, multiply(b, small, 1 / math.log(2))))


# --- scipy.special ---

special("erf")(lambda b, x: erf(b, x))
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
