"""Complements in loops that carry an extremum, beside NumPy."""

import numpy as np
import pytest
from gpu_backends import processor_backend
from phlox import jit

FUNCTIONS = {
    "not": lambda most, x: ~most,
    "from -1": lambda most, x: -1 - most,
    "negative": lambda most, x: -most - 1,
    "difference": lambda most, x: x - (most + 1),
    "sum": lambda most, x: ~most + x,
    "of another": lambda most, x: ~x + most,
    "product": lambda most, x: most * -1 - 1,
}


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("size", [31, 100])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_running_extrema(name, size, dtype):
    """Vectors first, and then a loop over the elements that are left: of this the compiler makes wrong code."""
    backend = processor_backend().name

    def results(x):
        return [FUNCTIONS[name](function.accumulate(x), x) for function in (np.maximum, np.minimum)]

    x = np.random.default_rng(size).permutation(size).astype(dtype)
    for found, expected in zip(jit(results, backend=backend)(x), results(x), strict=True):
        np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_loop_of_the_program(name):
    backend = processor_backend().name

    def results(x):
        most, found = x[0], np.zeros_like(x)
        for i in range(x.size):
            most = max(most, x[i])
            found[i] = FUNCTIONS[name](most, x[i])
        return found

    x = np.random.default_rng(5).permutation(60)
    np.testing.assert_array_equal(jit(results, backend=backend)(x), results(x))
