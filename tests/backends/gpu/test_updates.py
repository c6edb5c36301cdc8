"""Blocks that are written into arrays: in which kernels they are computed, and what comes of it."""

import numpy as np
import pytest
from gpu_backends import backend_or_skip
from phlox import jit
from phlox.backends.gpu import backend as gpu_backend
from phlox.backends.gpu.plan import Copy, Launch, While, inside
from phlox.backends.gpu.targets.nvptx import nvptx_target


def kernels_of(function, *arguments):
    """The kernels of a plan, and the bytes of copies."""
    plan = gpu_backend.program_of(jit(function).lower(*arguments).module, nvptx_target("sm_90a")).plan
    steps = [step for step in inside(plan.steps) if isinstance(step, Launch | Copy)]
    return [step.kernel.rstrip("0123456789_") if isinstance(step, Launch) else step.size for step in steps]


def numbers(*sizes, seed=0):
    return np.random.default_rng([seed, *sizes]).standard_normal(sizes).astype(np.float32)


def interior(u):
    return u[1:-1, 1:-1] + np.float32(0.1) * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])


def heat_with_fixed_borders(u):
    new = np.zeros_like(u)
    new[1:-1, 1:-1] = interior(u)
    new[0], new[-1] = 0, 1
    new[:, 0], new[:, -1] = 2, u[:, -1]
    return new


def heat_without_flow(u):
    new = np.empty_like(u)
    new[1:-1, 1:-1] = interior(u)
    new[0] = new[1]
    new[-1] = new[-2]
    new[:, 0] = new[:, 1]
    new[:, -1] = new[:, -2]
    return new


def heat_around(u):
    """In place, on a torus."""
    u[1:-1, 1:-1] = interior(u)
    u[0] = u[-2]
    u[-1] = u[1]
    u[:, 0] = u[:, -2]
    u[:, -1] = u[:, 1]
    return u


def parts_that_overlap(u):
    new = 2 * u
    new[2:9, 3:7] = new[1:8, 3:7]
    new[0:6] = new[4:10]
    new[:, 1:] = new[:, :-1]
    return new


def several_blocks(u):
    """Which reads other ones, and scalars."""
    new = np.zeros((3, *u.shape), u.dtype)
    new[0] = u
    new[1:] = np.tanh(u)
    new[2, 3:5, ::2] = u[0, 0]
    new[:, 4] = u.sum()
    return new


@pytest.mark.parametrize(
    "function", [heat_with_fixed_borders, heat_without_flow, heat_around, parts_that_overlap], ids=lambda one: one.__name__
)
def test_as_a_whole(function):
    u = numbers(37, 26)
    assert len(kernels_of(function, u)) == 1
    place = backend_or_skip("opencl")
    np.testing.assert_allclose(jit(function, backend=place.name)(u.copy()), function(u.copy()), rtol=0, atol=1e-5)


def test_with_other_blocks():
    u = numbers(11, 12)
    place = backend_or_skip("opencl")
    np.testing.assert_allclose(jit(several_blocks, backend=place.name)(u), several_blocks(u), rtol=0, atol=1e-5)


def borders_alone(u):
    u[0] = u[1] * np.float32(0.5)
    u[-1] = 3
    u[:, 0] = u[:, -1]
    return u


def neighbours_of_what_is_written(u):
    """Which is computed before it is written."""
    u[2:5] = u[1:4] + u[3:6]
    return u


@pytest.mark.parametrize(
    "function, kernels",
    [(borders_alone, ["multiply", "broadcast", "slice"]), (neighbours_of_what_is_written, ["add", "copy"])],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_what_is_there_is_left_where_it_lies(function, kernels):
    u = numbers(37, 26)
    found = kernels_of(function, u)
    assert sorted(map(str, found)) == sorted(map(str, [*kernels, u.nbytes]))
    place = backend_or_skip("opencl")
    np.testing.assert_array_equal(jit(function, backend=place.name)(u.copy()), function(u.copy()))


def test_a_loop_changes_between_two_arrays():
    """Which are there, and none is copied from round to round."""

    def function(u, rounds):
        for _ in range(rounds):
            u[1:-1, 1:-1] = interior(u)
            u[0] = u[1]
        return u

    place = backend_or_skip("opencl")
    given = numbers(300, 260), 5
    plan = gpu_backend.program_of(jit(function).lower(*given).module, nvptx_target("sm_90a")).plan
    (loop,) = [step for step in plan.steps if isinstance(step, While)]
    assert not any(isinstance(step, Copy) for step in inside(loop.body))
    assert sum(isinstance(step, Launch) and step.grid[0] > 1 for step in loop.body) == 1
    np.testing.assert_allclose(
        jit(function, backend=place.name)(given[0].copy(), 5), function(given[0].copy(), 5), rtol=0, atol=1e-4
    )


def add_at(x, i, v):
    np.add.at(x, i, np.sqrt(v))
    return x


def largest_at(x, i, v):
    y = 2 * x
    np.maximum.at(y, i, v)
    return y


def set_at(x, i, v):
    y = 2 * x
    y[i] = 3 * v
    return y


@pytest.mark.parametrize("size", [1, 5])
@pytest.mark.parametrize("function", [add_at, largest_at, set_at])
def test_one_place_that_an_array_names(backend, function, size):
    """A scatter, not a block that is updated, though both have one operand of one element."""
    x, i, v = np.arange(size) + 0.5, np.array([size - 1]), np.array([16.0])
    np.testing.assert_array_equal(jit(function, backend=backend.name)(x.copy(), i, v), function(x.copy(), i, v))
