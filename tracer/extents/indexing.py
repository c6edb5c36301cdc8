"""``x[index]`` where a size is known at run time only: the array's, an index array's, or that between the bounds of a slice.

Each entry of the index becomes one on the array of the bounds, with a size beside it where the result's is not known. Integers
out of range raise IndexError when the program runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ... import hlo
from ...hlo.shape import row_major_strides
from ..functions.powers import require_nonnegative_exponent
from ..functions.ufunc_calls import update_of
from ..indexing.basic import assigned_value, is_basic_entry, is_mask_entry, no_index, selects_all
from ..indexing.index_arrays import ArraySelection, any_of, second, select_arrays, taken, update_selected
from ..indexing.masked_selection import MaskedSelection
from ..recording.array import TracedArray, require_trace
from ..recording.dynamic_array import DynamicArray, Sizes, dynamic, same_value, valid
from ..recording.function_tables import implements_dynamic
from ..recording.memory_order import is_contiguous
from ..recording.operands import as_traced, broadcast, prepare
from ..recording.trace import Trace
from .broadcasting import as_array, broadcast_together, dimensions_of, fail_if
from .slices import Steps, is_run, read_steps, steps_of, write_steps

Instruction = hlo.Instruction


_OF_INDICES = (IndexError, "shape mismatch: indexing arrays could not be broadcast together")


class Axis(NamedTuple):
    """One dimension of an array: its bound, and its size where that is known at run time only."""

    number: int
    bound: int
    size: Instruction | None


@implements_dynamic(np.ndarray.__getitem__)
def read(array: TracedArray, index: Any) -> Any:
    """A view where the index has integers and slices alone, a copy otherwise."""
    trace = require_trace(array)
    selection = _selection_of_mask(trace, array, index)
    if selection is not None:
        return selection
    entries = _entries(array, index)
    if all(is_basic_entry(entry) for entry in entries):
        return _read_basic(trace, array, entries)
    return _read_arrays(trace, array, entries)


@implements_dynamic(np.ndarray.__setitem__)
def write(array: TracedArray, index: Any, value: Any) -> None:
    """The value is broadcast and converted as NumPy does."""
    trace = require_trace(array)
    if not array.is_writeable:
        raise ValueError("assignment destination is read-only")
    is_mask = not isinstance(index, tuple) and is_mask_entry(index)
    if is_mask and not np.ndim(index):  # of one element, which is the whole
        array[None][np.reshape(index, 1)] = value
        return
    if is_mask and isinstance(array, DynamicArray):
        _write_masked(trace, array, as_array(index), value)
        return
    entries = _entries(array, index)
    if all(is_basic_entry(entry) for entry in entries):
        _write_basic(trace, array, entries, value)
    else:
        _write_arrays(trace, array, entries, value)


def axes_of(trace: Trace, array: TracedArray) -> list[Axis]:
    sizes = array.sizes(trace) if isinstance(array, DynamicArray) else {}
    return [Axis(d, bound, sizes.get(d)) for d, bound in enumerate(dimensions_of(array))]


def _entries(array: TracedArray, index: Any) -> list[Any]:
    """The entries of the index, one for each dimension, and new axes; masks as the index arrays of their true elements."""
    entries: list[Any] = []
    for entry in index if isinstance(index, tuple) else (index,):
        if is_basic_entry(entry):
            entries.append(entry)
        elif is_mask_entry(entry):
            entries.extend(_positions(array, entry, sum(one is not None for one in entries)))
        else:
            entries.append(as_traced(entry) if isinstance(entry, (np.ndarray, list, tuple)) else entry)
            if not entries[-1].element_type.is_integer:
                raise no_index(entry)
    used = sum(entry is not None and entry is not Ellipsis for entry in entries)
    if used > array.ndim:
        raise IndexError(f"too many indices for array: array is {array.ndim}-dimensional, but {used} were indexed")
    if sum(entry is Ellipsis for entry in entries) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    whole = [slice(None)] * (array.ndim - used)
    for position, entry in enumerate(entries):
        if entry is Ellipsis:
            return entries[:position] + whole + entries[position + 1 :]
    return entries + whole


def _positions(array: TracedArray, mask: Any, first: int) -> tuple[Any, ...]:
    """The index arrays of a mask's true elements; that it fits is checked where it stands alone or behind plain dimensions."""
    mask = as_array(mask)
    if not mask.ndim:
        raise NotImplementedError("a boolean scalar beside other indices, traced, is not implemented")
    trace = require_trace(mask)
    if isinstance(mask, DynamicArray) or isinstance(array, DynamicArray):
        mask = _fitting(trace, array, mask, first)
    elif first + mask.ndim <= array.ndim and array.shape[first : first + mask.ndim] != mask.shape:
        raise IndexError(f"boolean index did not match indexed array: {array.shape[first:]} and {mask.shape}")
    return np.nonzero(mask)


