"""Functions that read or write elements at given indices: take, put, choose and their kin.

Indices follow the ``mode`` of NumPy: out of range they raise IndexError ("raise", through the trace's error flag where they
are known at run time only), count modulo the size ("wrap"), or are moved to the nearest element ("clip").
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import hlo
from ..indexing.index_arrays import (
    any_of,
    first_of,
    in_range,
    known_contents,
    read_arrays,
    second,
    selection_along,
    taken,
    update_selected,
    widened,
    write_arrays,
)
from ..recording import promotion
from ..recording.array import TracedArray, require_trace
from ..recording.function_tables import DYNAMIC, FUNCTIONS, implements
from ..recording.memory_order import in_order_of, laid_out
from ..recording.operands import (
    as_elements,
    as_safe_elements,
    as_strong,
    as_traced,
    broadcast,
    class_of,
    has_traced,
    instruction_of,
    normalize_axis,
    one_or_several,
    require,
    require_no_bool,
    require_out,
    result,
    store,
)
from ..recording.trace import Trace
from .scans import scan_instruction
from .selection import choose_between

Instruction = hlo.Instruction


_CLIP_MODES = ("clip", "wrap", "raise")


def clip_mode(mode: Any) -> str:
    """What becomes of indices out of range; NumPy takes None and numbers, too."""
    if isinstance(mode, str) and mode not in _CLIP_MODES:
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    if isinstance(mode, (int, np.integer)) and not isinstance(mode, bool):
        if not 0 <= mode < len(_CLIP_MODES):
            raise ValueError("integer clipmode must be RAISE, WRAP, or CLIP from 'numpy._core.multiarray'")
        return _CLIP_MODES[mode]
    if mode is not None and not isinstance(mode, str):
        raise TypeError("clipmode not understood")
    return mode or "raise"


def _indices(trace: Trace, indices: Any, size: int, axis: int, mode: str) -> Instruction:
    """Indices in [0, size). Raises TypeError where they are no integers."""
    known = not has_traced(indices) and not isinstance(indices, np.ndarray)
    if known:
        indices = np.asarray(indices)
        indices = indices.astype(np.int64) if indices.size == 0 else indices
    else:
        indices = as_traced(indices)
    promotion.require_cast(indices.dtype, np.dtype(np.int64), "safe")
    if indices.dtype == bool:
        indices = indices.astype(np.int64)
    if size == 0 and indices.size:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    mode = clip_mode(mode)
    if mode == "raise":
        return in_range(trace, indices, size, axis)
    instruction = hlo.constant(indices) if known else indices.instruction(trace)
    return _moved_into_range(trace, instruction, size, mode)


def _moved_into_range(trace: Trace, index: Instruction, size: int, mode: str) -> Instruction:
    index = widened(index, size)
    element_type = index.shape.element_type
    if mode == "clip":
        low, high = hlo.constant(0, element_type), hlo.constant(max(size - 1, 0), element_type)
        return hlo.clamp(low, index, high)
    array = TracedArray.from_instruction(trace, index)
    return np.remainder(array, np.asarray(size or 1, element_type.dtype)[()]).instruction(trace)


@implements(np.take)
def take(a, indices, axis=None, out=None, mode="raise"):
    """A traced index out of range raises IndexError when the program runs, unless ``mode`` moves it into range."""
    if isinstance(indices, TracedArray) and indices.is_dynamic:
        return DYNAMIC[np.take](a, indices, axis, out, mode)
    require_no_bool(axis)
    a = as_strong(a)
    trace = require_trace(a)
    if axis is None or a.ndim == 0:
        a, axis = a.reshape(-1), 0
    axis = normalize_axis(axis, a.ndim)
    found = _indices(trace, indices, a.shape[axis], axis, mode)
    return store(out, result(trace, taken(trace, selection_along(a, axis, found))), stands_for_it=True)


@implements(np.put)
def put(a, ind, v, mode="raise"):
    """Of several values for one element the last one counts."""
    if not isinstance(a, TracedArray):
        raise TypeError(f"argument 1 must be a traced array here, not {type(a).__name__}")
    trace = require_trace(a)
    flat = TracedArray.from_instruction(trace, hlo.reshape(a.instruction(trace), (a.size,)), is_scalar=False)
    index = _indices(trace, ind, a.size, 0, mode)
    index = hlo.reshape(index, (index.shape.size,))
    v = as_elements(a.element_type, v)
    values = instruction_of(trace, v if class_of(v) is int else as_strong(v), a.element_type)
    values = hlo.reshape(values, (values.shape.size,))
    count, given = index.shape.size, values.shape.size
    if count == 0 or given == 0:
        return
    if given != count:
        repeated = hlo.concatenate(*[values] * -(-count // given), dimensions=(0,)) if given < count else values
        values = hlo.emit("slice", repeated, slice=[(0, count, 1)])
    update_selected(trace, selection_along(flat, 0, index), values, second(a.element_type))
    a.set_value(hlo.reshape(flat.instruction(trace), a.shape))


# --- along an axis ---


def _along_axis(arr: Any, indices: Any, axis: Any) -> tuple[TracedArray, Any, int]:
    """The array, its indices and the axis, checked as NumPy does."""
    arr = as_strong(arr)
    indices = as_traced(indices)
    if axis is None:
        if indices.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        axis = 0
    axis = normalize_axis(axis, indices.ndim)
    if indices.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    return arr, indices, axis


def _require_same_rank(arr: TracedArray, indices: TracedArray) -> None:
    if arr.ndim != indices.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")


def _stretched(trace: Trace, arr: TracedArray, indices: TracedArray, axis: int) -> Instruction | None:
    """The indices, checked, with the array's sizes in all dimensions but the axis; None where they do not stretch to them."""
    shape = tuple(size if d == axis else arr.shape[d] for d, size in enumerate(indices.shape))
    if any(size not in (1, wanted) for size, wanted in zip(indices.shape, shape)):
        return None
    return broadcast(in_range(trace, indices, arr.shape[axis], axis), shape)


