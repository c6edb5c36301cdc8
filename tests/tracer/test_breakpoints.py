"""`breakpoint()` stops at each call that comes there, where the variables are what they are in Python."""

import sys

import numpy as np
import pytest
from phlox import TracerError, jit


def under_a_condition(x, n):
    y = x + 1
    if x[0] > 1:
        breakpoint()
    total = 0.0
    for k in range(n):
        total += y[k]
    return y * total


def helper(x):
    z = x * 2
    breakpoint()
    return z


def behind_changes(x, n):
    print("first", x[0])
    x[1] = n
    return helper(x)


def in_a_loop(x, n):
    for v in x:
        if v > n:
            breakpoint()
    return x


def shown(value):
    return repr(value) if isinstance(value, np.ndarray | float | int) else type(value)


def stops(function, monkeypatch, capsys, *args):
    """What is seen where the function stops, what it returns and prints."""
    seen = []

    def hook():
        frame = sys._getframe(1)
        while frame.f_code.co_filename != __file__:
            frame = frame.f_back
        known = {name: shown(value) for name, value in frame.f_locals.items() if name in ("x", "y", "z", "n", "v")}
        seen.append((frame.f_code.co_name, frame.f_lineno, known))

    monkeypatch.setattr(sys, "breakpointhook", hook)
    args = [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]
    return shown(function(*args)), [shown(arg) for arg in args], seen, capsys.readouterr().out


@pytest.mark.parametrize("function", [under_a_condition, behind_changes])
def test_breakpoints_stop_at_each_call(function, monkeypatch, capsys):
    jitted = jit(function)
    for first in (0.0, 2.0, 3.0, 1.0, 2.0):
        x = np.array([first, 5.0, 6.0])
        assert stops(jitted, monkeypatch, capsys, x, 2) == stops(function, monkeypatch, capsys, x, 2)


def test_breakpoints_in_loops(monkeypatch, capsys):
    jitted = jit(in_a_loop)
    for n in (100.0, 4.0, 300.0, 2.5):
        x = np.arange(200.0)
        found, expected = stops(jitted, monkeypatch, capsys, x, n), stops(in_a_loop, monkeypatch, capsys, x, n)
        assert [place[:2] for place in found[2]] == [place[:2] for place in expected[2]]
        assert found[0] == expected[0]


def test_breakpoints_that_are_turned_off(monkeypatch):
    monkeypatch.setattr(sys, "breakpointhook", sys.__breakpointhook__)
    monkeypatch.setenv("PYTHONBREAKPOINT", "0")
    jitted = jit(under_a_condition)
    np.testing.assert_array_equal(jitted(np.full(3, 2.0), 2), under_a_condition(np.full(3, 2.0), 2))
    assert "called natively" in str(jitted.cache_info())


def test_other_debuggers_are_refused():
    import pdb

    with pytest.raises(TracerError, match=r"breakpoint\(\)"):
        jit(lambda x: (pdb.runcall(abs, 1), x + 1))(1.0)
