"""Settings of the process that the user changes while it runs."""

from __future__ import annotations

from typing import SupportsFloat, SupportsIndex

from .determinism import determinism, require_truth
from .kernel_time import kernel_time, seconds_above_zero
from .thread_count import set_num_threads, thread_limit


class _Called(type):
    def __setattr__(cls, name: str, value: object) -> None:
        raise AttributeError(f"phlox.config is no object with settings; to set one, call it: phlox.config({name}={value!r})")


class config(metaclass=_Called):  # noqa: N801
    """Settings of the process, until they are set again, or to the end of a ``with`` statement.

    num_threads: how many threads compiled code may use, the calling one included; at first what the environment variables
        ``PHLOX_NUM_THREADS`` or ``OMP_NUM_THREADS`` say, or as many as there are cores that this process may use. Results do
        not depend on it.
    kernel_seconds: how long a call waits for kernels on a GPU before it raises `phlox.gpu.KernelTimeoutError`; at first what
        ``PHLOX_KERNEL_SECONDS`` says, or ``math.inf``: as long as they take.
    deterministic: whether results on GPUs are the same from run to run, in functions whose `jit` does not say it; at first
        whether ``PHLOX_DETERMINISTIC`` is 1. Sums of floats at places that repeat are sorted then, which takes some ten times
        as long (``docs/gpu.md``). Results of the CPU backend always are.

    ``config()`` changes nothing; its attributes are the present settings. Raises TypeError for what is no number or truth,
    ValueError for numbers of threads below 1, and seconds that are not above 0.

    >>> import phlox
    >>> with phlox.config(num_threads=1):
    ...     phlox.config().num_threads
    1
    """

    def __init__(
        self,
        *,
        num_threads: SupportsIndex | None = None,
        kernel_seconds: SupportsFloat | None = None,
        deterministic: bool | None = None,
    ) -> None:
        self._before = thread_limit().value, kernel_time.seconds, determinism.is_asked_for
        limit = None if kernel_seconds is None else seconds_above_zero(kernel_seconds, "kernel_seconds")
        require_truth(deterministic, "deterministic")
        if num_threads is not None:
            set_num_threads(num_threads)
        if kernel_seconds is not None:
            kernel_time.seconds = limit
        if deterministic is not None:
            determinism.is_asked_for = deterministic

    @property
    def num_threads(self) -> int:
        """How many threads compiled code uses at most, the caller's among them."""
        return thread_limit().value

    @property
    def kernel_seconds(self) -> float:
        """How many seconds a call waits for kernels on a device; infinity where it waits as long as they take."""
        return float("inf") if kernel_time.seconds is None else kernel_time.seconds

    @property
    def deterministic(self) -> bool:
        """Whether results on devices are the same from run to run."""
        return bool(determinism)

    def __enter__(self) -> config:
        return self

    def __exit__(self, *exception: object) -> None:
        thread_limit().value, kernel_time.seconds, determinism.is_asked_for = self._before

    def __repr__(self) -> str:
        settings = f"kernel_seconds={self.kernel_seconds:g}, deterministic={self.deterministic}"
        return f"config(num_threads={self.num_threads}, {settings})"
