"""Lists, deques and dicts, as long as the program decides, of tuples and None: a flag says which of them an element is."""

import numpy as np
import pytest

from ...support.undecorated import check

XS = np.array([3, 5, 7, 3, 1]), np.array([1, 1, 0, 2, 2]), np.array([9, 8, 7, 0, 6])


def parents(x):
    came, here = {(0, 0): None}, (0, 0)
    for v in x.tolist():
        following = (here[0] + v, here[1] + 1)
        if following not in came:
            came[following] = here
        here = following
    path, place = [], here
    while place is not None:
        path.append(place)
        place = came[place]
    return path[::-1], came


def one_or_the_other(x):
    out = [(v, v + 1) if v > 4 else None for v in x if v > 0]
    return out, [one[0] for one in out if one is not None], sum(one is None for one in out)


def none_first(x):
    out = [None]
    for v in x:
        if v > 2:
            out.append((v, 1.5))
        if v > 6:
            out.append(None)
    return out, len(out)


def within_tuples(x):
    out = []
    for v in x:
        if v > 2:
            out.append((int(v), ("a" if v > 5 else None, (1.0, v) if v > 4 else None)))
    return out


def popped(x):
    pending, rounds, depth, parent = [(0, None)], 0, 0, None
    while pending and rounds < 20:
        depth, parent = pending.pop()
        rounds += 1
        if depth < 3 and x[depth] > 2:
            pending.append((depth + 1, (depth, rounds)))
            pending.append((depth + 2, None))
    return pending, rounds, depth, parent


def values_of_dicts(x):
    best = {}
    for v in x.tolist():
        best[v % 3] = None if v > 5 else (v, v * 2)
    return best, [k for k, pair in best.items() if pair is None], best.get(1), best.get(7)


def set_to_none(x):
    out = []
    for v in x:
        if v > 0:
            out.append((v, 2 * v))
    for k in range(len(out)):
        if out[k][0] > 4:
            out[k] = None
    return out


def compared(x):
    best, seen = None, []
    for i, v in enumerate(x.tolist()):
        if best is None or v > best[0]:
            best = (v, i)
        seen.append(best if v > 2 else None)
    return best, seen[-1], seen[0] == (3, 0), seen[1] != (5, 1), (3, 0) == seen[3]


@pytest.mark.parametrize(
    "function", [parents, one_or_the_other, none_first, within_tuples, popped, values_of_dicts, set_to_none, compared]
)
def test_tuples_or_none(function):
    for x in XS:
        function = check(function, x)
