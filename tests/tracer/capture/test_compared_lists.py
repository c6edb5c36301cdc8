"""Lists of lists whose lengths the program decides are searched, compared and put in order as Python does it."""

import numpy as np
import pytest
from phlox import jit
from thinning import left_to_ci


def known_number(a):
    """As many as there are elements, each of a length of its own."""
    lists = []
    for n in a:
        one = []
        for k in range(n):
            one.append(int(n * k % 5))
        lists.append(one)
    return lists


def open_number(a):
    return [one for one in known_number(a) if len(one) != 2]


def changed(a):
    """In a table, as elements are appended at places that the program decides."""
    lists = [[] for _ in range(4)]
    for k in range(len(a)):
        lists[a[k] % 4].append(int(a[k]))
    return lists


def grown(a):
    lists = []
    for n in a:
        if n != 2:
            lists.append([])
        if len(lists) > 1:
            lists[n % len(lists)].append(int(n))
    return lists


def searched(lists, a):
    one = [0] if len(lists[0]) == 9 else lists[-1]
    return one in lists, [7, 7] in lists, lists.count(one), lists.index(one), [] in lists, lists.count([0])


def in_order(lists, a):
    last = sorted(lists, reverse=True)
    least, greatest = min(lists), max(lists)
    lists.sort()
    return lists, last, least, greatest, sorted(lists, key=len)


def compared(lists, a):
    one, other = lists[0], lists[1]
    return one < other, one <= other, one == other, one > other, one >= one, lists == lists[::-1], lists == lists[:], one < [3]


def removed(lists, a):
    lists.remove(lists[1])
    return lists, lists == [[0]], lists != []


def best_of_all(lists, a):
    best = []
    for one in lists:
        if one > best:
            best = one
    return best, [one for one in lists if one != best]


@left_to_ci
@pytest.mark.parametrize("function", [searched, in_order, compared, removed, best_of_all])
@pytest.mark.parametrize("make", [known_number, open_number, changed, grown])
def test_lists(function, make):
    def program(a):
        return function(make(a), a)

    f = jit(program)
    for numbers in ([3, 1, 2, 5, 4], [1, 1, 4, 3, 3], [6, 2, 3, 0, 7]):
        a = np.array(numbers)
        assert f(a) == program(a)


@left_to_ci
def test_ranks_of_pairs():
    def program(a):
        pairs = [(lst, len(lst)) for lst in known_number(a)]
        return sorted(pairs), max(pairs)

    a = np.array([3, 1, 2, 5, 4])
    assert jit(program)(a) == program(a)


def test_number_of_equal_lists():
    def program(a):
        return known_number(a).count([0, 2])

    a = np.array([1, 2, 2])
    assert jit(program)(a) == program(a) == 2


def rows_by_first(x):
    return (
        sorted([x * 2, x], key=lambda row: row[0]),
        sorted([x]),
        sorted(x.reshape(-1, 1)),
        sorted([x + 1, x], key=lambda v: v[:1]),
    )


def test_orders_of_arrays():
    """Python asks whether one is less than another, which arrays of several elements do not say."""
    x = np.array([3.0, 1.0, 2.0])
    for found, expected in zip(jit(rows_by_first)(x), rows_by_first(x), strict=True):
        np.testing.assert_array_equal(found, expected)
    for unordered in (lambda x: sorted(np.outer(x, x)), lambda x: sorted([x[0], x[1]], key=lambda v: v * x)):
        with pytest.raises(ValueError, match="truth value of an array with more than one element is ambiguous"):
            jit(unordered)(x)


def truth_of_none(x):
    """What it is depends on NumPy's version."""
    try:
        return 1 if x[:0] else 2
    except ValueError as error:
        return str(error)


def test_truth_of_an_empty_array():
    assert jit(truth_of_none)(np.ones(3)) == truth_of_none(np.ones(3))


@pytest.mark.parametrize("reverse", [False, True])
def test_keys_that_are_texts_are_made_once(reverse):
    made = []

    def key(value):
        made.append(value)
        return f"{value:.1f}"

    x = np.array([3.0, 10.0, 2.0])
    assert jit(lambda x: sorted([x[0], x[1], x[2]], key=key, reverse=reverse))(x) == sorted(
        x, key=lambda v: f"{v:.1f}", reverse=reverse
    )
    assert len(made) == 3
