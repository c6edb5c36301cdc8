"""Containers of many elements: what is read of them copies nothing, and what is recorded does not grow with them."""

import re
from collections import defaultdict, deque

import numpy as np
import pytest
from phlox import jit


def sliding_maximum(x, width):
    window, found = deque(), []
    for place, value in enumerate(x):
        while window and x[window[-1]] <= value:
            window.pop()
        window.append(place)
        if window[0] <= place - width:
            window.popleft()
        found.append(x[window[0]])
    return sum(found), len(found), list(window)[:1]


def first_of_the_last(x, width):
    window, total = deque(), 0
    for place in range(len(x)):
        window.append(place)
        if window[0] <= place - width:
            window.popleft()
        total += window[0]
    return total


def read_on_one_side(x, width):
    window, total = deque(), 0.0
    for value in x:
        window.append(value)
        if value > 0.5:
            total += window[0] + window[-1]
            if len(window) > width:
                window.popleft()
    return total, len(window)


def copies_in_rounds(decorated):
    copies = re.search(r"copies(.*?)memory", str(decorated.explain()), re.DOTALL)[1]
    return "in each round" in copies


@pytest.mark.parametrize("function", [sliding_maximum, first_of_the_last, read_on_one_side])
def test_windows(function):
    decorated = jit(function, static_argnames=("width",))
    for seed in range(3):
        x = np.random.default_rng(seed).random(500)
        assert repr(decorated(x, 7)) == repr(function(x, 7))
    assert not copies_in_rounds(decorated)


def words(x):
    found = ["".join(chr(97 + int(c)) for c in x[i : i + 3]) for i in range(0, len(x), 3)]
    return len(set(found)), max(found), sorted(found)[:2], "aab" in set(found), frozenset(found) == set(found)


def test_sets_of_many_texts():
    decorated = jit(words)
    for seed in range(3):
        x = np.random.default_rng(seed).integers(0, 2, 90)
        assert decorated(x) == words(x)
    # They are put there one after the other, by one loop.
    twice = np.random.default_rng(0).integers(0, 2, 180)
    loops = [decorated.lower(given).as_text().count(" while(") for given in (x, twice)]
    assert loops[0] == loops[1]


def ordered(values, wanted):
    ascending, descending = sorted(values), sorted(values, reverse=True)
    nearest = sorted(values, key=lambda value: abs(value - wanted))
    return ascending[3], descending[3], nearest[:3], type(ascending[0]).__name__


@pytest.mark.parametrize("kind", [float, int, np.float64, np.float32, np.int16])
def test_long_lists_in_order(kind):
    decorated = jit(ordered)
    for seed in range(3):
        values = [kind(value) for value in np.random.default_rng(seed).integers(-500, 500, 300)]
        found, expected = decorated(values, values[0]), ordered(values, values[0])
        assert repr(found) == repr(expected)


def test_what_is_put_in_order_is_a_copy():
    def changed(x):
        rows = [row for row in x]
        numbers = sorted(float(row[0]) for row in rows)
        rows[0][0] = 100.0
        return numbers, x

    expected, found = changed(np.eye(4) * 2), jit(changed)(np.eye(4) * 2)
    assert found[0] == expected[0]
    np.testing.assert_array_equal(found[1], expected[1])


def neighbours(edges):
    table = defaultdict(set)
    for first, second in edges:
        table[int(first)].add(int(second))
    return len(table)


def neighbours_in_lists(edges):
    table = defaultdict(list)
    for first, second in edges:
        if int(second) not in table[int(first)]:
            table[int(first)].append(int(second))
    return len(table), sum(map(len, table.values()))


def test_sets_in_dicts_and_lists_in_their_place():
    edges = np.random.default_rng(0).integers(0, 20, (200, 2))
    assert jit(neighbours)(edges) == neighbours(edges)
    assert jit(neighbours_in_lists)(edges) == neighbours_in_lists(edges)