def _fitting(trace: Trace, array: TracedArray, mask: TracedArray, first: int) -> TracedArray:
    """The mask as one of the bounds of the array, false behind the sizes. IndexError is raised where the sizes differ."""
    if first + mask.ndim > array.ndim:
        raise IndexError(f"too many indices for array: array is {array.ndim}-dimensional, but {first + mask.ndim} were indexed")
    own = mask.sizes(trace) if isinstance(mask, DynamicArray) else {}
    result = mask.filled(trace, False) if own else mask
    inside: Sizes = {}
    for axis in axes_of(trace, array)[first : first + mask.ndim]:
        d = axis.number - first
        bound = dimensions_of(mask)[d]
        size, wanted = own.get(d), axis.size
        if size is None and wanted is None:
            if bound != axis.bound:
                raise IndexError(f"boolean index did not match indexed array along axis {axis.number}")
            continue
        size = hlo.constant(np.int32(bound)) if size is None else size
        wanted = hlo.constant(np.int32(axis.bound)) if wanted is None else wanted
        if not same_value(size, wanted):
            message = f"boolean index did not match indexed array along axis {axis.number}: the sizes differ"
            fail_if(trace, hlo.ne(size, wanted), message, IndexError)
        if d not in own:
            inside[d] = wanted
        if bound > axis.bound:
            result = result[(slice(None),) * d + (slice(0, axis.bound),)]
        elif bound < axis.bound:
            result = np.pad(result, [(0, axis.bound - bound if e == d else 0) for e in range(mask.ndim)])
    if inside:
        result = result & valid(trace, result.shape, inside)
    return result


def _selection_of_mask(trace: Trace, array: TracedArray, index: Any) -> MaskedSelection | None:
    """``x[mask]`` where no size but that of the mask's dimensions is known at run time only."""
    mask, *others = (index or (...,)) if isinstance(index, tuple) else (index,)
    if not isinstance(mask, (TracedArray, np.ndarray)) or not is_mask_entry(mask) or not all(map(selects_all, others)):
        return None
    mask = as_array(mask)
    if not mask.ndim or any(axis.size is not None for axis in axes_of(trace, array)[mask.ndim :]):
        return None
    fitting = _fitting(trace, array, mask, 0)
    whole = array.padded(trace) if isinstance(array, DynamicArray) else array
    return MaskedSelection(whole.copy(), fitting.copy())


# --- integers and slices ---


def _steps(trace: Trace, array: TracedArray, entries: list[Any]) -> tuple[list[Steps], list[int | None]]:
    """What is selected along each dimension, and which of these each dimension of the result is, None for a new one."""
    steps: list[Steps] = []
    kept: list[int | None] = []
    axes = axes_of(trace, array)
    for entry in entries:
        if entry is None:
            kept.append(None)
            continue
        axis = axes[len(steps)]
        steps.append(steps_of(trace, entry, axis.number, axis.bound, axis.size))
        if not steps[-1].dropped:
            kept.append(axis.number)
    return steps, kept


