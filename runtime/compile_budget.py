"""How long a compilation may take: a budget that compilers ask what is left of, and that keeps what they gave up for it."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter
from typing import Any

_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}
_TEXT = re.compile(rf"\s*(\d+\.?\d*|\.\d+)\s*({'|'.join(_UNITS)})\s*")


def seconds_of(duration: Any) -> float:
    """A duration in seconds: a number of them, a datetime.timedelta, or a text such as ``"300ms"``.

    Raises ValueError for other texts, and for what is not a positive time; TypeError for other values.

    >>> seconds_of("300ms"), seconds_of("1.5 s"), seconds_of(datetime.timedelta(minutes=1)), seconds_of(2)
    (0.3, 1.5, 60.0, 2.0)
    """
    required = f"a positive time, as a number of seconds, a datetime.timedelta, or a number with one of {', '.join(_UNITS)}"
    if isinstance(duration, str):
        found = _TEXT.fullmatch(duration)
        if found is None:
            raise ValueError(f"budget: {required} is required, {duration!r} given")
        seconds = float(found[1]) * _UNITS[found[2]]
    elif isinstance(duration, datetime.timedelta):
        seconds = duration.total_seconds()
    elif isinstance(duration, bool):
        raise TypeError(f"budget: {required} is required, {duration!r} given")
    else:
        try:
            seconds = float(duration)
        except TypeError:
            raise TypeError(f"budget: {required} is required, {type(duration).__name__} given") from None
    if not (seconds > 0 and math.isfinite(seconds)):
        raise ValueError(f"budget: {required} is required, {duration!r} given")
    return seconds


class CompileBudget:
    """The time of one compilation, in seconds, of which ``spent`` have passed before. ``given_up`` are lines that tell what
    was left out for it."""

    def __init__(self, seconds: float, spent: float = 0.0) -> None:
        self.seconds = seconds
        self._start = perf_counter() - spent
        self.given_up: list[str] = []

    @property
    def spent(self) -> float:
        return perf_counter() - self._start

    @property
    def left(self) -> float:
        return self.seconds - self.spent

    def give_up(self, what: str) -> None:
        if what not in self.given_up:
            self.given_up.append(what)

    @contextmanager
    def active(self) -> Iterator[CompileBudget]:
        """Within, it is the budget of what this thread compiles."""
        token = _current.set(self)
        try:
            yield self
        finally:
            _current.reset(token)


_current: ContextVar[CompileBudget | None] = ContextVar("compile_budget", default=None)


def current_budget() -> CompileBudget | None:
    """The budget of what is being compiled; None where it may take as long as it takes."""
    return _current.get()
