"""Iterators that are asked on one side of a branch, or gone on with behind a loop that the program leaves."""

import itertools

import numpy as np
import pytest
from phlox import TracerError, jit


def zipped_on_one_side(x):
    it = iter([1, 2, 3])
    found = list(zip(it)) if x[0] > 0 else []
    return found, list(it)


def mapped_on_one_side(x):
    it = iter([1, 2, 3])
    found = []
    if x[0] > 0:
        found = list(map(lambda v: v + 1, it))
    return found, list(it)


def numbered_on_one_side(x):
    it = iter([4, 5, 6])
    found = []
    if x[0] > 0:
        found = list(enumerate(it))
    return found, list(it)


def put_behind_a_list_on_one_side(x):
    it, found = iter([4, 5, 6]), [0]
    if x[0] > 0:
        found.extend(it)
    return found, list(it)


def a_generator_expression_on_one_side(x):
    it, found = iter([4, 5, 6]), []
    if x[0] > 0:
        found = list(v for v in it)
    return found, list(it)


def some_of_it_on_one_side(x):
    it, found = iter([4, 5, 6]), []
    if x[0] > 0:
        found = list(itertools.islice(it, 2))
    return found, list(it)


def chained_on_one_side(x):
    it, found = iter([4, 5, 6]), []
    if x[0] > 0:
        found = list(itertools.chain.from_iterable([it]))
    return found, list(it)


def padded_on_one_side(x):
    it, found = iter([4, 5, 6]), []
    if x[0] > 0:
        found = list(itertools.zip_longest(it, [1]))
    return found, list(it)


def left_by_a_loop(x):
    it = iter([1.0, 2.0, 3.0])
    for v in it:
        if v > x[0]:
            break
    return v, list(it)


def rows_left_by_a_loop(x):
    it, total = iter(x), 0.0
    for v in it:
        total += v
        if total > 3:
            break
    return total, sum(it)


def asked_by_any(x):
    it = iter(x)
    return any(v > 3 for v in it), sum(it)


def asked_by_next(x):
    it = iter([1.0, 2.0, 3.0])
    return next((v for v in it if v > x[0]), None), list(it)


def a_generator_asked_by_another(x):
    values = (v * 2 for v in x)
    return any(v > 3 for v in values), sum(values)


def gone_over_twice(x):
    pairs = zip(x, x[1:])
    return len([a for a, _ in pairs]), len(list(pairs))


def numbered_twice(x):
    pairs, total = enumerate(x), 0.0
    for i, v in pairs:
        total += i * v
    for _, _ in pairs:
        total += 100
    return total


def backwards_twice(x):
    values = reversed(x)
    return sum(values), sum(values)


def pairs_left_by_a_loop(x):
    pairs = zip(x, x[1:])
    for a, _ in pairs:
        if a > 3:
            break
    return a, sum(b for _, b in pairs)


def gone_over_within_another(x):
    pairs, total = zip(x, x), 0.0
    for (a, _), _ in zip(pairs, range(3)):
        total += a
    for a, _ in pairs:
        total += a * 100
    return total


@pytest.mark.parametrize(
    "function",
    [
        zipped_on_one_side, mapped_on_one_side, numbered_on_one_side, put_behind_a_list_on_one_side,
        a_generator_expression_on_one_side, some_of_it_on_one_side, chained_on_one_side, padded_on_one_side, left_by_a_loop,
        rows_left_by_a_loop, asked_by_any, asked_by_next, a_generator_asked_by_another, gone_over_twice, numbered_twice,
        backwards_twice, pairs_left_by_a_loop, gone_over_within_another,
    ],
)  # fmt: skip
def test_what_is_left_of_it_is_right_or_refused(function):
    traced = jit(function)
    for x in [np.arange(40.0) + 1, np.zeros(40), np.arange(40.0) - 5] * 2:
        try:
            found = traced(x)
        except TracerError:
            continue
        assert found == function(x)


@pytest.mark.parametrize(
    "function",
    [
        zipped_on_one_side, numbered_on_one_side, put_behind_a_list_on_one_side, some_of_it_on_one_side,
        left_by_a_loop, rows_left_by_a_loop,
    ],
)  # fmt: skip
def test_positions_are_counted(function):
    traced = jit(function)
    for x in [np.arange(40.0) + 1, np.zeros(40), np.arange(40.0) - 5] * 2:
        assert traced(x) == function(x)


def asked_in_turn(x):
    values, pairs = (v for v in x), zip(x, x[1:])
    return sum(v * 2 for v in values), sum(b - a for a, b in pairs)


def rows_in_rows(x):
    it = iter(x)
    first = next(it)
    return sum(v - first for v in it), sum(a * b for a, b in zip(x, x)), [i for i, _ in enumerate(zip(x[:3], x[1:4]))]


@pytest.mark.parametrize("function", [asked_in_turn, rows_in_rows])
def test_what_is_gone_over_once_is_followed(function):
    traced = jit(function)
    for x in [np.arange(40.0), np.zeros(40)] * 2:
        assert traced(x) == function(x)
