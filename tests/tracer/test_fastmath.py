"""`jit(fastmath=True)`: products and sums are rounded together, and only there."""

import numpy as np
import pytest
from phlox import jit, load_hlo
from phlox.backends.cpu.target import host_target

# 1 - E * E is rounded to 1, and what is behind it is lost, if the product is rounded by itself.
E = 2.0**-30
X = np.full(100, 1 + E)


def f(x):
    return x * x - (1 + 2 * E)


HAS_FMA = pytest.mark.skipif(
    host_target().vector_bytes < 32 and "x86" in host_target().triple, reason="has no such instruction"
)


@HAS_FMA
def test_a_product_and_a_sum_are_rounded_once():
    assert (jit(f)(X) == f(X)).all() and (f(X) == 0).all()
    assert (jit(f, fastmath=True)(X) == E * E).all()


@HAS_FMA
def test_in_loops_of_scalars():
    def power(x, n):
        total = 0.0
        for _ in range(n):
            total = x * x - (1 + 2 * E)
        return total

    assert jit(power)(1 + E, 3) == 0
    assert jit(power, fastmath=True)(1 + E, 3) == E * E


@HAS_FMA
def test_the_text_of_a_program_says_it():
    text = jit(f, fastmath=True).lower(X).as_text()
    assert 'frontend_attributes={fastmath="true"}' in text
    assert (load_hlo(text)(X) == E * E).all()
    assert "fastmath" not in jit(f).lower(X).as_text()


def test_functions_that_are_made_of_products_and_sums_stay_right():
    x = np.linspace(0.1, 20, 1001)
    for function in (np.sin, np.exp, np.log1p, np.cbrt, lambda x: np.power(x, 1.7), lambda x: x % 0.7, np.cumsum, np.var):
        np.testing.assert_allclose(jit(function, fastmath=True)(x), function(x), rtol=1e-14)


def test_loops_add_up_in_another_order():
    def total(x, y):
        found, product = 0.0, 1.0
        for i in range(len(x)):
            found += x[i] * y[i]
            product *= x[i]
        return found, product

    x, y = np.random.default_rng(0).uniform(0.5, 1.5, size=(2, 1000))
    strict, fast = jit(total), jit(total, fastmath=True)
    assert strict(x, y) == total(x, y)
    np.testing.assert_allclose(fast(x, y), total(x, y), rtol=1e-13)
    assert " while(" in strict.compile(x, y).as_text() and " while(" not in fast.compile(x, y).as_text()
