"""Processes that were forked off: no driver works in a child of the process that began to use it."""

from __future__ import annotations

import ctypes
import os

from ..errors import ForkedDeviceError

FORKS = ctypes.c_int64(0)  # how often this process was forked off, counted along its ancestors; native code reads it


_first_uses: dict[str, int] = {}


def fork_count() -> int:
    """A number that is another one in every process that is forked off."""
    return FORKS.value


def first_use(driver: str) -> int:
    """What `fork_count` was when this process, or one that it was forked off from, began to use the driver.

    Raises ForkedDeviceError where that was another process.
    """
    count = _first_uses.setdefault(driver, FORKS.value)
    require_unforked(count, driver)
    return count


def require_unforked(count: int, driver: str) -> None:
    """Raise ForkedDeviceError where `fork_count` was this in an ancestor of the process, which began to use the driver."""
    if count != FORKS.value:
        raise ForkedDeviceError(
            f"{driver} was in use before this process was forked off, and does not work in the child: "
            'start the child by the method "spawn" of multiprocessing, or use devices first in the child'
        )


def _after_fork_in_child() -> None:
    FORKS.value += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
