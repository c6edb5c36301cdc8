"""Shapes of arrays whose sizes are known at run time only."""

from __future__ import annotations

import numpy as np

from ... import hlo
from ..recording.array import TracedArray, require_trace
from ..recording.dynamic_array import DynamicArray, dynamic
from ..recording.function_tables import FUNCTIONS, implements_dynamic
from ..recording.operands import normalize_axes, normalize_axis
from .broadcasting import as_array, fail_if


@implements_dynamic(np.shape)
def shape(a):
    return a.shape


@implements_dynamic(np.ndim)
def ndim(a):
    return a.ndim


@implements_dynamic(np.size)
def size(a, axis=None):
    return a.size if axis is None else a.shape[axis]


@implements_dynamic(np.ravel, np.ndarray.ravel)
def ravel(a, order="C"):
    if a.ndim == 1:
        return a[:]
    raise NotImplementedError("np.ravel of an array of several dimensions, whose sizes are known at run time only")


@implements_dynamic(np.ndarray.flatten)
def flatten(a, order="C"):
    return ravel(a, order).copy()


@implements_dynamic(np.reshape, np.ndarray.reshape)
def reshape(a, *shape, order="C", copy=None):
    """Of an array of one dimension to one dimension, or new dimensions of size 1 around it."""
    sizes = shape[0] if len(shape) == 1 else shape
    sizes = tuple(sizes) if isinstance(sizes, (tuple, list)) else (sizes,)
    places = [place for place, size in enumerate(sizes) if isinstance(size, TracedArray) or size != 1]
    if a.ndim != 1 or len(places) != 1 or order not in ("C", "A"):
        raise NotImplementedError("np.reshape of an array whose size is known at run time only, but to one dimension and ones")
    trace = require_trace(a)
    wanted = sizes[places[0]]
    if isinstance(wanted, TracedArray) or wanted != -1:
        given = wanted.instruction(trace) if isinstance(wanted, TracedArray) else hlo.constant(np.int64(wanted))
        different = hlo.ne(hlo.convert(given, hlo.S64), hlo.convert(a.sizes(trace)[0], hlo.S64))
        fail_if(trace, different, "cannot reshape array: its size, known at run time only, is another one")
    found = a[tuple(slice(None) if place == places[0] else None for place in range(len(sizes)))]
    return found.copy() if copy else found


@implements_dynamic(np.sort)
def sort(a, axis=-1, kind=None, order=None, *, stable=None):
    """What lies behind the size is the greatest value, and comes last."""
    if axis is None:
        return sort(ravel(a), -1, kind, order, stable=stable)
    return _along(a, axis, lambda padded, axis: FUNCTIONS[np.sort](padded, axis, kind, order, stable=stable))


@implements_dynamic(np.argsort)
def argsort(a, axis=-1, kind=None, order=None, *, stable=None):
    if axis is None:
        return argsort(ravel(a), -1, kind, order, stable=stable)
    return _along(a, axis, lambda padded, axis: FUNCTIONS[np.argsort](padded, axis, "stable", order))


def _along(a, axis, function):
    """What the function makes of the array of the bounds, in which what lies behind the size comes last along the axis."""
    trace = require_trace(a)
    axis, sizes = normalize_axis(axis, a.ndim), a.sizes(trace)
    padded = greatest_behind(trace, a) if axis in sizes else a.padded(trace)
    return dynamic(trace, function(padded, axis), sizes)


@implements_dynamic(np.ndarray.sort)
def sort_in_place(a, axis=-1, kind=None, order=None, *, stable=None):
    a[...] = sort(a, axis, kind, order, stable=stable)


def greatest_behind(trace, a: DynamicArray):
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


