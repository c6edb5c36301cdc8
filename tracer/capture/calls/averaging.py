"""``math.fsum`` and the functions of ``statistics``, of what the program computes."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from typing import Any

from ..library import averages
from .dispatch import call
from .meanings import implements
from .standard_library import may_give_traced


def _of_values(original: Callable, followed: Callable) -> None:
    def implementation(data: Any, *args: Any, **kwargs: Any) -> Any:
        if not may_give_traced(data) and not any(map(may_give_traced, (*args, *kwargs.values()))):
            return original(data, *args, **kwargs)
        return call(followed, data, *args, **kwargs)

    implements(original)(implementation)


for _module, _names in (
    (math, ("fsum",)),
    (statistics, ("fmean", "mean", "median", "median_low", "median_high", "mode", "pstdev", "pvariance", "stdev", "variance")),
):
    for _name in _names:
        _of_values(getattr(_module, _name), getattr(averages, _name))
