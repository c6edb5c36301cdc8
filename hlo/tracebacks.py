"""Tracebacks as users need them: their own lines, without those of phlox and NumPy in between.

The environment variable PHLOX_FULL_TRACEBACK=1 keeps all.
"""

from __future__ import annotations

import ast
import dis
import functools
import linecache
import os
import sys
from collections.abc import Callable, Iterable
from itertools import islice
from types import CodeType, FrameType, TracebackType
from typing import Any, TypeVar

from .instruction import SourceLocation
from .source_lines import belongs_to_a_library

_F = TypeVar("_F", bound=Callable[..., Any])
# A line of a function that was being executed: the code, and the offset of the instruction in it.
Place = tuple[CodeType, int]

_PACKAGE = os.path.dirname(os.path.dirname(__file__))
_COMPILER = tuple(os.path.join(_PACKAGE, folder, "") for folder in ("hlo", "compile", "backends"))
_RAISE = dis.opmap["RAISE_VARARGS"]
# Code objects by their ids, which are theirs as long as they are kept here: their hashes go through all that they hold.
_calls_users: dict[int, CodeType] = {}
_blocks: dict[tuple[int, int], tuple[CodeType, CodeType, bool]] = {}


def line_of(place: Place) -> int:
    """The number of the line."""
    code, offset = place
    return next(islice(code.co_positions(), offset // 2, None))[0] or code.co_firstlineno


def calls_users(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the function calls the one that is traced; `places_of_users` looks no further."""
    _calls_users[id(function.__code__)] = function.__code__
    return function


_OF_A_RECURSION = 20  # frames of the user's: it is a function of theirs that calls itself


def keep_frames_of_users(error: BaseException) -> None:
    """Take the frames of phlox and NumPy out of the tracebacks of an exception, and of those that it comes from.

    To be followed by a bare ``raise``, which adds no frame. Nothing is taken out where the compiler has failed by a mistake.
    """
    if os.environ.get("PHLOX_FULL_TRACEBACK", "") not in ("", "0") or _is_a_mistake_of_the_compiler(error):
        return
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        one = pending.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        entries = _entries(one.__traceback__)
        one.__traceback__ = _chained(map(_parts, entries))
        if one.__context__ is not None and one.__context__ is not one.__cause__ and _is_internal(one.__context__):
            one.__context__ = None
        pending += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]


def for_users(function: _F) -> _F:
    """Decorator: tracebacks of errors in this function, which users call, are their own lines."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            keep_frames_of_users(error)
            raise

    return called  # type: ignore[return-value]


def _is_a_mistake_of_the_compiler(error: BaseException) -> bool:
    """Whether the error arose in the compiler, but not from a ``raise`` of its own, nor for want of memory or by Ctrl-C."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None or isinstance(error, MemoryError) or not isinstance(error, Exception):
        return False
    if isinstance(error, RecursionError) and len(_entries(error.__traceback__)) > _OF_A_RECURSION:
        return False
    code = traceback.tb_frame.f_code
    if code.co_filename == __file__:  # `for_users` has not come to call the function: its arguments are others
        return False
    return code.co_filename.startswith(_COMPILER) and code.co_code[traceback.tb_lasti] != _RAISE


def _is_internal(error: BaseException) -> bool:
    """Whether an exception that was being handled says nothing to users: phlox has handled it."""
    return type(error).__module__.partition(".")[0] == __name__.partition(".")[0] or not _entries(error.__traceback__)


def _entries(traceback: TracebackType | None) -> list[TracebackType]:
    """The entries of a traceback that are the user's. Of blocks inside of each other, which share a function, the innermost."""
    found: list[TracebackType] = []
    while traceback is not None:
        if not belongs_to_a_library(traceback.tb_frame.f_code.co_filename):
            if found and _is_block_of(traceback.tb_frame.f_code, found[-1].tb_frame.f_code):
                found.pop()
            found.append(traceback)
        traceback = traceback.tb_next
    return found


def _is_block_of(inner: CodeType, outer: CodeType) -> bool:
    """Whether the code is a part of a function that was written anew, and stands in the source as one function with it."""
    if inner.co_qualname != outer.co_qualname:
        return False
    found = _blocks.get((id(inner), id(outer)))
    if found is None:
        is_block = any(inner is one or isinstance(one, CodeType) and _is_block_of(inner, one) for one in outer.co_consts)
        found = _blocks[id(inner), id(outer)] = inner, outer, is_block
    return found[2]


def _parts(entry: TracebackType) -> tuple[FrameType, int, int]:
    """What an entry is made of. A signal may come at an instruction that stands on no line, whose number is -1."""
    return entry.tb_frame, entry.tb_lasti, -1 if entry.tb_lineno is None else entry.tb_lineno


def _chained(entries: Iterable[tuple[FrameType, int, int]], made: TracebackType | None = None) -> TracebackType | None:
    for entry in reversed(list(entries)):
        made = TracebackType(made, *entry)
    return made


# --- errors that are raised later ---


def places_of_users(traceback: TracebackType | None = None) -> tuple[Place, ...]:
    """The lines of the user's that are being executed, from the traced function inwards, and then those of a traceback."""
    found = [(frame.f_code, frame.f_lasti) for frame in reversed(frames_of_users())]
    for entry in _entries(traceback):
        if found and _is_block_of(entry.tb_frame.f_code, found[-1][0]):
            found.pop()
        found.append((entry.tb_frame.f_code, entry.tb_lasti))
    return tuple(found)


def frames_of_users() -> list[FrameType]:
    """The frames of the user's that are being executed, the innermost first: up to the function that is traced, if one is."""
    found: list[FrameType] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not belongs_to_a_library(code.co_filename):
            if not (found and _is_block_of(found[-1].f_code, code)):
                found.append(frame)
        elif id(code) in _calls_users:
            break
        frame = frame.f_back
    return found


def raised_at(error: BaseException, *places: Place | SourceLocation) -> BaseException:
    """The exception, as if these places had led to where it was raised."""
    return error.with_traceback(_chained(map(_entry_at, places), error.__traceback__))


def raised_within(error: BaseException, location: SourceLocation | None) -> None:
    """Let an exception's traceback have this line, unless it has one of that function."""
    if location is not None and location.file:
        codes = [entry.tb_frame.f_code for entry in _entries(error.__traceback__)]
        if (location.file, location.function) not in [(code.co_filename, code.co_qualname) for code in codes]:
            raised_at(error, location)


class _Stop(BaseException):
    """Ends code that is run for the sake of its frame."""


# Frames that are at lines of the source, by the code, which is kept here, and the offset in it.
_entries_at: dict[tuple[int, int], tuple[CodeType, tuple[FrameType, int, int]]] = {}
_MOST_ENTRIES = 1024


def _entry_at(place: Place | SourceLocation) -> tuple[FrameType, int, int]:
    """A frame that is at this line of the source, as far as tracebacks show it; the same one for the same code."""
    if isinstance(place, SourceLocation):
        return _made_entry(place)
    code, offset = place
    found = _entries_at.get((id(code), offset))
    if found is None:
        if len(_entries_at) >= _MOST_ENTRIES:
            _entries_at.clear()
        found = _entries_at[id(code), offset] = code, _made_entry(place)
    return found[1]


def _made_entry(place: Place | SourceLocation) -> tuple[FrameType, int, int]:
    if isinstance(place, SourceLocation):
        file, whole_name = place.file, place.function or "<module>"
        name, line, last_line, column, end = whole_name.rpartition(".")[2], place.line, place.line, None, None
    else:
        code, offset = place
        file, name, whole_name = code.co_filename, code.co_name, code.co_qualname
        line, last_line, column, end = next(islice(code.co_positions(), offset // 2, None))
        line = line or code.co_firstlineno
    if column is None or end is None:
        text = linecache.getline(file, line)
        last_line, column, end = line, len(text) - len(text.lstrip()), len(text.rstrip())
    module = ast.parse("raise stop")
    for node in ast.walk(module):
        if isinstance(node, (ast.stmt, ast.expr)):
            node.lineno, node.end_lineno, node.col_offset, node.end_col_offset = line, last_line, column, end
    made = compile(module, file, "exec").replace(co_name=name, co_qualname=whole_name)
    try:
        exec(made, {"stop": _Stop})
    except _Stop as stop:
        entry = stop.__traceback__.tb_next
        return _parts(entry)
    raise AssertionError("unreachable")
