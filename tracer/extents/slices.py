"""Integers and slices along dimensions of sizes, or between bounds, that are known at run time only."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from ... import hlo
from ..control_flow.loops import counted_loop
from ..indexing.index_arrays import second, selection_along, update_selected
from ..recording.array import TracedArray, require_trace
from ..recording.differences import constant_difference
from ..recording.dynamic_array import padded_instruction, same_value, size_of
from ..recording.trace import Trace
from .bounds import interval_of, require_known_at_run_time
from .broadcasting import fail_if

Instruction = hlo.Instruction


class Steps(NamedTuple):
    """The elements start, start + step, ... along a dimension: ``size`` of them, at most ``bound``.

    ``expected`` holds where there are fewer than ``bound`` only if the slice reaches beyond the end.
    ``start`` is an int or a traced s64[]; so is ``step``, which is not zero then, nor longer than the dimension; ``size`` is a
    traced s32[], None where it is the bound: handles of their own, as the view may be read in another trace than the one in
    which it was made.
    """

    start: Any
    step: Any
    bound: int
    size: TracedArray | None
    dropped: bool = False
    expected: bool = False

    def start_in(self, trace: Trace) -> Instruction:
        """The start as s64[]."""
        return _number(trace, self.start)

    def step_in(self, trace: Trace) -> Instruction:
        """The step as s64[]."""
        return _number(trace, self.step)

    def size_in(self, trace: Trace) -> Instruction:
        """The size as s64[]."""
        return _number(trace, self.bound if self.size is None else self.size)


def steps_of(trace: Trace, entry: Any, dimension: int, bound: int, size: Instruction | None) -> Steps:
    """What an integer or a slice selects of a dimension. Raises IndexError, when the program runs, too."""
    if isinstance(entry, slice):
        return _slice(trace, entry, bound, size)
    count = _number(trace, bound if size is None else size)
    if isinstance(entry, TracedArray):
        index = _number(trace, entry)
    else:
        position = operator.index(entry)
        if not -bound <= position < bound:
            raise IndexError(f"index {position} is out of bounds for axis {dimension} with size at most {bound}")
        if size is None:
            return Steps(position % bound, 1, 1, None, True)
        index = _number(trace, position)
    index = hlo.select(hlo.lt(index, 0), hlo.add(index, count), index)
    outside = hlo.or_(hlo.lt(index, 0), hlo.ge(index, count))
    message = f"index is out of bounds for axis {dimension}" + (f" with size {bound}" if size is None else "")
    fail_if(trace, outside, message, IndexError)
    return Steps(TracedArray.from_instruction(trace, index), 1, 1, None, True)


def _number(trace: Trace, value: Any) -> Instruction:
    """An integer as s64[]."""
    if isinstance(value, TracedArray):
        if value.shape or not value.element_type.is_integer:
            raise TypeError("slice indices must be integers or None or have an __index__ method")
        value = value.instruction(trace)
    if isinstance(value, hlo.Instruction):
        if value.shape.element_type is hlo.U64:  # its upper half would turn negative
            value = hlo.minimum(value, hlo.constant(np.uint64(2**62)))
        return hlo.convert(value, hlo.S64)
    value = operator.index(value)
    return hlo.constant(np.int64(min(max(value, -(2**62)), 2**62)))


def _slice(trace: Trace, entry: slice, bound: int, size: Instruction | None) -> Steps:
    start, stop = entry.start, entry.stop
    step = 1 if entry.step is None else entry.step
    for one in (step, start, stop):
        require_known_at_run_time(trace, one, "as the step of a slice" if one is step else "as a bound of a slice")
    if isinstance(step, TracedArray) and step.known_value is None:
        return _slice_by_traced_step(trace, entry, bound, size)
    step = operator.index(step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if start is None and stop is None and step == 1:
        return Steps(0, 1, bound, None if size is None else TracedArray.from_instruction(trace, size))
    if size is None and not isinstance(start, TracedArray) and not isinstance(stop, TracedArray):
        first, last, _ = entry.indices(bound)
        return Steps(first, step, len(range(first, last, step)), None)
    count = _number(trace, bound if size is None else size)
    if not isinstance(start, TracedArray) and (start is None or start >= 0) and step > 0:
        low: Any = min(0 if start is None else operator.index(start), bound)  # where it lies behind the size there is nothing
        first = _number(trace, low)
    else:
        first = _bound(trace, start, count, step, at_start=True)
        low = TracedArray.from_instruction(trace, first)
    last = _bound(trace, stop, count, step, at_start=False)
    number = _count(first, last, abs(step), step)
    most = _most(start, stop, step, bound)
    extent = None
    if isinstance(start, TracedArray) and isinstance(stop, TracedArray) and step > 0:
        extent = constant_difference(_number(trace, stop), _number(trace, start))
    reach = interval_of(trace, _number(trace, start)) if extent is not None else None
    if extent is not None and extent < 0 and (reach is None or reach[0] + extent < 0):
        extent = None  # x[i + 1 : i] is x[0:-1] for an i of -1
    if extent is not None:
        most = min(most, -(-max(extent, 0) // step))
        if size is None and reach is not None and reach[0] >= 0 and reach[1] + extent <= bound:
            return Steps(low, step, most, None)
    return Steps(low, step, most, _size(trace, number, most), expected=extent is not None)


def _slice_by_traced_step(trace: Trace, entry: slice, bound: int, size: Instruction | None) -> Steps:
    """Both directions are computed where the sign is not known. Raises ValueError, when the program runs, for zero."""
    step = _number(trace, entry.step)
    fail_if(trace, hlo.eq(step, 0), "slice step cannot be zero", ValueError)
    reach = interval_of(trace, step)
    step = hlo.clamp(hlo.constant(np.int64(-bound)), step, hlo.constant(np.int64(bound)))  # a longer one leads outside, too
    step = hlo.select(hlo.eq(step, 0), hlo.constant(np.int64(1)), step)
    count = _number(trace, bound if size is None else size)

    def first_and_count(sign: int) -> tuple[Instruction, Instruction]:
        first = _bound(trace, entry.start, count, sign, at_start=True)
        last = _bound(trace, entry.stop, count, sign, at_start=False)
        return first, _count(first, last, hlo.multiply(step, sign), sign)

    first, number = first_and_count(1)
    most = _most(entry.start, entry.stop, 1, bound)
    if reach is None or reach[0] < 0:
        is_upward = hlo.gt(step, 0)
        downward, fewer = first_and_count(-1)
        first, number = hlo.select(is_upward, first, downward), hlo.select(is_upward, number, fewer)
        most = max(most, _most(entry.start, entry.stop, -1, bound))
    low, step = (TracedArray.from_instruction(trace, one) for one in (first, step))
    return Steps(low, step, most, _size(trace, number, most))


def _count(first: Instruction, last: Instruction, distance: Any, sign: int) -> Instruction:
    """How many elements lie between two ends, each this distance behind the one before."""
    room = hlo.subtract(last, first) if sign > 0 else hlo.subtract(first, last)
    less = distance - 1 if isinstance(distance, int) else hlo.subtract(distance, 1)
    return hlo.maximum(hlo.divide(hlo.add(room, less), distance), 0)


def _size(trace: Trace, number: Instruction, most: int) -> TracedArray:
    """A number of elements as s32[]."""
    return TracedArray.from_instruction(trace, hlo.convert(hlo.minimum(number, most), hlo.S32))


def _bound(trace: Trace, value: Any, count: Instruction, step: int, at_start: bool) -> Instruction:
    """A bound of a slice, moved into the range that Python's slices have."""
    least, most = (hlo.constant(np.int64(0)), count) if step > 0 else (hlo.constant(np.int64(-1)), hlo.subtract(count, 1))
    if value is None:
        return least if at_start == (step > 0) else most
    number = _number(trace, value)
    number = hlo.select(hlo.lt(number, 0), hlo.add(number, count), number)
    return hlo.clamp(least, number, most)


