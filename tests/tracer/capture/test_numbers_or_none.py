"""Numbers that the program may set to None, and integers that it may exchange for floats: what Python does of each."""

import numpy as np
import pytest
from phlox import jit
from written_functions import written

OPERATIONS = [
    "b + v", "v + b", "b - v", "v - b", "b * v", "b / (v + 1)", "(v + 1) / b", "(v + 3) // b", "b % (v + 1)", "v ** b", "b < v",
    "v < b", "b <= v", "v >= b", "b == v", "v != b", "divmod(v + 9, b)[1]", "max(b, v)", "min(v, b)", "b and v", "v or b",
]  # fmt: skip


def function_of(operation, value):
    """It holds None in the first rounds, and a number that the program knows in others."""
    source = f"""
def program(x):
    b, total, rounds = None, 0.0, 0
    for v in x:
        if rounds > 3:
            b = {value}
        rounds += 1
        if b is not None:
            total += {operation}
    return total
"""
    return written(source, f"<{operation} of {value}>")["program"]


@pytest.mark.parametrize("value", ["2", "2.5", "True"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_known_number_or_none_beside_one_that_is_computed(operation, value):
    function = function_of(operation, value)
    for x in (np.random.default_rng(0).uniform(size=40), np.arange(1, 41)):
        found, expected = jit(function)(x), function(x)
        assert type(found) is type(expected)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def in_a_handler(x):
    total, best, out = 0, None, []
    for v in x:
        if total > 3:
            best = 2
        try:
            total += out[2]
        except IndexError:
            best = len(x[x > 0.3]) if best is None or len(x[x > 0.3]) > best else best
        total += v
    return total, best


def an_array_at_an_integer(x):
    a, b, total = 1, 2.5, 0.0
    for v in x:
        if v > 0.5:
            a, b = b, a
        if isinstance(a, int):
            total += x[a] + x[-a]
    return total, a, b


def an_array_at_a_number_caught(x):
    a, b, total = 1, 2.5, 0.0
    for v in x:
        if v > 0.5:
            a, b = b, a
        try:
            total += x[a]
        except IndexError as error:
            total += len(str(error))
    return total


def a_list_at_a_number_caught(x):
    a, b, total, numbers = 1, 2.5, 0.0, [1.0, 2.0, 3.0]
    for v in x:
        if v > 0.5:
            a, b = b, a
        try:
            total += numbers[a]
        except TypeError:
            total += 10
    return total


def set_at_a_number_caught(x):
    a, b, table = 1, 2.5, np.zeros((3, 4))
    for v in x:
        if v > 0.5:
            a, b = b, a
        try:
            table[a, 2] += v
        except IndexError:
            table[0, 0] += 1
    return table


def deleted_at_a_number_caught(x):
    a, b, numbers, refused = 1, 2.5, [1.0, 2.0, 3.0], 0
    for v in x:
        if v > 0.5:
            a, b = b, a
        try:
            del numbers[a]
        except TypeError:
            refused += 1
            continue
        numbers.append(v)
    return numbers, refused


@pytest.mark.parametrize(
    "function",
    [
        in_a_handler, an_array_at_an_integer, an_array_at_a_number_caught, a_list_at_a_number_caught, set_at_a_number_caught,
        deleted_at_a_number_caught,
    ],
)  # fmt: skip
def test_integers_that_become_floats_and_numbers_that_become_none(function):
    jitted = jit(function)
    for seed in range(3):
        x = np.random.default_rng(seed).uniform(size=300)
        found, expected = jitted(x), function(x)
        for one, other in zip(found, expected) if isinstance(expected, tuple) else [(found, expected)]:
            np.testing.assert_allclose(one, other, rtol=1e-12)


def test_what_numpy_says_of_numbers_that_are_no_index():
    for index in (2.5, np.array(2.0), (1, 2.0), 1j):
        with pytest.raises(IndexError) as expected:
            np.zeros((3, 3))[index]
        with pytest.raises(IndexError) as found:
            jit(lambda x, index: x[index])(np.zeros((3, 3)), index)
        assert str(found.value).partition(" at ")[0].startswith(str(expected.value))
