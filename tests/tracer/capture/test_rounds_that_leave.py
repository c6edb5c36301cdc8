"""Loops that are unrolled, of more rounds than there may be branches inside of each other, each of which may be the last."""

import numpy as np
import pytest
from phlox import jit

from ...support.undecorated import check

VALUES = [float(value) for value in range(60)]


def returns_from_a_short_round(x):
    for v in x:
        if v > 9:
            return v, v
    return None


def goes_over_a_list(x):
    for value in VALUES:
        if x[0] < value:
            return value
    return None


def goes_over_texts(x):
    for word, v in zip("abcdefghijklmnopqrstuvwxyz" * 2, x):
        if v > 3:
            return word
    return None


def goes_over_items(x):
    for key, value in {i: i * i for i in range(60)}.items():
        if value > x[7]:
            return key


def breaks_or_ends(x):
    for i in range(50):
        if x[i] > 9:
            break
    else:
        return -1
    return i


def breaks_among_rounds_that_go_on(x):
    out = []
    for j in range(3):
        for value in VALUES[:40]:
            if x[j] < value:
                break
            if x[j] == 2:
                continue
            out.append(value)
        else:
            out.append(-1.0)
    return out


def returns_from_two_loops(x):
    for j in range(30):
        for value in VALUES[:25]:
            if x[j] < value:
                if value > 7:
                    break
                continue
            if x[j] == 2:
                return value, j
    else:
        return None
    return "left"


def keeps_what_it_found(x):
    count, last = 0, None
    for value in VALUES[:45]:
        count += 1
        if x[3] < value:
            last = value
            break
        count += x[4] > 2
    return count, last, value


@pytest.mark.parametrize(
    "function",
    [
        returns_from_a_short_round, goes_over_a_list, goes_over_texts, goes_over_items, breaks_or_ends,
        breaks_among_rounds_that_go_on, returns_from_two_loops, keeps_what_it_found,
    ],
)  # fmt: skip
def test_any_round_may_be_the_last_one(function):
    jitted = jit(function)
    for x in (np.full(60, 2.0), np.arange(60.0), 5 * np.cos(np.arange(60.0)), np.full(60, 70.0)):
        check(jitted, x)