def _keep_order(entries: list[Any], steps: list[Steps]) -> bool:
    """Whether the selected elements lie one behind another wherever those of the array do."""
    first = 0
    while first < len(steps) and steps[first].dropped:
        first += 1
    behind = [entry for entry in entries if entry is not None][first + 1 :]
    return all(map(selects_all, behind)) and (first == len(steps) or is_run(steps[first]))


def is_in_order(array: TracedArray) -> bool:
    """Whether it is certain that the elements lie one behind another, so that a reshape is a view."""
    while isinstance(array, DynamicArray) and array.base is not None:
        if not getattr(array.view_reader, "keeps_order", False):
            return False
        array = array.base
    return isinstance(array, DynamicArray) or is_contiguous(array, "C")


def _read_basic(trace: Trace, array: TracedArray, entries: list[Any]) -> TracedArray:
    steps, kept = _steps(trace, array, entries)

    def read(trace: Trace, base: Instruction) -> Instruction:
        return read_steps(trace, base, steps, kept)

    def write(trace: Trace, base: Instruction, value: Instruction) -> Instruction:
        return write_steps(trace, base, steps, value)

    bounds = tuple(1 if d is None else steps[d].bound for d in kept)
    is_dynamic = tuple(d is not None and steps[d].size is not None for d in kept)
    if not kept:
        return TracedArray.from_instruction(trace, read(trace, array.recorded(trace)))
    read.keeps_order = _keep_order(entries, steps)  # type: ignore[attr-defined]
    if not any(is_dynamic):
        strides = None
        if not (read.keeps_order and is_in_order(array)):
            own = row_major_strides(dimensions_of(array)) if isinstance(array, DynamicArray) else array.element_strides
            strides = tuple(0 if d is None else own[d] * steps[d].step for d in kept)
        return TracedArray.view_of(array, bounds, read, write, strides)
    shape = hlo.Shape(array.element_type, bounds, dynamic_dimensions=is_dynamic)
    view = DynamicArray.view_on(array, shape, read, write)
    view.is_expected_full = all(steps[d].expected for place, d in enumerate(kept) if is_dynamic[place])
    return view


def _write_basic(trace: Trace, array: TracedArray, entries: list[Any], value: Any) -> None:
    steps, kept = _steps(trace, array, entries)
    bounds = tuple(1 if d is None else steps[d].bound for d in kept)
    sizes = {
        place: steps[d].size.instruction(trace) for place, d in enumerate(kept) if d is not None and steps[d].size is not None
    }
    converted = assigned(trace, value, bounds, sizes, array.element_type)
    array.set_value(write_steps(trace, array.recorded(trace), steps, converted))


def assigned(trace: Trace, value: Any, bounds: tuple[int, ...], sizes: Sizes, element_type: hlo.ElementType) -> Instruction:
    """A value as it is stored in a part of these bounds and sizes, padded."""
    shape = dimensions_of(value)
    own = value.sizes(trace) if isinstance(value, DynamicArray) else {}
    value = value.padded(trace) if isinstance(value, DynamicArray) else value
    while len(shape) > len(bounds) and shape[0] == 1 and 0 not in own:
        value, shape, own = as_traced(value)[0], shape[1:], {d - 1: size for d, size in own.items()}
    message = "could not broadcast input array: sizes that are known at run time differ"
    if len(shape) > len(bounds):
        raise ValueError(f"could not broadcast input array from {len(shape)} dimensions into {len(bounds)}")
    lead = len(bounds) - len(shape)
    for d, bound in enumerate(shape):
        target, wanted, size = bounds[lead + d], sizes.get(lead + d), own.get(d)
        if size is None and bound == 1 or size is None and wanted is None:
            continue
        if size is not None and wanted is not None and same_value(size, wanted) and bound == target:
            continue
        size = hlo.constant(np.int32(bound)) if size is None else size
        wanted = hlo.constant(np.int32(target)) if wanted is None else wanted
        is_one = hlo.eq(size, hlo.constant(np.int32(1)))
        fail_if(trace, hlo.and_(hlo.not_(is_one), hlo.ne(size, wanted)), message)
        array = as_traced(value)
        first = array[(slice(None),) * d + (slice(0, 1),)] if bound else None
        if bound < target:
            array = np.pad(array, [(0, target - bound if e == d else 0) for e in range(array.ndim)])
        elif bound > target:
            array = array[(slice(None),) * d + (slice(0, target),)]
        if first is not None and target:
            predicate = TracedArray.from_instruction(trace, is_one)
            array = np.where(predicate, np.broadcast_to(first, array.shape), array)
        value = array
    return assigned_value(trace, value, bounds, element_type)


