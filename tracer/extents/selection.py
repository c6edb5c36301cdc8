"""Functions whose results have as many elements as others are true: nonzero and its kin, compress, extract."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..indexing.compression import compressed
from ..recording.array import TracedArray, require_trace
from ..recording.dynamic_array import DynamicArray, dynamic
from ..recording.function_tables import implements, implements_dynamic
from ..recording.operands import normalize_axis
from .broadcasting import as_array


def _truth(trace: Any, a: Any) -> TracedArray:
    """Which elements are true, as an array of the bounds."""
    if isinstance(a, DynamicArray):
        return (a != 0).filled(trace, False)
    return a if a.dtype == bool else a != 0


@implements(np.nonzero)
@implements_dynamic(np.nonzero)
def nonzero(a):
    """The indices of true elements, an array for each dimension."""
    a = as_array(a)
    if not a.ndim:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead.")
    trace = require_trace(a)
    truth = _truth(trace, a)
    flat = compressed(trace, None, truth)
    if truth.ndim == 1:
        return (flat,)
    positions, sizes, found = flat.padded(trace), flat.sizes(trace), []
    for size in reversed(truth.shape[1:]):
        found.append(positions % max(size, 1))
        positions = positions // max(size, 1)
    return tuple(dynamic(trace, one, sizes) for one in (positions, *reversed(found)))


@implements(np.flatnonzero)
@implements_dynamic(np.flatnonzero)
def flatnonzero(a):
    return np.nonzero(np.ravel(a))[0]


@implements(np.argwhere)
@implements_dynamic(np.argwhere)
def argwhere(a):
    a = as_array(a)
    if not a.ndim:
        return argwhere(np.atleast_1d(a))[:, :0]
    trace = require_trace(a)
    columns = nonzero(a)
    stacked = np.stack([one.padded(trace) for one in columns], axis=1)
    return dynamic(trace, stacked, columns[0].sizes(trace))


@implements_dynamic(np.compress)
def compress(condition, a, axis=None, out=None):
    """A condition that is shorter than the axis is false behind its end."""
    condition, a = as_array(condition), as_array(a)
    if condition.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    if axis is None:
        a, axis = np.ravel(a), 0
    axis = normalize_axis(axis, a.ndim)
    is_dynamic = isinstance(condition, DynamicArray) or isinstance(a, DynamicArray)
    if not axis and not is_dynamic and condition.shape == a.shape[:1]:
        return a[_truth(require_trace(a), condition)]
    positions = np.flatnonzero(condition)
    index = (slice(None),) * axis + (positions,)
    return a[index]


@implements_dynamic(np.ndarray.compress)
def compress_method(a, condition, axis=None, out=None):
    return compress(condition, a, axis)


@implements_dynamic(np.extract)
def extract(condition, arr):
    return np.compress(np.ravel(condition), np.ravel(arr))
