"""Lists of a length that the program decides, and lists of such lists, as arrays; what joins arrays, of their elements."""

import numpy as np
import pytest
from phlox import jit

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


@pytest.mark.parametrize("join", JOINING)
@pytest.mark.parametrize("dimensions", range(len(ROWS)))
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


@pytest.mark.parametrize("function", [counts, gaps, triangle, of_known_length])
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
