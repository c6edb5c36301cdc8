"""Products of arrays of any dimensions, as `np.dot` and `np.tensordot`, and what is made of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..recording import promotion
from ..recording.array import TracedArray, as_index
from ..recording.function_tables import implements
from ..recording.memory_order import is_contiguous
from ..recording.operands import (
    as_strong,
    as_traced,
    normalize_axis,
    one_or_several,
    require_out,
    result,
    store,
    zero_dimensional,
)
from .matrix_products import conjugated, contract, operands_of
from .shape_manipulation import reshaped
from .ufunc_calls import outer as ufunc_outer


@implements(np.dot)
def dot(a, b, out=None):
    trace, lhs, rhs = operands_of(a, b)
    left, right = lhs.shape.dimensions, rhs.shape.dimensions
    if out is not None:
        out, rank = require_out(out), len(left) + len(right) - (2 if left and right else 0)
        if out.dtype != lhs.shape.dtype or out.ndim != rank or not is_contiguous(out, "C"):
            raise ValueError(
                "output array is not acceptable (must have the right datatype, number of dimensions, and be a C-Array)"
            )
    if not left or not right:
        return store(out, np.multiply(as_strong(a), as_strong(b)), "safe")
    row = 0 if len(right) == 1 else len(right) - 2
    if left[-1] != right[row]:
        raise ValueError(
            f"shapes {_text(left)} and {_text(right)} not aligned: {left[-1]} (dim {len(left) - 1}) != {right[row]} (dim {row})"
        )
    return store(out, result(trace, contract(trace, lhs, rhs, ((len(left) - 1,), (row,)))), "safe")


def _text(shape: tuple[int, ...]) -> str:
    return str(shape).replace(" ", "")


@implements(np.vdot)
def vdot(a, b, /):
    trace, lhs, rhs = operands_of(np.ravel(as_traced(a)), np.ravel(as_traced(b)))
    if lhs.shape.dimensions != rhs.shape.dimensions:
        raise ValueError("cannot reshape array: vdot needs operands of the same size")
    return result(trace, contract(trace, conjugated(lhs), rhs, ((0,), (0,))))


@implements(np.inner)
def inner(a, b, /):
    trace, lhs, rhs = operands_of(a, b)
    left, right = lhs.shape.dimensions, rhs.shape.dimensions
    if not left or not right:
        return np.multiply(as_strong(a), as_strong(b))
    if left[-1] != right[-1]:
        raise ValueError(
            f"shapes {_text(left)} and {_text(right)} not aligned: {left[-1]} (dim {len(left) - 1}) != {right[-1]} (dim "
            f"{len(right) - 1})"
        )
    return result(trace, contract(trace, lhs, rhs, ((len(left) - 1,), (len(right) - 1,))))


@implements(np.outer)
def outer(a, b, out=None):
    return store(out, ufunc_outer(np.multiply, np.ravel(as_traced(a)), np.ravel(as_traced(b))), "same_kind")


@implements(np.linalg.outer)
def linalg_outer(x1, x2, /):
    x1, x2 = as_traced(x1), as_traced(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are {x1.ndim=} and {x2.ndim=}.")
    return outer(x1, x2)


@implements(np.tensordot, np.linalg.tensordot)
def tensordot(a, b, axes=2):
    """The axes must be known while tracing."""
    trace, lhs, rhs = operands_of(a, b)
    ranks = lhs.shape.rank, rhs.shape.rank
    if isinstance(axes, (tuple, list)):
        left, right = map(one_or_several, axes)
    else:
        count = as_index(axes, "as a number of axes")
        left, right = tuple(range(ranks[0] - count, ranks[0])), tuple(range(count))
    if len(left) != len(right):
        raise ValueError("shape-mismatch for sum")
    left = tuple(normalize_axis(axis, ranks[0]) for axis in left)
    right = tuple(normalize_axis(axis, ranks[1]) for axis in right)
    if any(lhs.shape.dimensions[i] != rhs.shape.dimensions[j] for i, j in zip(left, right)):
        raise ValueError("shape-mismatch for sum")
    return TracedArray.from_instruction(trace, contract(trace, lhs, rhs, (left, right)), is_scalar=False)


@implements(np.kron)
def kron(a, b):
    a, b = as_strong(a), as_strong(b)
    rank = max(a.ndim, b.ndim)
    if a.ndim == 0 or b.ndim == 0:
        return np.multiply(a, b)
    left, right = ((1,) * (rank - one.ndim) + one.shape for one in (a, b))
    spread_left = reshaped(a, tuple(size for own in left for size in (own, 1)))
    spread_right = reshaped(b, tuple(size for own in right for size in (1, own)))
    return np.multiply(spread_left, spread_right).reshape([i * j for i, j in zip(left, right)])


@implements(np.trace)
def trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    return np.sum(np.diagonal(as_traced(a), offset, axis1, axis2), axis=-1, dtype=dtype, out=out)


@implements(np.linalg.trace)
def linalg_trace(x, /, *, offset=0, dtype=None):
    return trace(x, offset, -2, -1, dtype)


@implements(np.cross)
def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = as_traced(a), as_traced(b)
    if not a.ndim or not b.ndim:
        raise ValueError("At least one array has zero dimension")
    a, b = np.moveaxis(a, axisa, -1), np.moveaxis(b, axisb, -1)
    if any(isinstance(one.shape[-1], TracedArray) for one in (a, b)):
        raise NotImplementedError(
            "np.cross of vectors in a number of dimensions that the program decides is not implemented. Fix: give them three"
        )
    if a.shape[-1] not in (2, 3) or b.shape[-1] not in (2, 3):
        raise ValueError(
            f"Both input arrays must be (arrays of) 3-dimensional vectors, but they are {a.shape[-1]} and {b.shape[-1]} "
            "dimensional instead."
        )

    def parts(one: TracedArray) -> list:
        return [one[..., i] for i in range(one.shape[-1])]

    x, y = parts(a), parts(b)
    third = x[0] * y[1] - x[1] * y[0]
    if len(x) == len(y) == 2:
        return zero_dimensional(third)
    kind = promotion.result_dtype([a.dtype_class, b.dtype_class])
    x, y = (one if len(one) == 3 else [*one, np.zeros_like(one[0], dtype=kind)] for one in (x, y))
    product = np.stack(np.broadcast_arrays(x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], third), axis=-1)
    return np.moveaxis(product, -1, axisc)


@implements(np.linalg.cross)
def linalg_cross(x1, x2, /, *, axis=-1):
    x1, x2 = as_traced(x1), as_traced(x2)
    first, second = [one.shape[normalize_axis(axis, one.ndim)] for one in (x1, x2)]
    if first != 3 or second != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, "
            f"but they are {first} and {second} dimensional instead."
        )
    return cross(x1, x2, axis=axis)


@implements(np.linalg.matrix_power)
def matrix_power(a, n):
    """The exponent must be known while tracing; a negative one takes the inverse."""
    a = as_traced(a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    n = as_index(n, "as an exponent")
    if n < 0:
        return matrix_power(np.linalg.inv(a), -n)
    if n == 0:
        return np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype, like=a), a.shape)
    power, square = None, a
    while n:
        n, bit = divmod(n, 2)
        if bit:
            power = square if power is None else power @ square
        square = square @ square if n else square
    return power


@implements(np.linalg.multi_dot)
def multi_dot(arrays, *, out=None):
    """Multiplied in the order of least arithmetic.

    Source: the dynamic program for matrix-chain multiplication (Cormen et al., "Introduction to Algorithms").
    """
    matrices = [as_traced(one) for one in arrays]
    if len(matrices) < 2:
        raise ValueError("Expecting at least two arrays.")
    first, last = matrices[0].ndim == 1, matrices[-1].ndim == 1
    matrices[0] = matrices[0].reshape(1, -1) if first else matrices[0]
    matrices[-1] = matrices[-1].reshape(-1, 1) if last else matrices[-1]
    if any(one.ndim != 2 for one in matrices):
        raise np.linalg.LinAlgError("array must be two-dimensional")
    sizes = [matrices[0].shape[0], *(one.shape[1] for one in matrices)]
    best: dict[tuple[int, int], tuple[int, Any]] = {(i, i): (0, None) for i in range(len(matrices))}
    for length in range(1, len(matrices)):
        for i in range(len(matrices) - length):
            j = i + length
            costs = [(best[i, k][0] + best[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)]
            best[i, j] = min(costs)

    def multiply(i: int, j: int) -> TracedArray:
        if i == j:
            return matrices[i]
        k = best[i, j][1]
        return multiply(i, k) @ multiply(k + 1, j)

    product = multiply(0, len(matrices) - 1)
    if out is not None and require_out(out).dtype != product.dtype:
        raise ValueError(
            "output array is not acceptable (must have the right datatype, number of dimensions, and be a C-Array): it is "
            f"{out.dtype}, and the product {product.dtype}"
        )
    return store(out, product[0 if first else slice(None), 0 if last else slice(None)])
