"""How often loops within loops are recorded, what types their state comes to, and that lists are not gone through each time."""

from collections import Counter

import numpy as np
import pytest
from phlox import jit
from phlox.tracer.calls import traced_function
from phlox.tracer.capture.lists import runs
from phlox.tracer.capture.loops import unrolling
from phlox.tracer.capture.loops.captured_loop import CapturedLoop

from tests.programs.comparison import differences


def two(x, n):
    total = 0
    for i in range(n):
        for j in range(n):
            total += x[i, j]
    return total


def three(x, n):
    residual = 1.0
    while residual > 1e-3:
        residual = 0.0
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                change = (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]) / 4 - x[i, j]
                x[i, j] += change
                residual = max(residual, abs(change))
    return x, residual


def five(x, n):
    total, count = 0, 0
    for i in range(n):
        for j in range(n):
            for k in range(n):
                for m in range(n):
                    inner = 0
                    for p in range(n):
                        inner += x[i, j] * x[k, m] * p
                    total += inner
                    count += 1
    return total, count


def innermost(x, n, seen):
    total = 0
    for i in range(n):
        total += x[i, i]
        seen[i % 7] = seen.get(i % 7, 0) + 1
    return total


def second(x, n, seen):
    return [innermost(x, n, seen) for _ in range(n)][-1]


def third(x, n, seen):
    total = 0
    while total < n:
        total += second(x, n, seen)
    return total


def four_in_functions(x, n):
    seen, found = {}, 0
    for _ in range(n):
        found += third(x, n, seen)
    return found, len(seen)


@pytest.mark.parametrize(("function", "depth"), [(two, 2), (three, 3), (five, 5), (four_in_functions, 4)])
def test_the_innermost_body_is_recorded_as_often_as_there_are_loops(monkeypatch, function, depth):
    recorded = Counter()
    record = CapturedLoop._round

    def counting(self, *arguments):
        recorded[self.body.__code__] += 1
        return record(self, *arguments)

    monkeypatch.setattr(CapturedLoop, "_round", counting)
    jit(function).lower(np.ones((20, 20)), 20)
    assert len(recorded) == depth
    assert max(recorded.values()) <= 3 * depth


def becomes_a_float_in_one_round(x, n):
    s = 0
    for i in range(n):
        t = 0
        for j in range(n):
            t += i * j
        s += t * x[0, 0] if i % 2 else t
    return s, t


def exchanged(x, n):
    s, t = 1, 2
    for i in range(n):
        for _ in range(n):
            s, t = t, s
        if i == 3:
            t = t * 0.5
    return s, t


def best_of_all(x, n):
    best = None
    for i in range(n):
        for j in range(n):
            value = x[i % 3, j % 4] * (i + j)
            if best is None or value > best:
                best = value
    return best


def left_inside(x, n):
    total = 0
    for i in range(n):
        k = 0
        while k < i:
            if k % 5 == 4:
                last = k
                break
            k += 1
        total += k
    return total, last


def returned_inside(x, n):
    for i in range(n):
        for j in range(n):
            if i * j > 30:
                return i, j, x[i % 3, j % 4]
    return None


def carried_in_a_chain(x, n):
    s = p = 0
    for i in range(n):
        q = p
        for _ in range(n):
            r = q
            for _ in range(n):
                q = r
            p = i * 0.5
        s += q
    return s, p, q, r


def complex_for_a_while(x, n):
    s = 0
    for _ in range(n):
        for _ in range(n):
            for _ in range(n):
                s += 1
            s //= 2
        if s > 5:
            s = (s - 1j).real
    return s


def unrolled_around_loops(x, n):
    for _ in range(n):
        for one in (1, 0.5, 2):
            found = 0
            for _ in range(n):
                found += one
            if one == 1:
                first = found
            elif one == 2:
                last = found
    return first, last, found


def summed(x, y, n):
    total = y
    for _ in range(n):
        total = total + x
    return total


def helpers_of_several_types(x, n):
    t = 0
    for _ in range(n):
        t = t + summed(1, 0, n)
    u = summed(0.5, 0, n)
    for i in range(n):
        for _ in range(n):
            v = summed(i, 0, n)
        t += v
    return t, u, v


def last_of_several(values, n):
    found = 0
    for _ in range(n):
        for value in values:
            kept = [found]
            for _ in range(n):
                kept[0] = kept[0] + value
            found = kept[0]
    return found, kept


