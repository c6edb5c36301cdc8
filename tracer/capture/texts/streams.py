"""``io.StringIO`` that the function makes: the texts that are written to it, which are put together when the program runs."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from ...calls.host_call import call_when_run
from ...recording.array import TracedArray
from ...recording.errors import TracerError
from ...recording.operands import as_traced
from .. import journals
from ..calls.dispatch import call
from ..calls.meanings import implements
from ..library import saved_text
from .deferred import Deferred, answered, concrete, for_host, is_open
from .formatting import told
from .shared import MAKERS


class TextStream:
    """In the place of a StringIO. Only what has been written so far is known of it."""

    followed_class = io.StringIO

    def __init__(self) -> None:
        self.parts: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(io.StringIO, name):
            raise AttributeError(f"'_io.StringIO' object has no attribute '{name}'")
        raise TracerError(f"StringIO.{name} in a traced function is not followed: it is written to, and getvalue() is asked")

    def write(self, text: Any) -> Any:
        """For who calls it without being captured; what the methods do stands below."""
        raise TracerError("a StringIO that the traced function makes is given to a library, which writes to it unseen")

    def writelines(self, lines: Any) -> None:
        self.write(lines)

    def getvalue(self) -> Any:
        return self.write(None)


@implements(io.StringIO)
def string_io(initial_value: str = "", newline: str | None = "\n") -> Any:
    """One that begins with a text is there to be read from."""
    if initial_value or newline != "\n":
        made: Any = io.StringIO(initial_value, newline)
    else:
        made = TextStream()
        journals.note_made(made.parts)
    journals.note_made(made)
    return made


@implements(TextStream.write)
def write(stream: TextStream, text: Any) -> Any:
    if not isinstance(text, (str, Deferred)):
        raise TypeError(f"string argument expected, got '{type(text).__name__}'")
    call(stream.parts.append, text)
    if not is_open(text):
        return len(text)
    found = answered(len, text)
    return call_when_run(len, 0, for_host((text,)), has_effects=False) if found is None else found


@implements(TextStream.writelines)
def write_lines(stream: TextStream, lines: Any) -> None:
    call(stream.parts.extend, lines)


@implements(TextStream.getvalue)
def value_of(stream: TextStream) -> Any:
    return call("".join, stream.parts)


@implements(np.savetxt)
def savetxt(fname: Any, X: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N803
    """What `np.savetxt` writes to a stream; to files it writes when the program runs (`calls/outside_state.py`)."""
    if not isinstance(fname, TextStream):
        raise NotImplementedError(f"np.savetxt to a {type(fname).__name__} that the function makes: only to an io.StringIO()")
    values = X if isinstance(X, TracedArray) else as_traced(np.asarray(X))
    if values.element_type.is_complex:
        raise NotImplementedError("np.savetxt of complex numbers to a StringIO is not implemented")
    call(saved_text.savetxt, fname, values, *args, **kwargs)


def print_to(stream: TextStream, values: tuple, sep: Any, end: Any) -> None:
    """``print(*values, file=stream)``"""
    values = tuple([told(value, ord("s")) for value in values])
    between, behind = " " if sep is None else sep, "\n" if end is None else end
    is_known = not any(map(is_open, (*values, between, behind)))
    text = _printed(between, behind, *map(concrete, values)) if is_known else Deferred(_printed, between, behind, *values)
    call(stream.parts.append, text)


def _printed(between: str, behind: str, *values: Any) -> str:
    return between.join(map(str, values)) + behind


MAKERS.add(_printed)
