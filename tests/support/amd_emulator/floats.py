"""Floating-point operations of AMD's processors that NumPy has no function for."""

from __future__ import annotations

import ctypes
from fractions import Fraction
from functools import cache

import numpy as np
from phlox.backends.cpu.machine_code import LoadedCode, compile_object
from phlox.backends.cpu.target import native_target

_FMA = """
declare {type} @llvm.fma.{name}({type}, {type}, {type})
define void @fma_{name}(ptr noalias %a, ptr noalias %b, ptr noalias %c, ptr noalias %out, i64 %count) {{
start:
  br label %next
next:
  %n = phi i64 [ 0, %start ], [ %after, %next ]
  %a_at = getelementptr {type}, ptr %a, i64 %n
  %b_at = getelementptr {type}, ptr %b, i64 %n
  %c_at = getelementptr {type}, ptr %c, i64 %n
  %out_at = getelementptr {type}, ptr %out, i64 %n
  %a_value = load {type}, ptr %a_at
  %b_value = load {type}, ptr %b_at
  %c_value = load {type}, ptr %c_at
  %value = call {type} @llvm.fma.{name}({type} %a_value, {type} %b_value, {type} %c_value)
  store {type} %value, ptr %out_at
  %after = add i64 %n, 1
  %more = icmp ult i64 %after, %count
  br i1 %more, label %next, label %end
end:
  ret void
}}
"""


@cache
def _fma_function(name: str, type_name: str):
    text = f'target triple = "{native_target().triple}"\n' + _FMA.format(name=name, type=type_name)
    code = LoadedCode([compile_object(text, native_target())], native_target(), {})
    address = code.address(f"fma_{name}")
    code.keep()
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64)(address)


def fma(a, b, c):
    """a * b + c, rounded once."""
    if a.dtype == np.float16:  # no halfway case of it needs more bits than these
        return (a.astype(np.float64) * b + c).astype(np.float16)
    function = _fma_function("f32", "float") if a.dtype == np.float32 else _fma_function("f64", "double")
    arrays = [np.ascontiguousarray(one) for one in np.broadcast_arrays(a, b, c)]
    out = np.empty(arrays[0].shape, a.dtype)
    function(*[one.ctypes.data for one in arrays], out.ctypes.data, out.size)
    return out


def bits_of(a):
    return a.view(f"u{a.dtype.itemsize}")


def is_signaling(a):
    quiet = {2: 0x200, 4: 0x400000, 8: 0x8000000000000}[a.dtype.itemsize]
    return np.isnan(a) & (bits_of(a) & a.dtype.type(0).view(f"u{a.dtype.itemsize}").dtype.type(quiet) == 0)


def maximum(a, b):
    """The number where one of them is none, +0 above -0; NaN for signaling ones, as in the IEEE mode."""
    return _choose(a, b, np.fmax, np.bitwise_and)


def minimum(a, b):
    return _choose(a, b, np.fmin, np.bitwise_or)


def _choose(a, b, function, of_zeros):
    a, b = np.broadcast_arrays(a, b)
    found = function(a, b)
    zeros = (a == 0) & (b == 0)
    if zeros.any():
        found = np.where(zeros, of_zeros(bits_of(a), bits_of(b)).view(a.dtype), found)
    if np.isnan(a).any() or np.isnan(b).any():
        found = np.where(is_signaling(a) | is_signaling(b), a.dtype.type(np.nan), found)
    return found


def exponent(a):
    """The biased exponent, as it is stored."""
    size, width = {2: (10, 0x1F), 4: (23, 0xFF), 8: (52, 0x7FF)}[a.dtype.itemsize]
    return (bits_of(a) >> bits_of(a).dtype.type(size)).astype(np.int64) & width


def is_subnormal(a):
    return (exponent(a) == 0) & (a != 0)


def has_class(a, mask):
    """Whether the number is one of the classes whose bits are set: the order is that of V_CMP_CLASS."""
    negative, infinite, normal = np.signbit(a), np.isinf(a), (exponent(a) != 0) & np.isfinite(a)
    quiet = np.isnan(a) & ~is_signaling(a)
    kinds = [
        is_signaling(a), quiet, infinite & negative, normal & negative, is_subnormal(a) & negative, (a == 0) & negative,
        (a == 0) & ~negative, is_subnormal(a) & ~negative, normal & ~negative, infinite & ~negative,
    ]  # fmt: skip
    mask = bits_of(mask).astype(np.uint32)  # of f16, the format of this operand is f16, too
    found = np.zeros(np.broadcast_shapes(a.shape, mask.shape), bool)
    for number, kind in enumerate(kinds):
        found |= kind & (mask >> np.uint32(number) & np.uint32(1)).astype(bool)
    return found


def flushed(a):
    """Zeros for subnormal numbers, of which some functions of the hardware know nothing."""
    return np.where(is_subnormal(a), np.copysign(a.dtype.type(0), a), a)


