"""What functions that call themselves ask for where they are loops (`source/recursion.py`)."""

from __future__ import annotations

from typing import Any

from ..recording.errors import TracerError
from .attributes import getattr_
from .calls.dispatch import call
from .choices import Choice, Maybe


def receiver(value: Any, method: str, qualname: str) -> Any:
    """What a method is called of by itself. Raises TracerError where that has another one of this name."""
    getattr_(value, method)
    value = value.value if type(value) is Maybe else value
    for one in value.values if type(value) is Choice else (value,):
        found = getattr(type(one), method, None)
        if getattr(found, "__qualname__", None) != qualname:
            raise TracerError(f"{qualname} calls a {method} of {type(one).__name__}, which is another one")
    return value


def sequence(iterable: Any) -> Any:
    """What a loop goes over, as something that has positions."""
    return iterable if isinstance(iterable, (list, tuple, str)) else call(list, iterable)
