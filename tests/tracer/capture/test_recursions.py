"""Functions that call themselves until the program decides otherwise do what they do undecorated."""

import math
import sys
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from phlox import jit
from thinning import left_to_ci, one_in

X = np.array([3, 1, 2, 5, 4, 0, 2])


def same(found, expected):
    assert type(found) is type(expected)
    np.testing.assert_equal(found, expected)


def divisor(a, b):
    return a if b == 0 else divisor(b, a % b)


def collatz(n, steps=0):
    if n == 1:
        return steps
    return collatz(n // 2 if n % 2 == 0 else 3 * n + 1, steps=steps + 1)


@jit
def decorated(n):
    return 0 if n < 1 else 1 + decorated(n - 2)


def several_results(x):
    return [collatz(int(v) + 1) for v in x], divisor(int(x[0]) * 6, int(x[3]) * 4), decorated(x[1])


def in_place(x):
    a = x.copy()

    def sort(low, high):
        if low >= high:
            return
        pivot, i = a[high], low
        for j in range(low, high):
            if a[j] < pivot:
                a[i], a[j] = a[j], a[i]
                i += 1
        a[i], a[high] = a[high], a[i]
        sort(low, i - 1)
        sort(i + 1, high)

    sort(0, len(a) - 1)
    return a


def areas(x):
    grid = (x[:, None] + x[None]) % 3 == 1
    n = len(grid)

    def fill(i, j):
        if not (0 <= i < n and 0 <= j < n) or not grid[i, j]:
            return 0
        grid[i, j] = False
        return 1 + sum(fill(i + di, j + dj) for di, dj in ((0, 1), (1, 0), (0, -1), (-1, 0)))

    return [fill(i, j) for i in range(n) for j in range(n)]


def order_of_evaluation(x):
    """What stands before a call in an expression is read before it."""
    total, seen = 0, []

    def visit(k):
        nonlocal total
        if k >= len(x):
            return 0
        seen.append(int(x[k]))
        total += visit(k + 1 + int(x[k]) % 2) + len(seen)
        return (total + visit(k + 2) * total) % 1000

    return visit(0), total, seen


def loops(x):
    """Ways out of loops, their else clauses, and conditions in which a function calls itself."""

    def reachable(k, target):
        steps = 0
        while steps < 2:
            steps += 1
            if k + steps >= len(x) + 2:
                break
            for m, v in enumerate(x):
                if v < k:
                    continue
                if m + k > target:
                    break
                if m > 0 and v > 2 and reachable(k + m, target):
                    return True
            else:
                return k == target
        return k == target or (k < target and reachable(k + 1 + int(x[k % len(x)]) % 2, target))

    return [reachable(0, t) for t in (3, 5, 9)]


def adaptive(x):
    def simpson(f, a, b):
        return (b - a) / 6 * (f(a) + 4 * f((a + b) / 2) + f(b))

    def integral(f, a, b, whole, tolerance):
        m = (a + b) / 2
        left, right = simpson(f, a, m), simpson(f, m, b)
        if abs(left + right - whole) < 15 * tolerance:
            return left + right + (left + right - whole) / 15
        return integral(f, a, m, left, tolerance / 2) + integral(f, m, b, right, tolerance / 2)

    def f(t):
        return math.sin(t * x[0]) + t * t

    return integral(f, 0.0, 1.0, simpson(f, 0.0, 1.0), 1e-6)


@dataclass
class Search:
    weights: np.ndarray
    best: int = 0

    def run(self, k, left, value):
        if value > self.best:
            self.best = value
        if k == len(self.weights):
            return 1
        count = self.run(k + 1, left, value)
        if self.weights[k] <= left:
            count += self.run(k + 1, left - self.weights[k], value + int(self.weights[k]) * (k + 1))
        return count


def method(x):
    search = Search(x)
    return search.run(0, 6, 0), search.best


def components(x):
    graph = {k: [int(v) % 7, int(v + k) % 7] for k, v in enumerate(x)}
    index, low, stack, found = {}, {}, [], []

    def strong(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in graph[v]:
            if w not in index:
                strong(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            found.append([])
            while (w := stack.pop()) != v:
                found[-1].append(w)

    for v in range(len(x)):
        if v not in index:
            strong(v)
    return found, low


PROGRAMS = [several_results, in_place, areas, order_of_evaluation, loops, adaptive, method, components]


@pytest.mark.parametrize("program", one_in(4, PROGRAMS), ids=lambda program: program.__name__)
def test_recursions_are_as_undecorated(program):
    decorated = jit(program)
    for values in (X, X[::-1].copy(), X):
        expected = program(values.copy())
        same(decorated(values.copy()), expected)
    assert decorated.cache_info().misses == 1


def test_the_depth_is_that_of_python(request):
    request.addfinalizer(partial(sys.setrecursionlimit, sys.getrecursionlimit()))
    sys.setrecursionlimit(1000)  # as in a new interpreter; libraries raise it

    def down(x, k):
        return x if x < k else down(x - 1, k)

    same(jit(down)(np.float64(800.0), 3), down(np.float64(800.0), 3))
    for function in (down, jit(down)):
        with pytest.raises(RecursionError):
            function(np.float64(5000.0), 3)


def cached(x):
    return 0 if x < 1 else 1 + cached(x - 1)


def test_a_function_of_this_name_that_is_another_one_is_found(monkeypatch):
    program = jit(lambda x: cached(x))
    assert program(np.float64(3.0)) == 3
    monkeypatch.setitem(globals(), "cached", lambda x: 7)
    assert program(np.float64(3.0)) == 7


@left_to_ci
def test_the_columns_of_no_rows_are_none():
    def turned(x):
        rows, found = x.tolist(), []
        while rows:
            found += rows.pop(0)
            rows = [list(column) for column in zip(*rows)][::-1]
        return found

    same(jit(turned)(X[:6].reshape(2, 3)), turned(X[:6].reshape(2, 3)))