def _full_index(arr: TracedArray, indices: TracedArray, axis: int) -> tuple:
    """The index arrays that mean the same: the indices along the axis, and each other dimension's own numbers."""
    ranges = (np.arange(size).reshape([-1 if d == e else 1 for e in range(arr.ndim)]) for d, size in enumerate(arr.shape))
    return tuple(indices if d == axis else numbers for d, numbers in enumerate(ranges))


@implements(np.take_along_axis)
def take_along_axis(arr, indices, axis=-1):
    arr, indices, axis_number = _along_axis(arr, indices, axis)
    arr = arr.reshape(-1) if axis is None else arr
    _require_same_rank(arr, indices)
    trace = require_trace(arr)
    stretched = _stretched(trace, arr, indices, axis_number)
    if stretched is None:
        return read_arrays(arr, _full_index(arr, indices, axis_number))
    operand = arr.instruction(trace)
    if 0 in stretched.shape.dimensions:
        return result(trace, broadcast(hlo.constant(0, arr.element_type), stretched.shape.dimensions))
    others = [d for d in range(arr.ndim) if d != axis_number]
    taken = hlo.gather(
        operand, stretched, offset_dims=(), collapsed_slice_dims=(axis_number,), start_index_map=(axis_number,),
        operand_batching_dims=others, start_indices_batching_dims=others, index_vector_dim=arr.ndim,
        slice_sizes=[1] * arr.ndim,
    )  # fmt: skip
    return laid_out(result(trace, taken), (indices,))


@implements(np.put_along_axis)
def put_along_axis(arr, indices, values, axis):
    if not isinstance(arr, TracedArray):
        raise TypeError(f"argument arr must be a traced array here, not {type(arr).__name__}")
    _, indices, axis_number = _along_axis(arr, indices, axis)
    if axis is None:
        put(arr, indices, broadcast_values(values, indices.shape))
        return
    _require_same_rank(arr, indices)
    trace, values = require_trace(arr), as_elements(arr.element_type, values)
    stretched = _stretched(trace, arr, indices, axis_number)
    if stretched is None:
        write_arrays(arr, _full_index(arr, indices, axis_number), values)
        return
    shape = stretched.shape.dimensions
    updates = instruction_of(trace, broadcast_values(values, shape), arr.element_type)
    if 0 in shape:
        return
    others = [d for d in range(arr.ndim) if d != axis_number]
    arr.set_value(hlo.scatter(
        arr.instruction(trace), stretched, updates, update_window_dims=(), inserted_window_dims=(axis_number,),
        scatter_dims_to_operand_dims=(axis_number,), input_batching_dims=others, scatter_indices_batching_dims=others,
        index_vector_dim=arr.ndim, to_apply=second(arr.element_type),
    ))  # fmt: skip


def broadcast_values(values: Any, shape: tuple[int, ...]) -> TracedArray:
    """The values in the shape of an indexing result. Raises ValueError, as NumPy words it."""
    values = as_strong(values)
    try:
        return np.broadcast_to(values, shape)
    except ValueError:
        texts = [str(one).replace(" ", "") for one in (values.shape, shape)]
        raise ValueError(
            f"shape mismatch: value array of shape {texts[0]} could not be broadcast to indexing result of shape {texts[1]}"
        ) from None


