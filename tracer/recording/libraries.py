"""Functions of libraries that are called while a function is traced, and cannot take what stands for arrays."""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from types import CodeType, FrameType
from typing import Any

import numpy as np

from ...hlo.instruction import SourceLocation
from ...hlo.source_lines import belongs_to_a_library, user_location

_NUMPY = os.path.dirname(np.__file__) + os.sep
_STANDARD = os.path.dirname(os.__file__) + os.sep
_INSTALLED = tuple({sysconfig.get_path(name) + os.sep for name in ("purelib", "platlib")})
_WAY_OUT = "let the compiled code call it, by phlox.host_call({name}, result_shapes, ...)"
# What stands for arrays and containers, in what Python says of operands.
_OWN_CLASSES = re.compile(r"(?<=['\"])(?:TracedArray|(?:Outside|Traced)(List|Dict|Set|Deque))(?=['\"])")
_OF_OPERANDS = re.compile(
    r"unsupported operand type\(s\) for |can only concatenate |'\S+' not supported between instances of "
    r"|'\w+' object is not callable"
)
# Where what Python and NumPy ask of a traced array is answered.
_ANSWERS = os.path.dirname(__file__) + os.sep


def way_out(name: str) -> str:
    """What to do about a function of a library."""
    return (
        f"{name} cannot be traced: {_WAY_OUT.format(name=name)}; result_shapes is an example of what it returns, or "
        "phlox.ShapeDtype(shape, dtype)."
    )


def caller() -> tuple[str, SourceLocation | None]:
    """The function of a library that the user has called and that asks for the contents of a traced array; and the user's line.

    The name is empty where Python, or a function that knows traced arrays, asks.
    """
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(_ANSWERS):
        frame = frame.f_back
    name = ""
    while frame is not None and (is_library(frame.f_code) or belongs_to_a_library(frame.f_code.co_filename)):
        if is_library(frame.f_code) or frame.f_code.co_filename.startswith(_NUMPY):  # or a helper, by which others call them
            name = _name_of(frame) or name or f"a function of {_module_of(frame).partition('.')[0]}"
        frame = frame.f_back
    if frame is None or not name:
        return "", user_location()
    return name, SourceLocation(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_qualname)


def add_note(error: Exception) -> None:
    """Say of an error that a library raises that it was given traced arrays, where its message may not.

    What Python says of operands that do not go together names the classes that they have where nothing is traced.
    """
    if isinstance(error, (RecursionError, MemoryError)):
        return
    if isinstance(error, TypeError) and _OF_OPERANDS.match(str(error)):
        error.args = (_OWN_CLASSES.sub(lambda found: found[1].lower() if found[1] else "numpy.ndarray", str(error)),)
    name, traceback = "", error.__traceback__
    while traceback is not None:
        frame = traceback.tb_frame
        if is_library(frame.f_code):
            name = name or _name_of(frame)
        elif not belongs_to_a_library(frame.f_code.co_filename):
            name = ""
        traceback = traceback.tb_next
    if name:
        error.add_note(f"If {name} was given traced arrays, {_WAY_OUT.format(name=name)}")
    elif "TracedArray" in str(error) and type(error).__module__ != __name__.partition(".")[0]:
        error.add_note(
            f"What cannot take a traced array can be called when the program runs: {_WAY_OUT.format(name='function')}"
        )


def is_library(code: CodeType) -> bool:
    """Whether code is the standard library's or an installed package's, other than NumPy's."""
    file = code.co_filename
    return not file.startswith(_NUMPY) and not belongs_to_a_library(file) and is_installed(file)


def is_installed(file: str) -> bool:
    """Whether a file is the standard library's or an installed package's."""
    return file.startswith((_STANDARD, *_INSTALLED)) or "site-packages" in file


def is_compiled_by_others(function: Any) -> bool:
    """Whether this is a function of an installed package that is not written in Python; of SciPy's some tell no module."""
    module = getattr(function, "__module__", None)
    if module is None or module == "builtins":
        return type(function).__name__ == "fortran"
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return "site-packages" in file and not file.startswith(_NUMPY)


def _module_of(frame: FrameType) -> str:
    return frame.f_globals.get("__name__", "a library")


def _name_of(frame: FrameType) -> str:
    """The function as users call it; empty for one that they do not."""
    own = frame.f_code.co_qualname.removesuffix(".__init__").removesuffix(".__call__").removesuffix(".__new__")
    if "<" in own:
        return ""
    parts = [part for part in (*_module_of(frame).split("."), *own.split(".")) if not part.startswith("_")]
    name = ".".join(["np", *parts[1:]] if parts[0] == "numpy" else parts)
    return name.replace("np.ma.core.", "np.ma.").replace("np.lib.", "np.")
