"""Arrays of different dtypes on the two sides of a branch, and before a loop and in it: each keeps its own."""

import numpy as np
import pytest
from phlox import jit


def chosen(c, x):
    return x if c > 0 else x.astype(np.float32)


def in_a_statement(c, x):
    if c > 0:
        a = x.astype(int)
    else:
        a = x
    return a.sum(), a.dtype, a + 1, a[0], a // 2


def changed_in_place(c, x):
    a = np.zeros(3) if c > 0 else np.zeros(3, np.int64)
    a[0] = 2.5
    a += 1
    return a


def used_in_many_ways(c, x):
    a = x if c > 0 else x.astype(np.float32)
    b = a + np.float32(1)
    if c > 5:
        b[0] = 7
    return (
        a, b, np.exp(a), a.mean(), list(a), a.astype(int), len(a), a.shape, a.reshape(5, 1), np.concatenate([a, b]), a[1:],
        a > 0, a.T, a.max(), np.sum(a), a @ a, -a, abs(a), 2**a, a.tolist(), np.where(a > 1, a, 0),
    )  # fmt: skip


def gone_over(c, x):
    a, total = (x if c > 0 else x.astype(int)), 0
    for v in a:
        total += v
    return total


def known_by_its_dtype(c, x):
    z = x > c
    if c > 3:
        z = x
    if z.dtype != np.float64:
        z = z.astype(float)
    return z / 2


def a_number_or_an_array(c, x):
    a = np.array(2.0) if c > 0 else x.max()
    return a, a * 2


@pytest.mark.parametrize(
    "function",
    [chosen, in_a_statement, changed_in_place, used_in_many_ways, gone_over, known_by_its_dtype, a_number_or_an_array],
)
def test_branches(function):
    traced = jit(function)
    for c in (1.0, -1.0, 9.0) * 2:
        _require_same(traced(c, np.arange(5.0)), function(c, np.arange(5.0)))


def halved(x, n):
    a = np.array([1, 2, 3])
    for _ in range(n):
        a = 0.5 * a + x[0]
    return a


def a_number_behind_the_first_round(x, n):
    a = np.array(0.0)
    for i in range(n):
        a = a + i
    return a


def with_the_one_before(x, n):
    a = b = np.array([1, 2, 3])
    for _ in range(n):
        b = a
        a = 0.5 * a + x[1]
    return a, b


def over_rows(x, n):
    a = np.array([1, 2, 3])
    for v in x:
        a = 0.5 * a + v
    return a


def under_a_condition(x, n):
    a, total = np.array([1, 2, 3]), 0
    for v in x:
        if v > 30:
            a = a + 0.5
        else:
            a = a // 2
        total += a.sum()
    return a, total


def never_in_some_calls(x, n):
    a = np.array([1, 2, 3])
    for v in x:
        if v > 20 + n:
            a = a + 0.5
    return a, a.dtype, a * 2, a.sum(), a[0]


def while_it_is_small(x, n):
    a = np.array([1, 2, 3])
    while a.sum() < n:
        a = a * 1.5
    return a


def in_a_dict(x, n):
    d = {"a": np.array([1, 2, 3])}
    for _ in range(n):
        d["a"] = d["a"] * 0.5
    return d["a"]


def left_early(x, n):
    a = np.array([1, 2, 3])
    for v in x:
        if v > n:
            break
        a = a * 0.5
    return a


def back_to_integers(x, n):
    a = np.array([1.5, 2.5, 3.5])
    for v in x[:n]:
        a = (a * 2 + v).astype(np.int32)
    return a


@pytest.mark.parametrize(
    "function",
    [
        halved, a_number_behind_the_first_round, with_the_one_before, over_rows, under_a_condition, never_in_some_calls,
        while_it_is_small, in_a_dict, left_early, back_to_integers,
    ],
)  # fmt: skip
def test_loops(function):
    traced = jit(function)
    for n in (50, 0, 1, 2, 5) * 2:
        _require_same(traced(np.arange(40.0), n), function(np.arange(40.0), n))


def _require_same(found, wanted):
    assert type(found) is type(wanted)
    if isinstance(wanted, (list, tuple)):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted):
            _require_same(one, other)
        return
    assert getattr(found, "dtype", None) == getattr(wanted, "dtype", None)
    np.testing.assert_allclose(found, wanted, rtol=1e-6) if not isinstance(wanted, np.dtype) else None
