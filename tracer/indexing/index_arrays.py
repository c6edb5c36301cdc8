"""Indexing with arrays of integers, alone or among slices and integers: reading is a gather, writing a scatter.

An index is split in two. Its integers, slices and new axes select a view, as basic indexing does; the index arrays,
broadcast together, then select along dimensions of this view. Boolean masks that are known while tracing become the index
arrays of their true elements. Source of the semantics: "Advanced indexing" in NumPy's "Indexing on ndarrays".

Negative indices wrap. An index out of range raises IndexError: at once where it is written down (``x[[0, 7]]``), through the
trace's error flag where it is known at run time only, as all contents of arrays are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ... import hlo
from ..recording.array import TracedArray, require_trace
from ..recording.errors import ConcretizationError, StaleCapture
from ..recording.intervals import interval_of_instruction
from ..recording.memory_order import broadcast_order, in_axes_order, innermost_first, strides_told
from ..recording.operands import as_traced, broadcast, broadcast_shapes, has_traced, sequence
from ..recording.trace import Trace
from .basic import (
    assigned_value,
    is_basic_entry,
    is_mask_entry,
    no_index,
    read_basic,
    require_index_types,
    require_mask_size,
    selects_all,
)

Instruction = hlo.Instruction


class ArraySelection(NamedTuple):
    """What index arrays select: along ``dimensions`` of a base, the elements at ``indices``.

    The indices are integers in range, of the shape ``index_shape`` each. In the result the dimensions of index_shape stand at
    ``place`` among the base's remaining ones. ``order`` has them in the order in which the index arrays lie, innermost first.
    """

    base: TracedArray
    dimensions: tuple[int, ...]
    indices: tuple[Instruction, ...]
    index_shape: tuple[int, ...]
    place: int
    order: Sequence[int] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        rest = [size for dimension, size in enumerate(self.base.shape) if dimension not in self.dimensions]
        return (*rest[: self.place], *self.index_shape, *rest[self.place :])

    @property
    def window_dims(self) -> tuple[int, ...]:
        """The dimensions of the result that are not those of the index arrays."""
        count = len(self.index_shape)
        return tuple(d for d in range(len(self.shape)) if not self.place <= d < self.place + count)


# --- from an index to a selection ---


def select_arrays(array: TracedArray, index: Any) -> ArraySelection:
    """The selection of an index that holds arrays.

    Raises IndexError as NumPy does, ConcretizationError for a traced mask: the result's shape would depend on its contents.
    """
    require_index_types(index)
    trace = require_trace(array)
    entries: list[Any] = []
    for entry in index if isinstance(index, tuple) else (index,):
        entries.extend([entry] if is_basic_entry(entry) else _array_entries(trace, entry))
    basic = tuple(entry if is_basic_entry(entry) else slice(None) for entry in entries if not isinstance(entry, _NewLength))
    used = sum(1 for entry in basic if entry is not None and entry is not Ellipsis)
    if not any(entry is Ellipsis for entry in basic):
        basic += (Ellipsis,)
    whole = used <= array.ndim and all(map(selects_all, basic)) and sum(1 for entry in basic if entry is Ellipsis) == 1
    base = array if whole else read_basic(array, basic)

    shapes: list[tuple[int, ...]] = []
    arrays: list[tuple[int, int, Any]] = []  # dimension of the base, axis of the array, contents
    chosen: list[int] = []  # positions of what takes part in the broadcast
    place = dimension = axis = 0
    for position, entry in enumerate(entries):
        is_array = not is_basic_entry(entry)
        if is_array or not (entry is None or entry is Ellipsis or isinstance(entry, slice)):
            if not chosen:
                place = dimension
            chosen.append(position)
        if isinstance(entry, _NewLength):
            shapes.append((entry.length,))
            continue
        if is_array:
            if isinstance(entry, _MaskPositions):
                require_mask_size(array, axis, entry.size)
                entry = entry.positions
            shapes.append(entry.shape)
            arrays.append((dimension, axis, entry))
        if entry is Ellipsis:
            dimension, axis = dimension + array.ndim - used, axis + array.ndim - used
            continue
        dimension += is_array or entry is None or isinstance(entry, slice)
        axis += entry is not None
    if chosen != list(range(chosen[0], chosen[-1] + 1)):
        place = 0
    try:
        index_shape = broadcast_shapes(*shapes)
    except ValueError:
        listed = " ".join(str(shape).replace(" ", "") for shape in shapes)
        raise IndexError(f"shape mismatch: indexing arrays could not be broadcast together with shapes {listed}") from None
    checked = 0 not in index_shape
    indices = [in_range(trace, entry, array.shape[axis], axis, checked) for _, axis, entry in arrays]
    spread = tuple(broadcast(one, index_shape) for one in indices)
    order = broadcast_order([entry for *_, entry in arrays], len(index_shape))
    return ArraySelection(base, tuple(dimension for dimension, _, _ in arrays), spread, index_shape, place, order)


class _NewLength(NamedTuple):
    """A boolean scalar as an index: a new dimension of this length, 0 or 1."""

    length: int


class _MaskPositions(NamedTuple):
    """Where a mask is true, along one of its dimensions, which has this size."""

    positions: np.ndarray
    size: int


def _array_entries(trace: Trace, entry: Any) -> list[Any]:
    """The index arrays that an entry stands for: itself, or those of a mask's true elements."""
    if is_mask_entry(entry):
        mask = known_contents(trace, entry)
        if mask.ndim == 0:
            return [_NewLength(int(mask))]
        return [_MaskPositions(positions, size) for positions, size in zip(np.nonzero(mask), mask.shape)]
    if isinstance(entry, (TracedArray, np.ndarray)):
        found: Any = as_traced(entry)
    elif has_traced(entry):
        found = sequence(entry)
    else:
        found = np.asarray(entry)
        found = found.astype(np.int64) if found.size == 0 else found
    if found.dtype.kind not in "iu":
        raise no_index(entry)
    return [found]


