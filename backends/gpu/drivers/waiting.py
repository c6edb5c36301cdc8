"""Waiting for a device no longer than the user lets kernels run."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable

from ..errors import KernelTimeoutError
from .launched import Launched

_LONGEST_PAUSE = 0.001


def wait_until(done: Callable[[], bool], limit: float, device: str, launched: Launched) -> None:
    """Return when ``done()`` is true. Raises KernelTimeoutError when it is not within so many seconds."""
    end, pause = time.monotonic() + limit, 1e-6
    while not done():
        if time.monotonic() > end:
            raise KernelTimeoutError(
                f"a kernel runs on {device} for longer than the time limit of {limit:g} s; it cannot be stopped, "
                f"and the device takes no more work in this process{launched.text()}"
            )
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def end_without_libraries() -> None:
    """Let the process, when it exits, not run what libraries have asked for until now: an OpenCL that runs kernels in the
    process waits for them there, and one may never end. Where the C library has no ``on_exit`` they are waited for.
    """
    if os.name != "posix":
        return
    library = ctypes.CDLL(None)
    if hasattr(library, "on_exit") and hasattr(library, "__cxa_atexit"):
        library["on_exit"](library["_exit"], None)  # with the status of the process
        library["__cxa_atexit"](library.fflush, None, None)  # the last one is the first to run
