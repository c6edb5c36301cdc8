"""Results beside results: of passes, of native code, of the reference."""

import numpy as np
from phlox import hlo
from phlox.backends.registry import get_backend


def flattened(value):
    """The arrays in nested tuples, in order; a token (None) has none."""
    if isinstance(value, tuple | list):
        return [array for element in value for array in flattened(element)]
    return [] if value is None else [np.asarray(value, order="C")]


def assert_identical(actual, expected, what=""):
    """Arrays, in nested tuples too, are equal to the last bit, but for the payloads of NaN."""
    for one, other in zip(flattened(actual), flattened(expected), strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape, what
        if one.dtype.kind not in "biuc":  # NumPy does not recognize the NaN of narrow types
            one, other = one.astype(np.float64), other.astype(np.float64)
        np.testing.assert_array_equal(one, other, what)
        if one.dtype.kind == "f":
            numbers = ~np.isnan(other)
            np.testing.assert_array_equal(np.signbit(one)[numbers], np.signbit(other)[numbers], what)


def check_compiled(module, *arguments, rtol=0.0, atol=0.0):
    """Native code computes what the module means, to the last bit where no tolerance is given; returns the executable."""
    with np.errstate(all="ignore"):
        expected = hlo.evaluate(module.entry, *arguments)
    executable = get_backend("cpu").compile(module)
    results = executable(*arguments)
    if not rtol and not atol:
        assert_identical(results, expected, module.as_text())
    else:
        for one, other in zip(flattened(results), flattened(expected), strict=True):
            np.testing.assert_allclose(one, other, rtol, atol)
    return executable
