"""Arrays cut into parts, put in and turned round where sizes are known at run time only."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..functions.joining import depth_of_blocks
from ..recording.array import TracedArray, as_index
from ..recording.dynamic_array import DynamicArray
from ..recording.function_tables import FUNCTIONS, implements_dynamic
from ..recording.operands import as_elements, normalize_axis, prepare, require
from .broadcasting import as_array
from .creation import arange


@implements_dynamic(np.array_split)
def array_split(ary, indices_or_sections, axis=0):
    """The number of parts must be known while tracing."""
    ary = as_array(ary)
    axis = normalize_axis(axis, ary.ndim)
    size = ary.shape[axis]
    if isinstance(indices_or_sections, DynamicArray):
        raise NotImplementedError("np.split into a number of parts that is known at run time only is not implemented")
    if isinstance(indices_or_sections, (list, tuple, np.ndarray, TracedArray)) and np.ndim(indices_or_sections):
        bounds = [0, *indices_or_sections, size]
    else:
        sections = as_index(indices_or_sections, "as a number of sections")
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.")
        each, extra = size // sections, size % sections
        bounds = [0, *(number * each + np.minimum(number, extra) for number in range(1, sections)), size]
    return [ary[(slice(None),) * axis + (slice(start, stop),)] for start, stop in zip(bounds[:-1], bounds[1:])]


@implements_dynamic(np.split)
def split(ary, indices_or_sections, axis=0):
    ary = as_array(ary)
    if np.ndim(indices_or_sections) == 0:
        sections = as_index(indices_or_sections, "as a number of sections")
        is_equal = ary.shape[normalize_axis(axis, ary.ndim)] % sections == 0
        require(is_equal, ValueError, "array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


def _split_along(axis: int | None, least: int, name: str) -> Callable:
    def implementation(ary, indices_or_sections):
        if ary.ndim < least:
            raise ValueError(f"{name} only works on arrays of {least} or more dimensions")
        return split(ary, indices_or_sections, (1 if ary.ndim > 1 else 0) if axis is None else axis)

    return implementation


implements_dynamic(np.vsplit)(_split_along(0, 2, "vsplit"))
implements_dynamic(np.hsplit)(_split_along(None, 1, "hsplit"))
implements_dynamic(np.dsplit)(_split_along(2, 3, "dsplit"))

if hasattr(np, "unstack"):

    @implements_dynamic(np.unstack)
    def unstack(x, /, *, axis=0):
        x = np.moveaxis(as_array(x), axis, 0)
        if x.bounds.is_dynamic(0):
            raise NotImplementedError("np.unstack along a dimension whose size is known at run time only is not implemented")
        return tuple(x[number] for number in range(x.bounds.dimensions[0]))


@implements_dynamic(np.flip)
def flip(m, axis=None):
    axes = range(m.ndim) if axis is None else [normalize_axis(one, m.ndim) for one in np.atleast_1d(axis).tolist()]
    return m[tuple(slice(None, None, -1) if d in axes else slice(None) for d in range(m.ndim))]


@implements_dynamic(np.insert)
def insert(arr, obj, values, axis=None):
    """At one position, or at positions that are known in number."""
    arr = as_array(arr)
    if axis is None:
        arr, axis = np.ravel(arr), 0
    axis = normalize_axis(axis, arr.ndim)
    obj = as_array(arange(arr.shape[axis])[obj] if isinstance(obj, slice) else prepare(obj))
    if obj.dtype == bool:
        require(obj.ndim == 1, ValueError, "boolean array argument obj to insert must be one dimensional")
        obj = np.flatnonzero(obj)
    size = arr.shape[axis]
    inside = np.all((obj >= -size) & (obj <= size))
    require(inside, IndexError, f"an index is out of bounds for axis {axis}")
    places = np.ravel(np.where(obj < 0, obj + size, obj))
    count = places.shape[0]
    values = as_array(as_elements(arr.element_type, values)).astype(arr.dtype)
    values = values[(None,) * max(arr.ndim - values.ndim, 0)]
    is_one = not isinstance(obj, DynamicArray) and obj.size == 1
    if is_one:  # all values stand at the position
        values = np.moveaxis(values, 0, axis) if obj.ndim == 0 and axis else values
        count = values.shape[axis]
        places = np.repeat(places, count)
    order = np.argsort(places, kind="stable")
    new = places[order] + FUNCTIONS[np.arange](count)
    longer = arange(size + count)
    is_new = np.isin(longer, new)
    old = longer - np.cumsum(is_new)
    lead = (slice(None),) * axis
    kept = arr[(*lead, np.clip(old, 0, np.maximum(size - 1, 0)))]
    found = kept.copy()
    if not is_one and (isinstance(given := values.shape[axis], TracedArray) or given != 1):
        require(given == count, ValueError, "shape mismatch: the values could not be broadcast to where they are inserted")
        values = values[(*lead, order)]
    found[(*lead, new)] = values
    return found


@implements_dynamic(np.resize)
def resize(a, new_shape):
    """In a shape that is known, with the elements over and over again."""
    a, shape = np.ravel(as_array(a)), new_shape if isinstance(new_shape, (tuple, list)) else (new_shape,)
    shape = tuple([as_index(size, "as a size of a shape") for size in shape])
    require(a.shape[0] > 0, NotImplementedError, "np.resize of an array without elements, known at run time only")
    positions = FUNCTIONS[np.arange](math.prod(shape))
    return a[positions % a.shape[0]].reshape(shape)


@implements_dynamic(np.block)
def block(arrays):
    depth = depth_of_blocks(arrays)
    rank = max(depth, _rank_within(arrays))

    def built(part: Any, level: int) -> TracedArray:
        if isinstance(part, list):
            return np.concatenate([built(one, level + 1) for one in part], level - depth)
        array = as_array(part)
        return array[(None,) * (rank - array.ndim)]

    return built(arrays, 0)


def _rank_within(part: Any) -> int:
    return max(map(_rank_within, part)) if isinstance(part, list) else as_array(part).ndim
