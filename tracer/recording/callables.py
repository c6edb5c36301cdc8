"""Names for what is called: functions, methods, partial applications, and objects with ``__call__``."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ... import hlo

_DESCRIPTION = ("__module__", "__name__", "__qualname__", "__doc__")


def named(function: Callable[..., Any]) -> Any:
    """What gives the callable its name: itself, what a partial application applies, or the class of an object.

    >>> named(functools.partial(functools.partial(sum))).__name__, named(functools.partial).__name__
    ('sum', 'partial')
    """
    while isinstance(function, functools.partial):
        function = function.func
    return function if hasattr(function, "__name__") else type(function)


def callable_name(function: Callable[..., Any]) -> str:
    return named(function).__name__


def bound_cells(function: types.FunctionType) -> dict[str, types.CellType]:
    """The cells of a function's variables that are those of functions around it, by their names, where they are bound."""
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        with suppress(ValueError):
            cell.cell_contents  # noqa: B018
            found[name] = cell
    return found


def describe_as(wrapper: Any, function: Callable[..., Any]) -> None:
    """As functools.update_wrapper, for any callable.

    Attributes are those that a function was given; what an object holds stays its own.
    """
    wrapper.__wrapped__ = function
    source = named(function)
    for name in _DESCRIPTION:
        if hasattr(source, name):
            setattr(wrapper, name, getattr(source, name))
    if inspect.isfunction(function):
        wrapper.__dict__.update(function.__dict__ | {"__wrapped__": function})


def is_ordinary(function: Callable[..., Any]) -> bool:
    """Whether a call runs the function and returns its result; generators and coroutines only begin."""
    called = named(function)
    if called is type(function):
        called = called.__call__
    tests = (inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction)
    return not any(test(called) for test in tests)


def function_location(function: Callable[..., Any]) -> hlo.SourceLocation | None:
    """Where a Python function is defined, None where that is not known."""
    code = getattr(named(getattr(function, "__wrapped__", function)), "__code__", None)
    if code is None:
        return None
    return hlo.SourceLocation(code.co_filename, code.co_firstlineno, code.co_qualname)
