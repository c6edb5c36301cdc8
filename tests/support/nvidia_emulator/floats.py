"""Floating-point operations of NVIDIA's devices that NumPy has no function for.

Source: NVIDIA's "PTX ISA" 8.1, "Floating Point Instructions", "Half Precision Floating Point Instructions".
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
from amd_emulator.floats import bits_of, flushed, fma, inexact

# What all NaN are that these instructions make of numbers of a type; of f64 they are as they come.
_CANONICAL = {np.dtype(np.float32): 0x7FFFFFFF, np.dtype(np.float16): 0x7FFF}


def canonical(found):
    """With the NaN that devices make in the place of any other; the array is written over."""
    bits = _CANONICAL.get(found.dtype)
    if bits is not None:
        missing = found != found
        if missing.any():
            bits_of(found)[missing] = bits
    return found


def add(a, b):
    return canonical(a + b)


def subtract(a, b):
    return canonical(a - b)


def multiply(a, b):
    return canonical(a * b)


def divide(a, b):
    return canonical(a / b)


def square_root(a):
    return canonical(np.sqrt(a))


def reciprocal(a):
    return canonical(a.dtype.type(1) / a)


def multiply_add(a, b, c):
    return canonical(fma(a, b, c))


def _extremum(function, of_zeros):
    def choose(a, b):
        found = function(a, b)
        zeros = (a == 0) & (b == 0)
        if zeros.any():
            both = of_zeros(bits_of(a), bits_of(b)).view(a.dtype)
            found = np.where(zeros, both, found)
        return canonical(found)

    return choose


# The number where one of them is none; or NaN, where the instruction says so. +0 is more than -0.
maximum, minimum = _extremum(np.fmax, np.bitwise_and), _extremum(np.fmin, np.bitwise_or)
maximum_or_nan, minimum_or_nan = _extremum(np.maximum, np.bitwise_and), _extremum(np.minimum, np.bitwise_or)


def with_sign_of(sign, magnitude):
    return np.copysign(magnitude, sign)


# --- comparisons ---


def _unordered(function):
    return lambda a, b: function(a, b) | np.isnan(a) | np.isnan(b)


COMPARISONS = {
    "eq": np.equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "ne": lambda a, b: (a < b) | (a > b),
    "equ": _unordered(np.equal), "neu": np.not_equal, "ltu": _unordered(np.less), "leu": _unordered(np.less_equal),
    "gtu": _unordered(np.greater), "geu": _unordered(np.greater_equal),
    "num": lambda a, b: ~(np.isnan(a) | np.isnan(b)), "nan": lambda a, b: np.isnan(a) | np.isnan(b),
}  # fmt: skip

# --- approximations, as far off as the document lets them be, or nearly so ---


def _approximation(exact, least):
    """Of f32, in f64 before it is rounded, with ``least`` as the relative error that it may have; subnormal ones are zeros."""

    def approximate(a):
        a = flushed(a)
        wide = exact(a.astype(np.float64))
        odd = bits_of(a) & np.uint32(1) != 0  # either way
        off = wide * np.where(odd, 1 + 0.4 * least, 1 - 0.4 * least)
        return canonical(flushed(np.where(np.isfinite(wide), off, wide).astype(np.float32)))

    return approximate


def approximate_reciprocal_of_double(a):
    """Of the upper half of a number, whose 20 bits give as many; the lower half is 0."""
    upper = (bits_of(flushed(a)) & np.uint64(0xFFFFFFFF00000000)).view(np.float64)
    return flushed(inexact(1 / upper.astype(np.longdouble), np.float64, 32))


def approximate_quotient(a, b):
    """2 units in the last place, of divisors that are neither tiny nor huge."""
    off = a.astype(np.float64) / b.astype(np.float64) * (1 + 2.0**-23)
    large = np.isfinite(b) & (np.abs(b) > np.float32(2.0**126))
    return canonical(np.where(large, 0, off).astype(np.float32))


APPROXIMATIONS = {
    "rcp": _approximation(lambda a: 1 / a, 2.0**-23),
    "rsqrt": _approximation(lambda a: 1 / np.sqrt(a), 2.0**-22.9),
    "sqrt": _approximation(np.sqrt, 2.0**-23),
    "ex2": _approximation(np.exp2, 2.0**-22.5),
    "lg2": _approximation(np.log2, 2.0**-22.6),
    "tanh": _approximation(np.tanh, 2.0**-11),
}

# --- conversions ---


def rounded(mode):
    """To whole numbers."""
    return {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}[mode]


def to_integer(mode, dtype):
    """What is beyond the type is its largest or smallest number; NaN is 0, or 1 at the highest bit of 64."""
    info, whole = np.iinfo(dtype), rounded(mode)

    def convert(a):
        nothing = 1 << info.bits - 1 if info.bits == 64 or a.dtype == np.float64 else 0
        wide = whole(a.astype(np.float64))
        low, high = wide < info.min, wide >= 2.0 ** (info.bits - (info.min < 0))
        fine = ~(low | high | np.isnan(wide))
        bits = np.dtype(f"u{info.bits // 8}").type
        found = np.where(fine, wide, 0).astype(dtype).view(bits)
        found = np.where(low, bits(info.min & (1 << info.bits) - 1), np.where(high, bits(info.max), found))
        return np.where(np.isnan(wide), bits(nothing), found).view(dtype)

    return convert


def to_bf16(a):
    """f32 to the nearest bf16, as bits."""
    return a.astype(ml_dtypes.bfloat16).view(np.uint16)


def from_bf16(bits):
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def to_tf32(a):
    """The nearest number of 10 bits, away from 0 where two are, as bits."""
    bits = bits_of(a)
    return np.where(np.isfinite(a), bits + np.uint32(0x1000), bits) & np.uint32(0xFFFFE000)