def inexact(exact, dtype, bits):
    """A function of the hardware whose result may be wrong by less than a unit in the last place: the second nearest number.

    ``exact`` is in a wider type. Where ``bits`` are given, so many bits at the end are wrong instead.
    """
    nearest = exact.astype(dtype)
    with np.errstate(all="ignore"):
        off = np.where(np.isfinite(nearest) & (nearest != 0), exact - nearest.astype(exact.dtype), 0)
    if bits:
        size = bits_of(nearest).dtype
        mask = size.type(~((1 << bits) - 1) & (1 << 8 * size.itemsize) - 1)
        return np.where(np.isfinite(nearest), (bits_of(nearest) & mask).view(dtype), nearest)
    away = np.nextafter(nearest, np.where(off > 0, dtype(np.inf), dtype(-np.inf)))
    return np.where(off != 0, away, nearest).astype(dtype)


# --- division, in steps: a correct quotient of an inexact reciprocal ---

_DIVISION = {4: (96, 64, 23, -150, 255), 8: (768, 128, 53, -1075, 2047)}


def division_scale(value, denominator, numerator):
    """V_DIV_SCALE: the denominator or numerator, which it is told by being equal, and whether the quotient is to be scaled.

    Where the reciprocal and the quotient are subnormal the documents have the denominator larger, which would make it infinite;
    here it is made smaller, as where the reciprocal alone is.
    """
    far, scale, tiny, _, _ = _DIVISION[value.dtype.itemsize]
    value, denominator, numerator = np.broadcast_arrays(value, denominator, numerator)
    wide = np.longdouble if value.dtype == np.float64 else np.float64
    least = np.finfo(value.dtype).tiny
    reciprocal, quotient = 1 / denominator.astype(wide), numerator.astype(wide) / denominator
    small_reciprocal = np.abs(reciprocal) < least
    small_quotient = (np.abs(quotient) < least) & (quotient != 0)
    is_denominator = bits_of(value) == bits_of(denominator)
    is_numerator = bits_of(value) == bits_of(numerator)
    up, down = np.ldexp(value, scale), np.ldexp(value, -scale)
    cases = [
        ((numerator == 0) | (denominator == 0), value.dtype.type(np.nan), False),
        (exponent(numerator) - exponent(denominator) >= far, np.where(is_denominator, up, value), True),
        (is_subnormal(denominator), up, False),
        (small_reciprocal & small_quotient, np.where(is_denominator, down, value), True),
        (small_reciprocal, down, False),
        (small_quotient, np.where(is_numerator, up, value), True),
        (exponent(numerator) <= tiny, up, False),
    ]
    conditions = [condition for condition, _, _ in cases]
    result = np.select(conditions, [result for _, result, _ in cases], value)
    scaled = np.select(conditions, [np.full(value.shape, scaled) for _, _, scaled in cases], False)
    return result.astype(value.dtype), scaled.astype(bool)


def division_fma(a, b, c, scaled):
    """V_DIV_FMAS: the quotient back at its size, where V_DIV_SCALE has changed it, rounded once."""
    a, b, c, scaled = np.broadcast_arrays(a, b, c, scaled)
    _, scale, *_ = _DIVISION[a.dtype.itemsize]
    info = np.finfo(a.dtype)
    powers = np.where(exponent(c) >= info.maxexp, scale, -scale)
    found = np.where(scaled, np.ldexp(fma(a, b, c), powers), fma(a, b, c)).astype(a.dtype)
    for at in np.argwhere(scaled & (np.abs(found) < info.tiny) & (found != 0)):
        at = tuple(at)
        exact = Fraction(float(a[at])) * Fraction(float(b[at])) + Fraction(float(c[at]))
        units = round(exact * Fraction(2) ** int(powers[at]) / Fraction(float(info.smallest_subnormal)))
        found[at] = info.smallest_subnormal * a.dtype.type(units)
    return found


def division_fixup(quotient, denominator, numerator):
    """V_DIV_FIXUP: what the quotient of special numbers is.

    The documents say nothing of quotients that are too large, of which the steps before make NaN: they are infinite.
    """
    *_, under, top = _DIVISION.get(quotient.dtype.itemsize, (0, 0, 0, -25, 31))
    dtype = quotient.dtype.type
    sign = np.where(np.signbit(denominator) ^ np.signbit(numerator), dtype(-1), dtype(1))
    nothing, infinite = dtype(0), dtype(np.inf)
    cases = [
        (np.isnan(numerator), numerator + nothing),
        (np.isnan(denominator), denominator + nothing),
        ((denominator == 0) & (numerator == 0), dtype(np.nan)),
        (np.isinf(denominator) & np.isinf(numerator), dtype(np.nan)),
        ((denominator == 0) | np.isinf(numerator), np.copysign(infinite, sign)),
        (np.isinf(denominator) | (numerator == 0), np.copysign(nothing, sign)),
        (exponent(numerator) - exponent(denominator) < under, np.copysign(nothing, sign)),
        (exponent(numerator) - exponent(denominator) > top // 2 + 2, np.copysign(infinite, sign)),
    ]
    found = np.select(
        [np.broadcast_to(condition, np.broadcast_shapes(condition.shape, quotient.shape)) for condition, _ in cases],
        [result for _, result in cases],
        np.copysign(quotient, sign),
    )
    return found.astype(dtype)
