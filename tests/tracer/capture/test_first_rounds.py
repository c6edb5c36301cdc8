"""Loops whose state has other shapes before the first round than behind it, as sums of rows that begin with the number 0."""

import numpy as np
import pytest
from phlox import jit

from ...support.undecorated import check

ROWS = np.arange(12.0).reshape(4, 3)


def rows_added(x, n):
    total = 0
    for i in range(n):
        total = total + x[i] * i
    return total


def rows_added_to_attributes_and_items(x, n):
    class Sums:
        pass

    sums = Sums()
    sums.all, sums.parts = 0, [0, 1]
    for i in range(n):
        sums.all += x[i]
        sums.parts[0] = sums.parts[0] - x[i]
    return sums.all, sums.parts


def rows_added_while(x, n):
    total, last = 0.0, None
    while n > 0:
        total = total + x[n]
        last = total * 2
        n -= 1
    return total, last


def the_test_changes_something(x, n):
    total = k = 0
    while (k := k + 1) < n:
        total = total + x[k]
    return total, k


def the_first_test_is_known(x, n):
    total = 0
    while abs(np.sum(total)) < 100 + n:
        total = total + x
    return total


def until_nothing_changes(x, n):
    old, rounds = 0.0, 0
    while True:
        new = np.cos(x if rounds == 0 else old)
        rounds += 1
        if np.max(np.abs(new - old)) < 10.0**-n:
            return old, rounds
        old = new


def may_leave_in_any_round(x, n):
    total = 0
    while n > 0:
        total = total + x[0]
        n -= 1
        if total[1] > 2:
            break
        if total[2] > 4:
            return "returned", total
    else:
        total = total * 100
    return total


def loops_within_loops(x, n):
    total = 0
    for i in range(n):
        for j in range(i):
            total = total + x[i] * j
    return total


def broadcast(x, n):
    error = np.ones(1)
    while error.max() > 10.0**-n:
        error = np.minimum(error, 1 / (1 + x)) * 0.5
    return error


def state_made_when_asked_for(x, n):
    state, w = {}, np.ones(3)
    for i in range(n):
        for name in ("first", "second"):
            one = state.setdefault(name, {"step": 0, "mean": np.zeros_like(w)})
            one["step"] += 1
            one["mean"] = 0.5 * one["mean"] + x[i]
            w -= one["mean"] / (1 - 0.5 ** one["step"])
    return w


def state_of_an_object(x, n):
    class Momentum:
        def __init__(self):
            self.state = {}

        def step(self, w, g):
            if "w" not in self.state:
                self.state["w"] = [0, np.zeros_like(w)]
            buffer = self.state["w"]
            buffer[0] += 1
            buffer[1] += g
            w -= buffer[1] / buffer[0]

    optimizer, w = Momentum(), np.ones(3)
    for _ in range(n):
        for k in range(2):
            optimizer.step(w, x[k] + w)
        if w.sum() < -1000:
            break
    return w


def a_key_that_is_there(x, n):
    state = {"w": {"step": 0}}
    for i in range(n):
        state.setdefault("w", {"step": 7})["step"] += int(x[i].sum())
    return state


@pytest.mark.parametrize(
    "function",
    [
        state_made_when_asked_for,
        state_of_an_object,
        a_key_that_is_there,
        rows_added,
        rows_added_to_attributes_and_items,
        rows_added_while,
        the_test_changes_something,
        the_first_test_is_known,
        until_nothing_changes,
        may_leave_in_any_round,
        loops_within_loops,
        broadcast,
    ],
)
def test_first_rounds(function):
    jitted = jit(function)
    for x in (ROWS, ROWS / 3):
        for n in map(np.int64, (3, 0, 1, 2, 3)):
            check(jitted, x, n)
