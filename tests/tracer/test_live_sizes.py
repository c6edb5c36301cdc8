"""Loops stop at sizes that are known when the program runs: for many sizes within one bound, the same as undecorated."""

import numpy as np
import pytest
from phlox import jit

BOUND = 1000
SIZES = [0, 1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 255, 256, 500, 998, 999, 1000]

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


@case
def elementwise(x, n):
    y = x[:n]
    return np.exp(-np.abs(y)), y * 2 + 1, y > 0


@case
def reduced(x, n):
    y = x[:n]
    return y.sum(), (y * y).mean() if n else 0.0, np.abs(y).sum(), (y > 0).any(), (y > 0.5).sum(), np.prod(y[:3])


@case
def extrema(x, n):
    if n == 0:
        return 0.0, 0.0, 0
    y = x[:n]
    return y.max(), np.exp(y).min(), int(np.argmax(y))


@case
def selected(x, n):
    chosen = x[np.arange(len(x)) < n]
    return np.tanh(chosen), np.sqrt(chosen * chosen + 1), np.sin(chosen).sum(), chosen.size


@case
def outer_products(x, n):
    y = x[:n]
    table = np.subtract.outer(y[:30], y)
    return np.abs(table), table.sum(axis=1), table.sum(axis=0), np.exp(table).max(initial=0.0), table.T * 2


