"""The trace that a thread is recording, and which traces are around it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ...hlo import set_current_builder

if TYPE_CHECKING:
    from .trace import Trace


class _Active(threading.local):
    trace: Trace | None = None


_active = _Active()


def current_trace() -> Trace | None:
    """The innermost trace that this thread is recording, None outside of tracing."""
    trace = _active.trace
    while trace is not None and not trace.running.locked():  # an interrupt has kept it from being left in order
        trace = trace.enclosing
        set_current_trace(trace)
    return trace


def set_current_trace(trace: Trace | None) -> None:
    """For `Trace`, as it is entered and left: the functions of `phlox.hlo` write into this trace's computation."""
    _active.trace = trace
    set_current_builder(None if trace is None else trace.builder)


def is_around(trace: Trace, inner: Trace) -> bool:
    """Whether a trace is another one, or is around that."""
    while inner is not None and inner is not trace:
        inner = inner.parent
    return inner is trace
