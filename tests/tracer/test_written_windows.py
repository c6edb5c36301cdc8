"""Slices whose ends are a known distance apart, and that may reach beyond what they are taken of, are written."""

import numpy as np
import pytest
from phlox import jit
from phlox.compile.carried_sizes import carried_sizes
from phlox.compile.in_place import in_place_operands
from phlox.compile.live_sizes import live_sizes
from phlox.compile.scalars_first import scalars_first
from phlox.hlo import parse_module


def windows(x, n):
    for i in range(-3, n):
        x[i : i + 4] += i
        x[2 * i : 2 * (i + 1)] = x[i]
    return x


def between_a_place_and_one_before(x, n):
    for i in range(-3, n):
        x[i + 1 : i] += i
        x[i - 1 : i - 3] *= 0.5
    return x[n - 1 : n - 2].sum()


def windows_of_tables(x, n):
    table = np.stack([x, -x, 2 * x])
    for i in range(-3, n):
        table[i % 3, i : i + 5] += table[1, i + 1 : i + 6].sum()
        table[i : i + 2, i - 2 : i + 1] = i
    return table


@pytest.mark.parametrize("function", [windows, between_a_place_and_one_before, windows_of_tables])
@pytest.mark.parametrize("n", [4, 9])
def test_neighbours_between_places_are_written(function, n):
    x = np.arange(9.0)
    expected = x.copy()
    np.testing.assert_array_equal(function(expected, n), jit(function)(x, n))
    np.testing.assert_array_equal(x, expected)


def turned_round(x, places):
    for i, j in places:
        x[i:j] = x[i:j][::-1]
    return x


def pushed_back(x, places):
    for i, j in places:
        x[i + 1 : j + 1] = x[i:j]
    return x


@pytest.mark.parametrize("function", [turned_round, pushed_back])
def test_what_is_computed_of_the_array_that_it_is_written_to_is_as_long_as_what_is_written(function):
    draws = np.random.default_rng(4)
    places = np.sort(draws.integers(0, 590, (40, 2)), axis=1)
    x = draws.random(600)
    compiled = jit(function).compile(x, places)
    expected = function(x.copy(), places)
    np.testing.assert_array_equal(jit(function)(x, places), expected)
    (loop,) = [one for one in parse_module(compiled.as_text()).entry.instructions if one.opcode == "while"]
    body = scalars_first(loop.attributes["body"])
    stops = live_sizes(body, carried_sizes(loop))
    nests = [one for one in body.instructions if one.opcode == "fusion" and one.shape.size >= 600]
    assert len(nests) == 2 and all(one in stops or list(in_place_operands(one)) for one in nests)
