"""Calls that are made when the program runs: of what has to do with a state outside, and those that Python makes again."""

from __future__ import annotations

import random
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ...calls.again import once
from ...calls.outside_state import writes_to_standard_stream
from ...calls.random_generators import LIBRARY, method_of_generator, name_of_method
from ...outside.ownership import is_of_the_user
from .. import journals, places
from ..choices import without_maybes
from ..copies import require_own
from ..lists.runs import is_open_list
from .meanings import MADE_BY_PYTHON, NEEDS_ARRAYS, SAYING
from .users_functions import captured


def call_when_run(function: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    """A call of what has to do with a state outside; generators are given lists as they are to take them."""
    if name_of_method(function) == "shuffle" and args and isinstance(args[0], list):
        require_own(args[0])
        journals.note(places.Contents(args[0]))
        if is_open_list(args[0]):
            return LIBRARY["shuffled"](method_of_generator(function)[0], *args, **kwargs)
        return function(*args, **kwargs)  # the list itself
    if (found := method_of_generator(function)) is not None and any(map(is_open_list, (*args, *kwargs.values()))):
        if isinstance(found[0], random.Random):
            return _drawn_by_python(*found, args, kwargs)
        args = tuple(map(_as_numpy_takes_it, args))
        kwargs = {name: _as_numpy_takes_it(value) for name, value in kwargs.items()}
    return function(*without_maybes(args), **kwargs)


def _drawn_by_python(generator: Any, method: str, args: tuple, kwargs: dict) -> Any:
    """What a method of one of Python's generators gives of lists whose length the program decides."""
    if method != "choice":
        raise NotImplementedError(
            f"{method} of a generator, of a list whose length the program decides or differs from call to call, "
            "is not implemented. Fix: choose from it, or shuffle it"
        )
    return LIBRARY["element"](generator, *args, **kwargs)


def _as_numpy_takes_it(value: Any) -> Any:
    """An array in the place of a list whose length the program decides."""
    return NEEDS_ARRAYS["numpy"](np.array, (value,), {}) if is_open_list(value) else value


def called_again(function: Any, args: tuple, kwargs: dict) -> Any:
    """A call where Python makes a call again that the program has made."""
    kind = type(function)
    is_function = kind in (types.FunctionType, types.BuiltinFunctionType, type(np.save))
    if is_function and function in MADE_BY_PYTHON:
        return MADE_BY_PYTHON[function](*args, **kwargs)
    if writes_to_standard_stream(function) or is_function and function in SAYING:
        return once(function, *args, **kwargs)
    if kind is types.MethodType:
        return called_again(function.__func__, (function.__self__, *args), kwargs)
    if kind is types.FunctionType and is_of_the_user(function.__code__.co_filename):
        function = captured(function)
    return function(*args, **kwargs)
