"""Lists, sets and dicts that are longer at a later call than their memory was guessed to be, and what is made of them."""

import bisect

import numpy as np
import pytest
from phlox import jit
from thinning import left_to_ci

PROGRAMS = []


def program(function):
    PROGRAMS.append(pytest.param(function, id=function.__name__))
    return function


@program
def appended(x):
    out = []
    for value in x:
        if value > 0.1:
            out.append(value)
    return np.array(out), np.sort(out), len(out)


@program
def inserted_in_order(x):
    out = []
    for value in x:
        bisect.insort(out, value)
    return np.array(out)


@program
def inserted_and_taken_out(x):
    out = []
    for number, value in enumerate(x):
        out.insert(number // 3, value)
        if value > 0.9:
            out.pop(len(out) // 2)
        if value < 0.1:
            del out[-len(out) // 3]
    kept = out.copy()
    out.insert(len(out) // 2, 7.0)
    return np.array(kept), np.array(out)


@program
def pairs(x):
    out = []
    for value in x:
        out.append((value, 2 * value))
        if value > 2:
            out.pop()
    return np.array(out)


@program
def rows(x):
    out = []
    for value in x:
        if value > 0.1:
            out.insert(0, np.array([value, -value]))
    return np.stack(out), np.concatenate(out)


@program
def in_several(x):
    held = [[] for _ in range(3)]
    for value in x:
        held[int(value * 3)].append(value)
    return [np.array(one) for one in held]


@program
def elements(x):
    found = set()
    for value in x.tolist():
        found.add(int(value * 1e6))
    return np.array(sorted(found)), len(found)


@program
def items_taken_out(x):
    found = {}
    for value in x.tolist():
        found[int(value * 1e6)] = value
        if value < 0.1:
            del found[int(value * 1e6)]
    return np.array(list(found)), np.array(list(found.values()))


@pytest.mark.parametrize("function", PROGRAMS)
def test_lists_that_outgrow_their_memory(function):
    decorated = jit(function)
    for size in (5, 40, 700, 700, 30):
        x = np.random.default_rng(size).random(size)
        expected, found = function(x), decorated(x)
        assert type(found) is type(expected)
        np.testing.assert_equal(found, expected)


def test_lists_that_loops_within_loops_make_are_recorded_once():
    def grouped(x):
        groups = {}
        for one in x:
            for other in x:
                groups.setdefault(one + other, []).append(other)
        return len(groups), max([len(one) for one in groups.values()])

    x, decorated = np.random.default_rng(0).integers(0, 100, 12), jit(grouped)
    expected = grouped(x)
    assert expected[0] > 64
    assert decorated(x) == expected
    assert decorated.cache_info().misses == 1


@left_to_ci
def test_what_a_dropped_loop_has_found_does_not_end_the_call():
    """The loop is tried with room for the list of the first call, and unrolled behind that, as arrays become longer in it."""
    table = np.random.default_rng(3).normal(size=(11, 8))

    def following(tokens, steps):
        weights = np.random.default_rng(3).normal(0, 0.2, (8, 24))
        tokens = list(tokens)
        for _ in range(steps):
            x = table[tokens]
            q, k, _ = np.split(x @ weights, 3, axis=-1)
            x = x + (q @ k.T + np.tri(x.shape[0])) @ x
            tokens.append(int(np.argmax(x[-1]) % 11))
        return tokens

    jitted = jit(following)
    for count in (6, 12):
        tokens = np.random.default_rng(7).integers(0, 11, count).tolist()
        assert jitted(tokens, 4) == following(tokens, 4)
