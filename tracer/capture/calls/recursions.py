"""Functions of the user's that call themselves until the program decides otherwise: as loops (`source/recursion.py`)."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

from ...source.names import NotCapturable
from ...source.recursive_expressions import Own
from ...source.rewriting import names_in, rewritten_as_loop
from ..endless import is_loop, refuse_loop
from ..outside.surroundings import Surroundings


def helpers() -> types.ModuleType:
    """What rewritten functions call."""
    return sys.modules[__name__.rsplit(".", 2)[0] + ".helpers"]


def entered(surroundings: Surroundings, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is decorated, as it is recorded."""
    loop = as_loop(surroundings, function) if type(function) is types.FunctionType else None
    return surroundings.functions.entered(function if loop is None else loop)


def as_loop(surroundings: Surroundings, function: types.FunctionType) -> types.FunctionType | None:
    """The function as a loop, if it has to be one and can be."""
    code = function.__code__
    if not is_loop(surroundings.trace.program, code.co_filename, code.co_qualname):
        return None
    *_, around, name = ("", *code.co_qualname.split("."))
    is_method = around not in ("", "<locals>") and code.co_argcount > 0
    own = Own(frozenset() if is_method else _names_of(surroundings, function), name if is_method else None, code.co_qualname)
    try:
        return rewritten_as_loop(function, helpers(), own)
    except NotCapturable:
        refuse_loop(surroundings.trace.program, code.co_filename, code.co_qualname)


def _names_of(surroundings: Surroundings, function: types.FunctionType) -> frozenset[str]:
    """The names by which the function finds itself."""
    code, seen = function.__code__, surroundings.functions.bound(function)
    found = set()
    for name, cell in zip(code.co_freevars, function.__closure__ or ()):
        if _stands_for(surroundings.functions.cell_value(cell), function):
            found.add(name)
    for name in names_in(code):
        try:
            value = seen.__globals__[name] if name in getattr(seen.__globals__, "original", seen.__globals__) else None
        except KeyError:
            continue
        if _stands_for(value, function):
            found.add(name)
    return frozenset(found)


def _stands_for(value: Any, function: types.FunctionType) -> bool:
    """Whether this is the function, or the function that `jit` has made of it."""
    if type(value) is not types.FunctionType and type(value).__module__.startswith("phlox."):
        value = getattr(value, "__wrapped__", None)
    return type(value) is types.FunctionType and (value is function or _place(value.__code__) == _place(function.__code__))


def _place(code: types.CodeType) -> tuple[str, str]:
    return code.co_filename, code.co_qualname  # the line of a decorated one is that of its decorator
