"""Handles to data that a client holds."""

from __future__ import annotations

from typing import Any

from ..backends.device_memory import Buffer
from ..hlo.shape import AnyShape


class GlobalData:
    """Refers to an array, or a tuple of arrays, that a client holds: an argument or a result of its executions.

    ``shape`` is the data's shape, ``client`` whose data it is. `Client.TransferToServer` and `Client.Execute` make them.
    """

    __slots__ = ("client", "shape", "_buffers", "__weakref__")

    def __init__(self, client: Any, shape: AnyShape, buffers: tuple[Buffer, ...]) -> None:
        self.client, self.shape = client, shape
        self._buffers: tuple[Buffer, ...] | None = buffers

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """One for each leaf of the shape that is no token, in its layout. Raises ValueError after Unregister."""
        if self._buffers is None:
            raise ValueError(f"this data, {self.shape}, has been unregistered")
        return self._buffers

    def release(self) -> None:
        """Lets go of the buffers; what `Client.Unregister` does."""
        self._buffers = None

    def __repr__(self) -> str:
        return f"<data {self.shape}{'' if self._buffers is not None else ', unregistered'}>"
