"""Calls of functions with a cache: `functools.lru_cache`."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from ...recording.array import TracedArray
from ...recording.current_trace import current_trace
from ...recording.operands import has_traced
from ..forms import is_around


def recorded_call(call: Callable[..., Any], function: Any, args: tuple, kwargs: dict) -> tuple[Any] | None:
    """What a call returns that is recorded, as it is of traced values; None where the cache is to be asked before each call.

    One of the function around it, which sees traced values there, has a cache of its own in each call of that.
    """
    values = (*args, *kwargs.values())
    if any(isinstance(value, TracedArray) and not (value.element_type.is_integer and value.weak_type) for value in values):
        return (call(function.__wrapped__, *args, **kwargs),)
    if has_traced(values) or not _sees_traced(function.__wrapped__, set()):
        return None
    trace = current_trace()
    key = function, args, tuple(kwargs.items()), tuple(map(type, values) if function.cache_parameters()["typed"] else ())
    made, *found = trace.program.cached_calls.get(key, (None, None))
    if made is None or not is_around(made, trace):
        found = [call(function.__wrapped__, *args, **kwargs)]
        trace.program.cached_calls[key] = trace, *found
    return tuple(found)


def _sees_traced(function: Any, seen: set[int]) -> bool:
    """Whether a function, or one that it finds around it, finds traced values there."""
    function = getattr(function, "__wrapped__", function)
    if type(function) is not FunctionType or id(function) in seen:
        return False
    seen.add(id(function))
    for cell in function.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:  # it is empty
            continue
        if has_traced((value,)) or _sees_traced(value, seen):
            return True
    return False
