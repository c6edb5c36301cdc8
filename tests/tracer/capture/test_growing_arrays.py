"""Arrays that have other sizes behind each round of a loop."""

import numpy as np
import pytest

from ...support.undecorated import check


def appended_where_positive(x, n):
    out = np.array([])
    i = 0
    while i < n * 3 and x[i % 5] < 100:
        if x[i % 5] > 0:
            out = np.append(out, x[i % 5] * i)
        i += 1
    return out, len(out)


def primes(x, n):
    primes = np.array([2])
    k = 3
    while len(primes) < n:
        if np.all(k % primes != 0):
            primes = np.append(primes, k)
        k += 2
    return primes


def path_of_a_point(x, n):
    path = x[:2].reshape(1, 2)
    p = x[:2].copy()
    for _ in range(300):
        p = p * 0.99 + 0.1
        path = np.vstack([path, p])
    return path


def until_it_is_far(x, n):
    s = np.zeros(1)
    while s[-1] < n:
        s = np.concatenate([s, [s[-1] + abs(x).sum()]])
    return s, s.size


def pascals_triangle(x, n):
    row = np.ones(1, dtype=np.int64)
    for _ in range(n):
        row = np.append(row, 0) + np.append(0, row)
    return row


def shorter_each_round(x, n):
    a = np.arange(20.0)
    while len(a) > n:
        a = a[:-1] * 1.5
    return a, a.sum()


def differences_or_rests(x, n):
    a = np.arange(20.0)
    while len(a) > 1:
        a = a[1:] - a[:-1] if x[0] > 0 else a[2:]
    return a


def hailstone_numbers(x, n):
    seq = np.array([n])
    while seq[-1] != 1:
        k = seq[-1]
        seq = np.append(seq, k // 2 if k % 2 == 0 else 3 * k + 1)
    return seq, seq.max(), len(seq)


def rows_that_are_large(x, n):
    r = np.empty((0, 3))
    for i in range(200):
        v = x[:3] * i
        if v.sum() > 50:
            r = np.vstack((r, v))
    return r, r.shape


def appended_or_cut(x, n):
    a = np.zeros(3)
    b = np.zeros(0)
    for i in range(100):
        if x[i % 5] > 0:
            b = np.concatenate((b, a[:2]))
            a = a + 1
        elif len(b) > 2:
            b = b[2:]
    return a, b


def queue(x, n):
    q = np.array([0.0])
    t = 0.0
    while q.size > 0 and t < n:
        t += q[0]
        q = q[1:]
        q = np.append(q, [t + 1, 0.5])
    return q, t


def columns(x, n):
    out = np.zeros((2, 0))
    for i in range(300):
        c = np.array([[x[i % 5]], [i * 1.0]])
        if c[0, 0] > 1:
            out = np.concatenate((out, c), axis=1)
    return out, out.shape[1]


def sieve(x, n):
    a = np.arange(n)
    r = []
    while a.size:
        r.append(a[0])
        a = a[a % (a[0] + 2) != 0][1:]
    return r


def appended_by_a_function(x, n):
    def push(h, v):
        return np.append(h, v)

    h = np.array([x[0]])
    k = 0
    while len(h) < n:
        h = push(h, h[-1] * 1.1 + k)
        k += 1
        if h[-1] > 50:
            break
    return h


def until_a_break(x, n):
    a = np.zeros((0, 2))
    i = 0
    while True:
        a = np.vstack([a, x[i % 4 : i % 4 + 2]])
        i += 1
        if a[:, 0].sum() > n or i > 50:
            break
    return a


def folded_in_halves(x, n):
    a = x
    k = 0
    while a.size > 1:
        if a.size % 2:
            a = np.append(a, 0.0)
        a = a[::2] + a[1::2]
        k += 1
    return a, k


def truths(x, n):
    b = np.array([True])
    i = 0
    while i < n + len(x):
        b = np.r_[b, x[i % 5] > 0]
        i += 1
    return b


def beyond_the_first_bound(x, n):
    big = np.array([0.0])
    i = 0
    while len(big) < 2000 + n:
        big = np.append(big, [i * 1.0, x[i % 5]])
        i += 1
    return big


def none_before_the_first_round(x, n):
    kept, parts = None, (None, 0)
    for k in range(n):
        row = x[None, :2] + k
        kept = row if kept is None else np.concatenate([kept, row], axis=0)
        if parts[0] is not None:
            row = np.vstack([parts[0], row])
        parts = (row, k)
        x = x + kept.sum()
    return kept, parts


PROGRAMS = [
    none_before_the_first_round,
    appended_where_positive,
    primes,
    path_of_a_point,
    until_it_is_far,
    pascals_triangle,
    shorter_each_round,
    differences_or_rests,
    hailstone_numbers,
    rows_that_are_large,
    appended_or_cut,
    queue,
    columns,
    sieve,
    appended_by_a_function,
    until_a_break,
    folded_in_halves,
    truths,
    beyond_the_first_bound,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs_do_what_they_do_undecorated(program):
    jitted = check(program, np.array([0.5, -1.5, 2.5, 3.5, 1.0]), 12)
    check(jitted, np.array([-0.5, 1.5, 0.5, 3.5, 7.0]), 12)


def test_few_rounds_are_unrolled():
    def halves(x):
        while len(x) > 1:
            x = np.linalg.qr(np.outer(x, x))[0][0, ::2] + x[1::2]
        return x

    check(halves, np.linspace(1, 2, 8))
