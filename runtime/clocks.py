"""The clocks that Python's `time` reads, as programs read them: by the C library's clock_gettime, in nanoseconds."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .custom_calls import PythonTarget, register_family

PREFIX = "phlox.clock."
_IMPLEMENTATION = re.compile(r"clock_gettime\((CLOCK_\w+)\)")


def clock_target(function: Callable[..., Any]) -> str | None:
    """The name under which programs read the clock of a function of `time`; None where Python reads it otherwise.

    >>> import sys
    >>> clock_target(time.perf_counter) if sys.platform == "linux" else "phlox.clock.CLOCK_MONOTONIC"
    'phlox.clock.CLOCK_MONOTONIC'
    """
    found = _IMPLEMENTATION.fullmatch(time.get_clock_info(function.__name__.removesuffix("_ns")).implementation)
    return PREFIX + found[1] if found and hasattr(time, found[1]) else None


def clock_number(target: str) -> int | None:
    """The number that clock_gettime has for a clock, by its name; None for other functions that programs call."""
    return getattr(time, target.removeprefix(PREFIX), None) if target.startswith(PREFIX) else None


def _find(target: str) -> PythonTarget | None:
    number = clock_number(target)
    return None if number is None else PythonTarget(target, lambda: np.int64(time.clock_gettime_ns(number)))


register_family(PREFIX, _find)
