"""Operators of an array and an object that is none: what NumPy does, or an error."""

from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pytest
from phlox import jit


@dataclass
class Point:
    x: float


class Plain:
    pass


class Compared:
    def __eq__(self, other):
        return True

    __hash__ = None


class Added:
    def __init__(self, value):
        self.value = value

    def __radd__(self, other):
        return other + self.value

    def __lt__(self, other):
        return other > self.value


class AddedAtOnce(Added):
    __array_ufunc__ = None


class AddedBefore(Added):
    __array_priority__ = 1.0


class LikeAnArray:
    def __array__(self, dtype=None, copy=None):
        return np.arange(3.0)


POINT = Point(1.0)


def equal_to_nothing(x, point):
    made = Point(1.0)
    found = [x == one for one in (made, point, POINT, Plain(), Plain, int, np, np.sin, ..., {1: 2}, {1}, slice(1), None, "a")]
    return found, point == x, x != Plain(), POINT != x, x[0] == made, x[:0] == made


def selected(x, point):
    return (x[x > 0] == point), (x[x > 0] != POINT)


def taken_at_once(x, point):
    return x + AddedAtOnce(2.0), x + AddedBefore(3.0), x > AddedBefore(1.0), x[1] + Added(2.0), x[1] > Added(0.5)


@pytest.mark.parametrize("function", [equal_to_nothing, selected, taken_at_once])
def test_as_numpy_has_it(function):
    x, compiled = np.arange(3.0), jit(function)
    for _ in range(3):
        assert repr(compiled(x, POINT)) == repr(function(x, POINT))


def changed_in_place(x):
    x += AddedAtOnce(2.0)
    return x


@pytest.mark.parametrize(
    "function, error",
    [
        (lambda x: x == Compared(), NotImplementedError),
        (lambda x: x != Compared(), NotImplementedError),
        (lambda x: x == LikeAnArray(), NotImplementedError),
        (lambda x: x == Decimal(1), NotImplementedError),
        (lambda x: x + Added(2.0), NotImplementedError),
        (lambda x: x > Added(2.0), NotImplementedError),
        (changed_in_place, TypeError),
    ],
)
def test_what_is_done_element_by_element_is_refused(function, error):
    x = np.arange(3.0)
    with pytest.raises(error, match="Compared|LikeAnArray|Decimal|Added"):
        jit(function)(x)
    assert x.tolist() == [0.0, 1.0, 2.0]
