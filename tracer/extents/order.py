"""Sorting, searching and order statistics where sizes are known at run time only.

What lies behind a size is a value that comes last in the order; or NaN, where functions leave NaN out.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ... import hlo
from ..functions.order_statistics import NO_QUANTILE, dtype_of_quantiles, has_quantiles_of_nothing
from ..functions.sorting import last_in_order
from ..recording.array import TracedArray, require_trace
from ..recording.dynamic_array import DynamicArray, dynamic
from ..recording.function_tables import FUNCTIONS, implements_dynamic
from ..recording.operands import normalize_axes, normalize_axis, prepare, require, require_same_shape, zero_dimensional
from .broadcasting import as_array, broadcast_together
from .reductions import kept_sizes, of_bounds
from .reshaping import ravel


@implements_dynamic(np.sort)
def sort(a, axis=-1, kind=None, order=None, **choices):
    return _along(np.sort, a, axis, kind, order, **choices)


@implements_dynamic(np.argsort)
def argsort(a, axis=-1, kind=None, order=None, **choices):
    return _along(np.argsort, a, axis, kind, order, **choices)


def _along(function: Callable, a: Any, axis: int | None, kind: Any, order: Any, stable: Any = None, descending: Any = None):
    """What the function makes of the array of the bounds, in which what lies behind the size comes last along the axis."""
    if axis is None:
        a, axis = ravel(a), -1
    trace = require_trace(a)
    axis, sizes = normalize_axis(axis, a.ndim), a.sizes(trace)
    padded = last_behind(trace, a, descending) if axis in sizes else a.padded(trace)
    return dynamic(trace, FUNCTIONS[function](padded, axis, kind, order, stable=stable, descending=descending), sizes)


@implements_dynamic(np.ndarray.sort)
def sort_in_place(a, axis=-1, kind=None, order=None, **choices):
    a[...] = sort(a, axis, kind, order, **choices)


def last_behind(trace, a: DynamicArray, descending: bool | None = None):
    """The array of the bounds with a value behind the sizes that sorts behind all others: NaN, where there are any."""
    return a.filled(trace, last_in_order(a.dtype, bool(descending)))


@implements_dynamic(np.partition)
def partition(a, kth, axis=-1, kind="introselect", order=None):
    """In order altogether."""
    return sort(_with_places(a, kth, axis), axis)


def _with_places(a: Any, kth: Any, axis: int | None) -> Any:
    """The array; ValueError is raised, by the program, where a place is none of its own."""
    a = as_array(a)
    size = a.size if axis is None else a.shape[axis]
    for one in kth if isinstance(kth, (tuple, list)) else (kth,):
        require(np.logical_and(one >= -size, one < size), ValueError, f"kth(={one}) out of bounds")
    return a


@implements_dynamic(np.ndarray.partition)
def partition_in_place(a, kth, axis=-1, kind="introselect", order=None):
    a[...] = partition(a, kth, axis)


@implements_dynamic(np.argpartition)
def argpartition(a, kth, axis=-1, kind="introselect", order=None):
    return argsort(_with_places(a, kth, axis), axis)


@implements_dynamic(np.lexsort)
def lexsort(keys, axis=-1):
    """By one key after the other, so that the last one decides first; of keys of one dimension."""
    lines = [as_array(one) for one in keys]
    trace = require_trace(*lines)
    if any(line.ndim != 1 for line in lines):
        raise NotImplementedError("np.lexsort of keys of several dimensions whose sizes are known at run time only")
    padded, sizes = broadcast_together(trace, lines)
    first, *others = [dynamic(trace, line, sizes) for line in padded]
    order = np.argsort(first, kind="stable")
    for line in others:
        order = order[np.argsort(line[order], kind="stable")]
    return order


@implements_dynamic(np.searchsorted, np.ndarray.searchsorted)
def searchsorted(a, v, side="left", sorter=None):
    a, v = as_array(a), as_array(prepare(v))
    trace = require_trace(a, v)
    if sorter is not None:
        a = a[sorter]
    wanted, sizes = (v.padded(trace), v.sizes(trace)) if isinstance(v, DynamicArray) else (v, {})
    if not isinstance(a, DynamicArray):
        return dynamic(trace, FUNCTIONS[np.searchsorted](a, wanted, side), sizes)
    count = TracedArray.from_instruction(trace, hlo.convert(a.sizes(trace)[0], hlo.S64))
    found = FUNCTIONS[np.searchsorted](last_behind(trace, a), wanted, side)
    return dynamic(trace, np.minimum(found, count), sizes)


@implements_dynamic(np.digitize)
def digitize(x, bins, right=False):
    x, bins = as_array(prepare(x)), as_array(prepare(bins))
    if x.element_type.is_complex:
        raise TypeError("x may not be complex")
    if bins.element_type.is_complex:
        raise TypeError(f"Cannot cast array data from dtype('{bins.dtype}') to dtype('float64') according to the rule 'safe'")
    if bins.ndim != 1:
        raise ValueError("object too deep for desired array" if bins.ndim else "object of too small depth for desired array")
    rising, falling = np.all(bins[:-1] <= bins[1:]), np.all(bins[:-1] >= bins[1:])
    require(rising | falling, ValueError, "bins must be monotonically increasing or decreasing")
    side = "left" if right else "right"
    places = np.searchsorted(np.where(rising, bins, bins[::-1]), x, side)
    return np.where(rising, places, bins.shape[0] - places)[()]


# --- statistics that leave NaN out: NaN behind the sizes is left out, too ---


def _without_nan(function: Callable) -> Callable:
    def implementation(a, *rest, axis=None, keepdims=np._NoValue, **arguments):
        trace, positional = require_trace(a), list(rest)
        if positional and not isinstance(axis, (int, tuple)) and function not in _OF_QUANTILES:
            axis = positional.pop(0)
        keeps = {} if keepdims is np._NoValue else {"keepdims": keepdims}
        a = as_array(a)
        if not isinstance(a, DynamicArray) or any(isinstance(one, DynamicArray) for one in rest):
            raise NotImplementedError(f"np.{function.__name__} with a further argument whose size is known at run time only")
        if function in _OF_INTEGERS and a.dtype.kind in "iub":
            return _OF_INTEGERS[function](a, axis, *positional, **keeps, **arguments)
        filled = (a if a.dtype.kind in "fcV" else a.astype(np.float64)).filled(trace, np.nan)
        axes = tuple(range(a.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        axes = tuple(normalize_axis(one, a.ndim) for one in axes)
        if (weights := arguments.get("weights")) is not None:
            _require_a_weight_for_each(a, as_array(weights), axis)
        if isinstance(arguments.get("where"), (TracedArray, np.ndarray, list)):
            where = as_array(prepare(arguments["where"]))
            arguments["where"] = where if isinstance(where, DynamicArray) else of_bounds(a, where)
        for name in ("where", "weights"):
            if isinstance(arguments.get(name), DynamicArray):
                arguments[name] = arguments[name].filled(trace, 0)
        found = FUNCTIONS[function](filled, *positional, axis=axis, **keeps, **arguments)
        if function in _OF_QUANTILES and a.dtype.kind in "iub":
            q, method = positional[0], arguments.get("method", "linear")
            found = found.astype(dtype_of_quantiles(a.dtype, q, method, function is np.nanpercentile))
        leading = found.ndim - (a.ndim if keeps.get("keepdims") else a.ndim - len(axes))
        sizes = {d + leading: size for d, size in kept_sizes(a.sizes(trace), axes, keepdims).items()}
        return dynamic(trace, found, sizes)

    return implementation


def _require_a_weight_for_each(a: TracedArray, weights: TracedArray, axis: Any) -> None:
    if axis is None or weights.ndim == a.ndim:
        words = "Axis must be specified when shapes of a and weights differ."
        require_same_shape(a, weights, *((TypeError, words) if axis is None else (ValueError, _INCONSISTENT)))
    elif isinstance(axis, int) and weights.ndim == 1:
        require(a.shape[axis] == weights.shape[0], ValueError, _INCONSISTENT)


_INCONSISTENT = "Shape of weights must be consistent with shape of a along specified axis."
_OF_INTEGERS = {np.nanmax: np.max, np.nanmin: np.min, np.nansum: np.sum, np.nanprod: np.prod}
_OF_QUANTILES = (np.nanquantile, np.nanpercentile)
for _function in (np.nansum, np.nanprod, np.nanmean, np.nanstd, np.nanvar, np.nanmax, np.nanmin, np.nanmedian, *_OF_QUANTILES):
    implements_dynamic(_function)(_without_nan(_function))


def _nan_where_any(a, found, axis, keepdims):
    """What has been found leaving NaN out, and NaN where there is one."""
    if a.dtype.kind in "iub":
        return found
    return np.where(np.isnan(a).any(axis=axis, keepdims=keepdims), np.asarray(np.nan, found.dtype)[()], found)[()]


def _quantile(leaving_out: Callable) -> Callable:
    """The quantile of an array is that which leaves NaN out, and NaN where there is one."""

    def implementation(
        a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None
    ):  # fmt: skip
        a = as_array(a)
        if not has_quantiles_of_nothing():
            require(prod(a.shape[d] for d in normalize_axes(axis, a.ndim)) != 0, IndexError, NO_QUANTILE)
        found = leaving_out(a, q, axis=axis, method=method, keepdims=keepdims, weights=weights)
        found = _nan_where_any(a, found, axis, keepdims)
        return found if weights is None or found.ndim else zero_dimensional(found)

    return implementation


implements_dynamic(np.quantile)(_quantile(np.nanquantile))
implements_dynamic(np.percentile)(_quantile(np.nanpercentile))


@implements_dynamic(np.median)
def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    a = as_array(a)
    found = np.nanmedian(a, axis=axis, keepdims=keepdims)
    return _nan_where_any(a, found, axis, keepdims)
