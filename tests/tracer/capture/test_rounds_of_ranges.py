"""What is known of integers: numbers of a range lie between its bounds, those that are compared where the comparison says."""

import numpy as np
import pytest
from phlox import jit

X = np.random.default_rng(0).random(90)


def upwards(x):
    total = 0.0
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            total += x[i] * x[j]
    return total


def downwards(x):
    total = 0.0
    for i in range(len(x)):
        for j in range(i, -1, -1):
            total += x[i] * x[j]
    return total


def from_the_end(x):
    total = 0.0
    for i in range(1, len(x)):
        for j in range(-i, 0):
            total += x[i] * x[j]
    return total


def one_too_many(x):
    total = 0.0
    for i in range(len(x)):
        for j in range(i, len(x) + 1):
            total += x[i] * x[j]
    return total


@pytest.mark.parametrize("function", [upwards, downwards, from_the_end])
def test_places_that_are_inside_are_not_asked_about(function):
    jitted = jit(function)
    assert jitted(X) == function(X)
    assert "IndexError" not in str(jitted.explain())


def test_places_outside_are_errors():
    jitted = jit(one_too_many)
    with pytest.raises(IndexError, match="index 90 is out of bounds for axis 0 with size 90"):
        jitted(X)
    assert "IndexError" in str(jitted.explain())


def asked_before(x, i, n):
    if 0 <= i < len(x):
        return x[i]
    return -1.0


def asked_otherwise(x, i, n):
    if i < 0 or i >= len(x):
        return -1.0
    return x[i]


def asked_for_each(x, i, n):
    return x[i] if i >= 0 and i < len(x) else x[0] if i < 0 else x[-1]


def asked_for_too_much(x, i, n):
    if not i < 0 and i <= len(x):
        return x[i]
    return -1.0


def asked_for_another(x, i, n):
    if 0 <= i < len(x):
        i = i + n
        return x[i]
    return -1.0


@pytest.mark.parametrize(
    "function", [asked_before, asked_otherwise, asked_for_each, asked_for_too_much, asked_for_another], ids=lambda f: f.__name__
)
def test_what_a_condition_says_of_places(function):
    jitted = jit(function)
    for i in (0, 1, 45, 89, 90, 91, -1, -90, -91, 10**6):
        for n in (1, 40):
            try:
                expected = function(X, i, n)
            except IndexError as error:
                with pytest.raises(IndexError, match=str(error)):
                    jitted(X, i, n)
            else:
                assert jitted(X, i, n) == expected
    is_asked = "IndexError" in str(jitted.explain())
    assert is_asked == (function in (asked_for_too_much, asked_for_another))
