"""Arrays whose sizes are known at run time only, put together: concatenate, stack, tile, meshgrid and their kin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import hlo
from ..recording.array import TracedArray, require_trace
from ..recording.dynamic_array import DynamicArray, Sizes, dynamic, same_value
from ..recording.function_tables import implements_dynamic
from ..recording.operands import normalize_axes, normalize_axis
from ..recording.trace import Trace
from .broadcasting import as_array, broadcast_together, dimensions_of, fail_if, with_bound
from .creation import arange


@implements_dynamic(np.concatenate, np.concat)
def concatenate(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    """Along a dimension whose size is known at run time only each array begins where the one before it ends."""
    if _are_rows(arrays):
        return _concatenated_rows(arrays, axis, arrays.dtype if dtype is None else dtype, casting)
    arrays = [as_array(one) for one in arrays]
    if axis is None:
        arrays, axis = [np.ravel(one) for one in arrays], 0
    if len({one.ndim for one in arrays}) > 1:
        raise ValueError("all the input arrays must have same number of dimensions")
    axis = normalize_axis(axis, arrays[0].ndim)
    trace = require_trace(*arrays)
    kind = np.result_type(*(one.dtype for one in arrays)) if dtype is None else np.dtype(dtype)
    arrays = [one.astype(kind, casting=casting) for one in arrays]
    parts, sizes = _agreed_but_along(trace, arrays, axis)
    joined = hlo.concatenate(*(part.recorded(trace) for part in parts), dimensions=(axis,))
    return dynamic(trace, joined, sizes)


def _are_rows(arrays: Any) -> bool:
    """Whether the arrays are the rows of one array, as many as are known at run time only."""
    return isinstance(arrays, DynamicArray) and arrays.ndim > 0 and arrays.bounds.is_dynamic(0)


def _concatenated_rows(rows: DynamicArray, axis: int | None, dtype: Any, casting: Any) -> TracedArray:
    trace = require_trace(rows)
    fail_if(trace, hlo.eq(rows.sizes(trace)[0], 0), "need at least one array to concatenate")
    rows = rows.astype(dtype, casting=casting)
    if axis is None:
        return np.ravel(rows)
    if rows.ndim == 1:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = normalize_axis(axis, rows.ndim - 1)
    found = np.moveaxis(rows, 0, axis)
    return found.reshape((*found.shape[:axis], -1, *found.shape[axis + 2 :]))


def _agreed_but_along(trace: Trace, arrays: Sequence[TracedArray], axis: int) -> tuple[list[TracedArray], Sizes]:
    """The arrays with equal bounds in all dimensions but one, and the sizes of these. Raises ValueError where they differ."""
    sizes: Sizes = {}
    parts = list(arrays)
    for d in range(arrays[0].ndim):
        if d == axis:
            continue
        own = [one.sizes(trace).get(d) if isinstance(one, DynamicArray) else None for one in arrays]
        known = [size for size in own if size is not None]
        bounds = [dimensions_of(one)[d] for one in arrays]
        if not known:
            if len(set(bounds)) > 1:
                raise ValueError("all the input array dimensions except for the concatenation axis must match exactly")
            continue
        fixed = [bound for bound, size in zip(bounds, own) if size is None]
        sizes[d] = hlo.constant(np.int32(fixed[0])) if fixed else known[0]
        for size in [*known, *(hlo.constant(np.int32(bound)) for bound in fixed)]:
            if not same_value(size, sizes[d]):
                message = "all the input array dimensions except for the concatenation axis must match exactly"
                fail_if(trace, hlo.ne(size, sizes[d]), message)
        for number, bound in enumerate(bounds):
            parts[number] = with_bound(_padded_along(trace, parts[number], d), d, bound, max(bounds))
    return parts, sizes


def _padded_along(trace: Trace, array: TracedArray, dimension: int) -> TracedArray:
    """The array of the bound in one dimension."""
    if not isinstance(array, DynamicArray) or not array.bounds.is_dynamic(dimension):
        return array
    return dynamic(trace, array.padded(trace), {d: size for d, size in array.sizes(trace).items() if d != dimension})


@implements_dynamic(np.append)
def append(arr, values, axis=None):
    return concatenate((as_array(arr), as_array(values)), axis)


@implements_dynamic(np.stack)
def stack(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    if _are_rows(arrays):
        axis = normalize_axis(axis, arrays.ndim)
        return concatenate(np.expand_dims(arrays, axis + 1), axis, dtype=dtype, casting=casting)
    arrays = [as_array(one) for one in arrays]
    axis = normalize_axis(axis, arrays[0].ndim + 1)
    return concatenate([np.expand_dims(one, axis) for one in arrays], axis, dtype=dtype, casting=casting)


# The indices that bring an array to so many dimensions, by how many it has.
_ALL = slice(None)
_OF_ONE = ((None,),)
_OF_TWO = ((None, None), (None, _ALL))
_OF_THREE = ((None, None, None), (None, _ALL, None), (_ALL, _ALL, None))
_COLUMNS = ((None, None), (_ALL, None))


def _each(arrays: Any, places: Sequence[tuple]) -> Any:
    """Arrays, or the rows of one, with at least as many dimensions as there are places."""
    if _are_rows(arrays):
        return arrays[(_ALL, *places[arrays.ndim - 1])] if arrays.ndim <= len(places) else arrays
    given = [as_array(one) for one in arrays]
    return [one[places[one.ndim]] if one.ndim < len(places) else one for one in given]


@implements_dynamic(np.hstack)
def hstack(tup, *, dtype=None, casting="same_kind"):
    arrays = _each(tup, _OF_ONE)
    dimensions = arrays.ndim - 1 if _are_rows(arrays) else arrays[0].ndim
    return concatenate(arrays, 0 if dimensions == 1 else 1, dtype=dtype, casting=casting)


@implements_dynamic(np.vstack)
def vstack(tup, *, dtype=None, casting="same_kind"):
    return concatenate(_each(tup, _OF_TWO), 0, dtype=dtype, casting=casting)


@implements_dynamic(np.dstack)
def dstack(tup):
    return concatenate(_each(tup, _OF_THREE), 2)


@implements_dynamic(np.column_stack)
def column_stack(tup):
    return concatenate(_each(tup, _COLUMNS), 1)


@implements_dynamic(np.tile)
def tile(A, reps):  # noqa: N803
    """By a number of copies that is known."""
    array, counts = as_array(A), reps if isinstance(reps, (tuple, list)) else (reps,)
    counts = (1,) * (array.ndim - len(counts)) + tuple(int(count) for count in counts)
    array = array[(*[None] * (len(counts) - array.ndim), ...)]
    for axis, count in enumerate(counts):
        if count != 1:
            array = concatenate([array] * count, axis) if count else array[(slice(None),) * axis + (slice(0, 0),)]
    return array.copy()


@implements_dynamic(np.broadcast_arrays)
def broadcast_arrays(*args, subok=False):
    """Copies, which cannot be told from NumPy's views unless they are written to."""
    arrays = [as_array(one) for one in args]
    trace = require_trace(*arrays)
    padded, sizes = broadcast_together(trace, arrays)
    return tuple(dynamic(trace, one, sizes) for one in np.broadcast_arrays(*padded))


