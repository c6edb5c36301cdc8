"""Median, quantiles and percentiles, with and without NaN.

Source of the methods: R. J. Hyndman and Y. Fan, "Sample quantiles in statistical packages", The American Statistician 50
(1996), numbered as in ``numpy.quantile``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any

import numpy as np

from ..recording.array import TracedArray, require_trace
from ..recording.function_tables import implements
from ..recording.operands import as_strong, as_traced, has_traced, normalize_axes, prepare, require, result, store
from .sorting import sorted_instruction

_NO_VALUE = np._NoValue


def _in_one_axis(a: TracedArray, axis: Any) -> tuple[TracedArray, tuple[int, ...]]:
    """The array with the reduced axes as its last one, and their numbers."""
    axes = normalize_axes(axis, a.ndim)
    kept = [d for d in range(a.ndim) if d not in axes]
    moved = np.transpose(a, (*kept, *axes))
    return moved.reshape([a.shape[d] for d in kept] + [prod(a.shape[d] for d in axes)]), axes


def _sorted(a: TracedArray) -> TracedArray:
    """Sorted along the last axis."""
    trace = require_trace(a)
    return result(trace, sorted_instruction(trace, a.instruction(trace), a.ndim - 1))


def _finish(
    found: TracedArray, a: TracedArray, axes: tuple[int, ...], keepdims: Any, out: Any, leading: int = 0, **storing: Any
) -> TracedArray:
    """The result with the reduced dimensions kept as 1 if wanted, behind ``leading`` ones of its own; see `store`."""
    if keepdims is not _NO_VALUE and keepdims:
        sizes = [1 if d in axes else size for d, size in enumerate(a.shape)]
        found = found.reshape((*found.shape[:leading], *sizes))
    return found[()] if out is None else store(out, found, **storing)


def _element(ordered: TracedArray, position: Any) -> TracedArray:
    """The elements at a position of the last axis, the nearest to it: a number, or a traced number for each row."""
    last = ordered.shape[-1] - 1
    if not isinstance(position, TracedArray):
        return ordered[..., int(position)]
    places = np.clip(position.astype(np.int64), 0, last)[..., None]
    return np.take_along_axis(ordered, places, -1)[..., 0]


# --- the median ---


def _median(a: Any, axis: Any, out: Any, keepdims: Any) -> TracedArray:
    a = as_strong(prepare(a))
    rows, axes = _in_one_axis(a, axis)
    ordered, size = _sorted(rows), rows.shape[-1]
    middle = ordered[..., max(0, (size - 1) // 2) : size // 2 + 1]
    found = np.mean(middle, axis=-1)
    if size and a.dtype.kind not in "iub":
        last = ordered[..., -1]
        found = np.where(np.isnan(last), last, found)
    return _finish(found, a, axes, keepdims, out)


@implements(np.median)
def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """By sorting whole rows; ``overwrite_input`` changes nothing."""
    return _median(a, axis, out, keepdims)


@implements(np.nanmedian)
def nanmedian(a, axis=None, out=None, overwrite_input=False, keepdims=_NO_VALUE):
    a = as_strong(prepare(a))
    if a.dtype.kind in "iub" or a.size == 0:
        return _median(a, axis, out, keepdims)
    rows, axes = _in_one_axis(a, axis)
    count = np.sum(~np.isnan(rows), axis=-1)
    ordered = _sorted(rows)
    low, high = _element(ordered, (count - 1) // 2), _element(ordered, count // 2)
    found = np.mean(np.stack([low, high], axis=-1), axis=-1)
    found = np.where(count % 2 == 1, np.mean(low[..., None], axis=-1), found)
    return _finish(np.where(count == 0, np.asarray(np.nan, a.dtype)[()], found), a, axes, keepdims, out)


# --- quantiles ---


def _between(alpha: float, beta: float) -> Callable:
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


def _next_unless(at_boundary: Callable) -> Callable:
    """The discrete methods: the next position, or the one itself where the fraction is zero and a condition holds."""

    def position(index: Any) -> Any:
        low = np.floor(index)
        return np.maximum(np.where((index == low) & at_boundary(low), low, low + 1), 0)

    return position


_inverted = _next_unless(lambda low: low == low)
_closest = _next_unless(lambda low: low % 2 == 1)

# Methods that take one element, by their positions.
_DISCRETE: dict[str, Callable] = {
    "inverted_cdf": lambda n, q: _inverted(n * q - 1),
    "closest_observation": lambda n, q: _closest(n * q - 1.5),
    "lower": lambda n, q: np.floor((n - 1) * q),
    "higher": lambda n, q: np.ceil((n - 1) * q),
    "nearest": lambda n, q: np.rint((n - 1) * q),
}
# Methods that interpolate between two, by a position with a fraction.
_CONTINUOUS: dict[str, Callable] = {
    "averaged_inverted_cdf": lambda n, q: n * q - 1,
    "interpolated_inverted_cdf": _between(0, 1),
    "hazen": _between(0.5, 0.5),
    "weibull": _between(0, 0),
    "linear": lambda n, q: (n - 1) * q,
    "median_unbiased": _between(1 / 3, 1 / 3),
    "normal_unbiased": _between(3 / 8, 3 / 8),
    "midpoint": lambda n, q: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
}


def _fraction(method: str, index: Any, low: Any) -> Any:
    gamma = index - low
    if method == "averaged_inverted_cdf":
        return np.where(gamma == 0, 0.5, 1.0)
    if method == "midpoint":
        return np.where(index % 1 == 0, 0.0, 0.5)
    return gamma


@cache
def has_quantiles_of_nothing() -> bool:
    """Whether quantiles of no elements are NaN, as in some versions of NumPy; in others they are an IndexError."""
    try:
        np.quantile(np.zeros(0), 0.5)
    except IndexError:
        return False
    return True


NO_QUANTILE = "index -1 is out of bounds for axis 0 with size 0"


def _quantile_of_rows(ordered: TracedArray, count: Any, q: Any, method: str, kind: np.dtype) -> TracedArray:
    """One quantile of each sorted row, of which the first ``count`` elements count."""
    last = count - 1
    if method in _DISCRETE:
        position = np.minimum(np.maximum(_DISCRETE[method](count, q), 0), last)
        return _element(ordered, position).astype(kind, copy=False)
    index = _CONTINUOUS[method](count, q)
    low = np.floor(index)
    first, second = (np.minimum(np.maximum(position, 0), last) for position in (low, low + 1))
    before, after = _element(ordered, first), _element(ordered, second)
    gamma = _fraction(method, index, low)
    if isinstance(gamma, TracedArray):
        gamma = gamma.astype(kind, copy=False)
    else:
        gamma = float(gamma) if kind == ordered.dtype else kind.type(gamma)
    difference = np.subtract(after, before)
    nearer = (after - difference * (1 - gamma)).astype(kind, copy=False)
    farther = (before + difference * gamma).astype(kind, copy=False)
    if isinstance(gamma, TracedArray):
        return np.where(gamma >= 0.5, nearer, farther)
    return nearer if gamma >= 0.5 else farther


def _quantile(
    a: Any, q: Any, axis: Any, out: Any, method: str, keepdims: Any, weights: Any, is_percentile: bool, leaves_nan_out: bool
) -> TracedArray:
    a = as_strong(prepare(a))
    if a.element_type.is_complex:
        raise TypeError("a must be an array of real numbers")
    if method not in _DISCRETE and method not in _CONTINUOUS:
        raise ValueError(f"{method!r} is not a valid method. Use one of: {', '.join([*_DISCRETE, *_CONTINUOUS])}")
    q_given = q
    q = prepare(q) if has_traced(q) else np.asarray(q)
    kind, shape = dtype_of_quantiles(a.dtype, q_given if type(q_given) in (int, float) else q, method, is_percentile), q.shape
    if len(shape) > 2:
        raise ValueError("q must be a scalar or 1d")
    fractions = _fractions(q, is_percentile)
    if leaves_nan_out and a.size == 0:  # whatever the quantiles are
        return np.nanmean(a, axis, None, out, keepdims)
    rows, axes = _in_one_axis(a, axis)
    if 0 in shape:
        nothing = np.full_like(rows, 0, dtype=kind, shape=(*shape, *rows.shape[:-1]))
        return _finish(nothing, a, axes, keepdims, out, len(shape))
    if rows.shape[-1] == 0:
        if not has_quantiles_of_nothing() or method in _DISCRETE or a.dtype.kind in "iub":
            raise IndexError(NO_QUANTILE)
        nothing = np.full_like(rows, np.nan, dtype=kind, shape=(*shape, *rows.shape[:-1]))
        return _finish(nothing, a, axes, keepdims, out, len(shape))
    is_float = a.dtype.kind not in "iub"
    count: Any = np.sum(~np.isnan(rows), axis=-1) if leaves_nan_out and is_float else rows.shape[-1]
    if weights is None:
        ordered = _sorted(rows)
        quantiles = [_quantile_of_rows(ordered, count, one, method, kind) for one in fractions]
    else:
        if method != "inverted_cdf":
            raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
        weights = _weights_of_rows(as_traced(weights), a, axis)
        ordered, quantiles = _weighted(rows, weights, fractions, leaves_nan_out)
        quantiles = [one.astype(kind, copy=False) for one in quantiles]
    if is_float:
        last = ordered[..., -1]
        invalid = count == 0 if leaves_nan_out else np.isnan(last)
        quantiles = [np.where(invalid, last.astype(kind, copy=False), one) for one in quantiles]
    found = quantiles[0] if not shape else np.stack(quantiles).reshape((*shape, *rows.shape[:-1]))
    storing = {"stands_for_it": True} if method in _DISCRETE else {"casting": "same_kind"}
    found = _finish(found, a, axes, keepdims, out, len(shape), **storing)
    if weights is not None and not found.ndim and out is None:  # NumPy returns no scalar here
        found = TracedArray.from_instruction(require_trace(found), found.instruction(require_trace(found)), is_scalar=False)
    return found


def _weights_of_rows(weights: TracedArray, a: TracedArray, axis: Any) -> TracedArray:
    require(np.all(weights >= 0), ValueError, "Weights must be non-negative.")
    if weights.shape == a.shape:
        return _in_one_axis(weights, axis)[0]
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    if weights.shape != tuple(a.shape[one] for one in normalize_axes(axis, a.ndim)):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    return weights.reshape(-1)


def _weighted(rows: TracedArray, weights: TracedArray, fractions: list, leaves_nan_out: bool) -> tuple[TracedArray, list]:
    """The rows in order, and of each the first element up to which the weights are at least this fraction of all."""
    order = np.argsort(rows, axis=-1, stable=True)
    ordered = np.take_along_axis(rows, order, -1)
    sums = np.take_along_axis(np.broadcast_to(weights, rows.shape), order, -1).astype(np.float64)
    if leaves_nan_out:
        sums = np.where(np.isnan(ordered), 0.0, sums)
    sums = np.cumsum(sums, axis=-1)
    all_of_them = sums[..., -1:]
    if not leaves_nan_out:
        message = "Weights included NaN, inf or were all zero."
        require(np.all(np.isfinite(all_of_them) & (all_of_them != 0)), ValueError, message)
    sums = np.where(sums == 0, -1.0, sums / all_of_them)  # elements without weight before the first one
    places = [np.minimum(np.sum(sums < one, axis=-1, keepdims=True), rows.shape[-1] - 1) for one in fractions]
    return ordered, [np.take_along_axis(ordered, place, -1)[..., 0] for place in places]


def dtype_of_quantiles(a: np.dtype, q: Any, method: str, is_percentile: bool) -> np.dtype:
    """That of NumPy's result, which depends on its version where q is no Python number. Percentages are never integers."""
    if isinstance(q, TracedArray):
        sample = q.dtype.type(0).item() if q.weak_type else np.zeros(1 if q.ndim else (), q.dtype)
    else:
        sample = q if type(q) in (int, float) else np.zeros(1 if np.ndim(q) else (), np.asarray(q).dtype)
    if type(sample) is float or type(sample) is int and is_percentile:
        sample = 0.0
    elif is_percentile:
        sample = np.true_divide(sample, 100)
    return np.asarray(np.quantile(np.ones(2, a), sample, method=method)).dtype


