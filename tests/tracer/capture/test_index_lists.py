"""Lists that become an index: ``sl[axis] = slice(...); x[tuple(sl)]``, where the axis is an argument or one of a loop's."""

import numpy as np
import pytest
from phlox import jit


def part(x, axis):
    where = [slice(None)] * x.ndim
    where[axis] = slice(1, None)
    return x[tuple(where)]


def between_bounds(x, axis, start=0, stop=1):
    where = [slice(None)] * x.ndim
    where[axis] = slice(start, stop)
    return x[tuple(where)]


def one_row(x, axis):
    where = [slice(None)] * x.ndim
    where[axis] = 0
    return x[tuple(where)]


def new_axis(x, axis):
    where = [slice(None)] * x.ndim
    where[axis] = None
    return x[tuple(where)]


def two_lists(x, axis):
    upper, lower = [slice(None)] * x.ndim, [slice(None)] * x.ndim
    upper[axis], lower[axis] = slice(1, None), slice(None, -1)
    return x[tuple(upper)] - x[tuple(lower)]


def in_a_loop(x, axis):
    where = [slice(None)] * x.ndim
    for k in range(2):
        where[axis] = slice(k, k + 1)
        x = x + x[tuple(where)]
    return x


def behind_a_branch(x, axis):
    if axis < 0:
        axis += x.ndim
    where = [slice(None)] * x.ndim
    where[axis] = slice(None, None, -1)
    return x[tuple(where)]


def written(x, axis):
    x, where = x.copy(), [slice(None)] * x.ndim
    where[axis] = slice(0, 1)
    x[tuple(where)] = 0.0
    return x


def numbers(x, axis):
    where = [0, 0]
    where[axis] = 1
    return x[tuple(where)]


def written_at_numbers(x, axis):
    x, where = x.copy(), [0, 0]
    where[axis] = 1
    x[tuple(where)] = 7.0
    return x


@pytest.mark.parametrize(
    "function",
    [
        part, between_bounds, one_row, new_axis, two_lists, in_a_loop, behind_a_branch, written, numbers, written_at_numbers,
    ],
)  # fmt: skip
def test_an_axis_says_which_element_of_a_list_is_another(function):
    jitted = jit(function)
    x = np.arange(1.0, 5.0).reshape(2, 2)
    for axis in (0, 1, -1, 0):
        np.testing.assert_array_equal(jitted(x, axis), function(x, axis), strict=True)
    with pytest.raises(IndexError):
        jitted(x, 2)


def added_at_lists(x):
    rows = [i for i in range(4) if x[i] > 1]
    columns, table = [3 - i for i in rows], np.zeros((4, 4))
    np.add.at(table, (rows, columns), 1)
    np.subtract.at(table, (rows, rows), [x[i] for i in rows])
    np.add.at(table, rows, 0.5)
    return table


@pytest.mark.parametrize("x", [[0.0, 2, 3, 1], [5.0, 2, 3, 4]])
def test_lists_whose_length_the_program_decides_are_several_dimensions(x):
    np.testing.assert_array_equal(jit(added_at_lists)(np.array(x)), added_at_lists(x), strict=True)


def test_axes_of_a_loop():
    @jit
    def differences(x):
        found = []
        for axis in range(x.ndim):
            where = [slice(None)] * x.ndim
            where[axis] = slice(1, None)
            found.append(x[tuple(where)].sum())
        return found

    x = np.arange(24.0).reshape(2, 3, 4)
    assert differences(x) == [x[1:].sum(), x[:, 1:].sum(), x[..., 1:].sum()]
