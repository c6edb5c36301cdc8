"""``out=`` where sizes are known at run time only: the result is computed as without it, and then written there."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..recording.array import TracedArray, require_trace
from ..recording.dynamic_array import DynamicArray, dynamic_arrays
from ..recording.function_tables import DYNAMIC, FUNCTIONS, METHODS
from .elementwise import stored

_METHODS = (np.ufunc, type(np.ufunc.reduce), type(np.ndarray.sum), type(np.add.reduce))
# Of these the type of what they write to is not the one in which they compute.
_COMPUTES_IN_ITS_OWN_TYPE = {np.einsum, np.ufunc.reduce, np.ufunc.accumulate, np.ufunc.reduceat, np.clip, np.ndarray.clip}


def _parameters(function: Callable, implementation: Callable) -> Mapping[str, inspect.Parameter]:
    """Those of the implementation, or NumPy's own, where that leaves them open."""
    own = inspect.signature(implementation).parameters
    return own if "out" in own or isinstance(function, _METHODS) else inspect.signature(function).parameters


def _writing(function: Callable, implementation: Callable) -> Callable:
    parameters = _parameters(function, implementation)
    names = list(parameters)
    place = names.index("out") if parameters["out"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD else len(names) + 1
    ordinary = FUNCTIONS.get(function) or METHODS.get(function, implementation)
    has_dtype = "dtype" in names and function not in _COMPUTES_IN_ITS_OWN_TYPE

    def write(*args: Any, **kwargs: Any) -> Any:
        out = args[place] if len(args) > place else kwargs.get("out")
        if isinstance(out, tuple):
            (out,) = out
        if out is None:
            return implementation(*args, **kwargs)
        if not isinstance(out, TracedArray):
            raise TypeError("return arrays must be of ArrayType")
        args = (*args[:place], None, *args[place + 1 :]) if len(args) > place else args
        kwargs.pop("out", None)
        if has_dtype and kwargs.get("dtype") is None and len(args) <= names.index("dtype"):
            kwargs["dtype"] = out.dtype
        is_dynamic = dynamic_arrays((*args, *kwargs.values()))
        found = (implementation if is_dynamic else ordinary)(*args, **kwargs)
        trace = require_trace(found, out)
        padded, sizes = (found.padded(trace), found.sizes(trace)) if isinstance(found, DynamicArray) else (found, {})
        casting = kwargs.get("casting", "same_kind")
        return stored(trace, function, out, padded, sizes, casting)

    return write


def write_them_for_all() -> None:
    """Make every implementation that has this parameter write there."""
    for function, implementation in list(DYNAMIC.items()):
        if function is not np.ufunc.__call__ and "out" in _parameters(function, implementation):
            DYNAMIC[function] = _writing(function, implementation)
