"""``in``, ``==``, ``<``, ``index`` and ``count`` of lists of lists, dicts and objects that the program changes."""

from dataclasses import dataclass

import numpy as np
import pytest
from phlox import jit
from thinning import LEFT_TO_CI

X = np.array([1.5, 2.5])


class Point:
    def __init__(self, n):
        self.n = n


@dataclass
class Record:
    n: float


class Alike:
    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        return self.n == other.n


def rows(x, make):
    """Elements that lie in a table, as they are changed where the program decides which one it is."""
    found = [make(value) for value in x if value > -10]
    chosen = found[int(x[0] > 0)]
    return found, chosen, [chosen], found[int(x[1] > 2)]


def changed_lists(x):
    s, o, seen, p = rows(x, lambda value: [value])
    o[0] += 1
    return asked(s, o, seen, p), [9.0] in seen


def changed_dicts(x):
    s, o, seen, p = rows(x, lambda value: {"n": value})
    o["n"] += 1
    return asked(s, o, seen, p), {"n": 9.0} in seen


def changed_objects(x):
    s, o, seen, p = rows(x, Point)
    o.n += 1
    return asked(s, o, seen, p)


def asked(s, o, seen, p):
    found = o == s[0], o != s[1], o is s[1], p in seen, s[0] in seen, seen.index(p) if p in seen else None, seen.count(p)
    return found, (o, 1) == (p, 1), [o] == [p], {"k": o} == {"k": p}, o in {"k": p}.values(), (o, 1) in [(p, 1)]


def seen_once(x):
    table = {name: {"n": 0} for name in "abc"}
    seen = []
    for value in x:
        row = table["a" if value > 2 else "b" if value > -2 else "c"]
        row["n"] += 1
        if row not in seen:
            seen.append(row)
    return table, seen


def of_known_lists(x):
    a, b, c = [1], [2], [int(x[0] > 0)]
    o = a if x[0] > 0 else b
    return o in [a, b], o in (a, c), o in [c], [a, b].index(o), [a, b, a].count(o), c in [[0], [2]], [c, a].index([1])


def of_known_dicts(x):
    s = [{"n": 1}, {"n": 2}]
    o = s[int(x[0] > 0)]
    o["n"] += 1
    c = {"n": int(x[0] > 0)}
    return (
        o in s,
        s.index(o),
        o in s[:1],
        {"n": 2} in s,
        s.count({"n": 2}),
        o == s[0],
        c in [{"n": 0}],
        c == {"n": 1},
        c != s[0],
    )


def of_known_objects(x):
    a, b, c = Point(1), Point(2), Point(3)
    o = a if x[0] > 0 else b
    return o == a, o != a, o in [a, b], o in (a, c), [a, b].index(o), [a, b, a].count(o), [o] == [a], {"k": o} == {"k": a}


def of_dataclasses(x):
    a, b, c = Record(1), Record(2), Record(int(x[0] > 0))
    o = a if x[0] > 0 else b
    return o in [a, b], o in (a, c), [a, b].index(o), [a, b, a].count(o), c in [Record(0), b], c == Record(1), c != a


def of_a_class_that_compares(x):
    a, c = Alike(1), Alike(x[0])
    return c in [a, Alike(2)], c in [a, Alike(x[0])], [a, c].index(Alike(x[0]))


def of_tuples_and_views(x):
    a, d = (1, [int(x[0] > 0)]), {"a": [1], "b": [2]}
    o = d["a" if x[0] > 0 else "b"]
    found = a in [(1, [0])], (1, [0]) in [a], [(1, {"k": 0})].count((1, {"k": int(x[0] > 0)})), {"a": [x[0]]} == {"a": [x[0]]}
    return found, o in d.values(), [2] in d.values(), [int(x[0] > 0)] in d.values(), ("a", [int(x[0] > 0)]) in d.items()


def in_order(x):
    rows = [[int(value * 3), int(value * 10)] for value in x if value > -10]
    rows[int(x[0] > 0)][1] += 1
    greatest, least = max(rows), min(rows)
    ranked = sorted(rows, reverse=True)
    rows.sort()
    return rows, ranked, greatest, least, rows[0] < rows[1], rows[0] >= rows[1]


def greatest_of_lists(x):
    rows = [[int(value * 3), int(value * 10)] for value in x if value > -10]
    rows[int(x[0] > 0)][1] += 1
    return max(rows), min(rows)


def lists_behind_equal_numbers(x):
    rows = []
    for value in x:
        rows.append((int(value * 0.1), [int(value * 10)]))
        rows[0][1].append(3)
    return max(rows), min(rows), sorted(rows)


LONG = changed_lists, changed_dicts, changed_objects, in_order, lists_behind_equal_numbers
PROGRAMS = [
    *[pytest.param(function, marks=LEFT_TO_CI) for function in LONG], greatest_of_lists, seen_once, of_known_lists,
    of_known_dicts, of_known_objects, of_dataclasses, of_a_class_that_compares, of_tuples_and_views,
]  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS)
def test_what_is_found_is_what_python_finds(function):
    decorated = jit(function)
    for x in (X, -X, np.abs(X) * [1, 0.1], X):
        assert repr(decorated(x)) == repr(function(x))
