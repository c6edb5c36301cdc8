"""Slices of traced bounds are computed where they lie, by loops that begin and end with them."""

import re

import numpy as np
import pytest
from phlox import jit
from phlox.backends.registry import get_backend
from phlox.hlo import parse_module

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


MOVED = """HloModule moved
assign {
  a = f64[] parameter(0)
  ROOT b = f64[] parameter(1)
}
ENTRY e {
  x = f64[300] parameter(0)
  n = s64[] parameter(1)
  zero = s64[] constant(0)
  count = s64[] maximum(n, zero)
  rows = s64[300] iota(), iota_dimension=0
  counts = s64[300] broadcast(count), dimensions={}
  one = s64[] constant(1)
  ones = s64[300] broadcast(one), dimensions={}
  behind = s64[300] add(rows, ones)
  outside = s64[] constant(300)
  outsides = s64[300] broadcast(outside), dimensions={}
  inside = pred[300] compare(rows, counts), direction=LT
  places = s64[300] select(inside, behind, outsides)
  wave = f64[300] sine(x)
  ROOT y = f64[300] scatter(x, places, wave), update_window_dims={}, inserted_window_dims={0},
    scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=assign
}
"""


def test_what_is_scattered_in_front_of_a_negative_size_is_nothing():
    executable = get_backend("cpu").compile(parse_module(MOVED))
    x = np.arange(300.0)
    for count in (-200, -1, 0, 1, 150, 299):
        expected = x.copy()
        expected[1 : max(count, 0) + 1] = np.sin(x[: max(count, 0)])
        np.testing.assert_allclose(executable(x, np.int64(count))[0], expected, rtol=1e-14)
