"""Windows on arrays, and elements at given distances: views that may hold elements several times; such are not written to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib import stride_tricks

from ... import hlo
from ..indexing.index_arrays import second
from ..recording.array import TracedArray, as_index, require_trace
from ..recording.dynamic_array import DynamicArray, dynamic
from ..recording.function_tables import implements, implements_dynamic
from ..recording.operands import as_traced, normalize_axis, one_or_several, require
from ..recording.trace import Trace

Instruction = hlo.Instruction


@implements(stride_tricks.sliding_window_view)
@implements_dynamic(stride_tricks.sliding_window_view)
def sliding_window_view(x, window_shape, axis=None, *, subok=False, writeable=False):
    """The sizes of the windows must be known while tracing."""
    x = as_traced(x)
    windows, axes = _windows(x, window_shape, axis)
    is_dynamic = isinstance(x, DynamicArray)
    sizes, strides = list(x.bounds.dimensions if is_dynamic else x.shape), None if is_dynamic else x.element_strides
    counts: list[Any] = list(x.shape)
    for size, d in zip(windows, axes):
        counts[d] = counts[d] - (size - 1)
        require(counts[d] >= 1, ValueError, "window shape cannot be larger than input array shape")
        sizes[d] = max(sizes[d] - (size - 1), 0)

    def read(trace: Trace, base: Instruction) -> Instruction:
        for size, d in zip(windows, axes):
            base = _windows_along(base, d, size)
        return base

    if is_dynamic:
        trace = require_trace(x)
        found = dict(x.sizes(trace))
        for size, d in zip(windows, axes):
            if d in found:
                found[d] = hlo.maximum(hlo.subtract(found[d], size - 1), 0)
        return dynamic(trace, read(trace, x.padded(trace).instruction(trace)), found)
    write = _refuse if writeable else None
    return TracedArray.view_of(x, (*sizes, *windows), read, write, (*strides, *[strides[d] for d in axes]))


def _refuse(trace: Trace, base: Instruction, value: Instruction) -> Instruction:
    raise NotImplementedError(
        "to write to a view that has elements of an array several times, as of sliding_window_view or as_strided, is not "
        "implemented; write to the array"
    )


def _windows(x: TracedArray, window_shape: Any, axis: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The sizes of the windows, and the axis that each of them is along."""
    given = window_shape if isinstance(window_shape, (tuple, list, np.ndarray)) else (window_shape,)
    windows = tuple([as_index(size, "as the size of a window") for size in given])
    if any(size < 0 for size in windows):
        raise ValueError("`window_shape` cannot contain negative values")
    if axis is None:
        if len(windows) != x.ndim:
            raise ValueError(
                "Since axis is `None`, must provide window_shape for all dimensions of `x`; got "
                f"{len(windows)} window_shape elements and `x.ndim` is {x.ndim}."
            )
        return windows, tuple(range(x.ndim))
    axes = tuple([normalize_axis(one, x.ndim) for one in one_or_several(axis)])
    if len(windows) != len(axes):
        raise ValueError(
            f"Must provide matching length window_shape and axis; got {len(windows)} window_shape elements and {len(axes)} "
            "axes elements."
        )
    return windows, axes


def _windows_along(operand: Instruction, axis: int, size: int) -> Instruction:
    """The windows of a dimension as a new dimension behind all others."""
    sizes, rank = operand.shape.dimensions, operand.shape.rank
    count = sizes[axis] - size + 1
    if count <= 0 or not size or 0 in sizes:
        empty = [max(count, 0) if d == axis else one for d, one in enumerate(sizes)]
        return hlo.full(hlo.Shape(operand.shape.element_type, (*empty, size)), 0)
    starts = hlo.iota(hlo.Shape(hlo.S64, (count,)), 0)
    # The gather has the places of the windows in the dimension's own place, and what is in a window where `order` says.
    found = hlo.gather(
        operand, starts, offset_dims=tuple(d for d in range(rank + 1) if d != axis), collapsed_slice_dims=(),
        start_index_map=(axis,), index_vector_dim=1,
        slice_sizes=tuple(size if d == axis else one for d, one in enumerate(sizes)),
    )  # fmt: skip
    order = [d for d in range(rank + 1) if d != axis + 1]
    return found if axis == rank - 1 else hlo.transpose(found, (*order, axis + 1))


# --- strides ---


