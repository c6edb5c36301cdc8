"""Places in a sorted line: values that are in order themselves are found by a walk, others by searches."""

import numpy as np
import pytest
from phlox import jit


def places(line, wanted):
    return np.searchsorted(line, wanted), np.searchsorted(line, wanted, side="right")


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8, np.complex128])
@pytest.mark.parametrize("size", [0, 1, 3, 200, 256])
def test_places_of_values_in_and_out_of_order(dtype, size):
    rng = np.random.default_rng(size)
    line, wanted = (np.sort(rng.integers(0, 40, count).astype(dtype)) for count in (size, 100))
    if np.dtype(dtype).kind in "fc":
        line[size * 9 // 10 :] = wanted[90:] = np.nan
    compiled = jit(places)
    for values in (wanted, wanted[::-1].copy(), rng.permutation(wanted), np.full_like(wanted, line[-1:].sum())):
        for found, expected in zip(compiled(line, values), places(line, values)):
            np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("order", ["rising", "falling", "any"])
def test_interpolation_of_values_in_and_out_of_order(order):
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.uniform(-3, 3, 97), [np.nan, np.inf, -np.inf]])
    x = {"rising": np.sort(x), "falling": np.sort(x)[::-1].copy(), "any": x}[order]
    line, values = np.sort(rng.uniform(-2, 2, 50)), rng.normal(size=50)
    interpolate = jit(lambda x, line, values: np.interp(x, line, values))
    np.testing.assert_allclose(interpolate(x, line, values), np.interp(x, line, values), rtol=1e-14)
    np.testing.assert_array_equal(interpolate(np.sort(line), line, values), values)


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.uint8, bool])
def test_membership_among_few_and_many(dtype):
    rng = np.random.default_rng(4)
    element = rng.integers(0, 200, (30, 10)).astype(dtype)
    if dtype is np.float64:
        element[::3, 0] = np.nan
    is_in = jit(lambda x, tests: (np.isin(x, tests), np.isin(x, tests, invert=True)))
    for count in (0, 1, 64, 65, 150):
        tests = rng.integers(0, 200, count).astype(dtype)
        if dtype is np.float64:
            tests[::5] = np.nan
        for found, is_inverted in zip(is_in(element, tests), (False, True)):
            np.testing.assert_array_equal(found, np.isin(element, tests, invert=is_inverted), strict=True)


def test_the_first_that_is_true():
    def first(x):
        return np.argmax(x > 0), np.argmax(x.reshape(2, -1) > 0, axis=1), np.argmin(x <= 0), np.count_nonzero(x > 0)

    compiled = jit(first)
    for place in (None, 0, 63, 64, 300, 2555, 2600, 5199):
        x = np.zeros(5200)
        if place is not None:
            x[place::100] = 1
        for found, wanted in zip(compiled(x), first(x)):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.complex64, np.int8])
def test_short_tables(dtype):
    """Those that vector registers hold, and somewhat longer ones; parts of lines, too."""
    rng = np.random.default_rng(6)
    numbers = np.arange(40).astype(dtype)

    def chosen(line, places):
        part = line[3 : 3 + len(line) // 2]
        return line[places], np.where(places > 0, line[places], 7), part[places % len(part)]

    compiled = jit(chosen)
    for count in (6, 8, 9, 16, 17, 32, 33):
        line = numbers[:count]
        places = rng.integers(-count, count, 50)
        for found, expected in zip(compiled(line, places), chosen(line, places)):
            np.testing.assert_array_equal(found, expected, strict=True)
