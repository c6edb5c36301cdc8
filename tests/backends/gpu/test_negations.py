"""Negated floats on both sides of a barrier, beside NumPy."""

import numpy as np
import pytest
from opencl_device import opencl_driver
from phlox import jit
from thinning import one_in

FUNCTIONS = {
    "abs": lambda x, y: np.exp(-np.abs(x - y)),
    "product": lambda x, y: np.exp((x - y) * -1.0),
    "quotient": lambda x, y: np.exp((x - y) / -1.0),
    "zero": lambda x, y: np.exp(-0.0 - (x - y)),
    "complex": lambda x, y: np.conj(x + 1j * y).imag * 2 + x,
}


@pytest.mark.parametrize("name", one_in(5, FUNCTIONS))
def test_what_is_computed_of_a_negated_float_differs_between_rows(name):
    opencl_driver()
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=32), generator.normal(size=(4, 1))

    def rows(x, y):
        found = FUNCTIONS[name](x, y)
        return found + found.min(axis=-1, keepdims=True)

    np.testing.assert_allclose(jit(rows, backend="opencl")(x, y), rows(x, y), rtol=1e-9)
