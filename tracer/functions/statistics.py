"""Means, variances and averages, and the reductions that leave NaN out."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ... import hlo
from ..recording import promotion
from ..recording.array import TracedArray, require_trace
from ..recording.function_tables import implements
from ..recording.operands import as_traced, normalize_axes, require, result, store
from .reductions import position_of_extremum, reduce_ufunc

_NO_VALUE = np._NoValue


def _given(where: Any) -> Any:
    return True if where is _NO_VALUE else where


def _count(a: TracedArray, axis: Any, where: Any, keepdims: Any) -> Any:
    """How many elements are averaged: a number, or with a mask an array of numbers."""
    if where is True:
        return prod(a.shape[dimension] for dimension in normalize_axes(axis, a.ndim))
    mask = np.broadcast_to(as_traced(where, np.dtype(bool)), a.shape)
    return reduce_ufunc(np.add, mask, axis, np.int64, keepdims=keepdims)


def _mean_types(a: TracedArray, dtype: Any) -> tuple[np.dtype, np.dtype]:
    """In which dtype a mean is computed, and which it returns: float64 of integers, float32 inside of float16."""
    if dtype is not None:
        return hlo.as_dtype(dtype), hlo.as_dtype(dtype)
    if a.dtype.kind in "iub":
        return np.dtype(np.float64), np.dtype(np.float64)
    if a.dtype == np.float16:
        return np.dtype(np.float32), a.dtype
    return a.dtype, a.dtype


def _divide(total: TracedArray, count: Any) -> TracedArray:
    kind = total.dtype
    return np.true_divide(
        total, count if not isinstance(count, TracedArray) else count.astype(kind if kind.kind != "c" else np.float64)
    ).astype(kind, copy=False)


@implements(np.mean)
def mean(a, axis=None, dtype=None, out=None, keepdims=_NO_VALUE, *, where=_NO_VALUE):
    a, where = as_traced(a), _given(where)
    inside, outside = _mean_types(a, dtype)
    total = reduce_ufunc(np.add, a, axis, inside, keepdims=keepdims, where=where)
    average = _divide(total, _count(a, axis, where, keepdims)).astype(outside, copy=False)
    return store(out, average)


def _variance(
    a: Any, axis: Any, dtype: Any, ddof: Any, keepdims: Any, where: Any, known_mean: Any
) -> tuple[TracedArray, np.dtype]:
    a, where = as_traced(a), _given(where)
    inside, outside = _mean_types(a, dtype)
    if known_mean is _NO_VALUE:
        total = reduce_ufunc(np.add, a, axis, inside, keepdims=True, where=where)
        center = _divide(total, _count(a, axis, where, True))
    else:
        center = as_traced(known_mean)
    deviation = (a.astype(inside, copy=False) if dtype is None else a) - center
    trace = require_trace(a)
    if a.element_type.is_complex:
        z = deviation.instruction(trace)
        parts = [hlo.real(z), hlo.imag(z)]
        squares = result(trace, hlo.add(*(hlo.multiply(part, part) for part in parts)))
        outside = squares.dtype if dtype is None else outside
    else:
        squares = deviation * deviation
    total = reduce_ufunc(np.add, squares, axis, None if dtype is None else inside, keepdims=keepdims, where=where)
    count = _count(a, axis, where, keepdims)
    freedom = count - ddof
    freedom = np.maximum(freedom, 0) if isinstance(freedom, TracedArray) else max(freedom, 0)
    return _divide(total, freedom), outside


def _correction(ddof: Any, correction: Any) -> Any:
    if correction is _NO_VALUE:
        return ddof
    require(ddof == 0, ValueError, "ddof and correction can't be provided simultaneously.")
    return correction


@implements(np.var)
def var(
    a, axis=None, dtype=None, out=None, ddof=0, keepdims=_NO_VALUE, *, where=_NO_VALUE, mean=_NO_VALUE, correction=_NO_VALUE
):
    variance, outside = _variance(a, axis, dtype, _correction(ddof, correction), keepdims, where, mean)
    return store(out, variance.astype(outside, copy=False))


@implements(np.std)
def std(
    a, axis=None, dtype=None, out=None, ddof=0, keepdims=_NO_VALUE, *, where=_NO_VALUE, mean=_NO_VALUE, correction=_NO_VALUE
):
    variance, outside = _variance(a, axis, dtype, _correction(ddof, correction), keepdims, where, mean)
    return store(out, np.sqrt(variance).astype(outside, copy=False), "same_kind")


@implements(np.average)
def average(a, axis=None, weights=None, returned=False, *, keepdims=_NO_VALUE):
    a = as_traced(a)
    axis = None if axis is None else normalize_axes(axis, a.ndim)  # in which a bool is an axis, other than for np.mean
    if weights is None:
        mean_ = mean(a, axis, keepdims=keepdims)
        if mean_.size == 0:
            raise ZeroDivisionError("division by zero")
        if not returned:
            return mean_
        count = _count(a, axis, True, keepdims)
        return mean_, np.full_like(mean_, count)[()]
    weights = as_traced(weights)
    kind = np.result_type(
        promotion.result_dtype([a.dtype_class, weights.dtype_class]), *([np.float64] if a.dtype.kind in "iub" else [])
    )
    if a.shape != weights.shape:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        if weights.shape != tuple(a.shape[dimension] for dimension in axis):
            raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
        order = np.argsort(axis)
        weights = weights.transpose(tuple(int(i) for i in order))
        weights = weights.reshape([size if dimension in axis else 1 for dimension, size in enumerate(a.shape)])
    scale = reduce_ufunc(np.add, np.broadcast_to(weights, a.shape), axis, kind, keepdims=keepdims)
    trace = require_trace(scale)
    without_weight = np.any(scale == 0).instruction(trace)
    trace.add_error_flag(without_weight, ZeroDivisionError, "Weights sum to zero, can't be normalized")
    averaged = reduce_ufunc(np.add, np.multiply(a, weights, dtype=kind), axis, kind, keepdims=keepdims) / scale
    return (averaged, scale) if returned else averaged


# --- leaving NaN out ---


def _without_nan(a: Any, replacement: Any) -> tuple[TracedArray, TracedArray | None]:
    """The array with NaN replaced, and where it was NaN (None for types that have no NaN)."""
    a = as_traced(a)
    if a.dtype.kind in "iub":
        return a, None
    is_nan = np.isnan(a)
    return np.where(is_nan, np.asarray(replacement, a.dtype)[()], a), is_nan


def _nan_reduction(function: Any, replacement: Any):
    def implementation(a, axis=None, dtype=None, out=None, keepdims=_NO_VALUE, initial=_NO_VALUE, where=_NO_VALUE):
        replaced, _ = _without_nan(a, replacement)
        return function(replaced, axis=axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=_given(where))

    return implementation


implements(np.nansum)(_nan_reduction(np.sum, 0))
implements(np.nanprod)(_nan_reduction(np.prod, 1))


def _nan_extremum(ufunc: np.ufunc):
    def implementation(a, axis=None, out=None, keepdims=_NO_VALUE, initial=_NO_VALUE, where=_NO_VALUE):
        return reduce_ufunc(ufunc, a, axis, None, out, keepdims, initial, _given(where))

    return implementation


implements(np.nanmax)(_nan_extremum(np.fmax))
implements(np.nanmin)(_nan_extremum(np.fmin))


def _nan_position(largest: bool):
    def implementation(a, axis=None, out=None, *, keepdims=_NO_VALUE):
        replaced, is_nan = _without_nan(a, -np.inf if largest else np.inf)
        if is_nan is not None and is_nan.size:
            trace = require_trace(replaced)
            every = np.all(is_nan, axis=axis)
            empty = every if not every.ndim else np.any(every)
            trace.add_error_flag(empty.instruction(trace), ValueError, "All-NaN slice encountered")
        return position_of_extremum(replaced, axis, out, keepdims, largest)

    return implementation


implements(np.nanargmax)(_nan_position(True))
implements(np.nanargmin)(_nan_position(False))


def _scan_without_nan(function: Any, replacement: Any):
    def implementation(a, axis=None, dtype=None, out=None):
        return function(_without_nan(a, replacement)[0], axis=axis, dtype=dtype, out=out)

    return implementation


implements(np.nancumsum)(_scan_without_nan(np.cumsum, 0))
implements(np.nancumprod)(_scan_without_nan(np.cumprod, 1))


@implements(np.nanmean)
def nanmean(a, axis=None, dtype=None, out=None, keepdims=_NO_VALUE, *, where=_NO_VALUE):
    a = as_traced(a)
    if a.dtype.kind in "iub":
        return mean(a, axis, dtype, out, keepdims, where=where)
    _require_inexact(dtype, out)
    valid = ~np.isnan(a)
    mask = valid if where is _NO_VALUE else valid & np.broadcast_to(as_traced(where, np.dtype(bool)), a.shape)
    inside, outside = _mean_types(a, dtype)
    total = reduce_ufunc(np.add, a, axis, inside, keepdims=keepdims, where=mask)
    return store(out, _divide(total, _count(a, axis, mask, keepdims)).astype(outside, copy=False))


def _require_inexact(dtype: Any, out: Any) -> None:
    """Raises TypeError where a mean without NaN of floats would be an integer."""
    for name, kind in (("dtype", dtype), ("out", getattr(out, "dtype", None))):
        if kind is not None and hlo.as_dtype(kind).kind in "iub":
            raise TypeError(f"If a is inexact, then {name} must be inexact")


def _nan_variance(
    a: Any, axis: Any, dtype: Any, out: Any, ddof: Any, keepdims: Any, where: Any, known_mean: Any
) -> TracedArray:
    a = as_traced(a)
    if a.dtype.kind in "iub":
        return var(a, axis, dtype, None, ddof, keepdims, where=where, mean=known_mean)
    _require_inexact(dtype, out)
    valid = ~np.isnan(a)
    mask = valid if where is _NO_VALUE else valid & np.broadcast_to(as_traced(where, np.dtype(bool)), a.shape)
    variance, outside = _variance(a, axis, dtype, ddof, keepdims, mask, known_mean)
    count = _count(a, axis, mask, keepdims)
    return np.where(count - ddof <= 0, np.nan, variance).astype(outside, copy=False)[()]


@implements(np.nanvar)
def nanvar(
    a, axis=None, dtype=None, out=None, ddof=0, keepdims=_NO_VALUE, *, where=_NO_VALUE, mean=_NO_VALUE, correction=_NO_VALUE
):
    return store(out, _nan_variance(a, axis, dtype, out, _correction(ddof, correction), keepdims, where, mean))


@implements(np.nanstd)
def nanstd(
    a, axis=None, dtype=None, out=None, ddof=0, keepdims=_NO_VALUE, *, where=_NO_VALUE, mean=_NO_VALUE, correction=_NO_VALUE
):
    variance = _nan_variance(a, axis, dtype, out, _correction(ddof, correction), keepdims, where, mean)
    return store(out, np.sqrt(variance), "same_kind")


# --- covariance ---


@implements(np.cov)
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    """Without weights."""
    if ddof is not None and not isinstance(ddof, TracedArray) and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    m = as_traced(m)
    if m.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    others = [] if y is None else [as_traced(y).dtype]
    kind = np.result_type(m.dtype, *others, np.float64) if dtype is None else hlo.as_dtype(dtype)
    rows = np.atleast_2d(m).astype(kind)
    rows = rows.T if not rowvar and m.ndim != 1 else rows
    if rows.shape[0] == 0:
        return rows.reshape(0, 0).astype(np.float64)
    if y is not None:
        other = np.atleast_2d(as_traced(y)).astype(kind)
        rows = np.concatenate([rows, other.T if not rowvar and other.shape[0] != 1 else other], axis=0)
    freedom = rows.shape[1] - ((0 if bias else 1) if ddof is None else ddof)
    centered = rows - rows.mean(axis=1, keepdims=True)
    return np.squeeze((centered @ centered.T.conj()) / max(freedom, 0))


@implements(np.corrcoef)
def corrcoef(x, y=None, rowvar=True, *, dtype=None):
    covariance = cov(x, y, rowvar, dtype=dtype)
    if covariance.ndim == 0:
        return covariance / covariance
    deviation = np.sqrt(np.diag(covariance).real)
    scaled = covariance / deviation[:, None] / deviation[None, :]
    if scaled.element_type.is_complex:
        trace = require_trace(scaled)
        parts = [np.clip(scaled.real, -1, 1).instruction(trace), np.clip(scaled.imag, -1, 1).instruction(trace)]
        return result(trace, hlo.complex(*parts))
    return np.clip(scaled, -1, 1)
