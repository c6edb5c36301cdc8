"""Arrays in lists that lie in a table: `groups.setdefault(k, []).append(row)`, and what becomes of them once one is changed."""

from collections import defaultdict

import numpy as np
import pytest
from phlox import jit
from thinning import one_in

from ...support.undecorated import check

X = np.random.default_rng(0).normal(size=(12, 3))
Y = np.random.default_rng(1).integers(0, 3, 12)


def by_setdefault(x, y):
    groups = {}
    for row, k in zip(x, y):
        groups.setdefault(int(k), []).append(row)
    return {k: np.mean(rows, axis=0) for k, rows in groups.items()}, groups


def in_tuples(x, y):
    groups, total = defaultdict(list), 0.0
    for row, k in zip(x, y):
        groups[int(k)].append((row * 2, int(k) * 2))
    for rows in groups.values():
        for row, label in rows:
            total += row[0] * label
    return total, groups[1]


def begun_with_one(x, y):
    groups = {}
    for i in range(len(x)):
        if y[i] in groups:
            groups[y[i]].append(x[i])
        else:
            groups[y[i]] = [x[i]]
    return {int(k): np.std(rows, axis=0) for k, rows in groups.items()}


def of_several_sizes(x, y):
    groups = defaultdict(list)
    for row, k in zip(x, y):
        groups[int(k)].append(row[row > 0])
    return [sum(len(row) for row in rows) for rows in groups.values()]


def in_one_of_several_lists(x, y):
    groups = [[] for _ in range(3)]
    for row in x:
        groups[int(abs(row[0])) % 3].append(row)
    groups[0], groups[1] = groups[1], groups[0]
    return [len(rows) for rows in groups], np.vstack(groups[1])


class Ball:
    def __init__(self, place, speed):
        self.place, self.speed, self.turns = place, speed, 0

    def move(self, step):
        self.place = self.place + self.speed * step
        if self.place[0] < 0:
            self.turns, self.speed = self.turns + 1, -self.speed


def as_attributes(x, y):
    balls = []
    for row, k in zip(x, y):
        if k > 0:
            balls.append(Ball(row.copy(), row * 2))
    for _ in range(5):
        for ball in balls:
            ball.move(0.1)
    return [ball.turns for ball in balls], [ball.place for ball in balls]


_PROGRAMS = [by_setdefault, in_tuples, begun_with_one, of_several_sizes, in_one_of_several_lists, as_attributes]


@pytest.mark.parametrize("program", one_in(6, _PROGRAMS))
def test_groups(program):
    check(program, X, Y)


def changed_behind(x, y):
    x, groups = x.copy(), defaultdict(list)
    for row, k in zip(x, y):
        groups[int(k)].append(row)
    x[0] = 7.0
    return groups


def element_changed(x, y):
    groups = defaultdict(list)
    for row, k in zip(x, y):
        groups[int(k)].append(row * 2)
    row = groups[int(y[0])][0]
    row[1] = 100.0
    return groups[int(y[0])][0].sum()


def changed_in_the_next_round(x, y):
    groups, row, total = defaultdict(list), np.zeros(3), 0.0
    for i in range(len(x)):
        row[0] += 1
        if groups[int(y[i])]:
            total += groups[int(y[i])][0][0]
        row = x[i] * 2
        groups[int(y[i])].append(row)
    return total


def attribute_changed_elsewhere(x, y):
    balls = []
    for row, k in zip(x, y):
        place = row.copy()
        if k > 0:
            balls.append(Ball(place, row * 2))
        place[0] = 1.0
    for ball in balls:
        ball.turns += 1
    return [ball.place for ball in balls]


def read_before_it_is_changed(x, y):
    x, groups, total = x.copy(), {}, 0.0
    for i in range(len(x)):
        groups.setdefault(int(y[i]), []).append(x[i])
    for i in range(len(x)):
        total += groups[int(y[i])][0][0]
        x[i] += 1
    return total


def read_before_it_is_changed_in_a_list(x, y):
    x, rows, total = x.copy(), [], 0.0
    for i in range(len(x)):
        if y[i] > 0:
            rows.append(x[i])
    for i in range(len(x)):
        if rows:
            total += rows[0][0]
        x[i] += 1
    return total


@pytest.mark.parametrize(
    "program",
    [
        changed_behind, element_changed, changed_in_the_next_round, attribute_changed_elsewhere, read_before_it_is_changed,
        read_before_it_is_changed_in_a_list,
    ],
)  # fmt: skip
def test_changed_ones_are_not_read(program):
    """A round reads what it changes later, too: the next one would read what was there before."""
    with pytest.raises(NotImplementedError, match="one of them has been changed in place since"):
        jit(program)(X, Y)


def test_too_large_ones_are_refused():
    with pytest.raises(NotImplementedError, match="lists of up to 32 elements of 1000000 numbers"):
        jit(begun_with_one)(np.zeros((3, 1_000_000)), Y[:3])
