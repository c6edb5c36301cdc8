"""Random programs of NumPy give under jit what they give without: values, dtypes, and what is written through views.

``pytest -m slow`` runs many more.
"""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phlox import jit
from random_numpy_programs import Writer, run_program

# Which of two zeros is the greater one NumPy leaves to the instruction that it picks for an array's length.
WITHOUT_SIGNS = {"maximum", "minimum", "fmax", "fmin", "max", "min", "clip", "greatest", "reversed in place"}


def assert_same(actual, expected, signs):
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.dtype == expected.dtype and actual.shape == expected.shape
    np.testing.assert_array_equal(actual, expected)
    if signs and expected.dtype.kind == "f":
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(actual[numbers]), np.signbit(expected[numbers]))


def check_program(seed, count, backend):
    program = Writer(seed, count)
    words = {word for statement in program.statements for word in statement if isinstance(word, str)}
    signs = not words & WITHOUT_SIGNS
    mine, theirs = ([array.copy() for array in program.arrays] for _ in range(2))

    def run(*arrays):
        return run_program(program.statements, arrays)

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected, actual = run(*theirs), jit(run, backend=backend)(*mine)
    for one, other in zip(actual, expected, strict=True):
        assert_same(one, other, signs)
    for one, other in zip(mine, theirs, strict=True):  # the arguments, after what was written into them
        assert_same(one, other, signs)


@settings(deadline=None, derandomize=True, max_examples=150)
@given(st.integers(0, 2**32), st.integers(1, 14))
def test_tracing(seed, count):
    check_program(seed, count, "reference")


@settings(deadline=None, derandomize=True, max_examples=50)
@given(st.integers(0, 2**32), st.integers(1, 14))
def test_native_code(seed, count):
    check_program(seed, count, "cpu")


@pytest.mark.slow
@pytest.mark.parametrize("count", [6, 12, 25])
def test_many_programs(count):
    for seed in range(1000):
        check_program(1000 * count + seed, count, "reference" if seed % 2 else "cpu")


def double(x):
    """Writes to the flattened array, and gives both."""
    flat = x.ravel()
    flat[:] = 7
    return x, flat


@pytest.mark.parametrize("index", [slice(None, None, 2), slice(None, None, -1), slice(0, 1), slice(1, 3)])
def test_what_is_not_contiguous_is_copied_by_ravel(index):
    """ravel gives a contiguous array: not a view of every other element, although reshape(-1) would."""
    x = np.arange(6.0)
    for one, other in zip(jit(lambda x: double(x[index]))(x.copy()), double(x.copy()[index])):
        np.testing.assert_array_equal(one, other)
    y = np.arange(6.0).reshape(2, 3)
    for function in (lambda y: double(y.T), lambda y: double(y[:, :1]), lambda y: double(y[:1]), lambda y: double(y)):
        for one, other in zip(jit(function)(y.copy()), function(y.copy())):
            np.testing.assert_array_equal(one, other)


def test_where_of_scalars_is_an_array():
    """A 0-d array, other than the results of ufuncs: it can be written to."""

    def chosen(x):
        y = np.where(x > 0, x, -x)
        y[...] += 1
        return y

    assert jit(chosen)(np.float64(-2.0)) == chosen(np.float64(-2.0)) == 3
