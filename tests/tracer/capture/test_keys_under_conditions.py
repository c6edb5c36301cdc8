"""Keys put into dicts and sets under conditions, round after round: each is there once, and found under others."""

import itertools
from collections import Counter, defaultdict, deque

import numpy as np
import pytest
from phlox import jit
from thinning import one_in, one_in_all


def dict_items(names, x):
    found = {}
    for name, value in zip(names, x):
        if value > 0:
            found[name] = found.get(name, 0.0) + value
    return list(found.items())


def dict_of_either(names, x):
    found = {}
    for name, value in zip(names, x):
        if value > 0:
            found[name] = 1
        else:
            found["none"] = found.get("none", 0) + 1
    return list(found.items())


def counted(names, x):
    found = Counter()
    for name, value in zip(names, x):
        if value > 0:
            found[name] += 1
    return list(found.items()), found.most_common()


def summed(names, x):
    found = defaultdict(float)
    for name, value in zip(names, x):
        if value > 0:
            found[name] += value
    return list(found.items()), len(found)


def in_a_set(names, x):
    found = set()
    for name, value in zip(names, x):
        if value > 0:
            found.add(name)
    return sorted(found), len(found)


def taken_out(names, x):
    found = {}
    for name, value in zip(names, x):
        if value > 0:
            found[name] = value
        elif name in found:
            del found[name]
    return list(found), len(found)


def listed(names, x):
    found = defaultdict(list)
    for name, value in zip(names, x):
        if value > 0:
            found[name].append(value)
    return list(found.items())


def listed_anew(names, x):
    found = {}
    for name, value in zip(names, x):
        if value > 0:
            found[name] = found.get(name, []) + [value]
    return list(found.items())


def queued(names, x):
    found = defaultdict(deque)
    for name, value in zip(names, x):
        if value > 0:
            found[name].append(value)
        elif found[name]:
            found[name].popleft()
    return [(name, list(queue)) for name, queue in found.items()]


def queued_where_there_is_none(names, x):
    found = {}
    for name, value in zip(names, x):
        if value > 0:
            found.setdefault(name, deque()).append(value)
    return [(name, list(queue)) for name, queue in found.items()]


def sets_of_values(names, x):
    found = defaultdict(set)
    for name, value in zip(names, x):
        if value > 0:
            found[name].add(int(value) // 2)
    return [(name, sorted(values)) for name, values in found.items()]


def counts_of_values(names, x):
    found = defaultdict(Counter)
    for name, value in zip(names, x):
        if value > 0:
            found[name][int(value) // 2] += 1
    return [(name, dict(counts)) for name, counts in found.items()]


FUNCTIONS = [dict_items, dict_of_either, counted, summed, in_a_set, taken_out]


@pytest.mark.parametrize(("function", "names"), one_in_all(3, FUNCTIONS, ["aaaaaa", "cbbaaa", "abcabc", "abcdef"]))
def test_each_key_is_there_once(function, names):
    jitted = jit(function)
    for signs in itertools.product([1.0, -1.0], repeat=len(names)):
        x = np.arange(1.0, 7.0) * signs
        assert jitted(tuple(names), x) == function(tuple(names), x)


def found_again(x):
    last, seen, total = {0: 0}, set(), 0
    for value in x:
        if value % 7 != 3:
            last[value % 5] = value
            last[value % 3] = total
            seen.add(value)
            if value % 2 and value % 5 in last:
                total += last[value % 5]
            if value + 1 not in seen and value > 4:
                total += last.get(value % 4, -1)
    return total, last, sorted(seen)


def of_another_type(x):
    last, total = {0: 0.5}, 0
    for value in x:
        if value % 7 != 3:
            last[value % 5] = value
            if value > 4:
                total += last[value % 3 * 0]
    return total, last


def flooded(x):
    grid, seen, steps, stack = x.reshape(5, 8), {(0, 0)}, {(0, 0): 0}, [(0, 0)]
    while stack:
        row, column = stack.pop()
        for down, right in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            place = row + down, column + right
            if 0 <= place[0] < 5 and 0 <= place[1] < 8 and grid[place] > 3 and place not in seen:
                seen.add(place)
                steps[place] = steps[row, column] + 1
                stack.append(place)
    return len(seen), steps


@pytest.mark.parametrize("function", [found_again, of_another_type, flooded])
def test_what_a_branch_puts_there_is_found_in_those_within(function):
    x = np.random.default_rng(0).integers(0, 12, 40)
    assert jit(function)(x) == function(x)


@pytest.mark.parametrize(
    "function", one_in(3, [listed, listed_anew, queued, queued_where_there_is_none, sets_of_values, counts_of_values])
)
def test_containers_are_put_under_known_keys(function):
    jitted = jit(function)
    for signs in ([1, 1, 1, -1, 1, 1], [-1, 1, -1, 1, 1, -1], [1, -1, -1, -1, -1, -1], [-1] * 6):
        x = np.arange(1.0, 7.0) * signs
        assert repr(jitted(tuple("abcbab"), x)) == repr(function(tuple("abcbab"), x))
