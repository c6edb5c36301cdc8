"""Calls that do not wait for code: Python runs the function while another thread compiles it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from contextlib import suppress

from ...runtime.locks import new_lock


class BackgroundCompilations:
    """The code that is being made for forms of call, each by a thread of its own.

    What fails there is left to the next call, which makes the code itself, and raises.
    """

    def __init__(self) -> None:
        self._threads: dict[Hashable, threading.Thread] = {}
        self._lock = new_lock()

    def is_going_on(self, form: Hashable, make: Callable[[], None]) -> bool:
        """Whether the code for a form of call is still being made; the first to ask lets ``make()`` do it."""
        with self._lock:
            thread = self._threads.get(form)
            if thread is None:
                # The interpreter waits for it at its end: LLVM cannot be left in the middle.
                thread = self._threads[form] = threading.Thread(target=_make, args=(make,), name="phlox compilation")
                thread.start()
                return True
        return thread.is_alive()

    def clear(self) -> None:
        """Forget what was made; what is being made comes to its end."""
        with self._lock:
            self._threads.clear()


def _make(make: Callable[[], None]) -> None:
    with suppress(BaseException):
        make()
