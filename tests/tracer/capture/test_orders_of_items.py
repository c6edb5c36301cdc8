"""Tuples whose first parts decide their order, as the items of a dict: what stands behind these is not compared."""

import warnings
from collections import defaultdict

import numpy as np
import pytest
from phlox import RecompilationWarning, jit
from phlox.compile.live_sizes import live_sizes
from thinning import LEFT_TO_CI


def lists_by_name(x):
    table = {"b": [x[0]], "a": [x[1], x[2]], "c": []}
    table["c"].append(x.sum())
    return [(name, len(values), sum(values)) for name, values in sorted(table.items())], sorted(table.items(), reverse=True)


def arrays_by_name(x):
    return {name: values.sum() for name, values in sorted({"b": x * 2, "a": x}.items())}


def groups(x):
    table = defaultdict(list)
    for place, value in enumerate(x):
        table["even" if place % 2 == 0 else "odd"].append(value)
    return [(name, max(values)) for name, values in sorted(table.items())]


def open_lists(x):
    table = {2: [], 1: []}
    for value in x:
        if value > 1.5:
            table[1].append(value)
        table[2].append(value * 2)
    return [(key, len(values), sum(values)) for key, values in sorted(table.items())]


def equal_first_parts(x):
    return sorted([(1, x[0]), (1.0, x[1]), (0, x[2])])


def without_an_order(x):
    return sorted([(float("nan"), x[0]), (1, x[1]), (0, x[2])])


def in_place(x):
    items = [(3, [x[0]]), (1, [x[1]])]
    items.sort()
    return items


def of_two_kinds(x):
    return sorted([("a", x[0]), (1, x[1])])


@pytest.mark.parametrize(
    "function", [lists_by_name, arrays_by_name, groups, open_lists, equal_first_parts, without_an_order, in_place]
)
def test_items_in_order(function):
    decorated = jit(function)
    for x in (np.array([3.0, 1.0, 2.0]), np.array([1.0, 5.0, 2.0]), np.array([4.0, 4.0, 4.0])):
        assert repr(decorated(x)) == repr(function(x))


def test_first_parts_that_cannot_be_compared():
    with pytest.raises(TypeError, match="'<' not supported"):
        jit(of_two_kinds)(np.ones(2))


def arrays_by_number(x):
    table = {}
    for value in x:
        if int(value) not in table:
            table[int(value)] = np.zeros(2)
        table[int(value)] = table[int(value)] + value
    pairs = [(value, np.full(2, k)) for k, value in enumerate(x) if value > 1.5]
    return sorted(table.items()), max(table.items())[0], sorted(pairs, reverse=True)


def test_arrays_behind_what_is_compared():
    decorated = jit(arrays_by_number)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RecompilationWarning)
        for x in (np.array([3.0, 1.0, 2.0]), np.array([1.0, 5.0, 2.5]), np.array([4.5, 4.0, 4.25])):
            assert repr(decorated(x)) == repr(arrays_by_number(x))
    for function in (decorated, arrays_by_number):
        with pytest.raises(ValueError, match="truth value of an array"):
            function(np.array([4.0, 1.0, 4.0]))


def kept_in_order(x):
    numbers = []
    for value in x:
        numbers.append(value)
        numbers.sort()
    return numbers


def in_order_by_parts(x):
    flags, pairs = [], [(2**63 - 1, 0.0)]
    for value in x:
        if value > 0.3:
            flags.append(value > 0.7)
            pairs.append((int(value * 4), -float(value)))
    flags.sort()
    pairs.sort(reverse=True)
    return flags, pairs, sorted(pairs, key=lambda pair: pair[0])


@pytest.mark.parametrize("function", [kept_in_order, pytest.param(in_order_by_parts, marks=LEFT_TO_CI)])
def test_no_more_is_brought_in_order_than_a_list_has(function):
    x = np.random.default_rng(0).random(300)
    decorated = jit(function)
    assert repr(decorated(x)) == repr(function(x))
    limited = []
    for computation in decorated.compile(x).executable.module.computations():
        limits = live_sizes(computation)
        limited += [sort in limits for sort in computation.instructions if sort.opcode == "sort"]
    assert limited and all(limited)
