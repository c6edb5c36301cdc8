"""Where the arrays of a call lie, be it the process's memory or a device's: what they share, and how they get new contents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

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
    """Equal for arrays that are the same elements of the same memory in the same order, and can be written to, or cannot."""
    if isinstance(array, ArrayOnDevice):
        return array.memory_place
    return array.ctypes.data, array.shape, array.strides, array.dtype, array.flags.writeable


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
    results = tuple([ArrayOnDevice.made(device, buffer) for buffer in execute(upload(device.memory, arguments, shapes))])
    for result in results:
        result.is_writeable = bool(result.ndim)  # as NumPy's scalars
    return results


def upload(memory: Any, arguments: Sequence[Any], shapes: Sequence[hlo.Shape]) -> list[Any]:
    """Buffers of a device's memory with arguments of these shapes: those that lie there, and what the process has.

    Of its arrays several small ones go there in one transfer, where the memory can do that; numbers stay for later calls.
    """
    buffers: list[Any] = []
    waiting: list[tuple[int, np.ndarray, hlo.Shape]] = []
    for number, (argument, shape) in enumerate(zip(arguments, shapes, strict=True)):
        if isinstance(argument, ArrayOnDevice):
            buffers.append(in_layout(memory, argument.buffer, shape))
            continue
        array = np.asarray(argument)
        if array.ndim:
            waiting.append((number, array, shape))
            buffers.append(None)
        else:
            buffers.append(number_on(memory, array, shape))
    together = getattr(memory, "write_together", None)
    if len(waiting) > 1 and together is not None:
        found = together([(array, shape) for _, array, shape in waiting])
    else:
        found = [to_device(memory, array, shape) for _, array, shape in waiting]
    for (number, *_), buffer in zip(waiting, found):
        buffers[number] = buffer
    return buffers


# Numbers on devices, by what their bytes are: programs write to no buffer that they are given. A loop's constants are the same
# ones at each of its rounds.
_numbers: WeakKeyDictionary[Any, dict[tuple[np.dtype, bytes], Any]] = WeakKeyDictionary()
_MOST_NUMBERS = 256


def numbers_on(memory: Any) -> dict[tuple[np.dtype, bytes], Any]:
    """The buffers of numbers that are kept on a device."""
    kept = _numbers.get(memory)
    return _numbers.setdefault(memory, {}) if kept is None else kept


def number_on(memory: Any, array: np.ndarray, shape: hlo.Shape) -> Any:
    """A buffer with the contents of an array of no dimensions, which may be that of an earlier call."""
    kept = numbers_on(memory)
    key = array.dtype, array.tobytes()
    buffer = kept.get(key)
    if buffer is None:
        if len(kept) >= _MOST_NUMBERS:
            kept.clear()
        buffer = kept[key] = to_device(memory, array, shape)
    return buffer


def put_on_device(device: Device, array: np.ndarray) -> ArrayOnDevice:
    """A copy of an array of the process, row-major. Raises TypeError for a dtype that XLA has no type for."""
    contiguous = np.ascontiguousarray(array).reshape(array.shape)
    return ArrayOnDevice.made(device, to_device(device.memory, contiguous))
