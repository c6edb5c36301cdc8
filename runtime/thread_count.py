"""How many threads compiled code uses: as many as there are cores for this process, unless it is told another number."""

from __future__ import annotations

import ctypes
import functools
import operator
import os
from collections.abc import Iterator
from pathlib import Path
from typing import SupportsIndex

_VARIABLE = "PHLOX_NUM_THREADS"
_CGROUPS = Path("/sys/fs/cgroup")


def set_num_threads(number: SupportsIndex) -> None:
    """Let compiled code use so many threads. Raises TypeError and ValueError."""
    try:
        wanted = operator.index(number)
    except TypeError:
        raise TypeError(f"num_threads requires an integer, {type(number).__name__} given") from None
    if not 1 <= wanted < 1 << 31:
        raise ValueError(f"num_threads requires a number of threads, 1 or more; given {wanted}")
    thread_limit().value = wanted


@functools.cache
def thread_limit() -> ctypes.c_int64:
    """The number of threads, in memory that native code reads. Raises ValueError if the environment variable has no number.

    Where there is none it is that of ``OMP_NUM_THREADS``, which those set that start several processes (joblib does), and
    NumPy's libraries go by.
    """
    text = os.environ.get(_VARIABLE)
    if text is None:
        usual = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
        return ctypes.c_int64(int(usual) if usual.isdecimal() and int(usual) else available_cores())
    if not text.strip().isdecimal() or not int(text):
        raise ValueError(f"{_VARIABLE} requires a number of threads, 1 or more; given {text!r}")
    return ctypes.c_int64(int(text))


def available_cores() -> int:
    """The cores that this process may use: those of its affinity, and no more than its control groups give it the time of."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([allowed, *_quotas(Path("/proc/self/cgroup"), _CGROUPS)]))


def _quotas(membership: Path, root: Path) -> Iterator[int]:
    """The cores, rounded up, that each control group of the process has time for, where it has a limit (version 1 or 2)."""
    try:
        lines = membership.read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        folder = root / "cpu" if controllers else root
        group = folder / path.lstrip("/")
        for place in (group, *group.parents):
            yield from _quota(place)
            if place == folder:
                break


def _quota(group: Path) -> Iterator[int]:
    try:
        if (group / "cpu.max").exists():
            quota, period = (group / "cpu.max").read_text(encoding="ascii").split()
        else:
            names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
            quota, period = ((group / name).read_text(encoding="ascii").strip() for name in names)
    except (OSError, ValueError):
        return
    if quota not in ("max", "-1"):
        yield -(-int(quota) // int(period))
