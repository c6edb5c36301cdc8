"""About how long computations take: what is worth dividing among threads is decided by it."""

import numpy as np
from phlox import jit
from phlox.backends.cpu.work_estimate import nanoseconds
from phlox.hlo import parse_module


def estimate(function, *arguments, **options):
    return nanoseconds(parse_module(jit(function).lower(*arguments).as_text()).entry, **options)


def test_products_take_as_long_inside_of_a_program():
    x = np.ones((64, 64))
    one, program = estimate(lambda x: x @ x, x), estimate(lambda x: (x @ x) @ x + 1, x)
    assert 2 * one <= program < 2.5 * one


def test_rounds_of_loops():
    def until_large(x):
        for _ in range(1000):
            x = np.exp(x) - 1
        return x

    x = np.ones(100)
    assert estimate(until_large, x) > 500 * estimate(until_large, x, rounds=1) > 0