def as_strided(
    x: Any, shape: Any = None, strides: Any = None, subok: bool = False, writeable: bool = True, *,
    check_bounds: bool | None = None,
) -> TracedArray:  # fmt: skip
    """Of elements inside of the array whose memory it is, checked or not; what has none of them twice can be written to."""
    x = as_traced(x)
    if isinstance(x, DynamicArray):
        raise NotImplementedError("as_strided of an array whose size is known at run time only is not implemented")
    width = x.dtype.itemsize
    sizes = x.shape if shape is None else tuple([as_index(size, "as a size of a shape") for size in shape])
    steps = tuple([step * width for step in x.element_strides]) if strides is None else tuple(strides)
    steps = tuple([as_index(step, "as a stride") for step in steps])
    if len(sizes) != len(steps):
        raise ValueError("shape and strides must have the same length")
    if any(step % width for step in steps):
        raise NotImplementedError("as_strided with strides that are no multiples of the size of an element is not implemented")
    steps, whole = tuple([step // width for step in steps]), x.root
    steps = _over_elements(steps, whole)
    begin = _place_in_memory(x, whole) if 0 not in sizes else 0
    if 0 not in sizes:
        ends = [step * (size - 1) for size, step in zip(sizes, steps)]
        first, last = begin + sum(end for end in ends if end < 0), begin + sum(end for end in ends if end > 0)
        if first < 0 or last >= whole.size:
            raise ValueError(
                f"as_strided: elements from {first} to {last} are asked for, of an array that has {whole.size}; NumPy would "
                "read memory that belongs to others"
            )

    order = _memory_order(whole)

    def read(trace: Trace, base: Instruction) -> Instruction:
        return _strided(_line(base, order), begin, sizes, steps)

    def write(trace: Trace, base: Instruction, value: Instruction) -> Instruction:
        places = _places(begin, sizes, steps)
        line = hlo.scatter(
            _line(base, order), places, value, update_window_dims=(), inserted_window_dims=(0,), unique_indices=True,
            scatter_dims_to_operand_dims=(0,), index_vector_dim=len(sizes), to_apply=second(base.shape.element_type),
        )  # fmt: skip
        return _from_line(line, base.shape.dimensions, order)

    strides = [step * _step_of_vector(whole) for step in steps]
    if not writeable:
        return TracedArray.view_of(whole, sizes, read, None, tuple(strides))
    return TracedArray.view_of(whole, sizes, read, write if _are_distinct(sizes, steps) else _refuse, tuple(strides))


def _step_of_vector(whole: TracedArray) -> int:
    """The distance in memory of two elements of an array of one dimension; 1 of others, which have no gaps."""
    return whole.element_strides[0] if whole.ndim == 1 and whole.size > 1 else 1


def _over_elements(steps: tuple[int, ...], whole: TracedArray) -> tuple[int, ...]:
    """Steps in memory as steps from element to element. Raises where they lead to what lies between these."""
    step = _step_of_vector(whole)
    if any(one % step for one in steps):
        raise NotImplementedError("as_strided of an array with gaps, with strides that lead into these, is not implemented")
    return tuple([one // step for one in steps])


def _are_distinct(sizes: Sequence[int], steps: Sequence[int]) -> bool:
    """Whether no two elements are at one place: each step goes beyond what the smaller ones reach together."""
    reach = 0
    for step, size in sorted((abs(step), size) for step, size in zip(steps, sizes) if size > 1):
        if step <= reach:
            return False
        reach += step * (size - 1)
    return True


def _memory_order(whole: TracedArray) -> list[int]:
    """The dimensions of an array as they lie in memory, the outermost one first. Raises where there are gaps."""
    if whole.ndim < 2:
        return [*range(whole.ndim)]
    order = sorted(range(whole.ndim), key=lambda d: (-whole.element_strides[d], -whole.shape[d]))
    expected = 1
    for d in reversed(order):
        if whole.shape[d] != 1 and whole.element_strides[d] != expected:
            raise NotImplementedError("as_strided of an array with gaps between its elements is not implemented")
        expected *= whole.shape[d]
    return order


def _line(base: Instruction, order: Sequence[int]) -> Instruction:
    """The elements as they lie in memory."""
    turned = base if list(order) == sorted(order) else hlo.transpose(base, tuple(order))
    return hlo.reshape(turned, (base.shape.size,))


def _from_line(line: Instruction, sizes: Sequence[int], order: Sequence[int]) -> Instruction:
    """The array of these sizes whose elements lie so in memory."""
    turned = hlo.reshape(line, tuple([sizes[d] for d in order]))
    return hlo.transpose(turned, tuple([order.index(d) for d in range(len(order))]))


def _place_in_memory(x: TracedArray, whole: TracedArray) -> int:
    """The position of the first element of a view among those of the array that it is a view of."""
    if x is whole and x.unusual_strides is None:
        return 0
    views = [x]
    while views[-1].base is not None:
        views.append(views[-1].base)
    if whole.is_dynamic or len({view.element_type for view in views}) > 1 or not x.size:
        raise NotImplementedError("as_strided of a view as another dtype, or of no elements, is not implemented")
    trace, order = require_trace(x), _memory_order(whole)
    places = _from_line(hlo.iota(hlo.Shape(hlo.S64, (whole.size,)), 0), whole.shape, order)
    for view in reversed(views[:-1]):
        places = view.view_reader(trace, places)
    found = TracedArray.from_instruction(trace, places).known_value
    if found is None:
        raise NotImplementedError("as_strided of a view at a place that the program decides is not implemented")
    return int(np.ravel(found)[0])


def _strided(line: Instruction, begin: int, sizes: Sequence[int], steps: Sequence[int]) -> Instruction:
    if not math.prod(sizes):
        return hlo.full(hlo.Shape(line.shape.element_type, tuple(sizes)), 0)
    return hlo.gather(
        line, _places(begin, sizes, steps), offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,),
        index_vector_dim=len(sizes), slice_sizes=(1,),
    )  # fmt: skip


def _places(begin: int, sizes: Sequence[int], steps: Sequence[int]) -> Instruction:
    places = hlo.full(hlo.Shape(hlo.S64, tuple(sizes)), begin)
    for d, step in enumerate(steps):
        places = hlo.add(places, hlo.multiply(hlo.iota(places.shape, d), step))
    return places
