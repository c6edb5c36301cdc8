"""Functions of lines whose sizes are known at run time only: moved, padded, convolved, interpolated, contracted."""

from __future__ import annotations

from string import ascii_letters
from typing import Any

import numpy as np

from ... import hlo
from ..functions.einsum import arguments_of, labels_of
from ..functions.padding import pairs_of
from ..functions.reduceat import reduced_at
from ..functions.selection import python_bool
from ..recording.array import TracedArray, as_index, require_trace
from ..recording.dynamic_array import DynamicArray, dynamic
from ..recording.function_tables import FUNCTIONS, implements_dynamic
from ..recording.operands import normalize_axis, one_or_several, prepare, require
from .broadcasting import as_array, dimensions_of, fail_if, with_bound
from .creation import arange, ones


def _positions(array: DynamicArray, axis: int, before: int = 0, after: int = 0) -> tuple[TracedArray, Any, dict]:
    """Positions along an axis that is longer by so much, the size of the axis, and the sizes of what is longer."""
    trace = require_trace(array)
    size = array.shape[axis]
    bound = array.bounds.dimensions[axis] + before + after
    positions = TracedArray.from_instruction(trace, hlo.iota(hlo.Shape(hlo.S64, (bound,)), 0), is_scalar=False)
    sizes = array.sizes(trace)
    if axis in sizes:
        sizes[axis] = hlo.add(sizes[axis], hlo.constant(np.int32(before + after)))
    return positions - before, size, sizes


def _taken(array: DynamicArray, positions: TracedArray, axis: int, sizes: dict) -> TracedArray:
    trace = require_trace(array)
    if not array.bounds.dimensions[axis]:
        bounds = (*array.bounds.dimensions[:axis], positions.shape[0], *array.bounds.dimensions[axis + 1 :])
        return dynamic(trace, FUNCTIONS[np.zeros](bounds, array.dtype), sizes)
    clipped = np.clip(positions, 0, array.bounds.dimensions[axis] - 1)
    return dynamic(trace, np.take(array.padded(trace), clipped, axis), sizes)


@implements_dynamic(np.roll)
def roll(a, shift, axis=None):
    if axis is None:
        return roll(np.ravel(a), shift, 0).reshape(a.shape)
    axes, shifts = map(one_or_several, (axis, shift))
    for one, by in zip(axes, shifts * len(axes) if len(shifts) == 1 else shifts, strict=True):
        one = normalize_axis(one, a.ndim)
        positions, size, sizes = _positions(a, one)
        a = _taken(a, (positions - by) % np.maximum(size, 1), one, sizes)
    return a


_PADDED = {
    "edge": lambda at, size: np.clip(at, 0, size - 1),
    "wrap": lambda at, size: at % np.maximum(size, 1),
    "symmetric": lambda at, size: _mirrored(at % np.maximum(2 * size, 1), 2 * size - 1),
    "reflect": lambda at, size: _mirrored(at % np.maximum(2 * (size - 1), 1), 2 * (size - 1)),
}


def _mirrored(at: Any, turn: Any) -> Any:
    return np.minimum(at, turn - at)


def _joined(array: TracedArray, axis: int, widths: tuple, constants: tuple) -> TracedArray:
    """The array between as many constants as the program decides."""
    pieces = []
    for width, constant in zip(widths, constants):
        require(width >= 0, ValueError, "index can't contain negative values")
        shape = tuple([width if d == axis else size for d, size in enumerate(array.shape)])
        pieces.append(FUNCTIONS[np.full](shape, as_array(prepare(constant)).astype(array.dtype), array.dtype))
    return np.concatenate([pieces[0], array, pieces[1]], axis)


