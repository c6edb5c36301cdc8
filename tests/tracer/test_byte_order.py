"""Arrays of the other byte order that the traced function makes or reads: their elements are the same numbers."""

import numpy as np
import pytest
from phlox import jit

HELD = np.array([3, 5], ">i4")


def made(x):
    return np.array([1, 2], dtype=">i4")


def made_beside_others(x):
    return np.array([1.5, 2], dtype=">f8")[::-1], [np.array([1, 2], ">i2")], x


def read_from_bytes(x):
    header = np.frombuffer(b"\0\0\0\1\0\0\0\2", dtype=">i4")
    return header, header[1] + x[0], header.astype(np.int64)


def written_to(x):
    a = np.array([1.0, 2.0], dtype=">f8")
    a[0] = x[1] + 5
    return a


def on_one_side(x):
    a = np.array([1, 2], dtype=">i4")
    return a if x[0] > 0 else a + 1


def an_index(x):
    return x[np.array([1, 0], ">i8")]


def a_mask_of_bits(x):
    return np.bitwise_count(np.array([255, 256], ">u2")) + HELD


def converted(x):
    return x.astype(">f4"), np.arange(3).astype(">i2")


@pytest.mark.parametrize(
    "function", [made, made_beside_others, read_from_bytes, written_to, on_one_side, an_index, a_mask_of_bits, converted]
)
def test_elements_are_the_numbers_that_they_are(function):
    traced = jit(function)
    for x in (np.array([1.0, 2.0]), np.array([-1.0, 4.0]), np.array([1.0, 2.0], ">f8")):
        _require_equal(traced(x), function(x))


def _require_equal(result, expected):
    if isinstance(expected, (tuple, list)):
        assert type(result) is type(expected) and len(result) == len(expected)
        for one, other in zip(result, expected):
            _require_equal(one, other)
    else:
        np.testing.assert_array_equal(result, expected)
        assert np.result_type(result) == np.result_type(expected).newbyteorder("=")


def test_a_view_in_the_other_byte_order_is_refused():
    with pytest.raises(NotImplementedError, match="the other byte order"):
        jit(lambda x: x.view(">i8"))(np.ones(3))
    x = np.arange(3.0)
    result = jit(lambda x: x.view("int64").byteswap())(x)
    np.testing.assert_array_equal(result, x.view(">i8"))
