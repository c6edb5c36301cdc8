"""A list, a dict or an object that a loop makes anew here and there, that is None before, and that is changed in between."""

import numpy as np
import pytest
from both_ways import assert_alike
from phlox import TracerError, jit
from random_names import RandomNames
from thinning import LEFT_TO_CI
from written_functions import written


class Box:
    def __init__(self, v):
        self.v, self.n = v, 0


def best_dict(x):
    best, total = None, 0.0
    for v in x:
        if v > 0.5:
            best = {"v": v, "n": 0}
        if best is not None:
            best["n"] += 1
            total += best["v"] * best["n"]
    return total, best


def best_list(x):
    best = None
    for v in x:
        if v > 0.9:
            best = [v, 1.0]
        if best:
            best[1] += v
    return best


def run_of_growing_numbers(x):
    current, lengths = None, []
    for v in x:
        if current is None:
            current = [v]
        elif v > current[-1]:
            current.append(v)
        else:
            lengths.append(len(current))
            current = None
    return lengths


def best_object(x):
    best = None
    for v in x:
        if best is None or v > best.v:
            best = Box(v)
        best.n += 1
    return best.v, best.n


def best_object_alone(x):
    best = None
    for v in x:
        if best is None or v > best.v:
            best = Box(v)
    return best.v, best.n


def swapped_rows_that_meet(x):
    a, b, r0, r1 = 1.0, 2.0, [[0.0, 0.0], [0.0, 0.0]], [[0.0, 1.0], [2.0, 0.0]]
    for v in x:
        if v < 0.3:
            r0 = [[v, 3], [1.0, b]]
        else:
            r1 = [[v, b], [0.5, 1.0]]
            if b < 2.5:
                r0, r1 = r1, r0
                r0[0], r0[1] = r0[1], r0[0]
        b += r0[0][1] * 0.25
    return a, b


@pytest.mark.parametrize(
    "function", [best_dict, best_list, run_of_growing_numbers, best_object, best_object_alone, swapped_rows_that_meet]
)
@pytest.mark.parametrize("length", [5, 40, pytest.param(300, marks=LEFT_TO_CI)])
def test_containers_that_may_be_none(function, length):
    jitted = jit(function)
    for seed in range(3):
        x = np.random.default_rng(seed).uniform(size=length)
        assert repr(jitted(x)) == repr(function(x))


def contents_of(results):
    return [vars(one) if hasattr(one, "__dict__") else one for one in results]


@pytest.mark.parametrize("may_be_none", [False, True])
@pytest.mark.parametrize("first", [1120, pytest.param(1125, marks=LEFT_TO_CI), pytest.param(1130, marks=LEFT_TO_CI)])
def test_random_programs_agree_or_are_refused(may_be_none, first):
    refused = 0
    for seed in range(first, first + 5):
        source = RandomNames(seed, may_be_none).text()
        function = written(source, f"<names {seed}>")["program"]
        jitted = jit(function)
        for number in range(2):
            random = np.random.default_rng(number)
            x, y = random.uniform(size=60), random.uniform(size=30)
            try:
                found = jitted(x, y)
            except TracerError:
                refused += 1
                break
            assert_alike(contents_of(found), contents_of(function(x, y)), atol=0)
    assert refused <= 3
