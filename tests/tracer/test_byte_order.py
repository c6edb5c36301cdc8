"""Arrays of the other byte order: the program computes with their numbers, and who asks for dtypes and bytes gets NumPy's."""

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
    return a * 2 if x[0] > 0 else a + 1


def an_index(x):
    return x[np.array([1, 0], ">i8")]


def a_mask_of_bits(x):
    return np.bitwise_count(np.array([255, 256], ">u2")) + HELD


def converted(x):
    return x.astype(">f4"), np.arange(3).astype(">i2")


def dtypes(x):
    kinds = [x.dtype, x[1:].dtype, x.T.dtype, (x + 1).dtype, x.astype(">i2").dtype, np.zeros_like(x).dtype, x[x > 1].dtype]
    return kinds, x.dtype == np.float64, x.dtype.byteorder, str(x.dtype), HELD.dtype, HELD[:1]


def copies_and_views(x):
    return [
        x[1:],
        {"all": x.T},
        x.copy(),
        x[::-1],
        x[[1, 0]],
        np.sort(x),
        x[x > 1],
        np.asarray(x, dtype=float),
        x.astype("<f8"),
    ]


def bytes_of(x):
    return x.tobytes(), x[:1].tobytes(), (x * 2).tobytes(), x.astype(">i8").tobytes(), np.array([1, 2], ">u2").tobytes()


def texts(x):
    return repr(x), str(x), f"{x!r} {x}", repr([x[1:]])


def views(x):
    return x.view("u1"), x.view(np.int64), x.view(np.float32), x.byteswap(), x.byteswap().view(x.dtype.newbyteorder("="))


def written_as_bytes(x):
    copy = x.copy()
    seen = copy.view("u1")
    seen[0] = 64
    seen[7] = 1
    return copy, copy.sum(), seen


def after_a_loop(x):
    for k in range(100):
        x[k % 2] += 1
    return x.dtype, x.copy(), x.tobytes()


FUNCTIONS = [made, made_beside_others, read_from_bytes, written_to, on_one_side, an_index, a_mask_of_bits, converted]
FUNCTIONS += [dtypes, copies_and_views, bytes_of, texts, views, written_as_bytes, after_a_loop]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_elements_are_the_numbers_that_they_are(function):
    traced = jit(function)
    for x in (np.array([1.0, 2.0]), np.array([-1.0, 4.0]), *[np.array([1.0, 2.0], ">f8")] * 3, np.array([1.0, 2.0])):
        _require_equal(traced(x.copy()), function(x.copy()))


def _require_equal(result, expected):
    if isinstance(expected, (tuple, list)):
        assert type(result) is type(expected) and len(result) == len(expected)
        for one, other in zip(result, expected):
            _require_equal(one, other)
    elif isinstance(expected, dict):
        assert list(result) == list(expected)
        _require_equal(list(result.values()), list(expected.values()))
    elif isinstance(expected, np.ndarray):
        np.testing.assert_array_equal(result, expected)
        assert result.dtype == expected.dtype
    else:
        assert type(result) is type(expected) and result == expected


def test_a_view_in_the_other_byte_order_is_refused():
    with pytest.raises(NotImplementedError, match="other byte order"):
        jit(lambda x: x.view(">i8"))(np.ones(3, ">f8"))
    with pytest.raises(NotImplementedError, match="the other byte order"):
        jit(lambda x: x.view(">i8"))(np.ones(3))
    x = np.arange(3.0)
    result = jit(lambda x: x.view("int64").byteswap())(x)
    np.testing.assert_array_equal(result, x.view(">i8"))


@pytest.mark.parametrize("dtype", "?bHieFD")
def test_bytes_change_places(dtype):
    def function(x):
        swapped = x.byteswap()
        x.byteswap(inplace=True)
        return swapped

    for shape in ((), (7,), (3, 5)):
        bits = np.random.default_rng(3).integers(0, 2, (*shape, np.dtype(dtype).itemsize), np.uint8)
        x = bits.view(dtype).reshape(shape)
        given = x.copy()
        found = jit(function)(given)
        assert (found.tobytes(), found.shape, found.dtype) == (x.byteswap().tobytes(), shape, x.dtype)
        assert given.tobytes() == x.byteswap().tobytes()
    assert type(jit(lambda x: x.byteswap())(np.float64(2))) is np.float64
