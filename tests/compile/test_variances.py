"""Sums of squares about a mean in one pass: which are, and that they are as exact as NumPy's, with its infinities and NaN."""

from itertools import product

import numpy as np
import pytest
from phlox import jit
from phlox.compile import variances

# Shapes with axes along which one pass is better: a divided row, a few rows, blocks of columns, rows in front of these.
DIVIDED = [
    ((100_000,), None),
    ((300, 1000), None),
    ((8, 40_000), 1),
    ((8, 40_000), 0),
    ((300, 1000), 0),
    ((30_000, 12), 0),
    ((5, 200, 300), 1),
    ((5, 200, 300), (0, 1)),
    ((5, 200, 300), (1, 2)),
]
# Short rows, a length without divisors, and what is kept between the reduced dimensions.
LEFT_ALONE = [((300, 1000), 1), ((99_991,), None), ((5, 200, 300), (0, 2)), ((100, 100), 0)]


def normal(shape, dtype=np.float32, mean=3.0):
    return (np.random.default_rng(0).standard_normal(shape) * 2 + mean).astype(dtype)


@pytest.mark.parametrize(("shape", "axis"), DIVIDED)
def test_is_as_exact_as_numpy(shape, axis):
    f = jit(lambda x: x.var(axis=axis))
    for mean in (3.0, 1e4):
        x = normal(shape, mean=mean)
        expected = x.astype(np.float64).var(axis=axis)
        error = np.max(np.abs(x.var(axis=axis) / expected - 1))
        np.testing.assert_allclose(f(x), expected, rtol=2e-6 + error)


@pytest.mark.parametrize(("shape", "axis"), DIVIDED)
def test_one_pass(shape, axis, monkeypatch):
    x = normal(shape)
    in_one = jit(lambda x: x.var(axis=axis)).compile(x).as_text()
    monkeypatch.setattr(variances, "_LEAST_BYTES", x.nbytes + 1)
    assert in_one != jit(lambda x: x.var(axis=axis)).compile(x).as_text()


@pytest.mark.parametrize(("shape", "axis"), LEFT_ALONE)
def test_two_passes(shape, axis, monkeypatch):
    x = normal(shape)
    as_it_is = jit(lambda x: x.var(axis=axis)).compile(x).as_text()
    monkeypatch.setattr(variances, "_LEAST_BYTES", x.nbytes + 1)
    assert as_it_is == jit(lambda x: x.var(axis=axis)).compile(x).as_text()


@pytest.mark.parametrize(("shape", "axis"), DIVIDED)
def test_infinities_and_nan(shape, axis):
    x = normal(shape)
    f = jit(lambda x: x.var(axis=axis))
    for value, place in product([np.nan, np.inf, -np.inf, 1e25, 3e38, -3e38], [0, x.size // 2, -1]):
        y = x.copy()
        y.flat[place] = value
        with np.errstate(all="ignore"):
            expected = y.var(axis=axis)
        np.testing.assert_allclose(f(y), expected, rtol=1e-4)


@pytest.mark.parametrize(("shape", "axis"), DIVIDED)
def test_large_equal_and_far_elements(shape, axis):
    f = jit(lambda x: x.var(axis=axis))
    x = normal(shape, mean=0.0)
    assert np.all(f((x * 1e37).astype(np.float32)) == np.inf)
    for value in (0.1, 1e-40, 1e15):
        assert np.all(f(np.full(shape, value, np.float32)) <= (1e-6 * value) ** 2)
    x[:3] = 1e6
    np.testing.assert_allclose(f(x), x.astype(np.float64).var(axis=axis), rtol=2e-5)


@pytest.mark.parametrize(("shape", "axis"), DIVIDED[:5])
@pytest.mark.parametrize("dtype", [np.float16, np.int32, np.float64, np.complex64])
def test_other_types(shape, axis, dtype):
    x = normal(shape, dtype)
    result = jit(lambda x: x.std(axis=axis, ddof=1, keepdims=True))(x)
    wide = x.astype(np.complex128 if dtype is np.complex64 else np.float64)
    assert result.dtype == np.ones(1, dtype).std().dtype
    np.testing.assert_allclose(result, wide.std(axis=axis, ddof=1, keepdims=True), rtol=1e-3 if dtype is np.float16 else 1e-5)


def by_hand(x):
    return ((x - x.mean()) ** 2).mean()


def with_mean(x):
    return x.mean(), x.std()


def normalized(x):
    return (x - x.mean()) / x.std()


def of_what_is_computed(x):
    return (np.abs(x) * 0.5 + 1).var()


def two_of_one(x):
    d = x - x.mean()
    return (d * d).sum(), x.var(ddof=1), d[0]


@pytest.mark.parametrize("function", [by_hand, with_mean, normalized, of_what_is_computed, two_of_one])
@pytest.mark.parametrize("shape", [(100_000,), (300, 1000)])
def test_other_forms(function, shape):
    x = normal(shape)
    results, expected = jit(function)(x), function(x.astype(np.float64))
    for one, other in zip(results, expected, strict=True) if isinstance(results, tuple) else [(results, expected)]:
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def test_the_mean_beside_it_keeps_its_infinities():
    x = normal((100_000,))
    x[70] = np.inf
    mean, variance = jit(lambda x: (x.mean(), x.var()))(x)
    assert mean == np.inf
    assert np.isnan(variance)


def test_within_a_loop():
    @jit
    def shrunk(x):
        steps = 0
        while x.var() > 0.5:
            x = x * 0.5
            steps += 1
        return steps

    assert shrunk(normal((100_000,))) == 2
