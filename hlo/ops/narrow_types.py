"""Rounding to the floats that NumPy lacks, once, and the order of their codes.

NumPy's conversions to the types of ``ml_dtypes`` go through float32 and so may round twice.
"""

from __future__ import annotations

import numpy as np

from ..element_type import ElementType, element_type_of


def narrowed(x: np.ndarray, element_type: ElementType) -> np.ndarray:
    """Floats of float32 in a type of at most 16 bits, rounded to nearest. NaN becomes -0 in f4e2m1fn, which has none."""
    if element_type.name == "f8e8m0fnu":
        return _nearest_power_of_two(np.asarray(x), element_type)
    with np.errstate(all="ignore"):
        result = np.asarray(x.astype(element_type.dtype))
        if element_type.name == "f4e2m1fn":
            result[np.isnan(x)] = -0.0
        return result


def _nearest_power_of_two(x: np.ndarray, element_type: ElementType) -> np.ndarray:
    """Ties go up. (The conversion of ml_dtypes is wrong between the two smallest powers.)"""
    bits = x.view(np.uint32).astype(np.int64)
    smallest = np.int64(3 << 21)  # the middle between 2**-127, which is subnormal, and 2**-126
    code = np.where(bits < smallest, 0, (bits + (1 << 22)) >> 23)
    return np.where((bits == 0) | (code > 255), 255, code).astype(np.uint8).view(element_type.dtype)


def rounded_once(x: np.ndarray, element_type: ElementType) -> np.ndarray:
    """Floats of at most 64 bits, or integers, in a float type of at most 16 bits, rounded once.

    >>> from phlox.hlo import BF16
    >>> above = np.array([1 + 2**-8 + 2**-30])  # above the middle between 1 and the next number
    >>> rounded_once(above, BF16).item(), above.astype(BF16.dtype).item()
    (1.0078125, 1.0)
    """
    x = np.asarray(x)
    kind = element_type_of(x.dtype)
    if kind.is_integer and kind.bits == 64:
        x = _odd_beyond_53_bits(x)
    if kind.is_integer or kind.bits == 64:
        x = _to_odd_float32(x.astype(np.float64))
    return narrowed(x.astype(np.float32), element_type)


def _odd_beyond_53_bits(x: np.ndarray) -> np.ndarray:
    """Integers that float64 holds: those that it does not hold become the odd one of the two around them."""
    low = x.dtype.type(0x7FF)
    odd = (x & ~low) | np.where(x & low, x.dtype.type(0x800), x.dtype.type(0))
    fits = x <= 2**53 if x.dtype.kind == "u" else (x <= 2**53) & (x >= -(2**53))
    return np.where(fits, x, odd)


def _to_odd_float32(x: np.ndarray) -> np.ndarray:
    """Floats of float64 as float32, those between two as the odd one of these: rounding to fewer bits sees what they were.

    Source: S. Boldo, G. Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd",
    2008.
    """
    with np.errstate(all="ignore"):
        nearest = np.asarray(x.astype(np.float32))
        away = np.abs(nearest.astype(np.float64)) > np.abs(x)
        truncated = np.where(away, np.nextafter(nearest, np.float32(0)), nearest)
    bits = np.asarray(truncated).view(np.int32) | (truncated.astype(np.float64) != x)
    # What is too large stays infinite.
    return np.where(np.isfinite(nearest), bits.astype(np.int32).view(np.float32), nearest)


def total_order_of_codes(x: np.ndarray) -> np.ndarray:
    """The total order of small floats, as integers: negative ones by falling magnitude, the others, NaN without sign last."""
    element_type = element_type_of(x.dtype)
    code = np.asarray(x).view(np.uint8).astype(np.int16)
    if element_type.name == "f8e8m0fnu":
        return code
    sign_bit = 1 << (element_type.bits - 1)
    magnitude = code & (sign_bit - 1)
    key = np.where(code & sign_bit, -1 - magnitude, magnitude)
    return np.where(code == sign_bit, sign_bit, key) if element_type.name.endswith("fnuz") else key
