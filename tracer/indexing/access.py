"""``array[index]`` and ``array[index] = value``: which kind of index it is.

A traced mask, read, gives a `MaskedSelection`. What else depends on sizes that are known at run time only is looked up in the
table of what does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...hlo import PRED, ElementType
from ..recording.array import TracedArray
from ..recording.function_tables import DYNAMIC, implements_method
from ..recording.operands import ARRAYS_ARE_NUMBERS, no_element, require_element, sequence
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


def _is_element(array: TracedArray, index: Any) -> bool:
    """Whether the index is an integer for each dimension."""
    entries = index if isinstance(index, tuple) else (index,)
    if len(entries) != array.ndim:
        return False
    return not any(entry is None or entry is Ellipsis or isinstance(entry, slice) for entry in entries) and is_basic(index)


def _one_of_several(kind: ElementType, value: Any) -> Any:
    """What an element becomes that is set to several values: of truth values their own, and else an error."""
    if kind is PRED and isinstance(value, (list, tuple)):
        return bool(value)
    if kind is not PRED or isinstance(value, TracedArray) and value.is_dynamic or np.size(value) != 1:
        raise no_element(kind, value)
    return np.reshape(value, ())


@implements_method(np.ndarray.__setitem__)
def write_index(array: TracedArray, index: Any, value: Any) -> None:
    """The value is broadcast and converted as NumPy does. Raises as NumPy does."""
    if array.is_scalar:
        raise TypeError(f"'{array.dtype.type.__module__}.{array.dtype.type.__name__}' object does not support item assignment")
    if not array.is_writeable:
        raise ValueError("assignment destination is read-only")
    is_sequence = isinstance(value, (list, tuple))
    if (is_sequence or np.ndim(value)) and not ARRAYS_ARE_NUMBERS and _is_element(array, index):
        value = _one_of_several(array.element_type, value)
    elif is_sequence:
        value = sequence(value, array.dtype)
    require_element(array.element_type, value)
    if is_basic(index):
        if has_traced_bounds(index) or isinstance(value, TracedArray) and value.is_dynamic:
            DYNAMIC[np.ndarray.__setitem__](array, index, value)
        else:
            write_basic(array, index, value)
    else:
        write_advanced(array, with_known_masks(index, counts=False), value)
