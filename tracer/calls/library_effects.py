"""Functions and methods of libraries that do something outside, or are told what is there, behind a traced function's back.

While it is traced they would do so once, and not at each call: they are refused, but for those that have a meaning.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import threading
import types
from typing import Any

from ..outside.ownership import stays_as_it_is
from ..recording.current_trace import current_trace
from ..recording.errors import TracerError

_NEVER, _OF_OBJECTS, _ALWAYS = range(3)

_OUTSIDE = frozenset({
    "_ctypes", "_signal", "_socket", "_sqlite3", "asyncio", "atexit", "concurrent", "ctypes", "dbm", "debugpy", "ftplib",
    "getpass", "glob", "http", "imaplib", "ipdb", "IPython", "matplotlib.pyplot", "multiprocessing", "nt", "os", "pdb",
    "poplib", "posix", "select", "selectors", "shelve", "shutil", "signal", "smtplib", "socket", "sqlite3", "ssl",
    "subprocess", "tarfile", "tempfile", "urllib.request", "webbrowser", "zipfile",
})  # fmt: skip
# What others see of these objects, unless the function has made them itself.
_WITH_STATE = frozenset({
    "_csv", "_queue", "_thread", "configparser", "csv", "logging", "queue", "sched", "threading", "unittest",
})  # fmt: skip
_PURE_PACKAGES = frozenset({"numpy", "scipy", "ml_dtypes", "llvmlite", __name__.partition(".")[0]})
_PURE = frozenset({
    os.cpu_count, os.fsdecode, os.fsencode, os.fspath, os.get_exec_path, os.strerror, shutil.get_terminal_size,
    subprocess.list2cmdline,
})  # fmt: skip
# What lasts for as long as something is traced.
_FOR_A_WHILE = frozenset({contextlib.redirect_stdout, contextlib.redirect_stderr, getattr(contextlib, "chdir", None)})
_DEBUGGERS = frozenset({"IPython.core.debugger", "IPython.terminal.embed", "debugpy", "ipdb.__main__", "pdb"})
_of_module: dict[str, int] = {}


def require_no_effect(function: Any) -> None:
    """Raises TracerError for a function, method or object whose call does something that has to happen at each call."""
    if not _acts_outside(function):
        return
    name = getattr(function, "__qualname__", type(function).__qualname__)
    if getattr(function, "__module__", None) in _DEBUGGERS:
        raise TracerError(
            f"{name} is called in a traced function, which Python runs once. Fix: breakpoint(), which stops each call"
        )
    raise TracerError(
        f"{name} is called in a traced function. It acts on what is outside, or is told about that, which would happen while "
        "the function is traced, and not at each call. Call it outside, or let the compiled code call a function that does, by "
        "phlox.host_call(function, result_shapes, *args)"
    )


def _acts_outside(function: Any) -> bool:
    if type(function) in _FUNCTIONS:
        holder = getattr(function, "__self__", None)
        if holder is None or type(holder) is types.ModuleType:
            return _verdict(function.__module__) == _ALWAYS and function not in _PURE
    elif isinstance(function, type):
        is_one = _verdict(function.__module__) == _ALWAYS and not issubclass(function, (BaseException, os.PathLike))
        return is_one or function in _FOR_A_WHILE
    else:
        holder = function
    verdict = _verdict(type(holder).__module__)
    if verdict == _OF_OBJECTS:
        trace = current_trace()
        return isinstance(holder, threading.Thread) or trace is not None and id(holder) not in trace.program.made_objects
    return verdict == _ALWAYS


_FUNCTIONS = frozenset({types.FunctionType, types.BuiltinFunctionType, types.MethodType})


def _verdict(module: str | None) -> int:
    found = _of_module.get(module)
    if found is None:
        found = _of_module[module] = _found(module or "")
    return found


def _found(module: str) -> int:
    package = module.partition(".")[0]
    if module in _OUTSIDE or package in _OUTSIDE:
        return _ALWAYS
    if package in _WITH_STATE:
        return _OF_OBJECTS
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    is_installed = "site-packages" in file and stays_as_it_is(file) and package not in _PURE_PACKAGES
    return _OF_OBJECTS if is_installed else _NEVER
