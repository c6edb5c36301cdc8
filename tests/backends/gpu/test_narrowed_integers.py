"""Unsigned integers that are narrowed and widened again, beside NumPy."""

import numpy as np
from opencl_device import opencl_driver
from phlox import jit


def test_integers_are_narrowed_and_widened_again():
    opencl_driver()
    x = np.random.default_rng(0).integers(0, 1 << 63, 50, np.uint64)

    def widened(x):
        pairs = [(8, 16), (8, 32), (16, 32), (8, 64), (16, 64), (32, 64)]
        return [x.astype(f"u{narrow // 8}").astype(f"u{wide // 8}") + np.uint8(1) for narrow, wide in pairs]

    for found, expected in zip(jit(widened, backend="opencl")(x), widened(x), strict=True):
        np.testing.assert_array_equal(found, expected, strict=True)
