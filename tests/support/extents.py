"""Comparing functions of arrays whose sizes are known at run time only with NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from phlox import jit


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
