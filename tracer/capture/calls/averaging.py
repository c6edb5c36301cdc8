"""``math.fsum`` and the functions of ``statistics``, of what the program computes."""

from __future__ import annotations

import math
import statistics
import types
from collections.abc import Callable
from typing import Any

from ..library import averages
from .dispatch import call
from .meanings import implements
from .standard_library import may_give_traced
from .users_functions import captured


def _of_values(original: Callable, followed: Callable) -> None:
    def implementation(data: Any, *args: Any, **kwargs: Any) -> Any:
        if not may_give_traced(data) and not any(map(may_give_traced, (*args, *kwargs.values()))):
            return original(data, *args, **kwargs)
        return call(followed, data, *args, **kwargs)

    implements(original)(implementation)


def _of_source(original: types.FunctionType) -> None:
    """What Python itself writes in terms of the others, and of sorted data."""

    def implementation(*args: Any, **kwargs: Any) -> Any:
        function = captured(original) if any(map(may_give_traced, args)) else original
        return function(*args, **kwargs)

    implements(original)(implementation)


_FOLLOWED = (
    "correlation", "covariance", "geometric_mean", "linear_regression", "median_grouped", "multimode", "quantiles",
)  # fmt: skip
_OWN = (
    "fmean", "harmonic_mean", "mean", "median", "median_low", "median_high", "mode", "pstdev", "pvariance", "stdev", "variance",
)  # fmt: skip
for _name in _FOLLOWED:
    _of_source(getattr(statistics, _name))
for _module, _names in ((math, ("fsum",)), (statistics, _OWN)):
    for _name in _names:
        _of_values(getattr(_module, _name), getattr(averages, _name))
