"""Random numbers of a size that is known at run time only are those that NumPy draws."""

import random

import numpy as np
import pytest
from phlox import jit

METHODS = [
    ("random", {}), ("random", {"dtype": np.float32}), ("normal", {}), ("normal", {"loc": 2.0, "scale": 3.0}),
    ("standard_normal", {}), ("uniform", {"low": -1, "high": 5}), ("integers", {"low": 10}),
    ("integers", {"low": 2, "high": 9}),
    ("integers", {"low": 0, "high": 2**40}), ("integers", {"low": -5, "high": 2**31 - 1, "dtype": np.int32}),
    ("exponential", {}), ("poisson", {"lam": 3.0}), ("gamma", {"shape": 2.0}),
    ("binomial", {"n": 10, "p": 0.25}), ("beta", {"a": 2.0, "b": 3.0}), ("triangular", {"left": 0, "mode": 1, "right": 3}),
]  # fmt: skip
OF_RANDOM_STATE = [("random_sample", {}), ("normal", {}), ("uniform", {"low": 1.0, "high": 2.0}), ("randint", {"low": 10})]


def drawn(rng, name, keywords):
    def function(rng, x):
        large = x[x > 1]
        first = getattr(rng, name)(size=len(large), **keywords)
        return first, large + getattr(rng, name)(size=large.shape, **keywords), rng.random()

    return function


@pytest.mark.parametrize("make, name, keywords", [
    *[(np.random.default_rng, *one) for one in METHODS], *[(np.random.RandomState, *one) for one in OF_RANDOM_STATE],
])  # fmt: skip
def test_as_many_numbers_as_the_program_decides(make, name, keywords):
    function = drawn(make, name, keywords)
    compiled, ours, theirs = jit(function), make(3), make(3)
    for x in (np.arange(6.0), np.zeros(6), np.arange(6.0) + 1, np.arange(6.0)):
        for found, expected in zip(compiled(ours, x), function(theirs, x)):
            np.testing.assert_array_equal(found, expected)
            assert type(found) is type(expected) and np.result_type(found) == np.result_type(expected)


def rows(rng, x):
    count = int(np.sum(x > 1))
    return rng.normal(size=(count, 3)), rng.random((2, count)), rng.integers(0, 5, (count,))


def of_the_global_state(x):
    count = int(np.sum(x > 1))
    return np.random.rand(count), np.random.randn(count, 2)


def made_there(x):
    rng = np.random.default_rng(int(x[0]))
    for i in range(int(x[1])):
        x = x + rng.random(i).sum()
    return x


def test_rows_of_random_numbers():
    compiled, ours, theirs = jit(rows), np.random.default_rng(1), np.random.default_rng(1)
    for x in (np.arange(6.0), np.zeros(6), np.arange(6.0)):
        for found, expected in zip(compiled(ours, x), rows(theirs, x)):
            np.testing.assert_array_equal(found, expected)
    compiled = jit(of_the_global_state)
    for x in (np.arange(6.0), np.arange(6.0)):
        np.random.seed(4)
        found = compiled(x)
        np.random.seed(4)
        for one, expected in zip(found, of_the_global_state(x)):
            np.testing.assert_array_equal(one, expected)
    np.testing.assert_array_equal(jit(made_there)(np.arange(3.0) + 5), made_there(np.arange(3.0) + 5))


def test_bounds_in_a_list_beside_a_size_are_no_part_of_the_program():
    def between(rng, low, high, size):
        return rng.integers(low, high, size=size)

    compiled, ours, theirs = jit(between), np.random.default_rng(1), np.random.default_rng(1)
    for k in range(4):
        np.testing.assert_array_equal(compiled(ours, [k] * 5, [k + 9] * 5, 5), between(theirs, [k] * 5, [k + 9] * 5, 5))
    assert compiled.cache_info().misses == 1


def test_more_numbers_than_a_first_guess():
    def many(rng, n):
        count = int(np.sum(n))
        return rng.standard_normal(count)

    compiled, ours, theirs = jit(many), np.random.default_rng(1), np.random.default_rng(1)
    for n in (np.array([3, 4]), np.array([3000, 4]), np.array([0, 0])):
        np.testing.assert_array_equal(compiled(ours, n), many(theirs, n))


def test_what_keeps_bits_for_the_next_number_is_refused():
    with pytest.raises(TypeError, match="needs an integer"):
        jit(lambda rng, x: rng.integers(0, 5, len(x[x > 1]), dtype=np.int8))(np.random.default_rng(1), np.arange(3.0))


