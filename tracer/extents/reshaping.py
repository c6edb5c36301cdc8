"""Reshaping where sizes are known at run time only."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ... import hlo
from ..recording.array import TracedArray, require_trace
from ..recording.dynamic_array import DynamicArray, Sizes, dynamic, integer, same_value, sizes_of
from ..recording.function_tables import implements_dynamic
from ..recording.memory_order import order_named
from ..recording.operands import normalize_axis, require
from ..recording.trace import Trace
from .bounds import size_of_shape
from .broadcasting import as_array, dimensions_of, fail_if, with_bound
from .creation import zeros
from .indexing import is_in_order
from .joining import broadcast_arrays


@implements_dynamic(np.ravel, np.ndarray.ravel)
def ravel(a, order="C"):
    order = order_named(order, "C")
    if order == "K" and isinstance(a, DynamicArray):
        if a.base is not None:
            raise NotImplementedError("np.ravel in the order of a view's memory where sizes are known at run time only")
        order = "C"
    if a.ndim != 1:
        return reshape(a, -1, order=order, copy=None if is_in_order(a) else True)
    return a[:] if is_in_order(a) else a.copy()


@implements_dynamic(np.ndarray.flatten)
def flatten(a, order="C"):
    return ravel(a, order).copy()


@implements_dynamic(np.reshape, np.ndarray.reshape)
def reshape(a, *sizes, shape=None, order="C", copy=None):
    """A view where the elements certainly lie one behind another; else, and in another order, a copy."""
    given = shape if shape is not None else sizes[0] if len(sizes) == 1 else sizes
    wanted = list(given) if isinstance(given, (tuple, list)) else [given]
    wanted = [size if getattr(size, "known_value", None) is None else int(size) for size in wanted]
    a = as_array(a)
    order = order_named(order, "C")
    if order == "K":
        raise ValueError("order 'K' is not permitted for reshaping")
    if order == "F":
        return reshape(a.T, wanted[::-1]).T.copy()
    trace = require_trace(a)
    places = [place for place, size in enumerate(wanted) if isinstance(size, TracedArray) or size != 1]
    if a.ndim == 1 and len(places) == 1 and not copy:
        (place,) = places
        if isinstance(wanted[place], TracedArray) or wanted[place] >= 0:  # below 0: as many as there are
            _require_count(trace, a.size, np.where(wanted[place] < 0, a.size, wanted[place])[()])
        return a[tuple(slice(None) if d == place else None for d in range(len(wanted)))]
    bounds, sizes = _new_sizes(trace, a, wanted)
    if not copy and is_in_order(a):
        while getattr(a.view_reader, "reshapes", False):
            a = a.base
        return a[:] if a.ndim == len(bounds) == 1 else _view(a, bounds, sizes)
    if not copy and _divides_last_dimension(a, bounds, sizes):
        return _view(a, bounds, sizes)
    if copy is False:
        raise NotImplementedError(
            "np.reshape with copy=False of a view whose size is known at run time only is not implemented"
        )
    return _reshaped(trace, a, bounds, sizes)


def _divides_last_dimension(a: TracedArray, bounds: tuple[int, ...], sizes: Sizes) -> bool:
    """Whether that is all that a reshape does, so that it is a view of what lies in any way."""
    last = a.ndim - 1
    if not isinstance(a, DynamicArray) or a.bounds.is_dynamic(last) or len(sizes) != 1 or max(sizes) >= last:
        return False
    before = a.bounds.dimensions
    return bounds[:last] == before[:last] and a.bounds.is_dynamic(max(sizes)) and prod(bounds[last:]) == before[last]


def _view(a: TracedArray, bounds: tuple[int, ...], sizes: Sizes) -> TracedArray:
    first = require_trace(a)
    held = {d: TracedArray.from_instruction(first, size) for d, size in sizes.items()}  # seen in traces inside of this one, too

    def read(trace: Trace, base: hlo.Instruction) -> hlo.Instruction:
        own = {d: size.instruction(trace) for d, size in held.items()}
        return _reshaped(trace, TracedArray.from_instruction(trace, base), bounds, own).recorded(trace)

    def write(trace: Trace, base: hlo.Instruction, value: hlo.Instruction) -> hlo.Instruction:
        given = TracedArray.from_instruction(trace, value, is_scalar=False)
        return _reshaped(trace, given, base.shape.dimensions, sizes_of(base)).recorded(trace)

    read.keeps_order = read.reshapes = True  # type: ignore[attr-defined]
    if not sizes:
        return TracedArray.view_of(a, bounds, read, write)
    shape = hlo.Shape(a.element_type, bounds, dynamic_dimensions=tuple(d in sizes for d in range(len(bounds))))
    return DynamicArray.view_on(a, shape, read, write)


def _reshaped(trace: Trace, a: TracedArray, bounds: tuple[int, ...], sizes: Sizes) -> TracedArray:
    own = a.sizes(trace) if isinstance(a, DynamicArray) else {}
    padded = a.padded(trace) if isinstance(a, DynamicArray) else a
    if not (own.keys() | sizes.keys()) - {0} and prod(padded.shape[1:]) == prod(bounds[1:]):
        if padded.ndim and bounds:  # more may be known of the size that is asked for than of the array's
            padded = with_bound(padded, 0, padded.shape[0], bounds[0])
        return dynamic(trace, padded.reshape(bounds), sizes)
    if 0 in padded.shape or 0 in bounds:
        return dynamic(trace, zeros(bounds, a.dtype), sizes)
    line = _line_of(trace, padded.shape, own, _positions(trace, bounds, sizes))
    return dynamic(trace, np.take(padded.reshape(-1), np.clip(line, 0, padded.size - 1)), sizes)


def _require_count(trace: Trace, count: Any, wanted: Any) -> None:
    different = hlo.ne(hlo.convert(integer(trace, count), hlo.S64), hlo.convert(integer(trace, wanted), hlo.S64))
    fail_if(trace, different, "cannot reshape array: its size, known at run time only, is another one")


def _new_sizes(trace: Trace, a: TracedArray, wanted: Sequence[Any]) -> tuple[tuple[int, ...], Sizes]:
    """The bounds of the new shape, and the sizes that are known at run time only. Raises ValueError, in the program, too."""
    open_places = [place for place, size in enumerate(wanted) if not isinstance(size, TracedArray) and size < 0]
    if len(open_places) > 1:
        raise ValueError("can only specify one unknown dimension")
    given = [None if d in open_places else size_of_shape(trace, size, "as a size of a shape") for d, size in enumerate(wanted)]
    count: Any = 1
    for one, size in zip(given, wanted):
        count = count if one is None else count * (one[0] if one[1] is None else size)
    if not open_places:
        _require_count(trace, a.size, count)
    else:
        given[open_places[0]] = _open_size(trace, a, [one for one in given if one is not None], count)
    return tuple(one[0] for one in given), {place: one[1] for place, one in enumerate(given) if one[1] is not None}


def _open_size(trace: Trace, a: TracedArray, given: Sequence[tuple[int, Any]], count: Any) -> tuple[int, Any]:
    """The bound, and the size, of the dimension that has what the given ones leave, ``count`` elements together.

    Sizes of the array's own cancel out: of ``t.reshape(t.shape[0], 2, -1)`` the last one is known.
    """
    sizes = dict(a.sizes(trace)) if isinstance(a, DynamicArray) else {}
    known_bounds = [bound for d, bound in enumerate(dimensions_of(a)) if d not in sizes]
    others = []
    for _, size in given:
        place = next((d for d, own in sizes.items() if size is not None and same_value(own, size)), None)
        if place is not None:
            del sizes[place]
        elif size is not None:
            others.append(size)
    bound = prod(known_bounds) * prod(dimensions_of(a)[d] for d in sizes)
    divisor = prod(one for one, size in given if size is None)
    message = "cannot reshape array: its size is no multiple of the others"
    if not sizes and not others and divisor and bound % divisor == 0:
        require(count != 0, ValueError, message)
        return bound // divisor, None
    total, at_least_one = a.size, np.maximum(count, 1)
    require(np.logical_and(count != 0, total % at_least_one == 0), ValueError, message)
    return bound // max(divisor, 1), integer(trace, total // at_least_one)


def _extents(trace: Trace, bounds: Sequence[int], sizes: Sizes) -> list[Any]:
    """The size of each dimension, as Python's or a traced integer."""
    traced = {d: TracedArray.from_instruction(trace, hlo.convert(size, hlo.S64)) for d, size in sizes.items()}
    return [traced.get(d, bound) for d, bound in enumerate(bounds)]


