"""Reductions of arrays whose sizes are known at run time only: what lies behind the sizes is left out."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from ... import hlo
from ..recording.array import TracedArray, require_trace
from ..recording.dynamic_array import DynamicArray, Sizes, dynamic, same_value, valid
from ..recording.function_tables import FUNCTIONS, METHODS, implements_dynamic, ufunc_kernel
from ..recording.operands import normalize_axes, prepare, require, require_same_shape
from .broadcasting import as_array, broadcast_together, fail_if, with_bound

Instruction = hlo.Instruction
_NO_VALUE = np._NoValue


def kept_sizes(sizes: Sizes, axes: tuple[int, ...], keepdims: Any) -> Sizes:
    if keepdims is not _NO_VALUE and keepdims:
        return {d: size for d, size in sizes.items() if d not in axes}
    return {d - sum(axis < d for axis in axes): size for d, size in sizes.items() if d not in axes}


def is_empty(array: DynamicArray, axes: tuple[int, ...]) -> Instruction:
    """Whether there is nothing along the axes, but something to be found: where NumPy has no extremum to return."""
    trace = require_trace(array)
    sizes, zero = array.sizes(trace), hlo.constant(np.int32(0))
    empty = hlo.constant(any(array.bounds.dimensions[axis] == 0 for axis in axes if axis not in sizes))
    wanted = hlo.constant(all(size for d, size in enumerate(array.bounds.dimensions) if d not in axes and d not in sizes))
    for d, size in sizes.items():
        if d in axes:
            empty = hlo.or_(empty, hlo.eq(size, zero))
        else:
            wanted = hlo.and_(wanted, hlo.ne(size, zero))
    return hlo.and_(empty, wanted)


def reduced(
    function: Callable, array: Any, axis: Any, keepdims: Any = _NO_VALUE, where: Any = True, ufunc: np.ufunc | None = None,
    **arguments: Any,
) -> TracedArray:  # fmt: skip
    """``function(array, axis=..., where=...)``; the ufunc is given where it has no identity."""
    trace = require_trace(array, where)
    if not isinstance(array, DynamicArray):
        raise NotImplementedError("where= whose size is known at run time only")
    axes = normalize_axes(axis, array.ndim)
    sizes = array.sizes(trace)
    along = {d: size for d, size in sizes.items() if d in axes}
    given_where = where is not True and where is not _NO_VALUE
    if isinstance(where, DynamicArray):
        (_, where), agreed = broadcast_together(trace, (array, where))
        for d, size in agreed.items():
            if d not in sizes or not same_value(size, sizes[d]):
                fail_if(trace, hlo.ne(size, sizes[d]), "non-broadcastable operand: where= has another size than the array")
    elif isinstance(where, (TracedArray, np.ndarray, list, tuple)):
        where = of_bounds(array, as_array(prepare(where)))
    if along:
        inside = valid(trace, array.bounds.dimensions, along)
        where = inside if where is True or where is _NO_VALUE else inside & where
    if ufunc is not None and along and arguments.get("initial", _NO_VALUE) in (_NO_VALUE, None):
        if given_where:
            raise ValueError(
                f"reduction operation '{ufunc.__name__}' does not have an identity, so to use a where mask one has to specify "
                "'initial'"
            )
        message = f"zero-size array to reduction operation {ufunc.__name__} which has no identity"
        fail_if(trace, is_empty(array, axes), message)
        arguments["initial"] = ufunc_kernel(ufunc).identity(array.dtype)
    given = {name: value for name, value in arguments.items() if value is not _NO_VALUE}
    if where is not True and where is not _NO_VALUE:
        given["where"] = where
    if keepdims is not _NO_VALUE:
        given["keepdims"] = keepdims
    padded = array.padded(trace)
    return dynamic(trace, function(padded, axis=axes, **given), kept_sizes(sizes, axes, keepdims))


def of_bounds(array: DynamicArray, where: TracedArray) -> TracedArray:
    """A mask of known sizes, which must be those of the array or 1, beside the array of the bounds."""
    lead = array.ndim - where.ndim
    for d, size in enumerate(where.shape):
        if lead + d >= 0 and size != 1 and array.bounds.is_dynamic(lead + d):
            message = "non-broadcastable operand: where= has another size than the array"
            require(array.shape[lead + d] == size, ValueError, message)
            where = with_bound(where, d, size, array.bounds.dimensions[lead + d])
    return where


@implements_dynamic(np.ufunc.reduce)
def reduce_ufunc(ufunc, array, axis=0, dtype=None, out=None, keepdims=False, initial=_NO_VALUE, where=True):
    def reduce(padded: TracedArray, **arguments: Any) -> TracedArray:
        return METHODS[np.ufunc.reduce](ufunc, padded, dtype=dtype, **arguments)

    if ufunc_kernel(ufunc).identity is None:
        return _reduced_in_order(ufunc, as_array(array), axis, dtype, keepdims, initial, where)
    without_identity = ufunc if ufunc.identity is None else None
    return reduced(reduce, array, axis, keepdims, where, without_identity, initial=initial)


def _reduced_in_order(ufunc, array, axis, dtype, keepdims, initial, where):
    """The last of what ``accumulate`` gives."""
    if where is not True or initial is not _NO_VALUE:
        raise NotImplementedError(f"np.{ufunc.__name__}.reduce with initial= or where= where sizes are known at run time only")
    axes = normalize_axes(axis, array.ndim)
    if len(axes) != 1:
        raise ValueError(f"reduction operation '{ufunc.__name__}' is not reorderable, so at most one axis may be specified")
    message = f"zero-size array to reduction operation {ufunc.__name__} which has no identity"
    require(array.shape[axes[0]] > 0, ValueError, message)
    lead = (slice(None),) * axes[0]
    last = ufunc.accumulate(array, axes[0], dtype)[(*lead, -1)]
    return np.expand_dims(last, axes[0]) if keepdims else last


def _declare(function: Callable, ufunc: np.ufunc | None = None, with_dtype: bool = False) -> None:
    if with_dtype:

        def implementation(a, axis=None, dtype=None, out=None, keepdims=_NO_VALUE, where=True, **arguments):
            return reduced(FUNCTIONS[function], a, axis, keepdims, where, ufunc, dtype=dtype, **arguments)
    else:

        def implementation(a, axis=None, out=None, keepdims=_NO_VALUE, where=True, **arguments):
            return reduced(FUNCTIONS[function], a, axis, keepdims, where, ufunc, **arguments)

    implements_dynamic(function)(implementation)


for _function in (np.sum, np.prod, np.mean, np.std, np.var):
    _declare(_function, with_dtype=True)
for _function in (np.any, np.all):
    _declare(_function)
for _function, _ufunc in ((np.max, np.maximum), (np.min, np.minimum)):
    _declare(_function, _ufunc)


@implements_dynamic(np.ptp)
def ptp(a, axis=None, out=None, keepdims=_NO_VALUE):
    return np.max(a, axis, keepdims=keepdims) - np.min(a, axis, keepdims=keepdims)


@implements_dynamic(np.count_nonzero)
def count_nonzero(a, axis=None, *, keepdims=False):
    return np.sum(a != 0, axis, np.int64, keepdims=keepdims)


@implements_dynamic(np.average)
def average(a, axis=None, weights=None, returned=False, *, keepdims=_NO_VALUE):
    a, keeps = as_array(prepare(a)), {} if keepdims is _NO_VALUE else {"keepdims": keepdims}
    if weights is None:
        found = np.mean(a, axis, **keeps)
        total: Any = np.ones_like(found) * (np.size(a) / np.maximum(np.size(found), 1))
        return (found, total.astype(found.dtype)) if returned else found
    weights = as_array(prepare(weights))
    if weights.ndim != a.ndim:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        if weights.ndim != 1 or isinstance(axis, tuple):
            raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
        (along,) = normalize_axes(axis, a.ndim)
        weights = weights[tuple(slice(None) if d == along else None for d in range(a.ndim))]
    elif axis is None:
        require_same_shape(a, weights, TypeError, "Axis must be specified when shapes of a and weights differ.")
    else:
        words = "Shape of weights must be consistent with shape of a along specified axis."
        require_same_shape(a, weights, ValueError, words)
    kind = np.result_type(a.dtype, weights.dtype, *([np.float64] if a.dtype.kind in "iub" else []))
    total = np.sum(weights, axis, dtype=kind, **keeps)
    require(np.all(total != 0), ZeroDivisionError, "Weights sum to zero, can't be normalized")
    found = np.sum(np.multiply(a, weights, dtype=kind), axis, **keeps) / total
    return (found, np.zeros_like(found) + total) if returned else found


def _position(a: Any, axis: Any, keepdims: Any, largest: bool) -> TracedArray:
    name = "argmax" if largest else "argmin"
    trace = require_trace(a)
    axes = normalize_axes(axis, a.ndim)
    sizes = a.sizes(trace)
    fail_if(trace, is_empty(a, axes), f"attempt to get {name} of an empty sequence")
    if axis is None and a.ndim == 2 and 0 not in a.bounds.dimensions and not a.element_type.is_complex:
        return _position_in_rows(a, largest, keepdims)
    worst = ufunc_kernel(np.maximum if largest else np.minimum).identity(a.dtype)
    padded = a.filled(trace, worst) if sizes.keys() & set(axes) else a.padded(trace)
    if 0 in [padded.shape[axis] for axis in axes]:
        return dynamic(trace, np.zeros_like(a.padded(trace), np.int64).sum(axis), kept_sizes(sizes, axes, False))
    function = FUNCTIONS[np.argmax if largest else np.argmin]
    found = function(padded, axis, keepdims=keepdims)
    if axis is None and any(sizes):  # the place in the array of the bounds is another
        first, *others = np.unravel_index(found, padded.shape)
        found = reduce(lambda place, one: place * one[0] + one[1], zip(a.shape[1:], others), first)
    return dynamic(trace, found, kept_sizes(sizes, axes, keepdims))


def _position_in_rows(a: DynamicArray, largest: bool, keepdims: Any) -> Any:
    """First in which row, and then where in it: so the loops stop at the sizes of both dimensions."""
    position = np.argmax if largest else np.argmin
    row = position(np.max(a, axis=1) if largest else np.min(a, axis=1))
    found = row * a.shape[1] + position(a[row])
    return found if keepdims in (_NO_VALUE, False) else np.reshape(found, (1, 1))


@implements_dynamic(np.argmax)
def argmax(a, axis=None, out=None, *, keepdims=_NO_VALUE):
    return _position(a, axis, keepdims, True)


@implements_dynamic(np.argmin)
def argmin(a, axis=None, out=None, *, keepdims=_NO_VALUE):
    return _position(a, axis, keepdims, False)
