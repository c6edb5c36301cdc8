"""Sums are as accurate as summation by pairs, along every dimension and in contractions."""

import numpy as np
import pytest
from phlox import jit
from phlox.backends.registry import get_backend
from phlox.hlo import F32, Shape, scalar_computation
from phlox.xla_builder import XlaBuilder

# Summation by pairs errs by a few halves of the last place of the sum of magnitudes; one by one, 100,000 terms by hundreds.
UNITS = 8


def positive(*shape, dtype=np.float32):
    return np.random.default_rng(len(shape)).random(shape).astype(dtype)


def largest_error(found, exact, magnitude):
    """In units of half the last place."""
    return np.max(np.abs(found - exact) / magnitude) * 2 ** (np.finfo(found.dtype).nmant + 1)


@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((100_000,), 0),
        ((100_000, 3), 0),
        ((100_000, 40), 0),
        ((20_000, 300), 0),
        ((2, 30_000, 17), 1),
        ((300, 5, 300), (0, 2)),
        ((3_000, 30, 8), (0, 1)),
        ((30_001, 2, 300), (0, 1)),
        ((20, 30_000), 1),
    ],
)
def test_sums(shape, axis):
    x = positive(*shape)
    exact = x.astype(np.float64).sum(axis)
    assert largest_error(jit(lambda x: np.sum(x, axis=axis))(x), exact, exact) < UNITS


@pytest.mark.parametrize("terms", [64, 65, 200, 1_000, 4_097, 100_000])
@pytest.mark.parametrize("columns", [5, 40])
def test_products_of_matrices(terms, columns):
    x, y = positive(3, terms), positive(terms, columns)
    exact = x.astype(np.float64) @ y.astype(np.float64)
    assert largest_error(jit(lambda x, y: x @ y)(x, y), exact, exact) < UNITS


def test_complex_products():
    x, y = positive(3, 30_000) + 1j * positive(3, 30_000), positive(30_000, 9) - 1j * positive(30_000, 9)
    x, y = x.astype(np.complex64), y.astype(np.complex64)
    exact = x.astype(complex) @ y.astype(complex)
    found = jit(lambda x, y: x @ y)(x, y)
    magnitude = np.abs(x).astype(float) @ np.abs(y)
    assert max(largest_error(part(found), part(exact), magnitude) for part in (np.real, np.imag)) < UNITS


@pytest.mark.parametrize("contracting", [(3, 1_000), (1_000, 3), (70, 90), (200, 2, 50)])
def test_several_contracting_dimensions(contracting):
    x, y = positive(4, *contracting), positive(*contracting, 33)
    axes = len(contracting)
    exact = np.tensordot(x.astype(np.float64), y.astype(np.float64), axes)
    assert largest_error(jit(lambda x, y: np.tensordot(x, y, axes))(x, y), exact, exact) < UNITS


@pytest.mark.parametrize("width", [3, 300])
@pytest.mark.parametrize("start", [0.0, -0.0, 5.0])
def test_columns_of_special_values(start, width):
    """What is not finite, and the sign of zero, come out as if the elements were added in order."""
    x = np.zeros((200, width), np.float32)
    x[:, 0] = -0.0
    x[150, 1] = np.inf
    x[[3, 150], 2] = np.inf, -np.inf
    b = XlaBuilder("f")
    reduced = b.Reduce(b.parameter(Shape(F32, x.shape)), b.constant(np.float32(start)), scalar_computation("add", F32), [0])
    module = b.build_module(reduced)
    (found,), (expected,) = (get_backend(name).compile(module)(x) for name in ("cpu", "reference"))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found[[0, 1]]), np.signbit(expected[[0, 1]]))
