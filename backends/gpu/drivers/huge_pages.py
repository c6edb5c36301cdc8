"""Huge pages for the memory of devices that are processors: of others they read large arrays half as fast."""

from __future__ import annotations

import ctypes
import mmap
from functools import cache
from typing import Any

_HUGE_PAGE_BYTES = 2 << 20


def ask_for_huge_pages(address: int, size: int) -> None:
    """Let the system use huge pages for memory that nothing has been written to, where it has them."""
    advise = _advise()
    start = -(-address // mmap.PAGESIZE) * mmap.PAGESIZE
    length = (address + size - start) // mmap.PAGESIZE * mmap.PAGESIZE
    if advise is not None and length >= _HUGE_PAGE_BYTES:
        advise(start, length, mmap.MADV_HUGEPAGE)


@cache
def _advise() -> Any:
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        return None
    function = ctypes.CDLL(None).madvise
    function.restype, function.argtypes = ctypes.c_int, (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return function
