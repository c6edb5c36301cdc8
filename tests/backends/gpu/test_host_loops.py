"""Loops whose rounds call the host, where that is the device: the host runs all of the loop."""

import traceback

import numpy as np
import pytest
from gpu_backends import processor_backend
from phlox import host_call, jit
from phlox.backends.gpu.plan import HostCall, Launch, While, inside
from phlox.backends.registry import in_place_of
from thinning import left_to_ci


@pytest.fixture
def backend():
    backend = processor_backend()
    with in_place_of("opencl", backend):
        yield backend


def steps_of(compiled, *arguments):
    return list(inside(compiled.compile(*arguments).executable.program.plan.steps))


def solved_until(a, x, table):
    rounds = 0
    while np.abs(x).max() > 1e-3:
        x = np.linalg.solve(a, x) * table[rounds % 4]
        rounds += 1
    return x, rounds, table


def solved_in_turn(a, b):
    """Two parts of the state that begin as the same array, of which one changes."""
    first, second = b, b
    for _ in range(3):
        first = np.linalg.solve(a, first + second)
    return first, second, b


def drawn(rng, x):
    walk = np.zeros(20)
    for i in range(1, 20):
        walk[i] = walk[i - 1] + rng.normal() if rng.random() < 0.5 else x[rng.integers(4)]
    return walk


@pytest.mark.parametrize("start", [1.0, 1e-4], ids=["some rounds", "none"])
def test_linear_algebra_in_loops(backend, start):
    a, x = np.array([[4.0, 1], [1, 3]]), np.full(2, start)
    compiled = jit(solved_until, backend="opencl")
    for _ in range(2):
        found, expected = compiled(a, x, np.arange(1.0, 5)), solved_until(a, x, np.arange(1.0, 5))
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
        np.testing.assert_equal(found[1:], expected[1:])
    assert not any(isinstance(step, While) for step in steps_of(compiled, a, x, np.arange(1.0, 5)))


@left_to_ci
def test_state_that_begins_as_one_array(backend):
    a, b = np.array([[4.0, 1], [1, 3]]), np.arange(2.0)
    for found, expected in zip(jit(solved_in_turn, backend="opencl")(a, b), solved_in_turn(a, b), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@left_to_ci
def test_operands_that_are_the_same(backend):
    a = np.eye(200) * 2 + 1
    np.testing.assert_allclose(jit(lambda a: np.linalg.solve(a, a), backend="opencl")(a), np.eye(200), atol=1e-12)


def test_draws_in_loops(backend):
    compiled, ours, theirs, x = jit(drawn, backend="opencl"), np.random.default_rng(3), np.random.default_rng(3), np.arange(4.0)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(ours, x), drawn(theirs, x))
    assert not any(isinstance(step, While) for step in steps_of(compiled, ours, x))


@left_to_ci
def test_errors_of_python_have_their_line(backend):
    def bounded(x):
        if x > 4:
            raise ValueError("too much")
        return x

    def total(x):
        found = 0.0
        for i in range(10):
            found += host_call(bounded, np.float64(0), x * i)
        return found

    compiled = jit(total, backend="opencl")
    assert compiled(0.25) == total(0.25)
    with pytest.raises(ValueError, match="too much") as raised:
        compiled(1.0)
    lines = [entry.line for entry in traceback.extract_tb(raised.value.__traceback__)]
    assert "found += host_call(bounded, np.float64(0), x * i)" in lines


@left_to_ci
def test_what_threads_share_stays_a_loop(backend):
    def long(rng, x):
        for _ in range(3):
            x = np.exp(x * rng.random() - 2)
        return x

    x, compiled = np.linspace(0, 1, 300_000), jit(long, backend="opencl")
    np.testing.assert_allclose(compiled(np.random.default_rng(1), x), long(np.random.default_rng(1), x), rtol=1e-14)
    steps = steps_of(compiled, np.random.default_rng(1), x)
    assert {type(step) for step in steps} >= {Launch, HostCall}
    assert any(isinstance(step, Launch) and step.grid[0] > 1 for step in steps)


@left_to_ci
def test_python_may_call_the_program_again(backend):
    """The entry that runs it is busy then."""
    depth = []

    def deeper(x):
        if len(depth) == 3:
            return x
        depth.append(x)
        found = compiled(x + 1)
        depth.pop()
        return found

    def twice(x):
        for _ in range(2):
            x = host_call(deeper, np.float64(0), x * 2)
        return x

    def expected(x, depth):
        for _ in range(2):
            x = x * 2 if depth == 3 else expected(x * 2 + 1, depth + 1)
        return x

    compiled = jit(twice, backend="opencl")
    for x in (0.5, 1.5):
        assert compiled(x) == expected(x, 0)
