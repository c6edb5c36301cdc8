"""Keys are put into dicts and sets, and taken out of them, many times: the others are found, in their order."""

import re
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


def taken_out_in_any_order(keys, values):
    left, seen, there = set(range(70)), set(), 0
    for key, value in zip(keys, values):
        if (key, value % 3) in seen:
            seen.remove((key, value % 3))
        else:
            seen.add((key, value % 3))
        left.discard(value - key)
        there = there * 2 % 1009 + (key in left)
    return there, sorted(left), sorted(seen), len(seen)


def taken_out_of_an_order(keys, values):
    left, total = set(range(70)), 0
    for key, value in zip(keys, values):
        if key == value % 70:
            left.discard(value % 70)
    for element in left:
        total = (total * 3 + element) % 1009
    return total, len(left)


def last_ones_popped(keys, values):
    held, total = {}, 0
    for key, value in zip(keys, values):
        held[key] = value
        if value % 3 == 0:
            last, had = held.popitem()
            total = (total * 5 + last * had) % 1009 + (last in held)
    return total, list(held.items())


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
    "function",
    [
        put_and_deleted,
        counted_and_deleted,
        put_and_popped,
        added_and_discarded,
        taken_out_in_any_order,
        taken_out_of_an_order,
        moved_to_the_end,
    ],
)
def test_the_others_are_found(function):
    rng = np.random.default_rng(0)
    jitted = jit(function)
    for spread in (1, 1 << 40):
        keys, values = rng.integers(0, 70, (2, 900)) * spread
        expected, found = function(keys, values), jitted(keys, values)
        assert repr(found) == repr(expected)


def test_what_is_taken_out_of_a_set_moves_one_other():
    keys, values = np.random.default_rng(0).integers(0, 70, (2, 900))
    for function, is_moved in (added_and_discarded, False), (put_and_deleted, True):
        text = jit(function).lower(keys, values).as_text()
        assert bool(re.search(r"s32\[2048\]\S* select\(", text)) == is_moved
