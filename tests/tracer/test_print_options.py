"""NumPy's options for texts, as they are at each call, hold for arrays that are known, too."""

import numpy as np
import pytest
from phlox import jit

HELD = np.array([1.23456789, 2.5])
NAMES = np.array(["abc"] * 4)


def texts(x):
    made = np.array([1 / 3, 2 / 3])
    return str(made), f"{made} {HELD}", repr([made, 1]), str(np.arange(3) / 3), format(made), x


def names(x):
    return str(NAMES), f"{NAMES}", x


def options_of_its_own(x):
    made = np.array([1 / 3, 2 / 3])
    with np.printoptions(precision=2):
        inside = str(made)
    return inside, str(made), x


@pytest.mark.parametrize("function", [texts, names, options_of_its_own])
def test_options_around_a_call(function):
    traced = jit(function)
    for options in ({}, {}, {"precision": 3, "threshold": 2, "edgeitems": 1}, {}, {"precision": 5}):
        with np.printoptions(**options):
            assert traced(1.0) == function(1.0)


def test_options_cost_no_further_traces_where_they_stay():
    traced = jit(texts)
    for x in (1.0, 2.0, 3.0):
        traced(x)
    assert traced.cache_info().misses == 1
