"""Statements and operators that say shortly what others say at length, on values that the program computes."""

import contextlib
from contextlib import suppress

import numpy as np
import pytest
from phlox import jit

from ...support.undecorated import check

LINE = np.array([1.0, 2.0, 3.0, -4.0] * 25)


def root(x):
    if x < 0:
        raise ValueError("negative")
    return x**0.5


def suppressed(x):
    found = None
    with contextlib.suppress(ValueError):
        found = root(x)
    return found


def suppressed_in_a_loop(x):
    total = 0.0
    for k in range(100):
        with suppress(ValueError, KeyError):
            total += root(x[k])
            total += 1
    return total


def returned_while_suppressing(x):
    with suppress(ValueError):
        return root(x)
    return 7.0


def others_are_not_suppressed(x):
    try:
        with suppress(KeyError):
            return root(x)
    except ValueError:
        return 8.0


def suppressed_between_others(x):
    with contextlib.nullcontext(), suppress(ValueError), contextlib.nullcontext(2.0) as factor:
        return root(x) * factor
    return 7.0


def suppress_of_the_users_own(x):
    @contextlib.contextmanager
    def suppress(kind):
        yield entered.append(kind)

    entered = []
    with suppress(ValueError):
        x = x + 1
    return x, len(entered)


@pytest.mark.parametrize(
    "function",
    [suppressed, returned_while_suppressing, others_are_not_suppressed, suppressed_between_others, suppress_of_the_users_own],
)
def test_suppressed_exceptions(function):
    check(function, 4.0)
    check(function, -4.0)


def test_suppressed_exceptions_in_a_loop():
    check(suppressed_in_a_loop, LINE)


def bound_in_a_condition(x):
    if (total := x.sum()) > 12 and (half := total / 2) > 1:
        return half
    return total


def bound_in_the_condition_of_a_loop(x):
    i, total = 0, x[0] * 0
    while i < len(x) and (value := x[i]) > 0:
        total += value
        i += 1
    return total, i


def bound_in_a_chain(x):
    total = 0.0
    for k in range(len(x)):
        if x[k] > 0 and (h := x[k] * 2) > 3 and (g := h - 1) < 30:
            total += g * h
        else:
            continue
    return total


@pytest.mark.parametrize("function", [bound_in_a_condition, bound_in_the_condition_of_a_loop, bound_in_a_chain])
def test_conditions_that_bind_names(function):
    check(function, LINE)
    check(function, -LINE)
    check(function, abs(LINE))


def compared_by_elements(x, y):
    return [
        (x, y) == (1, 2),
        (x, y) != (1, 2),
        [x, [y]] == [1, [2]],
        (x,) == (1, 2),
        [x] == (x,),
        (x, y) in [(1, 2), (3, 4)],
        ([1, 3] != np.array([x, y])).sum(),
    ]


def among_the_values_of_a_dict(x, y):
    table = {1: 2, 5: 7}
    return x in table.values(), y in table.keys(), y in table.values()


@pytest.mark.parametrize("function", [compared_by_elements, among_the_values_of_a_dict])
def test_comparisons_of_containers(function):
    for pair in ((1, 2), (3, 4), (1, 3), (7, 5)):
        check(function, *pair)


def repeated_texts(n):
    bar = "x"
    return "-" * n, n * "ab", "=" * (n + 1), bar * n


def test_texts_are_repeated():
    for n in (3, 0, -1):
        check(repeated_texts, n)


def part_of_a_loop(x, places):
    total = 0.0
    try:
        for k in range(len(places)):
            total += x[places[k]]
    except IndexError:
        pass
    return total


def part_of_a_branch(x, places):
    total = 0.0
    try:
        if places[0] > 0:
            total = 1.0
            total += x[places[1]]
    except IndexError:
        total += 10
    return total


def part_of_a_long_loop(x, places):
    x[0] = 5
    try:
        for k in range(300):
            x[1] += 1
            x[places[k % 4]] += 1
    except IndexError:
        return "stopped"
    return "done"


@pytest.mark.parametrize("function", [part_of_a_loop, part_of_a_branch, part_of_a_long_loop])
def test_what_a_statement_has_done_before_it_fails_is_kept(function):
    jitted = jit(function)
    for places in ([1, 2, 3, 3], [1, 9, 0, 0], [1, 2, 9, 0], [9, 9, 9, 9], [1, 2, 3, 0]):
        first, second = np.arange(4.0), np.arange(4.0)
        assert jitted(second, np.array(places)) == function(first, np.array(places))
        np.testing.assert_array_equal(second, first)
