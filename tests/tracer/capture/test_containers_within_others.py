"""Sets and dicts that are elements of lists, or values of dicts, whose length the program decides, and are changed there."""

import copy
from collections import Counter, defaultdict

import numpy as np
import pytest

from .test_keys import check

_FIRST, _SECOND = np.random.default_rng(0).integers(0, 5, (2, 20))
CALLS = [(_FIRST, _SECOND), (_SECOND, _FIRST), (_FIRST * 0 + 3, _SECOND * 0 + 1)]
PROGRAMS = []


def program(function):
    PROGRAMS.append(pytest.param(function, id=function.__name__))
    return function


@program
def sets_in_a_list(a, b):
    nb = [set() for _ in range(5)]
    for i, j in zip(a, b):
        nb[i].add(int(j))
    return [len(s) for s in nb], [sorted(s) for s in nb]


@program
def sets_in_a_dict(a, b):
    d = {}
    for i, j in zip(a.tolist(), b.tolist()):
        if i not in d:
            d[i] = set()
        d[i].add(j)
    return d


@program
def sets_in_a_defaultdict(a, b):
    d = defaultdict(set)
    for i, j in zip(a.tolist(), b.tolist()):
        d[i].add(j)
    return {k: sorted(v) for k, v in d.items()}


@program
def sets_by_setdefault(a, b):
    d = {}
    for i, j in zip(a.tolist(), b.tolist()):
        d.setdefault(i, set()).add(j)
    return [(k, sorted(v)) for k, v in sorted(d.items())]


@program
def dicts_in_a_dict(a, b):
    d = {}
    for i, j in zip(a.tolist(), b.tolist()):
        if i not in d:
            d[i] = {}
        d[i][j] = d[i].get(j, 0) + 1
    return d


@program
def dicts_in_a_defaultdict(a, b):
    d = defaultdict(lambda: defaultdict(int))
    for i, j in zip(a.tolist(), b.tolist()):
        d[i][j] += 1
    return {k: dict(v) for k, v in d.items()}


@program
def counters_in_a_defaultdict(a, b):
    d = defaultdict(Counter)
    for i, j in zip(a.tolist(), b.tolist()):
        d[i][j] += 1
    return [(k, v.most_common(1)) for k, v in d.items()]


@program
def sets_in_a_list_that_grows(a, b):
    L = []
    for i, j in zip(a.tolist(), b.tolist()):
        if i > 2 or not L:
            L.append(set())
        L[-1].add(j)
        s = L[0]
        s.add(i)
    return [sorted(s) for s in L], len(L), L


@program
def one_set_of_two_names(a, b):
    L = []
    keep = set()
    for i, j in zip(a.tolist(), b.tolist()):
        s = set()
        if i > 2:
            L.append(s)
            keep = s
        s.add(j)
        s.add(i)
        keep.add(7)
    return [sorted(s) for s in L], sorted(keep), 7 in keep


@program
def every_way_to_change(a, b):
    L = []
    for i in a.tolist():
        if i > 1:
            L.append({i, 1, 2})
    for k in range(len(L)):
        L[k].discard(2)
        L[k].remove(1)
        L[k] |= {int(b[0])}
    out = 0
    for s in L:
        s.update({3, 4})
        out += len(s)
    return out, [max(s) for s in L], [3 in s for s in L]


@program
def groups_that_are_searched(a, b):
    groups = []
    for i, j in zip(a.tolist(), b.tolist()):
        found = None
        for g in groups:
            if i in g or j in g:
                found = g
                break
        if found is None:
            groups.append({i, j})
        else:
            found.add(i)
            found.add(j)
    return [sorted(g) for g in groups]


@program
def neighbours(a, b):
    adj = {}
    for i, j in zip(a.tolist(), b.tolist()):
        adj.setdefault(i, set()).add(j)
        adj.setdefault(j, set()).add(i)
    seen = {int(a[0])}
    stack = [int(a[0])]
    n = 0
    while stack:
        v = stack.pop()
        n += 1
        for w in sorted(adj[v]):
            if w not in seen:
                seen.add(w)
                stack.append(w)
    return n, sorted(seen)


@program
def counters_as_results(a, b):
    d = defaultdict(Counter)
    for i, j in zip(a.tolist(), b.tolist()):
        d[i][j] += 1
    return d


