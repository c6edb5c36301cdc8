"""`np.nditer` with flags, of several arrays, and asked for one element after the other."""

import numpy as np
import phlox
import pytest
from phlox import jit

TABLE = np.array([[3.0, 2], [1, 5], [4, 4]])


def places(x):
    elements, largest, place = np.nditer(x, flags=["multi_index"]), -1.0, None
    for value in elements:
        if value > largest:
            largest, place = float(value), elements.multi_index
    return largest, place


def gradient_by_differences(x):
    slopes = np.zeros_like(x)
    elements = np.nditer(x, flags=["multi_index", "f_index"], op_flags=["readwrite"])
    while not elements.finished:
        place, before = elements.multi_index, elements[0] + 0
        elements[0] = before + 0.5
        above = (x**2).sum()
        x[place] = before
        slopes[place] = 2 * (above - (x**2).sum()) + elements.index
        elements.iternext()
    return slopes


def several(x):
    doubled = np.zeros_like(x)
    for value, result in np.nditer([x, doubled], op_flags=[["readonly"], ["readwrite"]]):
        result[...] = 2 * value
    sums = np.nditer([x, np.array([10.0, 20]), None])
    for value, other, result in sums:
        result[...] = value + other
    return doubled, sums.operands[2]


def orders(x):
    columns, numbers = np.nditer(x, flags=["c_index"], order="F"), []
    for value in columns:
        numbers.append((columns.index, float(value)))
    return numbers, [float(value) for value in np.nditer(x.T)]


def long(x):
    table = np.zeros((40, 50))
    elements = np.nditer(table, flags=["multi_index"], op_flags=["readwrite"])
    for value in elements:
        i, j = elements.multi_index
        value[...] = x[i % 3, j % 2] * i
    return table


def pieces(x):
    total, out = 0.0, np.empty_like(x)
    for piece in np.nditer(x, flags=["external_loop"]):
        total += piece.sum()
    with np.nditer(
        [x, x * 2, out], flags=["external_loop", "buffered"], op_flags=[["readonly"]] * 2 + [["writeonly"]]
    ) as all_three:
        for one, other, result in all_three:
            np.add(one, other, out=result)
    for piece in np.nditer(x, flags=["external_loop"], op_flags=["readwrite"]):
        piece[...] = np.sqrt(piece)
    return total, out, x, [piece.copy() for piece in np.nditer(x.T, flags=["external_loop"])]


def broadcast(x):
    both = np.broadcast(x, x[0])
    out = np.empty(both.shape)
    out.flat = [one * other for one, other in both]
    return both.shape, both.ndim, both.size, both.numiter, out


@pytest.mark.parametrize("function", [places, gradient_by_differences, several, orders, long, pieces, broadcast])
def test_iterators_over_elements(function):
    jitted = jit(function)
    for x in (TABLE, TABLE[::-1] + 1):
        assert repr(jitted(x.copy())) == repr(function(x.copy()))


def test_what_is_not_known_of_an_iterator_is_an_error():
    def left(x):
        elements = np.nditer(x, flags=["multi_index"])
        for value in elements:
            if value > 4:
                break
        return elements.multi_index

    with pytest.raises(phlox.TracerError, match=r"where an np\.nditer is, behind a loop"):
        jit(left)(TABLE)
    with pytest.raises(
        NotImplementedError, match=r"np\.nditer of traced arrays with external_loop, that lie in several pieces"
    ):
        jit(lambda x: list(np.nditer(x[:, :1], flags=["external_loop"])))(TABLE)
    with pytest.raises(NotImplementedError, match=r"np\.nditer of traced arrays with these arguments"):
        jit(lambda x: list(np.nditer(x, op_dtypes=["c16"], flags=["buffered"])))(TABLE)
