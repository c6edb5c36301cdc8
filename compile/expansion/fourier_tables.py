"""Numbers that Fourier transforms multiply by, and the factors of their lengths."""

from __future__ import annotations

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
    eighths = 8 * (np.asarray(exponents, np.int64) % length)
    octant, rest = np.divmod(eighths, length)
    rest = np.where(octant % 2, length - rest, rest)
    angle = np.pi / 4 * (rest / length)
    cosine, sine = np.cos(angle), np.sin(angle)
    flipped = np.isin(octant, (1, 2, 5, 6))
    real, imag = np.where(flipped, sine, cosine), np.where(flipped, cosine, sine)
    real = np.where(np.isin(octant, (2, 3, 4, 5)), -real, real)
    imag = np.where(octant >= 4, -imag, imag)
    roots = np.empty(real.shape, np.complex128)
    roots.real, roots.imag = real + 0.0, (imag if inverse else -imag) + 0.0  # no zero is negative
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
