"""NumPy's arrays as a module takes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import hlo
from .device_arrays import ArrayOnDevice, row_major_shape

# Flags of PyArrayObject that decide how its memory is handed over (NumPy C-API, "Array flags").
C_CONTIGUOUS, F_CONTIGUOUS, ALIGNED = 0x1, 0x2, 0x100
MEMORY_FLAGS = C_CONTIGUOUS | F_CONTIGUOUS | ALIGNED
# Subclasses of ndarray that change nothing about what its elements mean.
PLAIN_SUBCLASSES = (np.memmap,)


def array_form(array: np.ndarray, what: str) -> tuple[hlo.Shape, Callable[[np.ndarray], np.ndarray] | None]:
    """The HLO shape that stands for an array, and how to copy it into that form, None where its memory can be used.

    Fortran order becomes a layout; what is neither contiguous, aligned nor in native byte order is copied to C order. Raises
    TypeError, beginning with ``what``, for dtypes without an XLA type and for subclasses of ndarray.
    """
    if isinstance(array, ArrayOnDevice):
        return row_major_shape(array, what), None
    if type(array) is not np.ndarray and not isinstance(array, PLAIN_SUBCLASSES):
        advice = "np.asarray(...)"
        if isinstance(array, np.ma.MaskedArray):
            advice = "its .filled(...) array, or its .data and .mask"
        raise TypeError(
            f"{what} is a {type(array).__module__}.{type(array).__qualname__}, a subclass of numpy.ndarray with rules of its "
            f"own; pass {advice}"
        )
    element_type = element_type_of(array.dtype, what)
    flags = array.flags
    usable = flags.aligned and array.dtype.isnative
    if usable and flags.c_contiguous:
        return hlo.Shape(element_type, array.shape), None if type(array) is np.ndarray else np.asarray
    if usable and flags.f_contiguous:
        return hlo.Shape(element_type, array.shape, hlo.Layout(tuple(range(array.ndim)))), None
    return hlo.Shape(element_type, array.shape), _c_order_copy


def _c_order_copy(array: np.ndarray) -> np.ndarray:
    return np.array(array, dtype=array.dtype.newbyteorder("="), order="C")


def element_type_of(dtype: np.dtype, what: str) -> hlo.ElementType:
    """XLA's element type for a dtype. Raises TypeError, beginning with ``what``, where there is none."""
    advice = {
        "O": "pass arrays of numbers (np.asarray(x, dtype=float))",
        "U": "strings can only be static arguments",
        "S": "strings can only be static arguments",
        "M": "pass its .view('int64')",
        "m": "pass its .view('int64')",
        "V": "pass its fields one by one",
    }
    try:
        return hlo.element_type_of(dtype)
    except TypeError:
        hint = advice.get(dtype.kind, "pass float64 or complex128")
        raise TypeError(f"{what} has dtype {dtype}, which has no XLA element type; {hint}") from None


def memory_key(array: np.ndarray) -> Any:
    """What counts of how an array lies in memory: its flags, and the strides that say which of its reshapes are copies."""
    if isinstance(array, ArrayOnDevice):
        return _row_major_flags(array.shape)
    flags = array.flags.num & MEMORY_FLAGS
    return flags if flags & (C_CONTIGUOUS | F_CONTIGUOUS) else (flags, array.strides)


def _row_major_flags(shape: tuple[int, ...]) -> int:
    """The flags of an ndarray of this shape in C order, of which column-major ones with one long axis are, too."""
    is_both = 0 in shape or sum(size > 1 for size in shape) <= 1
    return C_CONTIGUOUS | ALIGNED | (F_CONTIGUOUS if is_both else 0)


def strides_with_gaps(array: np.ndarray) -> tuple[int, ...] | None:
    """The strides, counted in elements, of an array that is contiguous in no order; None for others."""
    key = memory_key(array)
    return tuple(step // array.itemsize for step in key[1]) if type(key) is tuple else None


def array_form_key(value: Any) -> Any:
    """What compiled code was made for of an array, None for what is no array."""
    if not isinstance(value, (np.ndarray, ArrayOnDevice)):
        return None
    return type(value), value.dtype, value.shape, memory_key(value)
