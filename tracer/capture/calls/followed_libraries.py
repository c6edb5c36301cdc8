"""Which functions of libraries are followed, as the user's own are, instead of being called while a function is traced."""

from __future__ import annotations

import functools
import sys
import types
from typing import Any

from ....hlo.source_lines import belongs_to_a_library
from ...outside.ownership import is_followed_file, is_followed_of_traced, is_of_the_user, makes_arrays
from ...recording.current_trace import current_trace
from ...recording.operands import first_traced
from ...source.rewriting import is_rewritten


def is_users(function: Any) -> bool:
    """Whether this is a function of the user's own."""
    return type(function) is types.FunctionType and is_of_the_user(function.__code__.co_filename)


def call_method(kind: type) -> Any:
    """What a call of an object of this class runs, None where its class has nothing."""
    return next((vars(base)["__call__"] for base in kind.__mro__ if "__call__" in vars(base)), None)


def is_followed(function: types.FunctionType, args: tuple, kwargs: dict) -> bool:
    """Whether a function of a library is followed as those of the user are."""
    if makes_arrays(function):
        return True
    return is_followed_of_traced(function) and not kwargs.get("exact") and first_traced((args, kwargs)) is not None


def is_followed_object(value: Any) -> bool:
    """Whether an object of a library's class has been made of traced values, by an ``__init__`` that was followed."""
    trace = current_trace()
    return trace is not None and id(value) in trace.program.followed_objects


def is_called_by_followed() -> bool:
    """Whether the code that is being run, past phlox's own, is that of a library's function that is followed."""
    frame = sys._getframe(2)
    while frame is not None and belongs_to_a_library(frame.f_code.co_filename):
        frame = frame.f_back
    return frame is not None and is_followed_file(frame.f_code.co_filename) and is_rewritten(frame.f_code)


def may_call_the_users(function: types.FunctionType, args: tuple, kwargs: dict) -> bool:
    """Whether a function of a library that can be followed is given a function of the user's."""
    return is_followed_of_traced(function) and any(map(_calls_the_users, (*args, *kwargs.values())))


def _calls_the_users(value: Any) -> bool:
    """Whether this is a function, method or object of the user's that a library may call."""
    if isinstance(value, functools.partial):
        return _calls_the_users(value.func)
    function = value.__func__ if type(value) is types.MethodType else value
    if type(function) is types.FunctionType:
        within = function.__closure__ is not None and is_followed_of_traced(function)  # which a followed function has made
        return within or is_of_the_user(function.__code__.co_filename)
    return not isinstance(value, type) and is_users(call_method(type(value)))
