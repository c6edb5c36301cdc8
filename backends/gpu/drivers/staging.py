"""Small arrays on their way to a device: through pinned memory, which is written again when the copies from it were made."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from ....runtime.locks import new_lock

if TYPE_CHECKING:
    from ..memory_pool import Block
    from .streams import StreamDevice

STAGED_BYTES = 64 << 10  # what is larger is copied by the driver
_RING_BYTES = 1 << 20
_ALIGNMENT = 16


class WriteRing:
    """Copies to a device that need not be waited for: only where the ring begins again, what is under way is."""

    def __init__(self, device: StreamDevice) -> None:
        self._device = device
        self._lock = new_lock()
        self._block: Block | None = None
        self._used = 0

    def write(self, address: int, source: int, size: int) -> None:
        """Copy so many bytes, in a thread whose device this is; the source may change once this returns."""
        with self._lock:
            if self._block is None:
                self._block = self._device.host_block(_RING_BYTES)
            if self._used + size > _RING_BYTES:
                self._device.wait()
                self._used = 0
            staged = self._block.address + self._used
            self._used += -(-size // _ALIGNMENT) * _ALIGNMENT
            ctypes.memmove(staged, source, size)
            self._device.copy_from_pinned(address, staged, size)
