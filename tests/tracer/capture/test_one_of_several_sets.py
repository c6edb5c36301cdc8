"""Sets and dicts in a list, of which the program decides which one is meant."""

import numpy as np
import pytest
from phlox import TracerError, jit
from thinning import left_to_ci

EDGES = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [1, 3]])


def neighbours(edges):
    around = [set() for _ in range(4)]
    for a, b in edges:
        around[a].add(b)
        around[b].add(a)
    return around


@left_to_ci
def test_operators():
    def common(edges, i, j):
        around = neighbours(edges)
        one, other = around[i], around[j]
        return (
            len(one & other), len(one - other), len(one ^ other), len(one | other), len(one & {0, 1, 2}), sum(one & other),
        )  # fmt: skip

    jitted = jit(common)
    for i, j in ((0, 2), (1, 3), (3, 3), (0, 2)):
        assert jitted(EDGES, i, j) == common(EDGES, i, j)


@left_to_ci
def test_operators_of_two_out_of_many():
    def most_alike(edges):
        around = [set() for _ in range(9)]
        for a, b in edges:
            around[a].add(b)
            around[b].add(a)
        best, inside, same = (0.0, -1, -1), 0, 0
        for i in range(9):
            for j in range(9):
                inside += around[i] <= around[j]
                same += around[i] == around[j]
                common, united = around[i] & around[j], around[i] | around[j]
                if i < j and len(common) > best[0] * len(united):
                    best = len(common) / len(united), i, j
        return best, inside, same, sorted(around[best[1]] ^ around[best[2]]), around

    jitted = jit(most_alike)
    for seed in (1, 2):
        edges = np.random.default_rng(seed).integers(0, 9, (20, 2))
        assert jitted(edges) == most_alike(edges)


def test_going_over_one_is_refused():
    with pytest.raises(TracerError, match="one of several dicts or sets"):
        jit(lambda edges, i: [v for v in neighbours(edges)[i]])(EDGES, 1)


def added_twice_under_two_conditions(i, x):
    first, second = set(), set()
    for _ in range(2):
        if i > 0:
            if i == 1:
                first.add(x)
            else:
                second.add(x)
    return len(first), len(second), sorted(first), x in second


def added_to_one_of_three(edges):
    around = [set() for _ in range(4)]
    for a, b in edges:
        around[a].add(b)
        around[b].add(a)
    return [len(one) for one in around], [sorted(one) for one in around]


def test_what_is_there_already_is_not_added_again():
    jitted = jit(added_twice_under_two_conditions)
    for i, x in ((1, 5), (0, 5), (2, 5)):
        assert jitted(i, x) == added_twice_under_two_conditions(i, x)
    jitted = jit(added_to_one_of_three)
    for edges in ([(1, 2), (2, 3), (1, 2)], [(1, 2), (2, 1), (2, 1)], [(0, 3), (3, 3), (3, 0)]):
        assert jitted(edges) == added_to_one_of_three(edges)
