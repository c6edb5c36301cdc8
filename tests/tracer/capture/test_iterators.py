"""Python's iterators while a function is traced: what takes them further is done once, or an error."""

import itertools

import numpy as np
import phlox
import pytest


def cycle_in_a_branch(x):
    signs = itertools.cycle((1, -1))
    return [next(signs) if v > 0 else 0 for v in x]


def count_in_a_branch(x):
    numbers, out = itertools.count(3), []
    for v in x:
        if v > 0:
            out.append(next(numbers))
    return out


def list_in_a_loop(x):
    factors, total = iter([1.0, 2.0, 3.0, 4.0]), 0.0
    for _ in range(3):
        total += next(factors) * x[0]
    return total


def own_generator_in_a_branch(x):
    def numbers():
        k = 0
        while True:
            yield k
            k += 1

    source, total = numbers(), 0
    for v in x:
        if v > 0:
            total += next(source)
    return total


def zip_in_a_while_loop(x):
    pairs, total = zip([1, 2, 3, 4, 5, 6], "abcdef"), 0
    while x.sum() > total:
        total += next(pairs)[0]
    return total


def first_of_the_rows(x):
    rows = enumerate(x)
    _, first = next(rows)
    _, second = next(rows)
    return first + 2 * second


def map_in_a_branch(x):
    doubled = map(lambda v: v * 2, [1, 2, 3])
    return (next(doubled) if x[0] > 0 else 0) + sum(doubled)


def reversed_in_a_branch(x):
    backwards = reversed([1, 2, 3])
    return (next(backwards) if x[0] > 0 else 5), list(backwards)


def list_of_it_in_a_branch(x):
    numbers = iter([1, 2, 3])
    return (list(numbers) if x[0] > 0 else [5, 5, 5]), list(numbers)


def loop_over_it_in_a_branch(x):
    numbers, total = iter([1, 2, 3]), 0.0
    if x[0] > 0:
        for v in numbers:
            total += v
    return total + sum(numbers)


def unpacked_in_a_branch(x):
    numbers = iter([1, 2])
    if x[0] > 0:
        a, b = numbers
        return a + b
    return sum(numbers) * 10


def looked_up_in_a_branch(x):
    numbers = iter([1, 2, 3])
    found = (2 in numbers) if x[0] > 0 else False
    return found, list(numbers)


def made_and_used_in_a_branch(x):
    total = 0.0
    for v in x:
        if v > 0:
            pairs = zip([1, 2], [3, 4])
            a, b = next(pairs)
            total += a * v + b + sum(p * q for p, q in pairs)
    return total


def in_order(x):
    items = iter({"a": 1.0, "b": 2.0}.values())
    return next(items) * x[0], next(items, 0.0), next(items, -1.0)


def peeked_by_a_comprehension(x):
    pairs = enumerate([x[0], x[1], 3.0])
    return [(k, v) for k, v in pairs if v > 0.5], list(pairs)


@pytest.mark.parametrize(
    ("function", "runs"),
    [
        (cycle_in_a_branch, True), (count_in_a_branch, True), (list_in_a_loop, True), (own_generator_in_a_branch, False),
        (zip_in_a_while_loop, False), (first_of_the_rows, False), (map_in_a_branch, False), (reversed_in_a_branch, False),
        (list_of_it_in_a_branch, True), (loop_over_it_in_a_branch, True), (unpacked_in_a_branch, True),
        (looked_up_in_a_branch, True), (made_and_used_in_a_branch, True), (in_order, True), (peeked_by_a_comprehension, True),
    ],
)  # fmt: skip
def test_iterators(function, runs):
    jitted = phlox.jit(function)
    for x in (np.array([1, 0, 1, 1]), np.array([0, 0, 1, 1])):
        if runs:
            assert repr(jitted(x)) == repr(function(x))
        else:
            with pytest.raises(phlox.TracerError, match=r"asked for|gone over|is not followed"):
                jitted(x)


def rest_of_an_array(x):
    values, total = iter(np.arange(70.0)), 0.0
    for v in x:
        if v > 0:
            total += next(values)
    for v in values:
        total += v * 100
    return total, next(values, -1)


def with_a_default(x):
    values, total = iter([1.5, 2.5]), 0.0
    for v in x:
        if v > 0:
            total += next(values, -1)
    return total


def until_there_is_none(x):
    values, total, count = iter(x), 0, 0
    while True:
        v = next(values, None)
        if v is None:
            break
        if v > 0:
            total += next(values, 0)
        count += 1
    return total, count


