"""Shapes of arrays whose sizes are known at run time only."""

from __future__ import annotations

import numpy as np

from ..recording.array import require_trace
from ..recording.dynamic_array import DynamicArray, dynamic
from ..recording.function_tables import FUNCTIONS, implements_dynamic
from ..recording.operands import normalize_axis


@implements_dynamic(np.shape)
def shape(a):
    return a.shape


@implements_dynamic(np.ndim)
def ndim(a):
    return a.ndim


@implements_dynamic(np.size)
def size(a, axis=None):
    return a.size if axis is None else a.shape[axis]


@implements_dynamic(np.ravel, np.ndarray.ravel, np.ndarray.flatten)
def ravel(a, order="C"):
    if a.ndim == 1:
        return a.copy()
    raise NotImplementedError("np.ravel of an array of several dimensions, whose sizes are known at run time only")


@implements_dynamic(np.sort)
def sort(a, axis=-1, kind=None, order=None, *, stable=None):
    """What lies behind the size is the greatest value, and comes last."""
    if axis is None:
        return sort(ravel(a), -1, kind, order, stable=stable)
    trace = require_trace(a)
    axis, sizes = normalize_axis(axis, a.ndim), a.sizes(trace)
    padded = _greatest_behind(trace, a) if axis in sizes else a.padded(trace)
    return dynamic(trace, FUNCTIONS[np.sort](padded, axis, kind, order, stable=stable), sizes)


@implements_dynamic(np.argsort)
def argsort(a, axis=-1, kind=None, order=None, *, stable=None):
    if axis is None:
        return argsort(ravel(a), -1, kind, order, stable=stable)
    trace = require_trace(a)
    axis, sizes = normalize_axis(axis, a.ndim), a.sizes(trace)
    padded = _greatest_behind(trace, a) if axis in sizes else a.padded(trace)
    return dynamic(trace, FUNCTIONS[np.argsort](padded, axis, "stable", order), sizes)


@implements_dynamic(np.ndarray.sort)
def sort_in_place(a, axis=-1, kind=None, order=None, *, stable=None):
    a[...] = sort(a, axis, kind, order, stable=stable)


def _greatest_behind(trace, a: DynamicArray):
    """The array of the bounds with a value behind the sizes that sorts behind all others: NaN, where there are any."""
    kind = a.dtype.kind
    greatest = {"f": np.nan, "c": complex(np.nan, np.nan), "b": True}.get(kind)
    if kind == "V":  # ml_dtypes
        greatest = np.nan
    return a.filled(trace, np.iinfo(a.dtype).max if greatest is None else greatest)


@implements_dynamic(np.cumsum)
def cumsum(a, axis=None, dtype=None, out=None):
    return _scan(np.cumsum, a, axis, dtype, out)


@implements_dynamic(np.cumprod)
def cumprod(a, axis=None, dtype=None, out=None):
    return _scan(np.cumprod, a, axis, dtype, out)


def _scan(function, a, axis, dtype, out):
    if out is not None:
        raise NotImplementedError(f"np.{function.__name__} with out= of an array whose size is known at run time only")
    if axis is None:
        a, axis = ravel(a), 0
    trace = require_trace(a)
    return dynamic(trace, FUNCTIONS[function](a.padded(trace), axis, dtype), a.sizes(trace))
