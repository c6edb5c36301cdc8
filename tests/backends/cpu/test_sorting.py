"""Sorting by keys: all ways of it, on what may go wrong in them."""

import numpy as np
import pytest
from phlox import jit
from phlox.backends.cpu import quick_sort
from phlox.backends.cpu.regions import sort, vector_sort
from thinning import one_in_all

SIZES = (1, 2, 3, 8, 16, 17, 24, 33, 39, 40, 64, 65, 79, 80, 129, 300, 513, 1500, 20_000)
ORDERS = ("random", "few", "equal", "sorted", "reversed", "pipe", "special", "bits")


def numbers(dtype, size, order, random):
    """So many numbers that lie in this order."""
    dtype = np.dtype(dtype)
    is_float = dtype.kind == "f"
    if is_float:
        x = random.normal(size=size)
    else:
        limits = np.iinfo(dtype)
        x = random.integers(limits.min, limits.max, size, endpoint=True, dtype=dtype)
    if order == "few":
        x = np.floor(x) if is_float else x % 3
    elif order == "equal":
        x = np.full(size, x[0])
    elif order == "sorted":
        x = np.sort(x)
    elif order == "reversed":
        x = np.sort(x)[::-1]
    elif order == "pipe":
        x = np.concatenate([np.sort(x)[::2], np.sort(x)[1::2][::-1]])
    elif order == "special":
        ends = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0] if is_float else [limits.min, limits.max, 0, 1]
        x = random.choice(np.array(ends, dtype), size)
    elif order == "bits":
        x = (
            np.ldexp(1.0, random.integers(-60, 60, size))
            if is_float
            else x >> random.integers(0, 8 * dtype.itemsize, size).astype(dtype)
        )
    return np.ascontiguousarray(x.astype(dtype))


def assert_sorts(functions, x, random):
    ascending, positions, selected = functions
    mask = random.random(x.size) < 0.4
    np.testing.assert_array_equal(ascending(x), np.sort(x))
    np.testing.assert_array_equal(positions(x), np.argsort(x, kind="stable"))
    np.testing.assert_array_equal(selected(x, mask), np.sort(x[mask]))


def functions():
    return jit(lambda x: np.sort(x)), jit(lambda x: np.argsort(x, kind="stable")), jit(lambda x, m: np.sort(x[m]))


@pytest.mark.parametrize(("dtype", "size"), one_in_all(3, ["f8", "f4", "i8", "u4", "i2", "u1"], SIZES))
def test_every_order(dtype, size):
    random, compiled = np.random.default_rng(size), functions()
    for order in ORDERS:
        assert_sorts(compiled, numbers(dtype, size, order, random), random)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u4"])
def test_pivots_that_have_been_bad_for_too_long(dtype, monkeypatch):
    """The middle between the extremes is taken then: from the beginning on, where no level counts as usual."""
    monkeypatch.setattr(quick_sort, "_LEVELS_PER_BIT", 0)
    random, compiled = np.random.default_rng(0), functions()
    for order in ORDERS:
        assert_sorts(compiled, numbers(dtype, 3001, order, random), random)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u4", "i2"])
@pytest.mark.parametrize("size", [16, 100, 1500])
def test_processors_that_cannot_divide(dtype, size, monkeypatch):
    for module in (sort, vector_sort):
        monkeypatch.setattr(module, "compresses_lanes", lambda target: False)
    random, compiled = np.random.default_rng(0), functions()
    for order in ORDERS:
        assert_sorts(compiled, numbers(dtype, size, order, random), random)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i2", "u1", "b1"])
@pytest.mark.parametrize("size", [40, 77, 300])
def test_lines_that_are_in_order_but_for_one_element(dtype, size):
    """Wherever it stands, along rows and columns, with zeros of both signs and NaN, and of the first elements alone."""
    line = np.sort(np.random.default_rng(size).integers(0, 2 if dtype == "b1" else 40, size)).astype(dtype)
    if line.dtype.kind == "f":
        line[:4], line[-2:] = [0.0, -0.0, 0.0, -0.0], np.nan
    places = [None, *range(0, size, 7), size - 1]
    rows = np.stack([line] * len(places))
    for row, place in zip(rows, places):
        if place is not None:
            row[place] = line[(place + size // 2) % size]
    by_rows, by_columns = jit(lambda x: np.argsort(x, 1)), jit(lambda x: np.argsort(x, 0))
    expected = np.argsort(rows, 1, kind="stable")
    np.testing.assert_array_equal(by_rows(rows), expected)
    np.testing.assert_array_equal(by_columns(np.ascontiguousarray(rows.T)), expected.T)
    stable, selected = jit(lambda x: np.sort(x, kind="stable")), jit(lambda x, m: np.argsort(x[m]))
    for row in rows[:: len(rows) // 4]:
        assert stable(row).tobytes() == np.sort(row, kind="stable").tobytes()  # which zero comes first shows
        for count in (0, 1, size // 2, size):
            mask = np.arange(size) < count
            np.testing.assert_array_equal(selected(row, mask), np.argsort(row[mask], kind="stable"))