def known_contents(trace: Trace, array: Any) -> np.ndarray:
    """The contents of a mask, or another index on which shapes depend. Raises ConcretizationError where it is traced.

    The compiled code holds for these contents alone: where they are those of an array that changes, the function is traced
    again.
    """
    if has_traced(array):
        traced = as_traced(array)
        if (known := traced.known_value) is not None:
            return np.asarray(known)
        if not traced.size:
            return np.zeros(traced.shape, traced.dtype)
        raise ConcretizationError(
            traced, "as an index whose contents decide about a shape",
            "np.where(mask, ..., ...) keeps the shape; x[mask] alone can be computed with, reduced and assigned.",
        )  # fmt: skip
    contents = np.array(array)
    if isinstance(array, np.ndarray) and array.size:
        captured = trace.capture(array)
        if contents.dtype.kind not in "biu":
            contents = contents != 0
            zero = broadcast(hlo.constant(0, captured.shape.element_type), contents.shape)
            captured = hlo.ne(captured, zero)
        changed = hlo.ne(captured, hlo.constant(contents))
        message = "a mask has changed since the function was traced, and with it the shape of what it selects"
        trace.add_error_flag(any_of(changed), StaleCapture, message)
    return contents


def in_range(trace: Trace, index: Any, size: int, axis: int, checked: bool = True) -> Instruction:
    """Indices, negative ones wrapped, for a dimension of this size: an ndarray, whose contents are known, or a traced array.

    Raises IndexError, at once or when the program runs, if one is out of range, unless ``checked`` is false.
    """
    message = f"index {{}} is out of bounds for axis {axis} with size {size}"
    if isinstance(index, np.ndarray):
        outside = index[(index < -size) | (index >= size)] if checked else index[:0]
        if outside.size:
            raise IndexError(message.format(outside[0]))
        wrapped = np.where(index < 0, index + size, index)
        return hlo.constant(wrapped.astype(np.int32 if size < 2**31 else np.int64))
    if size == 0 and checked and index.size:
        raise IndexError(f"index is out of bounds for axis {axis} with size 0")
    given = index.instruction(trace)
    wrapped, outside = wrap(trace, given, size)
    if checked and outside is not None:
        found, value = first_of(given, outside)
        trace.add_error_flag(found, IndexError, message, value)
    return wrapped


