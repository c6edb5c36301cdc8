"""What is changed in an element of a list whose length the program decides is changed in the list, or an error says so."""

from collections import deque
from dataclasses import dataclass

import numpy as np
import pytest
from phlox import jit


@dataclass
class Cell:
    x: float = 0.0
    age: int = 0


class Plain:
    def __init__(self, x=0.0):
        self.x, self.age = x, 0


X = np.array([3.0, -1.0, 4.0, 1.0, -5.0, 9.0])

CHANGES_OF_DEQUES = {
    "append": lambda queue: queue.append(1.0),
    "appendleft": lambda queue: queue.appendleft(1.0),
    "extend": lambda queue: queue.extend([1.0, 2.0]),
    "extendleft": lambda queue: queue.extendleft([1.0, 2.0]),
    "pop": lambda queue: queue.pop(),
    "popleft": lambda queue: queue.popleft(),
    "rotate": lambda queue: queue.rotate(1),
    "clear": lambda queue: queue.clear(),
}


@pytest.mark.parametrize("change", CHANGES_OF_DEQUES.values(), ids=CHANGES_OF_DEQUES)
def test_deques_that_are_elements(change):
    def some(x):
        queues = []
        for value in x:
            if value > 0:
                queues.append(deque([value, 2.0]))
        change(queues[1])
        return queues

    assert repr(jit(some)(X)) == repr(some(X))


MAKERS = {
    "dataclass": (lambda x: Cell(float(x)), lambda one: one.x, lambda one: setattr(one, "age", one.age + 3)),
    "object": (lambda x: Plain(float(x)), lambda one: one.x, lambda one: setattr(one, "age", one.age + 3)),
    "dict": (lambda x: {"x": float(x), "age": 0}, lambda one: one["x"], lambda one: one.update(age=one["age"] + 3)),
    "list": (lambda x: [float(x), 0.0], lambda one: one[0], lambda one: one.append(3.0)),
}


def described(value):
    if isinstance(value, list):
        return list(map(described, value))
    return tuple(map(described, value)) if isinstance(value, tuple) else vars(value) if hasattr(value, "__dict__") else value


def in_a_grid(x, make, key, change):
    grid = [[make(value) for value in x] for _ in range(4)]
    r = int(abs(x[0])) % 4
    change(grid[r][1])
    for one in grid[(r + 1) % 4]:
        change(one)
    row = grid[r]
    change(row[int(abs(x[1])) % 6])
    return grid


def in_a_grid_of_tuples(x, make, key, change):
    grid = [[(k, make(value)) for k, value in enumerate(x)] for _ in range(4)]
    change(grid[int(abs(x[0])) % 4][1][1])
    return grid


def collected(x, make):
    found = []
    for value in x:
        if value > 0:
            found.append(make(value))
    return found


def found_by_a_function(x, make, key, change):
    def find(ones, wanted):
        for one in ones:
            if key(one) == wanted:
                return one
        return None

    ones = collected(x, make)
    one = find(ones, 4.0)
    if one is not None:
        change(one)
    return ones


def found_in_a_loop(x, make, key, change):
    ones = collected(x, make)
    first, last, either = None, None, ones[0]
    for one in ones:
        if key(one) >= 3:
            first = one
            break
    for one in ones:
        if key(one) >= 1:
            last = one
        if key(one) > 4:
            either = one
    if first is not None:
        change(first)
    if last is not None:
        change(last)
    change(either)
    return ones


def found_by_next(x, make, key, change):
    ones = collected(x, make)
    one = next((one for one in ones if key(one) > 3), None)
    if one is not None:
        change(one)
    return ones


def found_in_a_pair(x, make, key, change):
    ones, best = collected(x, make), (0.0, None)
    for one in ones:
        if key(one) > best[0]:
            best = (key(one), one)
    change(best[1])
    return ones


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(
    "function", [in_a_grid, in_a_grid_of_tuples, found_by_a_function, found_in_a_loop, found_by_next, found_in_a_pair]
)
def test_what_is_found_in_a_list_is_changed_there(function, maker):
    def run(x):
        return function(x, *MAKERS[maker])

    decorated = jit(run)
    for x in (X, -X, X):
        assert described(decorated(x)) == described(run(x))
