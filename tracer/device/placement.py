"""Where arrays go, and functions run: `device_put`, `device`, `memory_stats`."""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any

import numpy as np

from ...backends.registry import in_force
from ..calls.array_memory import put_on_device
from ..calls.devices import find_device
from ..recording import pytree
from ..recording.current_trace import current_trace
from ..recording.device_arrays import ArrayOnDevice, Device
from .exchange import from_cuda_interface


def device_put(x: Any, device: str | Device | None = None) -> Any:
    """The same with copies of its arrays on a device; those that are there already stay what they are.

    x: an array, or a container of arrays as jitted functions take them (`register_pytree`), NumPy's scalars among them; what
    else it holds stays what it is. device: its name, such as ``"cuda:0"``; None means the one of ``with phlox.device(...)``,
    else that of PHLOX_BACKEND, else the CPU. Raises TypeError where there is no array, or one of a dtype that XLA has no type
    for; MemoryError; and, for the device, as `devices`.

    >>> import numpy as np
    >>> device_put({"w": np.float32([1, 2]), "rate": 0.1}, "cpu")
    {'w': DeviceArray([1., 2.], dtype=float32, device='cpu:0'), 'rate': 0.1}
    """
    if current_trace() is not None:
        return x  # it lies where the program runs
    where = find_device(device)
    leaves, structure = pytree.flatten(x, lambda value: isinstance(value, np.ndarray))  # those of records, too
    moved = [_moved(leaf, where) for leaf in leaves]
    if not any(isinstance(leaf, ArrayOnDevice) for leaf in moved):
        raise TypeError(f"device_put takes arrays and containers of arrays; there is none in {type(x).__name__}")
    return pytree.unflatten(structure, moved)


def _moved(leaf: Any, where: Device) -> Any:
    if isinstance(leaf, ArrayOnDevice):
        return leaf if leaf.device.memory is where.memory else put_on_device(where, leaf.to_host())
    if isinstance(leaf, (np.ndarray, np.generic)):
        return put_on_device(where, np.asarray(leaf))
    if hasattr(type(leaf), "__cuda_array_interface__") and getattr(where.memory, "dlpack_device", (None,))[0] == 2:
        return from_cuda_interface(leaf)
    return leaf


class device(ContextDecorator):  # noqa: N801
    """``with phlox.device("cuda:0"):`` lets functions that name no backend run there, and `device_put` put arrays there.

    It holds in the thread, or the task of asyncio, that enters it, and can be nested. Functions that are given arrays of
    another device run where these are, and so do those for which `jit` was given a backend. Raises, where it is made, as
    `devices`.

    >>> import numpy as np, phlox
    >>> with phlox.device("reference"):
    ...     phlox.device_put(np.ones(2)).device
    <device reference:0>
    """

    def __init__(self, name: str | Device) -> None:
        self.device = find_device(name)
        self._entered: list[Any] = []

    def synchronize(self) -> None:
        """Wait for all that was asked of the device, by this thread and others. Raises what went wrong meanwhile.

        >>> import phlox
        >>> phlox.device("cpu").synchronize()
        """
        self.device.synchronize()

    @property
    def stream(self) -> int | None:
        """The address of the stream that all work of the device is in, None where it has none.

        Other libraries that are told to work in it do so in order with phlox: ``with cupy.cuda.ExternalStream(stream):``.
        """
        return self.device.stream

    def __enter__(self) -> Device:
        one = in_force(self.device.name)
        one.__enter__()
        self._entered.append(one)
        return self.device

    def __exit__(self, *raised: Any) -> None:
        self._entered.pop().__exit__(*raised)

    def _recreate_cm(self) -> device:
        return type(self)(self.device)  # each call of a decorated function has its own


def memory_stats(device: str | Device | None = None) -> dict[str, int]:
    """Of a device's memory, in bytes: ``bytes_in_use``, ``peak_bytes_in_use``, ``bytes_reserved`` and the like.

    Raises NotImplementedError for a device whose memory does not count, as the process's, and as `devices`.

    >>> memory_stats("cpu")
    Traceback (most recent call last):
        ...
    NotImplementedError: the memory of cpu:0 does not count what is in use
    """
    one = find_device(device)
    statistics = getattr(one.memory, "statistics", None)
    if statistics is None:
        raise NotImplementedError(f"the memory of {one.name} does not count what is in use")
    return dict(statistics())
