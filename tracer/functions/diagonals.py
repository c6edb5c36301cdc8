"""What has to do with diagonals: identities, triangles, what lies on a diagonal and what is set there."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import hlo
from ..recording.array import TracedArray, as_index, require_trace
from ..recording.function_tables import DYNAMIC, implements
from ..recording.memory_order import laid_out
from ..recording.operands import (
    as_size,
    as_traced,
    broadcast,
    convert,
    has_traced,
    normalize_axis,
    result,
)
from .creation import iota, require_addresses, require_cpu
from .shape_manipulation import permuted


def _band(rows: int, columns: int, k: int, direction: str) -> hlo.Instruction:
    """Where column - row compares to k: pred[rows, columns]."""
    require_trace()
    row, column = (iota((rows, columns), dimension, hlo.S64) for dimension in (0, 1))
    shifted = hlo.add(row, broadcast(hlo.constant(k, hlo.S64), (rows, columns))) if k else row
    return hlo.compare(column, shifted, direction=direction)


@implements(np.eye)
def eye(N, M=None, k=0, dtype=float, order="C", *, device=None, like=None):
    require_cpu(device)
    if has_traced((N, M)):
        return DYNAMIC[np.eye](N, M, k, dtype)
    rows = as_size(N)
    columns = rows if M is None else as_size(M)
    require_addresses((rows, columns), np.dtype(dtype))
    trace = require_trace()
    band = _band(rows, columns, as_index(k, "as a diagonal"), "EQ")
    return laid_out(result(trace, convert(band, hlo.element_type_of(dtype))), (), order)


@implements(np.identity)
def identity(n, dtype=None, *, like=None):
    return eye(n, dtype=float if dtype is None else dtype)


@implements(np.tri)
def tri(N, M=None, k=0, dtype=float, *, like=None):
    rows = max(as_index(N, "as a size of a shape"), 0)
    columns = rows if M is None else max(as_index(M, "as a size of a shape"), 0)
    require_addresses((rows, columns), np.dtype(bool))
    trace = require_trace()
    return result(trace, convert(_band(rows, columns, _diagonal(k), "LE"), hlo.element_type_of(dtype)))


def _diagonal(k: Any) -> int:
    """The number of a diagonal, which may be a float for triangles."""
    return int(k) if isinstance(k, float) and k.is_integer() else as_index(k, "as a diagonal")


def _triangle(m: Any, k: Any, direction: str) -> TracedArray:
    m = as_traced(m)
    k = _diagonal(k)
    if m.ndim < 1:
        raise ValueError("Input array must be at least 1-d")
    rows, columns = (m.shape[-1], m.shape[-1]) if m.ndim == 1 else m.shape[-2:]
    shape = (rows, columns) if m.ndim == 1 else m.shape
    trace = require_trace(m)
    band = _band(rows, columns, k, direction)
    mask = broadcast(band, shape)
    operand = broadcast(m.instruction(trace), shape)
    zero = broadcast(hlo.constant(0, m.element_type), shape)
    return laid_out(result(trace, hlo.select(mask, operand, zero)), (result(trace, band), m))


@implements(np.tril)
def tril(m, k=0):
    return _triangle(m, k, "LE")


@implements(np.triu)
def triu(m, k=0):
    return _triangle(m, k, "GE")


@implements(np.diag)
def diag(v, k=0):
    v = as_traced(v)
    k = as_index(k, "as a diagonal")
    if v.ndim == 1:
        size = v.shape[0] + abs(k)
        trace = require_trace(v)
        # Element i of v goes to row i + max(-k, 0): v in every row, shifted, and all but the diagonal zeroed.
        row = hlo.pad(v.instruction(trace), hlo.constant(0, v.element_type), padding=[(max(k, 0), max(-k, 0), 0)])
        spread = hlo.broadcast(row, (size, size), (1,))
        zero = broadcast(hlo.constant(0, v.element_type), (size, size))
        return result(trace, hlo.select(_band(size, size, k, "EQ"), spread, zero))
    if v.ndim == 2:
        return diagonal(v, k)
    raise ValueError("Input must be 1- or 2-d.")


@implements(np.diagflat)
def diagflat(v, k=0):
    return diag(np.ravel(as_traced(v)), k)


@implements(np.diagonal)
def diagonal(a, offset=0, axis1=0, axis2=1):
    a = as_traced(a)
    if a.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    first, second = normalize_axis(axis1, a.ndim), normalize_axis(axis2, a.ndim)
    if first == second:
        raise ValueError("axis1 and axis2 cannot be the same")
    offset = as_index(offset, "as a diagonal")
    a = permuted(a, [axis for axis in range(a.ndim) if axis not in (first, second)] + [first, second])
    rows, columns = a.shape[-2:]
    count = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    a = a[..., max(-offset, 0) : max(-offset, 0) + count, max(offset, 0) : max(offset, 0) + count]
    lead = a.shape[:-2]

    def read(trace, base):
        flat = hlo.reshape(base, (*lead, count * count))
        ranges = [(0, size, 1) for size in lead] + [(0, count * count, count + 1)]
        return hlo.emit("slice", flat, slice=tuple(ranges)) if count > 1 else flat

    *steps, row, column = a.element_strides
    return TracedArray.view_of(a, (*lead, count), read, None, (*steps, row + column))


@implements(np.linalg.diagonal)
def matrix_diagonal(x, /, *, offset=0):
    return diagonal(x, offset, -2, -1)


@implements(np.fill_diagonal)
def fill_diagonal(a, val, wrap=False):
    """In place."""
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    step = 1 + sum(a.shape[-1] ** power for power in range(1, a.ndim))
    end = None if a.ndim > 2 or wrap else a.shape[1] * a.shape[1]
    a.flat[:end:step] = val
