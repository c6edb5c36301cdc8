"""A function decorated does what it does undecorated."""

import copy

import numpy as np
import pytest
from phlox.tracer import jit


def assert_alike(actual, expected):
    """Equal in type, dtype, shape and structure, and in value up to the rounding of operations that are done together."""
    assert type(actual) is type(expected)
    if isinstance(expected, dict):
        assert list(actual) == list(expected)
        actual, expected = list(actual.values()), list(expected.values())
    if isinstance(expected, (list, tuple)):
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected):
            assert_alike(one, other)
    elif isinstance(expected, (np.ndarray, np.generic)):
        assert actual.dtype == expected.dtype and actual.shape == expected.shape
        tolerance = 0 if expected.dtype.kind in "biu" else 1e4 * np.finfo(expected.dtype).eps
        np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)
    else:
        assert actual == (pytest.approx(expected, rel=1e-10) if isinstance(expected, float) else expected)


def check(function, *arguments, backend="cpu"):
    """The same result, of the same type, and the same arguments afterwards; of a jitted function that may have been called."""
    jitted = function if hasattr(function, "cache_info") else jit(function, backend=backend)
    plain = getattr(jitted, "__wrapped__", function)
    given, expected_given = copy.deepcopy(arguments), copy.deepcopy(arguments)
    expected = plain(*expected_given)
    assert_alike(jitted(*given), expected)
    assert_alike(given, expected_given)
    return jitted
