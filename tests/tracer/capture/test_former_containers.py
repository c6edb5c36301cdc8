"""A name holds another container behind a branch, or one that has another name, too: what is read is never outdated."""

import itertools
import types

import numpy as np
import phlox
import pytest
from phlox import jit


def a_dict_with_two_names(x):
    a = b = {"n": 0.0}
    if x > 0:
        b = {"n": 5.0}
    b["n"] = x
    return a["n"], b["n"]


def the_other_name_is_changed(x):
    a = b = {"n": 0.0}
    if x > 0:
        b = {"n": 5.0}
    a["n"] = x
    return b["n"]


def its_length(x):
    a = b = {"n": 0.0}
    if x > 0:
        b = {"n": 5.0}
    b["m"] = x
    return len(a)


def its_keys(x):
    a = b = {"n": 0.0}
    if x > 0:
        b = {"n": 5.0}
    b["m"] = x
    return "m" in a


def a_copy_of_what_a_list_holds(x):
    a = {"n": x}
    hist = [a]
    if x > 0:
        a = dict(a)
    a["n"] = x * 2
    return a["n"], hist[0]["n"]


def a_list_with_two_names(x):
    a = b = [1.0, 2.0]
    if x > 0:
        b = [3.0, 4.0]
    b.append(x)
    return len(a), len(b)


def a_set_with_two_names(x):
    a = b = {1.0}
    if x > 0:
        b = {2.0}
    b.add(3.0)
    return sorted(a)


def changed_in_a_branch(x):
    a = b = [0.0]
    if x > 0:
        b = [5.0]
    if x < 10:
        b.append(x)
    return a


def lists_in_lists(x):
    a, b = [1.0], [2.0]
    t = [a, 1] if x > 0 else [b, 1]
    t[0].append(x)
    return a, b


def dicts_in_tuples(x):
    a, b = {"n": 1.0}, {"n": 2.0}
    t = (a, 1) if x > 0 else (b, 1)
    t[0]["n"] = x
    return a, b


def one_dict_in_two_tuples(x):
    a = {"n": 1.0}
    state = (a, 0)
    if x > 0:
        state = (a, 1)
    state[0]["n"] = x
    return a, state


def dicts_in_dicts(x):
    a = {"v": 1.0}
    b = {"w": a}
    if x > 0:
        b = {"w": {"v": 2.0}}
    b["w"]["v"] = x
    return a, b


def dicts_in_objects(x):
    a, b = {"v": 1.0}, {"v": 2.0}
    o = types.SimpleNamespace(d=a) if x > 0 else types.SimpleNamespace(d=b)
    o.d["v"] = x
    return a, b


REFUSED = [
    a_dict_with_two_names, the_other_name_is_changed, its_length, its_keys, a_copy_of_what_a_list_holds, a_list_with_two_names,
    a_set_with_two_names, changed_in_a_branch, lists_in_lists, dicts_in_tuples, one_dict_in_two_tuples, dicts_in_dicts,
    dicts_in_objects,
]  # fmt: skip


@pytest.mark.parametrize("function", REFUSED)
def test_what_may_be_outdated_is_not_read(function):
    with pytest.raises(phlox.TracerError, match="is read, under another name, that may be one that has been changed"):
        jit(function)(np.float64(3.0))


def one_name_alone(x):
    b = []
    if x > 0:
        b = b + [1.0]
    if x < 10:
        b.append(x)
    return b


def in_rounds(x):
    b = {"n": 1.0}
    while b["n"] < 10:
        if x > 0:
            b = {"n": b["n"] + 1}
        b["n"] = b["n"] + 2
    return b


def nothing_is_changed(x):
    a = b = {"n": 1.0}
    if x > 0:
        b = {"n": 2.0}
    return a, b


def lists_in_a_new_list(x):
    b = [[1.0], [2.0]]
    if x > 0:
        b = [[3.0], [4.0]]
    b[0].append(5.0)
    b[1][0] = x
    return b


def a_state(x):
    state = ([1.0], 0)
    if x > 0:
        state = (state[0] + [2.0], 1)
    state[0].append(5.0)
    return state


def an_attribute(x):
    o = types.SimpleNamespace(values=[1.0])
    if x > 0:
        o.values = o.values + [2.0]
    o.values.append(x)
    return o.values


def one_after_the_other(x):
    values = [1.0]
    if x > 0:
        values = sorted(values)
    values.append(x)
    more = values
    if x > 1:
        more = [2.0]
    more.append(3.0)
    return more


FOLLOWED = [
    one_name_alone, in_rounds, nothing_is_changed, lists_in_a_new_list, a_state, an_attribute, one_after_the_other,
]  # fmt: skip


@pytest.mark.parametrize("function, x", list(itertools.product(FOLLOWED, (3.0, 0.5, -3.0))))
def test_what_nobody_else_reads_is_changed(function, x):
    assert jit(function)(np.float64(x)) == function(np.float64(x))


def test_arguments_and_globals_stay_whole():
    """Also where the call is refused, as the caller reads the argument."""
    given = [1.0, 2.0]

    def f(x, values):
        if x > 0:
            values = list(values)
        values.append(x)
        return values

    with pytest.raises(phlox.TracerError, match="may be one that has been changed"):
        jit(f)(np.float64(3.0), given)
    assert given == [1.0, 2.0]


def test_a_loop_that_is_recorded_again_finds_what_was_there_before():
    """A round has changed what is perhaps the dict from before the loop, and carries more the next time."""

    def f(x, limit, n):
        held, step = {"n": n}, 1.0
        while step < limit:
            limit -= 1
            held["n"] = step
            step = 1
            if x > 1:
                held = {"n": 0}
        return held

    with pytest.raises(phlox.TracerError, match="does not come to an end"):
        jit(f)(np.float64(0.5), 3.5, 3)
