"""Arrays whose elements lie in the other byte order than this machine's, for who looks at them as bytes, or at their dtype.

The program computes with the numbers. What tells of the order is the storage; it is NumPy's of an argument, and of what is made
with such a dtype, or by what moves elements and leaves their dtype as it is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import hlo
from .array import TracedArray
from .function_tables import FUNCTIONS, METHODS

# What gives an array of the dtype of the first argument, and which argument says another dtype, if one may.
_KEEPING: dict[Any, int | None] = {
    np.copy: None, np.take: None, np.sort: None, np.repeat: None, np.tile: None, np.roll: None, np.reshape: None,
    np.ravel: None,
    np.unique: None, np.pad: None, np.delete: None, np.compress: None, np.resize: None,
    np.zeros_like: 1, np.ones_like: 1, np.empty_like: 1, np.full_like: 2, np.array: 1, np.asarray: 1, np.asanyarray: 1,
    np.ascontiguousarray: 1, np.asfortranarray: 1, np.require: 1, np.zeros: 1, np.ones: 1, np.empty: 1, np.full: 2, np.eye: 3,
    np.identity: 1, np.arange: None, np.linspace: None,
}  # fmt: skip
_KEEPING_METHODS: dict[Any, int | None] = {
    np.ndarray.astype: 1, np.ndarray.copy: None, np.ndarray.flatten: None, np.ndarray.ravel: None, np.ndarray.reshape: None,
    np.ndarray.take: None, np.ndarray.repeat: None, np.ndarray.__getitem__: None,
}  # fmt: skip


def keeping_order(function: Callable[..., Any], place: int | None) -> Callable[..., Any]:
    """The function, such that the byte order of the result is that of the dtype at this place of the arguments, or by its
    name, and without one of the first argument."""

    @functools.wraps(function)
    def implementation(*args: Any, **keywords: Any) -> Any:
        found = function(*args, **keywords)
        if type(found) is not TracedArray or found.is_scalar:
            return found
        given = args[0] if args else None
        has_other_order = type(given) is TracedArray and given.has_other_order
        dtype = keywords.get("dtype", args[place] if place is not None and len(args) > place else None)
        wanted = has_other_order if dtype is None or isinstance(dtype, TracedArray) else not hlo.as_dtype(dtype).isnative
        if wanted == found.has_other_order:
            return found
        if isinstance(given, TracedArray) and found.root_storage is given.root_storage:
            found = FUNCTIONS[np.copy].__wrapped__(found)
        found.root_storage.has_other_order = wanted
        return found

    return implementation


def keep_orders() -> None:
    """To be called once the tables are filled."""
    for table, functions in ((FUNCTIONS, _KEEPING), (METHODS, _KEEPING_METHODS)):
        for function, place in functions.items():
            if function in table:
                table[function] = keeping_order(table[function], place)


def in_other_order(value: np.ndarray) -> np.ndarray:
    """A copy of an array in the other byte order."""
    return value.astype(value.dtype.newbyteorder())
