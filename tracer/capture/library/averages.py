"""``math.fsum`` and ``statistics``: sums without a rounding error on the way, and what is made of them, rounded once."""

import math
from collections import Counter
from statistics import StatisticsError

import numpy as np

_SPLITTER = 134217729.0  # halves of a double, by Dekker
_MOST = 1e150  # beyond, halves and squares may be infinite
_DIGITS, _BITS, _LARGEST = 68, 32, 2**32 - 1


def _digits_of(values):
    """The sum of floats as digits of 32 bits, least first, that are yet to be carried: so many times 2**-1074."""
    bits = values.view(np.int64)
    exponent = (bits >> 52) & 2047
    mantissa = (bits & (2**52 - 1)) + np.where(exponent > 0, 2**52, 0)
    sign = np.where(bits < 0, -1, 1)
    place = np.maximum(exponent - 1, 0)
    shift, place = place % _BITS, place // _BITS
    low, high = (mantissa & _LARGEST) << shift, (mantissa >> _BITS) << shift
    digits = np.zeros(_DIGITS, np.int64)
    np.add.at(digits, place, sign * (low & _LARGEST))
    np.add.at(digits, place + 1, sign * ((low >> _BITS) + (high & _LARGEST)))
    np.add.at(digits, place + 2, sign * (high >> _BITS))
    return digits


def _carried(digits):
    """Digits from 0 to 2**32 - 1, and what is left: -1 where the number is negative."""
    carry = 0
    for place in range(_DIGITS):
        total = digits[place] + carry
        digits[place] = total & _LARGEST
        carry = total >> _BITS
    return carry


def _divided(digits, count):
    """Divides digits in place; returns the remainder."""
    rest = 0
    for place in range(_DIGITS - 1, -1, -1):
        total = (rest << _BITS) + digits[place]
        digits[place] = total // count
        rest = total % count
    return rest


def _rounded(digits, rest):
    """The digits, and whether something is behind them, as a float, rounded once, to even."""
    places = np.arange(_DIGITS)
    top = np.max(np.where(digits > 0, places, -1))
    if top < 0:
        return 0.0
    padded = np.concatenate([np.zeros(2, np.int64), digits]).astype(np.uint64)
    first, behind = padded[top + 2], (padded[top + 1] << np.uint64(_BITS)) | padded[top]
    missing = 62 - int(np.frexp(first.astype(np.float64))[1])  # bits of 62, which are more than a float has
    unused = np.uint64(64 - missing)
    number = (first << np.uint64(missing)) | (behind >> unused)
    is_inexact = (behind << np.uint64(missing)) != 0 or rest != 0 or np.any((digits != 0) & (places < top - 2))
    number = number | np.uint64(1) if is_inexact else number
    return float(np.ldexp(number.astype(np.float64), _BITS * top - missing - 1074))


def _sum_divided(values, count):
    """The sum of an array of floats divided by a number, rounded once."""
    is_finite = np.isfinite(values)
    if not np.all(is_finite):
        if np.any(values == np.inf) and np.any(values == -np.inf):
            raise ValueError("-inf + inf in fsum")
        return float(np.sum(np.where(is_finite, 0.0, values)))
    digits, sign = _digits_of(values), 1.0
    negated = -digits
    if _carried(digits) < 0:
        sign = -1.0
        _carried(negated)
        digits[:] = negated
    rest = 0
    if count != 1:
        rest = _divided(digits, count)
    found = sign * _rounded(digits, rest)
    if np.isinf(found) or np.any(np.isinf(np.cumsum(values))):
        raise OverflowError("intermediate overflow in fsum")
    return found


def _floats(data):
    return np.array(data, dtype=np.float64)


def fsum(seq):
    return _sum_divided(_floats(list(seq)), 1)


def _product(x, y):
    """A product, and what it is rounded by."""
    product = x * y
    a, b = x * _SPLITTER, y * _SPLITTER
    a, b = a - (a - x), b - (b - y)
    return product, ((a * b - product) + a * (y - b) + (x - a) * b) + (x - a) * (y - b)


def _quotient(values, count):
    """The sum divided by a number, in two parts: it is the first, rounded."""
    quotient = _sum_divided(values, count)
    if not abs(quotient) < _MOST:
        return quotient, 0.0
    product, rest = _product(quotient, float(count))
    return quotient, _sum_divided(np.concatenate([values, np.array([-product, -rest])]), count)


