"""Tables whose sizes the program computes, `np.zeros((k, k))`: small where the sizes are, and larger where these grow."""

import re

import numpy as np
import pytest
from phlox import jit
from thinning import one_in
from written_functions import written

SIZES = (9, 3, 71, 131, 2, 1)

# Of a table, a row, integers, and the size.
OPERATIONS = """
t.T.copy()
t @ t
v @ t
t.argmax()
np.argmin(t, keepdims=True)
t.argmax(axis=0)
t.var(axis=0)
np.cumsum(t, axis=1)
np.sort(t, axis=0)
np.median(t, axis=0)
np.concatenate([t, t])
np.vstack([v, v])
np.trace(t)
np.diag(v)
np.outer(v, v)
np.einsum("ij,j->i", t, v)
np.triu(t, 1)
np.roll(t, 1, axis=0)
t[::-1, ::-1]
t[1:, 1:] - t[:-1, :-1]
np.diff(t, axis=1)
np.pad(t, 1)
np.kron(v, v[:2])
np.interp(v, np.arange(5.0), np.arange(5.0))
np.bincount(i, weights=v)
np.bincount(i, minlength=k)
np.bincount(np.abs(i), minlength=k + 2)[-2:]
np.linalg.det(np.eye(k))
np.linalg.slogdet(np.eye(k) * 3)[1]
np.linalg.solve(np.eye(k) * 2, v)
np.linalg.solve(np.eye(k) * 2 + t / 1000, t)
np.linalg.inv((np.eye(k) * 2).astype(np.float32))
np.linalg.eigvalsh(t + t.T)
np.linalg.eigh(t + t.T + 1j * (t - t.T))[0]
np.linalg.cholesky(np.eye(k) * 4)
np.unravel_index(i, t.shape)[0]
np.unravel_index(np.argmax(t), t.shape, order="F")
np.histogram(v, bins=k)[0]
np.histogram(v, bins=k, density=True)[1]
np.histogram2d(v, v, bins=k)[0]
np.argwhere(t > 1)
t[t > 1]
t[i, i]
t.reshape(-1)
t / t.sum(axis=1, keepdims=True).max()
(t == t.T).all()
np.allclose(t, t.T)
np.meshgrid(v, v)[0]
v[:, None] - v[None]
np.add.outer(np.arange(k), np.arange(2 * k)).sum(axis=0)
np.ones((k, k, k)).sum(axis=(0, 2))
np.zeros((k, 1000)) + k
np.apply_along_axis(np.sum, 0, t)
np.take_along_axis(t, i[:, None], axis=1)
np.block([[t, t], [t, t]])
np.linalg.matrix_power(t / 100, 2)
[t[j].sum() for j in range(k)]
""".strip().splitlines()


def table_of(size):
    """The first axis of numbers up to this size."""
    return np.concatenate([np.random.default_rng(size).integers(0, size, 50), [size - 1]])


@pytest.mark.parametrize("operation", one_in(4, OPERATIONS, ci_step=2))
def test_operations_on_tables_of_many_sizes(operation):
    source = f"""
def f(first):
    k = int(first.max()) + 1
    t = np.zeros((k, k))
    t[first % k, (first * 3 + 1) % k] += first * 0.5 + 1
    v = t[:, 0] + t[0] * 2
    i = np.arange(k) % 3 % k
    return {operation}
"""
    function = written(source, f"tables {operation}", np=np)["f"]
    decorated = jit(function)
    for size in SIZES:
        expected, found = function(table_of(size)), decorated(table_of(size))
        for one, other in zip(np.atleast_1d(expected), np.atleast_1d(found), strict=True):
            assert (np.shape(one), np.asarray(one).dtype) == (np.shape(other), np.asarray(other).dtype), size
            np.testing.assert_allclose(other, one, atol=1e-9, err_msg=f"{operation} {size}")
    assert decorated.cache_info().misses <= 6


def shapes_in(decorated, *args):
    return {tuple(map(int, found.split(","))) for found in re.findall(r"f64\[([\d,]+)\]", decorated.lower(*args).as_text())}


