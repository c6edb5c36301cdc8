"""Objects of which one side of a branch makes one that holds a view of an array from around it."""

import numpy as np
import pytest
from phlox import jit


class Pair:
    def __init__(self, number, array):
        self.number, self.array = number, array

    def __repr__(self):
        return f"Pair({self.number!r}, {self.array!r})"


def on_one_side(x):
    pair = Pair(1.0, np.zeros(2))
    if x[0] > 1:
        pair = Pair(x[1], x[1:])
    return pair, pair.number


def at_two_positions(x):
    pair = Pair(1.0, x[:2])
    if x[0] > 1:
        pair = Pair(1.0, x[1:])
    pair.array[0] = 9.0
    return pair


def in_a_list(x):
    pairs = [Pair(1.0, np.zeros(2)), 3]
    if x[0] > 1:
        pairs = [Pair(2.0, x[1:]), 3]
    return pairs


def in_another_object(x):
    pair = Pair(1.0, Pair(1.0, np.zeros(2)))
    if x[0] > 1:
        pair = Pair(1.0, Pair(2.0, x[1:]))
    return pair


def on_three_sides(x):
    pair = Pair(1.0, np.zeros(2))
    if x[0] > 1:
        pair = Pair(1.0, x[1:])
    elif x[0] > 0:
        pair = Pair(3.0, x[:2] * 2)
    return pair


def with_another_name(x):
    pair = kept = Pair(1.0, np.zeros(2))
    if x[0] > 1:
        pair = Pair(x[1], x[1:])
    return pair is kept, pair.number, kept


@pytest.mark.parametrize(
    "function", [on_one_side, at_two_positions, in_a_list, in_another_object, on_three_sides, with_another_name]
)
def test_objects_with_views(function):
    jitted = jit(function)
    for x in ([1.0, 2.0, 3.0], [2.0, -4.0, 2.0], [-5.0, 6.0, -7.0]):
        expected_x, found_x = np.array(x), np.array(x)
        assert repr(jitted(found_x)) == repr(function(expected_x))
        np.testing.assert_array_equal(found_x, expected_x)
