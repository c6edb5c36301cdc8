"""NumPy arithmetic on unevaluated sums of two float64 numbers: about 104 bits, for semantics that have to be exact to the last.

Source of the methods: T. J. Dekker, "A floating-point technique for extending the available precision", 1971.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


def two_sum(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rounded sum, and what was rounded off."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def _halves(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    shifted = x * (2.0**27 + 1)
    high = shifted - (shifted - x)
    return high, x - high


def two_product(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rounded product, and what was rounded off; of numbers below 2**996."""
    product = x * y
    (x_high, x_low), (y_high, y_low) = _halves(x), _halves(y)
    return product, ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low


class DoubleDouble(NamedTuple):
    """high + low, of which ``high`` is the rounded sum.

    >>> third = DoubleDouble.of(1.0) / 3.0
    >>> bool(third.low != 0), float((third * 3.0 - 1.0).value)
    (True, 0.0)
    """

    high: np.ndarray
    low: np.ndarray

    @classmethod
    def of(cls, x: DoubleDouble | np.ndarray | float) -> DoubleDouble:
        """The number itself; a float64 with nothing below it."""
        return x if isinstance(x, DoubleDouble) else cls(np.asarray(x, np.float64), np.float64(0))

    @property
    def value(self) -> np.ndarray:
        """Rounded to float64."""
        return self.high + self.low

    def __neg__(self):
        return DoubleDouble(-self.high, -self.low)

    def __add__(self, other):
        other = DoubleDouble.of(other)
        high, error = two_sum(self.high, other.high)
        low, low_error = two_sum(self.low, other.low)
        high, error = two_sum(high, error + low)
        return DoubleDouble(*two_sum(high, error + low_error))

    def __sub__(self, other):
        return self + -DoubleDouble.of(other)

    def __mul__(self, other):
        other = DoubleDouble.of(other)
        high, error = two_product(self.high, other.high)
        return DoubleDouble(*two_sum(high, error + (self.high * other.low + self.low * other.high)))

    def __truediv__(self, other):
        other = DoubleDouble.of(other)
        first = self.high / other.high
        rest = self - other * first
        second = rest.high / other.high
        return DoubleDouble(*two_sum(first, second)) + (rest - other * second).high / other.high


def choose(condition: np.ndarray, x: DoubleDouble, y: DoubleDouble) -> DoubleDouble:
    """x where the condition holds, else y."""
    return DoubleDouble(np.where(condition, x.high, y.high), np.where(condition, x.low, y.low))


def series(x: DoubleDouble, coefficients: list[DoubleDouble]) -> DoubleDouble:
    """The sum of coefficients[i] * x**i."""
    total = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + coefficient
    return total


LN2 = DoubleDouble(np.float64(0.6931471805599453), np.float64(2.3190468138462996e-17))
_ATANH = [DoubleDouble.of(2.0) / float(2 * k + 1) for k in range(22)]


def log_plus_one(x: DoubleDouble) -> DoubleDouble:
    """log(1 + x), for x in [-0.3, 0.42] with a small relative error: 2 atanh(x / (2 + x))."""
    s = x / (x + 2.0)
    return s * series(s * s, _ATANH)


def log(x: DoubleDouble) -> DoubleDouble:
    """The natural logarithm of positive numbers."""
    mantissa, exponent = np.frexp(x.high)
    exponent = exponent - (mantissa < np.sqrt(0.5))
    # In two steps: a single power of two may be beyond float64.
    half = exponent // 2
    scaled = DoubleDouble(*(np.ldexp(np.ldexp(part, -half), half - exponent) for part in x))
    return LN2 * exponent.astype(np.float64) + log_plus_one(scaled - 1.0)
