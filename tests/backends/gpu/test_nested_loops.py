"""Nests of loops whose predicates the device computes: one kernel, which is left and gone on with, beside Python."""

from dataclasses import replace

import numpy as np
import pytest
from gpu_backends import processor_backend
from gpu_backends import target as target_of
from opencl_device import opencl_driver
from phlox import jit
from phlox.backends.gpu import backend as gpu_backend
from phlox.backends.gpu.plan import While, inside
from phlox.backends.registry import get_backend
from phlox.hlo import parse_module
from thinning import LEFT_TO_CI, left_to_ci, one_in_all

X = np.random.default_rng(0).normal(size=40)


def loops_in_branches(x, n):
    """Arrays that move between two places in each loop, loops in both branches and behind them, and rounds that are counted."""
    total = 0
    for i in range(4):
        k = 0
        while k < n:
            j = 0
            if (k + i) % 2 == 0:
                while j < k % 4:
                    x = x * 0.9 + np.roll(x, 1) * 0.1
                    j += 1
            else:
                for m in range(3):
                    while np.abs(x).max() > 1 + m:
                        x = np.roll(x, 2) * 0.8
                        j += 1
            total += j
            while j < 3:
                x = x - 0.1 * np.roll(x, i)
                j += 1
            k += 1
        x = x + 1
    return x, total


def searched(x, n):
    """Elements of which each takes another number of rounds."""
    for i in range(x.shape[0]):
        low, high = -100.0, 100.0
        while high - low > 1e-6:
            middle = 0.5 * (low + high)
            if middle * middle * middle < x[i] * n:
                low = middle
            else:
                high = middle
        x[i] = low
    return x


def without_rounds(x, n):
    """Inner loops that end before they begin, so that the outer one alone counts."""
    for _ in range(30):
        while n < 0:
            x = np.roll(x, 1)
            n += 1
        x = x + 0.5
    return x


def counted(x, n):
    """As many rounds as nobody waits for, though it is known how many."""
    for _ in range(200_000):
        x = x * 0.999 + 0.001
    return x


NESTS = [loops_in_branches, searched, without_rounds]


def plan_for(backend, nest, *arguments):
    """The plan of a nest, whose results are Python's."""
    executable = backend.compile(parse_module(jit(nest).lower(*arguments).as_text()))
    expected = nest(*[x.copy() if isinstance(x, np.ndarray) else x for x in arguments])
    found = executable(*map(np.asarray, arguments))
    expected = expected if isinstance(expected, tuple) else (expected,)
    for one, wanted in zip(found, expected):
        np.testing.assert_allclose(one, wanted, rtol=1e-9)
    return executable.program.plan


@left_to_ci
@pytest.mark.parametrize("phases", [1, 5, 1 << 14])
@pytest.mark.parametrize("nest", NESTS)
def test_nests_are_left_and_gone_on_with(monkeypatch, nest, phases):
    opencl_driver()
    backend = get_backend("opencl")
    monkeypatch.setattr(backend, "target", replace(backend.target, phases=phases))
    plan_for(backend, nest, X, 6)


@pytest.mark.parametrize(
    ("nest", "phases"),
    [
        (searched, 3),
        pytest.param(searched, 1 << 14, marks=LEFT_TO_CI),
        pytest.param(loops_in_branches, 3, marks=LEFT_TO_CI),
        pytest.param(loops_in_branches, 1 << 14, marks=LEFT_TO_CI),
        pytest.param(counted, 1 << 14, marks=LEFT_TO_CI),
    ],
)
def test_nests_on_processors(monkeypatch, nest, phases):
    backend = processor_backend()
    monkeypatch.setattr(backend, "target", replace(backend.target, phases=phases))
    plan_for(backend, nest, X, 6)


@left_to_ci
@pytest.mark.parametrize("nest", NESTS)
def test_nests_on_emulated_devices(emulated, monkeypatch, nest):
    backend = emulated("gfx942")
    monkeypatch.setattr(backend, "target", replace(backend.target, phases=20))
    plan_for(backend, nest, X[:5], 3)


def until(step):
    def rounds(x):
        number = 0
        while np.abs(x).max() > 1e-6 and number < 20:
            x = step(x)
            number += 1
        return x, number

    return rounds


def softmax(x):
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


ROUNDS = {
    "branches": (loops_in_branches, (40,), 6),
    "counted": (counted, (40,), 6),
    "softmax": (until(lambda x: x * softmax(x)), (8, 10)),
    "product": (until(lambda x: x @ x * 0.01), (16, 16)),
    "sort": (until(lambda x: np.sort(x) * 0.5), (40,)),
    "factors": (until(lambda x: np.linalg.cholesky(x.T @ x + np.eye(6)) * 0.5), (6, 6)),
    "transform": (until(lambda x: np.fft.fft(x).real * 0.05), (32,)),
}


@pytest.mark.parametrize(("name", "architecture"), one_in_all(4, ROUNDS, ["sm_90a", "gfx942", ""]))
def test_all_of_a_nest_is_one_kernel(monkeypatch, name, architecture):
    """Whatever number of threads a kernel with barriers would have by itself."""
    monkeypatch.setattr(gpu_backend, "compile_kernels", lambda llvm_ir, target: b"")
    nest, shape, *more = ROUNDS[name]
    module = parse_module(jit(nest).lower(np.ones(shape), *more).as_text())
    plan = gpu_backend.program_of(module, target_of(architecture)).plan
    repeated = [step.body for step in inside(plan.steps) if isinstance(step, While)]
    assert repeated
    for body in repeated:
        (launch,) = body
        assert launch.kernel.startswith("loop_")