@program
def copies_of_a_set(a, b):
    d = {}
    for i, j in zip(a.tolist(), b.tolist()):
        if i not in d:
            d[i] = set()
        d[i].add(j)
    x = d[int(a[0])]
    y = x.copy()
    z = set(x)
    u = x | {50}
    v = copy.copy(x)
    w = x - {int(b[0])}
    q = x
    x.add(77)
    f = frozenset(x)
    x.add(78)
    q |= {79}
    y.add(88)
    return [sorted(k) for k in (x, y, z, u, w, f, q, v)], x is q, x is y, d[int(a[0])] is x


@program
def copies_of_a_dict(a, b):
    d = {}
    for i, j in zip(a.tolist(), b.tolist()):
        if i not in d:
            d[i] = {}
        d[i][j] = 1
    x = d[int(a[0])]
    y = x.copy()
    z = dict(x)
    u = x | {50: 1}
    w = {**x}
    q = x
    x[77] = 1
    y[88] = 2
    z.update({5: 3})
    del x[77]
    x.clear()
    x[1] = 1
    return y, z, u, w, q, x is q, d


@program
def the_same_twice(a, b):
    s = set()
    L = [s, s, set()]
    for i, j in zip(a.tolist(), b.tolist()):
        L[i % 3].add(j)
    return [sorted(t) for t in L], L[0] is L[1]


@program
def one_set_in_two_dicts(a, b):
    d = {}
    e = {}
    for i, j in zip(a.tolist(), b.tolist()):
        s = set()
        if i > 1:
            d[i] = s
            e[j] = s
        s.add(i)
        if j in e:
            e[j].add(j)
    return {k: len(v) for k, v in d.items()}, e


@program
def on_sides_of_branches(a, b):
    d = {}
    for i, j in zip(a.tolist(), b.tolist()):
        if i > 1:
            if j in d:
                d[j].add(i)
            else:
                d[j] = {i}
        elif j in d:
            d[j].discard(i + 2)
    return d, sum(map(len, d.values()))


@program
def in_tuples(a, b):
    L = []
    for i, j in zip(a.tolist(), b.tolist()):
        if i > 1:
            L.append((i, set(), {}))
        if L:
            n, s, d = L[-1]
            s.add(j)
            d[j] = n
    return L


@program
def moved(a, b):
    L = []
    for i in a.tolist():
        if i > 1:
            L.append({i})
    L.reverse()
    M = L[1:] + L[:1]
    for k, j in enumerate(b.tolist()):
        if k < len(M):
            M[k].add(j)
    p = L.pop()
    p.add(100)
    return [sorted(s) for s in L], [sorted(s) for s in M]


@program
def of_floats(a, b):
    d = {}
    for i, j in zip(a.tolist(), b.tolist()):
        d.setdefault(i / 2, set()).add(j / 4)
    return d


@program
def of_tuples(a, b):
    d = {}
    for i, j in zip(a.tolist(), b.tolist()):
        d.setdefault((i, j % 2), set()).add((j, i / 2))
    return d


@program
def more_than_there_is_room_for(a, b):
    d = defaultdict(set)
    for r in range(20):
        for i, j in zip(a.tolist(), b.tolist()):
            d[i * 20 + r].add(j * r)
            d[i].add(j * r + i)
    return len(d), max(len(v) for v in d.values())


@program
def deep_copies(a, b):
    L = []
    for i in a.tolist():
        if i > 1:
            L.append({i})
    for j in b.tolist():
        if j < len(L):
            L[j].add(j)
    M = copy.deepcopy(L)
    N = copy.copy(L)
    L[0].add(99)
    return [sorted(s) for s in L], [sorted(s) for s in M], [sorted(s) for s in N]


@pytest.mark.parametrize("function", PROGRAMS)
def test_containers_within_others(function):
    check(function, CALLS)


def truths(a, b):
    stack, table, seen, rows = [], {}, set(), [[], []]
    found = []
    for i, j in zip(a.tolist(), b.tolist()):
        found.append((bool(stack), bool(table), bool(seen), bool(rows[i % 2]), not stack, bool(stack[1:])))
        if i > 2:
            stack.append(i)
            table[i] = j
            seen.add(i)
            rows[j % 2].append(j)
        elif stack:
            stack.pop()
            seen.clear()
    return found


def test_bool_of_containers():
    check(truths, CALLS)
