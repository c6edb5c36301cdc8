"""Calls of functions and methods written in Python: the user's, those of libraries that are followed, and others."""

from __future__ import annotations

import functools
import types
from typing import Any

from ...calls.library_effects import require_no_effect
from ...calls.outside_state import look
from ...outside.ownership import is_followed_of_traced, is_of_the_user
from ...recording.array import TracedArray
from ...recording.current_trace import current_trace
from ...recording.errors import ConcretizationError, TracerError
from .. import journals, places
from ..distribution import each_within, holds_choice
from ..lists.runs import is_open_list
from ..loops.trials import attempt, drop_effects
from ..outside.containers import OutsideDict
from ..special_methods import special_method
from .followed_libraries import is_called_by_followed, is_followed, is_followed_object, may_call_the_users
from .handed_functions import seen_in, wrapping_captured
from .harmless import leaves_no_traces
from .library_calls import call_library
from .meanings import MEANINGS, NEEDS_ARRAYS, UNANSWERED, Call, meaning_of
from .numpy_calls import call_numpy, of_numpy
from .repeated_calls import repeated
from .scipy_functions import meaning_of_scipy
from .users_functions import captured

_DISPATCHING = functools.singledispatch(len).__code__
_dispatching_method = functools.singledispatchmethod(len).__get__(0, int)
_DISPATCHING_METHODS = getattr(_dispatching_method, "__code__", type(_dispatching_method))  # from Python 3.14 on a class


def of_python_function(call: Call, function: Any, args: tuple, kwargs: dict) -> Any:
    """A call of a function or method, where it is written in Python or a method of such."""
    kind = type(function)
    if kind is not types.FunctionType and kind is not types.MethodType:
        return UNANSWERED
    held = () if kind is types.FunctionType else (function.__self__,)
    inner = function.__func__ if held else function
    if type(inner) is not types.FunctionType:
        return call(inner, *held, *args, **kwargs)
    if held and vars(type(held[0])).get(inner.__name__) is inner:
        if (special := special_method(held[0], inner.__name__)) is not None:  # called by its name
            return special(*args, **kwargs)
    meaning = meaning_of(inner)
    if meaning is None and is_of_the_user(inner.__code__.co_filename):
        return captured(inner)(*held, *args, **kwargs) if held else repeated(inner, captured(inner), args, kwargs)
    if holds_choice(args):
        return each_within(lambda given: call(function, *given, **kwargs), args)
    if meaning is None:
        meaning = meaning_of_scipy(inner, args, kwargs)
    if meaning is not None:
        return meaning(*held, *args, **kwargs)
    if _is_followed(inner, held, args, kwargs):
        return captured(inner)(*held, *args, **kwargs)
    if may_call_the_users(inner, args, kwargs):
        return _followed_if_needed(call, inner, held, args, kwargs)
    return _of_library(call, function, inner, held, args, kwargs)


def _is_followed(inner: types.FunctionType, held: tuple, args: tuple, kwargs: dict) -> bool:
    """Whether a library's function is followed whatever becomes of it."""
    if is_followed(inner, args, kwargs) or held and is_followed_object(held[0]):
        return True
    # One that a followed function calls, which may warn, or raise an error, or call what it is given.
    is_needed = journals.may_be_put_back() or may_call_the_users(inner, args, kwargs)
    return is_needed and is_followed_of_traced(inner) and is_called_by_followed()


def _followed_if_needed(call: Call, inner: types.FunctionType, held: tuple, args: tuple, kwargs: dict) -> Any:
    """A call of a library's function that is given known values and a function of the user's.

    Where that gives traced values, on which the library's function decides, it is followed.
    """
    if not journals.may_be_put_back():
        trace, written = current_trace(), {}
        recorded = len(trace.builder.instructions)
        seen, seen_by_name = seen_in(call, args, kwargs)
        try:
            with trace.logging_writes(written):
                return attempt(lambda: inner(*held, *seen, **seen_by_name), (), places.NO_NAMES)
        except ConcretizationError:
            drop_effects(trace, recorded, written)
    return captured(inner)(*held, *args, **kwargs)


def _of_library(call: Call, function: Any, inner: types.FunctionType, held: tuple, args: tuple, kwargs: dict) -> Any:
    """A call of a library's function that is not followed: it runs as it is, while the program is traced."""
    if inner.__code__ is _DISPATCHING_METHODS:
        raise not_followed(functools.singledispatchmethod)
    if journals.may_be_put_back() and not leaves_no_traces(function):
        require_no_effect(function)
        raise not_captured(function)
    if held and isinstance(held[0], TracedArray) and any(map(is_open_list, args)):
        return NEEDS_ARRAYS["numpy"](function, args, kwargs)
    require_no_effect(function)
    args, kwargs = seen_in(call, args, kwargs)
    if of_numpy(inner):
        return call_numpy(function, args, kwargs)
    if inner.__code__ is _DISPATCHING:
        return call(look(inner.dispatch, MEANINGS[type](args[0])), *args, **kwargs)
    if held and isinstance(held[0], OutsideDict):
        return function(*args, **kwargs)  # which notes what it changes, and reads what it is asked for
    return call_library(function, wrapping_captured(call, inner), (*held, *args), kwargs)


def of_dispatching_method(call: Call, function: Any, args: tuple, kwargs: dict) -> Any:
    if type(function) is _DISPATCHING_METHODS:
        raise not_followed(functools.singledispatchmethod)
    return UNANSWERED


def not_followed(function: Any) -> TracerError:
    return TracerError(f"functools.{function.__name__} is not followed while a function is traced; decide by isinstance")


def not_captured(function: Any) -> TracerError:
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return TracerError(
        f"{name} is called in a loop or a branch that depends on traced values; what it does besides returning something, and "
        "what it returns the next time, cannot be captured. Call it outside of the loop or branch"
    )
