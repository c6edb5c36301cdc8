"""Functions that rearrange dimensions. Where NumPy returns a view, so do these: writing to the result changes the array."""

from __future__ import annotations

import operator
from math import prod
from typing import Any

import numpy as np

from ... import hlo
from ...hlo.shape import row_major_strides
from ..indexing.basic import read_basic
from ..recording.array import TracedArray, as_index, require_trace
from ..recording.function_tables import DYNAMIC, implements
from ..recording.memory_order import axes_in_memory, is_column_major_alone, is_contiguous, laid_out, order_named
from ..recording.operands import (
    as_single_size,
    as_size,
    as_traced,
    broadcast,
    broadcast_shapes,
    has_traced,
    normalize_axes,
    normalize_axis,
    one_or_several,
    require_no_bool,
    result,
    settled,
    shape_argument,
    zero_dimensional,
)

_NO_VALUE = np._NoValue


def reshape_strides(shape: tuple[int, ...], strides: tuple[int, ...], new_shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The strides with which the same memory has the new shape, None where NumPy has to copy.

    >>> reshape_strides((2, 3), (3, 1), (6,)), reshape_strides((3, 2), (1, 3), (6,)), reshape_strides((4, 6), (6, 1), (4, 2, 3))
    ((1,), None, (6, 3, 1))
    """
    if 0 in shape:
        return row_major_strides(new_shape)
    old = [(size, step) for size, step in zip(shape, strides) if size != 1]
    runs: list[list[int]] = []  # dimensions that can be walked as one: number of elements, smallest step
    for size, step in old:
        if runs and runs[-1][1] == size * step:
            runs[-1] = [runs[-1][0] * size, step]
        else:
            runs.append([size, step])
    result: list[int] = [0] * len(new_shape)
    dimension = len(new_shape) - 1
    for count, step in reversed(runs):
        while count > 1:
            if dimension < 0:
                return None
            size = new_shape[dimension]
            if count % size:
                return None
            result[dimension] = step
            step, count, dimension = step * size, count // size, dimension - 1
    for rest in range(dimension + 1):
        result[rest] = result[rest + 1] * new_shape[rest + 1] if rest + 1 < len(new_shape) else 1
    return tuple(result)


def _sizes(shape: Any, count: int) -> tuple[int, ...]:
    """A shape argument with its -1 resolved. Raises ValueError as NumPy does."""
    if isinstance(shape, TracedArray) or not isinstance(shape, (tuple, list, np.ndarray)):
        shape = (as_single_size(shape),)
    sizes = list(map(as_size, shape))
    unknown = [position for position, size in enumerate(sizes) if size < 0]
    if len(unknown) > 1:
        raise ValueError("can only specify one unknown dimension")
    if unknown:
        known = prod(size for size in sizes if size >= 0)
        sizes[unknown[0]] = count // known if known and count % known == 0 else -1
    if prod(sizes) != count or -1 in sizes:
        listed = str(tuple(operator.index(size) for size in shape)).replace(" ", "").replace(",)", ",)")
        raise ValueError(f"cannot reshape array of size {count} into shape {listed}")
    return tuple(sizes)


def _listed(numbers: Any) -> Any:
    """Sizes or axes, one by one where they are several; those that do not depend on the call as Python's integers."""
    if isinstance(numbers, (tuple, list)) or isinstance(numbers, TracedArray) and numbers.ndim == 1:
        return tuple([settled(one, "as a size of a shape") for one in numbers])
    return settled(numbers, "as a size of a shape")


def reshaped(a: TracedArray, shape: tuple[int, ...], copy: bool | None = None) -> TracedArray:
    """A view of the array in another shape, a copy where NumPy makes one."""
    strides = reshape_strides(a.shape, a.element_strides, shape)
    if copy is False and strides is None:
        raise ValueError("Unable to avoid creating a copy while reshaping.")
    if strides is None or copy:
        trace = require_trace(a)
        return TracedArray.from_instruction(trace, hlo.reshape(a.instruction(trace), shape), is_scalar=False)
    old = a.shape
    return TracedArray.view_of(
        a,
        shape,
        lambda trace, base: hlo.reshape(base, shape),
        lambda trace, base, value: hlo.reshape(value, old),
        strides,
    )


@implements(np.reshape)
def reshape(a, /, shape=None, order="C", *, newshape=None, copy=None):
    """A view where NumPy makes one, else a copy."""
    a, shape = as_traced(a), _listed(newshape if shape is None else shape)
    if has_traced(shape):
        return DYNAMIC[np.reshape](a, shape, order=order, copy=copy)
    sizes = _sizes(shape, a.size)
    order = order_named(order, "C")
    if order == "K":
        raise ValueError("order 'K' is not permitted for reshaping")
    order = _order(a, order)
    if order == "F":
        backwards = permuted(reshaped(permuted(a, range(a.ndim)[::-1]), sizes[::-1], copy), range(len(sizes))[::-1])
        return backwards
    return reshaped(a, sizes, copy)


def _order(a: TracedArray, order: str) -> str:
    if order in ("C", "F"):
        return order
    return "F" if is_column_major_alone(a) else "C"


@implements(np.ravel)
def ravel(a, order="C"):
    """A view where NumPy makes one, else a copy."""
    a, order = as_traced(a), order_named(order, "C")
    if order == "K":
        a, order = permuted(a, axes_in_memory(a)), "C"
    order = _order(a, order)
    # Unlike reshape: every other element of a vector is a view in no shape, since the result is contiguous.
    return reshape(a, (-1,) if a.size else (0,), order, copy=None if is_contiguous(a, order) else True)


def permuted(a: TracedArray, order: Any) -> TracedArray:
    """A view with the dimensions in this order; the array itself, as a view, where it is theirs already."""
    order = tuple(order)
    inverse = tuple(sorted(range(len(order)), key=order.__getitem__))
    same = order == inverse == tuple(range(len(order)))

    def read(trace, base):
        return base if same else hlo.transpose(base, dimensions=order)

    def write(trace, base, value):
        return value if same else hlo.transpose(value, dimensions=inverse)

    steps = a.element_strides
    strides = a.unusual_strides if same else tuple(steps[axis] for axis in order)
    return TracedArray.view_of(a, tuple(a.shape[axis] for axis in order), read, write, strides)


def _as_array(a: Any) -> TracedArray:
    """The value; an array of a number of Python's."""
    a = as_traced(a)
    return zero_dimensional(a) if a.weak_type else a


@implements(np.transpose, np.permute_dims)
def transpose(a, axes=None):
    a = _as_array(a)
    if axes is None:
        return permuted(a, range(a.ndim)[::-1])
    axes = _listed(axes)
    axes = axes if isinstance(axes, (tuple, list)) else (axes,)
    require_no_bool(axes)
    if len(axes) != a.ndim:
        raise ValueError("axes don't match array")
    order = tuple(normalize_axis(axis, a.ndim) for axis in axes)
    if len(set(order)) < len(order):
        raise ValueError("repeated axis in transpose")
    return permuted(a, order)


@implements(np.matrix_transpose, np.linalg.matrix_transpose)
def matrix_transpose(x, /):
    x = as_traced(x)
    if x.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return swapaxes(x, -1, -2)


@implements(np.swapaxes)
def swapaxes(a, axis1, axis2):
    a = as_traced(a)
    first, second = normalize_axis(axis1, a.ndim, "axis1"), normalize_axis(axis2, a.ndim, "axis2")
    order = list(range(a.ndim))
    order[first], order[second] = second, first
    return permuted(a, order)


@implements(np.moveaxis)
def moveaxis(a, source, destination):
    a = _as_array(a)
    sources = _axis_list(source, a.ndim, "source")
    destinations = _axis_list(destination, a.ndim, "destination")
    if len(sources) != len(destinations):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [axis for axis in range(a.ndim) if axis not in sources]
    for target, origin in sorted(zip(destinations, sources)):
        order.insert(target, origin)
    return permuted(a, order)


def _axis_list(axis: Any, rank: int, name: str) -> tuple[int, ...]:
    found = tuple(normalize_axis(one, rank, name) for one in one_or_several(axis))
    if len(set(found)) < len(found):
        raise ValueError(f"repeated axis in `{name}` argument")
    return found


@implements(np.rollaxis)
def rollaxis(a, axis, start=0):
    a = as_traced(a)
    axis = normalize_axis(axis, a.ndim)
    start = start + a.ndim if start < 0 else start
    if not 0 <= start <= a.ndim:
        raise np.exceptions.AxisError(f"'start' arg requires {-a.ndim} <= start < {a.ndim + 1}, but {start} was passed in")
    order = list(range(a.ndim))
    order.remove(axis)
    order.insert(start - (axis < start), axis)
    return permuted(a, order)


@implements(np.expand_dims)
def expand_dims(a, axis):
    a = as_traced(a)
    axes = one_or_several(axis)
    rank = a.ndim + len(axes)
    new = normalize_axes(axes, rank)
    if len(set(new)) < len(new):
        raise ValueError("repeated axis")
    sizes = iter(a.shape)
    return reshaped(a, tuple(1 if dimension in new else next(sizes) for dimension in range(rank)))


@implements(np.squeeze)
def squeeze(a, axis=None):
    a = _as_array(a)
    require_no_bool(axis)
    if not a.ndim and axis in (0, -1):  # which NumPy takes for an axis of a number
        return a
    if axis is None:
        dropped = [dimension for dimension, size in enumerate(a.shape) if size == 1]
    else:
        dropped = list(normalize_axes(axis, a.ndim))
        if any(a.shape[dimension] != 1 for dimension in dropped):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    if not dropped:
        return a
    return reshaped(a, tuple(size for dimension, size in enumerate(a.shape) if dimension not in dropped))


@implements(np.broadcast_to)
def broadcast_to(array, shape, subok=False):
    array = as_traced(array)
    if has_traced(shape):
        return DYNAMIC[np.broadcast_to](array, shape)
    shape = shape_argument(shape)
    fits = len(shape) >= array.ndim and broadcast_shapes_or_none(array.shape, shape) == shape
    if not fits:
        raise ValueError(
            f"operands could not be broadcast together with remapped shapes [original->remapped]: {array.shape}  and requested "
            f"shape {shape}"
        )
    array = zero_dimensional(array)
    added = len(shape) - array.ndim
    steps = array.element_strides
    strides = (0,) * added + tuple(
        0 if size == 1 and size != shape[added + dimension] else steps[dimension] for dimension, size in enumerate(array.shape)
    )
    return TracedArray.view_of(array, shape, lambda trace, base: broadcast(base, shape), None, strides)


def broadcast_shapes_or_none(*shapes: tuple[int, ...]) -> tuple[int, ...] | None:
    try:
        return broadcast_shapes(*shapes)
    except ValueError:
        return None


@implements(np.broadcast_arrays)
def broadcast_arrays(*args, subok=False):
    arrays = [as_traced(one) for one in args]
    shape = broadcast_shapes(*(one.shape for one in arrays))
    return tuple(one if one.shape == shape and not one.is_scalar else broadcast_to(one, shape) for one in arrays)


def _at_least(rank: int, place: Any):
    def implementation(*arys):
        found = []
        for one in arys:
            array = as_traced(one)
            found.append(array if array.ndim >= rank else reshaped(array, place(array.shape)))
        return found[0] if len(found) == 1 else tuple(found)

    return implementation


implements(np.atleast_1d)(_at_least(1, lambda shape: (1,)))
implements(np.atleast_2d)(_at_least(2, lambda shape: (1, *(shape or (1,)))))
implements(np.atleast_3d)(_at_least(3, lambda shape: {0: (1, 1, 1), 1: (1, *shape, 1), 2: (*shape, 1)}[len(shape)]))


# --- reversal, rotation ---


@implements(np.flip)
def flip(m, axis=None):
    m = as_traced(m)
    axes = normalize_axes(axis, m.ndim)
    if not m.ndim:
        return result(require_trace(m), m.instruction(require_trace(m)))
    return read_basic(
        m, tuple(slice(None, None, -1) if dimension in axes else slice(None) for dimension in range(m.ndim)) + (...,)
    )


@implements(np.fliplr)
def fliplr(m):
    m = as_traced(m)
    if m.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return m[:, ::-1]


@implements(np.flipud)
def flipud(m):
    m = as_traced(m)
    if m.ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return m[::-1]


@implements(np.rot90)
def rot90(m, k=1, axes=(0, 1)):
    m = as_traced(m)
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    given = [as_index(axis, "as axis") for axis in axes]
    if given[0] == given[1] or abs(given[0] - given[1]) == m.ndim:
        raise ValueError("Axes must be different.")
    first, second = (normalize_axis(axis, m.ndim) for axis in given)
    turns = as_index(k, "as the number of rotations") % 4
    if turns == 0:
        return m[:]
    if turns == 2:
        return flip(flip(m, first), second)
    if turns == 1:
        return swapaxes(flip(m, second), first, second)
    return flip(swapaxes(m, first, second), second)


@implements(np.roll)
def roll(a, shift, axis=None):
    a = as_traced(a)
    if axis is None:
        return reshape(roll(a.reshape(-1), shift, 0), a.shape)
    axes = normalize_axes(axis, a.ndim, allow_duplicate=True)
    if isinstance(shift, TracedArray) and not shift.ndim and shift.known_value is None:
        for axis in axes:
            a = _rolled_by_traced(a, shift, axis)
        return a
    amounts = [as_index(one, "as a shift") for one in (shift if np.ndim(shift) else (shift,))]
    pairs = np.broadcast(np.array(amounts, object), np.array(axes, np.int64))
    trace = require_trace(a)
    operand = a.instruction(trace)
    for amount, dimension in pairs:
        operand = rolled(trace, operand, int(dimension), int(amount) % max(1, a.shape[dimension]))
    return laid_out(result(trace, operand), (a,), as_copy=True)


def _rolled_by_traced(a: TracedArray, shift: TracedArray, axis: int) -> TracedArray:
    """A part of two copies, one behind the other."""
    trace, size = require_trace(a), a.shape[axis]
    if not size:
        return a.copy()
    start = np.remainder(-shift, size).instruction(trace)
    operand = a.instruction(trace)
    twice = hlo.concatenate(operand, operand, dimensions=(axis,))
    starts = [start if d == axis else hlo.constant(0, start.shape.element_type) for d in range(a.ndim)]
    return result(trace, hlo.dynamic_slice(twice, *starts, sizes=a.shape))


@implements(np.fft.fftshift)
def fftshift(x, axes=None):
    x = as_traced(x)
    dimensions = normalize_axes(axes, x.ndim)
    return roll(x, tuple(x.shape[dimension] // 2 for dimension in dimensions), dimensions)


@implements(np.fft.ifftshift)
def ifftshift(x, axes=None):
    x = as_traced(x)
    dimensions = normalize_axes(axes, x.ndim)
    return roll(x, tuple(-(x.shape[dimension] // 2) for dimension in dimensions), dimensions)


def rolled(trace: Any, operand: hlo.Instruction, dimension: int, amount: int) -> hlo.Instruction:
    size = operand.shape.dimensions[dimension]
    amount = amount % size if size else 0
    if amount == 0:
        return operand
    parts = [part(trace, operand, dimension, size - amount, size), part(trace, operand, dimension, 0, size - amount)]
    return hlo.concatenate(*parts, dimensions=(dimension,))


def part(trace: Any, operand: hlo.Instruction, dimension: int, start: int, limit: int, stride: int = 1) -> hlo.Instruction:
    """The elements start to limit of one dimension."""
    ranges = [(0, size, 1) for size in operand.shape.dimensions]
    if ranges[dimension] == (start, limit, stride):
        return operand
    ranges[dimension] = (start, limit, stride)
    return hlo.emit("slice", operand, slice=tuple(ranges))


# --- questions about shapes ---


@implements(np.shape)
def shape(a):
    return as_traced(a).shape


@implements(np.ndim)
def ndim(a):
    return as_traced(a).ndim


@implements(np.size)
def size(a, axis=None):
    a = as_traced(a)
    return prod(a.shape[dimension] for dimension in normalize_axes(axis, a.ndim))