def several_at_a_time(x):
    places, total = iter(range(len(x))), 0
    for v in x:
        if v > 0:
            for _ in range(2):
                total += next(places, 0)
        else:
            next(places, None)
    return total


def one_of_two(x):
    cycles, total = [itertools.cycle([1, 2]), itertools.cycle("abc")], 0
    for v in x:
        if v > 0:
            total += next(cycles[0])
        elif next(cycles[1]) == "b":
            total += 10
    return total, [next(one) for one in cycles]


def letters(x):
    found, last = iter("hello"), ""
    for v in x:
        if v > 0:
            last = next(found, "-")
    return last, list(found)


def round_robin(x):
    queues, turn = [0.0, 0.0, 0.0], itertools.cycle(range(3))
    for v in x:
        queues[next(turn)] += v
    return queues


def left_by_the_program(x):
    total = x[0] + 3
    for k in itertools.count(1, 2):
        total /= 2
        if total * k < 0.01:
            break
    for factor in itertools.cycle([0.5, 0.25]):
        total += factor
        if total > 5:
            break
    for _ in itertools.repeat(None):
        total *= 2
        if total > 1e4:
            return k, total


def numbered_by_value(x):
    numbers, ids = itertools.count(), {}
    for v in x:
        if v not in ids:
            ids[v] = next(numbers)
    return ids


class Supply:
    def __init__(self, values):
        self.values, self.position = values, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.position >= len(self.values):
            raise StopIteration
        self.position += 1
        return self.values[self.position - 1]


def of_a_class(x):
    supply, total = Supply(np.arange(3.0)), 0.0
    for v in x:
        if v > 0:
            total += next(supply, -5.0)
    return total, supply.position


@pytest.mark.parametrize(
    "function",
    [
        rest_of_an_array, with_a_default, until_there_is_none, several_at_a_time, one_of_two, letters, round_robin,
        left_by_the_program, numbered_by_value, of_a_class,
    ],
)  # fmt: skip
def test_iterators_that_captured_loops_ask(function):
    jitted = phlox.jit(function)
    for x in (
        np.array([1, 0, 1, 1, 0, 0, 2] * 10),
        np.array([0, 0, 1, 0, 0, 0, 0] * 10),
        np.zeros(70, int),
        np.array([1, 2, 0]),
    ):
        assert repr(jitted(x)) == repr(function(x))


class Positive:
    def __init__(self, values):
        self.values = values

    def __iter__(self):
        return (v for v in self.values if v > 0)


class PositiveOfList(Positive):
    def __iter__(self):
        return iter([v for v in self.values if v > 0])


@pytest.mark.parametrize("made", [Positive, PositiveOfList])
def test_generator_expressions_go_over_objects_of_which_the_program_decides_what_they_give(made):
    def gone_over(x):
        values = made(x)
        return sum(v * 2 for v in values), sum(1 for _ in values), [v + 1 for v in values], max(map(abs, values))

    jitted = phlox.jit(gone_over)
    for x in (np.array([1.0, -2.0, 3.0]), np.array([-1.0, 2.0, -5.0])):
        assert repr(jitted(x)) == repr(gone_over(x))


def generators_of_an_iterator(x):
    numbers, letters = itertools.count(), iter("abcdef")

    def doubled():
        for number in numbers:
            yield 2 * number

    def repeated(values):
        for value in values:
            yield value * 2

    made, texts, few = doubled(), repeated(letters), itertools.takewhile(lambda v: v < 99, numbers)
    return next(made), next(made), next(numbers), next(texts), next(letters), next(few), next(few), next(numbers), x[0]


def generators_of_a_zip(x):
    pairs = zip([1, 2, 3, 4], "abcd")

    def joined():
        for number, letter in pairs:
            yield letter * number

    made = joined()
    return next(made), next(made), next(pairs), x[0]


def endless_groups(x):
    groups = itertools.groupby(enumerate(itertools.count()), key=lambda pair: pair[0] // 3)
    lengths = [len(list(next(groups)[1])) for _ in range(3)]
    for total in itertools.accumulate(itertools.count(1)):
        if total > x[0] + 9:
            break
    for first, second in itertools.pairwise(itertools.count()):
        if first * second > 50:
            return lengths, total, first


@pytest.mark.parametrize("function", [generators_of_an_iterator, generators_of_a_zip, endless_groups])
def test_generators_ask_iterators_for_as_many_elements_as_python_does(function):
    jitted = phlox.jit(function)
    for x in (np.array([1.0, -2.0]), np.array([20.0, 2.0])):
        assert repr(jitted(x)) == repr(function(x))
