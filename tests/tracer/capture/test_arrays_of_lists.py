"""Lists of a length that the program decides, and lists of such lists, as arrays; what joins arrays, of their elements."""

from collections import deque, namedtuple

import numpy as np
import pytest
from phlox import jit
from thinning import one_in_all

JOINING = {
    "stack": np.stack,
    "stack 1": lambda rows: np.stack(rows, axis=1),
    "stack -1": lambda rows: np.stack(rows, -1),
    "stack of float32": lambda rows: np.stack(rows, dtype=np.float32),
    "concatenate": np.concatenate,
    "concatenate -1": lambda rows: np.concatenate(rows, axis=-1),
    "concatenate None": lambda rows: np.concatenate(rows, axis=None),
    "vstack": np.vstack,
    "hstack": np.hstack,
    "dstack": np.dstack,
    "column_stack": np.column_stack,
    "array": np.array,
    "transposed": lambda rows: np.array(rows).T,
    "largest": lambda rows: np.max(rows, axis=0),
}
ROWS = [
    lambda c, x: c * x[0],
    lambda c, x: c * x,
    lambda c, x: c * np.outer(x, x[:2]),
    lambda c, x: c * np.ones((2, 3, 2)) * x[0],
]
LABELS = [np.array([2, 0, 1, 0, 2]), np.arange(5), np.zeros(5, int), np.zeros(0, int)]


def same(jitted, function, *args):
    try:
        expected = function(*args)
    except Exception as error:
        with pytest.raises(type(error)) as raised:
            jitted(*args)
        assert str(error).startswith(str(raised.value))
        return
    found = jitted(*args)
    assert type(found) is type(expected)
    assert getattr(found, "dtype", None) == getattr(expected, "dtype", None)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize(("dimensions", "join"), one_in_all(3, range(len(ROWS)), JOINING))
def test_rows_are_joined(join, dimensions):
    def function(x, labels):
        return JOINING[join]([ROWS[dimensions](label, x) for label in np.unique(labels)])

    jitted = jit(function)
    for labels in LABELS:
        same(jitted, function, np.linspace(1.0, 2.0, 4), labels)


def counts(x, labels):
    found = np.unique(labels)
    return np.array([[np.sum((labels == i) & (x > j)) for i in found] for j in found])


def gaps(x, labels):
    found, table = np.unique(labels), []
    for i in found:
        row = []
        for j in found:
            row.append(abs(i - j) * x[0])
        table.append(row)
    return np.array(table) @ np.ones(len(found))


def triangle(x, labels):
    found = np.unique(labels)
    return np.array([[i for i in found if i <= j] for j in found])


def of_known_length(x, labels):
    return np.asarray([[x[0] * i for i in range(3)] for _ in np.unique(labels)])


def merged(x, labels):
    def row_of(values):
        row = []
        for value in values:
            if value > 0:
                row.append(value)
        return [*row, 7] + [0] * (6 - len(row))

    board = np.stack([labels, labels[::-1]])
    for _ in range(4):
        board = np.array([row_of(values) for values in board[:, 1:]])
    return board


@pytest.mark.parametrize("function", [counts, gaps, triangle, of_known_length, merged])
def test_lists_of_lists_are_arrays(function):
    jitted = jit(function)
    for labels in LABELS[:3]:
        same(jitted, function, np.linspace(0.5, 2.0, 5), labels)


def test_what_holds_lists_of_lists_is_no_array_yet():
    @jit
    def cube(labels):
        found = np.unique(labels)
        return np.array([[[i + j + k for i in found] for j in found] for k in found])

    with pytest.raises(NotImplementedError, match="that hold lists"):
        cube(LABELS[0])


def _assigned(x, m):
    out = np.zeros((2, 8), np.float32)
    out[1, : len(m)] = m
    return out


def _added_in_place(x, m):
    out = np.ones(8)
    out[: len(m)] += m
    out[8 - len(m) :] *= m
    return out


def _assigned_by_flat(x, m):
    out = np.zeros((2, 4))
    out.flat[: len(m)] = m
    return out


Pair = namedtuple("Pair", "first second")


class Numbers(list):
    pass


BESIDE_SEQUENCES = {
    "named tuple": lambda x: x[:2] + Pair(1, 2),
    "named tuple of elements": lambda x: (x[:2] * Pair(x[0], 2.0), x[:2] < Pair(x[1], x[0])),
    "class of the user's": lambda x: np.add(x[:2], Numbers([x[3], 1])),
    "deques in a list": lambda x: x[:2, None] * [deque([x[0], 1]), deque([2, 3])],
    "deque": lambda x: x + deque([value for value in x]),
    "deques of open length in a list": lambda x: np.ones((2, 1)) + [deque([value for value in x if value > 2])] * 2,
    "ranges in a list": lambda x: np.ones((2, 1)) + [range(int(x[0])), range(int(x[0]))],
    "range": lambda x: x[: int(x[0])] - range(int(x[0])),
}


@pytest.mark.parametrize("name", BESIDE_SEQUENCES)
def test_other_sequences_beside_arrays(name):
    jitted = jit(BESIDE_SEQUENCES[name])
    for x in (np.array([3, 1, 4, 5]), np.array([2, 7, 0, 3])):
        np.testing.assert_array_equal(jitted(x), BESIDE_SEQUENCES[name](x))


def _at_places(x, m):
    out = x * 1.5
    out[m] = m
    out[m] += [2 * one for one in m]
    return out


BESIDE_ARRAYS = {
    "assigned": _assigned,
    "added in place": _added_in_place,
    "assigned by flat": _assigned_by_flat,
    "at places": _at_places,
    "tuple": lambda x, m: np.ones(len(m)) - tuple(m),
    "difference": lambda x, m: m - np.ones(len(m)),
    "narrow numbers": lambda x, m: np.ones(len(m), np.float32) - m,
    "integers": lambda x, m: np.ones(len(m), int) * m,
    "powers": lambda x, m: np.full(len(m), 2) ** m,
    "compared": lambda x, m: (np.full(len(m), 3) < m, m >= np.full(len(m), 3)),
    "product": lambda x, m: np.ones((3, len(m))) @ m,
    "pairs": lambda x, m: np.ones((len(m), 2)) + [(one, -one) for one in m],
    "column": lambda x, m: x[:, None] - m,
    "list of an array": lambda x, m: [x[m]] + np.ones(len(m)),
    "method": lambda x, m: x.take(m),
    "of another length": lambda x, m: np.ones(3) + m,
}


@pytest.mark.parametrize("name", BESIDE_ARRAYS)
def test_lists_beside_arrays(name):
    def function(x):
        return BESIDE_ARRAYS[name](x, [i for i, one in enumerate(x) if one > 2])

    jitted = jit(function)
    for x in (np.array([3, 1, 4, 1, 5, 9, 2, 6]), np.array([0, 3, 0, 1, 5, 0, 0, 7]), np.zeros(8, int), np.full(8, 5)):
        try:
            expected = function(x)
        except ValueError:
            with pytest.raises(ValueError, match="could not be broadcast|sizes that are known at run time differ"):
                jitted(x)
            continue
        for found, one in zip(*(value if isinstance(value, tuple) else (value,) for value in (jitted(x), expected))):
            assert found.dtype == one.dtype
            np.testing.assert_array_equal(found, one)
