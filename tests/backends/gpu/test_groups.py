"""Products, loops and reductions that need nothing of each other run together, and give what they do one by one."""

import re

import numpy as np
import pytest
from gpu_backends import backend_or_skip
from phlox import jit
from phlox.backends.gpu import backend as gpu_backend
from phlox.backends.gpu import loop_groups
from phlox.backends.gpu.alike_fusion import GROUP_ALIKE
from phlox.backends.gpu.loop_groups import GROUP_LOOPS
from phlox.backends.gpu.pipeline import PIPELINE
from phlox.backends.gpu.plan import Launch, Point, While, inside
from phlox.backends.gpu.targets.nvptx import nvptx_target

pytestmark = pytest.mark.of_gpus

WITHOUT = tuple([step for step in PIPELINE if step not in (GROUP_ALIKE, GROUP_LOOPS)])


def numbers(*sizes, seed=0):
    return np.random.default_rng([seed, *sizes]).standard_normal(sizes).astype(np.float32)


def launches(plan):
    """The kernels of a plan, and how many run together in each."""
    steps = [step for step in inside(plan.steps) if isinstance(step, Launch)]
    return [(re.sub(r"_\d+(_if_\d+)?$", "", step.kernel), step.grid[2]) for step in steps]


def plan_of(function, *arguments):
    return gpu_backend.program_of(jit(function).lower(*arguments).module, nvptx_target("sm_90a")).plan


def check(function, arguments, expected, monkeypatch):
    """Run with these launches, and with each instruction's own: the results are the same, bit by bit, and NumPy's."""
    place = backend_or_skip("opencl")
    module = jit(function).lower(*arguments).module
    executable = place.compile(module)
    assert sorted(launches(executable.program.plan)) == sorted(expected)
    with monkeypatch.context() as patch:
        patch.setattr(gpu_backend, "PIPELINE", WITHOUT)
        plain = place.compile(module)
    assert len(launches(plain.program.plan)) > len(expected)
    for one, other, numpys in zip(executable(*arguments), plain(*arguments), function(*arguments), strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_allclose(one, numpys, rtol=0, atol=1e-5 * max(1, np.abs(numpys).max()))


def test_products_of_all_kinds(monkeypatch):
    def function(x, v, w, bias, y, z, long, tall, other, a, b):
        products = [x @ v, x @ w, y @ x]  # the last one is of other shapes
        activated = [np.tanh(y @ v + bias), np.tanh(z @ v + bias), np.sin(y @ w)]  # two functions
        return (*products, *activated, long @ tall, long @ other, v @ a, w @ b)

    arguments = (
        numbers(48, 48), numbers(48, 48, seed=1), numbers(48, 48, seed=2), numbers(48), numbers(33, 48),
        numbers(33, 48, seed=1), numbers(40, 2000), numbers(2000, 24), numbers(2000, 24, seed=1), numbers(48, seed=1),
        numbers(48, seed=2),
    )  # fmt: skip
    one, two = ("product", 1), ("product", 2)
    check(function, arguments, [two, one, two, one, two, ("product_parts", 2), ("vector_product", 2)], monkeypatch)


def test_reductions(monkeypatch):
    def function(x, y):
        return (x * x).sum(axis=0), (y * y).sum(axis=0), x.max(axis=0), y.max(axis=0)

    arguments = numbers(5000, 40), numbers(5000, 40, seed=1)
    # All four of them, by two codes.
    check(function, arguments, [("reduce_columns", 1), ("reduce_parts", 1)], monkeypatch)


def test_in_loops():
    def function(x, v, w, rounds):
        y = x
        for _ in range(rounds):
            x, y = np.tanh(y @ v), np.tanh(x @ w)
        return x, y

    backend_or_skip("opencl")
    given = numbers(24, 24), 0.2 * numbers(24, 24, seed=1), 0.2 * numbers(24, 24, seed=2), 30
    # Small ones are phases of one kernel.
    assert {kernel for kernel, _ in launches(plan_of(function, *given))} == {"scalars", "loop"}
    large = plan_of(function, *[np.empty((512, 512), np.float32)] * 3, 30)
    assert ("product", 2) in launches(large)
    for one, other in zip(jit(function, backend="opencl")(*given), function(*given)):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-4)


# --- which of them do ---


def test_one_that_needs_another_does_not_run_with_it():
    x = numbers(40, 40)
    assert launches(plan_of(lambda x: x @ x @ x, x)) == [("product", 1)] * 2
    assert launches(plan_of(lambda x: np.cumsum(x @ x, axis=0) @ x, x))[0] == ("product", 1)


def test_those_between_which_something_comes_do():
    def function(x, v, w):
        first = np.cumsum(x @ v, axis=0)
        return first, x @ w

    assert ("product", 2) in launches(plan_of(function, numbers(40, 40), numbers(40, 40, seed=1), numbers(40, 40, seed=2)))


