"""Objects that are elements of lists, or values of dicts, whose length the program decides, and are changed there."""

import copy
from dataclasses import dataclass

import numpy as np
import pytest
from phlox import jit

from .test_keys import outcome

_VALUES, _OTHERS = np.random.default_rng(0).normal(size=(2, 20))
_PLACES = np.random.default_rng(1).integers(0, 5, 20)
CALLS = [(_VALUES, _PLACES), (_OTHERS, _PLACES[::-1].copy()), (_VALUES, _PLACES)]
PROGRAMS = []


def program(function):
    PROGRAMS.append(pytest.param(function, id=function.__name__))
    return function


class P:
    def __init__(self, x):
        self.x = x
        self.n = 0

    def move(self, d):
        self.x += d
        self.n += 1

    @property
    def twice(self):
        return 2 * self.x


@dataclass
class D:
    x: float
    n: int = 0
    tag: str = "a"

    def hit(self):
        self.n += 1


class Node:
    def __init__(self, v):
        self.v = v
        self.items = []


@program
def attributes_by_positions(x, idx):
    ps = []
    for v in x:
        if v > 0:
            ps.append(P(v))
    for i in idx:
        if i < len(ps):
            ps[i].x += 1
            ps[i].n += 2
    return [p.x for p in ps], [p.n for p in ps]


@program
def methods_and_results(x, idx):
    ps = []
    for v in x:
        if v > 0:
            ps.append(P(v))
    for i in idx:
        if i < len(ps):
            ps[i].move(0.5)
    return ps, ps[0].twice, [p.twice for p in ps]


@program
def dataclasses_with_texts(x, idx):
    ps = []
    for v in x:
        if v > 0:
            ps.append(D(v))
    for i in idx:
        if i < len(ps):
            ps[i].hit()
            if ps[i].n > 2:
                ps[i].tag = "hot"
    return ps, max(ps, key=lambda p: p.n)


@program
def the_best_one(x, idx):
    ps = []
    for v in x:
        if v > 0:
            ps.append(P(v))
    best = None
    for p in ps:
        if best is None or p.x > best.x:
            best = p
    for q in ps:
        q.x += 1
    best.n = 7
    return best.x, [p.n for p in ps], best is ps[0], [p is best for p in ps], ps[0] == best


@program
def in_two_lists(x, idx):
    a = []
    b = []
    for v in x:
        p = P(v)
        if v > 0:
            a.append(p)
        if v < 0.5:
            b.append(p)
    for p in a:
        p.x += 10
    for p in b:
        p.n += 1
    b.sort(key=lambda p: -p.x)
    b[0].n = 100
    return [p.n for p in a], [p.x for p in b]


@program
def from_one_queue_to_another(x, idx):
    q = []
    done = []
    for i, v in enumerate(x):
        q.append(P(v))
        if v > 0:
            p = q.pop(0)
            p.n = i
            if p.x < 0.3:
                q.append(p)
            else:
                done.append(p)
    return [(p.x, p.n) for p in done], len(q)


@program
def values_of_a_dict(x, idx):
    d = {}
    for i, v in zip(idx.tolist(), x):
        if i not in d:
            d[i] = P(v)
        else:
            d[i].x += v
            d[i].n += 1
    return {k: (p.x, p.n) for k, p in d.items()}


@program
def attributes_that_may_be_none(x, idx):
    ps = []
    for v in x:
        if v > 0:
            p = P(v)
            p.n = None
            ps.append(p)
    for i in idx:
        if i < len(ps):
            p = ps[i]
            p.n = 1 if p.n is None else p.n + 1
    return [p.n for p in ps]


@program
def with_lists(x, idx):
    ns = []
    for v in x:
        if v > 0:
            ns.append(Node(v))
    for i in idx.tolist():
        if i < len(ns):
            ns[i].items.append(i)
            ns[i].v += 1
    return [(n.v, n.items) for n in ns]


@program
def attributes_that_come_later(x, idx):
    ns = []
    for v in x:
        if v > 0:
            ns.append(P(v))
    for n in ns:
        n.seen = True
        n.x += 1
    return [n.x for n in ns], [n.seen for n in ns]


@program
def copies(x, idx):
    ns = []
    for v in x:
        if v > 0:
            ns.append(P(v))
    c = copy.copy(ns[0])
    d = copy.deepcopy(ns[1])
    for n in ns:
        n.x += 1
    c.n = 5
    return [n.x for n in ns], c.x, c.n, d.x, ns[0].n


@program
def of_known_length(x, idx):
    ns = [P(v) for v in x]
    for i in idx:
        ns[i].x += 1
        ns[i].n += 1
    return [(p.x, p.n) for p in ns]


@program
def returned_twice(x, idx):
    ps = []
    for v in x:
        if v > 0:
            ps.append(P(v))
    for p in ps:
        p.n += 1
    return ps[0], ps[0], ps


@program
def in_a_loop_over_them(x, idx):
    ps = []
    for v in x:
        if v > 0:
            ps.append(P(v))
    for p in ps:
        p.x *= 2
        p.n += 1
    return sum(p.x for p in ps), sum(p.n for p in ps)


@pytest.mark.parametrize("function", PROGRAMS)
def test_objects_within_others(function):
    decorated = jit(function)
    for arguments in CALLS:
        assert shown(decorated, arguments) == shown(function, arguments)


def shown(function, arguments):
    """What a call gives, with what objects hold in their place, and which of them are one."""
    seen = {}

    def parts_of(value):
        if isinstance(value, (list, tuple)):
            return type(value)(map(parts_of, value))
        if isinstance(value, dict):
            return {key: parts_of(one) for key, one in value.items()}
        if hasattr(value, "__dict__"):
            return (
                seen.setdefault(id(value), len(seen)),
                type(value),
                {name: parts_of(one) for name, one in vars(value).items()},
            )
        return value

    return outcome(lambda *given: parts_of(function(*given)), arguments)
