"""Slices of lists that are exchanged for other elements (`x[i:j] = y`), and deques that turn, by what the program decides."""

from collections import deque

import numpy as np
import pytest
from phlox import jit
from phlox.compile.in_place import update_of
from phlox.hlo import leaves

from ...support.undecorated import check


def two_opt(a):
    s = list(range(len(a)))
    for k in range(len(a)):
        i, j = sorted((int(a[k]), int(a[k - 1])))
        s[i : j + 1] = s[i : j + 1][::-1]
    return s


def few_reversed(a):
    s = [int(v) for v in a]
    n = len(s)
    for k in range(n):
        i = int(a[k]) % max(n - 5, 1)
        s[i : i + 5] = s[i : i + 5][::-1]
    return s


def shrinking(a):
    s = [int(v) for v in a]
    for v in a:
        if len(s) > 6:
            k = int(v) % (len(s) - 3)
            s[k : k + 3] = [int(v)]
    return s, len(s)


def growing(a):
    s = [1, 2]
    t = s
    for v in a:
        k = int(v) % len(s)
        s[k : k + 1] = [int(v), k, 7]
    return s, t is s, len(t)


def either(a):
    s = [(1, 0.5), (2, 1.5), (3, 2.5)]
    for k in range(len(a)):
        v = int(a[k])
        i = v % len(s)
        j = int(a[k - 1]) % (len(s) + 4)
        s[i:j] = [(v + m, m / 2) for m in range(v % 3)]
        if len(s) < 2:
            s += [(0, 0.0), (1, 1.0)]
    return s


def of_others(a):
    s = [int(v) for v in a]
    u = []
    for k in range(len(a)):
        v = int(a[k])
        if v % 2:
            u.append(v)
        s[v % 5 : -2] = u
        u[-3:-1] = s[:2]
    return s, u


def from_itself(a):
    s = [int(v) for v in a]
    for v in a:
        k = int(v) % len(s)
        s[k:] = s[k:][::-1]
        s[:k] = s[:k][::-1]
        s[1:k] = s[2 : k + 1]
        if len(s) < 3:
            s.extend([1, 2, 3])
    return s


def arrays(a):
    s = [a[k : k + 2] + 0.5 for k in range(4)]
    for v in a:
        k = int(v) % 3
        s[k : k + 2] = [s[k + 1], s[k] + 1]
    return s


def rows(a):
    g = [[int(v), 2, 3, 4] for v in a]
    for v in a:
        r = g[int(v) % len(g)]
        i = int(v) % 3
        r[i : i + 2] = r[i : i + 2][::-1]
    return g


def pancakes(a):
    s = [int(v) for v in a]
    flips = 0
    for size in range(len(s), 1, -1):
        k = s.index(max(s[:size]))
        if k + 1 != size:
            s[: k + 1] = s[: k + 1][::-1]
            s[:size] = reversed(s[:size])
            flips += 2
    return s, flips


def ringed(a):
    s = []
    for k in range(len(a)):
        s.append(int(a[k]))
        if a[k] % 3 == 0:
            s.pop(0)
        if len(s) > 3:
            i = int(a[k]) % 3
            s[i : i + 2] = [s[i + 1], s[i], 5]
            s[i : len(s) - 1] = s[i : len(s) - 1][::-1]
    return s, s[::-1]


def behind_one_another(a):
    s = [int(v) for v in a]
    for v in a:
        k = int(v) % len(s)
        s[k:] = s[k:][::-1]
        s[1:k] = s[2 : k + 1]
    return s


def long_pieces(a):
    s = []
    for v in a:
        if v % 2:
            s.append(int(v))
    i, j = int(a[0]) % 3, int(a[1]) % 9
    s[i:j] = [int(a[k % len(a)]) + k for k in range(300)]
    s[-i - 1 : len(s)] = s[:5]
    return s, len(s)


def lists_in_it(a):
    first = [0, 1]
    s = [first, [2, 3], [4, 5]]
    i = int(a[0]) % 3
    s[i : i + int(a[1]) % 2] = [[int(v), 7] for v in a[:4]]
    return [row[0] for row in s], sum(row[-1] for row in s)


def turned(a):
    d, t = deque(a), 0
    for v in a:
        d.rotate(int(v) % 9 - 4)
        t += d[0]
    return t, list(d)


def turned_while_it_changes(a):
    d, out = deque(), []
    for v in a:
        if v % 3:
            d.append((int(v), v / 2))
        elif d:
            d.popleft()
        d.rotate(int(v) - 8)
        if v % 5 == 0 and len(d) > 2:
            d.pop()
            d.rotate(1)
        out.append(len(d))
    return list(d), out


def turned_with_a_greatest_length(a):
    d = deque(maxlen=5)
    for v in a:
        d.appendleft(int(v))
        d.rotate(v)
    return list(d)


def turned_under_two_names(a):
    d = deque([1, 2, 3])
    e, f = d, d.copy()
    for v in a:
        d.rotate(v)
        if v > 8:
            f.append(int(v))
        f.rotate(-v)
    return list(e), list(f), e is d


def reversed_in_place(a):
    q, r, total = [], [], 0
    other = q
    for v in a:
        q.append((int(v), v / 4))
        r.append([int(v)])
        r.reverse()
        if len(q) > 6:
            q.reverse()
            q.pop(0)
            total += other[0][0] - r[-1][0]
        q.reverse()
    r.reverse()
    return q, total, [row[0] for row in r], other is q


SLICES = [
    two_opt, few_reversed, shrinking, growing, either, of_others, from_itself, arrays, rows, pancakes, ringed,
    behind_one_another, long_pieces, lists_in_it, reversed_in_place,
]  # fmt: skip
DEQUES = [turned, turned_while_it_changes, turned_with_a_greatest_length, turned_under_two_names]


@pytest.mark.parametrize("function", SLICES + DEQUES)
def test_slices_that_are_exchanged_and_deques_that_turn(function):
    for seed, count in ((0, 6), (1, 13), (2, 70)):
        check(function, np.random.default_rng(seed).integers(0, count, count))


@pytest.mark.parametrize("function", [few_reversed, shrinking, turned])
def test_no_round_makes_an_array_of_the_list(function):
    compiled = jit(function).lower(np.random.default_rng(0).integers(0, 900, 900)).compile()
    computations = compiled.executable.optimized.computations()
    bodies = [one.attributes["body"] for each in computations for one in each.instructions if one.opcode == "while"]
    nests = [one for body in bodies for one in body.instructions if one.opcode == "fusion" and update_of(one) is None]
    assert nests and all(shape.size < 900 for nest in nests for shape in leaves(nest.shape))