# --- choosing ---


@implements(np.choose)
def choose(a, choices, out=None, mode="raise"):
    """All choices are computed; ``mode='raise'`` raises ValueError when the program runs."""
    a = as_strong(a)
    trace = require_trace(a)
    choices = list(choices)
    if not choices:
        raise ValueError("Need at least one array to choose from.")
    promotion.require_cast(a.dtype, np.dtype(np.int64), "safe")
    index = a.instruction(trace) if a.dtype != bool else hlo.convert(a.instruction(trace), hlo.S32)
    mode = clip_mode(mode)
    if mode == "raise":
        index = widened(index, len(choices))
        array = TracedArray.from_instruction(trace, index)
        outside = (array < 0) | (array >= len(choices))
        trace.add_error_flag(any_of(outside.instruction(trace)), ValueError, "invalid entry in choice array")
    else:
        index = _moved_into_range(trace, index, len(choices), mode)
    array = TracedArray.from_instruction(trace, index)
    choices = [as_traced(choice) if isinstance(choice, (list, tuple)) else choice for choice in choices]
    element_type = hlo.element_type_of(promotion.result_dtype(map(class_of, choices)))
    shape = np.broadcast_shapes(array.shape, *(np.shape(c) if not isinstance(c, TracedArray) else c.shape for c in choices))
    chosen = np.broadcast_to(as_traced(choices[0], element_type.dtype), shape)
    for number, choice in enumerate(choices[1:], 1):
        chosen = choose_between(array == number, choice, chosen, element_type)
    chosen = chosen + 0 if chosen.base is not None and len(choices) == 1 else chosen
    return store(out, chosen) if shape or out is not None else chosen[()]


@implements(np.compress)
def compress(condition, a, axis=None, out=None):
    """Where the condition is traced the size of the result is known at run time only."""
    require_no_bool(axis)
    a = as_strong(a)
    if has_traced(condition):
        return DYNAMIC[np.compress](condition, a, axis, out)
    if out is not None:
        promotion.require_cast(require_out(out).dtype, a.dtype, "safe")
    contents = known_contents(require_trace(a), condition)
    if contents.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    return take(a, np.flatnonzero(contents).tolist(), axis, out)


@implements(np.extract)
def extract(condition, arr):
    """Where the condition is traced the size of the result is known at run time only."""
    arr = as_strong(arr)
    if has_traced(condition):
        return DYNAMIC[np.extract](condition, arr)
    return take(arr, np.flatnonzero(known_contents(require_trace(arr), condition)).tolist())


@implements(np.place)
def place(arr, mask, vals):
    """The mask may be traced."""
    if not isinstance(arr, TracedArray):
        raise TypeError(f"argument 1 must be numpy.ndarray, not {type(arr).__name__}")
    mask = as_traced(mask, np.dtype(bool))
    vals = as_strong(as_safe_elements(arr.element_type, vals)).reshape(-1)
    if mask.size != arr.size:
        raise ValueError("place: mask and data must be the same size")
    if not arr.size:
        return
    if not vals.size:
        require(~np.any(mask), ValueError, "Cannot insert from an empty array!")
        return
    trace = require_trace(arr)
    counts = scan_instruction(np.add, hlo.convert(hlo.reshape(mask.instruction(trace), (mask.size,)), hlo.S64), 0)
    numbers = TracedArray.from_instruction(trace, counts) - 1
    dealt = take(vals, numbers, mode="wrap").reshape(arr.shape)
    arr[...] = choose_between(mask.reshape(arr.shape), dealt, arr, arr.element_type)


# --- other shapes ---


def _known_indices(trace: Trace, obj: Any) -> np.ndarray:
    """The contents of an index; an empty list is one of integers."""
    contents = known_contents(trace, obj)
    return contents if contents.size or isinstance(obj, (np.ndarray, TracedArray)) else contents.astype(np.int64)


@implements(np.delete)
def delete(arr, obj, axis=None):
    """Where a mask of what is deleted, or several places, are traced the size of the result is known at run time only."""
    arr = as_strong(arr)
    if axis is None:
        arr, axis = arr.reshape(-1), 0
    axis = normalize_axis(axis, arr.ndim)
    if type(obj) in (tuple, list) and len(obj) == 1 and isinstance(obj[0], TracedArray) and obj[0].dtype != bool:
        obj = obj[0]  # what np.where returns
    if isinstance(obj, TracedArray) and not (obj.is_dynamic or obj.ndim) and obj.known_value is None:
        kept = np.arange(max(arr.shape[axis] - 1, 0))
        return in_order_of(take(arr, kept + (kept >= _place(obj, arr.shape[axis], axis, arr.shape[axis] - 1)), axis), arr)
    if isinstance(obj, TracedArray) and obj.known_value is None:
        return DYNAMIC[np.delete](arr, obj, axis)
    if not isinstance(obj, slice):
        obj = _known_indices(require_trace(arr), obj)
        obj = int(obj) if obj.ndim == 0 and obj.dtype.kind in "iu" else obj
    return in_order_of(_rows_in_order([arr], np.delete(np.arange(arr.shape[axis]), obj), axis), arr)