@implements_dynamic(np.pad)
def pad(array, pad_width, mode="constant", **kwargs):
    """With constants, by any numbers of elements, or with elements of the array, by numbers that are known."""
    widths = pairs_of(pad_width, array.ndim, "pad_width")
    constants = kwargs.pop("constant_values", 0)
    if mode != "constant":
        widths = [tuple(as_index(one, "as a pad width") for one in pair) for pair in widths]
    if kwargs or mode not in ("constant", *_PADDED):
        options = ", ".join([f"mode={mode!r}", *[f"{name}=" for name in kwargs]])
        raise NotImplementedError(f"np.pad with {options} of an array whose size is known at run time only")
    constants = pairs_of(constants, array.ndim, "constant_values")
    for axis, (before, after) in enumerate(widths):
        if isinstance(before, TracedArray) or isinstance(after, TracedArray):
            array = _joined(array, axis, (before, after), constants[axis])
            continue
        if before < 0 or after < 0:
            raise ValueError("index can't contain negative values")
        if not before and not after:
            continue
        if not isinstance(array, DynamicArray):
            options = {"constant_values": constants} if mode == "constant" else {}
            array = np.pad(array, [(before, after) if d == axis else (0, 0) for d in range(array.ndim)], mode, **options)
            continue
        positions, size, sizes = _positions(array, axis, before, after)
        if mode != "constant":
            message = f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
            require(size > 0, ValueError, message)
            array = _taken(array, _PADDED[mode](positions, size), axis, sizes)
            continue
        inside = ((positions >= 0) & (positions < size)).reshape([-1 if d == axis else 1 for d in range(array.ndim)])
        taken = _taken(array, positions, axis, sizes)
        trace = require_trace(array)
        first, last = (as_array(prepare(constant)).astype(array.dtype) for constant in constants[axis])
        is_one = constants[axis][0] is constants[axis][1]
        value = first if is_one else np.where((positions < 0).reshape(inside.shape), first, last)
        array = dynamic(trace, np.where(inside, taken.padded(trace), value), sizes)
    return array


@implements_dynamic(np.convolve)
def convolve(a, v, mode="full"):
    """Sums behind the sizes have zeros as terms; the middle of them is cut out as the mode says."""
    a, v = (np.atleast_1d(as_array(prepare(one))) for one in (a, v))
    return _slide(a, v, mode)


@implements_dynamic(np.correlate)
def correlate(a, v, mode="valid"):
    a, v = (np.atleast_1d(as_array(prepare(one))) for one in (a, v))
    return _slide(a, (np.conj(v) if v.element_type.is_complex else v)[::-1], mode)


def _slide(a: TracedArray, v: TracedArray, mode: str) -> TracedArray:
    trace = require_trace(a, v)
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    filled = [one.filled(trace, 0) if isinstance(one, DynamicArray) else one for one in (a, v)]
    n, m = a.shape[0], v.shape[0]
    require(n > 0, ValueError, "a cannot be empty")
    require(m > 0, ValueError, "v cannot be empty")
    if 0 in (*filled[0].shape, *filled[1].shape):
        return a[:0]
    size = hlo.convert((n + m - 1).instruction(trace), hlo.S32)
    full = dynamic(trace, FUNCTIONS[np.convolve](*filled), {0: size})
    if mode == "full":
        return full
    longer, shorter = np.maximum(n, m), np.minimum(n, m)
    if mode == "valid":
        return full[shorter - 1 : longer]
    start = (shorter - 1) // 2
    return full[start : start + longer]


@implements_dynamic(np.einsum)
def einsum(*operands, out=None, optimize=False, dtype=None, order="K", casting="safe"):
    """What is summed over has zeros behind its size."""
    subscripts, arrays = arguments_of(operands)
    arrays = [as_array(prepare(one)) for one in arrays]
    trace = require_trace(*arrays)
    inputs, output = labels_of(subscripts, [one.ndim for one in arrays])
    letters = dict(zip(sorted(set("".join(inputs))), ascii_letters))
    inputs, output = ["".join(letters[label] for label in labels) for labels in inputs], "".join(letters[one] for one in output)
    bounds, sizes = {}, {}
    for position, (labels, one) in enumerate(zip(inputs, arrays)):
        single = [d for d, bound in enumerate(dimensions_of(one)) if bound == 1 and _is_static(one, d)]
        if single := [
            d for d in single if any(labels[d] in others for others in (*inputs[:position], *inputs[position + 1 :]))
        ]:
            one = arrays[position] = one[tuple(0 if d in single else slice(None) for d in range(one.ndim))]
            labels = inputs[position] = "".join(label for d, label in enumerate(labels) if d not in single)
        own = one.sizes(trace) if isinstance(one, DynamicArray) else {}
        for d, (label, bound) in enumerate(zip(labels, dimensions_of(one))):
            bounds[label] = max(bounds.get(label, 0), bound)
            if d in own:
                sizes.setdefault(label, own[d])
    for labels, one in zip(inputs, arrays):
        own = one.sizes(trace) if isinstance(one, DynamicArray) else {}
        for d, (label, bound) in enumerate(zip(labels, dimensions_of(one))):
            if label in sizes and own.get(d) is not sizes[label]:
                different = hlo.ne(own.get(d, hlo.constant(np.int32(bound))), sizes[label])
                fail_if(trace, different, f"operands could not be broadcast together: sizes of {label} differ")
    padded = []
    for labels, one in zip(inputs, arrays):
        one_padded = one.filled(trace, 0) if isinstance(one, DynamicArray) else one
        for d, label in enumerate(labels):
            one_padded = with_bound(one_padded, d, one_padded.shape[d], bounds[label])
        padded.append(one_padded)
    found = FUNCTIONS[np.einsum](f"{','.join(inputs)}->{output}", *padded, dtype=dtype, casting=casting)
    return dynamic(trace, found, {d: sizes[label] for d, label in enumerate(output) if label in sizes})


