"""Blocks that are computed within the array that they are written into: which are, and that nothing else is changed."""

import numpy as np
import pytest
from phlox import jit


def optimized(function, *arguments):
    return jit(function).compile(*arguments).as_text()


def check(function, *arrays, fused=True):
    """The function does the same to copies of the arrays decorated, by a fusion that ends with the update, or not.

    fused: None where it may be either.
    """
    expected, actual = [a.copy(order="K") for a in arrays], [a.copy(order="K") for a in arrays]
    returned, result = function(*expected), jit(function)(*actual)
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    if returned is not None:
        np.testing.assert_array_equal(result, returned)
    if fused is not None:
        assert ("%fused_update" in optimized(function, *arrays)) == fused


def random(*sizes, dtype=np.float64, seed=0):
    return (np.random.default_rng(seed).standard_normal(sizes) * 9).astype(dtype)


def assigned(o, x):
    o[2:-2] = x[2:-2]


def updated(o, x):
    o[2:-2] += 2 * x[2:-2]


def inner(o, x):
    o[1:-1, 1:-1] -= x[1:-1, 1:-1]


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i4", "u8", "c8", "?", "f2"])
def test_a_block_is_written_where_it_lies(dtype):
    check(assigned, random(1003, dtype=dtype), random(1003, dtype=dtype, seed=1))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "u8", "c16"])
@pytest.mark.parametrize("size", [259, 260, 1003])
def test_a_block_is_updated_where_it_lies(dtype, size):
    check(updated, random(size, dtype=dtype), random(size, dtype=dtype, seed=1), fused=size > 259)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("sizes", [(40, 37), (600, 600)])
def test_an_inner_block(sizes, order):
    fused = True if order == "C" else None
    check(inner, np.array(random(*sizes), order=order), np.array(random(*sizes, seed=1), order=order), fused=fused)


def test_nan_and_infinity():
    x = random(1003)
    x[::7], x[::11] = np.nan, -np.inf
    check(updated, x, x[::-1].copy())


def test_a_block_that_reads_its_neighbours_is_computed_beside():
    def smooth(u):
        u[1:-1] = (u[:-2] + u[2:]) / 2

    check(smooth, random(2000), fused=False)


def test_a_block_of_the_array_itself_elsewhere():
    def shift(u):
        u[3:] = u[:-3]

    check(shift, random(2000), fused=False)


def test_steps_of_a_loop():
    def steps(u, v):
        for _ in range(5):
            v[1:-1] = (u[:-2] + u[2:]) / 2
            u[1:-1] += v[1:-1] * 0.5

    def exchanged(u, v):
        for _ in range(5):
            v[1:-1] = u[:-2] + u[2:]
            u, v = v, u
        return u - v

    check(steps, random(1500), random(1500, seed=1), fused=None)
    check(exchanged, random(1500), random(1500, seed=1))


def test_rows_at_an_index_of_a_loop():
    def rows(a, x):
        for i in range(1, len(a)):
            a[i] += a[i - 1] * x

    def own_rows(a, x):
        for i in range(len(a)):
            a[i] = a[i] * x + i

    check(rows, random(7, 300), random(300, seed=1), fused=None)
    check(own_rows, random(7, 300), random(300, seed=1))


def test_what_is_needed_afterwards_stays():
    def both(x, y):
        z = x.copy()
        z[2:-2] = y[2:-2] * x[2:-2]
        return z - x

    check(both, random(1000), random(1000, seed=1))


def test_two_blocks_of_each_other():
    def crossed(u, v):
        w = u[1:-1] + v[1:-1]
        u[1:-1], v[1:-1] = v[1:-1] * 2, w

    def in_turn(u, v):
        u[1:-1] = v[1:-1] * 2
        v[2:-2] = u[2:-2] + u[1:-3]

    for function in (crossed, in_turn):
        u, v = random(1000), random(1000, seed=1)
        expected = u.copy(), v.copy()
        function(*expected)
        jit(function)(u, v)
        np.testing.assert_array_equal((u, v), expected)


def test_a_large_block_among_regions_that_share_rows():
    def steps(x, u):
        y = np.exp(-np.abs(x))
        y /= y.sum(axis=1, keepdims=True)
        u[1:-1] = y[1:-1] + x[1:-1]
        z = u - u.max(axis=1, keepdims=True)
        return np.exp(z)

    x, u = random(400, 300), random(400, 300, seed=1)
    expected = steps(x.copy(), u.copy())
    np.testing.assert_allclose(jit(steps)(x, u), expected, rtol=1e-12)
