"""Functions of ``math`` of several numbers, and of two points."""

import math

import numpy as np
import pytest
from phlox import jit

from ...support.undecorated import check

TABLE = np.array([[0.5, -1.5, 2.5], [3.0, 0.25, -4.0]])

FUNCTIONS = {
    "dist": lambda x: (math.dist(x[0], x[1]), math.dist((x[0, 0], 1.0), [2, x[0, 1]]), math.dist(x[0], x[0])),
    "hypot": lambda x: (math.hypot(*x[0]), math.hypot(x[0, 0]), math.hypot(x[0, 0], 2), math.hypot(x[0, 0] * 1e200, 1e199, 1)),
    "hypot of what is infinite": lambda x: math.hypot(math.inf, x[0, 0], math.nan),
    "remainder": lambda x: [math.remainder(v, w) for v in x[0].tolist() for w in (0.25, -1.0, 1.5, math.inf, 3e-300)],
    "by Python": lambda x: (
        math.comb(int(x[1, 0]) + 2, 2),
        math.perm(int(x[1, 0])),
        math.factorial(int(x[1, 0])),
        math.isqrt(int(x[1, 0]) * 7),
        math.frexp(x[1, 2]),
        math.ldexp(x[0, 1], int(x[1, 0])),
        math.nextafter(x[0, 0], 1.0),
        math.ulp(x[0, 1]),
    ),  # fmt: skip
    "lcm": lambda x: (math.lcm(int(abs(x[0, 2]) * 10), 10), math.lcm(int(x[1, 0]))),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_several_numbers(name):
    check(FUNCTIONS[name], TABLE)


def test_points_of_other_dimensions():
    with pytest.raises(ValueError, match="the same number of dimensions"):
        jit(lambda x: math.dist(x[0], x[1, :2]))(TABLE)


def test_complementary_error_function():
    @jit
    def complements(x):
        return [math.erfc(v) for v in x]

    x = np.concatenate([np.linspace(-7, 26, 40), [0.0, 1e-300, 30.0, np.inf, -np.inf]])
    np.testing.assert_allclose(complements(x), [math.erfc(v) for v in x], rtol=2e-15, atol=1e-310)
    assert math.isnan(complements(np.array([np.nan]))[0])


def test_remainder_is_exact_and_raises():
    random = np.random.default_rng(1)
    x = np.append(random.normal(size=200) * 10.0 ** random.integers(-5, 18, 200), [0.0, -0.0, 0.5, 1.5, 2.5, -1.5, np.nan])
    y = np.append(random.normal(size=200), [1.0, 1.0, 1.0, 1.0, -1.0, 1.0, 2.0])
    found = jit(lambda x, y: [math.remainder(v, w) for v, w in zip(x, y)])(x, y)
    assert repr(found) == repr([math.remainder(v, w) for v, w in zip(x, y)])
    for number, divisor in ((1.0, 0.0), (math.inf, 2.0)):
        with pytest.raises(ValueError, match=r"math domain error|finite|nonzero"):
            jit(lambda x: math.remainder(x[0], x[1]))(np.array([number, divisor]))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_lengths_are_pythons_to_the_bit(count):
    """Programs that choose the shorter of two ways of one length go on as they do in Python."""

    def lengths(x):
        found = []
        for row in x:
            found.append(math.hypot(*[row[k] for k in range(count)]))
        return found, math.dist(x[0], x[1])

    random = np.random.default_rng(0)
    scales = 2.0 ** random.integers(-1000, 1000, (200, 1))
    rows = np.concatenate([random.normal(size=(200, count)), random.normal(size=(200, count)) * scales])
    special = random.choice([0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, 2.0**-1022, 2.0**1023, 1.7e308], (50, count))
    rows = np.concatenate([rows, special])
    np.testing.assert_array_equal(jit(lengths)(rows)[0], lengths(rows)[0])
    assert jit(lengths)(rows)[1] == lengths(rows)[1]
