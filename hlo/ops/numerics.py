"""The NumPy semantics of elementwise operations where no single NumPy function has them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import ml_dtypes
import numpy as np

from ..element_type import ElementType, element_type_of
from ..shape import Shape
from .narrow_types import narrowed, rounded_once, total_order_of_codes


def in_wider_type(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Compute on types that NumPy lacks in wider ones.

    Floats of at most 16 bits are computed in float32 and rounded once: float32 has more than twice their bits, so that sums,
    products, quotients and square roots come out as if rounded once. Integers below 8 bits are computed in 8 bits and
    wrapped, except by functions ``on_bits``, which know the width themselves. NumPy's floating-point warnings are silenced:
    infinities and NaN are results here.
    """

    @functools.wraps(function)
    def evaluate(*operands: np.ndarray) -> np.ndarray:
        dtype = operands[0].dtype
        element_type = element_type_of(dtype)
        with np.errstate(all="ignore"):
            if element_type.is_float and dtype.itemsize <= 2:
                result = np.asarray(function(*(operand.astype(np.float32) for operand in operands)))
                return narrowed(result, element_type) if result.dtype == np.float32 else result
            if element_type.is_integer and element_type.bits < 8 and function not in _ON_BITS:
                wide = np.int8 if element_type.kind == "signed" else np.uint8
                return wrap(function(*(operand.astype(wide) for operand in operands)), element_type)
            return np.asarray(function(*operands))

    return evaluate


_ON_BITS: set[Callable] = set()


def on_bits(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Decorator: the function takes integers of any width, those below 8 bits too."""
    _ON_BITS.add(function)
    return function


def bits_of(x: np.ndarray) -> tuple[np.ndarray, int]:
    """The bits of integers, as unsigned integers with zeros above the width, and the width."""
    width = element_type_of(x.dtype).bits
    if width < 8:
        return x.astype(np.int8).view(np.uint8) & np.uint8(2**width - 1), width
    return x.view(np.dtype(f"u{x.dtype.itemsize}")), width


def signed_value(bits: np.ndarray, width: int) -> np.ndarray:
    """Unsigned integers, read as two's complement numbers of this width."""
    unused = bits.dtype.type(bits.dtype.itemsize * 8 - width)
    return (bits << unused).view(np.dtype(f"i{bits.dtype.itemsize}")) >> unused.astype(f"i{bits.dtype.itemsize}")


def wrap(x: np.ndarray, element_type: ElementType) -> np.ndarray:
    """Integers in this integer type, of which they keep the low bits.

    >>> from phlox.hlo.element_type import ELEMENT_TYPES
    >>> wrap(np.array([7, 8, -9]), ELEMENT_TYPES["s4"])
    array([7, -8, 7], dtype=int4)
    """
    x = np.asarray(x)
    if element_type.bits >= 8:
        return x.astype(element_type.dtype)
    bits = x.astype(np.uint8) & np.uint8(2**element_type.bits - 1)
    return (signed_value(bits, element_type.bits) if element_type.kind == "signed" else bits).astype(element_type.dtype)


def absolute(x: np.ndarray) -> np.ndarray:
    return np.abs(x)


def sign(x: np.ndarray) -> np.ndarray:
    if np.issubdtype(x.dtype, np.floating):
        return np.where((x == 0) | np.isnan(x), x, np.copysign(1, x)).astype(x.dtype)
    if np.issubdtype(x.dtype, np.complexfloating):
        scaled = np.array(x)
        # The modulus of a finite number is to be finite.
        half = np.where(np.maximum(np.abs(x.real), np.abs(x.imag)) > 1, 0.5, 1.0)
        scaled.real, scaled.imag = x.real * half, x.imag * half
        return np.sign(scaled)
    return np.sign(x)


def rsqrt(x: np.ndarray) -> np.ndarray:
    result = divide(np.ones_like(x), np.sqrt(x)).astype(x.dtype)
    if not np.issubdtype(x.dtype, np.complexfloating):
        return result
    infinite = np.isinf(x.real) | np.isinf(x.imag)
    return np.where(infinite, complex_of(np.zeros_like(x.real), np.copysign(0, -x.imag)), result).astype(x.dtype)


def logistic(x: np.ndarray) -> np.ndarray:
    if np.issubdtype(x.dtype, np.complexfloating):
        small = np.exp(np.where(x.real >= 0, -x, x).astype(x.dtype))
        result = divide_complex(np.where(x.real >= 0, 1, small).astype(x.dtype), 1 + small)
        return np.where(x.imag == 0, complex_of(result.real, x.imag), result)
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small)).astype(x.dtype)