# More runs are gathered, as more code would be longer than what it moves.
_MOST_RUNS = 16


def _rows_in_order(parts: list[TracedArray], order: np.ndarray, axis: int) -> TracedArray:
    """The rows of these arrays, which are counted one array behind the other, in this order: few runs as pieces."""
    starts = np.cumsum([0, *(part.shape[axis] for part in parts)])
    owners = np.searchsorted(starts, order, side="right") - 1
    breaks = np.flatnonzero((np.diff(order) != 1) | (np.diff(owners) != 0)) + 1
    if not order.size or len(breaks) >= _MOST_RUNS:
        return take(np.concatenate(parts, axis), order.tolist(), axis)
    pieces = []
    for run, owner in zip(np.split(order, breaks), owners[[0, *breaks]].tolist()):
        begin = int(run[0] - starts[owner])
        pieces.append(parts[owner][(slice(None),) * axis + (slice(begin, begin + len(run)),)])
    return np.concatenate(pieces, axis)


def _place(index: TracedArray, size: int, axis: int, last: int, shown: str = "{}") -> TracedArray:
    """A position from the front, at most the last one; IndexError is raised where there is none."""
    message = f"index {shown} is out of bounds for axis {axis} with size {size}"
    require((index >= -size) & (index <= last), IndexError, message, index)
    return np.where(index < 0, index + size, index)[()]


def _inserted_at_few(arr: TracedArray, obj: TracedArray, values: TracedArray, axis: int) -> TracedArray:
    """`numpy.insert` at places that are traced: between them the array is moved by as many places as lie in front."""
    trace, size, lead = require_trace(arr, obj), arr.shape[axis], (slice(None),) * axis
    places = obj.astype(np.int64)
    if obj.size == 1:
        places = _place(places[0], size, axis, size, "[{}]")
    else:
        require(np.all(places >= -size), IndexError, f"an index is out of bounds for axis {axis} with size {size}")
        places = np.where(places < 0, places + size, places)
    values = values.reshape((1,) * max(arr.ndim - values.ndim, 0) + values.shape)
    count = values.shape[axis] if obj.size == 1 else obj.size
    places = np.broadcast_to(places, (count,))
    values = np.broadcast_to(values.astype(arr.dtype), (*arr.shape[:axis], count, *arr.shape[axis + 1 :]))
    order = np.argsort(places, kind="stable")
    new = result(trace, in_range(trace, places + np.argsort(order), size + count, axis))[order]
    if not size:
        return values[(*lead, order)]
    positions = FUNCTIONS[np.arange](size + count)

    def near_an_end(begin: int, end: int) -> TracedArray:
        in_front = np.sum(np.greater(positions[begin:end, None], new), axis=1)
        return take(arr, positions[begin:end] - in_front, axis, mode="clip")

    begin, end = min(count, size), size
    middle = arr[(*lead, slice(begin, end))]
    for number in range(count) if begin < end else ():
        behind = np.greater(positions[begin:end], new[number]).reshape(-1, *(1,) * (arr.ndim - axis - 1))
        middle = np.where(behind, arr[(*lead, slice(begin - number - 1, end - number - 1))], middle)
    found = np.concatenate((near_an_end(0, begin), middle, near_an_end(end, size + count)), axis)
    found[(*lead, new)] = values[(*lead, order)]
    return found


