"""Which line of the user's an instruction, or an error, comes from."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ... import hlo
from .callables import named

_PACKAGE = str(Path(__file__).resolve().parents[2]) + os.sep
# The package's folder may hold programs that use it: only the compiler's own folders are internal.
_INTERNAL_FOLDERS = (
    *(_PACKAGE + folder + os.sep for folder in ("tracer", "hlo", "compile", "backends")),
    os.path.dirname(os.path.abspath(np.__file__)) + os.sep,
)
_is_internal: dict[str, bool] = {}
_locations: dict[tuple[str, int, str], hlo.SourceLocation] = {}


def belongs_to_a_library(file: str) -> bool:
    """Whether a file is phlox's own code or NumPy's, not the user's."""
    found = _is_internal.get(file)
    if found is None:
        found = _is_internal[file] = file.startswith((*_INTERNAL_FOLDERS, "<__array_function__"))
    return found


def user_location() -> hlo.SourceLocation | None:
    """The innermost line being executed that belongs neither to phlox nor to NumPy, None if there is none."""
    frame = sys._getframe(1)
    internal = _is_internal
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        inside = internal.get(file)
        if inside is None:
            inside = belongs_to_a_library(file)
        if not inside:
            key = (file, frame.f_lineno, code.co_qualname)
            location = _locations.get(key)
            if location is None:
                location = _locations[key] = hlo.SourceLocation(*key)
            return location
        frame = frame.f_back
    return None


def function_location(function: Callable[..., Any]) -> hlo.SourceLocation | None:
    """Where a Python function is defined, None where that is not known."""
    code = getattr(named(getattr(function, "__wrapped__", function)), "__code__", None)
    if code is None:
        return None
    return hlo.SourceLocation(code.co_filename, code.co_firstlineno, code.co_qualname)
