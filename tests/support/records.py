"""What structured arrays, and what holds them, are compared by."""

import numpy as np


def assert_same(found, expected):
    assert type(found) is type(expected)
    if isinstance(expected, (tuple, list)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected):
            assert_same(one, other)
    elif isinstance(expected, dict):
        assert_same(list(found.items()), list(expected.items()))
    elif isinstance(expected, (np.ndarray, np.generic)) and expected.dtype.names:
        assert found.dtype == expected.dtype and found.shape == expected.shape
        for name in expected.dtype.names:
            assert_same(np.asarray(found[name]), np.asarray(expected[name]))
    elif isinstance(expected, (np.ndarray, np.generic)):
        assert found.dtype == expected.dtype
        if expected.dtype.kind in "biufc":
            np.testing.assert_allclose(found, expected, rtol=1e-12)
        else:
            np.testing.assert_array_equal(found, expected)
    else:
        assert found == expected
