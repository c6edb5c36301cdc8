"""``array[index]`` and ``array[index] = value``: which kind of index it is.

A traced mask, read, gives a `MaskedSelection`. What else depends on sizes that are known at run time only is looked up in the
table of what does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import hlo
from ..recording.array import TracedArray, require_trace
from ..recording.function_tables import DYNAMIC, implements_method
from ..recording.operands import as_traced, require_integer, sequence
from .basic import (
    decides_about_sizes,
    has_traced_bounds,
    is_basic,
    is_mask_entry,
    read_basic,
    require_mask_fits,
    selects_all,
    with_known_masks,
    write_basic,
)
from .index_arrays import read_arrays
from .mask_assignment import write_advanced
from .masked_selection import MaskedSelection


@implements_method(np.ndarray.__getitem__)
def read_index(array: TracedArray, index: Any) -> Any:
    """A view for a basic index, a copy for one that holds arrays. Raises as NumPy does."""
    if is_basic(index):
        if has_traced_bounds(index):
            return DYNAMIC[np.ndarray.__getitem__](array, index)
        return read_basic(array, index)
    index = with_known_masks(index)
    mask, *others = index if isinstance(index, tuple) else (index,)
    if type(mask) is TracedArray and mask.size and is_mask_entry(mask) and all(map(selects_all, others)):
        require_mask_fits(array, mask.shape, 0)
        if len(others) <= array.ndim - mask.ndim:
            # Both as they are now: x[mask] is a copy in NumPy.
            return MaskedSelection(array.copy(), mask.copy())
    if decides_about_sizes(index):
        return DYNAMIC[np.ndarray.__getitem__](array, index)
    return read_arrays(array, index)


def _require_element(array: TracedArray, value: Any) -> None:
    """Raises what Python does where a scalar becomes an element: of integers by ``int()``, of floats by ``float()``.

    Of an array NumPy converts the elements without a word, and so it drops the imaginary part of its own complex scalars.
    """
    if isinstance(value, TracedArray):
        is_scalar, is_complex, is_float = value.is_scalar, value.element_type.is_complex, value.element_type.is_float
        is_of_python = value.weak_type
    else:
        is_scalar = isinstance(value, (complex, float, np.generic))
        is_complex, is_float = isinstance(value, (complex, np.complexfloating)), isinstance(value, (float, np.floating))
        is_of_python = type(value) is complex
    kind = array.element_type
    if not is_scalar or kind is hlo.PRED:
        return
    if is_complex and is_of_python and not kind.is_complex:
        what = ("int", "a string, a bytes-like object") if kind.is_integer else ("float", "a string")
        raise TypeError(f"{what[0]}() argument must be {what[1]} or a real number, not 'complex'")
    if is_float and not is_of_python and kind.is_integer:
        require_integer(require_trace(array), as_traced(value), kind)


@implements_method(np.ndarray.__setitem__)
def write_index(array: TracedArray, index: Any, value: Any) -> None:
    """The value is broadcast and converted as NumPy does. Raises as NumPy does."""
    if array.is_scalar:
        raise TypeError(f"'{array.dtype.type.__module__}.{array.dtype.type.__name__}' object does not support item assignment")
    if not array.is_writeable:
        raise ValueError("assignment destination is read-only")
    if isinstance(value, (list, tuple)):
        value = sequence(value, array.dtype)
    _require_element(array, value)
    if is_basic(index):
        if has_traced_bounds(index) or isinstance(value, TracedArray) and value.is_dynamic:
            DYNAMIC[np.ndarray.__setitem__](array, index, value)
        else:
            write_basic(array, index, value)
    else:
        write_advanced(array, with_known_masks(index, counts=False), value)
