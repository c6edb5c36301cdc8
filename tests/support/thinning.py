"""What the ordinary run leaves to `.ci/run`: most of many cases of one kind, and what takes long; it is slow, too."""

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import pytest

LEFT_TO_CI = [pytest.mark.slow, pytest.mark.ci]


def left_to_ci(test: Callable[..., None]) -> Callable[..., None]:
    """Decorator: a test that takes long, for what hardly ever changes."""
    return pytest.mark.slow(pytest.mark.ci(test))


def one_in(step: int, cases: Iterable[Any]) -> list[Any]:
    """The cases as parameters of a test, of which one in so many is ordinary."""
    return one_in_all(step, cases)


def one_in_all(step: int, *axes: Iterable[Any]) -> list[Any]:
    """Likewise the ways to take one of each axis: a step without a divisor in common with an axis goes round on it."""
    cases = enumerate(itertools.product(*axes))
    return [pytest.param(*case, marks=LEFT_TO_CI if place % step else []) for place, case in cases]
