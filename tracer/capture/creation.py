"""NumPy's functions that make arrays: while a function is traced they make traced ones, which can be written to.

What they hold stays known as long as it does not depend on the call, so that Python can use it.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import hlo
from ..functions.array_attributes import Flat
from ..functions.creation import whether_copied
from ..recording.array import TracedArray
from ..recording.dynamic_array import DynamicArray, dynamic_arrays
from ..recording.function_tables import FUNCTIONS
from ..recording.operands import as_traced, has_traced, prepare, require
from . import structured_arrays as structured
from .calls.dispatch import call
from .calls.meanings import implements
from .calls.numpy_calls import traced_constant, with_arrays
from .coded_arrays import CodedArray
from .library.masked.array import MaskedArray
from .loops.stacked_rows import columns_of, is_row, whole_array
from .masked import without_masks
from .structured_arrays import StructuredArray
from .text_fields import TextArray

_CREATIONS = (
    np.zeros, np.empty, np.ones, np.full, np.zeros_like, np.empty_like, np.ones_like, np.full_like, np.eye, np.identity,
    np.arange, np.linspace, np.tri, np.broadcast_to,
)  # fmt: skip


_STRUCTURED = {np.zeros, np.empty, np.ones}


def _creation(function: Callable) -> Callable:
    made = FUNCTIONS[function]

    def implementation(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], (StructuredArray, MaskedArray)):
            return function(*args, **kwargs)
        if function in _STRUCTURED and structured.is_structured(
            dtype := kwargs.get("dtype", args[1] if len(args) == 2 else None)
        ):
            if {*kwargs} - {"shape", "dtype"}:
                raise NotImplementedError(f"np.{function.__name__} of a structured dtype with further arguments")
            shape = args[0] if args else kwargs["shape"]
            return structured.filled(_creation(function), shape, dtype, 1 if function is np.ones else None)
        if not _is_of_numbers(args, kwargs):
            return traced_constant(function(*args, **kwargs))
        if function is np.linspace and kwargs.get("retstep"):
            return function(*args, **kwargs)
        if dynamic_arrays((*args, *kwargs.values())):
            return function(*args, **kwargs)
        return made(*args, **kwargs)

    return implementation


def _is_of_numbers(args: tuple, kwargs: dict) -> bool:
    """Whether the dtype that is asked for, if any, and the values that are given are numbers."""
    for one in (kwargs.get("dtype"), kwargs.get("fill_value"), *args[1:]):
        if isinstance(one, (type, np.dtype, str, list)):
            try:
                if hlo.as_dtype(one).kind not in "biufc":
                    return False
            except TypeError:
                if isinstance(one, str):
                    return False
    return True


for _function in _CREATIONS:
    implements(_function)(_creation(_function))


@implements(np.ndarray)
def ndarray(shape: Any, dtype: Any = float, buffer: Any = None, offset: int = 0, strides: Any = None, order: Any = None) -> Any:
    if buffer is None and strides is None:
        return _creation(np.empty)(shape, dtype=dtype, order=order or "C")
    return np.ndarray(shape, dtype, buffer, offset, strides, order)


def _conversion(function: Callable) -> Callable:
    made = FUNCTIONS[function]

    def implementation(*args: Any, **kwargs: Any) -> Any:
        value = args[0] if args else kwargs.get("object", kwargs.get("a"))
        if "copy" in kwargs:
            kwargs["copy"] = whether_copied(kwargs["copy"])
        if (plain := without_masks(value)) is not value:
            value, args = plain, (plain, *args[1:])
            kwargs.pop("object", kwargs.pop("a", None))
        if isinstance(value, (CodedArray, TextArray)):
            if len(args) != 1 or kwargs:
                raise NotImplementedError(
                    f"np.{function.__name__} of texts that depend on traced values, with further arguments"
                )
            return value.copy() if function in (np.array, np.copy) else value
        if type(value) in (list, tuple) and len(args) + len(kwargs) == 1 and structured.are_among(value):
            return call(np.stack, list(value))
        if isinstance(value, StructuredArray):
            if len(args) != 1 or {*kwargs} - {"copy"} or kwargs.get("copy", True) is None:
                raise NotImplementedError(f"np.{function.__name__} of a structured array, with further arguments")
            return value.copy() if function in (np.array, np.copy) and kwargs.get("copy", True) else value
        dtype = kwargs.get("dtype", args[1] if len(args) > 1 else None)
        if isinstance(value, list) and structured.is_structured(dtype):
            if len(args) + len(kwargs) != 2:
                raise NotImplementedError(f"np.{function.__name__} of a structured dtype with further arguments")
            return structured.of_rows(_creation(np.zeros), value, dtype)
        if isinstance(value, Flat):
            value = value.as_array()
            if function is np.copy:
                return value
            args = (value, *args[1:])
            if function is np.array:
                kwargs = {**kwargs, "copy": kwargs.get("copy") or None}
            kwargs.pop("object", kwargs.pop("a", None))
        if (whole := _joined_rows(value)) is not None:
            value, args = whole, (whole, *args[1:])
        if dynamic_arrays((value,)):
            value = prepare(value)
        if isinstance(value, DynamicArray):
            if function is np.copy:
                return np.copy(value)
            refuses_copies = kwargs.get("copy") is False
            return _of_dynamic(value, refuses_copies, *args[1:], **{"copy": function is np.array, **kwargs})
        if (isinstance(value, TracedArray) or has_traced(value)) and _is_of_numbers(args, kwargs):
            return made(*args, **kwargs)
        if isinstance(value, np.ndarray) and function is not np.array and function is not np.copy:
            return function(*args, **kwargs)
        found = function(*args, **kwargs)
        return traced_constant(found)

    return implementation


def _of_dynamic(
    array: DynamicArray,
    refuses_copies: bool,
    dtype: Any = None,
    order: str = "K",
    *,
    copy: Any,
    ndmin: int = 0,
    **arguments: Any,
) -> TracedArray:
    unknown = [name for name, one in arguments.items() if name not in ("object", "a", "subok", "device") and one is not None]
    if unknown or order == "F":
        raise NotImplementedError(
            f"a conversion with {', '.join(unknown or ['order'])} of an array whose size is known at run time only is not "
            "implemented"
        )
    if refuses_copies and dtype is not None and hlo.as_dtype(dtype) != array.dtype:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    found = array.astype(array.dtype if dtype is None else dtype, copy=bool(copy))
    return found[(None,) * (ndmin - found.ndim)] if ndmin > found.ndim else found


def _joined_rows(values: Any) -> TracedArray | None:
    """What np.array makes of a list to which a captured loop has appended; None for any other."""
    if type(values) not in (list, tuple):
        return None
    firsts = (value[0] if type(value) is tuple and value else value for value in values)
    start = next((place for place, first in enumerate(firsts) if is_row(first)), len(values))
    columns = columns_of(values[start:])
    whole = None if columns is None else columns.whole()
    if whole is None or not start:
        return whole
    before = FUNCTIONS[np.array](values[:start])
    return np.concatenate([before, whole]) if before.shape[1:] == whole.shape[1:] else None


@implements(np.stack)
def stack(arrays: Any, axis: int = 0, *others: Any, **kwargs: Any) -> Any:
    whole = whole_array(arrays)
    if whole is None or axis or others or kwargs or whole.ndim < 2:
        args, kwargs = with_arrays(np.stack, (arrays, axis, *others), kwargs)
        return np.stack(*args, **kwargs)
    return whole.copy()


@implements(np.rec.fromarrays)
def fromarrays(arrayList: Any, dtype: Any = None, shape: Any = None, *others: Any, names: Any = None, **kwargs: Any) -> Any:
    if not has_traced(arrayList):
        return traced_constant(np.rec.fromarrays(arrayList, dtype, shape, *others, names=names, **kwargs))
    if others or kwargs or shape is not None or (dtype is None) == (names is None):
        raise NotImplementedError("np.rec.fromarrays with other arguments than either dtype or names")
    arrays = [call(np.asarray, one) for one in arrayList]
    if dtype is None:
        names = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
        dtype = [(name, one.dtype) for name, one in zip(names, arrays, strict=True)]
    return structured.of_fields(_creation(np.zeros), arrays, np.dtype(dtype))


_CONVERSIONS = (np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, np.require, np.copy)
for _function in _CONVERSIONS:
    implements(_function)(_conversion(_function))


@implements(np.asarray_chkfinite)
def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    found = call(np.asarray, a, dtype=dtype, order=order)
    if not isinstance(found, TracedArray):
        return np.asarray_chkfinite(found)
    if found.dtype.kind in "fc":
        require(np.all(np.isfinite(found)), ValueError, "array must not contain infs or NaNs")
    return found


@implements(np.broadcast_shapes)
def broadcast_shapes(*args: Any) -> tuple[int, ...]:
    shapes = [one if isinstance(one, (tuple, list)) else (one,) for one in args]
    if not has_traced(shapes):
        return np.broadcast_shapes(*shapes)
    rank = max(map(len, shapes))
    behind = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    return tuple([functools.reduce(_broadcast_size, sizes) for sizes in zip(*behind)])


def _broadcast_size(size: Any, other: Any) -> Any:
    message = "shape mismatch: objects cannot be broadcast to a single shape"
    if not has_traced((size, other)):
        require(size == other or 1 in (size, other), ValueError, message)
        return other if size == 1 else size
    require((size == other) | (size == 1) | (other == 1), ValueError, message)
    return call(int, np.where(size == 1, other, size))


@implements(np.iterable)
def iterable(y: Any) -> bool:
    return y.ndim > 0 if isinstance(y, TracedArray) else np.iterable(y)


@implements(np.fromiter)
def fromiter(iter: Any, dtype: Any, count: int = -1, **like: Any) -> Any:
    values = call(list, iter if count < 0 else itertools.islice(iter, count))
    if len(values) < count:
        raise ValueError(f"iterator too short: Expected {count} but iterator had only {len(values)} items.")
    return call(np.array, values, dtype)


def _scalar_type(kind: type[np.generic]) -> Callable:
    """A call of a scalar type, which converts numbers and arrays as `astype` does."""

    def implementation(*args: Any, **kwargs: Any) -> Any:
        if len(args) != 1 or kwargs or not (isinstance(args[0], TracedArray) or has_traced(args[0])):
            return kind(*args, **kwargs)
        value = args[0] if isinstance(args[0], DynamicArray) else as_traced(args[0])
        return value.astype(kind)[()]

    return implementation


for _kind in {type(np.zeros((), code)[()]) for code in np.typecodes["AllInteger"] + "?efdFD"}:
    implements(_kind)(_scalar_type(_kind))
