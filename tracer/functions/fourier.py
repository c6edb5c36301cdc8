"""The functions of np.fft, as HLO's fft along one axis after the other."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np

from ... import hlo
from ..recording.array import TracedArray
from ..recording.function_tables import implements
from ..recording.memory_order import laid_out
from ..recording.operands import as_traced, instruction_of, normalize_axis, result, store, value

_DOUBLE = {hlo.F32: hlo.F64, hlo.C64: hlo.C128}
_OPPOSITE = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _transformed(a: TracedArray, fft_type: str, n: Any, axis: Any, norm: str | None, out: Any) -> TracedArray:
    """One transform along one axis: cut or padded with zeros to n points, and scaled as norm says.

    Raises ValueError for n below 1 and for an unknown norm, AxisError for the axis.
    """
    a = as_traced(a)
    if isinstance(n, bool):
        raise TypeError("an integer is required")
    points = operator.index(n)
    if points < 1:
        raise ValueError(f"Invalid number of FFT data points ({points}) specified.")
    is_forward = fft_type in ("FFT", "RFFT")
    if norm not in _OPPOSITE:
        raise ValueError(f'Invalid norm value {norm}; should be "backward","ortho" or "forward".')
    axis = normalize_axis(axis, a.ndim)
    element_type = _element_type(a, fft_type)
    trace, _ = value(a)
    x = instruction_of(trace, a, element_type)
    x = _resized(x, axis, points // 2 + 1 if fft_type == "IRFFT" else points)
    # As NumPy, which transforms single precision in double precision, and rounds the result.
    x = hlo.convert(x, _DOUBLE[element_type]) if element_type in _DOUBLE else x
    order = [d for d in range(a.ndim) if d != axis] + [axis]
    moved = axis != a.ndim - 1
    x = hlo.transpose(x, dimensions=order) if moved else x
    x = hlo.fft(x, fft_type, (points,))
    x = hlo.transpose(x, dimensions=[order.index(d) for d in range(a.ndim)]) if moved else x
    # HLO's inverse transforms divide by the number of points, its forward ones do not.
    if norm == "ortho":
        factor = 1 / sqrt(points) if is_forward else sqrt(points)
    elif (norm == "forward") is is_forward:
        factor = 1 / points if is_forward else 1.0
    else:
        factor = 1.0 if is_forward else float(points)
    if factor != 1.0:
        x = hlo.multiply(x, hlo.full_like(x, factor))
    if element_type in _DOUBLE:
        x = hlo.convert(x, hlo.F32 if fft_type == "IRFFT" else hlo.C64)
    if a.element_type is hlo.F16 and fft_type == "IRFFT":
        x = hlo.convert(x, hlo.F16)  # as NumPy, which keeps the type of real results
    return store(out, laid_out(result(trace, x), (a,), as_copy=True), "same_kind")


def _element_type(a: TracedArray, fft_type: str) -> hlo.ElementType:
    """The type that NumPy transforms: single precision for floats of up to 32 bits, double for all others."""
    kind = a.element_type
    if kind.is_complex and fft_type == "RFFT":
        raise TypeError("np.fft.rfft takes real numbers, complex ones given; np.fft.fft transforms these")
    single = kind is hlo.C64 or kind.is_float and kind.bits <= 32
    if fft_type == "RFFT":
        return hlo.F32 if single else hlo.F64
    return hlo.C64 if single else hlo.C128


def _resized(x: hlo.Instruction, axis: int, size: int) -> hlo.Instruction:
    """The array cut, or padded with zeros, at the end of an axis."""
    present = x.shape.dimensions[axis]
    if present == size:
        return x
    padding = [(0, size - present if d == axis else 0, 0) for d in range(x.shape.rank)]
    return hlo.pad(x, hlo.constant(0, x.shape.element_type), padding=padding)


def _points(a: TracedArray, n: Any, axis: Any) -> int:
    return a.shape[normalize_axis(axis, a.ndim)] if n is None else n


@implements(np.fft.fft)
def fft(a, n=None, axis=-1, norm=None, out=None):
    a = as_traced(a)
    return _transformed(a, "FFT", _points(a, n, axis), axis, norm, out)


@implements(np.fft.ifft)
def ifft(a, n=None, axis=-1, norm=None, out=None):
    a = as_traced(a)
    return _transformed(a, "IFFT", _points(a, n, axis), axis, norm, out)


@implements(np.fft.rfft)
def rfft(a, n=None, axis=-1, norm=None, out=None):
    a = as_traced(a)
    return _transformed(a, "RFFT", _points(a, n, axis), axis, norm, out)


@implements(np.fft.irfft)
def irfft(a, n=None, axis=-1, norm=None, out=None):
    a = as_traced(a)
    return _transformed(a, "IRFFT", (_points(a, None, axis) - 1) * 2 if n is None else n, axis, norm, out)


@implements(np.fft.hfft)
def hfft(a, n=None, axis=-1, norm=None, out=None):
    a = as_traced(a)
    return irfft(np.conjugate(a), n, axis, _opposite(norm), out)


@implements(np.fft.ihfft)
def ihfft(a, n=None, axis=-1, norm=None, out=None):
    return store(out, np.conjugate(rfft(a, n, axis, _opposite(norm))), "same_kind")


def _opposite(norm: str | None) -> str:
    if norm not in _OPPOSITE:
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    return _OPPOSITE[norm]


# --- several axes ---


def _lengths_and_axes(a: TracedArray, s: Any, axes: Any, to_real: bool = False) -> tuple[list, list]:
    """The number of points along each axis, as NumPy reads its arguments."""
    if s is not None and axes is None:
        warnings.warn("`axes` should not be `None` if `s` is not `None` (Deprecated in NumPy 2.0)", DeprecationWarning, 4)
    if axes is None:
        axes = range(-(a.ndim if s is None else len(s)), 0)
    axes = [operator.index(axis) for axis in axes]
    lengths = [a.shape[normalize_axis(axis, a.ndim)] for axis in axes] if s is None else list(s)
    if len(lengths) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    if to_real and s is None:
        lengths[-1] = (lengths[-1] - 1) * 2
    return [a.shape[axis] if length == -1 else length for length, axis in zip(lengths, axes)], axes


def _each_axis(a: TracedArray, function: Callable, lengths: list, axes: list, norm: str | None, out: Any) -> TracedArray:
    """The function along each axis, the last one first."""
    for length, axis in zip(reversed(lengths), reversed(axes)):
        a = function(a, length, axis, norm)
    return store(out, a, "same_kind")


@implements(np.fft.fftn)
def fftn(a, s=None, axes=None, norm=None, out=None):
    a = as_traced(a)
    return _each_axis(a, fft, *_lengths_and_axes(a, s, axes), norm, out)


@implements(np.fft.ifftn)
def ifftn(a, s=None, axes=None, norm=None, out=None):
    a = as_traced(a)
    return _each_axis(a, ifft, *_lengths_and_axes(a, s, axes), norm, out)


@implements(np.fft.rfftn)
def rfftn(a, s=None, axes=None, norm=None, out=None):
    a = as_traced(a)
    lengths, axes = _lengths_and_axes(a, s, axes)
    a = rfft(a, lengths[-1], axes[-1], norm)
    return _each_axis(a, fft, lengths[:-1], axes[:-1], norm, out)


@implements(np.fft.irfftn)
def irfftn(a, s=None, axes=None, norm=None, out=None):
    a = as_traced(a)
    lengths, axes = _lengths_and_axes(a, s, axes, to_real=True)
    for length, axis in zip(lengths[:-1], axes[:-1]):
        a = ifft(a, length, axis, norm)
    return irfft(a, lengths[-1], axes[-1], norm, out)


def _in_two_dimensions(function: Callable, implementation: Callable) -> None:
    @implements(function)
    def transform(a, s=None, axes=(-2, -1), norm=None, out=None):
        return implementation(a, s, axes, norm, out)


for _function, _implementation in (
    (np.fft.fft2, fftn),
    (np.fft.ifft2, ifftn),
    (np.fft.rfft2, rfftn),
    (np.fft.irfft2, irfftn),
):
    _in_two_dimensions(_function, _implementation)
