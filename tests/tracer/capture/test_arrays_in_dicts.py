"""Arrays in dicts whose keys the program computes, changed in place: `values[state][action] += step`."""

from collections import defaultdict

import numpy as np
import pytest
from phlox import TracerError, jit
from thinning import LEFT_TO_CI

X = np.array([0.64, 0.27, 0.04, 0.02, 0.81, 0.91])


def places(x):
    return [int(value * 3) % 4 for value in x]


def of_a_factory(x):
    x = np.tile(x, 9)  # of as many that the rounds are no copies of each other
    table, s = defaultdict(lambda: np.zeros(3)), 0
    for k, following in enumerate(places(x)):
        a = int(np.argmax(table[s]))
        table[s][a] += 0.5 * (x[k] + 0.9 * table[following].max() - table[s][a])
        s = following
    return dict(table), table[0]


def put_where_there_is_none(x):
    table = {}
    for value in x:
        s = int(value * 3) % 4
        if s not in table:
            table[s] = np.zeros(2)
        table[s][0] += value
        table[s] += 1
        if value > 0.5:
            table[s][1] = value
    return table


class Learner:
    def __init__(self):
        self.table, self.counts = defaultdict(lambda: np.zeros(2)), defaultdict(int)

    def learn(self, s, a, reward):
        self.counts[s, a] += 1
        self.table[s][a] += (reward - self.table[s][a]) / self.counts[s, a]


def in_attributes(x):
    learner = Learner()
    for k, value in enumerate(x):
        learner.learn((int(value * 3) % 4, k % 2), k % 2, value)
    return dict(learner.table), learner.table[0, 0]


def slices_of_a_comprehension(x):
    table = {int(value * 7): np.zeros(3) for value in x}
    table[int(x[0] * 7)][1:] += x[:2]
    table[int(x[0] * 7)] /= 2
    return table


@pytest.mark.parametrize(
    "function",
    [
        in_attributes,
        *[pytest.param(one, marks=LEFT_TO_CI) for one in (of_a_factory, put_where_there_is_none, slices_of_a_comprehension)],
    ],
)
def test_an_item_is_changed(function):
    decorated = jit(function)
    for x in (X, 1 - X, X):
        assert repr(decorated(x)) == repr(function(x))


def a_name(table, s, x):
    row = table[s]
    table[s][1] = 5
    return row


def a_copy(table, s, x):
    other = dict(table)
    table[s][1] = 5
    return other


def two_keys(table, s, x):
    table[s] = table[s + 1] = np.ones(2)
    table[s][1] = 5
    return table


def one_for_all(table, s, x):
    row = np.ones(2)
    for k in places(x):
        table[k] = row
    table[s][1] = 5
    return table


def an_element(table, s, x):
    table[s + 1] = table[s]
    table[s][1] = 5
    return table


def a_view(table, s, x):
    rows = np.zeros((4, 2))
    for k in places(x):
        table[k] = rows[k]
    table[s][1] = 5
    return rows


def an_argument(table, s, x):
    table[s] = x[:2]
    table[s][1] = 5
    return table


def one_behind(table, s, x):
    row = np.ones(2)
    table[s] = row
    row[0] = 3
    table[s][1] = 5
    return table


def another_meanwhile(table, s, x):
    def exchange():
        table[s] = np.ones(2)
        return 1

    table[s][0] += exchange()
    return table


def a_list(table, s, x):
    seen = []
    for k in places(x):
        seen.append(table[k])
        table[k][0] += 1
    return seen


@pytest.mark.parametrize(
    "function",
    [a_name, a_copy, two_keys, one_for_all, an_element, a_view, an_argument, one_behind, another_meanwhile, a_list],
)
def test_what_may_be_the_same_array_is_not_silently_another_one(function):
    @jit
    def changed(x):
        table = {}
        for k in places(x):
            table[k] = np.zeros(2)
        return function(table, int(x[0] * 3) % 4, x)

    with pytest.raises((TracerError, NotImplementedError), match="in place"):
        changed(X)
