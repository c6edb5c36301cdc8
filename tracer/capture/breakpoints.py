"""``breakpoint()``: where a program comes to one, Python makes the call, and the debugger finds the values themselves."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

from ... import hlo
from ...hlo.tracebacks import frames_of_users
from ..recording.current_trace import current_trace
from ..recording.errors import LeftToPython
from .calls.meanings import MADE_BY_PYTHON, implements

_DEBUGGER = "PYTHONBREAKPOINT"


@implements(breakpoint)
def stop(*args: Any, **kwargs: Any) -> Any:
    trace = current_trace()
    if trace is None:
        return _stop_now(*args, **kwargs)
    if _calls_pdb() or sys.breakpointhook is not sys.__breakpointhook__ or os.environ[_DEBUGGER] != "0":
        trace.add_error_flag(hlo.constant(np.bool_(True)), LeftToPython, "breakpoint()")
    return None


def _calls_pdb() -> bool:
    is_plain = os.environ.get(_DEBUGGER, "") in ("", "pdb.set_trace")
    return is_plain and sys.breakpointhook is sys.__breakpointhook__


def _stop_now(*args: Any, **kwargs: Any) -> Any:
    """The debugger stops in the user's frame, and not in one of those between it and this one."""
    if not _calls_pdb() or args or kwargs:
        return breakpoint(*args, **kwargs)
    import pdb  # long to import, and seldom needed

    return pdb.Pdb().set_trace(frames_of_users()[0])


MADE_BY_PYTHON[breakpoint] = _stop_now
