"""A function that is compiled again and again says so, and what is to blame."""

import warnings

import numpy as np
import pytest
from phlox import RecompilationWarning, jit

UNIT = ""


def warnings_of(calls):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        calls()
    return [one for one in found if one.category is RecompilationWarning]


def test_shapes():
    @jit
    def total(x, y):
        return x.sum() + y

    def calls(counts):
        for count in counts:
            total(np.ones(count), 1.0)

    assert not warnings_of(lambda: calls(range(1, 16)))
    (warning,) = warnings_of(lambda: calls(range(1, 40)))
    assert str(warning.message).startswith("total has been compiled 16 times, which took ")
    assert "15 times the reason was: argument x: shape, at last argument x: shape (1,) -> (16,). Each shape" in str(
        warning.message
    )
    assert warning.filename == __file__
    total.cache_clear()
    assert not warnings_of(lambda: calls(range(1, 16)))


def test_static_values():
    @jit(static_argnames="power")
    def f(x, power):
        return x**power

    (warning,) = warnings_of(lambda: [f(2.0, power) for power in range(20)])
    assert "argument power: static value" in str(warning.message)
    assert "leave it out of static_argnames" in str(warning.message)


def test_the_outside():
    @jit
    def f(x):
        return x[: len(UNIT)] * 2

    def calls():
        global UNIT
        for value in range(20):
            UNIT = f"{value} m"
            f(np.ones(3))

    (warning,) = warnings_of(calls)
    assert "the reason was: global UNIT, at last global UNIT: '14 m' -> '15 m'. What is read outside" in str(warning.message)


@pytest.mark.parametrize("repetitions", [1000])
def test_none_for_calls_of_one_form(repetitions):
    @jit
    def f(x, count):
        return x * count

    assert not warnings_of(lambda: [f(np.ones(3), count) for count in range(repetitions)])


def test_calls_that_python_makes():
    """As tracing them ends in an exception, which Python does not raise for these values."""

    @jit
    def in_order(x):
        found = []
        x[0] += 1
        for k in range(len(x)):
            if x[k] > 0:
                found.append((x[k] if x[k] < 5 else None, k))
        found.sort()
        return found

    for x in ([3.0, 1.0, 2.0], [1.0, 3.0, -1.0]):
        (warning,) = warnings_of(lambda x=x: in_order(np.array(x)))
        assert "in_order is traced at each such call, which is then made by Python" in str(warning.message)
        assert warning.filename == __file__