def test_a_table_is_as_large_as_what_is_seen():
    @jit
    def table(x):
        k = int(x.max())
        return np.zeros((k, k)) + 1

    assert table(np.array([5])).shape == (5, 5)
    assert (64, 64) in shapes_in(table, np.array([5]))
    assert table(np.array([300])).shape == (300, 300)
    assert (512, 512) in shapes_in(table, np.array([300]))
    assert table(np.array([2000])).shape == (2000, 2000)
    assert table(np.array([0])).shape == (0, 0)
    assert table.cache_info().misses == 3


def test_a_row_keeps_a_large_guess():
    @jit
    def row(x):
        return np.zeros(int(x.max())) + 1

    for size in (5, 300, 1000):
        assert row(np.array([size])).shape == (size,)
    assert row.cache_info().misses == 1


def test_what_becomes_a_table_later_is_small_from_the_beginning():
    @jit
    def products(x):
        k = int(x.max())
        row = np.arange(k) * 0.5
        return row[:, None] * row, row.sum(), np.zeros(k)

    def expected(k):
        return np.outer(np.arange(k), np.arange(k)) / 4

    for size in (5, 64, 65, 4):
        np.testing.assert_array_equal(products(np.array([size]))[0], expected(size))
    assert (1024, 1024) not in shapes_in(products, np.array([5]))
    assert products.cache_info().misses == 2


def test_one_size_at_several_lines_is_outgrown_once():
    @jit
    def several(x):
        k = int(x.max())
        first = np.ones((k, k))
        second = np.arange(k) * 1.0
        third = np.full((k, 2), 3.0)
        return first @ third, second @ first

    for size in (5, 100):
        first, second = several(np.array([size]))
        np.testing.assert_array_equal(first, np.full((size, 2), 3.0 * size))
        np.testing.assert_array_equal(second, np.full(size, np.arange(size).sum()))
    assert several.cache_info().misses == 2


def test_a_diagonal_is_filled_in_place():
    def filled(x, value):
        k = int(x.max())
        whole, wide = np.zeros((k, k), int), np.ones((k, 2 * k))
        np.fill_diagonal(whole, 2.7)
        np.fill_diagonal(wide, value)
        return whole, wide

    decorated = jit(filled)
    for size in (3, 0, 70):
        for one, other in zip(filled(np.array([size]), -1.5), decorated(np.array([size]), -1.5), strict=True):
            np.testing.assert_array_equal(other, one)


def test_counts_of_a_negative_length():
    @jit
    def counts(x):
        return np.bincount(np.abs(x), minlength=x[0])

    np.testing.assert_array_equal(counts(np.array([3, 1])), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="'minlength' must not be negative"):
        counts(np.array([-3, 1]))


def test_matrices_without_an_inverse():
    @jit
    def inverse(x):
        k = int(x[0])
        return np.linalg.inv(np.eye(k) * x[1])

    np.testing.assert_array_equal(inverse(np.array([3, 2])), np.eye(3) / 2)
    assert inverse(np.array([0, 2])).shape == (0, 0)
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        inverse(np.array([3, 0]))


def test_an_equation_of_other_sizes():
    @jit
    def solved(x):
        k = int(x.max())
        return np.linalg.solve(np.eye(k) * 2, np.ones(3)), np.linalg.solve(np.eye(3), np.ones(k))

    np.testing.assert_array_equal(solved(np.array([3]))[0], [0.5, 0.5, 0.5])
    with pytest.raises(ValueError, match="mismatch in its core dimension"):
        solved(np.array([4]))


def test_no_bins():
    @jit
    def counts(x):
        return np.histogram(x * 1.0, bins=int(x.max()))

    np.testing.assert_array_equal(counts(np.array([1, 2]))[0], [1, 1])
    with pytest.raises(ValueError, match="`bins` must be positive"):
        counts(np.array([-1, 0]))


def test_the_covariance_of_one_row_is_an_error():
    @jit
    def covariance(x):
        k = int(x.max())
        return np.cov(np.eye(k))

    np.testing.assert_allclose(covariance(np.array([3])), np.cov(np.eye(3)))
    with pytest.raises(NotImplementedError, match="of a table of one row"):
        covariance(np.array([1]))
