"""`jit(budget=...)`: what a compilation gives up, that it says so, and that results stay the same."""

import datetime
import warnings

import cloudpickle
import numpy as np
import pytest
from phlox import BudgetExceededWarning, jit
from phlox.backends.cpu import backend as cpu_backend
from phlox.backends.cpu import compile_effort
from phlox.backends.cpu.target import FULL, QUICK

X = np.random.default_rng(0).normal(size=(40, 7))


def smoothed(x):
    total = np.zeros_like(x)
    for shift in range(6):
        total += np.roll(np.exp(-x * x) * np.sin(x), shift, axis=0)
    return total, x @ total.T, np.sort(total, axis=0), total.sum(axis=1)


def test_without_time_everything_is_given_up_but_results():
    f = jit(smoothed, budget=1e-9)
    message = "smoothed took .* more than its budget of 1e-09 s: .*; given up for it: pass"
    with pytest.warns(BudgetExceededWarning, match=message):
        found = f(X)
    for one, other in zip(found, jit(smoothed)(X)):
        assert one.tobytes() == other.tobytes()
    given_up = str(f.explain()).partition("given up")[2]
    assert all(what in given_up for what in ("pass unroll-loops", "simplification beyond one round", "LLVM's optimizations"))


def test_with_time_nothing_is_given_up():
    f = jit(budget=datetime.timedelta(hours=1))(smoothed)
    with warnings.catch_warnings():
        warnings.simplefilter("error", BudgetExceededWarning)
        f(X)
        assert f.compile(X).executable.given_up == ()
    assert "given up" not in str(f.explain())


def test_stages_keep_to_it_too():
    with pytest.warns(BudgetExceededWarning):
        compiled = jit(smoothed, budget="1us").lower(X).compile()
    assert compiled.executable.program.level == QUICK


def test_the_warning_is_at_the_users_line():
    f = jit(lambda x: x + 1, budget="1us")
    with pytest.warns(BudgetExceededWarning) as found:
        f(X)
    assert found[0].filename == __file__


def test_the_reference_backend_takes_it():
    with pytest.warns(BudgetExceededWarning, match="given up for it: nothing"):
        jit(lambda x: x + 1, budget="1us", backend="reference")(X)


def test_it_travels_with_the_function():
    f = cloudpickle.loads(cloudpickle.dumps(jit(lambda x: x + 1, budget="20ms")))
    assert f.options["budget"] == 0.02


@pytest.mark.parametrize("budget", ["soon", 0, "300"])
def test_what_is_no_budget(budget):
    with pytest.raises(ValueError, match="budget: a positive time"):
        jit(lambda x: x, budget=budget)
    with pytest.raises(ValueError, match="budget: a positive time"):
        jit(budget=budget)


def long_function(steps):
    """Operations that do not repeat themselves, so that they are no loop."""
    choices = np.random.default_rng(1).integers(0, 1 << 20, steps).tolist()

    def f(x, y):
        values = [x, y]
        for choice in choices:
            one, other = values[-1], values[-1 - choice % min(7, len(values))]
            values.append((one + other, np.sin(one), one - other * 0.5, np.maximum(one, other))[choice % 4])
        return values[-1]

    return f


def test_long_code_that_runs_rarely_is_left_as_it_is(monkeypatch):
    monkeypatch.setattr(compile_effort, "_LONG_CODE", 200)
    f, x, y = jit(long_function(150), control_flow="trace"), X[:, 0].copy(), X[:, 1].copy()
    rare = f.compile(x, y).executable
    assert rare.program.level == QUICK and "LLVM's optimizations of" in rare.given_up[0]
    assert jit(long_function(20), control_flow="trace").compile(x, y).executable.program.level == FULL
    assert jit(long_function(150), control_flow="trace", fastmath=True).compile(x, y).executable.program.level == FULL
    long = np.resize(x, 100_000), np.resize(y, 100_000)
    assert f.compile(*long).executable.program.level == FULL


def test_products_in_batches_run_often(monkeypatch):
    """Each batch is a loop of one round in a piece, with the loops of its product inside."""
    monkeypatch.setattr(compile_effort, "_LONG_CODE", 200)
    x = np.zeros((8, 256, 64), np.float32)
    program = jit(lambda x: x @ x.transpose(0, 2, 1) @ x).compile(x).executable.program
    assert program.level == FULL


def test_both_levels_compute_the_same(monkeypatch):
    monkeypatch.setattr(compile_effort, "_LONG_CODE", 200)
    x, y = X[:, 0].copy(), X[:, 1].copy()
    found = jit(long_function(150), control_flow="trace")(x, y)
    monkeypatch.setattr(cpu_backend, "code_generation", lambda *_: (FULL, ()))
    assert jit(long_function(150), control_flow="trace")(x, y).tobytes() == found.tobytes()
