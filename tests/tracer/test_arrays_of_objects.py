"""Arrays of objects: what a function makes and returns holds values, one from outside is compared as a whole."""

import numpy as np
import pytest
from phlox import ConcretizationError, jit


def rows_of_unlike_lengths(x):
    out = np.empty((2, 2), dtype=object)
    for i in range(2):
        for j in range(2):
            out[i, j] = x[i : i + j + 1] * 2.0
    return out


def in_a_list(x):
    out = np.empty(2, dtype=object)
    out[0], out[1] = x, [x[0], None]
    return [out, 1.0], {"out": out}


def numbers_and_others(x):
    out = np.array([1, "a", None], dtype=object)
    out[0] = x[0]
    return out


def one_in_another(x):
    inner, outer = np.empty((1, 2), dtype=object), np.empty(1, dtype=object)
    inner[0, 0], inner[0, 1] = x.sum(), 7
    outer[0] = inner
    return outer


def only_read(x):
    out = np.empty(2, dtype=object)
    out[0], out[1] = x, x.sum()
    return out[0] + 1, out[1]


def on_one_side(x):
    out = np.empty((2, 2), dtype=object)
    out[0, 0], out[0, 1] = x, 1.0
    row = out[0]
    if x[0] > 1:
        out[0, 0] = x * 2
    else:
        row[1] = x[1]
    return out


def perhaps_none(x):
    out = np.empty(2, dtype=object)
    if x[0] > 1:
        out[0] = x
    return out


def in_a_loop(x):
    out = np.array([0, 0], dtype=object)
    for k in range(100):
        out[1] = out[1] + x[k % 3]
    return out


def lists_that_grow(x):
    out = np.empty(2, dtype=object)
    for i in range(2):
        out[i] = []
        for v in x:
            if v > i:
                out[i].append(v)
    return out


def behind_an_error(x):
    out = np.empty(1, dtype=object)
    try:
        out[0] = x
        if x[0] > 1:
            raise ValueError
        out[0] = x * 2
    except ValueError:
        pass
    return out


FUNCTIONS = [
    rows_of_unlike_lengths, in_a_list, numbers_and_others, one_in_another, only_read, on_one_side, perhaps_none, in_a_loop,
    lists_that_grow, behind_an_error,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
# _unlike_lengths, in_a_list, numbers_and_others, one_in_another, only_read])
def test_arrays_that_hold_values(function):
    jitted = jit(function)
    for x in (np.array([1.0, 2.0, 3.0]), np.array([-4.0, 5.0, 0.5])):
        assert repr(jitted(x)) == repr(function(x))


def test_each_call_makes_an_array_of_its_own():
    made = jit(lambda x: (np.array([1, None], dtype=object), x))
    first = made(1.0)[0]
    first[0] = 5
    assert made(1.0)[0].tolist() == [1, None]


class Fractions:
    def __init__(self):
        self.terms = np.empty((2, 1), dtype=object)
        self.terms[0, 0], self.terms[1, 0] = np.array([1.0, 2.0]), np.array([3.0])

    def value(self, x):
        return [np.polyval(self.terms[i, 0], x) for i in range(2)]


def test_an_array_from_outside_of_two_dimensions():
    fractions = Fractions()
    value = jit(fractions.value)
    assert value(2.0) == fractions.value(2.0)
    fractions.terms[0, 0] = np.array([5.0, 5.0])
    assert value(2.0) == fractions.value(2.0) == [15.0, 3.0]
    fractions.terms[0, 0][1] = 6.0
    assert value(2.0) == fractions.value(2.0) == [16.0, 3.0]
    value(3.0)
    assert value.cache_info().misses == 3


def test_the_position_of_an_element_becomes_known_or_is_an_error():
    def element(x, places, i):
        out = np.empty(2, dtype=object)
        out[0], out[1] = x, 2 * x
        return out[i], out[places[0]]

    f = jit(element)
    for i in (1, 0, 1):
        assert f(3.0, [1, 0], i) == element(3.0, [1, 0], i)
    with pytest.raises(ConcretizationError, match="index of an array of objects .*Use a list"):
        f(3.0, np.array([1, 0]), 1)
