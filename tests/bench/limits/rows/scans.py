"""Running sums, products and maxima: of a line, and along either axis of a table."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..contenders import LARGE, Case, Row, case, jax, numba_package, row, targets, uniform

TITLE = "Scans, 10 M f32"

prange = numba_package.prange if numba_package else range
SHAPES = (((LARGE,), 0, "a line"), ((1000, 10_000), 0, "first axis"), ((1000, 10_000), 1, "last axis"))


def cumsum(axis):
    return lambda x: np.cumsum(x, axis=axis)


def cumprod(axis):
    return lambda x: np.cumprod(x, axis=axis)


def cummax(axis):
    return lambda x: np.maximum.accumulate(x, axis=axis)


def jax_cummax(axis):
    return lambda x: jax.lax.cummax(x, axis=axis)


def numba_cumsum(x):
    return np.cumsum(x)


def numba_cumprod(x):
    return np.cumprod(x)


def numba_cummax(x):
    result = np.empty_like(x)
    largest = x[0]
    for i in range(x.size):
        largest = max(largest, x[i])
        result[i] = largest
    return result


def scan(function, jax_function, numba, shape, axis: int) -> Case:
    """Values near 1, so that products stay in range; what f32 rounds off adds up, and more or less so by the order."""
    x = uniform(*shape, low=0.9999, high=1.0001)
    others = {"jax_function": jax_function(axis) if jax_function else True, "numba": numba if len(shape) == 1 else None}
    return case(function(axis), x, bytes=2 * x.nbytes, tolerance=0.1, turns=5, parallel=False, **others)


def rows() -> Iterator[Row]:
    wanted = targets(NumPy=5, JAX=8)
    for name, *functions in (
        ("cumsum", cumsum, None, numba_cumsum),
        ("cumprod", cumprod, None, numba_cumprod),
        ("cummax", cummax, jax_cummax, numba_cummax),
    ):
        for shape, axis, title in SHAPES:
            yield row(f"{name}, {title}", wanted, scan, *functions, shape, axis)
