"""Numbers of distributions by rejection: the first attempts are made of words of the stream, and where one fails further ones
of the words of the generator whose key is the number's first word.

So each number uses as many words of the stream, and is a function of these, however often it is attempted. The functions are
followed as functions of the user's are (`outside/ownership.py`): their loops are loops of the program.

Sources: G. Marsaglia and W. Tsang, "A simple method for generating gamma variables", 2000; W. Hormann, "The transformed
rejection method for generating Poisson random variables" and "The generation of binomial random variates", 1993; E.
Stadlober, "The ratio of uniforms approach for generating discrete random variates", 1990, for hypergeometric numbers; L.
Devroye, "Non-Uniform Random Variate Generation", 1986, for Zipf's distribution; A. Kemp, "Efficient generation of
logarithmically distributed pseudo-random variables", 1981.
"""

from __future__ import annotations

import numpy as np

from . import draws
from .elementary import DOUBLE, exponential, logarithm, minus_logarithm, power
from .transforms import BITS, normal_pairs

# log(k!) - log(sqrt(2 pi)) - (k + 1/2) log(k + 1) + (k + 1) for k from 0 on
_TAILS = np.array([
    0.081061466795327258, 0.041340695955409294, 0.027677925684998339, 0.020790672103765093, 0.016644691189821192,
    0.013876128823070748, 0.011896709945891770, 0.010411265261972096, 0.0092554621827127329, 0.0083305634333628713,
])  # fmt: skip
_HALF_LOG_2_PI = 0.91893853320467274
_LOG_2 = 0.69314718055994531
_WIDTH, _LEAST_WIDTH = 1.7155277699214135, 0.8989161620588988  # 2 sqrt(2 / e), 3 - 2 sqrt(3 / e)
_LEAST_SHARE = 1e-20  # of a number that a search may find
_MOST = 2.0**63  # above integers


def at(parameter, place):
    """The parameter of a number: the same one for all, or one of an array."""
    return parameter[place] if np.ndim(parameter) else parameter


def further(key, counter, count):
    """Words of the generator with this key."""
    return draws.draw(BITS, np.array([key, np.uint64(counter)], dtype=np.uint64), count)


def fraction(word):
    """From 0 to below 1."""
    return (word >> np.uint64(11)).astype(np.int64).astype(np.float64) * 2.0**-53


# --- gamma ---


def gammas(words, shape):
    """Of four words each: a normal number's, a fraction's, and that of the power by which shapes below 1 become others."""
    columns, is_small = words.reshape(-1, 4), shape < 1.0
    scale = np.where(is_small, shape + 1.0, shape) - 1.0 / 3.0
    found = _gammas_above_1(columns, scale)
    for place in range(found.shape[0]):
        if at(is_small, place):
            found[place] *= exponential(-minus_logarithm(DOUBLE, columns[place, 3]) / at(shape, place))
    return np.where(shape == 0.0, 0.0, found)


def logarithms_of_gammas(words, shape):
    """The logarithms of such numbers, which of small shapes are often less than the smallest float."""
    columns, is_small = words.reshape(-1, 4), shape < 1.0
    scale = np.where(is_small, shape + 1.0, shape) - 1.0 / 3.0
    power_of_shape = minus_logarithm(DOUBLE, columns[:, 3]) / shape
    found = logarithm(_gammas_above_1(columns, scale)) - np.where(is_small, power_of_shape, 0.0)
    return np.where(np.isnan(shape), shape, found)


def _gammas_above_1(columns, scale):
    normals, _ = normal_pairs(DOUBLE, columns[:, 0], columns[:, 1])
    factor = 1.0 / np.sqrt(9.0 * scale)
    found = np.empty(columns.shape[0])
    for place in range(found.shape[0]):
        own, own_factor = at(scale, place), at(factor, place)
        x, word, counter = normals[place], columns[place, 2], 0
        root = 1.0 + own_factor * x
        while not _is_gamma(x, root, word, own):
            words = further(columns[place, 0], counter, 3)
            x, _ = normal_pairs(DOUBLE, words[0], words[1])
            word, counter = words[2], counter + 3
            root = 1.0 + own_factor * x
        found[place] = own * (root * root * root)
    return found


def _is_gamma(x, root, word, scale):
    if root <= 0.0:
        return False
    square = x * x
    if fraction(word) < 1.0 - 0.0331 * square * square:
        return True
    cube = root * root * root
    return not -minus_logarithm(DOUBLE, word) >= 0.5 * square + scale * (1.0 - cube + logarithm(cube))


# --- counts ---


def stirling_tail(k):
    """What Stirling's formula leaves of log(k!)."""
    if k < 10.0:
        return _TAILS[int(k)]
    square = (k + 1.0) * (k + 1.0)
    return (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / square) / square) / (k + 1.0)