# --- index arrays ---


def _index_arrays(trace: Trace, array: TracedArray, entries: list[Any]) -> tuple[list[Any], Sizes]:
    """The entries on the array of the bounds, with indices in range; the sizes of their dimensions."""
    places = [place for place, entry in enumerate(entries) if isinstance(entry, TracedArray) and not _is_slice_like(entry)]
    spread, sizes = broadcast_together(trace, [entries[place] for place in places], _OF_INDICES)
    shape = np.broadcast_shapes(*(dimensions_of(one) for one in spread))
    found, axes, number = list(entries), axes_of(trace, array), 0
    for place, entry in enumerate(entries):
        if entry is None:
            continue
        axis = axes[number]
        number += 1
        if place not in places:
            continue
        padded = as_traced(spread[places.index(place)])
        found[place] = _checked(trace, padded, shape, sizes, axis)
    return found, sizes


def _is_slice_like(entry: Any) -> bool:
    return entry is None or isinstance(entry, slice)


def _checked(trace: Trace, index: TracedArray, shape: tuple[int, ...], sizes: Sizes, axis: Axis) -> TracedArray:
    """Indices in range: negative ones wrapped, 0 behind the sizes. IndexError is raised when the program runs."""
    index = index.astype(np.int64)
    size = axis.bound if axis.size is None else TracedArray.from_instruction(trace, hlo.convert(axis.size, hlo.S64))
    wrapped = np.where(index < 0, index + size, index)
    outside = (wrapped < 0) | (wrapped >= size)
    if sizes and index.ndim:
        inside = valid(trace, shape, sizes)
        outside = outside & inside
    message = f"index is out of bounds for axis {axis.number}" + (f" with size {axis.bound}" if axis.size is None else "")
    fail_if(trace, any_of(outside.instruction(trace)), message, IndexError)
    wrapped = np.where(inside, wrapped, 0) if sizes and index.ndim else wrapped
    checked = np.clip(wrapped, 0, max(axis.bound - 1, 0))
    trace.program.intervals[checked.instruction(trace)] = (0, max(axis.bound - 1, 0))
    return checked


def _selected(trace: Trace, array: TracedArray, target: TracedArray, entries: list[Any]) -> tuple[ArraySelection, Sizes, Sizes]:
    """What the index selects of the target, the array of the bounds; the sizes of the index arrays, and those of the result."""
    found, sizes = _index_arrays(trace, array, entries)
    selection = select_arrays(target, tuple(found))
    own = array.sizes(trace) if isinstance(array, DynamicArray) else {}
    numbers, count = _dimensions_of_base(entries), len(selection.index_shape)
    of_result = {selection.place + d: size for d, size in sizes.items()}
    rest = [d for d in range(selection.base.ndim) if d not in selection.dimensions]
    for position, d in enumerate(rest):
        if numbers[d] in own:
            of_result[position if position < selection.place else position + count] = own[numbers[d]]
    return selection, sizes, dict(sorted(of_result.items()))


def _read_arrays(trace: Trace, array: TracedArray, entries: list[Any]) -> TracedArray:
    base, entries = _with_slices_first(trace, array, entries)
    padded = base.padded(trace) if isinstance(base, DynamicArray) else base
    selection, _, sizes = _selected(trace, base, padded, entries)
    return dynamic(trace, taken(trace, selection), sizes)


