"""Arrays that a loop moves from one place of a list to another, or to another list: exchanged, put in order, on a heap."""

import heapq

import numpy as np
import pytest
from phlox import TracerError, jit
from thinning import one_in

from ...support.undecorated import check

X = np.random.default_rng(0).normal(size=(12, 3))
Y = np.random.default_rng(1).integers(0, 12, 60)


def exchanged(x, y):
    rows = list(x)
    for i in range(60):
        rows[i % 7], rows[y[i]] = rows[y[i]], rows[i % 7]
    return np.array(rows)


def read_meanwhile(x, y):
    rows, best, total = [row * 2 for row in x if row[0] > -9], x[0], 0.0
    for i in range(60):
        best = rows[y[i]]
        rows[i % 7], rows[y[i]] = rows[y[i]], rows[i % 7]
        total += best[0] + rows[0][1]
    return np.array(rows), best, total


def between_two_lists(x, y):
    low, high = [row for row in x if row[0] <= 0], [row * 3 for row in x if row[0] > 0]
    for _ in range(len(x)):
        low[0], high[-1] = high[-1], low[0]
        if len(high) > 2:
            low.append(high.pop())
    return low, high


def put_in_order(x, y):
    rows = list(x)
    for i in range(len(rows)):
        for j in range(len(rows) - 1 - i):
            if rows[j][0] > rows[j + 1][0]:
                rows[j], rows[j + 1] = rows[j + 1], rows[j]
    return np.array(rows)


def on_a_heap(x, y):
    heap = []
    for i in range(len(x)):
        heapq.heappush(heap, (float(x[i, 0]), i, x[i]))
        if len(heap) > 3:
            heapq.heappop(heap)
    return heap[0][2], sorted(i for _, i, _ in heap)


@pytest.mark.parametrize("program", one_in(5, [exchanged, read_meanwhile, between_two_lists, put_in_order, on_a_heap]))
def test_moved(program):
    check(program, X, Y)


def changed_where_it_came_from(x, y):
    rows, best = [row * 2 for row in x if row[0] > -9], x[0].copy()
    for i in range(60):
        best[0] = 5
        best = rows[y[i]]
        rows[i % 7], rows[y[i]] = rows[y[i]], rows[i % 7]
    return np.array(rows)


def changed_behind(x, y):
    rows, best = [row * 2 for row in x if row[0] > -9], x[0].copy()
    for i in range(60):
        rows[y[i]] = best
        best[0] += 1
        if y[i] > 3:
            best = x[i % 12] * 3
    return np.array(rows)


@pytest.mark.parametrize("program", [changed_where_it_came_from, changed_behind])
def test_changes_of_moved_ones_are_refused(program):
    with pytest.raises((TracerError, NotImplementedError), match="changed in place"):
        jit(program)(X, Y)
