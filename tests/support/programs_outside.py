"""Programs that read from outside, and set something there: run undecorated beside decorated, with changes in between."""

import copy
from collections import deque

import numpy as np
from phlox import jit

X = np.arange(1.0, 4.0)


def outcome(make, decorate):
    """All results, printed texts of exceptions, and the state behind each call."""
    function, changes, state = make(decorate)
    found = []
    for change in (None, None, *changes, None):
        if change is not None:
            change()
        try:
            result = function(X.copy())
        except Exception as error:  # noqa: BLE001, what is raised is compared
            result = type(error).__name__
        found.append((copy.deepcopy(result), copy.deepcopy(state())))
    return found


def assert_same(found, wanted):
    if isinstance(wanted, np.ndarray):
        assert isinstance(found, np.ndarray) and found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-13)
    elif isinstance(wanted, (list, tuple, deque)):
        assert type(found) is type(wanted) and len(found) == len(wanted)
        for one, other in zip(found, wanted):
            assert_same(one, other)
    elif isinstance(wanted, dict):
        assert type(found) is type(wanted) and list(found) == list(wanted)
        for key in wanted:
            assert_same(found[key], wanted[key])
    elif isinstance(wanted, (float, np.floating)):
        assert type(found) is type(wanted)
        np.testing.assert_allclose(found, wanted, rtol=1e-13)
    else:
        assert type(found) is type(wanted) and found == wanted


def check(make):
    """``make(decorate)`` returns the function that is called, changes between the calls, and what is looked at."""
    assert_same(outcome(make, jit), outcome(make, lambda function, **options: function))


def registry():
    """A module's programs by name, and the decorator that adds one: a program is what `check` takes."""
    programs = {}

    def program(make):
        programs[make.__name__] = make
        return make

    return programs, program
