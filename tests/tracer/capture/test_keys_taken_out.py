"""Keys are put into dicts and sets, and taken out of them, many times: the others are found, in their order."""

from collections import Counter

import numpy as np
import pytest
from phlox import jit


def put_and_deleted(keys, values):
    held, total = {}, 0
    for key, value in zip(keys, values):
        if key in held and value % 3:
            total += held[key]
            del held[key]
        else:
            held[key] = value
        total = total * 3 % 1009 + held.get(value, 7)
    return total, held


def counted_and_deleted(keys, values):
    counts = Counter(keys)
    for value in values:
        counts[value] += 1
        del counts[value + 1]  # which may not be there
    return counts, list(counts)


def put_and_popped(keys, values):
    held, total = {}, 0
    for key, value in zip(keys, values):
        if value % 2:
            held[key, value % 5] = value
        else:
            total = (total * 5 + held.pop((key, value % 5), -1)) % 1009
    return total, list(held.items())


def added_and_discarded(keys, values):
    held, there = set(), 0
    for key, value in zip(keys, values):
        if value % 2:
            held.add(key)
        else:
            held.discard(value)
        there = there * 2 % 1009 + (key + 1 in held)
    return there, sorted(held)


def moved_to_the_end(keys, values):
    held = {}
    for key, value in zip(keys, values):
        if key in held:
            held.pop(key)
        held[key] = value
        if len(held) > 20:
            del held[next(iter(held))]
    return held


@pytest.mark.parametrize(
    "function", [put_and_deleted, counted_and_deleted, put_and_popped, added_and_discarded, moved_to_the_end]
)
def test_the_others_are_found(function):
    rng = np.random.default_rng(0)
    jitted = jit(function)
    for spread in (1, 1 << 40):
        keys, values = rng.integers(0, 70, (2, 900)) * spread
        expected, found = function(keys, values), jitted(keys, values)
        assert repr(found) == repr(expected)