NAMES = np.array(["ab", "c", "def"])


def texts(rng, n):
    walk = [1 if rng.choice(["up", "down"]) == "up" else -1 for _ in range(n)]
    chosen = rng.choice(["a", "b", "c"], p=[0.2, 0.5, 0.3]), rng.choice(["x", "yy"], 3), rng.choice(NAMES, 2, replace=False)
    return walk, chosen, [str(rng.choice(("u", "v"))) for _ in range(n)], rng.random()


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_texts_are_chosen(make):
    compiled, ours, theirs = jit(texts), make(3), make(3)
    for n in (5, 5, 5, 40):
        assert repr(compiled(ours, n)) == repr(texts(theirs, n))


@pytest.mark.parametrize("name", ["integers", "randint"])
def test_integers_between_arguments_of_a_size_that_is_one(name):
    def function(rng, low, high, size):
        return getattr(rng, name)(low, high, size), getattr(rng, name)(low=low, high=high, size=size)

    make = np.random.default_rng if name == "integers" else np.random.RandomState
    for arguments in ((0, 1000, np.int_(10)), (np.int_(-3), 5, np.int_(4)), (0, 1000, 3)):
        np.testing.assert_array_equal(jit(function)(make(3), *arguments), function(make(3), *arguments))


# --- orders and choices of as many elements as the program decides ---


def listed(x):
    return [v for v in x if v > 1]


def in_pairs(x):
    return [(i, v, "large" if v > 2 else "small") for i, v in enumerate(x) if v > 1]


def lists_in_order(rng, x):
    numbers, pairs = listed(x), in_pairs(x)
    rng.shuffle(numbers)
    rng.shuffle(pairs)
    return numbers, pairs, rng.random()


def arrays_in_order(rng, x):
    large, order = x[x > 1], rng.permutation(len(x[x > 1]))
    rng.shuffle(large)
    return large, order, rng.permutation(large), rng.permutation(listed(x)), rng.random()


def choices(rng, x):
    large, numbers = x[x > 1], listed(x)
    p = large / np.sum(large)
    chosen = rng.choice(large, p=p), rng.choice(large, 3, p=p), rng.choice(len(large), p=p), rng.choice(numbers, (2, 2))
    return chosen, rng.choice(numbers, p=[v / sum(numbers) for v in numbers]), rng.random()


def of_python(rng, x):
    numbers, large = listed(x), x[x > 1]
    rng.shuffle(numbers)
    rng.shuffle(large)
    return numbers, large, rng.choice(listed(x)), rng.choice(in_pairs(x)), rng.random()


NUMPYS = [np.random.default_rng, np.random.RandomState]


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("make, function", [
    *[(make, one) for make in NUMPYS for one in (lists_in_order, arrays_in_order, choices)], (random.Random, lists_in_order),
    (random.Random, of_python),
])  # fmt: skip
def test_orders_and_choices(make, function, backend):
    compiled, ours, theirs = jit(function, backend=backend), make(3), make(3)
    for x in (np.arange(6.0), np.arange(6.0)[::-1] + 0.5, np.array([0.0, 0, 1, 1, 0, 2])):
        assert repr(compiled(ours, x)) == repr(function(theirs, x))


@pytest.mark.parametrize("make, program, error, message", [
    (random.Random, lambda rng, x: rng.choice(listed(x)), IndexError, "Cannot choose from an empty sequence"),
    (np.random.default_rng, lambda rng, x: rng.choice(listed(x)), ValueError, "a cannot be empty unless no samples"),
    (np.random.default_rng, lambda rng, x: rng.choice(len(x) + 1, p=x[x == 0] / 6), ValueError, "must have same size"),
    (np.random.RandomState, lambda rng, x: rng.choice(x[x == 0], p=x[x == 0]), ValueError, "do not sum to 1"),
])  # fmt: skip
def test_errors_of_orders_and_choices(make, program, error, message):
    for function in (program, jit(program)):
        with pytest.raises(error, match=message):
            function(make(3), np.zeros(6))


def test_what_is_not_drawn_of_lists_of_any_length():
    with pytest.raises(NotImplementedError, match="sample of a generator, of a list"):
        jit(lambda rng, x: rng.sample(listed(x), 2))(random.Random(3), np.arange(6.0))
