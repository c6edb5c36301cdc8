"""Calls that are recorded as others before them were: the same instructions as without this knowledge, and the same results."""

import operator
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phlox import fori_loop, jit
from phlox.tracer.functions import recorded_calls
from phlox.tracer.recording import trace as tracing
from random_numpy_programs import Writer, run_program


@contextmanager
def nothing_is_known():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorded_calls, "_recorded", lambda operands, made, results: None)
        patch.delattr(tracing.RecordingBuilder, "emit")
        yield


@settings(deadline=None, derandomize=True, max_examples=80)
@given(st.integers(0, 2**32), st.integers(1, 14))
def test_programs_are_recorded_as_if_nothing_was_known(seed, count):
    program = Writer(seed, count)

    def twice(*arrays):
        return [run_program(program.statements, [array.copy() for array in arrays]) for _ in range(2)]

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        known = jit(twice).lower(*program.arrays).as_text()
        with nothing_is_known():
            assert jit(twice).lower(*program.arrays).as_text() == known


def check(function, *arguments):
    expected = function(*(np.copy(argument) for argument in arguments))
    for actual, wanted in zip(jit(function)(*arguments), expected, strict=True):
        assert actual.dtype == wanted.dtype
        np.testing.assert_array_equal(actual, wanted)
        np.testing.assert_array_equal(np.signbit(actual), np.signbit(wanted))


X, Y = np.array([1.0, -2.0, 3.0]), np.array([4.0, 5.0, -0.0])


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "matmul", "lt", "pow"])
def test_operands_that_are_the_same_value_or_not(name):
    function = getattr(operator, name)
    check(lambda x, y: [function(x, x), function(x, y), function(y, x), function(y, y)], abs(X), abs(Y) + 1)


def test_numbers_count():
    numbers = (0, 1, 0.0, -0.0, True, 2.5, np.float32(2.5), np.float64(2.5), np.int8(1), 1)
    check(lambda x: [x * number for number in numbers], X)
    check(lambda x: [number - x for number in numbers], X.astype(np.float32))


def test_weak_values_count():
    f = jit(lambda x, n: (x * n, x * (n + np.int64(0)), x * n))
    assert [result.dtype for result in f(np.float32([1]), 3)] == [np.float32, np.float64, np.float32]


def test_divisors_that_are_known_are_looked_at():
    def f(x):
        three = np.full_like(x, 3)
        return x // x, x // three, x % three, x // x, x // (three * 1)

    check(f, np.array([7, -8, 9]))


def test_errors_are_raised_for_each_call():
    f = jit(lambda n, m: (2**n, 2**m))
    assert f(np.array([1, 2]), np.array([3, 4]))[1].tolist() == [8, 16]
    for arguments in ((np.array([1, -2]), np.array([3, 4])), (np.array([1, 2]), np.array([3, -4]))):
        with pytest.raises(ValueError, match="negative integer powers"):
            f(*arguments)


def test_results_written_in_place():
    def f(x, y):
        view = x[:2]
        for _ in range(3):
            view += y[:2]
            x *= y
            np.add(x, y, out=y)
        return x, y, view

    check(f, X, Y)
    mine, theirs = (X.copy(), Y.copy()), (X.copy(), Y.copy())
    f(*mine), jit(f)(*theirs)
    np.testing.assert_array_equal(mine, theirs)


def test_calls_inside_and_outside_of_a_loop():
    def f(x, y):
        before = x * y + 1
        inside = fori_loop(0, 3, lambda i, v: v * y + 1, x)
        return before, inside, x * y + 1

    x = X
    for _ in range(3):
        x = x * Y + 1
    before, inside, after = jit(f)(X, Y)
    np.testing.assert_array_equal(inside, x)
    np.testing.assert_array_equal(before, X * Y + 1)
    np.testing.assert_array_equal(after, before)


def test_the_order_in_memory_is_that_of_each_calls_operands():
    def f(x):
        return [np.shape((one + 1.0).ravel(order="A")) and (one + 1.0).ravel(order="A") for one in (x, x.T, x)]

    check(f, np.arange(9.0).reshape(3, 3))


def test_each_instruction_has_the_line_of_its_own_call():
    def f(x):
        y = x * 2
        return y * 2

    entry = jit(f).lower(X).module.entry
    lines = [made.source.line for made in entry.instructions if made.opcode == "multiply"]
    assert lines[1] == lines[0] + 1


def test_failing_calls_are_not_remembered():
    def f(x, y):
        for _ in range(2):
            with pytest.raises(ValueError, match="could not be broadcast"):
                x + y
        return x + y[:3], y[:3] + x

    check(f, X, np.arange(4.0))
