"""Which calls of libraries' functions do nothing but return a value, so that captured loops and branches may record them."""

from __future__ import annotations

import collections
import datetime
import decimal
import fractions
import re
import types
import uuid
from typing import Any

import numpy as np

from ...outside.ownership import is_of_the_user
from ...recording.array import TracedArray
from ..outside.kinds import OUTSIDE_CONTAINERS

# Calls of what stands in these modules, and of methods of these types, do nothing but return a value.
_HARMLESS_MODULES = frozenset({
    "builtins", "numpy", "scipy", "math", "cmath", "operator", "_operator", "functools", "_functools", "itertools", "copy",
    "re", "typing", "warnings", "dataclasses", "fractions", "decimal", "statistics", "contextlib", "phlox", "ml_dtypes",
})  # fmt: skip
_HARMLESS_TYPES = (
    list, dict, set, frozenset, tuple, str, bytes, int, float, complex, range, slice, type, types.ModuleType, np.ndarray,
    np.generic, np.ufunc, np.dtype, TracedArray, BaseException, datetime.date, datetime.time, datetime.timedelta,
    datetime.tzinfo, decimal.Decimal, fractions.Fraction, uuid.UUID, re.Pattern,
)  # fmt: skip
_CHANGING_ARRAYS = frozenset({"sort", "fill", "put", "partition", "resize", "setfield", "setflags"})
_HARMFUL = frozenset({"next", "input", "open", "exec", "eval", "setattr", "delattr"})


def leaves_no_traces(function: Any) -> bool:
    """Whether a call does nothing but return a value that depends on its arguments alone; of classes that is assumed."""
    if isinstance(function, (type, np.ufunc)):
        return True
    holder = getattr(function, "__self__", None)
    if isinstance(holder, OUTSIDE_CONTAINERS):
        return True
    if holder is not None and not isinstance(holder, types.ModuleType):
        changes = isinstance(holder, np.ndarray) and function.__name__ in _CHANGING_ARRAYS
        return isinstance(holder, _HARMLESS_TYPES) and not changes
    if isinstance(function, types.FunctionType) and is_of_the_user(function.__code__.co_filename):
        return True
    is_function = isinstance(function, (types.FunctionType, types.BuiltinFunctionType))
    module = (function if is_function else type(function)).__module__ or ""
    if isinstance(function, types.FunctionType) and hasattr(function, "__wrapped__"):  # whose own module it does not tell
        module = function.__globals__.get("__name__", "")
    return getattr(function, "__name__", "") not in _HARMFUL and _is_harmless_module(module)


def _is_harmless_module(name: str) -> bool:
    return name.partition(".")[0] in _HARMLESS_MODULES and not name.startswith("numpy.random")


_INITIALIZE_DICTS = (dict.__init__, collections.OrderedDict.__init__)


def only_keeps(function: Any, args: tuple) -> bool:
    """Whether a class leaves what it is given as it is: that of a named tuple, and those that keep what has a name.

    So does the method of a dict that gives back another value than one of its own.
    """
    if isinstance(function, types.BuiltinFunctionType) and isinstance(function.__self__, dict):
        return function.__name__ == "get"
    if isinstance(function, type) and issubclass(function, tuple):
        return hasattr(function, "_fields")
    is_of_dicts = isinstance(function, type) and issubclass(function, dict) and function.__init__ in _INITIALIZE_DICTS
    return not args and (is_of_dicts or function is types.SimpleNamespace)
