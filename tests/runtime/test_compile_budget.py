"""Durations as people write them, and budgets of compilations."""

import datetime

import numpy as np
import pytest
from phlox.runtime.compile_budget import CompileBudget, current_budget, seconds_of


@pytest.mark.parametrize(
    "duration, seconds",
    [
        ("300ms", 0.3), ("2s", 2.0), (" 1.5 s ", 1.5), (".5min", 30.0), ("20us", 20e-6), (3, 3.0), (0.25, 0.25),
        (np.float32(0.5), 0.5), (datetime.timedelta(milliseconds=40), 0.04),
    ],
)  # fmt: skip
def test_durations(duration, seconds):
    assert seconds_of(duration) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "duration", ["", "300", "ms", "3 hours", "-1s", "1e3s", "0s", 0, -1.0, np.inf, np.nan, datetime.timedelta(0)]
)
def test_what_is_no_duration(duration):
    with pytest.raises(ValueError, match="budget: a positive time, .* is required, .* given"):
        seconds_of(duration)


@pytest.mark.parametrize("duration", [True, [1], np.ones(2), 1j])
def test_types_of_no_durations(duration):
    with pytest.raises(TypeError, match="budget"):
        seconds_of(duration)


def test_the_innermost_budget_is_current():
    assert current_budget() is None
    with CompileBudget(10.0, spent=4.0).active() as outer:
        assert current_budget() is outer and outer.left < 6.0
        with CompileBudget(1.0).active() as inner:
            assert current_budget() is inner
        assert current_budget() is outer
    assert current_budget() is None


def test_what_is_given_up_is_told_once():
    budget = CompileBudget(1.0)
    for what in ("b", "a", "b"):
        budget.give_up(what)
    assert budget.given_up == ["b", "a"]
