"""``x.shape = ...`` of an argument: the caller's array has that shape behind the call."""

import copy

import numpy as np
import pytest
from phlox import jit

from .capture.test_keys import described


def written_to(x):
    x.shape = (4, 3)
    x[1] = 5
    x += 1
    return x.sum(axis=0), x.shape


def several_times(x):
    x.shape = -1
    x.shape = (2, -1)
    return len(x), x[:, 0]


def under_another_name(x):
    y = x
    y.shape = (2, 6)
    return x.shape, y.T


def returned(x):
    x.shape = (4, 3)
    return x


def raised_behind_it(x):
    x.shape = (4, 3)
    if x[0, 0] > 0:
        raise ValueError("positive")
    return x[0]


def of_no_such_size(x):
    x.shape = (5, 3)


def of_columns(x):
    x.T.shape = (12,)


def of_steps(x):
    y = x.reshape(-1)[::2]
    y.shape = (2, 3)
    y.T[0] = 7
    return y, y.strides


def of_turned_rows(x):
    y = x[::-1]
    y.shape = (3, 2, 2)
    return y.strides


PROGRAMS = [
    of_steps,
    of_turned_rows,
    written_to,
    several_times,
    under_another_name,
    returned,
    raised_behind_it,
    of_no_such_size,
    of_columns,
]


@pytest.mark.parametrize("function", PROGRAMS)
def test_assigned_shapes(function):
    decorated = jit(function)
    for start in (0, -1, 2):
        found = []
        for one in (function, decorated):
            x = np.arange(start, start + 12.0).reshape(3, 4)
            try:
                result = described(one(x))
            except (ValueError, AttributeError) as error:
                result = described(error)
            found.append((result, described(x), x.shape))
        assert found[0] == found[1]


def test_of_arrays_in_containers():
    def changed(table, rows):
        table["a"].shape = (2, 3)
        rows[0].shape = (2, 2)
        rows[0][0, 1] = 9.0

    given = {"a": np.arange(6.0)}, [np.arange(4)]
    expected = copy.deepcopy(given)
    changed(*expected)
    jit(changed)(*given)
    assert repr(given) == repr(expected)


def test_of_one_array_twice():
    def changed(x, y):
        x.shape = (2, 3)
        return y.shape

    decorated = jit(changed)
    x = np.arange(6.0)
    assert decorated(x, x) == (2, 3)
    assert decorated(np.arange(6.0), np.arange(4)) == (4,)


def test_on_one_side_of_a_branch():
    def changed(x):
        if x[0] > 0:
            x.shape = (2, 3)
        return x.sum()

    with pytest.raises(NotImplementedError, match="in a loop or a branch"):
        jit(changed)(np.arange(6.0))


def test_resize():
    def resized(x):
        y, z, grown = x.copy(), x[:1].copy(), np.zeros(1)
        y.resize(2, 3)
        y[0] = 9
        z.resize((3, 3))
        for k in range(3):
            grown.resize(k + 2)
            grown[k] = x[0, k]
        return y, z, grown, x

    x = np.arange(12.0).reshape(3, 4)
    assert repr(jit(resized)(x)) == repr(resized(x))
    with pytest.raises(ValueError, match="cannot resize this array: it does not own its data"):
        jit(lambda x: x[0].resize(2))(x)
    with pytest.raises(NotImplementedError, match="resize of an array from outside"):
        jit(lambda x: x.resize(2, refcheck=False))(x)