def first_of(values: Instruction, chosen: Instruction) -> tuple[Instruction, Instruction]:
    """Whether one of the values is chosen, and the first of those that are."""
    if not chosen.shape.rank:
        return chosen, values
    count = chosen.shape.size
    positions = hlo.iota(hlo.Shape(hlo.S32 if count < 2**31 else hlo.S64, (count,)), 0)
    none = hlo.constant(count, positions.shape.element_type)
    first = hlo.select(hlo.reshape(chosen, (count,)), positions, broadcast(none, (count,)))
    minimum = hlo.scalar_computation("minimum", none.shape.element_type)
    first = hlo.reduce(first, none, dimensions=(0,), to_apply=minimum)
    value = hlo.dynamic_slice(hlo.reshape(values, (count,)), first, sizes=(1,))
    return hlo.lt(first, none), hlo.reshape(value, ())


def widened(index: Instruction, size: int) -> Instruction:
    """The indices in an integer type that holds the size and its negative."""
    if index.shape.element_type.bits < 32 or index.shape.element_type.bits == 32 and size >= 2**31:
        return hlo.convert(index, hlo.S32 if size < 2**31 else hlo.S64)
    return index


def wrap(trace: Trace, index: Instruction, size: int) -> tuple[Instruction, Instruction | None]:
    """Indices with the negative ones counted from the end, and which of them are out of range (None where none can be)."""
    dimensions = index.shape.dimensions
    least, largest = interval_of_instruction(trace, index)
    index = widened(index, size)
    if 0 in dimensions or 0 <= least <= largest < size:
        return index, None

    def compare(one: Instruction, number: int, direction: str) -> Instruction:
        bound = broadcast(hlo.constant(number, one.shape.element_type), dimensions)
        return hlo.compare(one, bound, direction=direction)

    if index.shape.element_type.kind == "signed":
        sizes = broadcast(hlo.constant(size, index.shape.element_type), dimensions)
        index = hlo.select(compare(index, 0, "LT"), hlo.add(index, sizes), index)
        return index, hlo.or_(compare(index, 0, "LT"), compare(index, size, "GE"))
    return index, compare(index, size, "GE")


def any_of(predicate: Instruction) -> Instruction:
    """Whether any element is true."""
    if not predicate.shape.rank:
        return predicate
    return hlo.reduce(
        predicate, hlo.constant(False), dimensions=tuple(range(predicate.shape.rank)),
        to_apply=hlo.scalar_computation("or", hlo.PRED),
    )  # fmt: skip


# --- reading ---


def read_arrays(array: TracedArray, index: Any) -> TracedArray:
    """``array[index]``, a copy."""
    selection = select_arrays(array, index)
    trace = require_trace(array)
    return _as_numpy_lays_it(TracedArray.from_instruction(trace, taken(trace, selection), is_scalar=False), selection)


def _as_numpy_lays_it(found: TracedArray, selection: ArraySelection) -> TracedArray:
    """What has been selected, with its strides: NumPy goes over the index arrays, and for each place in them over the rest."""
    base, place, count = selection.base, selection.place, len(selection.index_shape)
    rest = [dimension for dimension in range(base.ndim) if dimension not in selection.dimensions]
    has_rest = math.prod([base.shape[dimension] for dimension in rest]) > 1
    order = selection.order
    if order is None or has_rest:
        order = range(count)[::-1]
    told = strides_told(base)
    within = innermost_first([[told[dimension] for dimension in rest]], len(rest))
    return in_axes_order(found, [one + count * (one >= place) for one in within] + [place + one for one in order])