@implements(np.insert)
def insert(arr, obj, values, axis=None):
    """The number of places must be known while tracing."""
    arr = as_strong(arr)
    values = as_strong(as_elements(arr.element_type, values))
    if axis is None:
        arr, axis = arr.reshape(-1), 0
    axis = normalize_axis(axis, arr.ndim)
    size = arr.shape[axis]
    if isinstance(obj, TracedArray) and not obj.ndim and not values.ndim and obj.known_value is None:
        positions, place = np.arange(size + 1), _place(obj, size, axis, size)
        ends = np.full(arr.shape[:axis] + (1,) + arr.shape[axis + 1 :], 0, arr.dtype) + values.astype(arr.dtype)
        order = np.where(positions == place, size, positions - (positions > place))
        return in_order_of(take(np.concatenate([arr, ends], axis), order, axis), arr)
    if isinstance(obj, TracedArray) and obj.known_value is None:
        if not (obj.is_dynamic or values.is_dynamic) and obj.ndim == 1 and obj.dtype != bool and 0 < obj.size < _MOST_RUNS:
            return in_order_of(_inserted_at_few(arr, obj, values, axis), arr)
        return DYNAMIC[np.insert](arr, obj, values, axis)
    single = False
    if not isinstance(obj, slice):
        obj = _known_indices(require_trace(arr), obj)
        single = obj.ndim == 0
        count = 1 if obj.size == 1 else len(np.flatnonzero(obj)) if obj.dtype == bool else obj.size
    else:
        count = len(range(*obj.indices(size)))
    if values.ndim < arr.ndim:
        values = values.reshape((1,) * (arr.ndim - values.ndim) + values.shape)
    if single:
        values = np.moveaxis(values, 0, axis)
    if count == 1:
        count = values.shape[axis]
    shape = tuple(count if d == axis else n for d, n in enumerate(arr.shape))
    values = np.broadcast_to(values.astype(arr.dtype), shape)
    order = np.insert(np.arange(size), obj if isinstance(obj, slice) or obj.ndim else int(obj), np.arange(size, size + count))
    return in_order_of(_rows_in_order([arr, values], order, axis), arr)


_MOST_ELEMENTS = np.iinfo(np.intp).max


@implements(np.unravel_index)
def unravel_index(indices, shape, order="C"):
    sizes = one_or_several(shape)
    message = "dimensions are too large; arrays and shapes with a total size greater than 'intp' are not supported."
    size = _whole_size(sizes, message)
    indices = _positions(indices)
    if not sizes and indices.ndim:
        raise ValueError("multiple indices are not supported for 0d arrays")
    if 0 in indices.shape:
        return (indices,) * len(sizes)
    trace = require_trace(indices)
    outside = (indices < 0) | (indices >= size)
    shown = "known at run time" if isinstance(size, TracedArray) else size
    message = f"index {{}} is out of bounds for array with size {shown}"
    found, value = first_of(indices.instruction(trace), outside.instruction(trace))
    trace.add_error_flag(found, ValueError, message, value)
    parts: list = [None] * len(sizes)
    dimensions = range(len(sizes)) if order == "F" else range(len(sizes) - 1, -1, -1)
    for dimension in dimensions:
        size = sizes[dimension]
        size = np.maximum(size, 1) if isinstance(size, TracedArray) else max(size, 1)
        parts[dimension] = indices % size
        indices = indices // size
    return tuple(parts)


@implements(np.ravel_multi_index)
def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    sizes = one_or_several(dims)
    size = _whole_size(sizes, "invalid dims: array size defined by dims is larger than the maximum possible size.")
    modes = (mode,) * len(sizes) if isinstance(mode, str) else tuple(mode)
    parts = list(multi_index)
    if len(parts) != len(sizes):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(sizes)}")
    parts = list(map(_positions, parts))
    trace = require_trace(*parts)
    if 0 not in np.broadcast_shapes(*[part.shape for part in parts]):
        require(size > 0, ValueError, "cannot unravel if shape has zero entries (is empty).")
    total: Any = 0
    for position in range(len(sizes)) if order == "C" else range(len(sizes) - 1, -1, -1):
        part, size = parts[position], sizes[position]
        if modes[position] == "raise":
            outside = (part < 0) | (part >= size)
            trace.add_error_flag(any_of(outside.instruction(trace)), ValueError, "invalid entry in coordinates array")
        else:
            part = result(trace, _moved_into_range(trace, part.instruction(trace), size, modes[position]))
        total = total * size + part
    return total


def _positions(indices: Any) -> TracedArray:
    """Indices as int64. Raises TypeError where they are no integers."""
    found = as_strong(indices)
    if found.dtype.kind not in "iu":
        if isinstance(indices, (list, tuple)) and 0 in found.shape:
            raise TypeError(
                "indices must be integral: the provided empty sequence was inferred as float. "
                "Wrap it with 'np.array(indices, dtype=np.intp)'"
            )
        raise TypeError("only int indices permitted")
    return found.astype(np.int64)


def _whole_size(sizes: tuple, message: str) -> Any:
    """The product of sizes. Raises ValueError where an array of them would have too many elements, perhaps when it runs."""
    whole: Any = 1
    for size in sizes:
        require((size == 0) | (whole <= _MOST_ELEMENTS // np.maximum(size, 1)), ValueError, message)
        whole = whole * size
    return whole