def _is_static(array: TracedArray, dimension: int) -> bool:
    return not isinstance(array, DynamicArray) or not array.bounds.is_dynamic(dimension)


@implements_dynamic(np.array_equal)
def array_equal(a1, a2, equal_nan=False):
    """Whether the sizes and all elements are equal."""
    a1, a2 = as_array(a1), as_array(a2)
    if a1.ndim != a2.ndim:
        return False
    trace = require_trace(a1, a2)
    same_shape: Any = True
    for one, other in zip(a1.shape, a2.shape):
        same_shape = np.logical_and(same_shape, one == other)
    common = tuple(min(pair) for pair in zip(dimensions_of(a1), dimensions_of(a2)))
    first, second = (
        (one.padded(trace) if isinstance(one, DynamicArray) else one)[tuple(slice(0, size) for size in common)]
        for one in (a1, a2)
    )
    equal = first == second
    if equal_nan and first.dtype.kind in "fc":
        equal = equal | (np.isnan(first) & np.isnan(second))
    sizes = a1.sizes(trace) if isinstance(a1, DynamicArray) else a2.sizes(trace)
    return python_bool(np.logical_and(same_shape, np.all(dynamic(trace, equal, sizes))))


@implements_dynamic(np.ndarray.fill)
def fill(a, value):
    a[...] = value


@implements_dynamic(np.ufunc.outer)
def outer_of_ufunc(ufunc, a, b, /, **arguments):
    a, b = as_array(prepare(a)), as_array(prepare(b))
    return ufunc(a[(..., *[None] * b.ndim)], b, **arguments)


@implements_dynamic(np.ufunc.accumulate)
def accumulate(ufunc, array, axis=0, dtype=None, out=None):
    array = as_array(array)
    trace = require_trace(array)
    padded, sizes = (array.padded(trace), array.sizes(trace)) if isinstance(array, DynamicArray) else (array, {})
    found = ufunc.accumulate(padded, axis, dtype)
    return dynamic(trace, found, sizes)


@implements_dynamic(np.delete)
def delete(arr, obj, axis=None):
    """What a mask says, or one position, or those in an array."""
    arr = as_array(arr)
    if axis is None:
        arr, axis = np.ravel(arr), 0
    axis = normalize_axis(axis, arr.ndim)
    count = arr.shape[axis]
    if isinstance(obj, slice):
        obj = arange(count)[obj]
    obj = as_array(prepare(obj))
    if obj.dtype == bool:
        message = "boolean array argument obj to delete must be one dimensional and match the axis length"
        require(obj.ndim == 1, ValueError, message)
        require(obj.shape[0] == count, ValueError, message)
        kept = ~obj
    else:
        kept = ones(count, bool)
        kept[obj] = False
    return arr[(slice(None),) * axis + (kept,)]


@implements_dynamic(np.ufunc.reduceat)
def reduceat(ufunc, array, indices, axis=0, dtype=None, out=None):
    array, indices = as_array(array), as_array(prepare(indices)).astype(np.int64)
    if not array.ndim:
        raise TypeError("cannot reduceat on a scalar")
    axis, trace = normalize_axis(axis, array.ndim), require_trace(array, indices)
    slices = np.moveaxis(array, axis, 0)
    sizes = slices.sizes(trace) if isinstance(slices, DynamicArray) else {}
    size = slices.shape[0]
    beyond = np.any((indices < 0) | (indices >= size))
    fail_if(trace, beyond.instruction(trace), f"index out-of-bounds in {ufunc.__name__}.reduceat", IndexError)
    sizes.pop(0, None)
    if isinstance(indices, DynamicArray):
        sizes[0] = indices.sizes(trace)[0]
        indices = indices.filled(trace, size.instruction(trace) if isinstance(size, TracedArray) else size)
    padded = slices.padded(trace) if isinstance(slices, DynamicArray) else slices
    found = reduced_at(ufunc, padded, indices, size, dtype)
    return np.moveaxis(dynamic(trace, found, sizes) if sizes else found, 0, axis)
