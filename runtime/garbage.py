"""The interpreter's search for cyclic garbage, while something is compiled.

Tracing and compiling make hundreds of thousands of objects, most of which stay for a while. At the interpreter's own pace a
fifth of the time would be spent on looking at them again and again, and at everything else that the process holds.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from .locks import new_lock

# New objects, about a MB of them, before the interpreter looks for garbage again.
_PACE = 5_000

_lock = new_lock()
_running = 0
_before: tuple[int, int, int] | None = None


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collect garbage at a slower pace, unless that is slow enough, or turned off; also while other threads do so.

    >>> with rare_collections():
    ...     gc.get_threshold()[0] >= 5000
    True
    """
    _begin()
    try:
        yield
    finally:
        _end()


def _begin() -> None:
    global _running, _before
    with _lock:
        _running += 1
        pace = gc.get_threshold()
        if _running == 1 and 0 < pace[0] < _PACE:
            _before = pace
            gc.set_threshold(_PACE, *pace[1:])


def _end() -> None:
    global _running, _before
    with _lock:
        _running -= 1
        if _running == 0 and _before is not None:
            if gc.get_threshold()[0] == _PACE:  # nobody else has set it meanwhile
                gc.set_threshold(*_before)
            _before = None
