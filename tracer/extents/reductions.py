"""Reductions of arrays whose sizes are known at run time only: what lies behind the sizes is left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import hlo
from ..recording.array import TracedArray, require_trace
from ..recording.dynamic_array import DynamicArray, Sizes, dynamic, same_value, valid
from ..recording.function_tables import FUNCTIONS, METHODS, implements_dynamic, ufunc_kernel
from ..recording.operands import normalize_axes
from .broadcasting import broadcast_together, fail_if

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
    out: Any = None, **arguments: Any,
) -> TracedArray:  # fmt: skip
    """``function(array, axis=..., where=...)``; the ufunc is given where it has no identity."""
    if out is not None:
        raise NotImplementedError(f"{function.__name__} with out= of an array whose size is known at run time only")
    trace = require_trace(array, where)
    if not isinstance(array, DynamicArray):
        raise NotImplementedError("where= whose size is known at run time only")
    axes = normalize_axes(axis, array.ndim)
    sizes = array.sizes(trace)
    along = {d: size for d, size in sizes.items() if d in axes}
    if isinstance(where, DynamicArray):
        (_, where), agreed = broadcast_together(trace, (array, where))
        for d, size in agreed.items():
            if d not in sizes or not same_value(size, sizes[d]):
                fail_if(trace, hlo.ne(size, sizes[d]), "non-broadcastable operand: where= has another size than the array")
    if along:
        inside = valid(trace, array.bounds.dimensions, along)
        where = inside if where is True or where is _NO_VALUE else inside & where
    if ufunc is not None and along and arguments.get("initial", _NO_VALUE) in (_NO_VALUE, None):
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


@implements_dynamic(np.ufunc.reduce)
def reduce_ufunc(ufunc, array, axis=0, dtype=None, out=None, keepdims=False, initial=_NO_VALUE, where=True):
    def reduce(padded: TracedArray, **arguments: Any) -> TracedArray:
        return METHODS[np.ufunc.reduce](ufunc, padded, dtype=dtype, **arguments)

    without_identity = ufunc if ufunc.identity is None else None
    return reduced(reduce, array, axis, keepdims, where, without_identity, out, initial=initial)


def _declare(function: Callable, ufunc: np.ufunc | None = None, with_dtype: bool = False) -> None:
    if with_dtype:

        def implementation(a, axis=None, dtype=None, out=None, keepdims=_NO_VALUE, where=True, **arguments):
            return reduced(FUNCTIONS[function], a, axis, keepdims, where, ufunc, out, dtype=dtype, **arguments)
    else:

        def implementation(a, axis=None, out=None, keepdims=_NO_VALUE, where=True, **arguments):
            return reduced(FUNCTIONS[function], a, axis, keepdims, where, ufunc, out, **arguments)

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
    if returned or axis is not None or keepdims is not _NO_VALUE:
        raise NotImplementedError(
            "np.average with axis=, returned= or keepdims= of an array whose size is known at run time only"
        )
    if weights is None:
        return np.mean(a)
    total = np.sum(weights)
    return np.sum(a * weights) / total


def _position(a: Any, axis: Any, out: Any, keepdims: Any, largest: bool) -> TracedArray:
    name = "argmax" if largest else "argmin"
    if out is not None or not isinstance(a, DynamicArray):
        raise NotImplementedError(f"np.{name} with out= of an array whose size is known at run time only")
    trace = require_trace(a)
    if axis is None and a.ndim > 1:
        if any(d for d in a.sizes(trace)):
            raise NotImplementedError(
                f"np.{name} of all of an array of several dimensions, of which others than the first are dynamic"
            )
    axes = normalize_axes(axis, a.ndim)
    sizes = a.sizes(trace)
    fail_if(trace, is_empty(a, axes), f"attempt to get {name} of an empty sequence")
    worst = ufunc_kernel(np.maximum if largest else np.minimum).identity(a.dtype)
    padded = a.filled(trace, worst) if sizes.keys() & set(axes) else a.padded(trace)
    if 0 in [padded.shape[axis] for axis in axes]:
        return dynamic(trace, np.zeros_like(a.padded(trace), np.int64).sum(axis), kept_sizes(sizes, axes, False))
    function = FUNCTIONS[np.argmax if largest else np.argmin]
    return dynamic(trace, function(padded, axis, keepdims=keepdims), kept_sizes(sizes, axes, keepdims))


@implements_dynamic(np.argmax)
def argmax(a, axis=None, out=None, *, keepdims=_NO_VALUE):
    return _position(a, axis, out, keepdims, True)


@implements_dynamic(np.argmin)
def argmin(a, axis=None, out=None, *, keepdims=_NO_VALUE):
    return _position(a, axis, out, keepdims, False)
