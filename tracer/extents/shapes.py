"""Shapes and scans of arrays whose sizes are known at run time only."""

from __future__ import annotations

import math

import numpy as np

from ... import hlo
from ..recording.array import require_trace
from ..recording.dynamic_array import DynamicArray, dynamic
from ..recording.function_tables import FUNCTIONS, implements_dynamic
from ..recording.operands import normalize_axes, normalize_axis, one_or_several
from .reshaping import ravel


@implements_dynamic(np.shape)
def shape(a):
    return a.shape


@implements_dynamic(np.ndim)
def ndim(a):
    return a.ndim


@implements_dynamic(np.size)
def size(a, axis=None):
    return a.size if axis is None else math.prod(a.shape[one] for one in normalize_axes(axis, a.ndim))


@implements_dynamic(np.cumsum)
def cumsum(a, axis=None, dtype=None, out=None):
    return _scan(np.cumsum, a, axis, dtype)


@implements_dynamic(np.cumprod)
def cumprod(a, axis=None, dtype=None, out=None):
    return _scan(np.cumprod, a, axis, dtype)


def _scan(function, a, axis, dtype):
    if axis is None:
        a, axis = ravel(a), 0
    trace = require_trace(a)
    return dynamic(trace, FUNCTIONS[function](a.padded(trace), axis, dtype), a.sizes(trace))


@implements_dynamic(np.expand_dims)
def expand_dims(a, axis):
    axes = normalize_axes(axis, a.ndim + (len(axis) if isinstance(axis, tuple) else 1))
    remaining = iter([slice(None)] * a.ndim)
    return a[tuple(None if d in axes else next(remaining) for d in range(a.ndim + len(axes)))]


@implements_dynamic(np.transpose, np.ndarray.transpose, np.permute_dims)
def transpose(a, *order, axes=None):
    given = order[0] if len(order) == 1 else order or axes
    given = tuple(reversed(range(a.ndim))) if given is None else one_or_several(given)
    order = tuple(normalize_axis(one, a.ndim) for one in given)
    if len(order) != a.ndim:
        raise ValueError("axes don't match array")
    if len(set(order)) != a.ndim:
        raise ValueError("repeated axis in transpose")

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


def _cumulative(ufunc):
    def implementation(x, /, *, axis=None, dtype=None, out=None, include_initial=False):
        if axis is None and x.ndim > 1:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        axis = normalize_axis(0 if axis is None else axis, x.ndim)
        total = ufunc.accumulate(x, axis, dtype)
        if not include_initial:
            return total
        width = [(1, 0) if d == axis else (0, 0) for d in range(x.ndim)]
        return np.pad(total, width, constant_values=ufunc.identity)

    return implementation


if hasattr(np, "cumulative_sum"):
    implements_dynamic(np.cumulative_sum)(_cumulative(np.add))
    implements_dynamic(np.cumulative_prod)(_cumulative(np.multiply))
