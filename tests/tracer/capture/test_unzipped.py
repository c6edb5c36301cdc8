"""``zip(*rows)`` of a list whose length the program decides, and the rows of arrays whose columns are as many."""

import numpy as np
import pytest

from .test_keys import check

CALLS = [
    (np.array(values),)
    for values in ([0.25, 0.9375, 0.625, 0.125, 0.75, 0.5], [0.125] * 6, [0.875, 0.75, 0.625, 0.9375, 0.25, 1.0])
]
PROGRAMS = []


def program(function):
    PROGRAMS.append(pytest.param(function, id=function.__name__))
    return function


def pairs(x):
    found = []
    for value in x:
        if value > 0.5:
            found.append((value, value * 2))
    return found


@program
def unpacked(x):
    first, second = zip(*pairs(x))
    return first[0], second[-1], len(first), sum(first), second


@program
def as_lists(x):
    return (
        list(zip(*pairs(x))),
        [np.array(part) for part in zip(*pairs(x))],
        [list(part) for part in zip(*sorted(pairs(x))[1:])],
    )


@program
def of_a_history(x):
    history = []
    for number, value in enumerate(x):
        history.append((number, value, "great" if value > 0.5 else "small"))
        if value > 0.9:
            break
    numbers, values, names = zip(*history)
    return numbers, np.array(values).sum(), names


@program
def changed_lists(x):
    first, second = map(list, zip(*pairs(x)))
    first.append(1.0 * x[0])
    return first, second[::-1]


@program
def of_items(x):
    table = {}
    for value in x:
        table[int(value * 5)] = value
    keys, values = zip(*table.items())
    return keys, values, list(zip(*[(1, 2), (3, 4)]))


@program
def rows_of_an_array(x):
    found = [[0.0 * x[0], x[0], x[1]]]
    for value in x:
        if value > 0.5:
            found.append([value, value * 2, value + 1])
    first, second, third = np.array(found).T
    total = 0.0 * x[0]
    for row in np.stack([x[x > 0.5], 2 * x[x > 0.5]]):
        total += row.sum()
    return first, second.sum(), third, total


@pytest.mark.parametrize("function", PROGRAMS)
def test_unzipped(function):
    check(function, CALLS)
