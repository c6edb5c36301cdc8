"""Of many cases of one kind the ordinary run takes some, ``pytest -m slow`` the others."""

from collections.abc import Iterable
from typing import Any

import pytest


def one_in(step: int, cases: Iterable[Any]) -> list[Any]:
    """The cases as parameters of a test, of which one in so many is ordinary."""
    return [pytest.param(case, marks=[pytest.mark.slow] if place % step else []) for place, case in enumerate(cases)]
