"""Arrays on a device that are changed in place, by functions and by assignment, and views of them."""

import operator

import numpy as np
import pytest
from device_with_memory import same
from phlox import jit

X = np.arange(12.0).reshape(3, 4)
NUMBERS = np.arange(6)


@jit
def normalize(x):
    x -= x.mean()
    x /= np.abs(x).max()


def test_arguments_changed_in_place(put):
    x, expected = put(X), X.copy()
    alias, row = x, x[1]
    assert normalize(x) is None
    normalize(expected)
    same(x, expected)
    same(row, expected[1])
    assert alias is x


def test_host_array_changed_beside_an_array_on_a_device(put):
    @jit
    def add_to(out, x):
        out += x

    out = np.ones((3, 4))
    add_to(out, put(X))
    np.testing.assert_array_equal(out, X + 1)


def test_the_same_array_twice(put):
    @jit
    def move(a, b):
        a += 1
        b *= 2

    x = put(X)
    move(x, x)
    same(x, (X + 1) * 2)


def test_overlapping_parts_are_refused_by_name(put):
    @jit
    def move(a, b):
        a += 1
        return b * 2

    x = put(X)
    same(move(x[0], x[0]), (X[0] + 1) * 2)
    with pytest.raises(ValueError, match="a and b share part of their memory"):
        move(x, x[0])


def test_returned_arguments_are_themselves_and_parts_are_views(put):
    x = put(X)
    assert jit(lambda x: x)(x) is x
    part = jit(lambda x: x[1:, ::2].T)(x)
    x[...] = 0
    same(part, np.zeros((2, 2)))


def test_contents_that_do_not_fit(put):
    x = put(X)
    for index in (0, [0], X > 3):
        with pytest.raises(ValueError, match=r"\(7,7\)|\(7, 7\)"):
            x[index] = np.ones((7, 7))
    same(x, X)


def test_diagonals_are_views_that_cannot_be_changed(put):
    x, expected = put(X), X.copy()
    views = [(np.diagonal(a), a.reshape(1, 3, 4).diagonal(1, 1, 2)) for a in (x, expected)]
    x += 1
    expected += 1
    for found, other in zip(*views):
        same(found, other)
        with pytest.raises(ValueError, match="read-only"):
            found[0] = 1


def test_assignment(put):
    x, expected = put(X), X.copy()
    for index, value in [
        (0, 1.0), ((1, 2), 7), ((slice(None), -1), np.arange(3)), ((Ellipsis, slice(1, None, 2)), 5), ([0, 2], X[:2]),
        (X > 8, -1.0), ((slice(None, None, -1), None, 0), np.ones((1,))),
    ]:  # fmt: skip
        x[index] = value
        expected[index] = value
        same(x, expected)


def test_chains_of_views_are_views(put):
    x, expected = put(X), X.copy()
    for array in (x, expected):
        view = array[1:].T[::2]
        view[0] = 50
        view.reshape(2, 2)[1] += 1
        array[2, 2] = -3
        array.reshape(-1)[0] = 9
        view.real[1, 0] *= 2
    same(x, expected)
    same(x[1:].T[::2], expected[1:].T[::2])


@pytest.mark.parametrize("part", [
    lambda x: x.real, lambda x: x.imag, np.imag, lambda x: x.T.imag[1:], lambda x: x.view(np.int64), lambda x: x.view("f8")[1],
    lambda x: x.view(dtype=np.complex128), lambda x: np.einsum("ii->i", x[:, :3]),
])  # fmt: skip
def test_parts_of_numbers_are_views(put, part):
    expected = X * (1 + 2j)
    x = put(expected)
    views = part(x), part(expected)
    x *= 2
    expected *= 2
    same(*views)
    for view in views:
        view[0] = 5
    same(x, expected)
    same(*views)


def test_reshape_of_a_transposed_view_is_a_copy(put):
    x, expected = put(X), X.copy()
    for array in (x, expected):
        array.T.reshape(-1)[0] = 100
        array.ravel()[1] = 200
        array.flatten()[2] = 300
    same(x, expected)
    copies, theirs = ([a.T.reshape(-1), a[:, 1:].ravel(), a[::2].T.reshape(2, 4)] for a in (x, expected))
    for copy, its in zip(copies, theirs):
        for one in (copy, its):
            one[0] = 7
            one[one > 8] = 1
        same(copy, its)
    same(x, expected)


