"""Calls with traced arrays and plain numbers alone, which most are: what is called is found in one look."""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ...recording.array import TracedArray
from ...recording.current_trace import current_trace
from .. import journals, places
from ..copies import require_own
from ..lists.runs import is_open_list
from .meanings import MEANINGS

FUNCTION_OF_ARRAYS = type(np.mean)  # NumPy's functions that traced arrays answer to
# Nothing of what is looked at elsewhere concerns calls with these alone.
PLAIN = frozenset({TracedArray, int, float, complex, bool, type(None), np.float64, np.int64})
OF_ITERTOOLS = [one for one in vars(itertools).values() if isinstance(one, type)]
# What these give is noted; `type` is asked for a class.
_GIVE_ITERATORS = frozenset({type, iter, *OF_ITERTOOLS})
# What these do with numbers that are known Python does.
_OF_NUMBERS = frozenset({abs, bool, complex, divmod, float, int, max, min, pow, range, round})


def _is_own_list(holder: list) -> bool:
    """Whether a list, which is about to be changed, is one whose elements the program knows."""
    program = current_trace().program
    if program.has_open_lists and is_open_list(holder):
        return False
    require_own(holder)
    if journals.is_journaling():
        journals.note(places.Contents(holder))
    elif program.surroundings is not None:
        program.surroundings.require_followed(holder)
    return True


def _of_arrays(function: Any, args: tuple) -> Callable[..., Any] | None:
    return MEANINGS.get(function, function) if TracedArray in map(type, args) else None


def _of_array(function: types.MethodType, args: tuple) -> Callable[..., Any] | None:
    return function if type(function.__self__) is TracedArray and function.__func__ not in MEANINGS else None


def _built_in(function: types.BuiltinFunctionType, args: tuple) -> Callable[..., Any] | None:
    if type(function.__self__) is list:
        return function if function.__name__ == "append" and _is_own_list(function.__self__) else None
    return _with_meaning(function, args)


def _with_meaning(function: Any, args: tuple) -> Callable[..., Any] | None:
    if TracedArray not in map(type, args):
        return function if function in _OF_NUMBERS else None
    return MEANINGS.get(function) if function not in _GIVE_ITERATORS else None


# What to call where arguments are plain, by the type of the function; None if there is more to it.
ORDINARY: dict[type, Callable[[Any, tuple], Callable[..., Any] | None]] = {
    np.ufunc: _of_arrays, FUNCTION_OF_ARRAYS: _of_arrays, types.MethodType: _of_array, types.BuiltinFunctionType: _built_in,
    type: _with_meaning,
}  # fmt: skip
