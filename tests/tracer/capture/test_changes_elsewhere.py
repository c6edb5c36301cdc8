"""Loops and branches that change what other functions keep: variables around them, attributes, items."""

import numpy as np
import pytest
from phlox import jit

from ...support.undecorated import check

LINE = np.linspace(0.0, 0.1, 500)


def counter():
    count = 0

    def increment(by=1):
        nonlocal count
        count += by
        return count

    return increment, lambda: count


def recursive_filter():
    gain, weights = np.eye(2), np.zeros(2)

    def update(value):
        nonlocal gain, weights
        weights = 0.5 * weights + gain @ np.array([value, 1.0])
        gain = 0.9 * gain - 0.01 * np.outer(weights, weights)
        return gain.sum(), weights

    return update


def smoother():
    state = None

    def smooth(value):
        nonlocal state
        state = value if state is None else 0.9 * state + 0.1 * value
        return state

    return smooth


def counted(function):
    calls = 0

    def wrapper(*args):
        nonlocal calls
        calls += 1
        return function(*args)

    wrapper.calls = lambda: calls
    return wrapper


class Steps:
    def __init__(self):
        self.count, self.sum = 0, 0.0

    def below(self, limit):
        self.count += 1
        return self.count < limit

    def add(self, value):
        self.sum = self.sum + value
        return self.sum


def variables_of_a_closure(x):
    update = recursive_filter()
    found = np.zeros(len(x))
    for n in range(4, len(x)):
        found[n], weights = update(x[n])
    return found, weights


def counted_in_a_loop(x):
    (increment, count), (other, others) = counter(), counter()
    for value in x:
        if value > 0.05:
            for _ in range(3):
                increment()
        else:
            other(2)
    return count(), others()


def counted_in_a_branch(x):
    increment, count = counter()
    increment(5) if x[3] > 0.001 else increment(2)
    return count()


def state_that_is_none_at_first(x):
    smooth = smoother()
    return np.array([smooth(value) for value in x])


def calls_of_a_wrapper(x):
    square, total = counted(lambda value: value * value), 0.0
    for value in x:
        total += square(value)
    return total, square.calls()


def condition_that_counts(x):
    increment, count = counter()
    i = 0
    while increment() < 300 and x[i] < 0.05:
        i += 1
    return count(), i


def condition_that_sets_an_attribute(x):
    steps, i = Steps(), 0
    while steps.below(100) and x[i] < 0.05:
        i += 1
    while steps.add(x[i]) < 1:
        if x[i] > 0.09:
            break
        i += 1
        if i % 3:
            continue
        i += 1
    else:
        i = -i
    return steps.count, steps.sum, i


def condition_that_sets_items(x):
    counts, totals, kept, i = {"n": 0}, [0.0], [], 0

    def goes_on():
        counts["n"] += 1
        totals[0] += x[i]
        kept.append(i)
        return counts["n"] < 300

    while goes_on() and totals[0] < 1:
        i += 1
    return counts, totals, kept, i


def condition_that_pops(x):
    stack, rounds = list(range(30)), 0
    while stack and x[stack.pop()] > 0.001:
        rounds += 1
    while x[stack.pop()] >= 0 and stack:
        rounds += 10
    return stack, rounds


FUNCTIONS = [
    variables_of_a_closure, counted_in_a_loop, counted_in_a_branch, state_that_is_none_at_first, calls_of_a_wrapper,
    condition_that_counts, condition_that_sets_an_attribute, condition_that_sets_items, condition_that_pops,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
def test_as_undecorated(function):
    jitted = check(function, LINE)
    check(jitted, LINE[::-1].copy() if function is not condition_that_pops else LINE + 0.0005)


def test_numbers_that_are_bools_of_python():
    check(lambda a, b: (np.array([1, 2], np.uint8) * (a < b), np.not_equal(a < b, 0), np.array([3]) + (a > b)), 1.0, 2.0)


class Machine:
    def __init__(self):
        self.scale, self.calls, self.log = 1.0, 0, []

    @jit
    def scaled(self, x):
        self.calls += 1
        self.log.append(x.sum())
        return x * self.scale

    @jit
    def __call__(self, x):
        self.scale = self.scale * 2
        first = self.scaled(x)
        self.scale = self.scale - 1
        return first + self.scaled(x)


@jit
def filled_in(found, value):
    found["sum"] += value
    found["values"].append(value)


def filled_in_a_loop(x):
    found = {"sum": 0.0, "values": []}
    for value in x:
        if value > 0.05:
            filled_in(found, value)
    return found


def test_jitted_functions_that_jitted_functions_call():
    found = jit(filled_in_a_loop)(LINE)  # undecorated it would compile `filled_in` for each length of the list
    values = LINE[LINE > 0.05]
    np.testing.assert_allclose([found["sum"], *found["values"]], [values.sum(), *values])
    machine, plain = Machine(), Machine()
    for _ in range(3):
        found = machine(LINE)
        plain.scale *= 2
        first = plain.scale
        plain.scale -= 1
        np.testing.assert_allclose(found, LINE * first + LINE * plain.scale)
    assert (machine.calls, machine.scale, machine.log) == (6, plain.scale, [LINE.sum()] * 6)
