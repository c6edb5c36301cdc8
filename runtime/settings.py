"""Settings that environment variables make."""

from __future__ import annotations

import os


def bytes_setting(name: str, default: int) -> int:
    """The number of bytes that a variable says, the default where it is not set. Raises ValueError for anything else."""
    text = os.environ.get(name)
    if text is None:
        return default
    if not text.strip().isdecimal():
        raise ValueError(f"{name} requires a number of bytes, 0 or more; given {text!r}")
    return int(text)
