"""Slices of traced bounds are computed where they lie, by loops that begin and end with them."""

import re

import numpy as np
import pytest
from phlox import jit

SIZE = 300
BOUNDS = [(0, 0), (0, SIZE), (3, 40), (255, 257), (-7, -2), (100, 50), (SIZE - 3, SIZE + 9), (-SIZE - 5, 3), (SIZE, SIZE)]


def scaled(x, bounds):
    for i, j in bounds:
        x[i:j] *= 2


def of_a_table(x, bounds):
    table = x.reshape(20, 15)
    for i, j in bounds:
        table[i % 20 :, j % 15 :] -= np.outer(table[i % 20 :, 0], table[0, j % 15 :])


def beside_others(x, bounds):
    for i, j in bounds:
        x[i + 1 : j] = x[i + 1 : j] + np.sqrt(np.arange(SIZE))[i + 1 : j] * x[0]


@pytest.mark.parametrize("function", [scaled, of_a_table, beside_others])
def test_slices_of_any_bounds(function):
    expected = np.arange(float(SIZE))
    actual = expected.copy()
    function(expected, np.array(BOUNDS))
    jit(function)(actual, np.array(BOUNDS))
    np.testing.assert_allclose(actual, expected, rtol=1e-13)


def test_loops_begin_with_the_slice():
    compiled = jit(scaled).compile(np.ones(SIZE), np.array(BOUNDS))
    starts = re.findall(r"phi +i64 \[([^,]+), %\"entry\"\]", compiled.executable.llvm_ir())
    assert any(start.startswith("%") for start in starts)
