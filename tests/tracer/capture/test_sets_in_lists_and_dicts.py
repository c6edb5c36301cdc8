"""Sets that are values of dicts, or elements of lists, are changed there, whatever other names they have."""

from collections import defaultdict

import numpy as np
import pytest
from phlox import jit
from thinning import left_to_ci

EDGES = np.array([[1, 2], [2, 3], [1, 2], [0, 3], [9, 1], [17, 1], [25, 1], [1, 9], [1, 17], [2, 9]])
OTHERS = np.array([[1, 5], [2, 2], [1, 5], [3, 1], [1, 1]])


def neighbours(edges):
    found = defaultdict(set)
    for a, b in edges:
        found[int(a)].add(int(b))
        found[int(b)].add(int(a))
    return found


def by_setdefault(edges):
    found = {}
    for a, b in edges:
        found.setdefault(int(a), set()).add(int(b))
    return found, {k: sorted(v) for k, v in found.items()}, sum([len(v) for v in found.values()])


def in_a_list(edges):
    around = [set() for _ in range(26)]
    for a, b in edges:
        around[a].add(int(b))
        if a not in around[b]:
            around[b].add(int(a))
    return around, [len(one) for one in around]


def searched(edges):
    found, seen, queue, order = neighbours(edges), {1}, [1], []
    while queue:
        v = queue.pop(0)
        order.append(v)
        for w in found[v]:
            if w not in seen:
                seen.add(w)
                queue.append(w)
    return order


def under_another_name(edges):
    found = neighbours(edges)
    one, other = found[1], found[1]
    one.add(77)
    return 77 in other, one is found[1], one is found[2], len(found[1]), sorted(found[1])


def operators(edges):
    found = neighbours(edges)
    one, other = found[1], found[2]
    both = one & other, one | {9}, one - other, other ^ one, one.union([5]), one.intersection(other)
    order = (
        one == {2},
        one == set(sorted(one)),
        set(sorted(one)) == one,
        one <= {1, 2, 3, 9, 17, 25},
        one != other,
        {2} < one,
        one.isdisjoint(other),
        one == one,
    )
    return [sorted(part) for part in both], order, type(one), isinstance(one, set), bool(one), list(one), str(one), min(one)


def taken_out(edges):
    found = neighbours(edges)
    for a, b in edges:
        found[int(a)].discard(int(b) + 1)
    found[1].remove(1 if 1 in found[1] else next(iter(sorted(found[1]))))
    return {k: sorted(v) for k, v in found.items()}


def in_place(edges):
    found = neighbours(edges)
    for k in list(found):
        found[k] |= {5, 6}
        found[k].update([7], {8})
    return {k: sorted(v) for k, v in found.items()}


def of_pairs(edges):
    found = defaultdict(set)
    for a, b in edges:
        found[int(a)].add((int(b), float(a)))
    return found, sorted(found[1])


def some_grow(edges):
    groups = []
    for a, b in edges:
        a, b = int(a), int(b)
        for group in groups:
            if a in group or b in group:
                group.add(a)
                group.add(b)
                break
        else:
            groups.append({a, b})
    return groups


QUICK = [by_setdefault, under_another_name, taken_out, of_pairs, some_grow]
LONG = [neighbours, in_a_list, searched, operators, in_place]


def check(function):
    compiled = jit(function)
    for edges in (EDGES, EDGES, EDGES, OTHERS, EDGES[:4]):
        assert repr(compiled(edges)) == repr(function(edges))


@pytest.mark.parametrize("function", QUICK)
def test_sets_are_changed_where_they_are_held(function):
    check(function)


@left_to_ci
@pytest.mark.parametrize("function", LONG)
def test_sets_of_whole_programs(function):
    check(function)


def test_one_set_is_one_object():
    def twice(edges):
        found = by_setdefault(edges)[0]
        return found, [found[1], found[1]]

    found, (one, other) = jit(twice)(EDGES)
    assert one is other is found[1] and type(one) is set


def grown_meanwhile(edges):
    found = by_setdefault(edges)[0]
    for value in found[1]:
        found[1].add(value + 100)


def without_what_is_missing(edges):
    found = by_setdefault(edges)[0]
    found[1].remove(int(edges[0, 1]) + 1000)


def with_a_list(edges):
    found = by_setdefault(edges)[0]
    found[int(edges[0, 0])].add([1])


@pytest.mark.parametrize(
    "function, error", [(grown_meanwhile, RuntimeError), (without_what_is_missing, KeyError), (with_a_list, TypeError)]
)
def test_errors_are_those_of_sets(function, error):
    with pytest.raises(error):
        function(EDGES)
    with pytest.raises(error):
        jit(function)(EDGES)
