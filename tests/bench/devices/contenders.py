"""Calls of phlox with arguments that stay on a device, and results that come back to be compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import phlox
from phlox.backends.registry import get_backend

from .peers import mapped
from .timing import Contender


def waiting_for(backend: str) -> Callable[[Any], None]:
    """What waits for all that was asked of the backend's device."""
    synchronize = getattr(get_backend(backend).memory, "synchronize", None)  # the process's memory has none: calls wait

    def wait(result: Any) -> None:
        if synchronize is not None:
            synchronize()

    return wait


def on_device(function: Callable[..., Any], arguments: tuple[Any, ...], backend: str) -> Contender:
    """A call of the function with its arrays there."""
    given = tuple(mapped(lambda array: phlox.device_put(array, backend), one) for one in arguments)
    return lambda: function(*given), waiting_for(backend)


def of_module(module: Any, arguments: tuple[np.ndarray, ...], backend: str) -> Contender:
    """A run of the module, compiled for the backend."""
    memory, executable = get_backend(backend).memory, get_backend(backend).compile(module)
    buffers = [memory.share(argument) for argument in arguments]
    return lambda: Buffers(executable.execute(buffers), memory), waiting_for(backend)


class Buffers(tuple):
    """The results of a module."""

    def __new__(cls, buffers: Any, memory: Any) -> Buffers:
        made = super().__new__(cls, buffers)
        made.memory = memory
        return made


def to_host(result: Any) -> Any:
    if isinstance(result, Buffers):
        return tuple(map(result.memory.read, result))
    if isinstance(result, Mapping):
        return {key: to_host(one) for key, one in result.items()}
    if isinstance(result, tuple | list):
        return getattr(type(result), "_make", type(result))(map(to_host, result))
    return np.asarray(result)
