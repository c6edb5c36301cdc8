"""Negated integers that are shifted to their sign, beside NumPy: of the least one, too."""

import numpy as np
import pytest
from opencl_device import opencl_driver
from phlox import jit


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_negated_integers_are_shifted(dtype):
    opencl_driver()
    limits = np.iinfo(dtype)
    x, y = np.array([limits.min, 5, 0, -1, limits.max], dtype), np.array([3, 7, 1, 2, 7], dtype)

    def shifted(x, y):
        return -x >> limits.bits - 1, (x * dtype(-1)) >> y, -x[0] >> dtype(limits.bits - 1)

    with np.errstate(over="ignore"):
        negated = shifted(x, y)
    for found, expected in zip(jit(shifted, backend="opencl")(x, y), negated, strict=True):
        np.testing.assert_array_equal(found, expected, strict=True)
