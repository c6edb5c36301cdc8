"""Calls of Python functions that return nothing, a number or an array, while the program runs: a function written for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...hlo import Shape
from ..recording import pytree
from ..recording.makers import Source
from .again import is_repeating, noted, once

# The types of what they return, and what else a value of them has to be, so that the program takes it.
OF_DIRECT_CALLS = {
    float: "",
    int: f" or not {-(1 << 63)} <= returned < {1 << 63}",
    bool: "",
    np.ndarray: " or returned.dtype != dtype or returned.shape != shape or not returned.flags.c_contiguous",
}

# Where such functions stand, as tracebacks know it: among those of this package.
_FILE = str(Path(__file__).with_name("<direct call>"))


def direct_call(
    function: Callable[..., Any],
    arguments: pytree.Structure,
    leaves: Sequence[Any],
    check: Callable[[Any], Any],
    returns: type | None = None,
    shape: Shape | None = None,
) -> Callable[[Callable[[BaseException], bool]], Callable[..., Any]]:
    """What gives, for what takes exceptions, a function that calls another one, unless its first argument is true.

    arguments: of the positional ones, and of those with names; the others of its arguments are the leaves that are GIVEN.
    check: gets what is returned that is not None, or is no value of the type ``returns``, or no array in row-major order of the
    ``shape``, which is returned; it raises, then, or gives the only element of a tuple, of which such an array is made.
    What takes an exception says whether that is over; the function returns True then, and None otherwise.
    """
    source = Source(iter(leaves))
    positional, named = arguments[2]
    parts = [source.value(part) for part in positional[2]]
    if named[2]:
        parts.append(f"**{source.value(named)}")
    is_once = isinstance(function, partial) and function.func is once and len(function.args) == 1 and not function.keywords
    called, checked = source.constant(function.args[0] if is_once else function), source.constant(check)
    call = f"{called}({', '.join(parts)})"
    if is_once:
        call += f" if {source.constant(noted.get)}() is None and not {source.constant(is_repeating)}() else "
        call += f"{source.constant(function)}({', '.join(parts)})"
    is_wrong, nothing = "returned is not None", "None"
    if returns is not None:
        nothing = repr(returns()) if shape is None else source.constant(np.zeros(shape.dimensions, shape.dtype))
        is_wrong = f"type(returned) is not {returns.__name__}{OF_DIRECT_CALLS[returns]}"
    lines = [
        f"def direct({', '.join(['stopped', *source.parameters])}):",
        " if stopped:",
        f"  return {nothing}",
        " try:",
        *[f" {line}" for line in source.lines],
        f"  returned = {call}",
        f"  if {is_wrong}:",
        f"   {checked}(returned)" if shape is None else f"   returned = contiguous({checked}(returned)[0])",
        " except BaseException as error:",
        "  if is_over(error):",
        "   return True",
        "  raise",
        *([] if returns is None else [" return returned"]),
    ]
    code = compile("\n".join([*source.definitions, *lines]), _FILE, "exec")

    def make(is_over: Callable[[BaseException], bool]) -> Callable[..., Any]:
        names = {**source.names, "is_over": is_over}
        if shape is not None:
            names |= {
                "ndarray": np.ndarray,
                "dtype": shape.dtype,
                "shape": shape.dimensions,
                "contiguous": np.ascontiguousarray,
            }
        exec(code, names)  # noqa: S102, as namedtuple does
        return names["direct"]

    return make
