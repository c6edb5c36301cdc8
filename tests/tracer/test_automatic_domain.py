"""``np.emath``: real where all numbers lie in the domain, complex where one does not; and again, call after call."""

import numpy as np
import pytest
from phlox import jit

FUNCTIONS = {
    "sqrt": lambda x, p: np.emath.sqrt(x),
    "log": lambda x, p: np.emath.log(x),
    "log2": lambda x, p: np.emath.log2(x),
    "log10": lambda x, p: np.emath.log10(x),
    "arccos": lambda x, p: np.emath.arccos(x),
    "arcsin": lambda x, p: np.emath.arcsin(x),
    "arctanh": lambda x, p: np.emath.arctanh(x),
    "logn": lambda x, p: np.emath.logn(2, x),
    "logn of a base": lambda x, p: np.emath.logn(x, 4),
    "power": lambda x, p: np.emath.power(x, p),
    "power of a number": lambda x, p: np.emath.power(2, x),
    "of an element": lambda x, p: np.emath.sqrt(x[0]),
    "of selected": lambda x, p: np.emath.sqrt(x[x != 3]),
}
ARRAYS = [
    np.array([1.0, 4.0, 0.5]), np.array([-1.0, 4.0, 0.5]), np.array([2, 3, 4]), np.array([-2, 3, 4], np.int8),
    np.array([0.5, -0.5], np.float32), np.array([1 + 2j, 3]), np.array([3, 200], np.uint8),
]  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore")
def test_real_and_complex_results(name):
    function = FUNCTIONS[name]
    for x in ARRAYS:
        decorated = jit(function)
        for given in ((x, np.array(2)), (x * 0 + x[-1], np.array(-2)), (x, np.array(2.5)), (x, np.array([3]))):
            expected, found = function(*given), decorated(*given)
            assert (type(found), found.dtype, found.shape) == (type(expected), expected.dtype, expected.shape)
            np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_the_kind_of_numbers_is_found_out_once():
    decorated = jit(lambda x: np.emath.sqrt(x))
    for x in (np.ones(3), -np.ones(3), -2 * np.ones(3), -np.ones(3)):
        assert np.all(decorated(x) == np.emath.sqrt(x))
    assert decorated.cache_info().misses == 2
