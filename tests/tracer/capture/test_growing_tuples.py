"""Tuples that get longer where the program decides, ``t = t + (v,)``; and stars in tuples."""

import numpy as np
import pytest

from .test_keys import check

CALLS = [
    (np.array(values),) for values in ([3, 1, 3, 2, 1, 3, 7, 7], [0, 1, 2, 0, 1, 2, 0, 1], [5] * 8, [1, 2, 3, 4, 5, 6, 7, 8])
]
PROGRAMS = []


def program(function):
    PROGRAMS.append(pytest.param(function, id=function.__name__))
    return function


@program
def greater(x):
    one, other, third = (), (), (x[0],)
    for value in x:
        if value > 2:
            one = one + (value,)
            other += (value, 2 * value)
            third = (*third, value)
    return one, other, third, len(one), sum(other), third[-1]


@program
def while_short(x):
    found = (x[0],)
    while len(found) < 6 and found[-1] < 6:
        found = found + (found[-1] + x[len(found)],)
    return found, [value * 2 for value in found], max(found)


@program
def records(x):
    found = ((x[0], 0),)
    for place, value in enumerate(x):
        if value > found[-1][0]:
            found += ((value, place),)
    return found, [place for _, place in found], max(found)


@program
def stack(x):
    pending, total = ((0, x[0]),), 0
    while pending:
        (place, value), pending = pending[-1], pending[:-1]
        total += value
        if place < 6 and value > 1:
            pending = pending + ((place + 1, x[place + 1]),)
        if place < 5:
            pending += ((place + 2, x[place + 2] - 1),)
    return total


@program
def longest(x):
    best = ()
    for i in range(5):
        path = (x[i],)
        for j in range(1, 4):
            if x[i + j] > path[-1]:
                path = path + (x[i + j],)
        if len(path) > len(best):
            best = path
    return best, len(best)


@program
def with_stars(x):
    table, place = x.reshape(2, 2, 2), (1, 0)
    return table[(*place, 1)], (*x[:2], 3), np.zeros((*table.shape[:2], 4)).shape, table[(0, *[int(x[0]) % 2], 1)]


@program
def of_other_lengths(x):
    pair = (x[0], x[1]) if x[0] > 2 else (x[0], x[1], x[2])
    return len(pair), pair


@program
def greatest_or_default(x):
    some, none = [value for value in x if value > 2], [value for value in x if value > 9]
    return max(some, default=-1), min(none, default=x[0]), max(none, default=x[1], key=lambda value: -value)


@pytest.mark.parametrize("function", PROGRAMS)
def test_growing_tuples(function):
    check(function, CALLS)
