"""Whether calls of jitted functions go by way of Python."""

from __future__ import annotations

import contextlib
import gc
import sys

from phlox.backends.cpu.call import unsupported_reason


@contextlib.contextmanager
def calls_noted():
    """The names of Python's functions that are called meanwhile, but for those that a garbage collection calls."""
    called = []
    collects = gc.isenabled()
    gc.disable()
    sys.setprofile(lambda frame, event, _: called.append(frame.f_code.co_name) if event == "call" else None)
    try:
        yield called
    finally:
        sys.setprofile(None)
        if collects:
            gc.enable()


@contextlib.contextmanager
def natively():
    """Fails if a call is made by way of Python; that builds containers of unusual types, at most."""
    with calls_noted() as called:
        yield
    assert unsupported_reason() is not None or "call_in_python" not in called
