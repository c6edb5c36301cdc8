"""The user's functions with their control flow and their calls captured."""

from __future__ import annotations

import operator
import types

from ...outside.guards import SameFunction
from ...outside.ownership import stays_as_it_is
from ...outside.paths import Fixed
from ...recording.errors import TracerError
from ...source.rewriting import is_rewritten, rewritten
from .. import journals
from ..outside.surroundings import current_surroundings
from .recursions import as_loop, helpers


def captured(function: types.FunctionType) -> types.FunctionType:
    """The function with its control flow and its calls captured; itself where that cannot be."""
    surroundings = current_surroundings()
    if surroundings is None:
        return captured_alone(function)
    held = function.__code__, function.__defaults__, function.__kwdefaults__
    known = surroundings.captured.get(id(function))
    if known is None or not all(map(operator.is_, known[1], held)):
        made = as_loop(surroundings, function) or captured_alone(function)
        is_followed = is_rewritten(made.__code__)
        if not is_followed and surroundings.trace.program.given_texts:
            name = function.__qualname__
            raise TracerError(f"{name} is not written anew, and may ask texts what only Python knows: isinstance(text, str)")
        if not stays_as_it_is(function.__code__.co_filename):
            made = surroundings.functions.bound(made)
            if made.__globals__ is not function.__globals__:  # else the function is made by one that is traced
                surroundings.guard(SameFunction(Fixed(function, function.__name__), function))
        made = made if is_followed else journals.noted(made)
        known = surroundings.captured[id(function)] = function, held, made
    return known[2]


def captured_alone(function: types.FunctionType) -> types.FunctionType:
    return rewritten(function, helpers())
