"""Dicts and sets from outside whose keys the program computes: behind the call they hold what they hold undecorated."""

import copy
from collections import Counter, OrderedDict, defaultdict

import numpy as np
import pytest
from phlox import jit

from .test_keys import described

CALLS = [np.array(values) for values in ([3, 1, 3, 2, 1, 3, 7, 7], [0, 1, 2, 0, 1, 2, 0, 1], [5] * 8, [3, 1, 3, 2, 1, 3, 7, 7])]
PROGRAMS = []


class Memo:
    def __init__(self):
        self.known, self.hits = {}, 0


HELD = {
    "seen": {}, "counts": Counter(), "sums": defaultdict(int), "ordered": OrderedDict(), "elements": set(),
    "table": {1: 10, 2: 20, 3: 30}, "memo": Memo(),
}  # fmt: skip
SEEN, COUNTS, SUMS, ORDERED, ELEMENTS, TABLE, MEMO = HELD.values()
BEFORE = copy.deepcopy(HELD)


def reset():
    for name, value in BEFORE.items():
        if name == "memo":
            MEMO.known, MEMO.hits = {}, 0
        else:
            HELD[name].clear()
            HELD[name].update(value)


def program(function):
    PROGRAMS.append(pytest.param(function, id=function.__name__))
    return function


@program
def seen(x):
    fresh = 0
    for value in x.tolist():
        if value not in SEEN:
            SEEN[value] = 0
            fresh += 1
        SEEN[value] += 1
    return fresh, max(SEEN.values())


@program
def counted(x):
    for value in x.tolist():
        COUNTS[value] += 1
        SUMS[value] += value
        ORDERED[value] = ORDERED.get(value, 0) + 1
    return COUNTS[3], len(COUNTS), sum(SUMS.values()), list(ORDERED)


@program
def one_item(x):
    key = int(x[0])
    TABLE["first"] = 0
    TABLE[key] = TABLE.get(key, 0) + 1
    TABLE["last"] = 2
    return len(TABLE), [value for value in TABLE.values()]


@program
def taken_out(x):
    taken = 0
    for value in x.tolist():
        if value in TABLE:
            del TABLE[value]
        taken += TABLE.pop(value + 1, 0)
    return taken, TABLE.setdefault(int(x[1]), 5), TABLE


@program
def remembered(x):
    def square(value):
        if value in MEMO.known:
            MEMO.hits += 1
            return MEMO.known[value]
        MEMO.known[value] = value * value
        return value * value

    return sum([square(value) for value in x.tolist()])


@program
def on_two_sides(x):
    if x[0] > 2:
        TABLE[int(x[1])] = 1
    else:
        TABLE[1] = 7
    for value in x.tolist():
        if value > 4:
            TABLE[value] = 1
        elif value < 3:
            TABLE[1] = value
        else:
            TABLE[2] += 1
    return sorted(TABLE.items())


@program
def emptied(x):
    TABLE.clear()
    SEEN.update({int(value): 1 for value in x})
    for value in x.tolist():
        TABLE[value] = value
        ELEMENTS.add(value)
    return len(ELEMENTS), SEEN


@program
def failed(x):
    for value in x.tolist():
        TABLE[value] = 1
        if value == x[3]:
            raise ValueError(f"{value} is there")


def outcome(function, x):
    try:
        result = described(function(x))
    except ValueError as error:
        result = described(error)
    return result, [described(value) for name, value in HELD.items() if name != "memo"], described(MEMO.known), MEMO.hits


@pytest.mark.parametrize("function", PROGRAMS)
def test_keys_outside(function):
    reset()
    expected = [copy.deepcopy(outcome(function, x)) for x in CALLS]
    reset()
    decorated = jit(function)
    assert [copy.deepcopy(outcome(decorated, x)) for x in CALLS] == expected


def test_one_side_changes_a_dict_as_a_whole():
    def changed(x):
        table = {1: 10, 2: 20, 3: 30}
        if x[0] > 2:
            table[int(x[1])] = 1
        else:
            table[1] = 7
            del table[2]
        return table

    decorated = jit(changed)
    for x in CALLS:
        assert described(decorated(x)) == described(changed(x))