@implements_dynamic(np.concatenate, np.concat)
def concatenate(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    """Along a dimension whose size is known at run time only each array begins where the one before it ends."""
    if out is not None:
        raise NotImplementedError(
            "np.concatenate with out= of an array whose size is known at run time only is not implemented"
        )
    arrays = [as_array(one) for one in arrays]
    ranks = {one.ndim for one in arrays}
    if axis is None:
        arrays, axis, ranks = [np.ravel(one) for one in arrays], 0, {1}
    if len(ranks) > 1:
        raise ValueError("all the input array dimensions except for the concatenation axis must match exactly")
    axis = normalize_axis(axis, arrays[0].ndim)
    trace = require_trace(*arrays)
    if any(set(one.sizes(trace)) - {axis} for one in arrays if isinstance(one, DynamicArray)):
        raise NotImplementedError("np.concatenate along another dimension than that whose size is known at run time only")
    kind = np.result_type(*(one.dtype for one in arrays)) if dtype is None else np.dtype(dtype)
    parts = [one.astype(kind, casting=casting).recorded(trace) for one in arrays]
    return TracedArray.from_instruction(trace, hlo.concatenate(*parts, dimensions=(axis,)), is_scalar=False)


@implements_dynamic(np.append)
def append(arr, values, axis=None):
    return concatenate((as_array(arr), as_array(values)), axis)


@implements_dynamic(np.hstack)
def hstack(tup, *, dtype=None, casting="same_kind"):
    arrays = [np.reshape(one, (1,)) if one.ndim == 0 else one for one in map(as_array, tup)]
    return concatenate(arrays, 0 if arrays[0].ndim == 1 else 1, dtype=dtype, casting=casting)


@implements_dynamic(np.median)
def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """Of all elements, or of an array of one dimension; NaN where there are none."""
    if out is not None or keepdims or axis is not None and a.ndim != 1:
        raise NotImplementedError("np.median with axis=, out= or keepdims= of an array whose size is known at run time only")
    trace = require_trace(a)
    line = ravel(a)
    values = FUNCTIONS[np.sort](greatest_behind(trace, line), 0)
    values = values if values.dtype.kind in "fcV" else values.astype(np.float64)
    count = TracedArray.from_instruction(trace, hlo.convert(line.sizes(trace)[0], hlo.S64))
    if not values.shape[0]:
        return np.mean(line)
    places = np.clip(np.stack([(count - 1) // 2, count // 2, count - 1]), 0, values.shape[0] - 1)
    low, high, last = values[places]
    middle = np.where(count % 2 == 1, low, np.mean(np.stack([low, high])))
    return np.where((count == 0) | np.isnan(last), np.asarray(np.nan, values.dtype)[()], middle)[()]


@implements_dynamic(np.flip)
def flip(m, axis=None):
    if axis is None and m.ndim == 1:
        axis = 0
    if axis is None:
        raise NotImplementedError("np.flip of all dimensions of an array whose size is known at run time only")
    return m[(slice(None),) * normalize_axis(axis, m.ndim) + (slice(None, None, -1),)]


@implements_dynamic(np.diff)
def diff(a, n=1, axis=-1, prepend=np._NoValue, append=np._NoValue):
    if prepend is not np._NoValue or append is not np._NoValue or a.ndim != 1:
        raise NotImplementedError(
            "np.diff with prepend= or append=, or of several dimensions, of an array whose size is known at run time only"
        )
    for _ in range(n):
        trace = require_trace(a)
        sizes = {0: hlo.maximum(hlo.subtract(a.sizes(trace)[0], 1), 0)}
        a = dynamic(trace, FUNCTIONS[np.diff](a.padded(trace)), sizes) if a.bounds.dimensions[0] else a
    return a


@implements_dynamic(np.expand_dims)
def expand_dims(a, axis):
    axes = normalize_axes(axis, a.ndim + (len(axis) if isinstance(axis, tuple) else 1))
    remaining = iter([slice(None)] * a.ndim)
    return a[tuple(None if d in axes else next(remaining) for d in range(a.ndim + len(axes)))]


@implements_dynamic(np.transpose, np.ndarray.transpose, np.permute_dims)
def transpose(a, *axes):
    """A copy, which cannot be written to."""
    given = axes[0] if len(axes) == 1 else axes or None
    order = tuple(reversed(range(a.ndim))) if given is None else tuple(normalize_axis(one, a.ndim) for one in given)
    if len(order) != a.ndim or len(set(order)) != a.ndim:
        raise ValueError("axes don't match array")

    def read(trace, base):
        return hlo.transpose(base, order)

    def write(trace, base, value):
        return hlo.transpose(value, tuple(order.index(d) for d in range(len(order))))

    bounds = a.bounds.with_dimensions(tuple(a.bounds.dimensions[d] for d in order), [a.bounds.is_dynamic(d) for d in order])
    return DynamicArray.view_on(a, bounds, read, write)


@implements_dynamic(np.swapaxes, np.ndarray.swapaxes)
def swapaxes(a, axis1, axis2):
    order = list(range(a.ndim))
    first, second = normalize_axis(axis1, a.ndim), normalize_axis(axis2, a.ndim)
    order[first], order[second] = order[second], order[first]
    return transpose(a, order)
