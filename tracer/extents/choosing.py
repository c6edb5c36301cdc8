"""Elements chosen among several arrays, or by positions, where sizes are known at run time only."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..functions.indexed_access import clip_mode
from ..functions.selection import python_bool
from ..recording.array import TracedArray, require_trace
from ..recording.dynamic_array import DynamicArray, dynamic
from ..recording.function_tables import FUNCTIONS, implements_dynamic
from ..recording.operands import as_elements, as_safe_elements, normalize_axis, prepare, require, require_same_shape
from .broadcasting import as_array
from .creation import arange


@implements_dynamic(np.select)
def select(condlist, choicelist, default=0):
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if not condlist:
        raise ValueError("select with an empty condition list is not possible")
    conditions = [as_array(one) for one in condlist]
    for number, condition in enumerate(conditions):
        if condition.dtype != bool:
            raise TypeError(f"invalid entry {number} in condlist: should be boolean ndarray")
    given = [*choicelist, default]
    kind = np.result_type(*[one.dtype if isinstance(one, TracedArray) else one for one in given])
    *choices, found = (as_array(prepare(one)).astype(kind) for one in given)
    for condition, choice in zip(reversed(conditions), reversed(choices)):
        found = np.where(condition, choice, found)
    return found


@implements_dynamic(np.piecewise)
def piecewise(x, condlist, funclist, *args, **kw):
    """The conditions have to be arrays of x's shape."""
    conditions = [as_array(one) for one in (condlist if isinstance(condlist, (list, tuple)) else [condlist])]
    functions = list(funclist)
    if len(functions) not in (len(conditions), len(conditions) + 1):
        raise ValueError(
            f"with {len(conditions)} condition(s), either {len(conditions)} or {len(conditions) + 1} functions are expected"
        )
    found = np.zeros_like(x)
    if len(functions) == len(conditions) + 1:
        any_holds = conditions[0]
        for condition in conditions[1:]:
            any_holds = any_holds | condition
        conditions.append(~any_holds)
    for condition, function in zip(conditions, functions):
        found[condition] = function(x[condition], *args, **kw) if callable(function) else function
    return found


def _in_range(indices: TracedArray, size: Any, mode: str, message: str) -> TracedArray:
    """The positions that indices stand for."""
    mode = clip_mode(mode)
    if mode == "wrap":
        return indices % size
    if mode == "clip":
        return np.clip(indices, 0, size - 1)
    require(np.all((indices >= 0) & (indices < size)), ValueError, message)
    return indices


@implements_dynamic(np.choose)
def choose(a, choices, out=None, mode="raise"):
    arrays = [as_array(prepare(one)) for one in choices]
    numbers = _in_range(as_array(a), len(arrays), mode, "invalid entry in choice array")
    kind = np.result_type(*[one.dtype for one in arrays])
    found = arrays[-1].astype(kind)
    for number, array in reversed(list(enumerate(arrays[:-1]))):
        found = np.where(numbers == number, array.astype(kind), found)
    return found


@implements_dynamic(np.ndarray.choose)
def choose_method(a, choices, out=None, mode="raise"):
    return choose(a, choices, mode=mode)


# --- positions ---


@implements_dynamic(np.take, np.ndarray.take)
def take(a, indices, axis=None, out=None, mode="raise"):
    a, indices = as_array(a), as_array(prepare(indices))
    if axis is None:
        a, axis = np.ravel(a), 0
    axis = normalize_axis(axis, a.ndim)
    if clip_mode(mode) != "raise":
        require(a.shape[axis] > 0, IndexError, "cannot do a non-empty take from an empty axes.")
        indices = _in_range(indices, a.shape[axis], mode, "")
    return a[(slice(None),) * axis + (indices,)]


@implements_dynamic(np.unravel_index)
def unravel_index(indices, shape, order="C"):
    indices = as_array(indices)
    trace = require_trace(indices)
    found = FUNCTIONS[np.unravel_index](indices.filled(trace, 0), shape, order)
    return tuple(dynamic(trace, one, indices.sizes(trace)) for one in found)


@implements_dynamic(np.ravel_multi_index)
def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    arrays = np.broadcast_arrays(*[as_array(prepare(one)) for one in multi_index])
    trace = require_trace(*arrays)
    found = FUNCTIONS[np.ravel_multi_index](tuple(one.filled(trace, 0) for one in arrays), dims, mode, order)
    return dynamic(trace, found, arrays[0].sizes(trace))


def _along_axis(array: TracedArray, indices: TracedArray, axis: int) -> tuple[Any, ...]:
    """The index of the elements at positions along an axis: all positions of the other dimensions beside them."""
    if array.ndim != indices.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    if not indices.element_type.is_integer:
        raise IndexError("`indices` must be an integer array")
    places = []
    for d in range(array.ndim):
        size = array.shape[d]
        own = (arange if isinstance(size, TracedArray) else FUNCTIONS[np.arange])(size)
        places.append(indices if d == axis else own[tuple(slice(None) if other == d else None for other in range(array.ndim))])
    return tuple(places)


