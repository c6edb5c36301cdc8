"""Lists that the rounds of a loop bring in order."""

import bisect

import numpy as np
import pytest
from phlox import jit
from phlox.compile.in_place import update_of

from ...support.undecorated import check


def greatest(x):
    top = []
    for v in x:
        top.append(float(v))
        top.sort()
        if len(top) > 10:
            top.pop(0)
    return top


def greatest_first(x):
    top = []
    for v in x:
        top.append(int(v * 7))
        top.sort(reverse=True)
        if len(top) > 5:
            top.pop()
    return top


def events(x):
    waiting, t, served = [], 0.0, []
    for v in x:
        waiting.append((t + float(v), len(served)))
        waiting.append((float(int(v)), -len(served)))
        waiting.sort()
        if len(waiting) > 4:
            t, number = waiting.pop(0)
            served.append(number)
    return t, served, waiting


def by_a_key(x):
    jobs, done = [], []
    for k in range(len(x)):
        jobs.append((k, float(x[k])))
        jobs.sort(key=lambda job: int(job[1] * 3))
        if k % 3 == 0:
            done.append(jobs.pop(0))
    return jobs, done


def by_a_key_backwards(x):
    jobs = []
    for k in range(len(x)):
        if x[k] > 0.2:
            jobs.append((k, float(x[k])))
        jobs.sort(key=lambda job: (int(job[1] * 3), -job[1]), reverse=True)
        if len(jobs) > 6:
            jobs.pop(2)
    return jobs


def in_no_order(x):
    total = 0.0
    for v in x[:6]:
        kept = []
        for w in x:
            if w > v / 8:
                kept.append(float(w))
        kept.sort()
        ordered = sorted(kept, key=lambda w: -w)
        total += kept[len(kept) // 2] - ordered[len(kept) // 3] * kept[-1]
    return total


def by_keys_in_no_order(x):
    out = []
    for v in x[:5]:
        jobs = []
        for k in range(len(x)):
            if x[k] > v / 8:
                jobs.append((k, float(x[k])))
        out.append(sorted(jobs, key=lambda job: int(job[1] * 9)))
        jobs.sort(key=lambda job: -job[0], reverse=True)
        jobs.sort(key=lambda job: job[0] % 5, reverse=True)
        out.append(jobs)
    return out


def copies_in_order(x):
    found, out = [], []
    for v in x:
        found.append(float(v))
        ordered = sorted(found)
        other = found
        out.append(ordered[len(ordered) // 2] + other[0])
        if len(found) > 7:
            found.sort()
            out.append(other[0] - other[-1])
            found.pop(0)
            found.reverse()
    return found, out, other is found


def flags_and_empty_ones(x):
    flags, none = [], []
    for v in x:
        flags.sort()
        flags.append(v > 1)
        none.sort()
        if v > 1e9:
            none.append(1)
    return flags, none


def beside_bisect(x):
    one, other = [], []
    for v in x:
        bisect.insort(one, int(v * 5))
        other.append(int(v * 5))
        other.sort()
    return one, other


def with_nan(x):
    found, total = [], 0.0
    for v in x:
        found.append(float(v) if v < 1.5 else float("nan"))
        found.sort()
        if len(found) > 3:
            total += 1 if found.pop(0) == 0.5 else 2
    return total, [v == v for v in found]


PROGRAMS = [
    greatest, greatest_first, events, by_a_key, by_a_key_backwards, in_no_order, copies_in_order, flags_and_empty_ones,
    beside_bisect, by_keys_in_no_order,
]  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS)
def test_lists_are_brought_in_order_in_each_round(function):
    for seed, count in ((0, 1), (1, 12), (2, 150)):
        check(function, np.random.default_rng(seed).random(count) * 2)


def test_what_is_no_number_is_left_to_python():
    check(with_nan, np.array([1.0, 0.5, 2.0, 0.25, 1.0, 1.75, 0.5]))


def test_a_list_of_few_elements_takes_as_long_for_any_room():
    """In the rounds no array is made as long as the room for the list's elements, but where it is found in no order."""
    compiled = jit(greatest).lower(np.ones(700)).compile()
    computations = compiled.executable.optimized.computations()
    (rounds,) = (one for one in computations if any(each.opcode == "conditional" for each in one.instructions))
    nests = [one for one in rounds.instructions if one.opcode in ("sort", "fusion") and update_of(one) is None]
    assert nests and all(one.shape.byte_size < 700 for one in nests)
