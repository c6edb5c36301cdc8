"""Basic indexing of traced arrays, read and written, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phlox import jit
from phlox.tracer.functions.shape_manipulation import reshape_strides


def traced(function, *arguments):
    """The results and the arguments as the traced function leaves them."""
    copies = [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
    return jit(function, backend="reference")(*copies), copies


def check(function, *arguments):
    """NumPy and the traced function agree: on the result and the changed arguments, or on the exception."""
    copies = [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
    try:
        expected = function(*copies)
    except (IndexError, ValueError, TypeError) as error:
        with pytest.raises(type(error)):
            traced(function, *arguments)
        return
    actual, changed = traced(function, *arguments)
    for one, other in zip((expected, *copies), (actual, *changed)):
        assert np.shape(one) == np.shape(other)
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_array_equal(other, one)


X = np.arange(120).reshape(4, 5, 6)

INDICES = [
    0, -1, 3, 4, -5, (1, 2), (1, 2, 3), (-1, -1, -1), (0, 5), (0, 0, 0, 0), slice(None), slice(1, 3), slice(None, None, -1),
    slice(3, 0, -2), slice(10, 20), slice(-2, None), slice(3, 1), slice(None, None, 3), Ellipsis, (Ellipsis, 0), (0, Ellipsis),
    (0, Ellipsis, 1), (slice(None), 1), (slice(None), slice(1, 4, 2), slice(None, None, -3)), None, (None, 0), (0, None),
    (slice(1, 2), None, 2, None), (Ellipsis, None), (1, 2, 3, Ellipsis), (1, 2, 3, None), (Ellipsis, Ellipsis), (), np.int8(2),
    np.array(1), slice(0, 2, 0), 1.5, "a", (slice(None), slice(None), slice(None), 0), (2, slice(4, None, -1)),
    (slice(4, 4), 1), slice(None, -9, -1),
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_reading(index):
    check(lambda x: x[index], X)


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_writing(index):
    def write(x):
        x[index] = -1
        return x.sum()

    check(write, X)

    def write_array(x):
        x[index] = x[index] * 2 + 1
        return x.copy()

    check(write_array, X)


def basic_index(shape):
    """Indices of up to as many entries as there are dimensions, with newaxis and one Ellipsis."""

    def entry(size):
        bound = st.none() | st.integers(-size - 2, size + 2)
        return st.builds(slice, bound, bound, st.sampled_from([None, 1, 2, 3, -1, -2])) | st.integers(
            -size, max(size - 1, -size)
        )

    parts = st.tuples(*(entry(size) for size in shape)).flatmap(
        lambda entries: st.builds(
            lambda count, news, dots: _insert(list(entries[:count]), news, dots),
            st.integers(0, len(entries)), st.lists(st.integers(0, 3), max_size=2), st.none() | st.integers(0, 3),
        )
    )  # fmt: skip
    return parts


def _insert(entries, news, dots):
    if dots is not None:
        entries.insert(min(dots, len(entries)), Ellipsis)
    for place in news:
        entries.insert(min(place, len(entries)), None)
    return tuple(entries)


SHAPES = st.sampled_from([(5,), (3, 4), (1, 6), (0, 3), (2, 3, 4)])


@settings(deadline=None, derandomize=True, max_examples=100)
@given(SHAPES.flatmap(lambda shape: st.tuples(st.just(shape), basic_index(shape))))
def test_any_basic_index(case):
    shape, index = case
    x = np.arange(np.prod(shape)).reshape(shape)
    if any(isinstance(entry, int) and not -size <= entry < size for entry, size in zip(index, shape)):
        return
    check(lambda x: x[index], x)

    def write(x):
        view = x[index]
        x[index] = 100 + np.arange(view.size).reshape(view.shape)
        return view if view.shape else view + 0

    check(write, x)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    SHAPES.flatmap(lambda shape: st.tuples(st.just(shape), basic_index(shape))),
    st.data(),
)
def test_views_of_views(case, data):
    shape, first = case
    x = np.arange(np.prod(shape)).reshape(shape)
    try:
        inner = x[first].shape
    except IndexError:
        return
    second = data.draw(basic_index(inner)) if inner else (Ellipsis,)
    try:
        x[first][second]
    except IndexError:
        return

    def write_through(x):
        view = x[first]
        if not np.ndim(view):
            return view
        part = view[second]
        if np.ndim(part):
            part += 1000
            part.T[...] = part.T * 2
        else:
            view[second] = 7
        x[...] += 1
        return view

    check(write_through, x)


def test_indices_known_at_run_time():
    x = np.arange(12).reshape(3, 4)
    for i in range(-3, 3):
        check(lambda x, i: x[i], x, i)
        for read in (lambda x, i: x[i, i], lambda x, i: x[:, i], lambda x, i: x[i, ::-2], lambda x, i: x[..., i, None]):
            check(read, x, i)
        check(lambda x, i: x[i + 0, 1:3], x, np.int8(i))

        def write(x, i):
            x[i] = 5
            x[:, i] += 10
            x[i, ::2] = -x[i, ::2]
            row = x[i]
            row[1] = 99
            i = i * 0  # the view stays where it was
            row[2] = 98
            return row

        check(write, x, i)
    check(lambda x, i: x[i], x, np.uint64(1))
    check(lambda x, i: x[i, i], x, np.array(1))
    for i in (3, -4, 100, np.uint8(255), np.uint64(2**63)):
        with pytest.raises(IndexError, match="out of bounds for axis 0 with size 3"):
            traced(lambda x, i: x[i] * 2, x, i)
        with pytest.raises((IndexError, OverflowError), match="out of bounds for axis 0 with size 3|too large"):

            def write(x, i):
                x[i] = 1
                return x

            traced(write, x, i)


def test_broadcasting_and_conversion_of_what_is_written():
    x = np.arange(12.0).reshape(3, 4)
    for value in (
        1,
        2.5,
        True,
        np.float32(1.5),
        np.arange(4),
        np.arange(3)[:, None],
        np.ones((1, 1, 3, 4)),
        [1, 2, 3, 4],
        np.ones((2, 4)),
        1j,
    ):

        def write(x, value=value):
            x[...] = value
            return x

        check(write, x)
        check(write, x.astype(np.int32))

    def overlapping(x):
        x[1:] = x[:-1]
        x[:, ::-1] = x
        return x

    check(overlapping, x)


MASKS = [np.array([True, False, True]), np.zeros(3, bool), np.arange(12).reshape(3, 4) % 3 == 0]


@pytest.mark.parametrize("mask", MASKS, ids=["rows", "none", "all dimensions"])
def test_assignment_to_masks(mask):
    x = np.arange(12.0).reshape(3, 4)

    def assign(x, mask):
        x[mask] = -1
        x[~mask, ...] = 5
        x[x > 4] = 4.5
        return x

    check(assign, x, mask)

    def assign_constant_mask(x):
        x[mask] = 7
        return x

    check(assign_constant_mask, x)


def test_assignment_to_masks_of_some_dimensions():
    x, rows = np.arange(12.0).reshape(3, 4), np.array([True, False, True])

    def assign_rows(x, rows):
        x[rows] = np.arange(4)
        x[:, np.array([True, False, False, True])] = 9
        x[rows, :] = x[1]
        x[False] = 3
        x[True] = x * 2
        return x

    check(assign_rows, x, rows)

    def mismatch(x):
        x[np.array([True, False])] = 1

    check(mismatch, x)


def test_a_bound_of_a_slice_that_is_a_python_integer_becomes_static():
    function = jit(lambda x, n: x[: n + 1].reshape(2, -1), backend="reference")
    for size in (3, 1):
        np.testing.assert_array_equal(function(np.arange(5), size), np.arange(size + 1).reshape(2, -1))
    assert function.cache_info().misses == 2


def test_wrong_indices():
    check(lambda x: x[1.0], X)
    check(lambda x: x[x * 1.0], X)
    check(lambda x: x["name"], X)
    check(lambda x: x[0][0][0][0], X)


def test_length_and_iteration():
    check(lambda x: sum((row * k for k, row in enumerate(x)), start=len(x)), X)
    check(lambda x: [a + b for a, b in zip(*x[:2])][0], X)
    check(lambda x: len(x[0, 0, 0]), X)
    check(lambda x: list(x[0, 0, 0]), X)
    check(lambda x: (lambda first, *rest: first + len(rest))(*x), X)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_reshape_makes_views_where_numpy_does(shape, data):
    base = np.zeros(shape)
    array = base.transpose(data.draw(st.permutations(range(base.ndim))))
    array = array[tuple(slice(None, None, data.draw(st.sampled_from([1, 1, 2, -1]))) for _ in range(array.ndim))]
    size = array.size
    sizes = []
    while size > 1 and len(sizes) < 4:
        divisor = data.draw(st.sampled_from([d for d in range(1, size + 1) if size % d == 0]))
        sizes.append(divisor)
        size //= divisor
    sizes.append(size)
    strides = reshape_strides(array.shape, tuple(step // 8 for step in array.strides), tuple(sizes))
    reshaped = array.reshape(sizes)
    assert (strides is not None) == np.shares_memory(array, reshaped)
    if strides is not None:
        meaningful = [(a * 8, b) for a, b, n in zip(strides, reshaped.strides, sizes) if n > 1]
        assert all(a == b for a, b in meaningful)


OUTSIDE = [
    7,
    -7,
    np.int64(9),
    np.int8(-100),
    np.uint8(9),
    np.array([1, 2, 9, 11]),
    np.array([[1, -9], [0, 99]]),
    np.array([-6], np.int8),
]


@pytest.mark.parametrize("index", OUTSIDE, ids=str)
@pytest.mark.parametrize(
    "use",
    [
        lambda x, i: x[i],
        lambda x, i: np.take(x, i),
        lambda x, i: x.__setitem__(i, 1),
        lambda x, i: x.reshape(1, 5)[0, i],
        lambda x, i: x.reshape(5, 1)[i, 0],
        lambda x, i: x.reshape(5, 1)[0, i],
        lambda x, i: (x[i], x[i - 1]),
        lambda x, i: np.delete(x, i),
        lambda x, i: np.put(x, i, 0),
        lambda x, i: np.unravel_index(i, (2, 2)),
        lambda x, i: np.add.at(x, i, 1),
    ],
)
def test_what_is_said_of_places_outside(use, index):
    with pytest.raises((IndexError, ValueError, TypeError)) as expected:
        use(np.arange(5.0), index)
    with pytest.raises(expected.type) as found:
        jit(use)(np.arange(5.0), index)
    assert str(found.value) == str(expected.value)


def test_places_that_are_too_far_outside_are_not_shown():
    with pytest.raises(IndexError, match="^index is out of bounds for axis 0 with size 5$"):
        jit(lambda x, i: x[i])(np.arange(5.0), 2**60)


def test_handlers_see_what_is_said(capsys):
    def f(x, i):
        for k in range(300):
            try:
                x[k % 3 + i] += x[i - 5]
            except IndexError as error:
                if k % 100 == 7:
                    print(k, error, repr(error), f"{error}")
        return x

    for i in (7, 4, -9):
        f(np.arange(5.0), i)
        expected = capsys.readouterr().out
        jit(f)(np.arange(5.0), i)
        assert capsys.readouterr().out == expected and expected


def test_ranges_as_indices():
    table = np.arange(12.0).reshape(3, 4)

    def write(table, k):
        table[0, range(k)] = 1
        table[range(1, k)] += 2
        table[range(0, 3, 2), 1] = 7
        return table

    def in_a_loop(table):
        total = 0.0
        for k in range(200):
            total += table[0, range(k % 3)].sum()
        return total

    for k in (2, 3):
        np.testing.assert_array_equal(jit(write)(table.copy(), k), write(table.copy(), k))
        np.testing.assert_array_equal(jit(lambda table, i, k: table[i, range(k)])(table, 1, k), table[1, :k])
    np.testing.assert_array_equal(jit(lambda table: table[range(2), range(1, 3)])(table), table[range(2), range(1, 3)])
    assert jit(in_a_loop)(table) == in_a_loop(table)