def _fractions(q: Any, is_percentile: bool) -> list:
    """Each quantile as a number or a traced one, in [0, 1]."""
    scale = 100 if is_percentile else 1
    message = "Percentiles must be in the range [0, 100]" if is_percentile else "Quantiles must be in the range [0, 1]"
    if not isinstance(q, TracedArray):
        fractions = np.true_divide(q, scale).astype(np.float64).ravel()
        if not np.all((fractions >= 0) & (fractions <= 1)):
            raise ValueError(message)
        return list(fractions)
    fractions = (q / scale if is_percentile else q).astype(np.float64).reshape(-1)
    trace = require_trace(q)
    wrong = ~np.all((fractions >= 0) & (fractions <= 1))
    trace.add_error_flag(wrong.instruction(trace), ValueError, message)
    return [fractions[position] for position in range(fractions.shape[0])]


def _declare(function: Callable, is_percentile: bool, leaves_nan_out: bool, default_keepdims: Any) -> None:
    def implementation(
        a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=default_keepdims, *, weights=None,
        interpolation=None,
    ):  # fmt: skip
        if interpolation is not None:
            method = interpolation
        return _quantile(a, q, axis, out, method, keepdims, weights, is_percentile, leaves_nan_out)

    implements(function)(implementation)


_declare(np.quantile, False, False, False)
_declare(np.percentile, True, False, False)
_declare(np.nanquantile, False, True, _NO_VALUE)
_declare(np.nanpercentile, True, True, _NO_VALUE)
