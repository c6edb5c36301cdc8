"""Time by line: which lines there are, how often each is begun, and that the call is the call."""

import inspect
import time

import numpy as np
import pytest
from phlox import device_put, jit
from phlox.backends.registry import get_backend


def line_of(function, text):
    """The number of the function's line that has this text."""
    lines, first = inspect.getsourcelines(function)
    [found] = [number for number, line in enumerate(lines, first) if text in line]
    return found


def times(profile):
    """How often each line is begun, by its text."""
    return {row.text: row.times for row in profile.rows if not row.fused}


@jit
def simulate(x, n):
    v = np.zeros_like(x)
    for i in range(n):
        v = v - 0.01 * np.sin(x)
        x = np.sort(x + v)
        if i % 10 == 0:
            x = np.cumsum(x) / 1000
    return x


def test_lines_and_how_often_they_are_begun():
    x = np.linspace(0, 1, 1000)
    profile = simulate.profile(x, 50)
    np.testing.assert_array_equal(profile.result, simulate(x, 50))
    assert times(profile)["x = np.sort(x + v)"] == 50
    assert times(profile)["x = np.cumsum(x) / 1000"] == 5
    assert [row.place for row in profile.rows] == sorted(row.place for row in profile.rows)
    assert {row.place[0] for row in profile.rows} == {__file__}


def test_each_call_is_counted_by_itself():
    x = np.linspace(0, 1, 1000)
    for n in (50, 7, 7, 30):
        assert times(simulate.profile(x, n))["x = np.sort(x + v)"] == n


@jit
def collatz(n):
    steps, odd = 0, np.zeros(200)
    while n != 1:
        if n % 2:
            odd[steps] = n  # so much that the other side is not computed, too
            n = 3 * n + 1
        else:
            n = n // 2
        steps += 1
    return steps


def test_branches_of_scalars():
    profile = collatz.profile(27)
    assert profile.result == 111
    found = times(profile)
    assert found["steps += 1"] == 111
    assert found["n = 3 * n + 1"] == 41  # https://oeis.org/A006667
    assert found["n = n // 2"] == 70


@jit
def softmax(x):
    m = x.max(1, keepdims=True)
    e = np.exp(x - m)
    return e / e.sum(1, keepdims=True)


def test_what_is_fused_has_all_of_its_lines():
    x = np.random.default_rng(0).random((2000, 100))  # large enough that its rows are computed in groups
    [row] = softmax.profile(x).rows
    lines = [line_of(softmax, text) for text in ("return e", "e = np.exp", "m = x.max")]
    assert [line for _, line in (row.place, *row.fused)] == lines
    assert row.times == 1


@jit
def all_kinds(x, rng, log):
    y = np.empty(len(x))
    for i in range(len(x)):
        y[i] = x[i] ** 2 + rng.normal()
        log.append(i)
    z = np.unique(np.round(x[x > 0.5], 1))
    print("sum", z.sum())
    try:
        return y, np.linalg.cholesky(np.eye(4) * (z[0] - 1))
    except np.linalg.LinAlgError:
        return y, z


def test_effects_are_those_of_a_call(capsys):
    x, outcomes = np.random.default_rng(1).random(100), []
    for call in (all_kinds._function, all_kinds, lambda *args: all_kinds.profile(*args).result):
        rng, log = np.random.default_rng(2), []
        (y, z), printed = call(x, rng, log), capsys.readouterr().out
        outcomes.append((y.tolist(), z.tolist(), log, printed, rng.bit_generator.state))
    assert outcomes[0] == outcomes[1] == outcomes[2]


def test_time_is_at_most_that_of_the_call():
    x = np.linspace(0, 1, 1000)
    simulate.profile(x, 3)
    start = time.perf_counter()
    profile = simulate.profile(x, 200)
    assert 0 < profile.seconds < time.perf_counter() - start
    assert all(row.seconds >= 0 for row in profile.rows)


def test_exceptions_are_the_users_and_the_next_profile_is_right():
    @jit
    def checked(x):
        if x.sum() < 0:
            raise ValueError("negative")
        return np.sort(x)

    with pytest.raises(ValueError, match="negative"):
        checked.profile(-np.ones(3))
    assert times(checked.profile(np.ones(3)))["return np.sort(x)"] == 1


def test_text_and_html():
    profile = simulate.profile(np.linspace(0, 1, 1000), 5)
    first, *lines = str(profile).splitlines()
    assert first.startswith("simulate: ") and len(lines) == len(profile.rows)
    [line] = [line for line in lines if "np.cumsum" in line]
    assert "x1 " in line and f"test_profile.py:{line_of(simulate, 'np.cumsum')}" in line
    assert profile._repr_html_().count("<tr>") == len(profile.rows)


def test_code_that_is_not_profiled_reads_no_clock():
    module = simulate.lower(np.ones(5), 3).module
    for backend, reads in ((get_backend("cpu"), False), (get_backend("cpu").timing_lines, True)):
        assert ("clock_gettime" in backend.compile(module).llvm_ir()) == reads


def test_a_backend_that_does_not_time_lines_says_so():
    with pytest.raises(NotImplementedError, match="'reference' does not time lines"):
        jit(lambda x: x + 1, backend="reference").profile(1.0)
    with pytest.raises(NotImplementedError, match="'reference' does not time lines"):
        jit(lambda x: x + 1).profile(device_put(np.ones(3), "reference"))
