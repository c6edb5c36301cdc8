"""Lists and dicts that rounds of a loop put into a list and leave elsewhere, too: a change is seen there, or is an error."""

import numpy as np
import pytest
from phlox import TracerError, jit
from thinning import left_to_ci, one_in

from ...support.undecorated import check

X = np.random.default_rng(1).uniform(size=100)


def _made(v):
    return [v, np.sin(v) * np.cos(v) * np.exp(v) * np.tan(v)]


def in_two_lists(x):
    rows, kept = [], []
    for v in x:
        row = _made(v)
        rows.append(row)
        kept.append(row)
    rows[0][1] = 7.0
    return kept[0][1]


def in_a_name(x):
    rows, last = [], None
    for v in x:
        row = _made(v)
        rows.append(row)
        last = row
    last[1] = 7.0
    return rows[-1][1]


def within_a_tuple(x):
    rows, kept = [], []
    for v in x:
        row = _made(v)
        rows.append(row)
        kept.append((row, v))
    rows[0][1] = 7.0
    return kept[0][0][1]


def twice_in_one_list(x):
    rows = []
    for v in x:
        row = _made(v)
        rows.append(row)
        rows.append(row)
    rows[0][1] = 7.0
    return rows[1][1]


def changed_in_the_next_round(x):
    rows, last = [], [0.0, 0.0]
    for v in x:
        last[1] = v
        last = _made(v)
        rows.append(last)
    return sum([row[1] for row in rows])


def sorted_and_changed(x):
    rows = [_made(v) for v in x]
    ordered = sorted(rows)
    ordered[0][1] = 7.0
    return sum([row[1] for row in rows])


def arrays_sorted_and_changed(x):
    rows = [np.array([v, 1.0]) for v in x[:6]]
    ordered = sorted(rows, key=lambda row: row[0])
    ordered[0][1] = 7.0
    return sum([row[1] for row in rows])


CHANGED = [arrays_sorted_and_changed]


@left_to_ci
def test_what_is_put_in_order_is_changed_everywhere():
    assert jit(sorted_and_changed)(X) == sorted_and_changed(X)


@pytest.mark.parametrize("function", CHANGED)
def test_what_would_not_be_seen_elsewhere_is_an_error(function):
    with pytest.raises((TracerError, NotImplementedError)):
        jit(function)(X)


def only_read(x):
    rows, kept, last = [], [], None
    for v in x:
        row = _made(v)
        rows.append(row)
        kept.append((row, v))
        last = row
    return rows[3][1] + kept[4][0][0] + last[1], len(rows)


def from_before_the_loop(x):
    rows, one = [], [0.0]
    for v in x:
        rows.append((one, np.sin(v) * np.cos(v) * np.exp(v)))
    rows[0][0][0] = 7.0
    return rows[1][0][0], one[0]


def sorted_lists(x):
    pairs = zip(x[:9], x[9:18])
    return sorted([[a, b] for a, b in pairs]), [type(row) is list for row in sorted([[v, 1.0] for v in x[:5]], reverse=True)]


SEEN = [in_two_lists, in_a_name, within_a_tuple, twice_in_one_list]


@pytest.mark.parametrize(
    "function", one_in(3, [*SEEN, changed_in_the_next_round, only_read, from_before_the_loop, sorted_lists])
)
def test_as_undecorated(function):
    check(function, X)
