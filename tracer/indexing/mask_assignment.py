"""Assignment to what a boolean mask selects.

A value that is the same however many elements the mask selects becomes a select, whatever the mask holds. One with a value for
each selected element is dealt out by a running count of the mask where that is traced; where it is known while tracing, its
true elements become index arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import hlo
from ..recording.array import TracedArray, require_trace
from ..recording.dynamic_array import DynamicArray
from ..recording.function_tables import DYNAMIC
from ..recording.operands import as_traced, broadcast, instruction_of, prepare, shape_of
from ..recording.trace import Trace
from .basic import assigned_value, decides_about_sizes, is_mask_entry, require_mask_fits, selects_all
from .index_arrays import selection_along, taken, write_arrays
from .masked_selection import MaskedSelection

Instruction = hlo.Instruction


def write_advanced(array: TracedArray, index: Any, value: Any) -> None:
    """``array[index] = value`` for an index that holds arrays. Raises as NumPy does."""
    entries = list(index) if isinstance(index, tuple) else [index]
    masks = [position for position, entry in enumerate(entries) if is_mask_entry(entry)]
    if len(masks) != 1 or not all(selects_all(entry) for position, entry in enumerate(entries) if position != masks[0]):
        _write_arrays(array, index, value)
        return
    mask = entries[masks[0]]
    mask = mask if isinstance(mask, TracedArray) else np.asarray(mask)
    if isinstance(mask, DynamicArray):
        _write_arrays(array, index, value)
        return
    if not mask.size:
        write_arrays(array, index, value)
        return
    first = _first_dimension(array, entries, masks[0], mask.ndim)
    require_mask_fits(array, mask.shape, first)
    trace = require_trace(array)
    if first == 0 and isinstance(value, MaskedSelection) and value.is_that_of(as_traced(mask)):
        whole = instruction_of(trace, value.whole, array.element_type)
        _select(trace, array, mask, first, broadcast(whole, array.shape))
        return
    if isinstance(value, DynamicArray):
        _write_arrays(array, index, value)
        return
    value = prepare(value)
    # The selected elements lie along one dimension, at the place of the mask's.
    rest = array.shape[first + mask.ndim :]
    given = shape_of(value)
    count = given[-len(rest) - 1] if len(given) > len(rest) else 1
    if count == 1:
        shape = (*array.shape[:first], 1, *rest)
        converted = assigned_value(trace, value, shape, array.element_type)
        spread = hlo.reshape(converted, [*shape[:first], *[1] * mask.ndim, *rest])
        _select(trace, array, mask, first, broadcast(spread, array.shape))
    elif isinstance(mask, TracedArray) and first == 0:
        converted = assigned_value(trace, value, (count, *rest), array.element_type)
        _select(trace, array, mask, first, _dealt_out(trace, mask, converted))
    else:
        _write_arrays(array, index, value)


def _write_arrays(array: TracedArray, index: Any, value: Any) -> None:
    if isinstance(value, DynamicArray) or decides_about_sizes(index):
        DYNAMIC[np.ndarray.__setitem__](array, index, value)
    else:
        write_arrays(array, index, value)


def _first_dimension(array: TracedArray, entries: list[Any], position: int, mask_rank: int) -> int:
    """The array's dimension with which the mask begins."""
    slices = [number for number, entry in enumerate(entries) if isinstance(entry, slice)]
    used = mask_rank + len(slices)
    if used > array.ndim:
        raise IndexError(f"too many indices for array: array is {array.ndim}-dimensional, but {used} were indexed")
    if sum(1 for entry in entries if entry is Ellipsis) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if any(entry is Ellipsis for entry in entries[:position]):
        return array.ndim - mask_rank - sum(1 for number in slices if number > position)
    return position


def _select(trace: Trace, array: TracedArray, mask: Any, first: int, value: Instruction) -> None:
    after = array.ndim - first - mask.ndim
    predicate = hlo.reshape(instruction_of(trace, mask, hlo.PRED), [*[1] * first, *mask.shape, *[1] * after])
    array.set_value(hlo.select(broadcast(predicate, array.shape), value, array.instruction(trace)))


def _dealt_out(trace: Trace, mask: TracedArray, values: Instruction) -> Instruction:
    """The values, of which row k is to go to the k-th true element, each at its place; anything elsewhere.

    Raises ValueError when the program runs if there are not as many values as true elements.
    """
    (given, *rest) = values.shape.dimensions
    shape = (*mask.shape, *rest)
    if mask.size == 0:
        return broadcast(hlo.constant(0, values.shape.element_type), shape)
    counts = np.cumsum(mask.reshape(-1), dtype=np.int64).instruction(trace)
    total = hlo.reshape(hlo.emit("slice", counts, slice=[(mask.size - 1, mask.size, 1)]), ())
    message = f"NumPy boolean array indexing assignment cannot assign {given} input values to the values where the mask is true"
    different = hlo.ne(total, hlo.constant(np.int64(given)))
    trace.add_error_flag(different, ValueError, message)
    if given == 0:
        return broadcast(hlo.constant(0, values.shape.element_type), shape)
    ones = broadcast(hlo.constant(np.int64(1)), counts.shape.dimensions)
    source = TracedArray.from_instruction(trace, values, is_scalar=False)
    return hlo.reshape(taken(trace, selection_along(source, 0, hlo.subtract(counts, ones))), shape)
