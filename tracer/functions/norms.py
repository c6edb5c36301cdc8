"""Norms of vectors and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..recording.array import TracedArray
from ..recording.function_tables import implements
from ..recording.operands import as_traced, known_number, normalize_axis


@implements(np.linalg.norm)
def norm(x, ord=None, axis=None, keepdims=False):
    x = as_traced(x)
    ord = known_number(ord)
    if x.dtype.kind in "iub":
        x = x.astype(np.float64)
    if axis is None and (ord is None or (ord in ("f", "fro") and x.ndim == 2) or (ord == 2 and x.ndim == 1)):
        total = np.sqrt(_sum_of_squares(x, None))
        return total.reshape((1,) * x.ndim) if keepdims else total
    axes = _axes(x, axis)
    if len(axes) == 1:
        return _vector_norm(x, ord, axes, keepdims)
    if len(axes) == 2:
        return _matrix_norm(x, ord, axes, keepdims)
    raise ValueError("Improper number of dimensions to norm.")


def _axes(x: TracedArray, axis: Any) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(x.ndim))
    return tuple(normalize_axis(one, x.ndim) for one in (axis if isinstance(axis, tuple) else (axis,)))


def _sum_of_squares(x: TracedArray, axes: Any, keepdims: bool = False) -> TracedArray:
    if not x.element_type.is_complex:
        return np.sum(x * x, axis=axes, keepdims=keepdims)
    return np.sum(x.real * x.real + x.imag * x.imag, axis=axes, keepdims=keepdims)


def _vector_norm(x: TracedArray, ord: Any, axes: tuple[int, ...], keepdims: bool) -> TracedArray:
    if ord is None or ord == 2:
        return np.sqrt(_sum_of_squares(x, axes, keepdims))
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    if ord == np.inf:
        return abs(x).max(axis=axes, keepdims=keepdims, initial=0)
    if ord == -np.inf:
        return abs(x).min(axis=axes, keepdims=keepdims)
    if ord == 0:
        return np.sum((x != 0).astype(x.real.dtype), axis=axes, keepdims=keepdims)
    if ord == 1:
        return np.sum(abs(x), axis=axes, keepdims=keepdims)
    return np.power(np.sum(abs(x) ** ord, axis=axes, keepdims=keepdims), 1 / ord)


def _matrix_norm(x: TracedArray, ord: Any, axes: tuple[int, ...], keepdims: bool) -> TracedArray:
    row, column = axes
    if row == column:
        raise ValueError("Duplicate axes given.")
    if ord in (None, "fro", "f"):
        return np.sqrt(_sum_of_squares(x, axes, keepdims))
    if ord in (1, -1, np.inf, -np.inf):
        sums = np.sum(abs(x), axis=row if abs(ord) == 1 else column, keepdims=True)
        if ord > 0:
            return np.max(sums, axis=axes, keepdims=keepdims, initial=0)
        return np.min(sums, axis=axes, keepdims=keepdims)
    if ord in (2, -2, "nuc"):
        values = np.linalg.svd(np.moveaxis(x, axes, (-2, -1)), compute_uv=False)
        if ord == 2 and not values.shape[-1]:
            reduced = np.sum(values, axis=-1)
        else:
            reduced = {2: np.max, -2: np.min, "nuc": np.sum}[ord](values, axis=-1)
        return np.expand_dims(reduced, tuple(sorted(axes))) if keepdims else reduced
    raise ValueError("Invalid norm order for matrices.")


@implements(np.linalg.vector_norm)
def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    x = as_traced(x)
    if x.dtype.kind in "iub":
        x = x.astype(np.float64)
    return _vector_norm(x, known_number(ord), _axes(x, axis), keepdims)


@implements(np.linalg.matrix_norm)
def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    return norm(x, ord, (-2, -1), keepdims)
