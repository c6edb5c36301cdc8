"""The NumPy semantics of erf-inv, lgamma and digamma: float64 results rounded from sums of two numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache, wraps

import numpy as np

from .double_double import DoubleDouble, choose, log, log_plus_one, series

PI = DoubleDouble(np.float64(3.141592653589793), np.float64(1.2246467991473532e-16))
HALF_LOG_TWO_PI = DoubleDouble(np.float64(0.9189385332046728), np.float64(-3.8782941580672414e-17))
TWO_OVER_ROOT_PI = DoubleDouble(np.float64(1.1283791670955126), np.float64(1.533545961316588e-17))
DIGAMMA_ROOT = DoubleDouble(np.float64(1.4616321449683622), np.float64(9.549995429965697e-17))
# The first and half the second derivative of digamma at its root.
SLOPE_AT_ROOT = DoubleDouble(np.float64(0.9676722454476212), np.float64(-3.387874303038943e-17))
CURVE_AT_ROOT = -0.4427631689835921
# The recurrence leads to numbers above this, where the asymptotic series gives all digits.
_FAR = 21


def in_float64(function: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """Compute floats of any type in float64 and round to the type."""

    @wraps(function)
    def evaluate(x: np.ndarray) -> np.ndarray:
        return function(np.asarray(x, np.float64)).astype(x.dtype)

    return evaluate


def _exact(fraction: Fraction) -> DoubleDouble:
    high = float(fraction)
    return DoubleDouble(np.float64(high), np.float64(float(fraction - Fraction(high))))


@cache
def _bernoulli_numbers() -> list[Fraction]:
    """Those of index 2, 4, 6, ..., as many as the asymptotic series take."""
    numbers = [Fraction(1)]
    for n in range(1, 33):
        numbers.append(-sum(math.comb(n + 1, k) * numbers[k] for k in range(n)) / (n + 1))
    return numbers[2::2]


# --- erf-inv ---


@cache
def _erf_coefficients() -> list[DoubleDouble]:
    return [_exact(Fraction((-1) ** n, math.factorial(n) * (2 * n + 1))) for n in range(34)]


_complement = np.vectorize(math.erfc, otypes=[np.float64])


@in_float64
def erf_inv(x: np.ndarray) -> np.ndarray:
    """The number whose error function is x.

    Newton's and Halley's method. What is left to correct is taken from the series of erf near 0, which is good to 100 bits,
    elsewhere from erfc, whose error is that of the result divided by about twice its square.
    """
    magnitude = np.abs(x)
    inside = np.where(magnitude < 1, magnitude, 0.0)
    complement = 1 - inside
    # S. Winitzki, "A handy approximation for the error function and its inverse", 2008: to three digits.
    logarithm = np.log1p(-inside * inside)
    middle = 2 / (math.pi * 0.147) + logarithm / 2
    y = np.sqrt(np.sqrt(middle * middle - logarithm / 0.147) - middle)
    central = inside < 0.85
    for _ in range(4):
        u = (complement - _complement(y)) * np.exp(y * y) * (math.sqrt(math.pi) / 2)
        step = -u / (1 - y * u)
        y = np.where(central, y, y + step)
    y = np.where(central, np.where(inside < 1e-4, inside * (math.sqrt(math.pi) / 2), y), y)
    exact = DoubleDouble.of(np.where(central, inside, 0.0))
    for _ in range(3):
        square = DoubleDouble.of(np.where(central, y, 0.0))
        square = square * square
        error = series(square, _erf_coefficients()) * TWO_OVER_ROOT_PI * np.where(central, y, 0.0) - exact
        u = error.value * np.exp(square.high) * (math.sqrt(math.pi) / 2)
        y = y - np.where(central, u / (1 + y * u), 0.0)
    y = np.where(inside < 1e-300, inside * (math.sqrt(math.pi) / 2), y)
    y = np.copysign(np.where(magnitude == 1, np.inf, y), x)
    return np.where(magnitude <= 1, y, np.nan)


# --- lgamma ---


@cache
def _stirling_coefficients() -> list[DoubleDouble]:
    return [_exact(b / ((2 * k + 2) * (2 * k + 1))) for k, b in enumerate(_bernoulli_numbers())]


def _stirling_rest(x: DoubleDouble) -> DoubleDouble:
    """lgamma(x) - ((x - 1/2) log x - x + log(2 pi) / 2), for x > _FAR."""
    inverse = DoubleDouble.of(1.0) / x
    return inverse * series(inverse * inverse, _stirling_coefficients())


def _lgamma_near_one(d: np.ndarray) -> DoubleDouble:
    """lgamma(1 + d) for |d| <= 1/2, with a small relative error.

    Less lgamma(1), Stirling's series at _FAR + d and _FAR, and the product of the recurrence: in each, a multiple of d.
    """
    exact = DoubleDouble.of(d)
    product = exact  # less 1
    for k in range(2, _FAR):
        factor = exact / float(k)
        product = product + factor + product * factor
    far = DoubleDouble.of(float(_FAR))
    near = np.abs(product.high) < 0.25
    nothing = DoubleDouble.of(np.zeros_like(d))
    logarithm = choose(near, log_plus_one(choose(near, product, nothing)), log(product + 1.0))
    main = (exact + (_FAR - 0.5)) * log_plus_one(exact / far) + exact * (log(far) - 1.0)
    return main + (_stirling_rest(exact + far) - _stirling_rest(far)) - logarithm


def _lgamma_beyond(x: np.ndarray) -> DoubleDouble:
    """lgamma(x) for 2.5 <= x < 2**500."""
    shifted, product = DoubleDouble.of(x), DoubleDouble.of(np.ones_like(x))
    for _ in range(_FAR):
        near = shifted.high < _FAR
        product = choose(near, product * shifted, product)
        shifted = choose(near, shifted + 1.0, shifted)
    return (shifted - 0.5) * (log(shifted) - 1.0) - 0.5 + HALF_LOG_TWO_PI + _stirling_rest(shifted) - log(product)


def _lgamma_of_positive(x: np.ndarray) -> DoubleDouble:
    """lgamma(x) for 0 < x < 2**500."""
    small, second = x < 0.5, (x >= 1.5) & (x < 2.5)
    near = _lgamma_near_one(np.where(small, x, np.where(x < 1.5, x - 1, np.where(second, x - 2, 0.0))))
    logarithm = log(DoubleDouble.of(np.where(small | second, x - second, 1.0)))
    near = choose(second, near + logarithm, near - logarithm)
    return choose(x < 2.5, near, _lgamma_beyond(np.where(x < 2.5, 2.5, x)))


@cache
def _sine_coefficients() -> list[DoubleDouble]:
    return [_exact(Fraction((-1) ** n, math.factorial(2 * n + 1))) for n in range(20)]


@cache
def _cosine_coefficients() -> list[DoubleDouble]:
    return [_exact(Fraction((-1) ** n, math.factorial(2 * n))) for n in range(20)]


def _sine_of_half_turns(r: np.ndarray) -> DoubleDouble:
    angle = PI * r
    return angle * series(angle * angle, _sine_coefficients())


def _cosine_of_half_turns(r: np.ndarray) -> DoubleDouble:
    angle = PI * r
    return series(angle * angle, _cosine_coefficients())


@in_float64
def lgamma(x: np.ndarray) -> np.ndarray:
    """The logarithm of the magnitude of the gamma function; infinite at 0, -1, -2, ..."""
    magnitude = np.abs(x)
    moderate = (magnitude > 2.0**-500) & (magnitude < 2.0**500)
    z = np.where(moderate, magnitude, 1.0)
    positive = _lgamma_of_positive(z)
    r = np.abs(z - np.rint(z))
    reflected = log(PI) - log(DoubleDouble.of(z) * _sine_of_half_turns(np.where(r == 0, 0.5, r))) - positive
    reflected_value = np.where((r == 0) | (magnitude >= 2.0**500), np.inf, reflected.value)
    # Far out, log(x) - 1 times x is all that counts.
    huge = (log(DoubleDouble.of(np.where(magnitude < 2.0**500, 1.0, np.minimum(magnitude, 2.0**1023)))) - 1.0) * 2.0**-600
    far = np.where(np.isinf(magnitude), np.inf, (huge * (magnitude * 2.0**-30)).value * 2.0**600 * 2.0**30)
    near = -log(DoubleDouble.of(np.where(magnitude <= 2.0**-500, np.maximum(magnitude, 5e-324), 1.0))).value
    result = np.where(x < 0, reflected_value, np.where(magnitude < 2.0**500, positive.value, far))
    result = np.where(magnitude <= 2.0**-500, np.where(magnitude == 0, np.inf, near), result)
    return np.where(np.isnan(x), x, result)


# --- digamma ---


@cache
def _digamma_coefficients() -> list[DoubleDouble]:
    return [_exact(-b / (2 * k + 2)) for k, b in enumerate(_bernoulli_numbers())]


def _digamma_of_positive(x: np.ndarray) -> DoubleDouble:
    """digamma(x) for 2**-500 < x < 2**500."""
    shifted, terms = DoubleDouble.of(x), DoubleDouble.of(np.zeros_like(x))
    for _ in range(_FAR):
        near = shifted.high < _FAR
        terms = choose(near, terms + DoubleDouble.of(1.0) / shifted, terms)
        shifted = choose(near, shifted + 1.0, shifted)
    inverse = DoubleDouble.of(1.0) / shifted
    square = inverse * inverse
    far = log(shifted) - inverse * 0.5 + square * series(square, _digamma_coefficients())
    e = DoubleDouble.of(x) - DIGAMMA_ROOT
    return choose(np.abs(e.high) < 2.0**-30, e * (e * CURVE_AT_ROOT + SLOPE_AT_ROOT), far - terms)


@in_float64
def digamma(x: np.ndarray) -> np.ndarray:
    """The derivative of lgamma; NaN at -1, -2, ... and -inf, of infinite magnitude and the other sign at +-0."""
    magnitude = np.abs(x)
    moderate = (magnitude > 2.0**-500) & (magnitude < 2.0**500)
    z = np.where(moderate, magnitude, 1.0)
    positive = _digamma_of_positive(z)
    r = z - np.rint(z)
    safe = np.where(r == 0, 0.5, r)
    cotangent = PI * _cosine_of_half_turns(safe) / _sine_of_half_turns(safe)
    reflected = positive + DoubleDouble.of(1.0) / z + cotangent
    reflected_value = np.where((r == 0) | (magnitude >= 2.0**500), np.nan, reflected.value)
    result = np.where(x < 0, reflected_value, np.where(magnitude < 2.0**500, positive.value, np.log(magnitude)))
    result = np.where(magnitude <= 2.0**-500, -1 / x, result)
    return np.where(np.isnan(x), x, result)
