"""Items of dicts, and dicts as a whole, changed in one branch, loop or try statement."""

import collections

import numpy as np
import pytest
from phlox import jit
from thinning import LEFT_TO_CI


def item_and_whole(x):
    d = {"a": 1}
    if x[0] > 0:
        d["a"] = 5
        d.update(a=7)
    return d


def whole_and_item(x):
    d = {"a": 1}
    if x[0] > 0:
        d.update(a=4)
        d["a"] += 1
    else:
        d["a"] = 9
        d.clear()
        d["a"] = x[1]
    return d


def branches_in_branches(x):
    d = {"a": 1, "b": 2}
    if x[0] > 0:
        d["a"] = 5
        if x[1] > 2:
            d["b"] = 7
            d.pop("a")
            d["a"] = 3
        d["b"] += 1
    return d


def in_a_loop(x):
    d = {"a": 1, "b": 2.0}
    for i in range(300):
        d["a"] += i
        if x[i % 3] > 1:
            d["b"] += x[i % 3]
            d.update(b=d["b"] * 0.5, a=0)
    return d


def behind_an_exception(x):
    d = {"a": 1}
    try:
        d["a"] = 2
        d.update(a=3)
        if x[0] < 0:
            raise ValueError
    except ValueError:
        d["a"] += 10
    return d


def items_of_a_loop_that_becomes_a_whole(x):
    d, waiting = {k: "new" for k in range(3)}, [0]
    while waiting:
        k = waiting.pop()
        d[k] = "seen"
        for other in range(3):
            if x[other] > k and d[other] == "new":
                waiting.append(other)
    return {k: len(v) for k, v in d.items()}


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(items_of_a_loop_that_becomes_a_whole, marks=LEFT_TO_CI),
        item_and_whole,
        whole_and_item,
        branches_in_branches,
        in_a_loop,
        behind_an_exception,
    ],
)
def test_both_are_changed(function):
    jitted = jit(function)
    for sign in (1, -1, 1):
        x = np.array([1.0, 2.0, 3.0]) * sign
        expected, found = function(x), jitted(x)
        assert list(found) == list(expected)
        np.testing.assert_allclose(list(found.values()), list(expected.values()), rtol=1e-12)


class _Kept(collections.OrderedDict):
    def update(self, *others):
        raise NotImplementedError("update")


class _Log(list):
    def __setitem__(self, place, value):
        raise TypeError("nothing is changed in a log")


def test_what_is_tried_is_put_back_past_the_methods_of_a_class():
    def halves(x):
        kept, log, work = _Kept(), _Log(), [(0.0, 8.0)]
        kept[0] = x[0]
        total = 0.0
        while work and len(work) < 6:
            low, high = work.pop(0)
            kept[0] = kept[0] + 1
            log.append(high)
            work += [(low, (low + high) / 2), ((low + high) / 2, high)]
            total += x[0] * high
            if total > 100:
                break
        return total, kept[0], len(log), len(work)

    assert jit(halves)(np.ones(1)) == halves(np.ones(1))
