"""Calls of NumPy's functions while a function is traced: lists of traced values are arrays; what is made can be written to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .... import hlo
from ...functions.ufunc_calls import call_ufunc
from ...recording.array import TracedArray, require_trace
from ...recording.dynamic_array import dynamic_arrays
from ...recording.function_tables import DYNAMIC, FUNCTIONS, call_ufunc_method
from ...recording.memory_order import laid_out
from ...recording.operands import has_traced, prepare
from ..choices import without_maybes
from ..coded_arrays import are_chosen, call_with_codes, changeable
from ..loops.stacked_rows import whole_array
from ..structured_arrays import are_among, call_with_fields
from .meanings import MEANINGS

# Larger arrays that NumPy makes of what is known stay NumPy's.
_MOST_BYTES = 1 << 16
# These write to their first argument, which no array stands for where it is a list.
_WRITING = frozenset({np.place, np.put, np.putmask, np.copyto, np.fill_diagonal, np.put_along_axis})


def of_numpy(function: Callable) -> bool:
    """Whether this is a function of NumPy's."""
    holder = getattr(function, "__self__", None)
    if isinstance(function, np.ufunc) or isinstance(holder, np.ufunc):
        return True
    module = getattr(function, "__module__", None)
    return type(module) is str and module.partition(".")[0] == "numpy" and not isinstance(function, type)


def call_numpy(function: Callable, args: tuple, kwargs: dict) -> Any:
    """``function(*args, **kwargs)``, where NumPy, which looks for traced arrays among the arguments alone, finds some in lists.

    What it makes of known values is a traced array, which can be written to.
    """
    args = without_maybes(args)
    given = (*args, *kwargs.values())
    if are_among(given):
        return call_with_fields(function, args, kwargs)
    if are_chosen(function, args, kwargs):
        return call_with_codes(function, args, kwargs)
    if any(type(one) in (list, tuple) and has_traced(one) for one in given):
        return _of_lists(function, args, kwargs)
    found = function(*args, **kwargs)
    if type(found) not in (np.ndarray, tuple, list) or any(map(has_traced, given)):
        return found
    return traced_constant(found, [one for one in given if isinstance(one, np.ndarray)])


def _of_lists(function: Callable, args: tuple, kwargs: dict) -> Any:
    implementation = _implementation(function)
    if implementation is None:
        return function(*args, **kwargs)
    if function.__name__ == "at" and isinstance(getattr(function, "__self__", None), np.ufunc):
        return function(*args, **kwargs)  # a tuple is an index there, and no array
    if dynamic_arrays((*args, *kwargs.values())):
        if function in DYNAMIC:
            return function(*args, **kwargs)
        return function(*map(prepare, args), **_all_but_out(prepare, kwargs))
    args = (*args[:1], *map(_joined, args[1:])) if function in _WRITING else map(_joined, args)
    return implementation(*args, **_all_but_out(_joined, kwargs))


def _all_but_out(convert: Callable, kwargs: dict) -> dict:
    return {name: one if name == "out" else convert(one) for name, one in kwargs.items()}


def _joined(value: Any) -> Any:
    """The array whose elements a list has, where they are all of it."""
    whole = whole_array(value)
    return value if whole is None or whole.ndim > 1 else whole


def _implementation(function: Callable) -> Callable | None:
    if function in FUNCTIONS:
        return FUNCTIONS[function]
    if isinstance(function, np.ufunc):
        return lambda *inputs, **arguments: call_ufunc(function, inputs, **arguments)
    ufunc = getattr(function, "__self__", None)
    if isinstance(ufunc, np.ufunc):
        return lambda *inputs, **arguments: call_ufunc_method(ufunc, function.__name__, *inputs, **arguments)
    return None


def traced_constant(found: Any, others: Sequence[np.ndarray] = ()) -> Any:
    """An array that NumPy made, or several, as traced ones; as they are where they share memory with others.

    So are those that do not hold numbers, and large ones.
    """
    if type(found) in (list, tuple):
        return type(found)([traced_constant(one, others) for one in found])
    if type(found) is np.ndarray and found.dtype.kind == "U":
        return changeable(found)
    if type(found) is not np.ndarray or found.dtype.kind not in "biufc" or found.nbytes > _MOST_BYTES:
        return found
    if any(np.may_share_memory(found, other) for other in others):
        return found
    made = laid_out(TracedArray.from_instruction(require_trace(), hlo.constant(found), is_scalar=False), (found,), as_copy=True)
    made.storage.has_other_order = not found.dtype.isnative
    return made


# Those of NumPy's functions that look for traced arrays in a list, too. (np.block looks into lists of lists.)
_ASK_ELEMENTS = {
    np.choose, np.column_stack, np.concatenate, np.dstack, np.histogramdd, np.hstack, np.lexsort, np.linalg.multi_dot,
    np.piecewise, np.ravel_multi_index, np.select, np.stack, np.vstack,
}  # fmt: skip


def with_arrays(function: Any, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """The arguments of a function of NumPy's, with arrays for lists of traced values.

    NumPy makes arrays of lists without asking what is in them, unless another argument is a traced array.
    """
    given = (*args, *kwargs.values())
    if function is np.block or not has_traced(given) or any(isinstance(one, TracedArray) for one in given):
        return args, kwargs
    make = _as_arrays if function in _ASK_ELEMENTS else _as_array
    args = (*args[:1], *map(make, args[1:])) if function in _WRITING else tuple(map(make, args))
    return args, {name: make(one) for name, one in kwargs.items()}


def _as_array(value: Any) -> Any:
    return MEANINGS[np.array](value) if isinstance(value, (list, tuple)) and has_traced(value) else value


def _as_arrays(value: Any) -> Any:
    return tuple(map(_as_array, value)) if type(value) in (list, tuple) else value
