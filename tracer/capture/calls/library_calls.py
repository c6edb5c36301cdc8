"""Calls of functions of libraries that are not followed: what they say of stand-ins is said of their users' values."""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Iterable
from typing import Any

from ...recording import libraries
from ...recording.array import TracedArray
from ...recording.callables import callable_name, named
from ...recording.errors import TracerError
from .. import journals
from ..raising import is_of_stand_ins

_PACKAGE = __name__.partition(".")[0] + "."
# What these modules have in C knows Python's protocols, and says of a stand-in what it says of the value.
_OF_PYTHON = frozenset({"builtins", "_operator", "math", "itertools", "_functools", "_collections", "collections", "numpy"})
_IN_C = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType, type)
_TEXT = f"{TracedArray.__name__}("


def call_library(function: Any, run: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    """What ``run`` makes of the arguments; ``function`` is what messages call it.

    Raises TracerError where it does not take what stands for a value, or makes a text of that.
    """
    try:
        found = journals.done_by(run, args, kwargs)
    except (TracerError, NotImplementedError):
        raise
    except Exception as error:
        names = _stand_ins((*args, *kwargs.values()))
        is_named = any(re.search(rf"\b{name}\b", str(error)) for name in names)
        is_of_types = _asks_for_other_types(function, error) and _stand_ins((*args, *kwargs.values()), TracedArray)
        # What is said of a text in a loop or a branch, Python says where the program comes there, or makes the call.
        is_no_text = is_of_types or is_of_stand_ins(error) or not journals.may_be_put_back()
        if names and (is_named or is_of_types or _is_of_a_library_in_c(function, error)) and is_no_text:
            raise _not_taken(function) from error
        raise
    if type(found) is str and _TEXT in found:
        raise _not_taken(function)
    return found


def _stand_ins(given: Iterable[Any], kind: type = object) -> set[str]:
    """The names of the classes of this package of which there are objects among these, also in lists and tuples."""
    names: set[str] = set()
    for one in given:
        if type(one) in (list, tuple):
            names |= _stand_ins(one, kind)
        elif type(one).__module__.startswith(_PACKAGE) and isinstance(one, kind):
            names.add(type(one).__name__)
    return names


def _asks_for_other_types(function: Any, error: Exception) -> bool:
    """Whether a class of a library does not take these types, as `fractions.Fraction` of a number that the program computes."""
    return isinstance(function, type) and type(error) is TypeError and _module_of(function).partition(".")[0] not in _OF_PYTHON


def _is_of_a_library_in_c(function: Any, error: Exception) -> bool:
    """Whether a function of a library raises this itself, and no Python function that it calls."""
    if not isinstance(function, _IN_C):
        return False
    traceback = error.__traceback__
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback.tb_frame.f_code is journals.done_by.__code__ and _module_of(function).partition(".")[0] not in _OF_PYTHON


def _module_of(function: Any) -> str:
    return getattr(function, "__module__", None) or type(getattr(function, "__self__", None)).__module__


def _not_taken(function: Any) -> TracerError:
    module = _module_of(function).lstrip("_")  # those in C are known by the module that hands them on
    name = getattr(named(function), "__qualname__", callable_name(function))
    name = name if module == "builtins" else f"{module}.{name}"
    return TracerError(f"{name} takes values, and is given what exists when the program runs. {libraries.way_out(name)}")
