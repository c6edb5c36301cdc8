"""Numbers of several types in one list: each keeps its own, and what is computed of them has Python's."""

import heapq
import math
from collections import deque

import numpy as np
import pytest
from phlox import jit

from ...support.undecorated import check

X = np.random.default_rng(1).integers(0, 10, 60)


def of_three_types(x):
    out = []
    for v in x:
        if v > 5:
            out.append(int(v))
        elif v > 2:
            out.append(float(v))
        else:
            out.append(v)
    return out, max(out), min(out), out[int(x[0]) % 9], len(out)


def ordered(x):
    out = []
    for v in x:
        if v > 5:
            out.append(int(v))
        elif v > 2:
            out.append(v / 2)
    return sorted(out), sorted(out, reverse=True)


def fewest_coins(x):
    best = [0] + [float("inf")] * 30
    for v in range(1, 31):
        for coin in (3, 5, 7):
            if coin <= v and best[v - coin] + 1 < best[v]:
                best[v] = best[v - coin] + 1
    k = int(x[0])
    return best, best[-1], best[k], best[k] + 1, best[1] * 2


def arithmetic(x):
    acc = [1, 1.5, 2, np.float64(3.0), True]
    i, j = int(x[0]) % 5, int(x[1]) % 5
    a, b = acc[i], acc[j]
    return a * b, a - b, a / b, a // b, a % b, a**b, -a, abs(a), a < b, a == b, max(a, b), round(a), round(a, 1)


def asked_for_types(x):
    acc = [0, 0.0, False]
    for v in x:
        acc[v % 3] = acc[v % 3] + 1
    k = int(x[1]) % 3
    print(acc, acc[k], f"{acc[k]}")
    return type(acc[k]) is int, isinstance(acc[k], float)


def beside_none(x):
    out = [None] * 10
    for v in x:
        k = int(v)
        if out[k] is None:
            out[k] = 0
        elif out[k] < 3:
            out[k] += 1
        else:
            out[k] += 0.5
    return out


def in_tuples(x):
    out = []
    for v in x:
        if v > 5:
            out.append((int(v), "a", True))
        elif v > 2:
            out.append((float(v), "b", None))
        else:
            out.append((v, "c", 1))
    return out, out[3], sorted(out, key=lambda pair: pair[0])[0]


def as_arrays(x):
    halves = [0] * 10
    for v in x:
        if v > 3:
            halves[int(v)] += 0.5
    return np.array(halves), np.mean(halves), np.array(halves[:3]), sum(halves), sum(halves[:2])


def searched_and_compared(x):
    a, b = [0] * 10, [0] * 10
    for v in x:
        if v > 3:
            a[int(v)] += 1.0
            b[int(v)] += 1
    return a == b, 1 in a, 1.0 in b, a.index(0), a.count(0), b.count(True), a


def in_a_deque(x):
    queue = deque()
    for v in x:
        if v > 6:
            queue.append(int(v))
        elif v > 3:
            queue.append(v * 0.5)
        elif queue:
            queue.popleft()
        if len(queue) > 5:
            queue.appendleft(True)
            queue.pop()
    return queue, sum(queue)


def in_a_table(x):
    g, f = [[0.0] * 4 for _ in range(5)], [[0] * 4 for _ in range(5)]
    for v in x:
        g[v % 5][v % 4] = v * 0.5
        f[v % 5][v % 4] += 0.5 if v > 5 else 1
    return g, f


def values_of_a_dict(x):
    d = {}
    for v in x:
        d[int(v)] = d.get(int(v), 0) + (1 if v > 5 else 0.5)
    return d, sum(d.values()), max(d, key=d.get)


def keys_of_a_dict(x):
    d, s = {}, set()
    for v in x:
        if v > 5:
            d[int(v)] = 1
            s.add(int(v))
        else:
            d[v] = 2
            s.add(v)
        d[int(v)] += 1
    return d, sorted(s), sum(s), len(s)


def of_floats_and_numpys(x):
    best = [0.0] * 10
    for i, v in enumerate(x - 5.5):
        if v > 0:
            best[i % 10] += v
        else:
            best[i % 10] = float(v)
    return best, best[int(x[0])], sum(best), np.array(best)


def of_truths(x):
    seen = [False] * 10
    for v in x:
        if v > 3:
            seen[v] = v > 5
    return seen, seen.count(True), all(seen), any(seen), sum(seen)


def in_a_heap(x):
    heap, out = [], []
    for v in x:
        heapq.heappush(heap, (int(v), 1) if v > 4 else (v * 0.5, 2))
    while heap:
        out.append(heapq.heappop(heap))
    return out


PROGRAMS = [
    of_three_types, ordered, fewest_coins, arithmetic, asked_for_types, beside_none, in_tuples, as_arrays,
    searched_and_compared, in_a_deque, in_a_table, values_of_a_dict, keys_of_a_dict, of_floats_and_numpys, of_truths, in_a_heap,
]  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS)
def test_types_are_pythons(function):
    jitted = check(function, X)
    check(jitted, X[::-1].copy())
    check(jitted, (X + 3) % 10)


def nan_searched(x):
    nan, out = float("nan"), []
    for v in x:
        if v > 3:
            out.append(nan)
    return nan in out, math.nan in out, out.count(nan), out == list(out)


def nan_ordered(x):
    out = []
    for v in np.where(x > 7, np.nan, x - 4.5):
        if not v < 0:
            out.append(float(v))
    return max(out), min(out), max(out[5:])


@pytest.mark.parametrize("function", [nan_searched, nan_ordered])
def test_nan_is_compared_as_python_does(function):
    found, expected = jit(function)(X), function(X)
    np.testing.assert_equal(found, expected)


def test_a_list_of_one_type_has_no_column_of_types():
    def appended(x):
        out = []
        for v in x:
            if v > 3:
                out.append(int(v))
        return out

    assert "s32[257]" not in jit(appended).lower(X).as_text()


def test_what_is_true_or_false_in_either_way_keeps_its_type():
    def both(x):
        number, other = 2.5 if x[0] > 4 else np.sqrt(x[0] + 0.0), float(x[1])
        return number == 2.5 and other == 1.0, number == 7 and other == 1.0, number == 2.5 or other == 1.0

    jitted = jit(both)
    for x in ([5, 1], [3, 1], [5, 2], [3, 2]):
        check(jitted, np.array(x))
