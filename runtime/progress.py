"""A line on standard error that says what is being compiled, where that takes longer than two seconds.

In terminals and notebooks only; the environment variable PHLOX_PROGRESS=0 turns it off, and 1 on everywhere.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable, Iterator
from time import monotonic
from typing import Any, TypeVar

from .locks import new_lock

Step = TypeVar("Step")

DELAY, INTERVAL = 2.0, 0.5  # seconds

_lock = new_lock()
_threads = threading.local()


class Progress:
    """``with Progress("f", "tracing"):``; inside of another one of the thread it says what that one does now."""

    def __init__(self, name: str, stage: str) -> None:
        self.name, self.stage = name, stage
        self._outer: Progress | None = None
        self._timer: threading.Timer | None = None
        self._is_over = False
        self._width = 0

    def __enter__(self) -> None:
        self._outer = getattr(_threads, "current", None)
        if self._outer is not None:
            self._outer.stage, self.stage = self.stage, self._outer.stage
            return
        _threads.current = self
        if _is_wanted():
            self._start = monotonic()
            self._wait(DELAY)

    def __exit__(self, *exception: Any) -> None:
        if self._outer is not None:
            self._outer.stage = self.stage
            return
        _threads.current = None
        if self._timer is not None:
            with _lock:
                self._is_over = True
                self._timer.cancel()
                self._write("")

    def _wait(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._show)
        self._timer.daemon = True
        try:
            self._timer.start()
        except RuntimeError:  # there can be no further thread
            self._timer = None

    def _show(self) -> None:
        with _lock:
            if not self._is_over:
                self._write(f"phlox: {self.name}: {self.stage}, {monotonic() - self._start:.0f} s")
                self._wait(INTERVAL)

    def _write(self, text: str) -> None:
        """In place of what stands there."""
        if text or self._width:
            try:
                sys.stderr.write("\r" + text.ljust(self._width) + ("" if text else "\r"))
                sys.stderr.flush()
            except (OSError, ValueError, AttributeError):  # nobody can read it any more
                self._is_over = True
            self._width = len(text)


def set_stage(stage: str) -> None:
    """Say what the compilation that runs in this thread does now."""
    current = getattr(_threads, "current", None)
    if current is not None:
        current.stage = stage


def announced(steps: Iterable[Step], names: Iterable[str]) -> Iterator[Step]:
    """The steps, each of which is named while it is made."""
    steps = iter(steps)
    for name in names:
        set_stage(name)
        yield next(steps)
    yield from steps  # nothing but what is done behind the last one


def _is_wanted() -> bool:
    setting = os.environ.get("PHLOX_PROGRESS", "")
    if setting:
        return setting != "0"
    stream = sys.stderr
    try:
        return stream.isatty() or type(stream).__module__.partition(".")[0] == "ipykernel"
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False