def test_large_ones_run_alone():
    x, v, w = (np.empty((1024, 1024), np.float32) for _ in range(3))
    assert ("product", 1) in launches(plan_of(lambda x, v, w: (x @ v, x @ w), x, v, w))


def test_at_most_eight_run_together():
    w = tuple([numbers(16, 16, seed=seed) for seed in range(10)])
    plan = plan_of(lambda x, w: [x @ one for one in w], numbers(16, 16), w)
    assert sorted(launches(plan)) == [("product", 2), ("product", 8)]


def test_loops_and_reductions_of_different_forms(monkeypatch):
    def function(x, y, z, w):
        return x.sum(), (y * y).sum(axis=0), y + x.sum(), z.T + w, np.flip(x) * np.float32(3)

    # The sum is needed by a loop of its own.
    expected = [("reduce_rows_reduce_columns_transpose_and_more", 1), ("add", 1)]
    check(function, (numbers(300), numbers(600, 24), numbers(70, 33), numbers(33, 70)), expected, monkeypatch)


def test_a_step_of_an_optimizer_is_one_launch(monkeypatch):
    def function(weights, gradients, means, squares):
        means = [np.float32(0.9) * m + np.float32(0.1) * g for m, g in zip(means, gradients)]
        squares = [np.float32(0.99) * s + np.float32(0.01) * g * g for s, g in zip(squares, gradients)]
        steps = zip(weights, means, squares)
        return *means, *squares, *[w - m / (np.sqrt(np.abs(s)) + 1) for w, m, s in steps]

    sizes = (40, 30), (30,), (30, 5), (5,), (40, 30)
    arguments = [tuple([numbers(*one, seed=place + 9 * seed) for place, one in enumerate(sizes)]) for seed in range(4)]
    check(lambda *given: function(*[given[n : n + 5] for n in range(0, 20, 5)]), sum(arguments, ()), [("add", 1)], monkeypatch)


def test_arrays_of_a_loop_are_written_where_they_lie():
    def function(x, y, rounds):
        for _ in range(rounds):
            x = np.float32(0.5) * x + 1
            y = np.tanh(y) - 1
        return x, y

    backend_or_skip("opencl")
    given = numbers(70_000), numbers(300, 257), 7
    (loop,) = [step for step in plan_of(function, *given).steps if isinstance(step, While)]
    assert [type(step) for step in loop.body][:1] == [Launch] and loop.body[0].kernel.startswith("add_subtract")
    assert not any(isinstance(step, Point) for step in inside(loop.body))
    for one, other in zip(jit(function, backend="opencl")(*given), function(*given)):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_what_another_one_reads_is_not_written_over():
    """In a group blocks of all members run at the same time."""

    def function(x, y, rounds):
        for _ in range(rounds):
            x, y = np.float32(0.5) * x + 1, x[:40_000] - np.float32(0.25) * y
        return x, y

    backend_or_skip("opencl")
    given = numbers(70_000), numbers(40_000), 7
    for one, other in zip(jit(function, backend="opencl")(*given), function(*given)):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_loops_of_several_sizes_share_their_code():
    def function(*arrays):
        return [np.sqrt(np.abs(one)) / (one * one + 3) for one in arrays]

    def code(*sizes):
        return gpu_backend.program_of(jit(function).lower(*map(numbers, sizes)).module, nvptx_target("sm_90a")).llvm_ir

    assert 1 <= code(1200).count(" fdiv ") == code(1200, 32, 4000, 8).count(" fdiv ")
    backend_or_skip("opencl")
    for sizes in ((1200, 32, 4000, 8), (1, 7), (4, 7, 300)):  # of one vector the place is known
        given = [numbers(size) for size in sizes]
        for one, other in zip(jit(function, backend="opencl")(*given), function(*given)):
            np.testing.assert_array_equal(one, other)


def test_members_of_groups_that_are_given_up_stand_where_others_find_them(monkeypatch):
    """A group whose code is needed elsewhere, too, is none where that would be too much."""

    def function(x, y):
        first = np.sort(np.exp(x))
        second = np.cos(first)
        before = np.tanh(y)
        return before, np.sin(before[::-1]), second, np.exp(np.sort(second))

    given = numbers(40), numbers(50)
    exponentials = [kernel for kernel, _ in launches(plan_of(function, *given)) if "exp" in kernel]
    assert exponentials == ["exponential_tanh", "exponential"]
    monkeypatch.setattr(loop_groups, "_MOST_CODE_MORE", 0)
    found = [kernel for kernel, _ in launches(plan_of(function, *given)) if kernel != "sort"]
    assert found == ["exponential", "tanh", "cosine_sine", "exponential"]
