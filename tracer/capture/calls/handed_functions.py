"""Functions of the user's that a library's function is given: it may call them, so what they do is captured."""

from __future__ import annotations

import functools
import operator
import types
from typing import Any

import numpy as np

from ...outside.ownership import is_of_the_user
from .followed_libraries import call_method, is_users
from .meanings import Call
from .users_functions import captured

# What stands in the place of a function of the user's.
_CALLED_ANEW = (operator.methodcaller, operator.attrgetter, types.MethodWrapperType, np.vectorize)


def may_call(function: Any) -> bool:
    """Whether a function of a library may call what is among its arguments."""
    holder = getattr(function, "__self__", None)
    if holder is operator.add.__self__:
        return function.__name__ == "call"
    return not isinstance(holder, (list, dict, set)) or function.__name__ == "sort"


def seen_in(call: Call, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """The arguments of a library's function, with functions of the user's, which it may call, captured."""
    return tuple(_seen(call, value) for value in args), {name: _seen(call, value) for name, value in kwargs.items()}


def _seen(call: Call, value: Any) -> Any:
    if not callable(value):
        return value
    kind = type(value)
    if kind is types.FunctionType:
        return captured(value) if is_of_the_user(value.__code__.co_filename) else value
    if kind is types.MethodType:
        return types.MethodType(captured(value.__func__), value.__self__) if is_users(value.__func__) else value
    if kind is functools.partial:
        return value if _seen(call, value.func) is value.func else functools.partial(call, value)
    if kind in _CALLED_ANEW:
        return functools.partial(call, value)
    method = None if isinstance(value, type) else call_method(kind)
    return functools.partial(captured(method), value) if is_users(method) else value


def wrapping_captured(call: Call, function: types.FunctionType) -> types.FunctionType:
    """A function of a library, and around those of the user's that it holds, as `contextlib.contextmanager` makes it."""
    cells = function.__closure__ or ()
    seen = []
    for cell in cells:
        try:
            value = cell.cell_contents
        except ValueError:  # it is empty
            return function
        seen.append(_seen(call, value) if type(value) is types.FunctionType or type(value) is types.MethodType else value)
    if all(one is cell.cell_contents for one, cell in zip(seen, cells)):
        return function
    made = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, tuple(map(types.CellType, seen))
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made
