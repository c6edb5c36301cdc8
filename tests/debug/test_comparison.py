"""`debug.compare`: NumPy and the compiled function, line by line."""

import numpy as np
import pytest
from phlox import debug, jit


def settle(x, rounds):
    y = 2 * x
    total = 0.0
    for k in range(rounds):
        total += y[k % 3]
    if total > 3:
        total = total / 4
    parts = {"y": y, "name": "settle"}
    y[0] = 7
    return total, parts["y"]


def test_values_that_agree():
    found = debug.compare(settle, np.arange(3.0), 1000)
    assert found.first is None
    assert str(found).endswith(" values compared: at most 0 ULP apart")
    names = [row.name for row in found.rows]
    for name in ("x", "rounds", "y", "total", "parts['y']", "parts['name']", "the result[0]", "the result[1]"):
        assert name in names


def test_the_first_difference_is_that_of_a_host_function():
    """The function computes one way when it is called by Python and another way when it is compiled."""
    from phlox.tracer.recording.current_trace import current_trace

    def f(x):
        y = x + 1
        z = y * (3 if current_trace() is None else 3 * (1 + 2**-50))
        return z + y

    x = np.array([1.0, 2.0])
    found = debug.compare(f, x)
    assert found.first.name == "z" and found.first.ulps == pytest.approx(4, abs=3)
    assert "`z = y * (3 if current_trace() is None" in str(found)
    assert debug.compare(f, x, tolerance=100).first is None
    np.testing.assert_array_equal(x, [1, 2])


def test_another_type_is_a_difference():
    from phlox.tracer.recording.current_trace import current_trace

    def f(x):
        count = len(x) if current_trace() is None else float(len(x))
        return x * count

    first = debug.compare(f, np.ones(2)).first
    assert first.name == "count" and "3" not in str(first) and "are not of one form" in str(first)


def test_jitted_functions_keep_their_options():
    found = debug.compare(jit(settle, static_argnames="rounds"), np.arange(3.0), 4)
    assert found.first is None


def test_nans_infinities_and_integers():
    def f(x, n):
        y = x / x
        m = n * n
        return 1 / y, m

    with np.errstate(all="ignore"):
        assert debug.compare(f, np.array([0.0, np.inf, 1.0]), 3).first is None


def test_what_the_function_raises():
    def f(x):
        y = x + 1
        if y[0] > 1:
            raise ValueError("large")
        return y

    with pytest.raises(ValueError, match="large"):
        debug.compare(f, np.ones(2))


def test_what_is_no_function_written_in_python():
    for given in (3, np.sin, len):
        with pytest.raises(TypeError, match=f"requires a function written in Python, {type(given).__name__} given"):
            debug.compare(given, np.ones(2))