def _squares(values, count, mean=None):
    """The sum of the squares of what the numbers differ by from their mean, divided by the count; in two parts."""
    high, low = _quotient(values, len(values)) if mean is None else (float(mean), 0.0)
    difference = values - high
    back = values - difference
    rest = (values - (difference + back)) + (back - high) - low
    square, of_square = _product(difference, difference)
    return _quotient(np.concatenate([square, of_square + 2.0 * difference * rest]), count)


def _root(high, low):
    root = math.sqrt(high)
    if not 0.0 < root < _MOST:
        return root
    square, rest = _product(root, root)
    return root + ((high - square) - rest + low) / (2.0 * root)


def _of_the_type(value, data):
    if isinstance(data[0], np.float32):
        return np.float32(value)
    return np.float64(value) if isinstance(data[0], np.float64) else value


def _of_integers(total, count):
    return total // count if total % count == 0 else total / count


def _variance_of_integers(data, count):
    total = sum(data)
    return _of_integers(len(data) * sum([value * value for value in data]) - total * total, len(data) * count)


def _require(data, least, message):
    if len(data) < least:
        raise StatisticsError(message)
    if isinstance(data[0], np.integer):
        raise NotImplementedError("statistics of NumPy's integers, which lose their fractions. Fix: .tolist(), or np.mean")


def fmean(data, weights=None):
    data = list(data)
    if len(data) < 1:
        raise StatisticsError("fmean requires at least one data point")
    if weights is None:
        return _sum_divided(_floats(data), 1) / len(data)
    weights = list(weights)
    if len(weights) != len(data):
        raise StatisticsError("data and weights must be the same length")
    total = fsum(weights)
    if total == 0.0:
        raise StatisticsError("sum of weights must be non-zero")
    return fsum([value * weight for value, weight in zip(data, weights)]) / total


def mean(data):
    data = list(data)
    _require(data, 1, "mean requires at least one data point")
    total = sum(data)
    if isinstance(total, int):
        return _of_integers(total, len(data))
    return _of_the_type(_sum_divided(_floats(data), len(data)), data)


def harmonic_mean(data, weights=None):
    if weights is not None:
        raise NotImplementedError("statistics.harmonic_mean with weights")
    data = list(data)
    _require(data, 1, "harmonic_mean requires at least one data point")
    values = _floats(data)
    if (values < 0).any():
        raise StatisticsError("harmonic mean does not support negative values")
    if len(data) == 1:
        return data[0]
    if (values == 0).any():
        return 0
    high, low = _quotient(1 / values, 1)
    found = len(data) / high
    product, rest = _product(found, high)
    return _of_the_type(found + ((len(data) - product) - rest - found * low) / high, data)


def variance(data, xbar=None):
    data = list(data)
    _require(data, 2, "variance requires at least two data points")
    if isinstance(data[0], int) and xbar is None:
        return _variance_of_integers(data, len(data) - 1)
    return _of_the_type(_squares(_floats(data), len(data) - 1, xbar)[0], data)


def pvariance(data, mu=None):
    data = list(data)
    _require(data, 1, "pvariance requires at least one data point")
    if isinstance(data[0], int) and mu is None:
        return _variance_of_integers(data, len(data))
    return _of_the_type(_squares(_floats(data), len(data), mu)[0], data)


def stdev(data, xbar=None):
    data = list(data)
    _require(data, 2, "stdev requires at least two data points")
    return _root(*_squares(_floats(data), len(data) - 1, xbar))


def pstdev(data, mu=None):
    data = list(data)
    _require(data, 1, "pstdev requires at least one data point")
    return _root(*_squares(_floats(data), len(data), mu))


def median(data):
    data = sorted(data)
    if len(data) < 1:
        raise StatisticsError("no median for empty data")
    middle = len(data) // 2
    return data[middle] if len(data) % 2 == 1 else (data[middle - 1] + data[middle]) / 2


def median_low(data):
    data = sorted(data)
    if len(data) < 1:
        raise StatisticsError("no median for empty data")
    return data[(len(data) - 1) // 2]


def median_high(data):
    data = sorted(data)
    if len(data) < 1:
        raise StatisticsError("no median for empty data")
    return data[len(data) // 2]


def mode(data):
    data = list(data)
    if len(data) < 1:
        raise StatisticsError("no mode for empty data")
    return Counter(data).most_common(1)[0][0]
