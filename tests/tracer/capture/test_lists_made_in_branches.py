"""Lists that lie in a table, as of groups, made on one side of a condition and read behind it."""

import pytest
from phlox import jit


def groups(items, n):
    found = {}
    if n > 0:
        found = {}
        for item in items:
            found.setdefault(item % 3, []).append(item)
    return found


def groups_of_another_condition(items, n):
    found = {}
    if n > 0:
        made = {}
        for item in items:
            made.setdefault(item % 3, []).append(item)
        if n > 2:
            found = made
    return found


def lists_of_the_groups(items, n):
    found = []
    if n > 0:
        made = {}
        for item in items:
            made.setdefault(item % 3, []).append(item)
        found = list(made.values())
    return found


def lists_by_place(items, n):
    found = []
    if n > 0:
        made = [[item] for item in items[:3]]
        for item in items:
            made[item % 3].append(item)
        if n > 2:
            found = made
    return found


def groups_before_an_error(items, n):
    found = {}
    try:
        if n > 0:
            found = {}
            for item in items:
                found.setdefault(item % 3, []).append(item)
            items[n]
            found = {}
    except IndexError:
        pass
    return found


def in_rounds(items, n):
    found, total = {}, 0
    for k in range(n):
        if k % 2:
            found = {}
            for item in items:
                found.setdefault((item + k) % 3, []).append(item)
        total += sum(found.get(0, []))
    return found, total


@pytest.mark.parametrize(
    "function",
    [groups, groups_of_another_condition, lists_of_the_groups, lists_by_place, groups_before_an_error, in_rounds],
)
def test_lists_made_in_branches(function):
    jitted = jit(function)
    for n in (2, 7, -1, 3):
        assert jitted([3, 1, 4, 1, 5], n) == function([3, 1, 4, 1, 5], n)