def exponential_minus_one(x: np.ndarray) -> np.ndarray:
    result = np.expm1(x)
    if not np.issubdtype(x.dtype, np.complexfloating):
        return result
    # NumPy multiplies expm1 of the real part, which overflows where the product does not, and gives inf * 0.
    result = np.where(np.abs(x.real) > 40, np.exp(x) - 1, result)
    return np.where(x.imag == 0, complex_of(result.real, x.imag), result).astype(x.dtype)


def log_plus_one(x: np.ndarray) -> np.ndarray:
    result = np.log1p(x)
    if not np.issubdtype(x.dtype, np.complexfloating):
        return result
    # NumPy takes the logarithm of |1 + x|: nothing of a small x is left in it. |1 + x|**2 = 1 + a (2 + a) + b**2.
    a, b = x.real, x.imag
    near = np.log1p(a * (2 + a) + b * b) / 2
    exact = np.empty_like(result)
    exact.real, exact.imag = np.where(np.abs(x) < 0.5, near, result.real), result.imag
    return exact


_erf = np.vectorize(math.erf, otypes=[np.float64])


def erf(x: np.ndarray) -> np.ndarray:
    return _erf(x).astype(x.dtype)


def round_away_from_zero(x: np.ndarray) -> np.ndarray:
    truncated = np.trunc(x)
    away = np.abs(x - truncated) >= 0.5
    return np.where(np.isfinite(x), np.copysign(np.abs(truncated) + away, x), x).astype(x.dtype)


@on_bits
def population_count(x: np.ndarray) -> np.ndarray:
    return wrap(np.bitwise_count(bits_of(x)[0]), element_type_of(x.dtype))


@on_bits
def count_leading_zeros(x: np.ndarray) -> np.ndarray:
    bits, width = bits_of(x)
    bits = bits.astype(np.uint64)
    length = np.zeros(x.shape, np.uint64)
    for step in (32, 16, 8, 4, 2, 1):
        high = bits >> np.uint64(step)
        length += np.where(high != 0, np.uint64(step), np.uint64(0))
        bits = np.where(high != 0, high, bits)
    length += bits
    return wrap(np.uint64(width) - length, element_type_of(x.dtype))


