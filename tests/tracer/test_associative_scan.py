"""associative_scan against closed forms and NumPy's accumulations, traced and plain; and against JAX."""

import numpy as np
import pytest
from jitted_calls import compiled
from phlox import CarryTypeError, associative_scan, jit

SIZES = [0, 1, 2, 3, 8, 33]


def ways(function):
    """As it is, on both backends, and inside of a function that has other things to do."""
    return function, compiled(function), jit(function), jit(lambda *args: function(*args))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("ufunc", [np.add, np.maximum])
def test_ufuncs(ufunc, reverse, size):
    x = np.random.default_rng(size).uniform(0.5, 1.5, (size, 3))
    expected = ufunc.accumulate(x[::-1])[::-1] if reverse else ufunc.accumulate(x)
    for function in ways(lambda x: associative_scan(ufunc, x, reverse=reverse)):
        np.testing.assert_allclose(function(x), expected, rtol=1e-12)
    for axis in (1, -1):
        found = jit(lambda x: associative_scan(ufunc, x, reverse=reverse, axis=axis))(x.T)  # noqa: B023
        np.testing.assert_allclose(found, expected.T, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.complex128, np.uint8])
def test_dtypes(dtype):
    x = np.arange(1, 12).astype(dtype)
    for function in ways(lambda x: associative_scan(np.add, x)):
        found = function(x)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, np.cumsum(x, dtype=dtype))


def affine(first, second):
    return {"a": first["a"] * second["a"], "b": second["a"] * first["b"] + second["b"]}


@pytest.mark.parametrize("size", SIZES[1:])
def test_a_linear_recurrence(size):
    rng = np.random.default_rng(3)
    a, b = rng.uniform(-1, 1, size), rng.standard_normal(size)
    expected, y = np.empty(size), 0.0
    for k in range(size):
        expected[k] = y = a[k] * y + b[k]
    for function in ways(lambda a, b: associative_scan(affine, {"a": a, "b": b})["b"]):
        np.testing.assert_allclose(function(a, b), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("reverse", [False, True])
def test_products_of_matrices_in_their_order(reverse):
    m = np.random.default_rng(1).standard_normal((9, 2, 2))
    expected = np.empty_like(m)
    product = np.eye(2)
    for k in reversed(range(9)) if reverse else range(9):
        product = product @ m[k]
        expected[k] = product
    for function in ways(lambda m: associative_scan(np.matmul, m, reverse=reverse)):
        np.testing.assert_allclose(function(m), expected, rtol=1e-9)


def test_leaves_of_several_ranks():
    x, y = np.arange(6.0), np.arange(12.0).reshape(6, 2)
    for function in ways(lambda x, y: associative_scan(lambda p, q: (p[0] + q[0], np.maximum(p[1], q[1])), (x, y))):
        sums, greatest = function(x, y)
        np.testing.assert_array_equal(sums, np.cumsum(x))
        np.testing.assert_array_equal(greatest, np.maximum.accumulate(y))


def test_in_a_loop_and_a_branch():
    @jit
    def f(x):
        for _ in range(50):
            if x[0] < 10:
                x = associative_scan(np.maximum, x) + 0.5
        return x

    def plain(x):
        for _ in range(50):
            if x[0] < 10:
                x = np.maximum.accumulate(x) + 0.5
        return x

    x = np.array([1.0, 5.0, 2.0])
    np.testing.assert_allclose(f(x), plain(x))


def test_results_share_no_memory():
    for size in (1, 5):
        x = np.ones(size)
        associative_scan(np.add, x)[0] = 9
        jit(lambda x: associative_scan(np.add, x))(x)[0] = 9
        assert (x == 1).all()


@pytest.mark.parametrize("wrap", [lambda f: f, jit])
@pytest.mark.parametrize(
    "function, error, match",
    [
        (lambda x: associative_scan(np.add, (x, x[1:])), ValueError, r"all sizes along axis 0 must agree, got elems\[0\]: 4"),
        (lambda x: associative_scan(np.add, x, axis=1), ValueError, "elems must have an axis 1, got an array of 1 dim"),
        (lambda x: associative_scan(np.add, 3.0), ValueError, "elems must have an axis 0"),
        (lambda x: associative_scan(lambda a, b: (a, b), x), CarryTypeError, r"must return \*, it returned"),
        (lambda x: associative_scan(lambda a, b: a > b, x), CarryTypeError, r"must return float64\[\d\], it returned bool"),
        (lambda x: associative_scan(lambda a, b: (a + b).sum(), x), CarryTypeError, r"it returned float64\[\]"),
    ],
)
def test_what_does_not_fit(wrap, function, error, match):
    with pytest.raises(error, match=match):
        wrap(function)(np.arange(4.0))


def test_as_jax_has_it():
    jax = pytest.importorskip("jax")
    rng = np.random.default_rng(5)
    a, b = rng.uniform(-1, 1, (2, 17, 3)).astype(np.float32), rng.standard_normal((2, 17, 3)).astype(np.float32)
    for reverse in (False, True):
        for axis in (0, 1, 2):
            expected = jax.lax.associative_scan(affine, {"a": a, "b": b}, reverse=reverse, axis=axis)
            for function in ways(lambda a, b: associative_scan(affine, {"a": a, "b": b}, reverse=reverse, axis=axis)):  # noqa: B023
                found = function(a, b)
                for name in "ab":
                    np.testing.assert_allclose(found[name], expected[name], rtol=1e-3, atol=1e-5)
