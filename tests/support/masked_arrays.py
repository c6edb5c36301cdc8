"""Masked arrays of all kinds, and what those of functions and NumPy's are compared by."""

import warnings

import numpy as np
from numpy import ma
from phlox import jit

DATA = {
    "f64": np.array([[1.5, -2.0, 0.0, 4.0], [3.0, np.inf, -1.0, 0.5]]),
    "f32": np.array([[1.5, -2.0, 0.0, 4.0], [3.0, 2.0, -1.0, 0.5]], np.float32),
    "i64": np.array([[1, -2, 0, 4], [3, 2, -1, 5]]),
    "u8": np.array([[1, 200, 0, 4], [3, 2, 100, 5]], np.uint8),
    "bool": np.array([[True, False, True, True], [False, False, True, False]]),
    "complex": np.array([[1 + 2j, -2.0, 0.0, 4.0], [3.0, 2j, -1.0, 0.5]]),
}
MASKS = {
    "some": np.array([[0, 1, 0, 0], [0, 0, 1, 1]], bool),
    "a row": np.array([[1, 1, 1, 1], [0, 0, 1, 0]], bool),
    "all": np.ones((2, 4), bool),
    "nothing": np.zeros((2, 4), bool),
    "no mask": ma.nomask,
}


def require_same(found, expected, has_data=False):
    if isinstance(expected, (tuple, list)):
        assert len(found) == len(expected)
        for one, another in zip(found, expected):
            require_same(one, another, has_data)
        return
    if expected is None or isinstance(expected, str):
        assert found == expected
        return
    if expected is ma.masked:
        assert found is ma.masked
        return
    if not isinstance(expected, ma.MaskedArray):
        assert not isinstance(found, ma.MaskedArray)
        assert np.asarray(found).dtype == np.asarray(expected).dtype
        np.testing.assert_allclose(found, expected, rtol=1e-6 if np.asarray(found).dtype == np.float32 else 1e-12, atol=1e-13)
        return
    assert type(found) is ma.MaskedArray
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(ma.getmaskarray(found), ma.getmaskarray(expected))
    rtol = 1e-6 if expected.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(found.filled(1), expected.filled(1), rtol=rtol, atol=1e-13)
    np.testing.assert_equal(found.fill_value, expected.fill_value)
    if has_data:
        np.testing.assert_allclose(found.data, expected.data, rtol=rtol, atol=1e-13)


def silently(function, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args)


def works(function, *args):
    try:
        silently(function, *args)
    except (TypeError, ValueError):
        return False
    return True


def require_same_results(functions, *args):
    """Of one program that computes all of what NumPy can compute."""
    functions = [function for function in functions if works(function, *args)]

    def program(*args):
        return [function(*args) for function in functions]

    require_same(jit(program)(*args), silently(program, *args), has_data=True)