@on_bits
def multiply_high(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    width = element_type_of(x.dtype).bits
    if width <= 32:
        product = x.astype(np.int64) * y.astype(np.int64) if width < 32 else x.astype(f"{x.dtype.kind}8") * y
        return wrap(product >> width, element_type_of(x.dtype))
    # By halves of 32 bits: x = high * 2**32 + low, the low half unsigned.
    x_low, y_low = x & 0xFFFFFFFF, y & 0xFFFFFFFF
    x_high, y_high = x >> 32, y >> 32
    low = (x_low.astype(np.uint64) * y_low.astype(np.uint64)) >> 32
    middle = x_high * y_low + low.astype(x.dtype)
    other = x_low * y_high + (middle & 0xFFFFFFFF)
    return x_high * y_high + (middle >> 32) + (other >> 32)


def divide(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.dtype.kind == "c":
        return divide_complex(x, y)
    if x.dtype.kind not in "iu":
        return np.divide(x, y)
    quotient = x - remainder(x, y)
    safe = np.where(y == 0, 1, y).astype(y.dtype)
    # The exact quotient: its dividend is a multiple of the divisor, so floor division cannot round.
    return np.where(y == 0, np.array(-1).astype(x.dtype), quotient // safe).astype(x.dtype)


def complex_of(real: np.ndarray, imag: np.ndarray) -> np.ndarray:
    """The complex numbers of these parts, which arithmetic would not keep where they are infinite or zeros."""
    result = np.empty(np.shape(real), np.result_type(real, np.complex64))
    result.real, result.imag = real, imag
    return result


def divide_complex(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The quotient; where an operand is infinite, or the divisor zero, that of C99 G.5.1.

    NumPy's own is what its method leaves there, and overflows where squares of the divisor do.
    """
    x, y = np.broadcast_arrays(x, y)
    exponents = []
    scaled = []
    for z in (x, y):
        exponent = np.frexp(np.fmax(np.abs(z.real), np.abs(z.imag)))[1]
        exponents.append(exponent)
        scaled.append(complex_of(np.ldexp(z.real, -exponent), np.ldexp(z.imag, -exponent)))
    quotient = np.divide(*scaled)
    shift = exponents[0] - exponents[1]
    quotient = complex_of(np.ldexp(quotient.real, shift), np.ldexp(quotient.imag, shift))

    x_infinite, y_infinite = (np.isinf(z.real) | np.isinf(z.imag) for z in (x, y))

    def boxed(part: np.ndarray, infinite: np.ndarray) -> np.ndarray:
        return np.where(infinite, np.copysign(np.isinf(part), part), part).astype(part.dtype)

    a, b, c, d = (boxed(part, own) for z, own in ((x, x_infinite), (y, y_infinite)) for part in (z.real, z.imag))
    quarter = np.where(y_infinite, 0.25, 1).astype(a.dtype)
    a, b = a * quarter, b * quarter
    factor = np.where(x_infinite, np.where(y_infinite, np.nan, np.inf), 0).astype(a.dtype)
    recovered = complex_of((a * c + b * d) * factor, (b * c - a * d) * factor)
    quotient = np.where(np.isfinite(y) & x_infinite | np.isfinite(x) & y_infinite, recovered, quotient)
    of_zero = np.copysign(a.dtype.type(np.inf), y.real)
    return np.where(y == 0, complex_of(x.real * of_zero, x.imag * of_zero), quotient).astype(x.dtype)


def atan2(y: np.ndarray, x: np.ndarray) -> np.ndarray:
    if x.dtype.kind != "c":
        return np.arctan2(y, x)
    # The logarithm cancels where y is small.
    y, x, dtype = y.astype(np.clongdouble), x.astype(np.clongdouble), x.dtype
    logarithm = np.log(divide_complex(complex_of(x.real - y.imag, x.imag + y.real), np.sqrt(x * x + y * y)))
    return complex_of(logarithm.imag, -logarithm.real).astype(dtype)


def remainder(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.dtype.kind not in "iu":
        return np.fmod(x, y)
    safe = np.where((y == 0) | (y == np.array(-1).astype(y.dtype)) if x.dtype.kind == "i" else y == 0, 1, y).astype(y.dtype)
    return np.where(y == 0, x, np.fmod(x, safe)).astype(x.dtype)


def power(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.dtype.kind == "f":
        # NumPy takes a square root where all exponents are the same 0.5; it differs at -inf and -0.
        half = (y == 0.5) & ((x == 0) | np.isneginf(x))
        return np.where(half, np.abs(x), np.power(x, y)).astype(x.dtype)
    if x.dtype.kind == "c":
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


def _shift(x: np.ndarray, y: np.ndarray, shift: Callable, is_arithmetic: bool = False) -> np.ndarray:
    """``shift(x, y)`` with y read as unsigned; where that is not below the width, all bits are shifted out."""
    bits, width = bits_of(x)
    amount = bits_of(y)[0]
    source = signed_value(bits, width) if is_arithmetic else bits
    if is_arithmetic:
        amount = np.minimum(amount, width - 1)
    inside = amount < width
    shifted = shift(source, np.where(inside, amount, 0).astype(source.dtype))
    return wrap(np.where(inside, shifted, source.dtype.type(0)), element_type_of(x.dtype))


@on_bits
def shift_left(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return _shift(x, y, np.left_shift)


@on_bits
def shift_right_logical(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return _shift(x, y, np.right_shift)


@on_bits
def shift_right_arithmetic(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return _shift(x, y, np.right_shift, is_arithmetic=True)


def total_order_key(x: np.ndarray) -> np.ndarray:
    """Signed integers in the total order of the floats x: the bits, those of negative numbers flipped below the sign."""
    x = np.asarray(x)
    if x.dtype.itemsize == 1:
        return total_order_of_codes(x)
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
        if source.is_integer and source.bits < 8:
            x = x.astype(np.int8)
        if target.is_integer:
            return wrap(x, target)
        if target.is_float and target.bits <= 16 and source is not target and source.kind != "pred":
            return rounded_once(x, target)
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


def reduce_precision(x: np.ndarray, exponent_bits: int, mantissa_bits: int) -> np.ndarray:
    x = np.asarray(x)
    own_mantissa = int(ml_dtypes.finfo(x.dtype).nmant)
    own_exponent = element_type_of(x.dtype).bits - 1 - own_mantissa
    if x.dtype.itemsize == 1:
        # In f32: the biases and limits of these types are their own; rounding to the type applies them.
        own_exponent = 8 if own_mantissa == 0 else own_exponent
        rounded = reduce_precision(x.astype(np.float32), exponent_bits if exponent_bits < own_exponent else 8, mantissa_bits)
        return narrowed(rounded, element_type_of(x.dtype))
    integer = np.dtype(f"u{x.dtype.itemsize}")
    bits = x.view(integer)
    dropped = own_mantissa - min(mantissa_bits, own_mantissa)
    if dropped:
        odd = (bits >> integer.type(dropped)) & integer.type(1)
        rounded = bits + (odd + integer.type((1 << (dropped - 1)) - 1))
        bits = rounded & ~integer.type((1 << dropped) - 1)
    with np.errstate(all="ignore"):
        wide, result = x.astype(np.float64), bits.view(x.dtype).astype(np.float64)
        if exponent_bits < own_exponent:
            bias = 2 ** (exponent_bits - 1) - 1
            magnitude = np.abs(result)
            result = np.where(magnitude >= 2.0 ** (bias + 1), np.copysign(np.inf, wide), result)
            result = np.where(magnitude < 2.0 ** (1 - bias), np.copysign(0.0, wide), result)
        return np.where(np.isfinite(wide), result, wide).astype(x.dtype)


def stochastic_convert(x: np.ndarray, random: np.ndarray, element_type: ElementType) -> np.ndarray:
    """|x| rounded down, or up where its fraction, in units of the random number's type, exceeds the random number."""
    wide = np.asarray(x).astype(np.float64)
    with np.errstate(all="ignore"):
        fraction, whole = np.modf(np.abs(wide))
        scale = 2.0 ** element_type_of(np.asarray(random).dtype).bits
        above = np.floor(fraction * scale) > np.asarray(random).astype(np.float64)
        return _saturate(np.copysign(whole + above, wide), element_type)


def _from_bits(bits: np.ndarray, shape: Shape) -> np.ndarray:
    """Integers of uint64 as elements of the shape's type, of which they are the bits."""
    return bits.astype(f"u{shape.dtype.itemsize}").view(shape.dtype).reshape(shape.dimensions)


def bitcast_convert(x: np.ndarray, shape: Shape) -> np.ndarray:
    source, target = element_type_of(x.dtype).bits, shape.element_type.bits
    if min(source, target) < 8:
        bits = np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}").astype(np.uint64).reshape(x.shape)
        bits &= np.uint64(2**source - 1)
        if source > target:
            bits = bits[..., np.newaxis] >> np.arange(0, source, target, dtype=np.uint64) & np.uint64(2**target - 1)
        elif source < target:
            bits = np.bitwise_or.reduce(bits << np.arange(0, target, source, dtype=np.uint64), axis=-1)
        return _from_bits(np.ascontiguousarray(bits), shape)
    if x.dtype.itemsize == shape.dtype.itemsize:
        return np.ascontiguousarray(x).view(shape.dtype).reshape(shape.dimensions)
    return np.frombuffer(np.ascontiguousarray(x).tobytes(), shape.dtype).reshape(shape.dimensions)
