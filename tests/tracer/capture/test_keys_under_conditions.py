"""Keys that are known, put into dicts and sets under conditions, round after round: each of them is there once."""

import itertools
from collections import Counter, defaultdict

import numpy as np
import pytest
from phlox import jit
from thinning import one_in_all


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


FUNCTIONS = [dict_items, dict_of_either, counted, summed, in_a_set, taken_out]


@pytest.mark.parametrize(("function", "names"), one_in_all(3, FUNCTIONS, ["aaaaaa", "cbbaaa", "abcabc", "abcdef"]))
def test_each_key_is_there_once(function, names):
    jitted = jit(function)
    for signs in itertools.product([1.0, -1.0], repeat=len(names)):
        x = np.arange(1.0, 7.0) * signs
        assert jitted(tuple(names), x) == function(tuple(names), x)
