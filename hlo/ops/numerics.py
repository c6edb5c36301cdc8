"""The NumPy semantics of elementwise operations where no single NumPy function has them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import ml_dtypes
import numpy as np

from ..element_type import ElementType, element_type_of
from ..shape import Shape


def in_float32(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Compute on floats of at most 16 bits in float32 and round the result once.

    float32 has more than twice the bits of these types, so that sums, products, quotients and square roots come out as if
    rounded once. NumPy's floating-point warnings are silenced: infinities and NaN are results here.
    """

    @functools.wraps(function)
    def evaluate(*operands: np.ndarray) -> np.ndarray:
        dtype = operands[0].dtype
        narrow = element_type_of(dtype).is_float and dtype.itemsize <= 2
        with np.errstate(all="ignore"):
            if not narrow:
                return np.asarray(function(*operands))
            result = np.asarray(function(*(operand.astype(np.float32) for operand in operands)))
            return result.astype(dtype) if result.dtype == np.float32 else result

    return evaluate


def absolute(x: np.ndarray) -> np.ndarray:
    return np.abs(x)


def sign(x: np.ndarray) -> np.ndarray:
    if np.issubdtype(x.dtype, np.floating):
        return np.where((x == 0) | np.isnan(x), x, np.copysign(1, x)).astype(x.dtype)
    if np.issubdtype(x.dtype, np.complexfloating):
        modulus = np.abs(x)
        return np.where(modulus == 0, np.zeros_like(x), x / np.where(modulus == 0, 1, modulus)).astype(x.dtype)
    return np.sign(x)


def rsqrt(x: np.ndarray) -> np.ndarray:
    return (1 / np.sqrt(x)).astype(x.dtype)


def logistic(x: np.ndarray) -> np.ndarray:
    if np.issubdtype(x.dtype, np.complexfloating):
        return (1 / (1 + np.exp(-x))).astype(x.dtype)
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small)).astype(x.dtype)


_erf = np.vectorize(math.erf, otypes=[np.float64])


def erf(x: np.ndarray) -> np.ndarray:
    return _erf(x).astype(x.dtype)


def round_away_from_zero(x: np.ndarray) -> np.ndarray:
    truncated = np.trunc(x)
    away = np.abs(x - truncated) >= 0.5
    return np.where(np.isfinite(x), np.copysign(np.abs(truncated) + away, x), x).astype(x.dtype)


def population_count(x: np.ndarray) -> np.ndarray:
    return np.bitwise_count(x.view(np.dtype(f"u{x.dtype.itemsize}"))).astype(x.dtype)


def count_leading_zeros(x: np.ndarray) -> np.ndarray:
    width = x.dtype.itemsize * 8
    bits = x.view(np.dtype(f"u{x.dtype.itemsize}")).astype(np.uint64)
    length = np.zeros(x.shape, np.uint64)
    for step in (32, 16, 8, 4, 2, 1):
        high = bits >> np.uint64(step)
        length += np.where(high != 0, np.uint64(step), np.uint64(0))
        bits = np.where(high != 0, high, bits)
    length += bits
    return (np.uint64(width) - length).astype(x.dtype)