def poissons(words, rate):
    """Of two words each: by search for small rates, and otherwise by rejection."""
    words = words.reshape(-1, 2)
    width = 0.931 + 2.53 * np.sqrt(rate)
    slope, none = -0.059 + 0.02483 * width, exponential(-rate)
    squeeze, factor = 0.9277 - 3.6224 / (width - 2.0), logarithm(1.1239 + 1.1328 / np.maximum(width - 3.4, 1.0))
    found = np.empty(words.shape[0], np.int64)
    for place in range(found.shape[0]):
        own = at(rate, place)
        if own < 10.0:
            found[place] = _searched_poisson(fraction(words[place, 0]), own, at(none, place))
            continue
        own_width, own_slope, own_squeeze = at(width, place), at(slope, place), at(squeeze, place)
        u, v, counter = fraction(words[place, 0]) - 0.5, words[place, 1], 0
        distance = 0.5 - abs(u)
        k = np.floor((2.0 * own_slope / distance + own_width) * u + own + 0.43)
        while not (distance >= 0.07 and fraction(v) <= own_squeeze) and not _is_poisson(
            k, v, distance, own, own_width, own_slope, at(factor, place)
        ):
            pair = further(words[place, 0], counter, 2)
            u, v, counter = fraction(pair[0]) - 0.5, pair[1], counter + 2
            distance = 0.5 - abs(u)
            k = np.floor((2.0 * own_slope / distance + own_width) * u + own + 0.43)
        found[place] = int(k)
    return found


def _is_poisson(k, v, distance, rate, width, slope, factor):
    if k < 0.0 or k >= _MOST or distance < 0.013 and fraction(v) > distance:
        return False
    ratio = -minus_logarithm(DOUBLE, v) + factor - logarithm(slope / (distance * distance) + width)
    more = k + 1.0
    return ratio <= more - rate + k * logarithm(rate / more) - 0.5 * logarithm(more) - _HALF_LOG_2_PI - stirling_tail(k)


def _searched_poisson(u, rate, share):
    k = 0
    while u > share and (share > _LEAST_SHARE or k < rate):
        u, k = u - share, k + 1
        share = share * (rate / k)
    return k


def binomials(words, count, probability):
    """Of two words each: by search where few are expected, and otherwise by rejection."""
    words = words.reshape(-1, 2)
    is_flipped = probability > 0.5
    less = np.where(is_flipped, 1.0 - probability, probability)
    most = 1.0 - less
    none = exponential(count * logarithm_of_rest(less))
    spread = np.sqrt(count * less * most)
    found = np.empty(words.shape[0], np.int64)
    for place in range(found.shape[0]):
        n, p = at(count, place), at(less, place)
        if n * p < 10.0:
            k = _searched_binomial(fraction(words[place, 0]), n, p, at(none, place))
        else:
            k = _rejected_binomial(words[place], n, p, at(most, place), at(spread, place))
        found[place] = int(n) - int(k) if at(is_flipped, place) else int(k)
    return found


def logarithm_of_rest(p):
    """log(1 - p) for p from 0 to below 1, accurate near 0."""
    rest = 1.0 - p
    lost = rest - 1.0
    return np.where(lost == 0.0, -p, logarithm(np.maximum(rest, 2.0**-60)) * (p / np.where(lost == 0.0, -1.0, -lost)))


def _searched_binomial(u, count, p, share):
    k, odds = 0.0, p / (1.0 - p)
    while u > share and k < count and (share > _LEAST_SHARE or k < count * p):
        u, k = u - share, k + 1.0
        share = share * ((count - k + 1.0) / k * odds)
    return k


def _rejected_binomial(words, count, p, q, spread):
    width = 1.15 + 2.53 * spread
    slope, centre = -0.0873 + 0.0248 * width + 0.01 * p, count * p + 0.5
    squeeze, factor, odds = 0.92 - 4.2 / width, (2.83 + 5.1 / width) * spread, p / q
    mode = np.floor((count + 1.0) * p)
    u, v, counter = fraction(words[0]) - 0.5, words[1], 0
    distance = 0.5 - abs(u)
    k = np.floor((2.0 * slope / distance + width) * u + centre)
    while not (distance >= 0.07 and fraction(v) <= squeeze) and not _is_binomial(
        k, v, count, mode, odds, slope / (distance * distance) + width, factor
    ):
        pair = further(words[0], counter, 2)
        u, v, counter = fraction(pair[0]) - 0.5, pair[1], counter + 2
        distance = 0.5 - abs(u)
        k = np.floor((2.0 * slope / distance + width) * u + centre)
    return k


def _is_binomial(k, v, count, mode, odds, density, factor):
    if k < 0.0 or k > count:
        return False
    rest = count - mode + 1.0
    limit = (mode + 0.5) * logarithm((mode + 1.0) / (odds * rest)) + (count + 1.0) * logarithm(rest / (count - k + 1.0))
    limit = limit + (k + 0.5) * logarithm(odds * (count - k + 1.0) / (k + 1.0))
    limit = limit + stirling_tail(mode) + stirling_tail(count - mode) - stirling_tail(k) - stirling_tail(count - k)
    return logarithm(factor / density) - minus_logarithm(DOUBLE, v) <= limit


