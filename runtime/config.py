"""Settings of the process that the user changes while it runs."""

from __future__ import annotations

from typing import SupportsFloat, SupportsIndex

from .kernel_time import kernel_time, seconds_above_zero
from .thread_count import set_num_threads, thread_limit


class config:  # noqa: N801
    """Settings of the process, until they are set again, or to the end of a ``with`` statement.

    num_threads: how many threads compiled code may use, the calling one included; at first what the environment variables
        ``PHLOX_NUM_THREADS`` or ``OMP_NUM_THREADS`` say, or as many as there are cores that this process may use. Results do
        not depend on it.
    kernel_seconds: how long a call waits for kernels on a GPU before it raises `phlox.gpu.KernelTimeoutError`; at first what
        ``PHLOX_KERNEL_SECONDS`` says, or ``math.inf``: as long as they take.

    ``config()`` changes nothing; its attributes are the present settings. Raises TypeError for what is no number, ValueError
    for numbers of threads below 1, and seconds that are not above 0.

    >>> import phlox
    >>> with phlox.config(num_threads=1):
    ...     phlox.config().num_threads
    1
    """

    def __init__(self, *, num_threads: SupportsIndex | None = None, kernel_seconds: SupportsFloat | None = None) -> None:
        self._before = thread_limit().value, kernel_time.seconds
        limit = None if kernel_seconds is None else seconds_above_zero(kernel_seconds, "kernel_seconds")
        if num_threads is not None:
            set_num_threads(num_threads)
        if kernel_seconds is not None:
            kernel_time.seconds = limit

    @property
    def num_threads(self) -> int:
        return thread_limit().value

    @property
    def kernel_seconds(self) -> float:
        return float("inf") if kernel_time.seconds is None else kernel_time.seconds

    def __enter__(self) -> config:
        return self

    def __exit__(self, *exception: object) -> None:
        thread_limit().value, kernel_time.seconds = self._before

    def __repr__(self) -> str:
        return f"config(num_threads={self.num_threads}, kernel_seconds={self.kernel_seconds:g})"
