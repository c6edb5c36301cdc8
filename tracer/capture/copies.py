"""Containers that stand for others, as what is read from a list whose length the program decides: they must not be changed."""

from __future__ import annotations

from typing import Any

from ..recording import pytree
from ..recording.current_trace import current_trace
from ..recording.errors import TracerError
from ..recording.trace import Trace


def note_copies(trace: Trace, value: Any) -> None:
    """What is changed in such a value would not be changed in the list."""
    leaves, structure = pytree.flatten(value, lambda part: part is not value)
    if structure is pytree.LEAF and not isinstance(value, set):
        return
    if not isinstance(value, tuple):
        trace.program.copies[id(value)] = value
    for leaf in leaves if structure is not pytree.LEAF else ():
        note_copies(trace, leaf)


def require_own(holder: Any) -> None:
    """To be called with a container that is about to be changed."""
    trace = current_trace()
    if trace is not None and id(holder) in trace.program.copies:
        raise TracerError(
            f"a {type(holder).__name__} is changed that is one of several, or an element of a list, where the program decides "
            "which one it is, or how many there are. Fix: put another one there (x[i] = x[i] + [value]), or copy it first"
        )
