"""What helpers cost while a function is traced, as the number of Python's functions that they call, which no load changes."""

import sys

import numpy as np
import pytest
from phlox import jit

from ...bench.capture_cost import TRACED, repeated

ARGUMENTS = np.ones(100), np.ones(100)
# How many more each of these may call than where it is traced as it is.
MOST = {
    "arithmetic": 2,
    "calls of methods": 40,
    "np.sin": 10,
    "x.sum": 8,
    "x[1:]": 4,
    "d[k] = d[k] + d[l]": 24,
    "list displays": 9,
    "l.append": 18,
    "tuples": 1,
    "attributes": 28,
    "x.shape[0] + len(x)": 16,
    "known conditions": 14,
    "statements with if": 6,
}


def functions_called_to_lower(jitted):
    """How many of Python's functions are called when it is not the first time."""
    jitted.lower(*ARGUMENTS)
    count = 0

    def note(frame, event, argument):
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        jitted.lower(*ARGUMENTS)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("title", MOST)
def test_calls_for_each_statement(title):
    function = repeated(*TRACED[title])
    captured, plain = map(functions_called_to_lower, (jit(function), jit(function, control_flow="trace")))
    assert (captured - plain) // 100 <= MOST[title]  # what is called once for all of them is no call for each
