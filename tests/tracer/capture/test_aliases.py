"""Arrays that may be one array, as the program decides: what is computed is what Python computes, or it is an error."""

import numpy as np
import pytest
from phlox import jit


def chosen_by_an_expression(a, b, n):
    x = a if n[0] > 0 else b
    x += 1
    return x.sum()


def chosen_in_a_branch(a, b, n):
    if n[0] > 0:
        x = a
    else:
        x = b
    x[0] = 9
    return a.sum(), b.sum()


def of_arrays_made_here(a, b, n):
    a, b = a * 1, b * 1
    x = a if n[0] > 0 else b
    x[0] = 9
    return a.sum(), b.sum()


def read_under_the_other_name(a, b, n):
    a, b = a * 1, b * 1
    x = a if n[0] > 0 else b
    a[0] = 9
    return x.sum()


def part_chosen_in_a_loop(a, b, n):
    x = a[:2]
    for i in range(300):
        if n[i % 3] > i:
            x = a[1:]
    x[0] = 9
    return a.sum()


def chosen_in_a_loop(a, b, n):
    best = a
    for i in range(300):
        if n[i % 3] > i:
            best = b
    best[0] = 7
    return a.sum() + b.sum()


def changed_in_the_loop(a, b, n):
    x = a.copy()
    for i in range(300):
        x[0] += 1
        if n[i % 3] > 0:
            x = b
    return x.sum()


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("function", [
    chosen_by_an_expression, chosen_in_a_branch, of_arrays_made_here, read_under_the_other_name, part_chosen_in_a_loop,
    chosen_in_a_loop, changed_in_the_loop,
])  # fmt: skip
def test_a_change_that_another_name_would_show_is_an_error(function, sign):
    arguments = [np.arange(3.0), np.full(3, 5.0), np.full(3, sign)]
    with pytest.raises(NotImplementedError, match="may be .*, as the program decides"):
        jit(function)(*arguments)
    for array, before in zip(arguments, (np.arange(3.0), np.full(3, 5.0), np.full(3, sign))):
        np.testing.assert_array_equal(array, before)


def copied(a, b, n):
    x = (a if n[0] > 0 else b).copy()
    x += 1
    return x, a, b


def best_so_far(a, b, n):
    best, value = a.copy(), np.inf
    for i in range(300):
        candidate = b * np.cos(i * n[0])
        if candidate.sum() < value:
            best, value = candidate, candidate.sum()
    best[0] = 7
    return best, value


def accepted_or_not(a, b, n):
    x = a.copy()
    for i in range(300):
        y = x + b * np.sin(i)
        if y.sum() > n.sum():
            x = y
        x[0] = 1.0
    return x


def only_read(a, b, n):
    x = a if n[0] > 0 else b
    for i in range(100):
        if n[1] > i:
            x = b
    return x.sum(), a + x


def the_other_name_is_not_read_again(a, b, n):
    a, b = a * 2, b * 3
    x = a if n[0] > 0 else b
    x[0] = 9
    return x


@pytest.mark.parametrize("function", [copied, best_so_far, accepted_or_not, only_read, the_other_name_is_not_read_again])
def test_what_no_other_name_shows_runs(function):
    jitted = jit(function)
    for sign in (1.0, -1.0, 1.0):
        first, second = ([np.arange(3.0), np.full(3, 5.0), np.full(3, sign)] for _ in range(2))
        expected, found = function(*first), jitted(*second)
        expected, found = (one if isinstance(one, tuple) else (one,) for one in (expected, found))
        for one, other in zip((*expected, *first), (*found, *second), strict=True):
            np.testing.assert_allclose(other, one, rtol=1e-12)
