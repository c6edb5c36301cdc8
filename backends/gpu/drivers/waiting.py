"""Waiting for a device no longer than the user lets kernels run."""

from __future__ import annotations

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
