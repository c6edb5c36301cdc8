"""Random words of 64 bits to numbers of a distribution, as NumPy code on arrays, traced or not.

Only operations that IEEE 754 or integers define exactly are used (`elementary`), so that every backend and every processor
gives the same numbers bit for bit.

Normal numbers are those of G. Box and M. Muller, "A note on the generation of random normal deviates", 1958.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .elementary import DOUBLE, SINGLE, Array, Precision, minus_logarithm, polynomial


def words_of(kind: Precision, words: Array) -> Array:
    """The words as unsigned integers as wide as the floats: of a word of 64 bits the lower half comes first."""
    if kind is DOUBLE:
        return words
    return interleaved(words.astype(np.uint32), (words >> np.uint64(32)).astype(np.uint32))


def interleaved(first: Array, second: Array) -> Array:
    """The elements of both in turn."""
    return np.stack((first, second), axis=-1).reshape(-1)


def _halves(kind: Precision, words: Array) -> tuple[Array, Array]:
    """Two unsigned integers as wide as the floats for each pair of numbers."""
    if kind is DOUBLE:
        pairs = words.reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]
    return words.astype(np.uint32), (words >> np.uint64(32)).astype(np.uint32)


def fractions(kind: Precision, words: Array) -> Array:
    """Multiples of 2**-53 (of 2**-24 for f32) from 0 to below 1, by the highest bits."""
    high = words_of(kind, words) >> kind.unsigned(kind.bits - kind.precision)
    return high.astype(kind.signed).astype(kind.float) * kind.float(0.5**kind.precision)


def exponentials(kind: Precision, words: Array) -> Array:
    """Exponential numbers, by inversion: from 2**-65 to 45 (from 2**-33 to 23 for f32)."""
    return minus_logarithm(kind, words_of(kind, words))


def normals(kind: Precision, words: Array) -> Array:
    """Normal numbers, by Box and Muller: for each pair one integer gives the radius, one the angle.

    Of the angle two bits say which of the coordinates is the sine, and their sign, the highest ones an angle between -pi/4 and
    pi/4, so that polynomials are enough.
    """
    return interleaved(*normal_pairs(kind, *_halves(kind, words)))


def normal_pairs(kind: Precision, of_radius: Array, of_angle: Array) -> tuple[Array, Array]:
    """Two normal numbers for each pair of unsigned integers."""
    radius = np.sqrt(minus_logarithm(kind, of_radius) * kind.float(2))
    radius = np.where(of_angle & kind.unsigned(2) != 0, -radius, radius)
    angle = (of_angle.view(kind.signed) >> kind.signed(kind.bits - kind.precision)).astype(kind.float)
    y = (angle + kind.float(0.5)) * kind.float(0.5 ** (kind.precision - 1))
    square = y * y
    sine, cosine = y * polynomial(kind, square, kind.sine), polynomial(kind, square, kind.cosine)
    is_swapped = of_angle & kind.unsigned(1) != 0
    return radius * np.where(is_swapped, sine, cosine), radius * np.where(is_swapped, cosine, sine)


def below(words: Array, size: Array) -> Array:
    """Integers from 0 to below a size of at most 2**32: the upper 64 bits of the product of the word and the size."""
    half = np.uint64(32)
    low = ((words & np.uint64(2**32 - 1)) * size) >> half
    return ((words >> half) * size + low) >> half


def _product(x: Array, y: Array) -> tuple[Array, Array]:
    """The upper and the lower 64 bits of a product, by products of 32 bits, which vector units have."""
    half, mask = np.uint64(32), np.uint64(2**32 - 1)
    x_low, x_high, y_low, y_high = x & mask, x >> half, y & mask, y >> half
    lowest = x_low * y_low
    middle = x_high * y_low + (lowest >> half)
    other = x_low * y_high + (middle & mask)
    return x_high * y_high + (middle >> half) + (other >> half), other << half | lowest & mask


def below_large(words: Array, size: Array) -> Array:
    """Integers from 0 to below any size, 0 for 2**64: the upper 64 bits of the product of 128 random bits and the size."""
    pairs = words.reshape(-1, 2)
    first, second = pairs[:, 0], pairs[:, 1]
    upper, lower = _product(first, size)
    carried = lower + _product(second, size)[0]
    return np.where(size == 0, first, upper + (carried < lower).astype(np.uint64))


class Transform(NamedTuple):
    """``function(words, *parameters)`` makes ``numbers`` of each ``words`` random words, of the type ``result``."""

    function: Callable[..., Array]
    words: int
    numbers: int
    result: type = np.float64

    def words_for(self, count: Any) -> Any:
        """How many words that many numbers take."""
        return (count + self.numbers - 1) // self.numbers * self.words


def _standard(function: Callable[..., Array], words: int, numbers: int) -> dict[type, Transform]:
    """By the type of floats. A word makes one number of f64 unless something else is said, and two of f32."""
    double, single = (lambda random, kind=kind: function(kind, random) for kind in (DOUBLE, SINGLE))
    return {np.float64: Transform(double, words, numbers), np.float32: Transform(single, 1, 2, np.float32)}


def _scaled(standard: Transform) -> Transform:
    return standard._replace(function=lambda random, loc, scale: loc + scale * standard.function(random))


def _integers(dtype: type, is_large: bool) -> Transform:
    """Integers from ``first`` on, ``size`` different ones: those that `below` or `below_large` gives."""
    function = below_large if is_large else below
    return Transform(lambda random, first, size: (function(random, size) + first).astype(dtype), 1 + is_large, 1, dtype)


BITS = Transform(lambda random: random, 1, 1, np.uint64)
FRACTIONS, EXPONENTIALS, NORMALS = _standard(fractions, 1, 1), _standard(exponentials, 1, 1), _standard(normals, 2, 2)
UNIFORM, EXPONENTIAL, NORMAL = (_scaled(one[np.float64]) for one in (FRACTIONS, EXPONENTIALS, NORMALS))
INTEGER_TYPES = (
    np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64,
)  # fmt: skip
# By the type, and whether there may be more than 2**32 of them.
INTEGERS = {is_large: {kind: _integers(kind, is_large) for kind in INTEGER_TYPES} for is_large in (False, True)}
