"""Where the arrays of a call lie, be it the process's memory or a device's: what they share, and how they get new contents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import hlo
from ...backends.device_memory import in_layout, to_device
from ..recording.device_arrays import ArrayOnDevice, Device
from .shared_memory import overlap


def is_array(value: Any) -> bool:
    return isinstance(value, (np.ndarray, ArrayOnDevice))


def is_writeable(array: Any) -> bool:
    return array.is_writeable if isinstance(array, ArrayOnDevice) else array.flags.writeable


def may_share_memory(first: Any, second: Any) -> bool:
    """Whether two arrays may have an element in common; quick."""
    if isinstance(first, ArrayOnDevice) or isinstance(second, ArrayOnDevice):
        return isinstance(first, ArrayOnDevice) and isinstance(second, ArrayOnDevice) and first.root is second.root
    return np.may_share_memory(first, second)


def shares_memory(first: Any, second: Any) -> bool:
    """The same, as far as that is found out for arrays in the process's memory."""
    return may_share_memory(first, second) and (isinstance(first, ArrayOnDevice) or overlap(first, second))


def memory_place(array: Any) -> tuple[Any, ...]:
    """Equal for arrays that are the same elements of the same memory in the same order."""
    if isinstance(array, ArrayOnDevice):
        return array.memory_place
    return array.ctypes.data, array.shape, array.strides, array.dtype


def put_contents(array: Any, contents: Any) -> None:
    """Let an array, wherever it lies, have the contents of a result of its shape and dtype."""
    if not isinstance(array, ArrayOnDevice):
        np.copyto(array, contents.to_host() if isinstance(contents, ArrayOnDevice) else contents)
    else:
        array.replace(contents.buffer)


def run_on_device(
    execute: Callable[[Sequence[Any]], Sequence[Any]], device: Device, shapes: Sequence[hlo.Shape], arguments: Sequence[Any]
) -> tuple[ArrayOnDevice, ...]:
    """The results of a program that takes and gives buffers of the device; arrays of the process are copied there."""
    memory = device.memory
    buffers = [
        in_layout(memory, argument.buffer, shape)
        if isinstance(argument, ArrayOnDevice)
        else to_device(memory, np.asarray(argument), shape)
        for argument, shape in zip(arguments, shapes, strict=True)
    ]
    results = tuple([ArrayOnDevice.made(device, buffer) for buffer in execute(buffers)])
    for result in results:
        result.is_writeable = bool(result.ndim)  # as NumPy's scalars
    return results


def on_host(array: ArrayOnDevice) -> Any:
    """A result as a call of arrays of the process gives it."""
    found = array.to_host()
    return found if found.ndim else found[()]


def put_on_device(device: Device, array: np.ndarray) -> ArrayOnDevice:
    """A copy of an array of the process, row-major. Raises TypeError for a dtype that XLA has no type for."""
    contiguous = np.ascontiguousarray(array).reshape(array.shape)
    return ArrayOnDevice.made(device, to_device(device.memory, contiguous))
