"""Which drivers there are in this process, and why the others are not."""

from __future__ import annotations

from collections.abc import Callable

from ....runtime.locks import new_lock
from ..errors import DriverUnavailableError
from .cuda import CudaDriver
from .driver import Driver
from .hip import HipDriver
from .opencl import OpenCLDriver

# "gpu" stands for the first one that has a device.
DRIVERS: dict[str, Callable[[], Driver]] = {"cuda": CudaDriver, "rocm": HipDriver, "opencl": OpenCLDriver}

_found: dict[str, Driver | str] = {}
_lock = new_lock()


def find_driver(name: str) -> Driver:
    """The driver with this name, the same object each time. Raises DriverUnavailableError, which says why it is not there."""
    with _lock:
        if name not in _found:
            try:
                _found[name] = DRIVERS[name]()
            except DriverUnavailableError as error:
                _found[name] = str(error)
        found = _found[name]
    if isinstance(found, str):
        raise DriverUnavailableError(found)
    return found


def unavailable_drivers() -> dict[str, str]:
    """The drivers that are not there, with the reason of each."""
    reasons = {}
    for name in DRIVERS:
        try:
            find_driver(name)
        except DriverUnavailableError as error:
            reasons[name] = str(error)
    return reasons
