"""Random words of 64 bits to numbers of a distribution, as NumPy code on arrays, traced or not.

Only operations that IEEE 754 or integers define exactly are used, none of which is contracted, so that every backend and every
processor gives the same numbers bit for bit: the logarithm, the sine and the cosine are written out. Their polynomials
are interpolations at Chebyshev points, computed with 60 digits by mpmath.

The logarithm follows FDLIBM's ``e_log.c``: x = 2**e (1 + f), s = f / (2 + f), log(1 + f) = f - s (f - R(s**2)).
Normal numbers are those of G. Box and M. Muller, "A note on the generation of random normal deviates", 1958.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

Array = Any  # an array, which may be traced


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


def polynomial(kind: Precision, x: Array, coefficients: Sequence[float]) -> Array:
    value = x * kind.float(coefficients[-1]) + kind.float(coefficients[-2])
    for coefficient in reversed(coefficients[:-2]):
        value = value * x + kind.float(coefficient)
    return value


def minus_logarithm(kind: Precision, words: Array) -> Array:
    """-log((k + 1/2) / 2**bits) for each word k, with full relative accuracy near 0 and near 1."""
    unit = kind.float(0.5**kind.bits)
    x = (words.astype(kind.float) + kind.float(0.5)) * unit
    rest = ((~words).astype(kind.float) + kind.float(0.5)) * unit  # 1 - x, without rounding errors of x
    mantissa_bits = kind.signed(kind.precision - 1)
    bits = x.view(kind.signed)
    exponent = (bits - kind.signed(kind.least_mantissa)) >> mantissa_bits
    mantissa = (bits - (exponent << mantissa_bits)).view(kind.float)
    f = np.where(exponent == 0, -rest, mantissa - kind.float(1))
    s = f / (f + kind.float(2))
    z = s * s
    of_mantissa = f - s * (f - z * polynomial(kind, z, kind.logarithm))
    exponent = exponent.astype(kind.float)
    return -(exponent * kind.float(kind.log_2[0]) + (exponent * kind.float(kind.log_2[1]) + of_mantissa))


def exponentials(kind: Precision, words: Array) -> Array:
    """Exponential numbers, by inversion: from 2**-65 to 45 (from 2**-33 to 23 for f32)."""
    return minus_logarithm(kind, words_of(kind, words))


def normals(kind: Precision, words: Array) -> Array:
    """Normal numbers, by Box and Muller: for each pair one integer gives the radius, one the angle.

    Of the angle two bits say which of the coordinates is the sine, and their sign, the highest ones an angle between -pi/4 and
    pi/4, so that polynomials are enough.
    """
    of_radius, of_angle = _halves(kind, words)
    radius = np.sqrt(minus_logarithm(kind, of_radius) * kind.float(2))
    radius = np.where(of_angle & kind.unsigned(2) != 0, -radius, radius)
    angle = (of_angle.view(kind.signed) >> kind.signed(kind.bits - kind.precision)).astype(kind.float)
    y = (angle + kind.float(0.5)) * kind.float(0.5 ** (kind.precision - 1))
    square = y * y
    sine, cosine = y * polynomial(kind, square, kind.sine), polynomial(kind, square, kind.cosine)
    is_swapped = of_angle & kind.unsigned(1) != 0
    return interleaved(radius * np.where(is_swapped, sine, cosine), radius * np.where(is_swapped, cosine, sine))


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
    """``function(words, *parameters)`` makes ``numbers`` of each ``words`` random words."""

    function: Callable[..., Array]
    words: int
    numbers: int

    def words_for(self, count: Any) -> Any:
        """How many words that many numbers take."""
        return (count + self.numbers - 1) // self.numbers * self.words


def _standard(function: Callable[..., Array], words: int, numbers: int) -> dict[type, Transform]:
    """By the type of floats. A word makes one number of f64 unless something else is said, and two of f32."""
    double, single = (lambda random, kind=kind: function(kind, random) for kind in (DOUBLE, SINGLE))
    return {np.float64: Transform(double, words, numbers), np.float32: Transform(single, 1, 2)}


def _scaled(standard: Transform) -> Transform:
    return standard._replace(function=lambda random, loc, scale: loc + scale * standard.function(random))


def _integers(dtype: type, is_large: bool) -> Transform:
    """Integers from ``first`` on, ``size`` different ones: those that `below` or `below_large` gives."""
    function = below_large if is_large else below
    return Transform(lambda random, first, size: (function(random, size) + first).astype(dtype), 1 + is_large, 1)


BITS = Transform(lambda random: random, 1, 1)
FRACTIONS, EXPONENTIALS, NORMALS = _standard(fractions, 1, 1), _standard(exponentials, 1, 1), _standard(normals, 2, 2)
UNIFORM, EXPONENTIAL, NORMAL = (_scaled(one[np.float64]) for one in (FRACTIONS, EXPONENTIALS, NORMALS))
INTEGER_TYPES = (
    np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64,
)  # fmt: skip
# By the type, and whether there may be more than 2**32 of them.
INTEGERS = {is_large: {kind: _integers(kind, is_large) for kind in INTEGER_TYPES} for is_large in (False, True)}
