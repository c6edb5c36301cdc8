"""Sorting, choosing the largest, and searching in what is sorted."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..contenders import Case, Row, case, integers, jax, jnp, normal, row, targets

TITLE = "Sorting and searching, 1 M"

SIZE = 1_000_000
LARGEST = 100


def sort(x):
    return np.sort(x)


def sort_rows(x):
    return np.sort(x, axis=1)


def argsort(x):
    return np.argsort(x)


def stable_argsort(x):
    return np.argsort(x, kind="stable")


def median_place(x):
    """What stands in the middle; the order of the others is anyone's."""
    return np.partition(x, x.size // 2)


def top_k(x):
    return np.sort(np.partition(x, x.size - LARGEST)[x.size - LARGEST :])[::-1]


def jax_top_k(x):
    return jax.lax.top_k(x, LARGEST)[0]


def top_of_rows(x):
    return np.sort(np.partition(x, x.shape[1] - 10, axis=1)[:, x.shape[1] - 10 :], axis=1)[:, ::-1]


def jax_top_of_rows(x):
    return jax.lax.top_k(x, 10)[0]


def searchsorted(a, v):
    return np.searchsorted(a, v)


def interp(x, xp, fp):
    return np.interp(x, xp, fp)


def values(dtype, *shape: int, seed: int = 0) -> np.ndarray:
    return integers(1 << 40, *shape, seed=seed) if dtype == np.int64 else normal(*shape, dtype=dtype, seed=seed)


def of_values(function, dtype, *, shape=(SIZE,), **facts) -> Case:
    return case(function, values(dtype, *shape), **facts)


def jax_argsort(x):
    return jnp.argsort(x)


def ordering(function, dtype) -> Case:
    x = values(dtype, SIZE)
    return case(function, x, jax_function=jax_argsort, comparable=lambda order: x[np.asarray(order)])


def partition(dtype) -> Case:
    """The largest of the lower part, and the middle, are the same whatever the order is."""
    half = SIZE // 2
    return case(median_place, values(dtype, SIZE), comparable=lambda x: (np.asarray(x)[half], np.asarray(x)[:half].max()))


def searching(dtype, in_order: bool) -> Case:
    queries = values(dtype, SIZE, seed=1)
    return case(searchsorted, np.sort(values(dtype, SIZE)), np.sort(queries) if in_order else queries, numba=True)


def interpolation(dtype, knots: int, in_order: bool) -> Case:
    x = normal(SIZE, dtype=dtype)
    points = np.sort(normal(knots, dtype=dtype, seed=1))
    arguments = np.sort(x) if in_order else x, points, normal(knots, dtype=dtype, seed=2)
    return case(interp, *arguments, numba=True, tolerance=1e-3)


def rows() -> Iterator[Row]:
    wanted = targets(NumPy=1)
    for dtype, name in ((np.float32, "f32"), (np.int64, "s64")):
        yield row(f"sort, {name}", wanted, of_values, sort, dtype)
        yield row(f"sort of 1000 rows, {name}", wanted, of_values, sort_rows, dtype, shape=(1000, 1000))
        yield row(f"argsort, {name}", wanted, ordering, argsort, dtype)
        yield row(f"stable argsort, {name}", wanted, ordering, stable_argsort, dtype)
        yield row(f"top {LARGEST}, {name}", wanted, of_values, top_k, dtype, jax_function=jax_top_k)
        top = {"jax_function": jax_top_of_rows, "shape": (1000, 1000)}
        yield row(f"top 10 of 1000 rows, {name}", wanted, of_values, top_of_rows, dtype, **top)
        yield row(f"partition in the middle, {name}", wanted, partition, dtype)
        yield row(f"searchsorted in 1 M, {name}", wanted, searching, dtype, False)
        yield row(f"searchsorted in 1 M, in order, {name}", wanted, searching, dtype, True)
    for dtype, name in ((np.float32, "f32"), (np.float64, "f64")):
        yield row(f"interp in 1,000 points, {name}", wanted, interpolation, dtype, 1000, False)
        yield row(f"interp in 1,000 points, in order, {name}", wanted, interpolation, dtype, 1000, True)
    yield row("interp in 1 M points, f32", wanted, interpolation, np.float32, SIZE, False)
