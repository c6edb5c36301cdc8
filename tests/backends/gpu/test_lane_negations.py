"""Negations of vectors whose bits have been computed as integers, on AMD's devices."""

import ml_dtypes
import numpy as np
import pytest
from gpu_backends import AMD_ARCHITECTURES
from phlox import jit


@pytest.mark.parametrize("architecture", AMD_ARCHITECTURES)
def test_rounded_to_bfloat16(emulated, architecture):
    emulated(architecture)
    x = np.random.default_rng(0).standard_normal(64).astype(np.float32)
    found = jit(lambda x: -x.astype(ml_dtypes.bfloat16), backend="emulated")(x)
    np.testing.assert_array_equal(found.astype(np.float32), -x.astype(ml_dtypes.bfloat16).astype(np.float32))
