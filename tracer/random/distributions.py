"""Distributions of `phlox.random.Generator`: how many words each number takes, and what is made of them and of parameters.

What NumPy requires of parameters says `calls.random_distributions`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ..calls.random_distributions import LARGEST_RATE, require_parameters, require_triangle
from ..capture.calls.dispatch import call
from ..recording.operands import require
from . import draws, rejection
from .elementary import DOUBLE, Array, exponential, exponential_minus_1, logarithm, minus_logarithm, power
from .transforms import Transform, fractions, normal_pairs

_LARGEST = 2**63 - 1


def _by_rejection(function: Callable[..., Array]) -> Callable[..., Array]:
    """A function that is followed, as one that is not can call it."""
    return partial(call, function)


_gammas, _logarithms, _poissons, _binomials = map(
    _by_rejection, (rejection.gammas, rejection.logarithms_of_gammas, rejection.poissons, rejection.binomials)
)


def _columns(words: Array, *counts: int) -> list[Array]:
    """Parts of the words of each number: as many as these, in one dimension."""
    rows, found, begin = words.reshape(-1, sum(counts)), [], 0
    for count in counts:
        part = rows[:, begin : begin + count]
        found.append(part[:, 0] if count == 1 else part.reshape(-1))
        begin += count
    return found


def _normals(words: Array) -> Array:
    """Of two words each."""
    return normal_pairs(DOUBLE, *_columns(words, 1, 1))[0]


def _laplace(words: Array, loc: Array, scale: Array) -> Array:
    size = minus_logarithm(DOUBLE, words)
    return loc + scale * np.where(words & np.uint64(1) != 0, -size, size)


def _logistic(words: Array, loc: Array, scale: Array) -> Array:
    return loc + scale * (minus_logarithm(DOUBLE, ~words) - minus_logarithm(DOUBLE, words))


def _gumbel(words: Array, loc: Array, scale: Array) -> Array:
    return loc - scale * logarithm(minus_logarithm(DOUBLE, words))


def _rayleigh(words: Array, scale: Array) -> Array:
    return scale * np.sqrt(2.0 * minus_logarithm(DOUBLE, words))


def _weibull(words: Array, a: Array) -> Array:
    return np.where(a == 0.0, 0.0, power(minus_logarithm(DOUBLE, words), 1.0 / a))


def _pareto(words: Array, a: Array) -> Array:
    return exponential_minus_1(minus_logarithm(DOUBLE, words) / a)


def _power(words: Array, a: Array) -> Array:
    return exponential(-minus_logarithm(DOUBLE, words) / a)


def _lognormal(words: Array, mean: Array, sigma: Array) -> Array:
    return exponential(mean + sigma * _normals(words))


def _standard_cauchy(words: Array) -> Array:
    cosine, sine = normal_pairs(DOUBLE, *_columns(words, 1, 1))
    return sine / cosine


def _triangular(words: Array, left: Array, mode: Array, right: Array) -> Array:
    u, base = fractions(DOUBLE, words), right - left
    ratio = (mode - left) / base
    rising = left + np.sqrt(u * ((mode - left) * base))
    return np.where(u <= ratio, rising, right - np.sqrt((1.0 - u) * ((right - mode) * base)))


def _wald(words: Array, mean: Array, scale: Array) -> Array:
    """J. Michael, W. Schucany, R. Haas, "Generating random variates using transformations with multiple roots", 1976."""
    of_normal, of_fraction = _columns(words, 2, 1)
    normal = _normals(of_normal)
    y = mean * normal * normal
    d = 1.0 + np.sqrt(1.0 + 4.0 * scale / y)
    x = mean * (1.0 - 2.0 / d)
    return np.where(fractions(DOUBLE, of_fraction) * (mean + x) <= mean, x, mean * mean / x)


def _geometric(words: Array, p: Array) -> Array:
    rate = -rejection.logarithm_of_rest(np.where(p == 1.0, 0.5, p))
    number = np.where(p == 1.0, 1.0, np.maximum(np.ceil(minus_logarithm(DOUBLE, words) / rate), 1.0))
    is_large = number >= 2.0**63
    return np.where(is_large, np.int64(_LARGEST), np.where(is_large, 1.0, number).astype(np.int64))


def _gamma(words: Array, shape: Array, scale: Array) -> Array:
    return scale * _gammas(words, shape)


def _chisquare(words: Array, df: Array) -> Array:
    return 2.0 * _gammas(words, df / 2.0)


def _standard_t(words: Array, df: Array) -> Array:
    of_normal, of_gamma = _columns(words, 2, 4)
    return np.sqrt(df / 2.0) * _normals(of_normal) / np.sqrt(_gammas(of_gamma, df / 2.0))


def _f(words: Array, dfnum: Array, dfden: Array) -> Array:
    first, second = _columns(words, 4, 4)
    return (_gammas(first, dfnum / 2.0) * dfden) / (_gammas(second, dfden / 2.0) * dfnum)


def _noncentral_chisquare(words: Array, df: Array, nonc: Array) -> Array:
    """A chisquare number of one degree less and the square of a normal one, or one of more degrees, as many as are drawn."""
    of_gamma, of_normal, of_poisson = _columns(words, 4, 2, 2)
    is_large = df > 1.0
    count = _poissons(of_poisson, np.where(is_large | np.isnan(nonc), 0.0, nonc / 2.0)).astype(np.float64)
    chisquare = _chisquare(of_gamma, np.where(is_large, df - 1.0, df + 2.0 * count))
    shifted = _normals(of_normal) + np.sqrt(nonc)
    found = np.where(is_large, chisquare + shifted * shifted, chisquare)
    return np.where(np.isnan(nonc), nonc, found)


def _noncentral_f(words: Array, dfnum: Array, dfden: Array, nonc: Array) -> Array:
    first, second = _columns(words, 8, 4)
    return (_noncentral_chisquare(first, dfnum, nonc) * dfden) / (_chisquare(second, dfden) * dfnum)


def _beta(words: Array, a: Array, b: Array) -> Array:
    first, second = _columns(words, 4, 4)
    difference = _logarithms(first, a) - _logarithms(second, b)
    less = exponential(-np.abs(difference))
    return np.where(difference < 0.0, less, 1.0) / (1.0 + less)


def _negative_binomial(words: Array, n: Array, p: Array) -> Array:
    of_gamma, of_poisson = _columns(words, 4, 2)
    return _poissons(of_poisson, np.minimum(_gammas(of_gamma, n) * ((1.0 - p) / p), LARGEST_RATE))


def _gammas_f32(words: Array, shape: Array) -> Array:
    return _gammas(words, shape).astype(np.float32)


GAMMAS = {np.float64: Transform(_gammas, 4, 1), np.float32: Transform(_gammas_f32, 4, 1, np.float32)}
LOGARITHMS_OF_GAMMAS = Transform(_logarithms, 4, 1)


def _table(words_for: dict[str, tuple[Callable[..., Array], int]], result: type) -> dict[str, Transform]:
    return {name: Transform(function, words, 1, result) for name, (function, words) in words_for.items()}


# By NumPy's names: the functions, and how many words a number takes.
_FLOATS = {
    "laplace": (_laplace, 1), "logistic": (_logistic, 1), "gumbel": (_gumbel, 1), "rayleigh": (_rayleigh, 1),
    "weibull": (_weibull, 1), "pareto": (_pareto, 1), "power": (_power, 1), "lognormal": (_lognormal, 2),
    "standard_cauchy": (_standard_cauchy, 2), "triangular": (_triangular, 1), "wald": (_wald, 3), "gamma": (_gamma, 4),
    "chisquare": (_chisquare, 4), "standard_t": (_standard_t, 6), "f": (_f, 8), "beta": (_beta, 8),
    "noncentral_chisquare": (_noncentral_chisquare, 8), "noncentral_f": (_noncentral_f, 12),
}  # fmt: skip
_COUNTS = {
    "geometric": (_geometric, 1), "poisson": (_poissons, 2), "binomial": (_binomials, 2),
    "negative_binomial": (_negative_binomial, 6), "zipf": (_by_rejection(rejection.zipfs), 2),
    "hypergeometric": (_by_rejection(rejection.hypergeometrics), 2),
    "logseries": (_by_rejection(rejection.log_series), 2),
}  # fmt: skip
DISTRIBUTIONS = _table(_FLOATS, np.float64) | _table(_COUNTS, np.int64)


def drawn(name: str, state: Any, size: Any, *values: Any) -> Any:
    """Numbers of a distribution with these parameters. Raises ValueError, perhaps when the program runs, as NumPy does."""
    values = tuple(map(draws.as_floats, values))
    require_parameters(name, *values)
    return draws.with_parameters(DISTRIBUTIONS[name], state, size, *values)


def drawn_gammas(state: Any, shape: Any, size: Any, dtype: DTypeLike, out: Any) -> Any:
    """Numbers of a gamma distribution of scale 1."""
    transform = draws.transform_for(GAMMAS, dtype, "standard_gamma")
    shape = draws.as_floats(shape)
    require_parameters("standard_gamma", shape)
    if out is None:
        return draws.with_parameters(transform, state, size, shape)
    draws.require_output(out, dtype, size)
    out[...] = draws.with_parameters(transform, state, out.shape, shape)
    return out


def drawn_triangular(state: Any, size: Any, *values: Any) -> Any:
    """Numbers of a triangular distribution."""
    values = tuple(map(draws.as_floats, values))
    require_triangle(*values)
    return draws.with_parameters(DISTRIBUTIONS["triangular"], state, size, *values)


def drawn_binomials(state: Any, size: Any, n: Any, p: Any) -> Any:
    """Numbers of a binomial distribution."""
    n, p = draws.as_floats(n), draws.as_floats(p)
    require(np.all(n < 2.0**63), OverflowError, "Python int too large to convert to C long")
    require_parameters("binomial", n, p)
    n = float(np.trunc(n)) if type(n) is float else np.trunc(n)
    return draws.with_parameters(DISTRIBUTIONS["binomial"], state, size, n, p)


def drawn_negative_binomials(state: Any, size: Any, n: Any, p: Any) -> Any:
    """Numbers of a negative binomial distribution."""
    n, p = draws.as_floats(n), draws.as_floats(p)
    require_parameters("negative_binomial", n, p)
    message = "n too large or p too small, see Generator.negative_binomial Notes"
    largest = (1 - p) / p * (n + 10 * np.sqrt(n))
    require(np.all(largest <= LARGEST_RATE), ValueError, message)
    return draws.with_parameters(DISTRIBUTIONS["negative_binomial"], state, size, n, p)


def drawn_hypergeometrics(state: Any, size: Any, *values: Any) -> Any:
    """Numbers of a hypergeometric distribution."""
    values = [float(np.trunc(one)) if type(one) is float else np.trunc(one) for one in map(draws.as_floats, values)]
    good, bad, sample = values
    message = "both ngood and nbad must be less than 1000000000"
    require(np.all(np.less(good, 1e9)) & np.all(np.less(bad, 1e9)), ValueError, message)
    require_parameters("hypergeometric", *values)
    require(np.all(good + bad >= sample), ValueError, "ngood + nbad < nsample")
    return draws.with_parameters(DISTRIBUTIONS["hypergeometric"], state, size, *values)
