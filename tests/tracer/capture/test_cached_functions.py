"""Functions with a cache that see traced values, as arguments or around them."""

import functools

import numpy as np
import pytest
from phlox import jit


@functools.cache
def twice(value, offset=0):
    return value * 2 + offset


def of_traced_values(x):
    return twice(x[0]), twice(x.astype(int)[1], offset=3), twice(4), twice(x[0] + 1, 2)


def a_game(x):
    @functools.cache
    def best(i, j):
        return 0.0 if i > j else max(x[i] - best(i + 1, j), x[j] - best(i, j - 1))

    return best(0, len(x) - 1)


def a_deep_recursion(x):
    weights, calls = [x[0], x[1]], []

    @functools.cache
    def of(k):
        calls.append(k)
        return weights[k] if k < 2 else of(k - 1) + of(k - 2)

    return of(40), of(40), len(calls)


def on_one_side_of_a_branch(x):
    def inner(k):
        return x[k]

    @functools.cache
    def of(k=1):
        return inner(k) * 2

    found = of(2) if x[0] > 0 else of(3)
    return found, of(2), of(3), of(), of(k=1)


def in_a_loop(x):
    @functools.cache
    def scaled(k):
        return x * k

    total = 0
    for i in range(100):
        total = total + scaled(i % 3).sum()
    return total, scaled(2) is scaled(2)


def types_of_arguments(x):
    @functools.lru_cache(typed=True)
    def of(k):
        return x[0] * (1 if type(k) is int else 2)

    return of(1), of(1.0), of(1)


@pytest.mark.parametrize(
    "function", [of_traced_values, a_game, a_deep_recursion, on_one_side_of_a_branch, in_a_loop, types_of_arguments]
)
def test_functions_with_a_cache(function):
    jitted = jit(function)
    for x in ([1.0, 2, 3, -1, 0.5], [-1.0, 5, 0, 7, 2], [1.0, 2, 3, -1, 0.5]):
        np.testing.assert_allclose(jitted(np.array(x)), function(np.array(x)), rtol=1e-12)