@case
def carried(x, n):
    y, table, total = x[:n], np.outer(x[:30], x)[:, : n // 2], 0.0
    while len(y) > 5:
        y = np.cos(y) - y[::-1]
        total += y.sum() + np.abs(table).max(initial=0.0)
        y, table = y[: 2 * len(y) // 3], table[1:, : len(y) // 3] + table[:1, 1]
    return y, table, total, np.exp(y), table.sum(axis=1)


@case
def rows(x, n):
    table = x.reshape(-1, 4)[: n // 4]
    return table.sum(axis=0), table.sum(axis=1), table.mean(axis=1), table * table, np.cumsum(table, axis=0), table.sum()


@case
def wide_rows(x, n):
    table = np.outer(x, x[::2])[:n]
    return table.sum(axis=0), table.sum(axis=1), np.abs(table).max(axis=1)


@case
def two_sizes(x, n):
    table = np.outer(x, x)[:n, : n // 2]
    return table.sum(axis=0), table.sum(axis=1), table.sum(), table + table[:, ::-1], table.T


@case
def columns(x, n):
    """Of rows that are kept in registers, and of rows that are too long for that."""
    wide, narrow = np.outer(x, x)[: n // 2, :n], np.outer(x, x[:100])[n // 2 :, : n // 10]
    of_each = [(table.sum(axis=0), np.abs(table).max(axis=0, initial=0), (table > 0).any(axis=0)) for table in (wide, narrow)]
    return *of_each[0], *of_each[1], wide.sum(axis=0).sum(), np.abs(wide).max(axis=0, initial=0).max(initial=0)


@case
def products(x, n):
    """Sums over sizes, rows and columns of sizes, and stacks; with one vector, and with tables."""
    chosen = np.arange(len(x)) < n
    table, y = np.stack([x, x * x, x - 1], axis=1)[chosen], x[chosen]
    wide, square = np.outer(x[:70], x)[:, :n], np.outer(x, x)[:n, :n]
    stacks = np.stack([table, table * 2])
    return (
        table.T @ table, wide @ table, wide @ y, y @ table, table @ np.ones((3, 90)), table @ x[:3], table[:40] @ wide[:3],
        wide @ wide.T, square[: n // 2] @ square[:, :5], np.einsum("bij,bik->bjk", stacks, stacks), stacks @ wide[:3],
        np.einsum("ij,ik->jk", table, table), np.cov(wide[:2]) if n > 1 else 0.0,
    )  # fmt: skip


@case
def made(x, n):
    zeros, counted = np.zeros((n, n // 3)), np.arange(n)
    ones = np.ones(n)
    ones[counted % 3 == 0] = x[0]
    return zeros + 1, counted * 2, ones


@case
def gathered(x, n):
    places = np.nonzero(np.arange(len(x)) < n)[0]
    return x[places] * 2, x[places[::-1]], places


@case
def scattered(x, n):
    places = np.flatnonzero(np.arange(len(x)) < n)
    y, counts = np.zeros(len(x)), np.zeros(7)
    y[places] = np.abs(x[places]) + 1
    np.add.at(counts, places % 7, 1.0)
    z = x.copy()
    z[places] += 2
    return y, counts, z


@case
def read_behind(x, n):
    """What is behind the size of one is needed by another."""
    y = x * 2
    return y[:n], y.sum(), y[n:], y[n // 2 :].sum()


@case
def kept_in_a_loop(x, n):
    total = np.zeros(3)
    for k in range(1, 6):
        part = np.exp(x[: n // k])
        total[k % 3] += part.sum() + (part > 1).sum()
    return total


@case
def reversed_and_joined(x, n):
    y = np.sin(x[:n])
    return y[::-1], np.concatenate([y, y + 1]), np.where(y > 0, y, -y), np.roll(y, 2)


@case
def sorted_parts(x, n):
    y = x[:n]
    return np.sort(y), np.argsort(y, kind="stable"), np.sort(y)[::-1], np.unique(np.round(y)), np.sort(-y)[n // 2 :]


@case
def sorted_selections(x, n):
    y = x[np.arange(len(x)) < n]
    with_nan = np.where(np.arange(len(y)) % 3 == 0, np.nan, y)
    middle = np.median(y) if n else 0.0
    return np.sort(with_nan), np.argsort(with_nan, kind="stable"), middle, np.lexsort((y, y % 3))


@case
def sorted_rows(x, n):
    table = x[:120].reshape(3, 40)
    wide = np.outer(x[:5], x)[:, :n]
    long = np.outer(x, x[:3])[:n]
    return np.sort(wide, axis=1), np.argsort(wide, axis=1, kind="stable"), np.sort(long, axis=0), np.sort(table)


@case
def scanned(x, n):
    y = x[np.arange(len(x)) < n]
    sums = np.cumsum(y)
    largest = np.maximum.accumulate(y * y) if n else y
    return sums, sums * 2 + y, largest, np.cumsum(y[::-1]), np.cumsum(np.exp(y / 10))[n // 2 :], np.cumsum(np.sin(y)).sum()


@case
def scanned_to_the_end(x, n):
    sums = np.cumsum(x[:n])
    whole = np.cumsum(np.where(np.arange(len(x)) < n, x, 1))
    return sums[-1] if n else x[0], sums, whole, whole[-1], np.cumsum(x[:n][::-1])[::-1]


@case
def scanned_rows(x, n):
    narrow, wide = np.outer(x, x[:3])[:n], np.outer(x, x[:200])[:n]
    across = np.outer(x[:5], x)[:, :n]
    return (
        *[np.cumsum(table, axis=axis) for table in (narrow, wide, across) for axis in (0, 1)],
        *[np.cumsum(np.cos(table.T), axis=axis) for table in (wide, across) for axis in (0, 1)],
        np.cumprod(wide / 3, axis=0) + wide, np.cumsum(wide.T, axis=1) * across[0, :1].sum(),
    )  # fmt: skip


@case
def first_ones(x, n):
    y, table = x[:n], np.stack([x, -x])[:, :n]
    rows = np.sort(table, axis=1)
    least = np.sort(y)[0] if n else 0
    return least, np.sort(y)[:3], np.argsort(y, kind="stable")[:2], rows[:, :2], np.cumsum(y)[:4], np.tanh(y)[:5].sum()


ORDERED = ("elementwise", "reduced", "outer_products")  # complex numbers have no order
OTHER_TYPES = (*ORDERED, "rows", "columns", "scattered", "read_behind", "scanned_to_the_end")


def types_of(name):
    if name == "scanned":
        return [np.float64, np.float32, np.int8, np.int64, np.bool_]
    if name in ("sorted_parts", "first_ones"):
        return [np.float64, np.float32, np.int8, np.int16, np.int64, np.uint32, np.complex64][
            : 7 if name == "sorted_parts" else 6
        ]
    return [np.float64] + [np.float32, np.int16, *[np.complex128][name in ORDERED :]] * (name in OTHER_TYPES)


@pytest.mark.parametrize("name, dtype", [(name, dtype) for name in CASES for dtype in types_of(name)])
def test_many_sizes(name, dtype):
    values = np.random.default_rng(3).standard_normal(BOUND) * (10 if np.issubdtype(dtype, np.signedinteger) else 1)
    x, function = values.astype(dtype), CASES[name]

    @jit
    def decorated(x, size):
        return function(x, int(size[0]))  # known when the program runs

    for n in SIZES:
        for one, other in zip(map(np.asarray, function(x, n)), map(np.asarray, decorated(x, np.array([n]))), strict=True):
            assert (one.shape, one.dtype) == (other.shape, other.dtype), n
            exact = one.dtype.kind not in "fc"
            tolerance = 0 if exact else {4: 3e-5, 2: 0.01}.get(one.dtype.itemsize, 1e-12) * np.nanmax(np.abs(one), initial=1.0)
            np.testing.assert_allclose(other, one, rtol=0, atol=tolerance, err_msg=f"{name} {n}")
    assert decorated.cache_info().misses <= (8 if name == "made" else 3)  # two sizes of a table, which double