@implements_dynamic(np.meshgrid)
def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    lines = [np.ravel(as_array(one)) for one in xi]
    places = list(range(len(lines)))
    if indexing == "xy" and len(lines) > 1:
        places[:2] = 1, 0
    found = [line[tuple(slice(None) if d == place else None for d in range(len(lines)))] for line, place in zip(lines, places)]
    if not sparse:
        return broadcast_arrays(*found)
    return tuple(found) if copy else found


@implements_dynamic(np.kron)
def kron(a, b):
    """Of arrays of one or two dimensions."""
    a, b = as_array(a), as_array(b)
    if a.ndim == 1 and b.ndim == 1:
        return np.ravel(a[:, None] * b[None, :])
    if not a.ndim or not b.ndim:
        return a * b
    if a.ndim > 2 or b.ndim > 2:
        raise NotImplementedError("np.kron of arrays of more than two dimensions whose sizes are known at run time only")
    a, b = np.atleast_2d(a), np.atleast_2d(b)
    rows, columns = (arange(a.shape[d] * b.shape[d]) for d in (0, 1))
    of_a = a[(rows // b.shape[0])[:, None], (columns // b.shape[1])[None, :]]
    return of_a * b[(rows % b.shape[0])[:, None], (columns % b.shape[1])[None, :]]


@implements_dynamic(np.ix_)
def ix_(*args):
    """Positions along each dimension, those of masks where these are true."""
    found = []
    for number, one in enumerate(args):
        line = as_array(one)
        if line.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        positions = np.flatnonzero(line) if line.dtype == bool else line
        found.append(positions[tuple(slice(None) if d == number else None for d in range(len(args)))])
    return tuple(found)


def _at_least(places: Sequence[tuple]) -> Any:
    def implementation(*arrays: Any) -> Any:
        found = _each(arrays, places)
        return found[0] if len(found) == 1 else tuple(found)

    return implementation


implements_dynamic(np.atleast_1d)(_at_least(_OF_ONE))
implements_dynamic(np.atleast_2d)(_at_least(_OF_TWO))
implements_dynamic(np.atleast_3d)(_at_least(_OF_THREE))


@implements_dynamic(np.squeeze, np.ndarray.squeeze)
def squeeze(a, axis=None):
    """Leaves dimensions of sizes that are known at run time only; the call fails where one of them is 1."""
    trace = require_trace(a)
    sizes = a.sizes(trace)
    given = range(a.ndim) if axis is None else normalize_axes(axis, a.ndim)
    for d in given:
        if d in sizes and axis is not None:
            fail_if(trace, hlo.ne(sizes[d], 1), "cannot select an axis to squeeze out which has size not equal to one")
        elif d in sizes:
            message = "np.squeeze of an array with a dimension whose size, known at run time only, is 1"
            fail_if(trace, hlo.eq(sizes[d], 1), message, NotImplementedError)
        elif axis is not None and a.bounds.dimensions[d] != 1:
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    dropped = [d for d in given if axis is not None or d not in sizes and a.bounds.dimensions[d] == 1]
    return a[tuple(0 if d in dropped else slice(None) for d in range(a.ndim))]
