"""Random numbers, time and files are taken when the program runs, every time."""

import datetime
import os
import random
import time

import numpy as np
import pytest
from phlox import TracerError, fori_loop, jit


def call(function, *args, **kwargs):
    return function(*args, **kwargs)


def results(program, jitted, seed):
    """Three results of a program from one state of the random numbers on."""
    function = jit(lambda x: program(call, x)) if jitted else lambda x: program(call, x)
    np.random.seed(seed), random.seed(seed)
    return [function(np.arange(4.0)) for _ in range(3)]


PROGRAMS = {
    "rand": lambda c, x: x + c(np.random.rand, 4),
    "a float": lambda c, x: (x, c(np.random.rand) + 1),
    "arguments": lambda c, x: c(np.random.normal, x, x + 1) + c(np.random.uniform, 0, x[2]),
    "integers": lambda c, x: c(np.random.randint, 0, 10, size=(2, 3)),
    "choice": lambda c, x: c(np.random.choice, x, 2, p=x / np.sum(x)),
    "permutation": lambda c, x: c(np.random.permutation, x),
    "shuffle": lambda c, x: (c(np.random.shuffle, x), x)[1],
    "random": lambda c, x: (c(random.random), c(random.randint, 1, 6), c(random.uniform, 1.0, 2.0), c(random.gauss, 0, 1)),
    "seed": lambda c, x: (c(np.random.seed, 3), c(np.random.rand, 2))[1],
    "default_rng": lambda c, x: c(c(np.random.default_rng, 5).normal, size=3),
    "two draws": lambda c, x: (lambda g: [c(g.normal, x), c(g.integers, 10)])(c(np.random.default_rng, 5)),
    "RandomState": lambda c, x: c(c(np.random.RandomState, 5).randn, 2, 2),
    "Random": lambda c, x: c(c(random.Random, 5).random),
    "in order": lambda c, x: c(np.random.rand, 2) - c(np.random.rand, 2) * c(random.random),
    "loop": lambda c, x: fori_loop(0, 5, lambda i, s: s + c(np.random.rand) * i, 0.0),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_random_numbers(name):
    expected, actual = results(PROGRAMS[name], False, 7), results(PROGRAMS[name], True, 7)
    assert repr(actual) == repr(expected)


def test_generators_of_the_caller():
    def f(generator, n, x):
        return generator.normal(size=n) + x * generator.random()

    ours, theirs = np.random.default_rng(3), np.random.default_rng(3)
    jitted = jit(f)
    for n in (2, 2, 3):
        np.testing.assert_array_equal(jitted(ours, n, 2.0), f(theirs, n, 2.0))
    assert ours.bit_generator.state == theirs.bit_generator.state
    assert jitted.cache_info().misses == 2


def test_a_seed_that_is_traced():
    f = jit(lambda seed, x: call(call(np.random.default_rng, seed).random, 3) + x)
    for seed in (1, 2, 1):
        np.testing.assert_array_equal(f(seed, 0.0), np.random.default_rng(seed).random(3))
    assert f.cache_info().misses == 1


def test_sizes_become_static():
    f = jit(lambda n: call(np.random.rand, n))
    assert [f(n).shape for n in (2, 3, 2)] == [(2,), (3,), (2,)]


def test_trials_leave_no_trace():
    generator, twin = np.random.default_rng(3), np.random.default_rng(3)
    jit(lambda x: x + call(generator.normal, size=3)).lower(np.zeros(3))
    assert generator.random() == twin.random()


def test_time():
    f = jit(lambda x: (call(time.time), call(time.perf_counter_ns), call(os.getpid), x))
    before = time.time()
    first, second = f(1.0), f(1.0)
    assert before <= first[0] < second[0] <= time.time() and first[1] < second[1] and first[2] == os.getpid()


@pytest.mark.parametrize("function", [input, datetime.datetime.now, os.urandom, os.chdir, os.environ.pop])
def test_what_can_be_neither_is_refused(function):
    with pytest.raises(TracerError, match="phlox.host_call"):
        jit(lambda x: call(function, "PATH"))(1.0)


def test_files_are_read_at_each_call(tmp_path):
    path = tmp_path / "x.npy"
    f = jit(lambda x: x + call(np.load, path))
    for value in (1.0, 2.0):
        np.save(path, np.full(3, value))
        np.testing.assert_array_equal(f(np.zeros(3)), np.full(3, value))
    np.save(path, np.zeros((2, 3)))
    np.testing.assert_array_equal(f(np.zeros(3)), np.zeros((2, 3)))


def test_in_a_loop_that_is_captured():
    def f(n):
        total = 0.0
        for _ in range(n):
            total += np.random.rand()
        while total < 10.0:
            total += random.random()
        return total

    jitted = jit(f)
    for n in (3, 300, 4):
        found = []
        for function in (f, jitted):
            np.random.seed(n), random.seed(n)
            found.append(function(n))
        assert found[0] == found[1]


GENERATOR = np.random.default_rng(3)


def test_a_generator_from_outside():
    f = jit(lambda x: x + GENERATOR.normal(size=3))
    twin = np.random.default_rng(3)
    for _ in range(3):
        np.testing.assert_array_equal(f(np.zeros(3)), twin.normal(size=3))


GENERATOR = np.random.default_rng(3)


def drawn_until(x):
    rounds = 0
    while GENERATOR.random() < 0.8:
        rounds += 1
    return rounds * x


def drawn_in_both_tests(x):
    total = x.sum()
    while total > 0 and np.random.rand() < 0.9:
        total -= GENERATOR.exponential()
        if np.random.rand() < 0.05:
            break
    return total


@pytest.mark.parametrize("function", [drawn_until, drawn_in_both_tests])
def test_tests_of_loops_draw_once_a_round(function):
    found = []
    for called in (function, jit(function)):
        GENERATOR.bit_generator.state = np.random.default_rng(3).bit_generator.state
        np.random.seed(4)
        results = [called(np.arange(4.0)) for _ in range(4)]
        found.append((repr(results), GENERATOR.random(), np.random.rand()))
    assert found[0] == found[1]


def test_bit_generators_are_refused():
    with pytest.raises(TracerError, match="phlox.host_call"):
        jit(lambda x: x * GENERATOR.bit_generator.random_raw())(1.0)
