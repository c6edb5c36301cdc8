"""Unsigned integers that are narrowed or widened, and widened again, beside NumPy."""

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


def test_integers_are_widened_with_their_sign_and_then_without():
    opencl_driver()
    x = np.random.default_rng(0).integers(-128, 128, 50, np.int8)

    def widened(x):
        pairs = [(8, 16, 32), (8, 16, 64), (8, 32, 64), (16, 32, 64)]
        return [(x.astype(f"i{a // 8}") + np.int8(1)).astype(f"u{b // 8}").astype(f"u{c // 8}") for a, b, c in pairs]

    for found, expected in zip(jit(widened, backend="opencl")(x), widened(x), strict=True):
        np.testing.assert_array_equal(found, expected, strict=True)