def taken(trace: Trace, selection: ArraySelection) -> Instruction:
    """The selected elements."""
    operand, shape = selection.base.instruction(trace), selection.shape
    if 0 in shape:
        return hlo.broadcast(hlo.constant(0, operand.shape.element_type), shape, ())
    if not selection.dimensions:
        return hlo.broadcast(operand, shape, selection.window_dims)
    sizes = [1 if d in selection.dimensions else size for d, size in enumerate(operand.shape.dimensions)]
    return hlo.gather(
        operand, _index_vectors(selection.indices),
        offset_dims=selection.window_dims, collapsed_slice_dims=sorted(selection.dimensions),
        start_index_map=selection.dimensions, index_vector_dim=len(selection.index_shape), slice_sizes=sizes,
    )  # fmt: skip


def _index_vectors(indices: Sequence[Instruction]) -> Instruction:
    """The index arrays side by side, in a last dimension of their own; a single one as it is."""
    if len(indices) == 1:
        return indices[0]
    element_types = {index.shape.element_type for index in indices}
    common = element_types.pop() if len(element_types) == 1 else hlo.S64
    columns = [hlo.convert(index, common) for index in indices]
    columns = [hlo.reshape(column, (*column.shape.dimensions, 1)) for column in columns]
    return hlo.concatenate(*columns, dimensions=(len(columns[0].shape.dimensions) - 1,))


# --- writing ---


def write_arrays(array: TracedArray, index: Any, value: Any) -> None:
    """``array[index] = value``; of several values for one element the last one counts."""
    selection = select_arrays(array, index)
    trace = require_trace(array)
    shape = selection.shape
    try:
        updates = assigned_value(trace, value, shape, array.element_type)
    except ValueError:
        given = np.shape(value) if not isinstance(value, TracedArray) else value.shape
        if not given:  # the value is to blame, not its shape
            raise
        texts = [str(one).replace(" ", "") for one in (given, shape)]
        raise ValueError(
            f"shape mismatch: value array of shape {texts[0]} could not be broadcast to indexing result of shape {texts[1]}"
        ) from None
    update_selected(trace, selection, updates, second(array.element_type))


@cache
def second(element_type: hlo.ElementType) -> hlo.Computation:
    """The computation of two scalars that returns the second one."""
    scalar = hlo.Shape(element_type)
    return hlo.computation(f"assign_{element_type.name}", [scalar, scalar], lambda current, update: update)


def update_selected(trace: Trace, selection: ArraySelection, updates: Instruction, combine: hlo.Computation) -> None:
    """Replace each selected element, in order, by ``combine(element, update)``; the updates have the selection's shape.

    Updates of another element type than the array's are a second operand of a scatter that leaves it as it is: then
    ``combine(element, unused, unused, update)`` returns the new element and something unused.
    """
    if 0 in selection.shape:
        return
    base = selection.base
    operands, windows = [base.instruction(trace)], [updates]
    own, given = base.element_type, updates.shape.element_type
    if given is not own:
        operands.append(broadcast(hlo.constant(0, given), base.shape))
        windows.insert(0, broadcast(hlo.constant(0, own), selection.shape))
    if selection.dimensions:
        vectors, vector_dim = _index_vectors(selection.indices), len(selection.index_shape)
    else:  # everything, once: vectors of no elements
        vectors, vector_dim = hlo.constant(np.zeros((*selection.index_shape, 0), np.int32)), len(selection.index_shape)
    updated = hlo.scatter(
        *operands, vectors, *windows,
        update_window_dims=selection.window_dims, inserted_window_dims=sorted(selection.dimensions),
        scatter_dims_to_operand_dims=selection.dimensions, index_vector_dim=vector_dim, to_apply=combine,
    )  # fmt: skip
    base.set_value(updated if given is own else hlo.get_tuple_element(updated, 0))


def selection_along(array: TracedArray, axis: int, indices: Instruction) -> ArraySelection:
    """The elements at these indices, which are in range, along one axis."""
    return ArraySelection(array, (axis,), (indices,), indices.shape.dimensions, axis)
