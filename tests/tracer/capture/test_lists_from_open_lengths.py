"""What goes into lists from arrays: all elements of one whose length is known at run time; ``+=`` of a list and an array."""

from collections import deque

import numpy as np
import pytest
from phlox import jit


def extended(x):
    found = [0.0]
    found.extend(x[x > 0])
    found += list(x[x < 0])
    return found, len(found)


def extended_in_a_loop(x):
    found = []
    for k in range(40):
        found += list(x[x > k / 10])
    return np.array(found).sum(), len(found)


def extended_on_one_side(x):
    found = []
    if x[0] > 1:
        found.extend(x[x > 0])
    else:
        found.append(0.0)
    return found


def extended_by_others(x):
    found, queue, seen = [1.0], deque([0.0]), {1.0}
    found.extend(range(int(abs(x[0]))))
    queue.extend(x[x > 0])
    seen.update(x[x > 0].tolist())
    return found, list(queue), len(seen)


def made(x):
    return list(x[x > 1]) + list(x[x < 1]), tuple(x[x > 0]), list(range(int(abs(x[0])))) + [7], list(np.flatnonzero(x > 100))


def behind_a_star(x):
    first, *others = x[x > 0]
    return [*x[x > 0], 1.0], (*range(int(abs(x[0]))), 3), first, others, np.array([*np.flatnonzero(x > 0), 5])


def put_in_place_of_others(x):
    found = [0.0, 1.0, 2.0]
    found[1:2] = x[x > 0]
    return found


def changed_afterwards(x):
    found = list(x[x > 0])
    found.append(1.0)
    found[0] = 5.0
    return found, sum(found)


def array_is_added(x):
    found = kept = [1.0]
    found += x
    others = [0.0, 1.0, 2.0]
    others += x[0]
    return found, kept, others


def array_is_added_in_a_loop(x):
    found = [0.0]
    for k in range(40):
        found += x * k
    return found


def known_array_is_added(x):
    found = [0.0]
    found += np.arange(3.0)
    return found * x


@pytest.mark.parametrize(
    "function",
    [
        extended, extended_in_a_loop, extended_on_one_side, extended_by_others, made, behind_a_star, put_in_place_of_others,
        changed_afterwards, array_is_added, array_is_added_in_a_loop, known_array_is_added,
    ],
)  # fmt: skip
def test_lists_hold_what_pythons_do(function):
    jitted = jit(function)
    for x in ([1.0, 2.0, 3.0], [2.0, -4.0, 2.0], [5.0, 6.0, -7.0]):
        x = np.array(x)
        assert repr(jitted(x)) == repr(function(x))


def repeated_in_a_loop(x):
    back = []
    for v in x:
        back.extend([v, 2 * v] * int(abs(v) // 2))
    return back


def repeated_rows(x):
    back = []
    for v in x:
        back += [(int(v), np.full(3, v))] * int(abs(v))
    return len(back), np.array([row for _, row in back]).sum(), back[-1]


def extended_by_itself(x):
    back = [v for v in x if v != 3]
    for _ in range(3):
        back.extend(back[: int(abs(x[0]))] * 2)
    return back


def extended_by_ten(x):
    back, queue = [], deque(x)
    for v in x:
        back.extend([v] * 10)
        queue.extend([v] * 10)
        queue.popleft()
    return back, list(queue)


def extended_beyond_the_guess(x):
    back = []
    for k in range(20):
        back.extend([k] * (int(abs(x[0])) * 200))
    return len(back), sum(back), back[-1]


@pytest.mark.parametrize(
    "function", [repeated_in_a_loop, repeated_rows, extended_by_itself, extended_by_ten, extended_beyond_the_guess]
)
def test_lists_are_extended_in_place_by_as_much_as_there_is(function):
    jitted = jit(function)
    for x in ([1.0, 2.0, 3.0], [2.0, -4.0, 9.0], [5.0, 6.0, -7.0]):
        x = np.array(x)
        assert repr(jitted(x)) == repr(function(x))
