"""Numbers that Fourier transforms multiply by, and the factors of their lengths."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

# The roots of unity of a transform lie in tables, which take gigabytes for more elements.
LONGEST = 1 << 25
# The prime factors of `filter_length`.
FILTER_FACTORS = (2, 3, 5)


def roots_of_unity(length: int, exponents: np.ndarray, inverse: bool = False) -> np.ndarray:
    """exp(-2 pi i k / length) for integers k, or exp(+2 pi i k / length) for an inverse transform; complex128.

    The angle is first reduced to an eighth of the circle, so that the result is exact where it is rational, and else has an
    error below one ULP of 1/2.

    >>> [complex(root) for root in roots_of_unity(4, np.arange(2))]
    [(1+0j), -1j]
    """
    exponents = np.asarray(exponents, np.int64) % length
    if exponents.size >= length // 2 and length % 8 == 0:
        return _circle(length, inverse)[exponents]
    octant, rest = np.divmod(8 * exponents, length)
    rest = np.where(octant % 2, length - rest, rest)
    angle = np.pi / 4 * (rest / length)
    cosine, sine = np.cos(angle), np.sin(angle)
    flipped = (octant + 1) % 4 >= 2
    real, imag = np.where(flipped, sine, cosine), np.where(flipped, cosine, sine)
    real = np.where((octant + 2) % 8 >= 4, -real, real)
    imag = np.where(octant >= 4, -imag, imag)
    return _complex(real, imag, inverse)


@lru_cache(maxsize=4)
def _circle(length: int, inverse: bool) -> np.ndarray:
    """All roots, for a length that 8 divides: of an eighth of the circle, and of those the others."""
    eighth = length // 8
    angle = np.pi / 4 * (8 * np.arange(eighth + 1) / length)
    cosine, sine = np.cos(angle), np.sin(angle)
    real, imag = (np.concatenate([one[:-1], other[:0:-1]]) for one, other in ((cosine, sine), (sine, cosine)))
    real, imag = np.concatenate([real, -imag]), np.concatenate([imag, real])
    return _complex(np.concatenate([real, -real]), np.concatenate([imag, -imag]), inverse)


@lru_cache(maxsize=16)
def half_roots(length: int, start: int, inverse: bool) -> np.ndarray:
    """Half the roots from ``start`` to below length / 2, turned by a quarter: factors of the odd elements."""
    roots = roots_of_unity(length, np.arange(start, length // 2), inverse) * (0.5j if inverse else -0.5j)
    roots.flags.writeable = False
    return roots


def _complex(real: np.ndarray, imag: np.ndarray, inverse: bool) -> np.ndarray:
    roots = np.empty(real.shape, np.complex128)
    np.add(real, 0.0, out=roots.real)  # no zero is negative
    np.add(imag if inverse else -imag, 0.0, out=roots.imag)
    return roots


def prime_factors(number: int) -> list[int]:
    """In ascending order, each as often as it divides.

    >>> prime_factors(360)
    [2, 2, 2, 3, 3, 5]
    """
    found, divisor = [], 2
    while divisor * divisor <= number:
        while number % divisor == 0:
            found.append(divisor)
            number //= divisor
        divisor += 1
    return found + [number] if number > 1 else found


def filter_length(length: int) -> int:
    """A length of small factors, for the convolution that Bluestein's algorithm makes of a transform.

    >>> filter_length(67)
    144
    """
    least = 2 * length - 1
    candidates = []
    for odd in (1, 3, 5, 9, 15):
        power = 1
        while odd * power < least:
            power *= 2
        candidates.append(odd * power)
    return min(candidates)


def chirp(length: int, inverse: bool) -> np.ndarray:
    """exp(-+ pi i j^2 / length) for j from 0 to length - 1."""
    numbers = np.arange(length, dtype=np.int64)
    return roots_of_unity(2 * length, numbers * numbers % (2 * length), inverse)


def filter_spectrum(length: int, inverse: bool) -> np.ndarray:
    """The transform, of filter_length, of the chirp's conjugate at all distances."""
    waves, padded = np.conj(chirp(length, inverse)), filter_length(length)
    impulse_response = np.zeros(padded, np.complex128)
    impulse_response[:length] = waves
    impulse_response[padded - length + 1 :] = waves[:0:-1]
    return np.fft.fft(impulse_response)