def _most(start: Any, stop: Any, step: int, bound: int) -> int:
    """How many elements there are at most."""
    room = bound
    if type(start) is int and start >= 0 and step > 0:
        room = min(room, max(bound - start, 0))
    if type(start) is int and start < 0 and step > 0:
        room = min(room, -start)
    if type(stop) is int and stop >= 0 and step > 0:
        room = min(room, max(stop - (start if type(start) is int and start >= 0 else 0), 0))
    return -(-room // abs(step))


# --- reading and writing ---

# Of how many elements apart from each other the places are computed at once.
_PART = 1024


def read_steps(trace: Trace, base: Instruction, steps: list[Steps], kept: list[int | None]) -> Instruction:
    """What the steps select of an array, with dynamic dimensions where sizes are known at run time only."""
    array = padded_instruction(base)
    for d, one in enumerate(steps):
        array = _along(trace, array, d, one)
    array = hlo.reshape(array, [1 if d is None else array.shape.dimensions[d] for d in kept])
    for place, d in enumerate(kept):
        if d is not None and steps[d].size is not None:
            array = hlo.set_dimension_size(array, steps[d].size.instruction(trace), dimensions=(place,))
    return array


def _is_whole(steps: Steps, bound: int) -> bool:
    return type(steps.start) is int and steps.start == 0 and is_run(steps) and steps.bound == bound


def is_run(steps: Steps) -> bool:
    """Whether the elements are neighbours."""
    return isinstance(steps.step, int) and steps.step == 1


def _along(trace: Trace, array: Instruction, dimension: int, steps: Steps) -> Instruction:
    dimensions = array.shape.dimensions
    bound, step, wanted = dimensions[dimension], steps.step, steps.bound
    if _is_whole(steps, bound):
        return array
    new = tuple(wanted if d == dimension else size for d, size in enumerate(dimensions))
    if 0 in new or 0 in dimensions:
        return hlo.broadcast(hlo.constant(0, array.shape.element_type), new, ())
    if isinstance(steps.start, int) and isinstance(step, int) and step > 0 and steps.start + (wanted - 1) * step < bound:
        ranges = [(0, size, 1) for size in dimensions]
        ranges[dimension] = (steps.start, steps.start + (wanted - 1) * step + 1, step)
        return hlo.emit("slice", array, slice=ranges)
    start = steps.start_in(trace)
    if is_run(steps):
        start = hlo.clamp(hlo.constant(np.int64(0)), start, hlo.constant(np.int64(bound)))
        if not steps.dropped:
            padding = [(0, wanted if d == dimension else 0, 0) for d in range(len(dimensions))]
            array = hlo.pad(array, hlo.constant(0, array.shape.element_type), padding=padding)
        zero = hlo.constant(np.int64(0))
        starts = [start if d == dimension else zero for d in range(len(dimensions))]
        return hlo.dynamic_slice(array, *starts, sizes=new)
    places = hlo.iota(hlo.Shape(hlo.S64, (wanted,)), 0)
    distances = hlo.multiply(places, hlo.broadcast(steps.step_in(trace), (wanted,), ()))
    positions = hlo.add(distances, hlo.broadcast(start, (wanted,), ()))
    positions = hlo.clamp(hlo.constant(np.int64(0)), positions, hlo.constant(np.int64(bound - 1)))
    return _gathered(array, positions, dimension)


def _gathered(array: Instruction, positions: Instruction, dimension: int) -> Instruction:
    dimensions = array.shape.dimensions
    return hlo.gather(
        array, positions, offset_dims=[d for d in range(len(dimensions)) if d != dimension], collapsed_slice_dims=(dimension,),
        start_index_map=(dimension,), index_vector_dim=1,
        slice_sizes=[1 if d == dimension else size for d, size in enumerate(dimensions)],
    )  # fmt: skip


def write_steps(trace: Trace, base: Instruction, steps: list[Steps], value: Instruction) -> Instruction:
    """The array with what the steps select replaced by a value of its bounds; what lies behind the sizes is left out."""
    old = padded_instruction(base)
    value = padded_instruction(value)
    dimensions = old.shape.dimensions
    bounds = [one.bound for one in steps]
    if 0 in bounds or 0 in dimensions:
        return base
    placed = hlo.reshape(value, bounds)
    partial = [d for d, one in enumerate(steps) if one.size is not None or not _is_whole(one, dimensions[d])]
    if all(is_run(one) and (one.size is None or _has_size_of(trace, base, d, one)) for d, one in enumerate(steps)):
        updated = hlo.dynamic_update_slice(old, placed, *[one.start_in(trace) for one in steps])
    elif len(partial) == 1 and not is_run(steps[partial[0]]) and steps[partial[0]].bound > _PART:
        updated = _written_in_parts(trace, old, placed, partial[0], steps[partial[0]])
    else:
        updated = _written_in_window(trace, old, placed, steps)
    for d in range(base.shape.rank):
        if base.shape.is_dynamic(d):
            updated = hlo.set_dimension_size(updated, size_of(base, d), dimensions=(d,))
    return updated


def _written_in_parts(trace: Trace, old: Instruction, placed: Instruction, dimension: int, steps: Steps) -> Instruction:
    """The array with the value where the steps lead, in time that grows with their number, not with that of all places."""
    size, start, step = (
        TracedArray.from_instruction(trace, one) for one in (steps.size_in(trace), steps.start_in(trace), steps.step_in(trace))
    )
    places, had, wanted = placed.shape.dimensions[dimension], old.shape.dimensions[dimension], list(placed.shape.dimensions)
    wanted[dimension] = _PART
    padding = [(0, _PART if d == dimension else 0, 0) for d in range(len(wanted))]
    rows = TracedArray.from_instruction(
        trace, placed if places == 1 else hlo.pad(placed, hlo.constant(0, placed.shape.element_type), padding=padding)
    )

    def write_part(number: TracedArray, array: TracedArray) -> TracedArray:
        trace = require_trace(array)
        numbers = number * _PART + np.arange(_PART)
        positions = np.where(numbers < size, start + numbers * step, had)  # what is outside goes nowhere
        given, zero = rows.instruction(trace), hlo.constant(np.int64(0))
        if places == 1:
            part = hlo.broadcast_in_dim(given, wanted, range(len(wanted)))
        else:
            first = (number * _PART).instruction(trace)
            part = hlo.dynamic_slice(given, *[first if d == dimension else zero for d in range(len(wanted))], sizes=wanted)
        selection = selection_along(array, dimension, positions.instruction(trace))
        update_selected(trace, selection, part, second(array.element_type))
        return array

    parts = (size + (_PART - 1)) // _PART
    array = TracedArray.from_instruction(trace, old, is_scalar=False)
    return counted_loop(trace, "a slice", 0, parts, write_part, array, "a slice").instruction(trace)


def _written_in_window(trace: Trace, old: Instruction, placed: Instruction, steps: list[Steps]) -> Instruction:
    """The array with the value where the steps lead, in time that grows with the bounds of those that take neighbours."""
    sizes = [one.bound if is_run(one) else size for one, size in zip(steps, old.shape.dimensions)]
    if sizes == list(old.shape.dimensions):
        return _selected(trace, old, placed, steps)
    first, within = hlo.constant(np.int64(0)), []
    starts = [first] * len(steps)
    for d, (one, size) in enumerate(zip(steps, old.shape.dimensions)):
        if sizes[d] < size:
            start = one.start_in(trace)
            starts[d] = hlo.clamp(first, start, hlo.constant(np.int64(size - sizes[d])))
            one = one._replace(start=TracedArray.from_instruction(trace, hlo.subtract(start, starts[d])))
        within.append(one)
    window = hlo.dynamic_slice(old, *starts, sizes=sizes)
    return hlo.dynamic_update_slice(old, _selected(trace, window, placed, within), *starts)


def _has_size_of(trace: Trace, base: Instruction, dimension: int, steps: Steps) -> bool:
    """Whether the steps are all places of a dimension whose size is known at run time only; what lies behind it is nothing."""
    size = size_of(base, dimension)
    return _is_whole(steps, base.shape.dimensions[dimension]) and same_value(size, steps.size.instruction(trace))


def _selected(trace: Trace, old: Instruction, placed: Instruction, steps: list[Steps]) -> Instruction:
    """The array, with the value where the steps lead."""
    dimensions = old.shape.dimensions
    chosen = None
    for d, one in enumerate(steps):
        if one.size is None and _is_whole(one, dimensions[d]):
            continue
        size, start = one.size_in(trace), one.start_in(trace)
        positions = hlo.subtract(hlo.iota(hlo.Shape(hlo.S64, (dimensions[d],)), 0), hlo.broadcast(start, (dimensions[d],), ()))
        hit = None
        if not is_run(one):
            step = hlo.broadcast(one.step_in(trace), (dimensions[d],), ())
            hit = hlo.eq(hlo.remainder(positions, step), 0)
            positions = hlo.divide(positions, step)
        inside = hlo.and_(hlo.ge(positions, 0), hlo.lt(positions, hlo.broadcast(size, (dimensions[d],), ())))
        inside = inside if hit is None else hlo.and_(inside, hit)
        inside = hlo.broadcast(inside, dimensions, (d,))
        chosen = inside if chosen is None else hlo.and_(chosen, inside)
        positions = hlo.clamp(hlo.constant(np.int64(0)), positions, hlo.constant(np.int64(one.bound - 1)))
        placed = _placed(placed, positions, d, one, start, dimensions[d])
    return placed if chosen is None else hlo.select(chosen, placed, old)


def _placed(
    value: Instruction, positions: Instruction, dimension: int, steps: Steps, start: Instruction, wanted: int
) -> Instruction:
    """For each place of the array along a dimension the element of the value that belongs there, anything elsewhere."""
    dimensions = value.shape.dimensions
    new = tuple(wanted if d == dimension else size for d, size in enumerate(dimensions))
    if dimensions[dimension] == 1:
        return hlo.broadcast_in_dim(value, new, range(len(new)))
    if not is_run(steps):
        return _gathered(value, positions, dimension)
    padding = [(wanted, wanted, 0) if d == dimension else (0, 0, 0) for d in range(len(dimensions))]
    wide = hlo.pad(value, hlo.constant(0, value.shape.element_type), padding=padding)
    zero = hlo.constant(np.int64(0))
    begin = hlo.subtract(hlo.constant(np.int64(wanted)), start)
    return hlo.dynamic_slice(wide, *[begin if d == dimension else zero for d in range(len(dimensions))], sizes=new)