@implements_dynamic(np.take_along_axis)
def take_along_axis(arr, indices, axis=-1):
    arr, indices = as_array(arr), as_array(indices)
    if axis is None:
        if indices.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        arr, axis = np.ravel(arr), 0
    return arr[_along_axis(arr, indices, normalize_axis(axis, arr.ndim))]


@implements_dynamic(np.put_along_axis)
def put_along_axis(arr, indices, values, axis):
    if axis is None:
        raise NotImplementedError("np.put_along_axis with axis=None where sizes are known at run time only")
    arr[_along_axis(as_array(arr), as_array(indices), normalize_axis(axis, arr.ndim))] = values


# --- written where a mask is true ---


@implements_dynamic(np.copyto)
def copyto(dst, src, casting="same_kind", where=True):
    src = as_array(prepare(src)) if not isinstance(src, (int, float, complex)) else src
    kind = src.dtype if isinstance(src, TracedArray) else src
    if not isinstance(src, (int, float, complex)) and not np.can_cast(kind, dst.dtype, casting):
        raise TypeError(f"Cannot cast array data from {kind!r} to {dst.dtype!r} according to the rule '{casting}'")
    dst[...] = src if where is True else np.where(where, src, dst).astype(dst.dtype)


@implements_dynamic(np.putmask)
def putmask(a, mask, values):
    """Values that are fewer are repeated; of an array of one dimension."""
    if not isinstance(a, TracedArray):
        raise TypeError("putmask: first argument must be an array")
    values, mask = as_array(as_safe_elements(a.element_type, values)), as_array(prepare(mask))
    require_same_shape(a, mask, ValueError, "putmask: mask and data must be the same size")
    if values.ndim and not (values.ndim == a.ndim and isinstance(values, DynamicArray)):
        values = _repeated(values, arange(a.shape[0]) if a.ndim == 1 else None)
    a[...] = np.where(mask, values.astype(a.dtype), a)


@implements_dynamic(np.place)
def place(arr, mask, vals):
    """The values may be of any number; an array of several dimensions has a known size."""
    if isinstance(arr, DynamicArray) and arr.ndim != 1:
        raise NotImplementedError("np.place in an array of several dimensions whose sizes are known at run time only")
    mask, values = as_array(prepare(mask)) != 0, np.ravel(as_array(as_safe_elements(arr.element_type, vals)))
    require_same_shape(arr, mask, ValueError, "place: mask and data must be the same size")
    count = values.shape[0]
    require((count > 0) | ~np.any(mask), ValueError, "Cannot insert from an empty array!")
    numbers = np.cumsum(mask) - 1
    numbers = numbers if arr.ndim == 1 else numbers.reshape(arr.shape)
    values = np.concatenate([values, np.zeros(1, values.dtype)])  # so that there is one
    arr[...] = np.where(mask, values[np.maximum(numbers, 0) % np.maximum(count, 1)].astype(arr.dtype), arr)


def _repeated(values: TracedArray, numbers: TracedArray | None) -> TracedArray:
    if numbers is None:
        raise NotImplementedError("values that are repeated in an array of several dimensions, known at run time only")
    values = np.ravel(values)
    return values[np.maximum(numbers, 0) % values.shape[0]]


@implements_dynamic(np.put)
def put(a, ind, v, mode="raise"):
    """In an array of one dimension."""
    if a.ndim != 1:
        raise NotImplementedError("np.put in an array of several dimensions whose sizes are known at run time only")
    indices, values = as_array(prepare(ind)), as_array(as_elements(a.element_type, v))
    if mode != "raise":
        indices = _in_range(indices, a.shape[0], mode, "")
    count = indices.shape[0] if indices.ndim else 1
    if values.ndim and values.size is not count:
        values = _repeated(values, (arange if isinstance(count, TracedArray) else FUNCTIONS[np.arange])(count))
    a[indices] = values.astype(a.dtype)


@implements_dynamic(np.array_equiv)
def array_equiv(a1, a2):
    """As `np.array_equal`, of arrays of equal numbers of dimensions."""
    a1, a2 = as_array(a1), as_array(a2)
    if a1.ndim == a2.ndim == 1:  # one that has one element is compared with all of the other one
        found = np.array_equal(a1, a2)
        for one, other in ((a1, a2), (a2, a1)):
            found = found | ((one.shape[0] == 1) & np.all(np.equal(other, one[:1].sum())))
        return python_bool(found)
    if a1.ndim == a2.ndim:
        return np.array_equal(a1, a2)
    return python_bool(np.all(np.equal(a1, a2)))


# --- positions of extrema that leave NaN out ---


def _position_without_nan(function: Any, worst: float) -> Any:
    def implementation(a, axis=None, out=None, *, keepdims=np._NoValue):
        a = as_array(a)
        keeps = {} if keepdims is np._NoValue else {"keepdims": keepdims}
        if a.dtype.kind not in "fc":
            return function(a, axis, **keeps)
        missing = np.isnan(a)
        require(np.logical_not(np.any(np.all(missing, axis))), ValueError, "All-NaN slice encountered")
        return function(np.where(missing, np.asarray(worst, a.dtype)[()], a), axis, **keeps)

    return implementation


implements_dynamic(np.nanargmax)(_position_without_nan(np.argmax, -np.inf))
implements_dynamic(np.nanargmin)(_position_without_nan(np.argmin, np.inf))
