"""Promotion of traced arrays is NumPy's (NEP 50): all pairs of dtypes, and Python's weak numbers."""

from __future__ import annotations

import operator
import warnings

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phlox import jit
from phlox.tracer.recording import promotion

DTYPES = [np.dtype(name) for name in "? b h i q B H I Q e f d F D".split()]
OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow, operator.and_,
    operator.lshift, operator.lt, operator.eq, np.maximum, np.arctan2, np.logical_and, np.copysign, np.hypot, np.power, np.fmod,
]  # fmt: skip


def outcomes(values):
    """A function that applies all operators, and notes the names of those that raise TypeError."""

    def apply(x, y):
        refused.clear()
        results = []
        for function in OPERATORS:
            try:
                results.append(function(x, y))
            except TypeError:
                refused.append(getattr(function, "__name__", function))
        return tuple(results)

    refused: list = []
    return apply, refused


def compare(x, y):
    apply, refused = outcomes((x, y))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected, expected_refused = apply(x, y), list(refused)
        actual = jit(apply, backend="reference")(x, y)
    assert refused == expected_refused
    for one, other in zip(expected, actual, strict=True):
        assert np.asarray(other).dtype == np.asarray(one).dtype
        assert np.shape(other) == np.shape(one)
        np.testing.assert_allclose(np.asarray(other, complex), np.asarray(one, complex), rtol=2e-3)


@pytest.mark.parametrize("first", DTYPES, ids=str)
def test_all_pairs_of_dtypes(first):
    for second in DTYPES:
        compare(np.array([1, 1], first), np.array([1, 1], second))


@pytest.mark.parametrize("number", [1, 2.5, 1j, True], ids=repr)
def test_arrays_with_python_numbers(number):
    """Both as constants of the program and as arguments."""
    for dtype in DTYPES:
        array = np.array([1, 1], dtype)
        apply, refused = outcomes(None)
        for call in (lambda x, f=apply: f(x, number), lambda x, f=apply: f(number, x)):
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                expected, expected_refused = call(array), list(refused)
                actual = jit(call, backend="reference")(array)
            assert refused == expected_refused
            assert [np.asarray(one).dtype for one in actual] == [np.asarray(one).dtype for one in expected]
        compare(array, number)
        compare(number, array)


def test_numpy_scalars_are_not_weak():
    for dtype in (np.float32, np.int8, np.uint64):
        compare(np.array([1.5], np.float32), dtype(1))
        compare(dtype(1), 2)
        compare(dtype(1), 2.0)


def test_python_numbers_among_themselves_stay_weak():
    def function(x, n, a):
        return a * (n / 2), a + (n * n), a * (x + n), a + (n < x)

    def expected(x, n, a):
        return [np.float32, np.float32, np.float32, np.float32][: len(function(x, n, a))]

    results = jit(function, backend="reference")(2.5, 3, np.ones(2, np.float32))
    reference = function(2.5, 3, np.ones(2, np.float32))
    assert [r.dtype for r in results] == [r.dtype for r in reference] == expected(2.5, 3, np.ones(2, np.float32))
    for one, other in zip(results, reference):
        np.testing.assert_array_equal(one, other)
    # NumPy's functions return NumPy's scalars, which are not weak.
    assert jit(lambda n, a: a * np.sin(n), backend="reference")(3, np.ones(2, np.float32)).dtype == np.float64


def test_python_integers_out_of_range():
    x = np.array([1, 2], np.uint8)
    for function in (lambda x: x + 256, lambda x: x * -1, lambda x: np.maximum(x, 1000)):
        with pytest.raises(OverflowError):
            function(x)
        with pytest.raises(OverflowError):
            jit(function, backend="reference")(x)
    for number in (-1, 256, 10**30, -(10**30), 0, 255):
        for compare_ in (operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge):
            for call in (lambda x, f=compare_, n=number: f(x, n), lambda x, f=compare_, n=number: f(n, x)):
                np.testing.assert_array_equal(jit(call, backend="reference")(x), call(x))


@pytest.mark.parametrize(
    "function",
    [
        lambda x, dtype: np.add(x, 1, dtype=dtype),
        lambda x, dtype: x.sum(dtype=dtype),
        lambda x, dtype: x.mean(0, dtype),
        lambda x, dtype: x.astype(dtype),
        lambda x, dtype: np.zeros_like(x, dtype) + x,
        lambda x, dtype: np.full(3, 2, dtype) * x,
        lambda x, dtype: np.asarray(x[x > 1], dtype),
    ],
)
@pytest.mark.parametrize("dtype", [np.dtypes.Float32DType, np.dtypes.Complex64DType, "f4", np.dtype("f4"), np.float32])
def test_a_dtype_in_every_spelling(function, dtype):
    x = np.array([1.0, 2.0, 3.0])
    expected, found = function(x, dtype), jit(function, static_argnames="dtype")(x, dtype)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_in_place_arithmetic_keeps_the_dtype_or_refuses():
    for dtype in DTYPES:
        for number in (1, 2.5, 1j, np.float64(2), np.arange(2, dtype=np.int64)):
            for name in ("__iadd__", "__imul__", "__itruediv__", "__ifloordiv__", "__ipow__"):

                def change(x, name=name, number=number):
                    y = x + np.zeros_like(x)
                    return getattr(y, name)(number)

                array = np.array([1, 2], dtype)
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    try:
                        expected = change(array)
                    except TypeError as error:
                        with pytest.raises(TypeError) as raised:
                            jit(change, backend="reference")(array)
                        assert type(raised.value).__name__ == type(error).__name__
                        continue
                    actual = jit(change, backend="reference")(array)
                assert actual.dtype == expected.dtype == dtype
                np.testing.assert_allclose(actual, expected, rtol=2e-3)


def test_refusals_read_like_those_of_numpy():
    with pytest.raises(TypeError, match="numpy boolean subtract"):
        jit(lambda x: x - x, backend="reference")(np.array([True]))
    with pytest.raises(TypeError, match="Cannot cast ufunc 'add' output"):

        def add_float(x):
            x += 1.5
            return x

        jit(add_float, backend="reference")(np.arange(3))
    with pytest.raises(TypeError, match="has no XLA element type"):
        jit(lambda x: x + np.longdouble(1), backend="reference")(np.arange(3))


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.lists(st.sampled_from([*DTYPES, int, float, complex]), min_size=1, max_size=4))
def test_result_dtype_is_numpys(classes):
    values = [kind(1) if isinstance(kind, type) else np.ones(1, kind) for kind in classes]
    assert promotion.result_dtype(classes) == np.result_type(*values)


def test_bfloat16_promotes_as_numpy_does():
    brain = np.dtype(ml_dtypes.bfloat16)
    for other in (brain, np.dtype(np.float32), np.dtype(np.int8), int, float):
        operands = [np.ones(1, brain), other(1) if isinstance(other, type) else np.ones(1, other)]
        assert promotion.resolve(np.add, (brain, other))[-1] == np.add(*operands).dtype
