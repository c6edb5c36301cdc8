"""How a Fourier transform is made of short ones: the radices of its steps, and their tables of roots of unity."""

from __future__ import annotations

from functools import lru_cache
from math import isqrt

import numpy as np

from ...compile.expansion.fourier_tables import prime_factors, roots_of_unity

# Steps of a larger radix are loops; of a still larger one they take longer than a convolution does.
LARGEST_UNROLLED, LARGEST_RADIX = 13, 127


def has_small_factors(length: int, largest: int = LARGEST_RADIX) -> bool:
    return length == 1 or prime_factors(length)[-1] <= largest


@lru_cache(maxsize=256)
def radices(length: int) -> tuple[int, ...]:
    """The factors of the steps, equal ones next to each other.

    >>> radices(96), radices(1), radices(35)
    ((4, 4, 2, 3), (), (5, 7))
    """
    primes = prime_factors(length) if length > 1 else []
    twos = primes.count(2)
    return (4,) * (twos // 2) + (2,) * (twos % 2) + tuple(primes[twos:])


@lru_cache(maxsize=64)
def step_roots(length: int, inverse: bool, dtype: np.dtype) -> np.ndarray:
    """For each step, and each p below the length m of what remains: w^(j p) for j from 1 to radix - 1, real and imaginary.

    With n the length before the step, w is the n-th root of unity. Behind those of a step that is not unrolled stand cosines
    and sines of all multiples of the radix's part of the circle. A flat array of real numbers.
    """
    parts, rest = [np.zeros(1)], length
    for radix in radices(length):
        remaining = rest // radix
        exponents = np.outer(np.arange(remaining), np.arange(1, radix))
        parts.append(roots_of_unity(rest, exponents, inverse).view(np.float64).ravel())
        if radix > LARGEST_UNROLLED:
            parts.append(roots_of_unity(radix, np.arange(radix), True).view(np.float64))
        rest = remaining
    return np.concatenate(parts[1:] or parts).astype(dtype)


@lru_cache(maxsize=64)
def table_roots(rows: int, columns: int, inverse: bool, dtype: np.dtype) -> np.ndarray:
    """w^(k j) for the frequencies k of the columns' transforms and the columns j, w the root for the whole length.

    [2, rows, columns]: real, then imaginary parts.
    """
    roots = roots_of_unity(rows * columns, np.outer(np.arange(rows), np.arange(columns)), inverse)
    return np.stack([roots.real, roots.imag]).astype(dtype)


@lru_cache(maxsize=256)
def rows_and_columns(length: int) -> tuple[int, int]:
    """Two factors of similar size, the smaller one first.

    >>> rows_and_columns(4096), rows_and_columns(24), rows_and_columns(13)
    ((64, 64), (4, 6), (1, 13))
    """
    rows = next(d for d in range(isqrt(length), 0, -1) if length % d == 0)
    return rows, length // rows
