"""Slices whose ends are a known distance apart, and that may reach beyond what they are taken of, are written."""

import numpy as np
import pytest
from phlox import jit


def windows(x, n):
    for i in range(-3, n):
        x[i : i + 4] += i
        x[2 * i : 2 * (i + 1)] = x[i]
    return x


def between_a_place_and_one_before(x, n):
    for i in range(-3, n):
        x[i + 1 : i] += i
        x[i - 1 : i - 3] *= 0.5
    return x[n - 1 : n - 2].sum()


def windows_of_tables(x, n):
    table = np.stack([x, -x, 2 * x])
    for i in range(-3, n):
        table[i % 3, i : i + 5] += table[1, i + 1 : i + 6].sum()
        table[i : i + 2, i - 2 : i + 1] = i
    return table


@pytest.mark.parametrize("function", [windows, between_a_place_and_one_before, windows_of_tables])
@pytest.mark.parametrize("n", [4, 9])
def test_neighbours_between_places_are_written(function, n):
    x = np.arange(9.0)
    expected = x.copy()
    np.testing.assert_array_equal(function(expected, n), jit(function)(x, n))
    np.testing.assert_array_equal(x, expected)
