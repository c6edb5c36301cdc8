"""Functions that are passed to jitted functions: what they are, and what they read, is looked at at each call."""

import functools

import numpy as np
import phlox
import pytest
from phlox import jit

scale = 2.0


class Spring:
    def __init__(self, stiffness):
        self.stiffness, self.calls = stiffness, 0

    def force(self, x):
        self.calls += 1
        return -self.stiffness * x


def scaled(x):
    return x * scale


def with_factor(factor):
    def multiply(x):
        return x * factor

    def change(value):
        nonlocal factor
        factor = value

    return multiply, change


@jit
def plus_one(function, x):
    return function(x) + 1


@jit
def newton(f, slope, x, tolerance=1e-12, report=None):
    for step in range(100):
        change = f(x) / slope(x)
        x = x - change
        if report is not None:
            report(step)
        if abs(change) < tolerance:
            return x
    raise RuntimeError("no convergence")


def test_functions_and_what_they_read(monkeypatch):
    assert plus_one(scaled, 1.0) == 3.0
    monkeypatch.setitem(globals(), "scale", 7.0)
    assert plus_one(scaled, 1.0) == 8.0
    multiply, change = with_factor(3.0)
    assert plus_one(multiply, 1.0) == 4.0
    change(9.0)
    assert plus_one(multiply, 1.0) == 10.0
    other, _ = with_factor(4.0)
    assert [plus_one(one, 1.0) for one in (other, multiply, other, scaled)] == [5.0, 10.0, 5.0, 8.0]


def test_methods():
    spring, other = Spring(2.0), Spring(7.0)
    assert plus_one(spring.force, 1.0) == -1.0
    spring.stiffness = 5.0
    assert [plus_one(one.force, 1.0) for one in (spring, other, spring)] == [-4.0, -6.0, -4.0]
    assert (spring.calls, other.calls) == (3, 1)
    static = functools.partial(jit, static_argnames="function")(plus_one.__wrapped__)
    assert static(spring.force, 1.0) == -4.0
    spring.stiffness = 3.0
    assert static(spring.force, 1.0) == -2.0


def test_functions_made_for_each_call():
    for factor in range(4):
        assert plus_one(lambda x: x * factor, 1.0) == factor + 1  # noqa: B023, it is called at once
        assert plus_one(lambda x, factor=factor: x * factor, 2.0) == 2 * factor + 1
    before = plus_one.cache_info().misses
    assert [plus_one(lambda x: 3 * x, 1.0) for _ in range(3)] == [4.0] * 3
    assert plus_one.cache_info().misses <= before + 1


def test_functions_of_others():
    tenfold, twentyfold = jit(lambda x: 10 * x), jit(lambda x: 20 * x)
    functions = (tenfold, twentyfold, np.exp2, abs, tenfold)
    assert [plus_one(one, 1.0) for one in functions] == [11.0, 21.0, 3.0, 2.0, 11.0]


def test_several_and_in_containers():
    steps = []
    found = newton(lambda x: x**2 - 2, lambda x: 2 * x, 1.0, report=lambda step: steps.append(step))
    assert abs(found - 2**0.5) < 1e-12 and steps == list(range(len(steps)))
    assert abs(newton(np.sin, np.cos, 3.0) - np.pi) < 1e-12
    compose = jit(lambda functions, x: functools.reduce(lambda value, function: function(value), functions, x))
    assert compose([scaled, lambda v: v + 1], 1.0) == 3.0
    assert compose([lambda v: v + 1, scaled], 1.0) == 4.0
    assert jit(lambda function, x: (function, x))(scaled, 1.0)[0] is scaled


def test_methods_of_containers_are_refused():
    found = []
    with pytest.raises(phlox.StaticArgumentError, match="report is a method of a list.*lambda"):
        newton(np.sin, np.cos, 3.0, report=found.append)
    assert found == []
