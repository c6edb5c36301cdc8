"""Which line of the user's an instruction, or an error, comes from."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from types import CodeType, TracebackType

import numpy as np

from .instruction import SourceLocation

_PACKAGE = Path(__file__).parents[1]
_PROGRAMS = "command_line"  # which uses the compiler as others do
# The package's folder may hold programs of users, too.
_INTERNAL = tuple(
    str(folder) + os.sep
    for folder in (*(path.parent for path in _PACKAGE.glob("*/__init__.py")), Path(np.__file__).parent)
    if folder != _PACKAGE / _PROGRAMS
)
_is_internal: dict[str, bool] = {}
_locations: dict[tuple[str, int, str], SourceLocation] = {}
# By a code object's id, which is its own as long as it is kept here, and an instruction's position in it.
_known: dict[tuple[int, int], tuple[CodeType, SourceLocation]] = {}


def belongs_to_a_library(file: str) -> bool:
    """Whether a file is phlox's own code or NumPy's, not the user's."""
    found = _is_internal.get(file)
    if found is None:
        found = _is_internal[file] = file.startswith((*_INTERNAL, "<__array_function__"))
    return found


def raising_line(error: BaseException) -> TracebackType | None:
    """The last entry of an exception's traceback: the line that raised it. None where it has none."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback


def user_location() -> SourceLocation | None:
    """The innermost line being executed that belongs neither to phlox nor to NumPy, None if there is none."""
    found = user_instruction()
    return None if found is None else found[0]


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the user's line that is being executed."""
    place = user_location()
    if place is None:
        warnings.warn(message, category, stacklevel=2)
    else:
        warnings.warn_explicit(message, category, place.file, place.line)


def user_instruction() -> tuple[SourceLocation, int] | None:
    """The same, and which of the instructions is being executed that Python has made of the function."""
    frame = sys._getframe(1)
    internal = _is_internal
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        try:  # there are many frames: a subscript takes half of the time of a call of `get`
            inside = internal[file]
        except KeyError:
            inside = belongs_to_a_library(file)
        if not inside:
            key = (id(code), frame.f_lasti)
            known = _known.get(key)
            if known is None:  # Python goes through the lines of a function to find that of an instruction
                place = (file, frame.f_lineno, code.co_qualname)
                known = _known[key] = code, _locations.setdefault(place, SourceLocation(*place))
            return known[1], frame.f_lasti
        frame = frame.f_back
    return None
