"""The trace that a thread is recording."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .trace import Trace

_active = threading.local()


def current_trace() -> Trace | None:
    """The innermost trace that this thread is recording, None outside of tracing."""
    trace = getattr(_active, "trace", None)
    while trace is not None and not trace.running.locked():  # an interrupt has kept it from being left in order
        trace = _active.trace = trace.enclosing
    return trace


def set_current_trace(trace: Trace | None) -> None:
    """For `Trace`, as it is entered and left."""
    _active.trace = trace