def test_elements_one_after_the_other(put):
    x, expected = put(X), X.copy()
    for array in (x, expected):
        array.flat[2] = 5
        array.flat[1:4] = [1, 2]  # which are repeated
        array.T.flat[[1, -2]] = 9
        array[:, 1].flat = np.array([100, 200])
        array.flat[::5] = array.flat[3]
    same(x, expected)
    same(x.flat[2:5], expected.flat[2:5])
    elements, theirs = x.flat, expected.flat
    assert (float(next(elements)), len(elements), elements.base) == (next(theirs), len(theirs), x)
    assert list(map(float, elements)) == list(theirs)
    x.flags.writeable = False
    for change in (lambda: operator.setitem(x.flat, 0, 1), lambda: setattr(x, "flat", 1)):
        with pytest.raises(ValueError, match="read-only"):
            change()


def test_scalars_are_values(put):
    total = before = put(X).sum()
    total += 1
    assert (float(before), float(total)) == (66.0, 67.0)
    for one in (before[()], before[...], before.reshape(1)[0], before.astype(np.float64), before.T, before.real, +before):
        assert float(one) == 66.0
    assert (round(before), round(before / 7, 2), {before: 1}[66.0]) == (66, 9.43, 1)
    with pytest.raises(TypeError, match="return arrays must be of ArrayType"):
        np.add(before, 1, out=before)
    with pytest.raises(ValueError, match="read-only"):
        before[()] = 1


def test_scalars_as_arguments(put):
    @jit
    def add(total, x):
        total += x.sum()
        return total, np.zeros(2) + total

    total = put(X).sum()
    for found, expected in zip(add(total, put(X)), add(X.sum(), X)):
        same(found, expected)
    assert float(total) == 66.0

    zero_dimensional = put(np.array(1.0))
    add(zero_dimensional, put(X))
    assert float(zero_dimensional) == 67.0


def test_scalars_from_outside(put):
    scale = put(np.float32([1, 2])).max()

    @jit
    def scaled(x):
        return x * scale

    same(scaled(put(X)), X * np.float32(2))


def test_broadcast_views_are_read_only(put):
    view = np.broadcast_to(put(X[0]), (3, 4))
    same(view, np.broadcast_to(X[0], (3, 4)))
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1


def test_a_function_that_raises_changes_nothing(put):
    @jit
    def fill(x, limit):
        x += 1
        if x.sum() > limit:
            raise ValueError("too much")
        return x

    x = put(X)
    fill(x, 1000)
    same(x, X + 1)
    with pytest.raises(ValueError, match="too much"):
        fill(x, 10)
    same(x, X + 2)  # Python changes it before it raises


@pytest.mark.parametrize("size", [0, 1, 3])
def test_slices_that_begin_or_end_outside(put, size):
    bounds = [None, 0, 1, -1, -2, 5, -5]
    cases = [slice(start, stop, step) for start in bounds for stop in bounds for step in (1, -1, -2)]
    host = np.arange(size)
    array = put(host)
    for case in cases:
        assert array[case].shape == host[case].shape, case
    for case in cases[::7]:
        same(array[case], host[case])
        array[case] += 1
        host[case] += 1
    same(array, host)


def test_what_an_ellipsis_leaves_without_dimensions_is_an_array(put):
    x, expected = put(X), X.copy()
    for array in (x, expected):
        one = array[1, 2, ...]
        one += 10
        array[..., 0, 0][...] = 7
        again = one[...]
        again[()] *= 2
    same(x, expected)
    number, whole = put(np.array(3.0)), put(X).sum()
    number[...] += 1
    assert float(number) == 4.0
    copy, row = whole[...], whole[None]
    copy += 1
    row[0] = 5
    assert (float(whole), float(copy), row.tolist()) == (66.0, 67.0, [5.0])


def test_imaginary_parts_of_real_arrays_cannot_be_changed(put):
    x = put(X)
    same(x.imag, np.zeros_like(X))
    with pytest.raises(ValueError, match="read-only"):
        x.imag[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        np.imag(x).fill(1)
