"""Arrays whose sizes are known at run time only, against NumPy: values, dtypes and shapes, on both backends."""

from __future__ import annotations

import numpy as np
import pytest
from phlox import jit

DTYPES = (np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_, np.complex128)


def parts_of(value):
    return [part for one in value for part in parts_of(one)] if isinstance(value, (tuple, list)) else [value]


def check(function, *arguments, backends=("reference", "cpu"), again=()):
    """NumPy and the compiled function agree on results, changed arguments and exceptions, for other contents, too."""
    for backend in backends:
        compiled = jit(function, backend=backend)
        for given in (arguments, *again):
            first, second = ([np.copy(a) if isinstance(a, np.ndarray) else a for a in given] for _ in range(2))
            try:
                expected = function(*first)
            except (IndexError, ValueError, TypeError) as error:
                with pytest.raises(type(error)):
                    compiled(*second)
                continue
            actual = compiled(*second)
            assert type(actual) is type(expected)
            for one, other in zip(parts_of((expected, first)), parts_of((actual, second)), strict=True):
                assert type(one) is type(other), (one, other)
                assert np.shape(one) == np.shape(other) and np.asarray(one).dtype == np.asarray(other).dtype
                if np.asarray(one).dtype.kind in "fc":
                    np.testing.assert_allclose(other, one, rtol=1e-6 if np.asarray(one).itemsize < 8 else 1e-13)
                else:
                    np.testing.assert_array_equal(other, one)


def line(dtype=np.float64, size=7, seed=0):
    return (np.random.default_rng(seed).integers(-5, 6, size) * (2 if np.dtype(dtype).kind == "c" else 1)).astype(dtype)


# Of masks: some, none, all.
LINES = [(line(),), (np.full(7, -1.0),), (np.full(7, 3.0),)]
FIRST, *OTHERS = LINES


@pytest.mark.parametrize("dtype", DTYPES)
def test_selected_elements_of_each_type(dtype):
    def function(x, m):
        y = x[m]
        return (
            y,
            y.sum(),
            y.max(),
            y.min(),
            np.sort(y),
            y.any(),
            y.astype(np.float32),
            -y if dtype is not np.bool_ else y,
            y == y,
        )

    x, mask = line(dtype), np.array([1, 0, 1, 1, 0, 0, 1], bool)
    check(function, x, mask, again=[(x, ~mask), (x, np.ones(7, bool)), (x, np.zeros(7, bool)), (x, mask & (np.arange(7) == 2))])


