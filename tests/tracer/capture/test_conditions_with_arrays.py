"""A loop's condition that computes arrays, while the loop moves its state between two places in memory."""

import numpy as np
import pytest
from phlox import jit


def a_sum_behind_a_branch(x, n):
    a, rounds = np.zeros(6), 0
    while rounds < 8 and np.dot(a[::-1], x) <= 20:
        rounds += 1
        if n != 1:
            a = np.cumsum(a + x)
    return a, rounds


def in_a_loop(x, n):
    a, rounds = np.zeros(6), 0
    for _ in range(n):
        while rounds < 8 and np.sort(a)[::2] @ x[:3] <= 20:
            rounds += 1
            a = np.cumsum(a + x)
    return a, rounds


def two_that_are_exchanged(x, n):
    a, b = x.copy(), np.cumsum(x)
    while (np.cumsum(a)[::-1] * b).sum() < 1000 * n:
        a, b = np.cumsum(b) + 1, a[::-1] + b
    return a, b


def a_stencil(x, n):
    u = x.copy()
    while np.sort(u)[-2:].sum() > 0.5:
        u = (np.roll(u, 1) + np.roll(u, -1)) / (2 + n)
    return u


@pytest.mark.parametrize("function", [a_sum_behind_a_branch, in_a_loop, two_that_are_exchanged, a_stencil])
def test_the_state_is_whole_when_the_condition_has_been_computed(function):
    traced = jit(function)
    for x, n in [([0, 0, 1, 2, 2, 3], 5), ([1, 0, 0.5, 3, 1, 0.25], 2), ([0, 0, 1, 2, 2, 3], 1)] * 2:
        x = np.array(x, float)
        for result, expected in zip(traced(x, n), function(x, n), strict=True):
            np.testing.assert_allclose(result, expected, rtol=1e-12)
