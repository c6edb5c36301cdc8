"""Lists that are made of others, and grow: the others have no more room for that."""

import re
from collections import deque

import numpy as np
import pytest
from phlox import jit
from phlox.hlo import leaves, parse_module

_DRAWS = np.random.default_rng(3).integers(0, 20, (2, 60)).tolist()


def rounds_with(made):
    def grown(sources, targets, start):
        neighbours = {node: [] for node in range(20)}
        for source, target in zip(sources, targets):
            neighbours[source].append(target)
        found = made(neighbours[start], neighbours[start + 1])
        for k in range(400):
            found.append(k)
        return sum(found), len(found), neighbours[start]

    return grown


@pytest.mark.parametrize(
    "made",
    [
        lambda one, other: list(one),
        lambda one, other: one.copy(),
        lambda one, other: one[1:],
        lambda one, other: [*one, *other],
        lambda one, other: one + [7],
        lambda one, other: deque(one),
    ],
    ids=["list", "copy", "slice", "display", "sum", "deque"],
)
def test_what_grows_is_no_wider_for_those_that_it_was_made_of(made):
    function = rounds_with(made)
    compiled = jit(function)
    assert compiled(*_DRAWS, 4) == function(*_DRAWS, 4)
    tables = re.findall(r"s64\[(20|21),(\d+)\]", compiled.lower(*_DRAWS, 4).as_text())
    assert tables and max(int(room) for _, room in tables) < 100


def first_and_last_of_a_queue(values):
    queue, total = [], 0
    for value in values:
        queue.append(value)
        if value % 3 == 0:
            total += queue.pop(0)
        if value % 7 == 0 and queue:
            total = (total * 3 + queue[0] - queue[-1] + queue[len(queue) // 2]) % 1009
    return total, queue


def middle_of_a_deque(values):
    queue, total = deque(), 0
    for value in values:
        if value % 3 == 0:
            queue.appendleft(value)
        elif value % 3 == 1:
            queue.append(value)
        elif queue:
            total += queue.pop() if value % 2 else queue.popleft()
        if queue:
            total = (total * 3 + queue[len(queue) // 2] + queue[-1]) % 1009
    return total, list(queue)


@pytest.mark.parametrize("function", [first_and_last_of_a_queue, middle_of_a_deque])
def test_what_is_read_in_a_branch_is_written_nowhere_for_that(function):
    compiled = jit(function)
    for seed in range(3):
        values = np.random.default_rng(seed).integers(0, 100, 700).tolist()
        assert compiled(values) == function(values)
    module = parse_module(compiled.lower(values).compile().as_text())
    (loop,) = [one for one in module.entry.instructions if one.opcode == "while"]
    branches = [one for one in loop.attributes["body"].instructions if one.opcode == "conditional"]
    reading = [one for one in branches if all(not shape.rank for shape in leaves(one.shape))]
    assert reading
    for branch in [one for conditional in reading for one in conditional.called_computations]:
        assert not any(one.shape.size > 700 for one in branch.instructions if one.opcode == "fusion")
