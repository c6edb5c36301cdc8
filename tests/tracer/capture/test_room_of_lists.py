"""Lists that are made of others, and grow: the others have no more room for that."""

import re
from collections import deque

import numpy as np
import pytest
from phlox import jit

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