FUNCTIONS = {
    "elements": lambda x: x[x > 0],
    "arithmetic": lambda x: (x[x > 0] * 2 + 1, 1 / x[x > 0], np.sqrt(x[x > 0]), x[x > 0] ** 2),
    "reductions": lambda x: (x[x > 0].sum(), x[x > 0].prod(), np.any(x[x > 0]), np.count_nonzero(x[x > -9])),
    "of what was computed": lambda x: np.sort(x[x > 0]).sum() + np.cumsum(x[x > 0]).sum(),
    "mean": lambda x: np.sort(x[x > -9]).mean() + np.var(x[x > -9][1:]) + np.std(x[x > -9][::2]),
    "maximum": lambda x: np.sort(x[x > 0]).max(),
    "argmax": lambda x: (x[x > 0][::-1].argmax(), np.argmin(x[x > 0])),
    "sizes": lambda x: (x[x > 0].shape, x[x > 0].size, x[x > 0].shape[0] * 2, x[x > 0].ndim, x.sum() / x[x > 0].shape[0]),
    "cumulative": lambda x: (np.cumsum(x[x > 0]), np.cumprod(x[x > 0])),
    "sorted": lambda x: (np.sort(x[x > 0]), np.argsort(x[x > 0]), np.sort(x[x > 0])[::-1]),
    "slices": lambda x: (x[x > 0][1:], x[x > 0][:2], x[x > 0][::-1], x[x > 0][-2:], x[x > 0][1:-1], x[x > 0][::2]),
    "first": lambda x: x[x > 0][0],
    "last": lambda x: x[x > 0][-1],
    "third": lambda x: x[x > 0][2],
    "of masks": lambda x: x[x > 0][x[x > 0] < 4],
    "of other masks": lambda x: x[x > 0][x[x > 2] < 4],
    "at positions": lambda x: x[np.nonzero(x > 0)[0]],
    "at positions of rows": lambda x: np.stack([x, x + 1], 1)[np.flatnonzero(x > 0)],
    "two masks": lambda x: x[x > 0] + x[x <= 0],
    "one mask twice": lambda x: x[x > 0] * x[x > 0][::-1],
    "with an array": lambda x: x[x > 0] + np.arange(3),
    "with its positions": lambda x: x[x > 0] * np.nonzero(x > 0)[0],
    "comparisons": lambda x: (x[x > 0] > 2, (x[x > 0] == 3).sum(), np.maximum(x[x > 0], 2)),
    "rounded": lambda x: (np.round(x[x > 0] / 3, 1), np.clip(x[x > 0], 1, 2), np.where(x[x > 0] > 2, x[x > 0], -1)),
    "nonzero": lambda x: (np.nonzero(x), np.flatnonzero(x > 0), np.argwhere(x > 0), np.where(x > 1), x.nonzero()),
    "nonzero in two dimensions": lambda x: (np.nonzero(np.outer(x, x) > 3), np.argwhere(np.outer(x, x) > 3)),
    "copies": lambda x: (np.copy(x[x > 0]), x[x > 0].copy(), np.zeros_like(x[x > 0]), np.ones_like(x[x > 0], int)),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_selected_elements(name):
    check(FUNCTIONS[name], *FIRST, again=OTHERS)


def test_arrays_without_elements():
    for function in (lambda x: x[x > 0], lambda x: np.nonzero(x), lambda x: x[x > 0].sum(), lambda x: np.sort(x[x > 0])):
        check(function, np.zeros(0))
    check(lambda x: (x[x[:, 0] > 0], x[x[:, 0] > 0].sum(0)), np.arange(12.0).reshape(4, 3) - 4)


def test_masks_beside_other_indices():
    x = np.arange(24.0).reshape(2, 3, 4) - 7
    mask = np.array([True, False, True])
    for function in (
        lambda x, m: x[:, m], lambda x, m: x[:, m, 0], lambda x, m: x[1, m], lambda x, m: x[..., m, :],
        lambda x, m: x[:, m, 1:3], lambda x, m: x[0][m], lambda x, m: x[x > 0], lambda x, m: x[:, m][:, :, 1],
        lambda x, m: x[0, m, 0].sum(),
        lambda x, m: x[:, m].sum(axis=1), lambda x, m: x[:, m].mean(axis=(0, 1)), lambda x, m: x[:, m].max(axis=0),
    ):  # fmt: skip
        check(function, x, mask, again=[(x, ~mask), (x, mask | True)])


def test_writing_to_selected_elements():
    x, mask = np.arange(12.0).reshape(3, 4), np.array([True, False, True, True])

    def columns(x, m):
        x[:, m] -= 1
        x[1, m] *= 2
        return x

    def elsewhere(x, m):
        y = np.zeros_like(x)
        y[0, m] = x[1, m] + x[2, m]
        y[1, np.flatnonzero(m)] = 7
        y[2, np.nonzero(m)[0]] = x[0, m][::-1]
        return y

    def wrong(x, m):
        x[0, m] = x[0, ~m]
        return x

    for function in (columns, elsewhere, wrong):
        check(function, x, mask, again=[(x, ~mask), (x, mask & False), (x, np.array([True, False, True, False]))])


def test_writing_to_arrays_of_unknown_sizes():
    def change(x):
        y = x[x > 0]
        y += 1
        y[y > 3] = 0
        y[np.flatnonzero(y)] *= 2
        y[: y.shape[0] // 2] += 10
        y[::2] = y[::2] - 1
        z = y[1:]
        z[...] = z[::-1].copy()
        y *= y
        return y, z

    check(change, *FIRST, again=OTHERS)

    def first(x):
        y = x[x > 0]
        y[0] = 7
        y[-1] += 2
        return y

    check(first, *FIRST, again=OTHERS)
