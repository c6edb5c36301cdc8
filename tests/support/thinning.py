"""What the ordinary run leaves to `.ci/run`: most of many cases of one kind, and what takes long; it is slow, too.

Of many cases `.ci/run` takes only some, too: `pytest -m slow` runs all that the ordinary run leaves out.
"""

import itertools
import zlib
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest

LEFT_TO_CI = [pytest.mark.slow, pytest.mark.ci]
# Of a case whose name has this checksum.
MARKS_BY_NAME = ([], LEFT_TO_CI, LEFT_TO_CI, [pytest.mark.slow])


def left_to_ci(test: Callable[..., None]) -> Callable[..., None]:
    """Decorator: a test that takes long, for what hardly ever changes."""
    return pytest.mark.slow(pytest.mark.ci(test))


def marks_at(place: int, step: int, ci_step: int = 1) -> list[pytest.MarkDecorator]:
    """The marks of a case: one in `step` is ordinary, of the others one in `ci_step` is left to `.ci/run`."""
    if place % step == 0:
        return []
    return LEFT_TO_CI if place % ci_step == 0 else [pytest.mark.slow]


def one_in(step: int, cases: Iterable[Any], ci_step: int = 1) -> list[Any]:
    """The cases as parameters of a test, with `marks_at` their places."""
    return one_in_all(step, cases, ci_step=ci_step)


def one_in_all(step: int, *axes: Iterable[Any], ci_step: int = 1) -> list[Any]:
    """Likewise the ways to take one of each axis: a step without a divisor in common with an axis goes round on it."""
    cases = enumerate(itertools.product(*axes))
    return [pytest.param(*case, marks=marks_at(place, step, ci_step)) for place, case in cases]


def leave_most_to_ci(items: Iterable[pytest.Item]) -> None:
    """Of the ordinary cases of a test behind its first eight, one in four is ordinary, and two are left to `.ci/run`.

    Their names decide it: every value of each axis stays, and a new case does not exchange the others.
    """
    seen: Counter[str] = Counter()
    for item in items:
        if any(item.get_closest_marker(name) for name in ("slow", "ci", "gpu")):
            continue
        test, _, case = item.nodeid.partition("[")
        seen[test] += 1
        if seen[test] > 8:
            for mark in MARKS_BY_NAME[zlib.crc32(case.encode()) % len(MARKS_BY_NAME)]:
                item.add_marker(mark)