def _dimensions_of_base(entries: list[Any]) -> list[int | None]:
    """For each dimension of the view that an index with arrays selects in first, that of the array; None for new axes."""
    numbers: list[int | None] = []
    number = 0
    for entry in entries:
        if entry is None:
            numbers.append(None)
            continue
        if isinstance(entry, slice) or isinstance(entry, TracedArray) and entry.ndim:
            numbers.append(number)
        number += 1
    return numbers


def _with_slices_first(trace: Trace, array: TracedArray, entries: list[Any]) -> tuple[TracedArray, list[Any]]:
    """The array sliced, and an index that holds arrays, whole slices and new axes: integers have become arrays of rank 0."""
    slices = [slice(None) if isinstance(entry, TracedArray) or not isinstance(entry, slice) else entry
              for entry in entries if entry is not None]  # fmt: skip
    base = array if all(map(selects_all, slices)) else _read_basic(trace, array, slices)
    plain = [slice(None) if isinstance(entry, slice) else entry for entry in entries]
    return base, [as_traced(np.int64(entry)) if isinstance(entry, (int, np.integer)) else entry for entry in plain]


def _write_arrays(trace: Trace, array: TracedArray, entries: list[Any], value: Any) -> None:
    def updates_of(shape: tuple[int, ...], sizes: Sizes) -> Instruction:
        return assigned(trace, value, shape, sizes, array.element_type)

    _update_arrays(trace, array, entries, updates_of, second(array.element_type))


def _update_arrays(
    trace: Trace, array: TracedArray, entries: list[Any], updates_of: Callable[..., Instruction], combine: hlo.Computation
) -> None:
    """Each selected element becomes ``combine(element, update)``, with the updates for a selection of a shape and sizes."""
    base, entries = _with_slices_first(trace, array, entries)
    target = base.padded(trace) if isinstance(base, DynamicArray) else base
    selection, sizes, of_result = _selected(trace, base, target, entries)
    updates = updates_of(selection.shape, of_result)
    if sizes:  # what lies behind the sizes goes nowhere
        first = selection.indices[0]
        inside = valid(trace, selection.index_shape, sizes).instruction(trace)
        nowhere = hlo.full_like(first, selection.base.shape[selection.dimensions[0]])
        selection = selection._replace(indices=(hlo.select(inside, first, nowhere), *selection.indices[1:]))
    update_selected(trace, selection, updates, combine)
    if isinstance(base, DynamicArray):
        base.set_value(dynamic(trace, target, base.sizes(trace)).recorded(trace))


@implements_dynamic(np.ufunc.at)
def at(ufunc: np.ufunc, array: TracedArray, index: Any, *operands: Any) -> None:
    """In place, ``array[index] = ufunc(array[index], *operands)``, once for each time that an element is selected."""
    if ufunc.nout != 1:
        raise ValueError("Only single output ufuncs supported at this time")
    trace, entries = require_trace(array), _entries(array, index)
    if all(is_basic_entry(entry) for entry in entries):
        array[index] = ufunc(array[index], *operands)
        return
    values = [prepare(operand) for operand in operands]
    combine, given = update_of(ufunc, array, [one.padded(trace) if isinstance(one, DynamicArray) else one for one in values])

    def updates_of(shape: tuple[int, ...], sizes: Sizes) -> Instruction:
        if not values:
            return broadcast(hlo.constant(0, given), shape)
        updates = assigned(trace, values[0], shape, sizes, given)
        if ufunc is np.power:
            inside = valid(trace, shape, sizes).instruction(trace) if sizes else hlo.constant(True, hlo.PRED)
            exponents = hlo.select(broadcast(inside, shape), updates, hlo.full_like(updates, 0))
            require_nonnegative_exponent(trace, values[0], exponents)
        return updates

    _update_arrays(trace, array, entries, updates_of, combine)


def _write_masked(trace: Trace, array: DynamicArray, mask: TracedArray, value: Any) -> None:
    padded = array.padded(trace)
    padded[_fitting(trace, array, mask, 0)] = value
    array.set_value(dynamic(trace, padded, array.sizes(trace)).recorded(trace))
