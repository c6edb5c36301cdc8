"""Additions at given places, histograms, and masks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..contenders import LARGE, Case, Row, case, integers, jax, jnp, normal, numba_package, row, targets, uniform

TITLE = "Scatters and masks"

UPDATES = 1_000_000
prange = numba_package.prange if numba_package else range


def scatter_add(x, i, u):
    y = x.copy()
    np.add.at(y, i, u)
    return y


def jax_scatter_add(x, i, u):
    return x.at[i].add(u)


def numba_scatter_add(x, i, u):
    y = x.copy()
    for k in range(i.size):
        y[i[k]] += u[k]
    return y


def segment_sums(count):
    return lambda i, u: np.bincount(i, u, count)


def jax_segment_sums(count):
    return lambda i, u: jax.ops.segment_sum(u, i, count)


def numba_segment_sums(count):
    def sums(i, u):
        y = np.zeros(count)
        for k in range(i.size):
            y[i[k]] += u[k]
        return y

    return sums


def segment_rows(count):
    def sums(i, u):
        y = np.zeros((count, u.shape[1]), u.dtype)
        np.add.at(y, i, u)
        return y

    return sums


def numba_segment_rows(count):
    def sums(i, u):
        y = np.zeros((count, u.shape[1]), u.dtype)
        for k in range(i.size):
            for j in range(u.shape[1]):
                y[i[k], j] += u[k, j]
        return y

    return sums


def histogram(x):
    return np.histogram(x, bins=100, range=(-4, 4))[0]


def counts(i):
    return np.bincount(i, minlength=1000)


def jax_counts(i):
    return jnp.bincount(i, length=1000)


def without_negatives(x):
    y = x.copy()
    y[y < 0] = 0
    return y


def jax_without_negatives(x):
    return jnp.where(x < 0, 0, x)


def numba_without_negatives(x):
    y = np.empty_like(x)
    for k in prange(x.size):
        y[k] = 0 if x[k] < 0 else x[k]
    return y


def masked_update(x, m):
    y = x.copy()
    y[m] *= 2
    return y


def jax_masked_update(x, m):
    return jnp.where(m, x * 2, x)


def numba_masked_update(x, m):
    y = np.empty_like(x)
    for k in prange(x.size):
        y[k] = x[k] * 2 if m[k] else x[k]
    return y


def sum_of_positive(x):
    return x[x > 0].sum()


def jax_sum_of_positive(x):
    return jnp.sum(x, where=x > 0)


def numba_sum_of_positive(x):
    total = 0.0
    for k in prange(x.size):
        if x[k] > 0:
            total += x[k]
    return total


def mean_of_positive(x):
    return x[x > 0].mean()


def jax_mean_of_positive(x):
    return jnp.mean(x, where=x > 0)


def largest_within(x, m):
    return x[m].max()


def jax_largest_within(x, m):
    return jnp.max(x, where=m, initial=-jnp.inf)


def positive(x):
    return x[x > 0]


def scattered(places: int, dtype=np.float32) -> Case:
    arguments = np.zeros(places, dtype), integers(places, UPDATES), uniform(UPDATES, dtype=dtype)
    return case(scatter_add, *arguments, jax_function=jax_scatter_add, numba=numba_scatter_add, parallel=False, tolerance=1e-3)


def segments(count: int) -> Case:
    functions = {"jax_function": jax_segment_sums(count), "numba": numba_segment_sums(count), "parallel": False}
    return case(segment_sums(count), integers(count, UPDATES), uniform(UPDATES, dtype=np.float64), tolerance=1e-9, **functions)


def rows_in_segments(count: int, width: int) -> Case:
    functions = {"jax_function": jax_segment_sums(count), "numba": numba_segment_rows(count), "parallel": False}
    u = uniform(UPDATES // width, width)
    return case(segment_rows(count), integers(count, len(u)), u, tolerance=1e-3, **functions)


def of_line(function, size: int, jax_function=True, numba=None, mask: bool = False, written: bool = True, **facts) -> Case:
    x = normal(size)
    arguments = (x, normal(size, seed=1) > 0) if mask else (x,)
    work = sum(one.nbytes for one in arguments) + written * x.nbytes
    return case(function, *arguments, jax_function=jax_function, numba=numba, bytes=work, tolerance=1e-3, **facts)


def counted() -> Case:
    return case(counts, integers(1000, UPDATES), jax_function=jax_counts, numba=numba_counts, parallel=False)


def numba_counts(i):
    y = np.zeros(1000, np.int64)
    for k in range(i.size):
        y[i[k]] += 1
    return y


def rows() -> Iterator[Row]:
    wanted = targets(best=1.5)
    yield row("scatter-add, 1 M updates of 1,000, f32", wanted, scattered, 1000)
    yield row("scatter-add, 1 M updates of 1 M, f32", wanted, scattered, UPDATES)
    yield row("scatter-add, 1 M updates of 1,000, f64", wanted, scattered, 1000, np.float64)
    yield row("histogram of 100 bins, 1 M f32", wanted, of_line, histogram, UPDATES, numba=True, written=False)
    yield row("bincount of 1,000, 1 M", wanted, counted)
    yield row("segment sums of 1,000, 1 M f64", wanted, segments, 1000)
    yield row("segment sums of rows of 16, 62,500 f32", wanted, rows_in_segments, 1000, 16)
    for size, name in ((UPDATES, "1 M"), (LARGE, "10 M")):
        functions = jax_without_negatives, numba_without_negatives
        yield row(f"x[x < 0] = 0, {name} f32", wanted, of_line, without_negatives, size, *functions)
        functions = jax_masked_update, numba_masked_update
        yield row(f"x[m] *= 2, {name} f32", wanted, of_line, masked_update, size, *functions, mask=True)
        functions = jax_sum_of_positive, numba_sum_of_positive
        yield row(f"x[x > 0].sum(), {name} f32", wanted, of_line, sum_of_positive, size, *functions, written=False)
    yield row("x[x > 0].mean(), 10 M f32", wanted, of_line, mean_of_positive, LARGE, jax_mean_of_positive, written=False)
    yield row("x[m].max(), 10 M f32", wanted, of_line, largest_within, LARGE, jax_largest_within, mask=True, written=False)
    yield row("x[x > 0], 10 M f32", wanted, of_line, positive, LARGE, None, True)
