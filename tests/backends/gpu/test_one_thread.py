"""Loops over elements on devices: one thread, which keeps scalars to itself, left where no one knows how long it runs."""

import zlib
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from gpu_backends import processor_backend, target
from phlox import jit
from phlox.backends.cpu.target import level_target
from phlox.backends.gpu import backend as gpu_backend
from phlox.backends.gpu.most_rounds import most_rounds
from phlox.backends.gpu.plan import Launch, While, inside
from phlox.backends.gpu.targets.spirv import spirv_target
from phlox.backends.registry import in_place_of
from phlox.compile import run_steps
from phlox.hlo import parse_module
from thinning import LEFT_TO_CI, left_to_ci

X = np.random.default_rng(0).normal(size=12)
A = np.random.default_rng(1).normal(size=(6, 6)) + 6 * np.eye(6)


def eliminated(a):
    for k in range(len(a)):
        for i in range(k + 1, len(a)):
            a[i, k] /= a[k, k]
            for j in range(k + 1, len(a)):
                a[i, j] -= a[i, k] * a[k, j]
    return a


def inserted(x):
    for i in range(1, len(x)):
        value, j = x[i], i - 1
        while j >= 0 and x[j] > value:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = value
    return x


def halved(x):
    """Nobody knows how often."""
    for i in range(len(x)):
        while abs(x[i]) > 1e-3:
            x[i] *= 0.5
    return x


def of_all_types(x):
    """Scalars of several types, carried from one round to the next of loops that are left."""
    half, byte, wide, single, odd = np.float16(1), np.int8(3), 1 + 2j, np.complex64(1j), False
    for i in range(len(x)):
        while abs(x[i]) > 0.1:
            x[i] *= 0.5
            half = np.float16(half * np.float16(1.5)) if half < 100 else np.float16(1)
            byte = np.int8(-byte)
            wide = wide * (0.5 + x[i] * 1j)
            single = np.complex64(single * np.complex64(0.5j) + np.complex64(1))
            odd = not odd
    return x, half, byte, wide, single, odd


def two_in_sequence(x):
    """A number that the first loop leaves decides about the second one, and array operations stand around both."""
    x = np.sqrt(np.abs(x)) - 0.5
    last = 0
    for i in range(len(x)):
        if x[i] > 0:
            last = i
            if i > 8:
                break
    total = 0.0
    while last > 0:
        total += x[last] * last
        last -= 2 if x[last] > 0.2 else 1
    return x * total, last


def bounds(function, *arguments):
    module = parse_module(jit(function).lower(*arguments).as_text())
    prepared = dict(run_steps(module, gpu_backend.pipeline_of(processor_backend().target)))["insert-copies"]
    return sorted(most_rounds(prepared.entry).values())


def test_how_many_rounds_loops_have_at_most():
    assert bounds(eliminated, A) == [5, 5, 6]
    assert bounds(inserted, X) == [11, 11]
    assert bounds(halved, X) == []


@left_to_ci
@pytest.mark.parametrize("phases", [1, 7, 1 << 20])
@pytest.mark.parametrize("function", [of_all_types, two_in_sequence, inserted, halved])
def test_loops_that_are_left_are_gone_on_with(monkeypatch, function, phases):
    backend = processor_backend()
    monkeypatch.setattr(backend, "target", replace(backend.target, phases=phases))
    with in_place_of("opencl", backend):
        assert_as_python(function, X, "opencl")


def assert_as_python(function, x, backend):
    found, expected = jit(function, backend=backend)(x.copy()), function(x.copy())
    if not isinstance(expected, tuple):
        found, expected = (found,), (expected,)
    for one, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, wanted, rtol=2e-3)


@left_to_ci
@pytest.mark.parametrize("phases", [3, 1 << 14])
@pytest.mark.parametrize(("function", "x"), [(of_all_types, X[:4]), (two_in_sequence, X), (eliminated, A), (inserted, X)])
@pytest.mark.parametrize("architecture", ["sm_90a", "gfx942"])
def test_loops_of_one_thread_on_emulated_devices(emulated, monkeypatch, architecture, function, x, phases):
    backend = emulated(architecture)
    monkeypatch.setattr(backend, "target", replace(backend.target, phases=phases))
    assert_as_python(function, x, "emulated")


def plan_of(monkeypatch, given, function, *arguments):
    monkeypatch.setattr(gpu_backend, "compile_kernels", lambda llvm_ir, target: b"")
    return gpu_backend.program_of(parse_module(jit(function).lower(*arguments).as_text()), given).plan


@pytest.mark.parametrize(("function", "argument"), [pytest.param(eliminated, A, marks=LEFT_TO_CI), (inserted, X)])
def test_loops_that_are_over_soon_are_one_launch(monkeypatch, function, argument):
    plan = plan_of(monkeypatch, processor_backend().target, function, argument)
    assert [type(step) for step in plan.steps] == [Launch], plan.as_text()


@left_to_ci
def test_rows_that_are_written_into_a_large_array_take_as_long_as_they_are(monkeypatch):
    def summed(x):
        for i in range(1, len(x)):
            x[i] += x[i - 1]
            x[i, 1:] = np.minimum(x[i, 1:], x[i - 1, :-1])
        return x

    plan = plan_of(monkeypatch, processor_backend().target, summed, np.ones((1000, 1000)))
    assert not any(isinstance(step, While) for step in inside(plan.steps)), plan.as_text()


def test_loops_of_which_nobody_knows_are_repeated_launches(monkeypatch):
    plan = plan_of(monkeypatch, processor_backend().target, halved, X)
    assert Counter(type(step) for step in inside(plan.steps))[While] == 1, plan.as_text()


def test_branches_of_one_thread_are_no_concern_of_the_host(monkeypatch):
    """And all of the program's memory that a launch is given is two pointers."""

    def marked(x):
        for i in range(2, 20):
            if x[i]:
                x[2 * i :: i] = False
        return x

    plan = plan_of(monkeypatch, processor_backend().target, marked, np.ones(100, bool))
    assert {type(step) for step in inside(plan.steps)} == {Launch}, plan.as_text()
    assert max(len(step.arguments) for step in plan.steps) < 10


def test_a_loop_over_elements_is_one_thread_without_barriers(monkeypatch):
    codes = []
    monkeypatch.setattr(gpu_backend, "compile_kernels", lambda llvm_ir, target: codes.append(llvm_ir) or b"")
    module = parse_module(jit(eliminated).lower(A).as_text())
    plan = gpu_backend.program_of(module, target("sm_90a")).plan
    (launch,) = [step for step in inside(plan.steps) if isinstance(step, Launch)]
    assert (launch.grid, launch.block) == ((1, 1, 1), (1, 1, 1))
    assert "barrier" not in codes[0]


def numeral(count):
    """Loops, so many, that cannot be rolled into one."""
    signs = tuple([(count - number, "ab"[: 1 + number % 2]) for number in range(count)])

    def written(n):
        text = ""
        for value, sign in signs:
            while n >= value:
                text += sign
                n -= value
        return text

    return written


@left_to_ci
def test_code_grows_with_the_loops_in_which_it_may_be_left():
    """Not with these times the scalars that are saved there."""

    def length(count):
        module = jit(numeral(count), backend="reference").lower(7).module
        program = gpu_backend.program_of(module, spirv_target(processor=level_target("x86-64-v3")))
        return len(zlib.decompress(program.texts().compressed_llvm_ir))

    assert length(6) < 2.3 * length(3)