def hypergeometrics(words, good, bad, sample):
    """Of two words each, by the ratio of uniform numbers, of the less frequent kind and the smaller part of the population."""
    words, population = words.reshape(-1, 2), good + bad
    less, more, taken = np.minimum(good, bad), np.maximum(good, bad), np.minimum(sample, population - sample)
    whole = np.maximum(population, 2.0)
    share = less / whole
    mean = taken * share
    spread = np.sqrt((population - taken) * taken * share * (more / whole) / (whole - 1.0) + 0.5)
    mode = np.floor((taken + 1.0) * (less + 1.0) / (population + 2.0))
    limit = np.minimum(np.minimum(taken, less) + 1.0, np.floor(mean + 0.5 + 16.0 * spread))
    found = np.empty(words.shape[0], np.int64)
    for place in range(found.shape[0]):
        kinds = at(less, place), at(more, place), at(taken, place)
        largest = _logarithm_of_ways(at(mode, place), *kinds)
        centre, width, end = at(mean, place) + 0.5, at(spread, place) * _WIDTH + _LEAST_WIDTH, at(limit, place)
        u, v, counter = words[place, 0], fraction(words[place, 1]), 0
        k = centre + width * (v - 0.5) / _above_0(u)
        while not _is_hypergeometric(k, u, end, largest, *kinds):
            pair = further(words[place, 0], counter, 2)
            u, v, counter = pair[0], fraction(pair[1]), counter + 2
            k = centre + width * (v - 0.5) / _above_0(u)
        k = np.floor(k)
        if at(good, place) > at(bad, place):
            k = kinds[2] - k
        found[place] = int(k if kinds[2] == at(sample, place) else at(good, place) - k)
    return found


def _above_0(word):
    return fraction(word) + 2.0**-54


def _logarithm_of_ways(k, less, more, taken):
    """What is subtracted from the logarithm of the probability that k of the less frequent kind are taken."""
    return (
        logarithm_of_factorial(k)
        + logarithm_of_factorial(less - k)
        + logarithm_of_factorial(taken - k)
        + logarithm_of_factorial(more - taken + k)
    )


def logarithm_of_factorial(k):
    more = k + 1.0
    return (k + 0.5) * logarithm(more) - more + _HALF_LOG_2_PI + stirling_tail(k)


def _is_hypergeometric(x, u, end, largest, less, more, taken):
    if x < 0.0 or x >= end:
        return False
    ratio = largest - _logarithm_of_ways(np.floor(x), less, more, taken)
    return -2.0 * minus_logarithm(DOUBLE, u) <= ratio


def zipfs(words, exponent):
    """Of two words each. Of exponents that are large, 1 is all there is."""
    words = words.reshape(-1, 2)
    less = exponent - 1.0
    limit, least = exponential(less * _LOG_2), exponential(-less * (63.0 * _LOG_2))
    found = np.empty(words.shape[0], np.int64)
    for place in range(found.shape[0]):
        own, own_limit, own_least = at(less, place), at(limit, place), at(least, place)
        u, v, counter = fraction(words[place, 0]), fraction(words[place, 1]), 0
        k = _of_zipf(u, own, own_least)
        while own < 1024.0 and not _is_zipf(k, v, own, own_limit):
            pair = further(words[place, 0], counter, 2)
            u, v, counter = fraction(pair[0]), fraction(pair[1]), counter + 2
            k = _of_zipf(u, own, own_least)
        found[place] = int(k) if own < 1024.0 else 1
    return found


def _of_zipf(u, less, least):
    return np.floor(power(u * least + (1.0 - u), -1.0 / less))


def _is_zipf(k, v, less, limit):
    if k < 1.0 or k >= _MOST:
        return False
    ratio = power(1.0 + 1.0 / k, less)
    return v * k * (ratio - 1.0) / (limit - 1.0) <= ratio / limit


def log_series(words, p):
    """Of two words each: few of the attempts fail."""
    words = words.reshape(-1, 2)
    rate = logarithm_of_rest(p)
    found = np.empty(words.shape[0], np.int64)
    for place in range(found.shape[0]):
        u, v, counter = words[place, 0], words[place, 1], 0
        k = _of_log_series(u, v, at(p, place), at(rate, place))
        while not 1.0 <= k < _MOST:
            pair = further(words[place, 0], counter, 2)
            u, v, counter = pair[0], pair[1], counter + 2
            k = _of_log_series(u, v, at(p, place), at(rate, place))
        found[place] = int(k)
    return found


def _of_log_series(u, v, p, rate):
    number = fraction(v)
    if number >= p:
        return 1.0
    q = 1.0 - exponential(rate * fraction(u))
    if number <= q * q:
        return np.floor(1.0 - minus_logarithm(DOUBLE, v) / logarithm(q)) if q > 0.0 else 0.0
    return 1.0 if number >= q else 2.0
