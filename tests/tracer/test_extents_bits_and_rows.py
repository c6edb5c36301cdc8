"""Packed bits, and unique rows, of arrays whose sizes are known at run time only, against NumPy, on both backends."""

from __future__ import annotations

import numpy as np
import pytest
from phlox import jit

from ..support.extents import check

RANDOM = np.random.default_rng(0)


def packed(x):
    bits = x[x > 0] > 2
    return np.packbits(bits), np.packbits(bits, bitorder="little"), np.packbits(x[x > 0].astype(np.int64) & 1)


def packed_along_axes(x):
    rows, columns = x[x[:, 0] > 0] > 2, x[:, x[0] > 0]
    return (
        np.packbits(rows, axis=0),
        np.packbits(rows, axis=1, bitorder="little"),
        np.packbits(rows),
        np.packbits(columns, axis=1),
    )


def unpacked(x):
    y = x[x > 0].astype(np.uint8)
    return np.unpackbits(y), np.unpackbits(y, bitorder="little"), np.unpackbits(y[:, None], axis=1, count=-3)


def unpacked_in_a_known_number(x):
    y = x[x >= x[0]].astype(np.uint8)  # at least one: NumPy leaves the memory of none as it finds it
    return np.unpackbits(y, count=5), np.unpackbits(y, count=100), np.unpackbits(y[:, None], axis=1, count=5)


def read_as_others(x):
    y = x[x > 0]
    y.view(np.uint8)[:1] = 9
    small = y.astype(np.int16)
    pairs = np.stack([small, small + 1], axis=1)
    pairs.view(np.uint32)[...] += 1
    return y, y.view(np.uint16), small.view(np.float16), pairs, pairs.view(np.uint8).shape


def there_and_back(x):
    bits = x[x > 0] > 2
    return np.unpackbits(np.packbits(bits))[: len(bits)].astype(bool)


@pytest.mark.parametrize("function", [packed, unpacked, unpacked_in_a_known_number, read_as_others, there_and_back])
def test_bits_of_a_line(function):
    contents = [RANDOM.integers(-9, 16, 20) for _ in range(3)]
    check(function, contents[0], again=[(one,) for one in (*contents[1:], np.zeros(20, int), np.arange(1, 21))])


def test_bits_along_an_axis():
    contents = [RANDOM.integers(-3, 6, (11, 12)) for _ in range(3)]
    check(packed_along_axes, contents[0], again=[(one,) for one in (*contents[1:], -np.ones((11, 12), int))])


def test_bits_that_are_refused():
    x = np.arange(4)
    with pytest.raises(NotImplementedError, match="negative count"):
        jit(lambda x: np.unpackbits(x[x > 1].astype(np.uint8), count=-1))(x)
    with pytest.raises(TypeError, match="integer or boolean"):
        jit(lambda x: np.packbits(x[x > 1] * 1.0))(x)
    with pytest.raises(NotImplementedError, match="as wider elements"):
        jit(lambda x: x[x > 1].astype(np.int8).view(np.int16))(x)


def rows(x):
    y = x[x[:, 0] > 0]
    return np.unique(y, axis=0), *np.unique(y, axis=0, return_index=True, return_inverse=True, return_counts=True)


def columns(x):
    return np.unique(x[:, x[0] > 0], axis=1, return_counts=True)


def tables(x):
    y = x[x[:, 0] > 0].reshape(-1, 2, 2)
    return np.unique(y, axis=0), np.unique(y > 1, axis=0)


@pytest.mark.parametrize("function", [rows, columns, tables])
@pytest.mark.parametrize("dtype", [int, float])
def test_unique_slices(function, dtype):
    contents = [RANDOM.integers(0, 3, (12, 4)).astype(dtype) for _ in range(3)]
    check(function, contents[0], again=[(one,) for one in (*contents[1:], np.zeros((12, 4), dtype), np.ones((12, 4), dtype))])


WEIGHTED = {
    "bincount": lambda x, w: np.bincount(x, weights=w),
    "average": lambda x, w: np.average(x, weights=w),
    "average along an axis": lambda x, w: np.average(x, weights=w, axis=0),
    "histogram": lambda x, w: np.histogram(x, weights=w),
    "histogramdd": lambda x, w: np.histogramdd(np.stack([x, x], axis=1), bins=3, weights=w),
    "histogram2d": lambda x, w: np.histogram2d(x, x, bins=3, weights=w),
}


@pytest.mark.parametrize("name", WEIGHTED)
def test_one_weight_is_not_one_for_each(name):
    """Of a mask's elements there may be one, which is not repeated as in an operation."""
    function, x, w = WEIGHTED[name], np.arange(1, 13) % 5, np.linspace(1, 3, 12)
    masks = [np.arange(12) < count for count in (6, 1, 7, 12)]
    again = [(x, w, first, second) for first in masks for second in masks]
    check(lambda x, w, first, second: function(x[first], w[second]), x, w, masks[0], masks[0], again=again, backends=("cpu",))
    check(lambda x, w, first: function(x[first], w), x, w, masks[0], again=[(x, w, one) for one in masks], backends=("cpu",))
    check(lambda x, w, first: function(x, w[first]), x, w, masks[0], again=[(x, w, one) for one in masks], backends=("cpu",))


def test_one_weight_of_a_quantile():
    x, w = np.arange(12.0), np.linspace(1, 3, 12)
    masks = [np.arange(12) < count for count in (6, 1, 7, 12)]
    again = [(x, w, first, second) for first in masks for second in masks]

    def function(x, w, first, second):
        return np.quantile(x[first], 0.3, weights=w[second], method="inverted_cdf")

    check(function, x, w, masks[0], masks[0], again=again, backends=("cpu",))
