"""Elementwise code: a fused chain, and what only moves memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...calls_and_chains_rows import axpy, chain
from ..contenders import LARGE, Case, Row, case, numba_package, row, targets, uniform

TITLE = "Elementwise"

prange = numba_package.prange if numba_package else range


def numba_chain(x, y):
    result = np.empty_like(x)
    for i in prange(x.size):
        result[i] = np.exp(-x[i] * x[i]) * np.sin(y[i]) + np.tanh(x[i] * y[i]) + np.log1p(x[i])
    return result


def numba_axpy(x, y):
    result = np.empty_like(x)
    for i in prange(x.size):
        result[i] = np.float32(2) * x[i] + y[i]
    return result


def axpy_in_place(x, y):
    y += 2 * x


def numba_axpy_in_place(x, y):
    for i in prange(x.size):
        y[i] += 2 * x[i]


def triad(x, y, z):
    return x + y * z


def where(x, y):
    return np.where(x > y, x, y * 2)


def to_f64(x):
    return x.astype(np.float64)


def to_f32(x):
    return x.astype(np.float32)


def to_integers(x):
    return x.astype(np.int32)


def of_chain(dtype, size: int) -> Case:
    arguments = uniform(size, dtype=dtype), uniform(size, dtype=dtype, seed=1)
    return case(
        chain, *arguments, numba=numba_chain, bytes=3 * arguments[0].nbytes, tolerance=1e-4 if dtype == np.float32 else 1e-9
    )


def moving(function, count: int, numba, bytes_per_element: int, dtype=np.float32, **facts) -> Case:
    arguments = [uniform(LARGE, dtype=dtype, seed=number) for number in range(count)]
    return case(function, *arguments, numba=numba, bytes=bytes_per_element * LARGE, **facts)


def in_place() -> Case:
    zeros = np.zeros(LARGE, np.float32)  # so that sums stay finite in any number of calls
    return case(
        axpy_in_place, zeros, uniform(LARGE), jax_function=None, numba=numba_axpy_in_place,
        changes_arguments=True, bytes=12 * LARGE, footprint=8 * LARGE,
    )  # fmt: skip


def rows() -> Iterator[Row]:
    for dtype, name in ((np.float32, "f32"), (np.float64, "f64")):
        yield row(f"chain of 9 operations, 10 M {name}", targets(JAX=6, NumPy=10), of_chain, dtype, LARGE)
        for size, title in ((1_000, "1 K"), (100_000, "100 K")):
            yield row(f"chain of 9 operations, {title} {name}", targets(best=4), of_chain, dtype, size)
    wanted = targets(bandwidth=0.85, NumPy=3, JAX=3)
    yield row("2 * x + y, 10 M f32", wanted, moving, axpy, 2, numba_axpy, 12)
    yield row("y += 2 * x, 10 M f32", targets(bandwidth=0.85, NumPy=3), in_place)
    yield row("x + y * z, 10 M f32", wanted, moving, triad, 3, True, 16)
    yield row("where(x > y, x, 2 * y), 10 M f32", wanted, moving, where, 2, True, 12)
    yield row("astype f32 to f64, 10 M", wanted, moving, to_f64, 1, True, 12)
    yield row("astype f64 to f32, 10 M", wanted, moving, to_f32, 1, True, 12, np.float64)
    yield row("astype f32 to i32, 10 M", wanted, moving, to_integers, 1, True, 8)
