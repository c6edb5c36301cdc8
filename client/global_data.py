"""Handles to data that a client holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..hlo.shape import AnyShape


class GlobalData:
    """Refers to an array, or a tuple of arrays, that a client holds: an argument or a result of its executions.

    ``shape`` is the data's shape, ``client`` whose data it is. `Client.TransferToServer` and `Client.Execute` make them.
    """

    __slots__ = ("client", "shape", "_arrays", "__weakref__")

    def __init__(self, client: Any, shape: AnyShape, arrays: tuple[np.ndarray, ...]) -> None:
        self.client, self.shape = client, shape
        self._arrays: tuple[np.ndarray, ...] | None = arrays

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """The arrays, one for each leaf of the shape, contiguous in its layout. Raises ValueError after Unregister."""
        if self._arrays is None:
            raise ValueError(f"this data, {self.shape}, has been unregistered")
        return self._arrays

    def release(self) -> None:
        """Lets go of the arrays; what `Client.Unregister` does."""
        self._arrays = None

    def __repr__(self) -> str:
        return f"<data {self.shape}{'' if self._arrays is not None else ', unregistered'}>"
