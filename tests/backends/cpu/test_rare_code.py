"""Functions that take no part of a call's time are compiled without LLVM's optimizations."""

import numpy as np
from phlox import jit
from phlox.backends.cpu.backend import CpuBackend
from phlox.backends.cpu.module_parts import parts_by_level


def step(x, y, bias):
    """A large product, and what is small beside it: sums of columns, twice, and what is made of them."""
    product = x @ y
    total = np.sum(bias * bias, axis=0) + np.max(bias, axis=0)
    for _ in range(3):
        total = np.sqrt(np.abs(total) + 1) * np.sum(np.tanh(bias) * total, axis=1)[:64]
    return product, total


def arguments():
    draw = np.random.default_rng(0).standard_normal
    return [draw(shape).astype(np.float32) for shape in ((900, 900), (900, 900), (64, 64))]


def test_what_is_small_beside_a_product_is_compiled_apart():
    given = arguments()
    lowered = jit(step).lower(*given)
    written = CpuBackend()._written(lowered.module)
    usual, rare = parts_by_level(written.llvm_ir, written.rare)
    assert len(rare) == 1
    for name in written.rare:
        assert f'define i32 @"{name}"(' in rare[0]
        assert not any(f'define i32 @"{name}"(' in part for part in usual)
    product, total = lowered.compile()(*given)
    expected_product, expected_total = step(*given)
    np.testing.assert_allclose(product, expected_product, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(total, expected_total, rtol=1e-4)


def test_what_is_all_that_a_call_does_is_not():
    written = CpuBackend()._written(jit(lambda x: np.sum(np.tanh(x), axis=1)).lower(np.ones((100, 100))).module)
    assert written.rare <= {"kernel"}
    assert parts_by_level(written.llvm_ir, written.rare) == ([written.llvm_ir], [])


def test_what_a_loop_calls_is_not():
    def repeated(x, y, bias, rounds):
        for _ in range(rounds):
            bias = np.tanh(bias.T) + np.sum(bias, axis=0)
        return x @ y, bias

    def once(x, y, bias, rounds):
        return x @ y, np.tanh(bias.T) + np.sum(bias, axis=0)

    rare = [CpuBackend()._written(jit(f).lower(*arguments(), 1000).module).rare for f in (repeated, once)]
    assert all(name.startswith("dot") for name in rare[0])
    assert not all(name.startswith("dot") for name in rare[1])
