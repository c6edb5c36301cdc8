"""convert between every two element types, on both backends, against exact arithmetic."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from phlox.backends.registry import get_backend
from phlox.hlo import BF16, C64, C128, F16, F32, F64, PRED, Shape, evaluate_operation
from phlox.hlo.element_type import ELEMENT_TYPES
from phlox.xla_builder import XlaBuilder
from thinning import one_in

TYPES = [t for t in ELEMENT_TYPES.values() if t.dtype is not None]
WIDE_FLOATS = [F16, BF16, F32, F64]


def codes(element_type):
    """Every element of a type of at most 8 bits."""
    return np.arange(2**element_type.bits, dtype=np.uint8).view(element_type.dtype)


def integers(element_type):
    """Around all powers of two, and the middles between the numbers that floats of 8, 11, 24 and 53 bits hold."""
    info = np.iinfo(element_type.dtype)
    factors = [1, 3, *(2**bits + odd for bits in (8, 11, 24, 53) for odd in (1, 3))]
    found = {sign * (factor << e) + d for factor in factors for e in range(64) for d in (-1, 0, 1) for sign in (1, -1)}
    return np.array(sorted(v for v in found if info.min <= v <= info.max), element_type.dtype)


def floats(element_type):
    """Numbers, and middles between numbers, of the narrower types, exact and a little off; all kinds of numbers beyond."""
    points = []
    for narrow in (t for t in TYPES if t.is_float and t.bits <= 8):
        with np.errstate(invalid="ignore"):
            numbers = codes(narrow).astype(np.float64)
        points.append(numbers[np.isfinite(numbers)])
    for bits, shift in ((8, -3), (11, 2), (24, 9), (53, 60)):
        significands = 2.0 ** (bits - 1) + np.arange(0, 8) / 2
        points.append((significands[:, None] * 2.0 ** (np.array([-160, -140, -30, shift, 70, 110]) - bits)).ravel())
    points = np.unique(np.concatenate(points))
    points = np.concatenate([points, (points[1:] + points[:-1]) / 2])[::3]
    limits = [2.0**e + d for e in (1, 3, 7, 8, 15, 16, 31, 32, 63, 64) for d in (-1, -0.5, 0, 0.5)]
    points = np.concatenate([points, limits, -points[::2], -np.array(limits), [0.0, 1e300, 5e-324]])
    with np.errstate(over="ignore", under="ignore"):
        points = np.concatenate([points * (1 + k) for k in (0, 2.0**-51, -(2.0**-51), 2.0**-22)])
        special = [-0.0, np.inf, -np.inf, np.nan, float(ml_dtypes.finfo(element_type.dtype).max)]
        return np.concatenate([points, special]).astype(element_type.dtype)


def values_of(element_type):
    if element_type is PRED:
        return np.array([False, True])
    if element_type.bits <= 8:
        return codes(element_type)
    if element_type.is_integer:
        return integers(element_type)
    if element_type.is_complex:
        parts = floats(F32 if element_type is C64 else F64)
        result = np.empty(len(parts), element_type.dtype)
        result.real, result.imag = parts, parts[::-1]
        return result
    return floats(element_type)


def rounded(value, element_type):
    """The float nearest to an exact number, ties to even, of a type as IEEE 754 has them."""
    info = ml_dtypes.finfo(element_type.dtype)
    digits, lowest = int(info.nmant), int(info.minexp)
    exponent = max(value.numerator.bit_length() - value.denominator.bit_length(), lowest)
    while exponent > lowest and abs(value) < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** (exponent - digits)
    result = round(value / unit) * unit
    return float(result) if abs(result) <= Fraction(float(info.max)) else float("inf") * (1 if value > 0 else -1)


def integer(value, element_type, from_float):
    """Floats are truncated, saturate, and NaN gives 0; integers keep their low bits."""
    info = ml_dtypes.iinfo(element_type.dtype)
    low, high = int(info.min), int(info.max)
    if not from_float:
        return (int(value) - low) % 2**element_type.bits + low
    if np.isnan(value):
        return 0
    return int(max(low, min(high, value))) if np.isfinite(value) else (high if value > 0 else low)


def exact(source, target, values):
    """The results as Python numbers, for targets whose numbers Python knows; None for other targets."""
    if source.is_complex and target is PRED:
        return [complex(value) != 0 for value in values]
    if source.is_complex:
        values, source = values.real, F64
    numbers = values.astype(np.float64).tolist() if source.is_float else [int(value) for value in values.astype(object)]
    if target is PRED:
        return [number != 0 for number in numbers]
    if target.is_integer:
        return [integer(number, target, source.is_float) for number in numbers]
    if target in WIDE_FLOATS:
        return [rounded(Fraction(n), target) if np.isfinite(n) and n else float(n) for n in numbers]
    return None


@pytest.mark.parametrize("source", one_in(2, TYPES), ids=str)
def test_to_every_type(source):
    with np.errstate(all="ignore"):
        values = values_of(source)
        b = XlaBuilder("conversions")
        x = b.parameter(Shape(source, values.shape))
        results = [b.emit("convert", x, shape=Shape(target, values.shape)) for target in TYPES]
        produced = get_backend("cpu").compile(b.build_module(b.Tuple(results)))(values)
        for target, native in zip(TYPES, produced):
            reference = evaluate_operation("convert", values, shape=Shape(target, values.shape))
            assert native.dtype == reference.dtype == target.dtype
            wide = np.complex128 if target.is_complex else np.float64 if target.is_float else object
            native, reference = native.astype(wide), reference.astype(wide)
            np.testing.assert_array_equal(native, reference, err_msg=str(target))
            if target.is_float:
                number = ~np.isnan(reference)
                np.testing.assert_array_equal(np.signbit(native[number]), np.signbit(reference[number]), err_msg=str(target))
            if source.is_complex and target.is_complex:
                np.testing.assert_array_equal(reference, values.astype(target.dtype))
                continue
            expected = exact(source, target, values)
            if expected is not None:
                np.testing.assert_array_equal(reference, np.array(expected, wide), err_msg=str(target))
            elif target.is_complex:
                wanted = np.array(exact(source, F32 if target is C64 else F64, values), np.complex128)
                np.testing.assert_array_equal(reference, wanted, err_msg=str(target))


def test_the_types_are_all_there():
    assert len(TYPES) == 28 and C128 in TYPES
