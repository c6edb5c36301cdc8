"""What is known of the numbers of a range whose bounds the program decides: between which bounds they lie."""

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
