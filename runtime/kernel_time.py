"""How long a call waits for kernels on a device: as long as they take, unless it is told a number of seconds."""

from __future__ import annotations

import ctypes
import math
import os
from typing import SupportsFloat

_VARIABLE = "PHLOX_KERNEL_SECONDS"


class _KernelTime:
    """``seconds`` is the limit, None where there is none; at first that of the environment variable.

    ``is_limited`` is 1 where somebody has asked for it, and there is one: native code reads it.
    """

    __slots__ = ("_seconds", "_is_known", "is_limited")

    def __init__(self) -> None:
        self._seconds: float | None = None
        self._is_known = False
        self.is_limited = ctypes.c_int64(0)

    @property
    def seconds(self) -> float | None:
        """Raises ValueError where the environment variable has no number of seconds."""
        if not self._is_known:
            text = os.environ.get(_VARIABLE)
            self.seconds = None if text is None else seconds_above_zero(text, _VARIABLE)
        return self._seconds

    @seconds.setter
    def seconds(self, limit: float | None) -> None:
        self._seconds, self._is_known = limit, True
        self.is_limited.value = limit is not None


kernel_time = _KernelTime()


def seconds_above_zero(given: SupportsFloat | str, name: str) -> float | None:
    """The number of seconds, None where it is infinite. Raises TypeError and ValueError, which the name begins.

    >>> seconds_above_zero("2.5", "limit"), seconds_above_zero(float("inf"), "limit")
    (2.5, None)
    """
    try:
        seconds = float(given)
    except TypeError:
        raise TypeError(f"{name} requires a number of seconds, {type(given).__name__} given") from None
    except ValueError:
        seconds = math.nan
    if not seconds > 0:
        raise ValueError(f"{name} requires a number of seconds, more than 0; given {given}")
    return None if math.isinf(seconds) else seconds
