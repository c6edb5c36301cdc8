"""``a, b = x[...]`` of arrays whose size is known at run time only, and elements behind a star in comprehensions."""

import numpy as np
import pytest

from .test_keys import check

CALLS = [(np.array(values),) for values in ([0, 0, 1.5, 0, 2.0], [1.0, 0, 0, 0, -3.0], [0, 1.0, 2.0, 3.0, 0], [0.0] * 5)]
PROGRAMS = []


def program(function):
    PROGRAMS.append(pytest.param(function, id=function.__name__))
    return function


@program
def two_positions(x):
    first, second = np.flatnonzero(x)
    return first * 10 + second


@program
def more_than_there_may_be(x):
    a, b, c, d, e, f = x[x != 0]
    return a


@program
def in_a_handler(x):
    try:
        first, second = x[x != 0]
    except ValueError as error:
        return str(error)
    return first - second


@program
def rows_beside_the_end(x):
    total, refused = 0.0, 0
    for k in range(0, len(x), 2):
        try:
            first, second = x[k : k + 2]
            total += first * second
        except ValueError:
            refused += 1
    return total, refused


@program
def rows_of_positions(x):
    ((row, column),) = np.argwhere(x.reshape(1, -1) > 1)[-1:]
    return row, column


@program
def arrays_within_a_tuple(x):
    (place,), (value, *others) = np.where(x > 2), x[1:]
    return place, value, others


@program
def to_the_end(x):
    place, total = int(x[2]), 0.0
    while place + 1 < len(x):
        first, second = x[place : place + 2]
        total += first - second
        place += 2
    return total


def rows(x):
    found = []
    for place, value in enumerate(x):
        if value > 0:
            found.append((place, value, value * 2, -place))
    return found


@program
def behind_a_star(x):
    return [first for first, *_ in rows(x)], [a + b for a, *_, b in rows(x)], {a: b for *_, a, b in rows(x)}


@program
def what_has_a_star(x):
    return [middle for _, *middle, _ in rows(x)], [sum(rest) for _, *rest in rows(x)], [b for a, *b in [(1, 2), (3, x[0], 4)]]


@program
def too_few_for_a_star(x):
    return [a for a, b, c, d, e, *_ in rows(x)]


@pytest.mark.parametrize("function", PROGRAMS)
def test_unpacked_arrays(function):
    check(function, CALLS)