def helpers_in_unrolled_rounds(x, n):
    s = []
    for _ in range(n):
        for one in (1, 0.5, x[0, 0], True):
            first, last = summed(one, 0, n), last_of_several((one, 2), 3)
            if one is True:
                s = [first, last]
    return s, first, last


def known_at_first(x, n):
    first, s = True, 0
    for _ in range(n):
        for _ in range(n):
            if first:
                s, first = x[0, 0], False
            else:
                s = s + 1
    return s, first


def arrays_exchanged(x, n):
    before = np.zeros(4)
    for i in range(n):
        now = np.zeros(4)
        for j in range(1, 4):
            now[j] = before[j - 1] + x[i % 3, j]
            for k in range(n):
                now[j] = max(now[j], k)
        before, now = now, before
    return before


PROGRAMS = [
    becomes_a_float_in_one_round, exchanged, best_of_all, left_inside, returned_inside, carried_in_a_chain, complex_for_a_while,
    unrolled_around_loops, helpers_of_several_types, helpers_in_unrolled_rounds, known_at_first, arrays_exchanged,
]  # fmt: skip


@pytest.mark.parametrize("rounds", [7, 40])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_state_has_the_types_that_python_gives_it(function, rounds):
    x = np.linspace(0.1, 2, 12).reshape(3, 4)
    assert list(differences(function(x, rounds), jit(function)(x, rounds))) == []


def sorted_out(x):
    large, small = [], []
    for name, value in zip(("oak", "elm", "ash", 7, 0.5), x):
        (large if value > 0 else small).append(name)
    return large, small, [len(large), len(small)]


def test_what_else_is_put_into_lists_of_a_table_does_not_record_the_function_again(monkeypatch):
    recorded = []
    record = traced_function._record
    monkeypatch.setattr(traced_function, "_record", lambda *given: recorded.append(given) or record(*given))
    jitted, x = jit(sorted_out), np.array([1.0, -1.0, 2.0, 3.0, -2.0])
    for given in (x, -x):
        assert list(differences(sorted_out(given), jitted(given))) == []
    assert len(recorded) == 1


def appended(x, values):
    found = []
    for value in values:
        found.append(x[0] + value)
    return found[-1]


def read(x, values):
    total, positions = 0, list(range(len(values)))
    for position in positions:
        total += values[position]
    return total + x[0]


@pytest.mark.parametrize("function", [appended, read])
def test_long_lists_are_traced_in_steps_in_proportion(function, monkeypatch):
    values, x = list(range(8000)), np.ones(3)

    @jit
    def called(x):
        return function(x, list(values))

    looked_at = []

    class Kinds(frozenset):
        def isdisjoint(self, kinds):
            kinds = list(kinds)
            looked_at.append(len(kinds))
            return super().isdisjoint(kinds)

    monkeypatch.setattr(runs, "STAND_FOR_ELEMENTS", Kinds(runs.STAND_FOR_ELEMENTS))
    called.lower(x)
    assert sum(looked_at) <= 10 * len(values)


def multiplied(a, b):
    product = 0
    while b:
        if b & 1:
            product ^= a
        a, b = a << 1, b >> 1
    return product


def table(x):
    found = []
    for k in range(1, 200):
        square, power = 1, k
        while power:
            square, power = multiplied(square, k) & 255, power >> 1
        found.append(square)
    return x + sum(found)


def turns_traced_now_and_then(x):
    total = 0.0
    for k in range(8):
        i = 0
        while i < k or k == 6 and total < 8.0 and i < 20:
            i += 1
            if i >= 5:
                total += x[i % 3]
        total += i
    return total


def test_while_loops_that_python_runs_to_their_ends_are_not_recorded_on_trial_each_time(monkeypatch):
    trials, trial = [], unrolling.size_of_a_round

    def counting(*arguments):
        trials.append(arguments)
        return trial(*arguments)

    monkeypatch.setattr(unrolling, "size_of_a_round", counting)
    lowered = jit(table).lower(np.ones(3))
    assert len(trials) < 40
    assert not list(differences(lowered.compile()(np.ones(3)), table(np.ones(3))))


def test_a_while_loop_that_is_known_at_first_may_become_one_of_the_program():
    x = np.array([0.5, 1.5, 0.25])
    assert not list(differences(jit(turns_traced_now_and_then)(x), turns_traced_now_and_then(x)))
