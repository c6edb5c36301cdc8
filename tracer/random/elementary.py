"""Elementary functions of f64 and f32, written out in operations that IEEE 754 defines exactly, none of which is contracted.

So every backend and every processor gives the same numbers bit for bit. Polynomials are interpolations at Chebyshev points,
computed with 60 digits by mpmath.

The logarithm follows FDLIBM's ``e_log.c``: x = 2**e (1 + f), s = f / (2 + f), log(1 + f) = f - s (f - R(s**2)). The exponential
function is that of what is left of a multiple of log 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

Array = Any  # an array or a number, which may be traced


class Precision(NamedTuple):
    """What floats of one width need: of words of as many bits as the float has."""

    float: type
    signed: type
    unsigned: type
    bits: int
    precision: int  # the bits of the mantissa, the first one included
    least_mantissa: int  # the bits of sqrt(1/2), from which on mantissas are taken
    log_2: tuple[float, float]  # in two parts, the first of which has few enough bits for exact products with exponents
    logarithm: tuple[float, ...]  # R(z) / z for 0 <= z <= (3 - sqrt(8))**2
    sine: tuple[float, ...]  # sin(pi y / 4) / y as a polynomial in y**2 for 0 <= y <= 1
    cosine: tuple[float, ...]  # cos(pi y / 4), likewise


DOUBLE = Precision(
    np.float64, np.int64, np.uint64, 64, 53, 0x3FE6A09E667F3BCD, (6.93147180369123816490e-01, 1.90821492927058770002e-10),
    (0.666666666666667, 0.39999999999899505, 0.28571428625975487, 0.2222221113479508, 0.18182889125261723,
     0.15331721600556042, 0.14616449685043406),
    (0.7853981633974483, -0.08074551218828054, 0.002490394570188844, -3.657620415891387e-05, 3.133616225433416e-07,
     -1.7571500746983935e-09, 6.877360573166326e-12),
    (1.0, -0.30842513753404244, 0.01585434424381542, -0.00032599188692673765, 3.590860446027952e-06,
     -2.4611364033652597e-08, 1.1500512028217341e-10, -3.8581890073416675e-13),
)  # fmt: skip
SINGLE = Precision(
    np.float32, np.int32, np.uint32, 32, 24, 0x3F3504F3, (6.9313812256e-01, 9.0580006145e-06),
    (0.6666668503957586, 0.3998878056602198, 0.2957994939197279),
    (0.7853981609766183, -0.08074543470810147, 0.0024900068014923568, -3.595429072511075e-05),
    (0.9999999999524894, -0.30842513515829056, 0.015854325228444592, -0.00032593858594162623, 3.5297971342978537e-06),
)  # fmt: skip
# (exp(x) - 1 - x) / x**2 for abs(x) <= log(2) / 2, as f64
_EXPONENTIAL = (
    0.5000000000000001, 0.16666666666666669, 0.04166666666662413, 0.008333333333330062, 0.0013888888917213717,
    0.00019841269863053618, 2.4801521295954376e-05, 2.7557268459997064e-06, 2.7620088445409746e-07, 2.510038549551032e-08,
)  # fmt: skip
_LOG_2 = (6.93147180369123816490e-01, 1.90821492927058770002e-10)
_PER_LOG_2 = 1.4426950408889634
_SMALLEST, _LARGEST = -760.0, 720.0  # whose exponentials are 0, and infinite


def polynomial(kind: Precision, x: Array, coefficients: Sequence[float]) -> Array:
    value = x * kind.float(coefficients[-1]) + kind.float(coefficients[-2])
    for coefficient in reversed(coefficients[:-2]):
        value = value * x + kind.float(coefficient)
    return value


def _of_parts(kind: Precision, exponent: Array, f: Array) -> Array:
    """The logarithm of 2**exponent (1 + f)."""
    s = f / (f + kind.float(2))
    z = s * s
    of_mantissa = f - s * (f - z * polynomial(kind, z, kind.logarithm))
    exponent = exponent.astype(kind.float)
    return exponent * kind.float(kind.log_2[0]) + (exponent * kind.float(kind.log_2[1]) + of_mantissa)


def _parts(kind: Precision, x: Array) -> tuple[Array, Array]:
    """An exponent, and a mantissa from sqrt(1/2) to sqrt(2)."""
    mantissa_bits = kind.signed(kind.precision - 1)
    bits = x.view(kind.signed)
    exponent = (bits - kind.signed(kind.least_mantissa)) >> mantissa_bits
    return exponent, (bits - (exponent << mantissa_bits)).view(kind.float)


def logarithm(x: Array) -> Array:
    """log(x) for f64 that are positive, normal and finite."""
    exponent, mantissa = _parts(DOUBLE, x)
    return _of_parts(DOUBLE, exponent, mantissa - 1.0)


def minus_logarithm(kind: Precision, words: Array) -> Array:
    """-log((k + 1/2) / 2**bits) for each word k, with full relative accuracy near 0 and near 1."""
    unit = kind.float(0.5**kind.bits)
    x = (words.astype(kind.float) + kind.float(0.5)) * unit
    rest = ((~words).astype(kind.float) + kind.float(0.5)) * unit  # 1 - x, without rounding errors of x
    exponent, mantissa = _parts(kind, x)
    return -_of_parts(kind, exponent, np.where(exponent == 0, -rest, mantissa - kind.float(1)))


def _power_of_2(exponent: Array) -> Array:
    """2**exponent for integers from -1022 to 1023."""
    return ((exponent + np.int64(1023)) << np.int64(52)).view(np.float64)


def _exponential_parts(x: Array) -> tuple[Array, Array, Array]:
    """Two powers of 2, and y, so that their product with 1 + y is exp(x)."""
    x = np.minimum(np.maximum(x, _SMALLEST), _LARGEST)
    multiple = np.rint(x * _PER_LOG_2)
    rest = (x - multiple * _LOG_2[0]) - multiple * _LOG_2[1]
    exponent = np.where(np.isnan(multiple), 0.0, multiple).astype(np.int64)
    half = exponent >> np.int64(1)
    return _power_of_2(half), _power_of_2(exponent - half), rest + rest * rest * polynomial(DOUBLE, rest, _EXPONENTIAL)


def exponential(x: Array) -> Array:
    """exp(x) for f64."""
    one, other, y = _exponential_parts(x)
    return (1.0 + y) * one * other


def exponential_minus_1(x: Array) -> Array:
    """exp(x) - 1 for f64 of at least 0, accurate near 0."""
    one, other, y = _exponential_parts(x)
    return np.where(one * other == 1.0, y, (1.0 + y) * one * other - 1.0)


def power(x: Array, exponent: Array) -> Array:
    """x**exponent for positive f64, with a relative error that grows with the logarithm of the result."""
    return exponential(exponent * logarithm(x))
