"""`zip(strict=True)` of arrays: all rounds up to the shortest are done, then it raises."""

import numpy as np
import pytest
from both_ways import assert_alike
from phlox import jit


def pairs(x, y):
    return list(zip(x, y, strict=True))


def products_so_far(x, y):
    out = []
    try:
        for a, b in zip(x, y, strict=True):
            out.append(a * b)
    except ValueError as error:
        out.append(str(error))
    return out


def changed(x, y):
    for i, (a, _, b) in enumerate(zip(x, x, y, strict=True)):
        x[i] = a + b


def left_before(x, y):
    for a, b in zip(x, y, strict=True):
        if a > 0.5:
            return b
    return -1.0


def of_open_lengths(x, y):
    return [a + b for a, b in zip(x[x > 1], y[y > 1], strict=True)]


def outcome(function, lengths):
    x, y = (np.arange(1.0, length + 1) for length in lengths)
    try:
        found = function(x, y)
    except ValueError as error:
        found = str(error)
    return found, x


@pytest.mark.parametrize("lengths", [(2, 2), (2, 1), (1, 2), (0, 1), (40, 41)])
@pytest.mark.parametrize("function", [pairs, products_so_far, changed, left_before])
def test_the_round_behind_the_shortest_raises(function, lengths):
    assert_alike(outcome(jit(function), lengths), outcome(function, lengths))


def test_lengths_that_the_program_decides():
    compiled = jit(of_open_lengths)
    for lengths in ((3, 3), (4, 2), (2, 4)):
        assert_alike(outcome(compiled, lengths), outcome(of_open_lengths, lengths))


def test_no_elements_beside_a_length_that_the_program_decides_is_refused():
    with pytest.raises(NotImplementedError, match="strict=True"):
        jit(of_open_lengths)(np.zeros(0), np.ones(2))


def test_beside_no_elements_there_is_no_round():
    def function(n, items):
        total = n
        for k, item in zip(range(n), sorted(set())):
            total += k * item
        for item, pair in zip(items[:n], []):
            total += item + pair[0]
        return total

    assert jit(function)(3, np.arange(5)) == function(3, np.arange(5))
