"""Warnings that functions give themselves: at every call, as often, with the text and the line that they have in Python."""

import sys
import warnings

import numpy as np
import pytest
from phlox import jit


class OwnWarning(UserWarning):
    pass


def told_by(x, level):
    if x[1] > 1:
        warnings.warn(f"second is {x[1]:.2f}", OwnWarning, stacklevel=level)
    return x * 2


def in_branches_and_loops(x):
    if x[0] > 1:
        warnings.warn("big", RuntimeWarning)
    for k in range(40):
        if x[0] * k > 70:
            warnings.warn(f"round {k}: {x[0] * k:.1f}")
    return x


def about_the_line(x):
    return told_by(x, 1)


def about_the_caller(x):
    return told_by(x, 2)


def about_the_caller_of_the_function(x):
    return told_by(x, 3)


def of_a_warning(x):
    warnings.warn(OwnWarning(f"made of {x[0]}"))
    return x


def in_each_round(x):
    for v in x:
        if v > 1:
            warnings.warn("one text")
    return x


def before_an_exception(x):
    warnings.warn(f"then {x[0]}")
    x[0] += 1
    return x[int(x[2])]


def some_ignored(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OwnWarning)
        told_by(x, 1)
        warnings.warn("still given")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn("not given")
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        warnings.warn("kept")
    return told_by(x, 1)


def given(function, x, action):
    vars(sys.modules[__name__]).pop("__warningregistry__", None)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter(action)
        try:
            function(x.copy())
            raised = None
        except (IndexError, Warning) as error:
            raised = type(error), str(error)
    return raised, [(str(one.message), one.category, one.filename, one.lineno) for one in found]


FUNCTIONS = [
    in_branches_and_loops, about_the_line, about_the_caller, about_the_caller_of_the_function, of_a_warning, in_each_round,
    before_an_exception, some_ignored,
]  # fmt: skip


@pytest.mark.parametrize("action", ["always", "default", "ignore", "error"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_warnings_are_given_at_every_call(function, action):
    jitted = jit(function)
    for x in ([1.0, 1.0, 1.0], [2.0, 3.0, 1.0], [3.0, 2.0, 7.0], [2.0, 3.0, 1.0]):
        assert given(jitted, np.array(x), action) == given(function, np.array(x), action)


def test_two_callers_are_told_apart():
    jitted = jit(about_the_caller_of_the_function)
    lines = []
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        jitted(np.full(3, 2.0))
        lines.append(sys._getframe().f_lineno - 1)
        jitted(np.full(3, 2.0))
        lines.append(sys._getframe().f_lineno - 1)
    assert [one.lineno for one in found] == lines


def test_warnings_of_numpy_are_left_out():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jit(lambda x: np.polyfit(x, x, 2))(np.ones(3))


def test_what_is_recorded_inside_is_not_known():
    @jit
    def count(x):
        with warnings.catch_warnings(record=True) as found:
            np.log(x)
        return len(found)

    with pytest.raises(NotImplementedError, match="record=True"):
        count(np.zeros(3))


def test_other_filters_are_refused():
    @jit
    def filtered(x):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="second")
            return told_by(x, 1)

    with pytest.raises(NotImplementedError, match="a filter of its own"):
        filtered(np.full(3, 2.0))