def divide(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.dtype.kind not in "iu":
        return np.divide(x, y)
    quotient = x - remainder(x, y)
    safe = np.where(y == 0, 1, y).astype(y.dtype)
    # The exact quotient: its dividend is a multiple of the divisor, so floor division cannot round.
    return np.where(y == 0, np.array(-1).astype(x.dtype), quotient // safe).astype(x.dtype)


def remainder(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.dtype.kind not in "iu":
        return np.fmod(x, y)
    safe = np.where((y == 0) | (y == np.array(-1).astype(y.dtype)) if x.dtype.kind == "i" else y == 0, 1, y).astype(y.dtype)
    return np.where(y == 0, x, np.fmod(x, safe)).astype(x.dtype)


def power(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.dtype.kind not in "iu":
        return np.power(x, y)
    if x.dtype.kind == "u":
        return np.power(x, y)
    # A negative power of an integer is the truncated reciprocal: nonzero for 1 and -1 only.
    negative = np.where(x == 1, 1, np.where(x == -1, np.where(y % 2 == 0, 1, -1), 0))
    return np.where(y < 0, negative, np.power(x, np.maximum(y, 0))).astype(x.dtype)


def maximum(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    result = np.maximum(x, y)
    # IEEE 754-2019 maximum orders the zeros; NumPy returns either.
    return np.where((x == 0) & (y == 0), x + y, result).astype(x.dtype) if x.dtype.kind == "f" else result


def minimum(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return -maximum(-x, -y) if x.dtype.kind == "f" else np.minimum(x, y)


def _shift(x: np.ndarray, y: np.ndarray, shift: Callable, overflow: np.ndarray | int) -> np.ndarray:
    """``shift(x, y)`` with y read as unsigned, and ``overflow`` where it is not below the width."""
    width = x.dtype.itemsize * 8
    amount = y.view(np.dtype(f"u{y.dtype.itemsize}"))
    inside = amount < width
    return np.where(inside, shift(x, np.where(inside, amount, 0).astype(x.dtype)), overflow).astype(x.dtype)


def shift_left(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return _shift(x, y, np.left_shift, 0)


def shift_right_logical(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    return _shift(x.view(unsigned), y.view(unsigned), np.right_shift, 0).view(x.dtype)


def shift_right_arithmetic(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    signed = np.dtype(f"i{x.dtype.itemsize}")
    fill = np.where(x.view(signed) < 0, np.array(-1, signed), np.array(0, signed))
    return _shift(x.view(signed), y.view(signed), np.right_shift, fill).view(x.dtype)


def total_order_key(x: np.ndarray) -> np.ndarray:
    """Signed integers in the total order of the floats x: the bits, those of negative numbers flipped below the sign."""
    x = np.asarray(x)
    signed = np.dtype(f"i{x.dtype.itemsize}")
    bits = x.view(signed)
    return np.where(bits < 0, bits ^ np.iinfo(signed).max, bits).astype(signed)


def convert(x: np.ndarray, element_type: ElementType) -> np.ndarray:
    x = np.asarray(x)
    source, target = element_type_of(x.dtype), element_type
    with np.errstate(all="ignore"):
        if target.kind == "pred":
            return np.asarray(x != 0)
        if source.is_complex and not target.is_complex:
            x = x.real
            source = element_type_of(x.dtype)
        if source.is_float and target.is_integer:
            return _saturate(x, target)
        return x.astype(target.dtype)


def _saturate(x: np.ndarray, target: ElementType) -> np.ndarray:
    wide = x.astype(np.float64)
    limits = ml_dtypes.iinfo(target.dtype)
    low, high = int(limits.min), int(limits.max)
    result = np.zeros(x.shape, target.dtype)
    inside = (wide > low) & (wide < high)
    result[inside] = wide[inside].astype(np.int64 if target.kind == "signed" else np.uint64).astype(target.dtype)
    result[wide <= low] = low
    result[wide >= high] = high
    return result


# Exponent and mantissa bits of the formats that reduce-precision takes, and the integers that hold their bits.
_FLOAT_FORMATS = {"float16": (5, 10), "bfloat16": (8, 7), "float32": (8, 23), "float64": (11, 52)}


def reduce_precision(x: np.ndarray, exponent_bits: int, mantissa_bits: int) -> np.ndarray:
    x = np.asarray(x)
    own_exponent, own_mantissa = _FLOAT_FORMATS[x.dtype.name]
    integer = np.dtype(f"u{x.dtype.itemsize}")
    bits = x.view(integer)
    dropped = own_mantissa - min(mantissa_bits, own_mantissa)
    if dropped:
        odd = (bits >> integer.type(dropped)) & integer.type(1)
        rounded = bits + (odd + integer.type((1 << (dropped - 1)) - 1))
        bits = rounded & ~integer.type((1 << dropped) - 1)
    result = bits.view(x.dtype)
    magnitude = np.abs(result.astype(np.float64))
    if exponent_bits < own_exponent:
        bias = 2 ** (exponent_bits - 1) - 1
        result = np.where(magnitude >= 2.0 ** (bias + 1), np.copysign(np.array(np.inf, x.dtype), x), result)
        result = np.where(magnitude < 2.0 ** (1 - bias), np.copysign(np.array(0, x.dtype), x), result)
    return np.where(np.isfinite(x), result, x).astype(x.dtype)


def bitcast_convert(x: np.ndarray, shape: Shape) -> np.ndarray:
    if x.dtype.itemsize == shape.dtype.itemsize:
        return np.ascontiguousarray(x).view(shape.dtype).reshape(shape.dimensions)
    return np.frombuffer(np.ascontiguousarray(x).tobytes(), shape.dtype).reshape(shape.dimensions)
