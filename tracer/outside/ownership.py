"""Whose code something is: the user's, or a library's, which is taken to stay as it is."""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
import types
from pathlib import Path
from typing import Any

import numpy as np

from .paths import MISSING

_LIBRARIES = tuple(
    {os.path.realpath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    | {os.path.dirname(os.path.realpath(os.__file__)) + os.sep}
)
_PACKAGE = Path(__file__).resolve().parents[2]
_FOLDERS = ("tracer", "hlo", "compile", "backends", "runtime", "client", "command_line", "debug")
_OWN_FOLDERS = tuple([f"{_PACKAGE / folder}{os.sep}" for folder in _FOLDERS])
# What stays as it is, but is followed as the user's own functions are: what NumPy has written in terms of other functions, and
# phlox in the place of functions of the standard library, or for the user to call.
_NUMPY = os.path.dirname(os.path.realpath(np.__file__))
_FOLLOWED = (
    os.path.join(_NUMPY, "polynomial", ""),
    *[os.path.join(_NUMPY, "lib", f"_{name}_impl.py") for name in ("histograms", "polynomial")],
    os.path.join(_PACKAGE, "tracer", "capture", "library", ""),
    *[os.path.join(_PACKAGE, "tracer", "random", f"{name}.py") for name in ("generator", "rejection")],
)


# What SciPy has written in terms of its ufuncs and of NumPy's functions, and what stands for these in libraries of arrays.
_SCIPY = tuple([os.path.join(os.sep, folder, "scipy", "") for folder in ("site-packages", "dist-packages")])
_NAMESPACES = tuple([os.path.join(folder, "_lib", name) for folder in _SCIPY for name in ("_array_api", "array_api_")])


def is_followed_of_traced(function: types.FunctionType) -> bool:
    """Whether a library's function is followed where it is given traced values."""
    return is_followed_file(function.__code__.co_filename)


def is_followed_file(file: str) -> bool:
    return _is_in(file, _SCIPY)


def makes_arrays(function: types.FunctionType) -> bool:
    """Whether a library's function stands for one of NumPy's: it is followed whatever it is given."""
    return _is_in(function.__code__.co_filename, _NAMESPACES)


@functools.cache
def _is_in(file: str, parts: tuple[str, ...]) -> bool:
    return any(part in file for part in parts) and stays_as_it_is(file)


@functools.cache
def stays_as_it_is(file: str) -> bool:
    """Whether a file is the standard library's, an installed package's or phlox's."""
    path = _real_path(file)
    return path.startswith((*_LIBRARIES, *_OWN_FOLDERS, "<frozen")) or "site-packages" in path


@functools.cache
def is_of_the_user(file: str) -> bool:
    """Whether a file is neither of these, or is followed as those of the user."""
    return not stays_as_it_is(file) or _real_path(file).startswith(_FOLLOWED)


def _real_path(file: str) -> str:
    return os.path.realpath(file) if os.path.exists(file) else file


def belongs_to_the_user(holder: types.ModuleType | type) -> bool:
    """Whether a module, whose attributes may change, or a class is the user's, or the class is followed."""
    if isinstance(holder, types.ModuleType):
        file = getattr(holder, "__file__", None)
        if file is None:  # one that a program has made
            return holder.__name__ == "__main__" or getattr(holder, "__spec__", None) is None
        return holder.__name__ == "__main__" or not stays_as_it_is(file)
    module = sys.modules.get(holder.__module__)
    if holder.__module__ == "__main__" or module is not None and belongs_to_the_user(module):
        return True
    initialize = holder.__init__
    return isinstance(initialize, types.FunctionType) and is_of_the_user(initialize.__code__.co_filename)


def holds_attributes_alone(kind: type) -> bool:
    """Whether all that an object of this class holds is read by its attributes."""
    return kind is types.SimpleNamespace or belongs_to_the_user(kind) and kind.__basicsize__ <= _Plain.__basicsize__


class _Plain:
    pass


def is_looked_into(value: Any) -> bool:
    """Whether the attributes of a value from outside are guarded when they are read."""
    if isinstance(value, (types.ModuleType, type)):
        return belongs_to_the_user(value)
    return not isinstance(value, (types.BuiltinFunctionType, np.ufunc)) and value is not MISSING
