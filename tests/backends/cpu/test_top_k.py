"""A few elements at an end of long lines, in any order that these may have."""

import numpy as np
import pytest
from phlox import jit


def few(k, *, last):
    def function(x):
        size = x.shape[-1]
        parts = np.partition(x, size - k if last else k, axis=-1)
        return np.sort(parts[..., size - k :] if last else parts[..., :k], axis=-1)

    return function


LINES = {
    "random": lambda rng, n: rng.integers(-(1 << 30), 1 << 30, n),
    "ascending": lambda rng, n: np.sort(rng.integers(-(1 << 30), 1 << 30, n)),
    "descending": lambda rng, n: -np.sort(rng.integers(-(1 << 30), 1 << 30, n)),
    "equal": lambda rng, n: np.full(n, 7),
    "of few values": lambda rng, n: rng.integers(-1, 2, n),
    "greatest": lambda rng, n: np.full(n, np.iinfo(np.int64).max),
    "least": lambda rng, n: np.full(n, np.iinfo(np.int64).min),
}


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.uint8])
@pytest.mark.parametrize("last", [True, False])
def test_a_few_of_a_long_line_are_found_without_sorting_it(dtype, last):
    """The threshold that some vectors give holds for all, whatever the order of the elements is."""
    rng = np.random.default_rng(0)
    for k in (1, 9, 100):
        f = jit(few(k, last=last))
        assert "topk" in f.compile(np.zeros(40_000, dtype)).as_text()
        for name, line in LINES.items():
            x = line(rng, 40_000).astype(dtype)
            np.testing.assert_array_equal(f(x), few(k, last=last)(x), err_msg=name)


@pytest.mark.parametrize("last", [True, False])
def test_a_few_of_lines_with_nan_and_zeros(last):
    x = np.random.default_rng(0).standard_normal((3, 5000)).astype(np.float32)
    x[0, ::100] = np.nan
    x[0, 50] = -np.nan
    x[1] = np.where(x[1] > 0, 0.0, -0.0) if last else np.abs(x[1]) * np.where(x[1] > 0, 0.0, -0.0)
    for k in (5, 60):
        np.testing.assert_array_equal(jit(few(k, last=last))(x), few(k, last=last)(x))


def test_what_else_is_needed_of_a_partition_is_there():
    x = np.random.default_rng(0).standard_normal(5000)
    both = lambda x: (np.partition(x, 10), np.sort(x)[:10])  # noqa: E731
    parts, least = jit(both)(x)
    np.testing.assert_array_equal(np.sort(parts), np.sort(x))
    np.testing.assert_array_equal(least, np.sort(x)[:10])