def _positions(trace: Trace, bounds: tuple[int, ...], sizes: Sizes) -> TracedArray:
    """Where each element of an array of these bounds stands among all that lie inside of the sizes."""
    extents, position, step = _extents(trace, bounds, sizes), zeros(bounds, np.int64), 1
    for d in reversed(range(len(bounds))):
        along = TracedArray.from_instruction(trace, hlo.iota(hlo.Shape(hlo.S64, bounds), d), is_scalar=False)
        position, step = position + along * step, step * extents[d]
    return position


def _line_of(trace: Trace, bounds: tuple[int, ...], sizes: Sizes, positions: TracedArray) -> TracedArray:
    """Where in the array of the bounds the elements are that stand at these positions among those inside of the sizes."""
    extents, line, step = _extents(trace, bounds, sizes), 0, 1
    for d in reversed(range(len(bounds))):
        extent = np.maximum(extents[d], 1)
        line, step = line + (positions % extent if d else positions) * step, step * bounds[d]
        positions = positions // extent
    return line


@implements_dynamic(np.broadcast_to)
def broadcast_to(array, shape, subok=False):
    """A copy."""
    array = as_array(array)
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    if array.ndim and not sizes:
        raise ValueError("cannot broadcast a non-scalar to a scalar array")
    if array.ndim > len(sizes):
        raise ValueError("input operand has more dimensions than allowed by the axis remapping")
    for size, wanted in zip(reversed(array.shape), reversed(sizes)):
        message = "operands could not be broadcast together: sizes that are known at run time differ"
        require((size == 1) | (size == wanted), ValueError, message)
    return broadcast_arrays(array, zeros(shape, bool))[0]


@implements_dynamic(np.moveaxis)
def moveaxis(a, source, destination):
    sources, destinations = ((one,) if isinstance(one, int) else tuple(one) for one in (source, destination))
    sources, destinations = ([normalize_axis(one, a.ndim) for one in some] for some in (sources, destinations))
    order = [d for d in range(a.ndim) if d not in sources]
    for place, d in sorted(zip(destinations, sources)):
        order.insert(place, d)
    return np.transpose(a, order)
