"""Containers in a list or a dict are changed where the program decides which one it is."""

import numpy as np
import phlox
import pytest
import undecorated

from .test_keys import check

CALLS = [(np.array(values),) for values in ([3, 1, 3, 2, 1, 3, 7, 7], [0, 1, 2, 0, 1, 2, 0, 1], [5] * 8)]
PROGRAMS = []


def program(function):
    PROGRAMS.append(pytest.param(function, id=function.__name__))
    return function


@program
def dealt(x):
    hands = [[] for _ in range(3)]
    for value in x:
        hands[value % 3].append(value)
    return hands, [sorted(hand) for hand in hands]


@program
def arrays_changed(x):
    rows, named = [np.zeros(3), np.ones(3)], {"even": np.zeros(2), "odd": np.ones(3, np.int64)}
    layers, first = [{"w": np.zeros(2)}, {"w": np.ones(2)}], rows[0]
    for value in x:
        rows[value % 2] += value
        rows[value % 2][1] *= 0.5
        rows[-(value % 2)][:2] -= 1
        name = "odd" if value % 2 else "even"
        named[name] += int(value)
        named[name][0] = 7
        layers[value % 2]["w"] *= value
    return rows, named, first, layers


@program
def rows_changed(x):
    rows = [[float(value) + i for value in x[:4]] for i in range(4)]
    place = int(x[0]) % 4
    for row in range(4):
        rows[row][place] -= 2
    rows[place][place] += 1
    rows[place][0] = -1.0
    return rows, rows[place][1]


@program
def neighbours(x):
    following = [[] for _ in range(10)]
    for u in range(len(x) - 1):
        following[x[u]].append(int(x[u + 1]))
    total = 0
    for value in following[x[0]]:
        total += value
    return following, total, len(following[x[1]])


@program
def groups(x):
    found = {0: [], 1: [], 2: []}
    for value in x.tolist():
        found[value % 3].append(value)
    return found


@program
def one_list_at_two_places(x):
    row = [0, 0]
    rows = [row, row, [1, 2]]
    rows[x[0] % 3][1] = 9
    rows[x[1] % 3][x[2] % 2] += 4
    return rows, row, rows[0] is row


@program
def sets_and_stacks(x):
    buckets, stacks = [set() for _ in range(4)], [[1], [2], [3]]
    for value in x.tolist():
        buckets[value % 4].add(value)
    return buckets, stacks[x[1] % 3].pop(), stacks


@program
def out_of_range(x):
    stacks = [[], [], []]
    for value in x:
        stacks[value].append(value)
    return stacks


@program
def two_deep(x):
    table = [[[], []], [[], []]]
    for value in x.tolist():
        table[value % 2][value % 3 % 2].append(value)
    del table[x[0] % 2][0]
    return table


@program
def rows_of_other_lengths(x):
    table = [[x[0]], [x[1], x[2]], [x[3], x[4], x[5]]]
    row = table[x[6] % 3]
    table[1][0] = x[7]
    row.append(x[0])
    return row, table, sum(row), row[-1], (x[:2], x[3:7])[x[5] % 2].sum()


@program
def one_of_several_that_are_results(x):
    a, b, c = [x[0]], [x[1], x[2]], [x[:3], {"k": [1]}]
    chosen = [a, b, c][x[3] % 3]
    return chosen, c, (a, chosen), [b, c]


@program
def a_triangle(x, n=4):
    rows = []
    for i in range(n):
        row = [x[i]]
        for j in range(1, i + 1):
            row.append(row[j - 1] + rows[i - 1][j - 1])
        rows.append(row)
    return rows, [len(row) for row in rows]


@program
def unpacked_of_open_lengths(x):
    one, two = [x[0]], [x[1], x[2]]
    for v in x[3:5]:
        if v % 2:
            one.append(v)
        else:
            two.append(v)
    chosen = one if x[5] % 2 else two
    first, *others = chosen
    try:
        a, b = chosen
    except ValueError as error:
        return first, others, "not" in str(error)
    return first, others, a, b


def test_results_that_are_one_object():
    def several(x):
        a, b, c = [x[0]], [x[1], x[2]], {"k": x[3]}
        chosen = [a, b, c][x[3] % 3]
        return chosen, [a, b], c, (chosen, c)

    compiled = phlox.jit(several)
    for number in (0, 1, 2, 1):
        chosen, lists, last, again = compiled(np.array([5, 6, 7, number]))
        assert chosen is [*lists, last][number] is again[0]
        assert again[1] is last


@pytest.mark.parametrize("function", PROGRAMS)
def test_one_of_several(function):
    check(function, CALLS)


def read_where_it_holds_any(x):
    """Two lists that stay empty: what reads them is traced before anything says of which type their elements are."""
    first, second, total = [], [], 0
    for v in x:
        one, other = (first, second) if v % 3 else (second, first)
        while other and other[0] < v:
            total += other[-1] + other.pop()
        for item in one:
            total += item
    return total


def caught(x):
    first, second, total = [], [], 0
    for v in x:
        one, other = (first, second) if v % 3 else (second, first)
        try:
            total += other[0] - len(one)
        except IndexError:
            total += 2
    return total


@pytest.mark.parametrize("function", [read_where_it_holds_any, caught])
def test_lists_that_stay_empty(function):
    check(function, CALLS)
    lowered = [phlox.jit(function).lower(np.arange(count)) for count in (40, 80)]
    sizes = [sum(len(computation.instructions) for computation in one.module.computations()) for one in lowered]
    assert sizes[0] == sizes[1]


def test_lists_that_stay_empty_have_no_elements():
    @phlox.jit
    def first_of_other(x):
        first, second, total = [], [], 0
        for v in x:
            one, other = (first, second) if v % 3 else (second, first)
            total += other[0] - len(one)
        return total

    with pytest.raises(IndexError, match="^list index out of range$"):
        first_of_other(np.arange(40))


def test_an_array_is_changed_in_place_by_one_of_several_values():
    def changed(x, k):
        factor, shift, other = x + 1, None, x
        if k > 0:
            factor, shift = 2, x[::-1].copy()
        x *= factor
        if shift is not None:
            x -= shift
        return other.sum()

    for k in (0, 1):
        undecorated.check(changed, np.arange(3.0), k)


class Individual:
    def __init__(self, fitness):
        self.fitness = fitness


def greatest(x):
    population = [Individual(fitness) for fitness in x]
    best = max(population, key=lambda one: one.fitness)
    best.fitness -= 1
    return best.fitness, [one is best for one in population], [one.fitness for one in population]


def least_by_a_loop(x):
    population = [Individual(fitness) for fitness in x]
    best = population[0]
    for one in population:
        if one.fitness < best.fitness:
            best = one
    return best.fitness


@pytest.mark.parametrize("function", [greatest, least_by_a_loop])
def test_objects_of_which_one_is_chosen_may_be_many(function):
    jitted = undecorated.check(function, np.sin(np.arange(40.0)))
    undecorated.check(jitted, np.cos(np.arange(40.0)))
