"""What is found by sorting: unique elements, and functions of sets; their results' sizes are known at run time only."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from ... import hlo
from ..recording.array import TracedArray, require_trace
from ..recording.dynamic_array import DynamicArray, Sizes, dynamic, valid
from ..recording.function_tables import FUNCTIONS, implements, implements_dynamic
from ..recording.operands import normalize_axes, normalize_axis, zero_dimensional
from ..recording.trace import Trace
from .broadcasting import as_array
from .order import last_behind


class Sorted(NamedTuple):
    """The elements of an array in order: the array of the bounds, the sizes, and where each one that begins a run is."""

    values: TracedArray
    order: TracedArray | None
    first: TracedArray
    count: TracedArray  # how many there are, an int64 scalar


def _line(a: Any) -> TracedArray:
    a = as_array(a)
    return a if a.ndim == 1 else np.ravel(a)


def _padded(trace: Trace, line: TracedArray) -> TracedArray:
    return last_behind(trace, line) if isinstance(line, DynamicArray) else line


def _sizes(trace: Trace, line: TracedArray) -> Sizes:
    return line.sizes(trace) if isinstance(line, DynamicArray) else {}


def _count(trace: Trace, line: TracedArray) -> TracedArray:
    if isinstance(line, DynamicArray):
        size = hlo.convert(line.sizes(trace)[0], hlo.S64)
        return TracedArray.from_instruction(trace, size)
    return TracedArray.from_instruction(trace, hlo.constant(np.int64(line.shape[0])))


def _sorted(trace: Trace, line: TracedArray, with_order: bool, equal_nan: bool = True) -> Sorted:
    padded = _padded(trace, line)
    order = FUNCTIONS[np.argsort](padded, 0, "stable") if with_order else None
    values = padded[order] if with_order else FUNCTIONS[np.sort](padded, 0)
    (bound,) = values.shape
    if not bound:
        return Sorted(values, order, np.zeros_like(values, bool), _count(trace, line))
    differ = values[1:] != values[:-1]
    if equal_nan and values.dtype.kind in "fcV":
        differ = differ & ~(np.isnan(values[1:]) & np.isnan(values[:-1]))
    begin = np.ones_like(values[:1], bool)
    first = np.concatenate([begin, differ]) & valid(trace, (bound,), _sizes(trace, line))
    return Sorted(values, order, first, _count(trace, line))


@implements(np.unique)
@implements_dynamic(np.unique)
def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True, sorted=True):
    """Of all elements, or of the slices along an axis."""
    array = as_array(ar)
    axis = None if axis is None else normalize_axis(axis, array.ndim)
    trace, along = require_trace(array), axis is not None and array.ndim != 1
    if along:
        line, found = _sorted_slices(array, axis)
        results: list[Any] = [np.moveaxis(found.values[found.first], 0, axis)]
    else:
        line = _line(array)
        found = _sorted(trace, line, return_index or return_inverse, equal_nan)
        results = [found.values[found.first]]
    if return_index:
        results.append(found.order[found.first])
    if return_inverse:
        numbers = np.cumsum(found.first, dtype=np.int64) - 1
        inverse = np.zeros_like(numbers)
        inverse[found.order] = numbers
        inverse = dynamic(trace, inverse, _sizes(trace, line))
        results.append(inverse if along or array.ndim == 1 else inverse.reshape(array.shape))
    if return_counts:
        results.append(_lengths(trace, found))
    return tuple(results) if len(results) > 1 else results[0]


def _sorted_slices(array: TracedArray, axis: int) -> tuple[TracedArray, Sorted]:
    """The slices along an axis in order, by their elements from the first one on; the positions are those of a line."""
    trace, slices = require_trace(array), np.moveaxis(array, axis, 0)
    sizes = _sizes(trace, slices)
    if sizes.keys() - {0}:
        raise NotImplementedError("np.unique of slices whose own sizes are known at run time only is not implemented")
    slices = slices.padded(trace) if sizes else slices
    count = slices.shape[0]
    rows, inside = slices.reshape((count, prod(slices.shape[1:]))), valid(trace, (count,), sizes)
    keys = [rows[:, number] for number in reversed(range(rows.shape[1]))] + ([~inside] if sizes else [])
    order = FUNCTIONS[np.lexsort](keys) if keys else FUNCTIONS[np.arange](count)
    ordered = rows[order]
    differ = np.any(ordered[1:] != ordered[:-1], axis=1)
    first = np.concatenate([np.ones_like(differ, shape=(min(count, 1),)), differ]) & inside
    positions = dynamic(trace, FUNCTIONS[np.arange](count), sizes)
    return positions, Sorted(slices[order], order, first, _count(trace, positions))


def _lengths(trace: Trace, found: Sorted) -> TracedArray:
    """How many elements each run has."""
    starts = np.flatnonzero(found.first)
    if not found.values.shape[0]:
        return starts
    sizes = starts.sizes(trace)
    inside = valid(trace, starts.bounds.dimensions, sizes)
    padded = np.where(inside, starts.padded(trace), found.count)
    following = np.concatenate([padded[1:], np.reshape(found.count, (1,))])
    return dynamic(trace, following - padded, sizes)


def _named(function: Any, *options: str) -> Any:
    """A function of the array API standard: unique with options, as a named tuple of NumPy's."""
    kind = type(function(np.zeros(0)))

    def implementation(x):
        return kind(*unique(x, **dict.fromkeys(options, True), equal_nan=False))

    return implementation


for _function, _options in (
    (np.unique_all, ("return_index", "return_inverse", "return_counts")),
    (np.unique_counts, ("return_counts",)),
    (np.unique_inverse, ("return_inverse",)),
):
    implements(_function)(implements_dynamic(_function)(_named(_function, *_options)))


@implements(np.unique_values)
@implements_dynamic(np.unique_values)
def unique_values(x):
    return unique(x, equal_nan=False)


def _joined(first: Any, second: Any) -> TracedArray:
    """Both in one line; a number of Python's adapts to the other one, as it does where NumPy joins what has no axis."""
    if isinstance(first, DynamicArray) or isinstance(second, DynamicArray):
        return np.concatenate([_line(first), _line(second)])
    return FUNCTIONS[np.concatenate]([first, second], None)


@implements(np.union1d)
@implements_dynamic(np.union1d)
def union1d(ar1, ar2):
    return unique(_joined(ar1, ar2))


def _neighbours(trace: Trace, line: TracedArray) -> tuple[TracedArray, TracedArray]:
    """The elements of a line in order, and which of them, inside of the size, equal the next one."""
    values = FUNCTIONS[np.sort](_padded(trace, line), 0)
    (bound,) = values.shape
    if not bound:
        return values, np.zeros_like(values, bool)
    one = {d: hlo.maximum(hlo.subtract(size, 1), 0) for d, size in _sizes(trace, line).items()}
    equal = np.concatenate([values[1:] == values[:-1], np.zeros_like(values[:1], bool)])
    return values, equal & valid(trace, (bound,), one)


@implements(np.intersect1d)
@implements_dynamic(np.intersect1d)
def intersect1d(ar1, ar2, assume_unique=False, return_indices=False):
    if return_indices:
        return _intersection_with_positions(ar1, ar2, assume_unique)
    ar1, ar2 = (_line(one) if assume_unique else unique(one) for one in (ar1, ar2))
    line = np.concatenate([ar1, ar2])
    values, equal = _neighbours(require_trace(line), line)
    return values[equal]


def _intersection_with_positions(ar1: Any, ar2: Any, assume_unique: bool) -> tuple[TracedArray, TracedArray, TracedArray]:
    """Common elements, and where each is found first in the two."""
    first, second = _line(ar1), _line(ar2)
    if not assume_unique:
        (first, of_first), (second, of_second) = (unique(one, return_index=True) for one in (first, second))
    line = np.concatenate([first, second])
    order = np.argsort(line, kind="stable")
    values = line[order]
    equal = np.flatnonzero(values[1:] == values[:-1])
    in_first, in_second = order[equal], order[equal + 1] - first.shape[0]
    if not assume_unique:
        in_first, in_second = of_first[in_first], of_second[in_second]
    return values[equal], in_first, in_second


@implements(np.setxor1d)
@implements_dynamic(np.setxor1d)
def setxor1d(ar1, ar2, assume_unique=False):
    line = _joined(ar1, ar2) if assume_unique else np.concatenate([unique(ar1), unique(ar2)])
    trace = require_trace(line)
    values, equal = _neighbours(trace, line)
    before = np.concatenate([np.zeros_like(equal[:1]), equal[:-1]]) if equal.shape[0] else equal
    return values[~equal & ~before & valid(trace, values.shape, _sizes(trace, line))]


@implements(np.setdiff1d)
@implements_dynamic(np.setdiff1d)
def setdiff1d(ar1, ar2, assume_unique=False):
    ar1 = _line(ar1) if assume_unique else unique(ar1)
    return ar1[np.isin(ar1, ar2, invert=True)]


@implements_dynamic(np.isin)
def isin(element, test_elements, assume_unique=False, invert=False, *, kind=None):
    """A search among the tests, in order."""
    element, tests = as_array(element), _line(test_elements)
    trace = require_trace(element, tests)
    sizes = _sizes(trace, element) if isinstance(element, DynamicArray) else {}
    wanted = element.padded(trace) if isinstance(element, DynamicArray) else element
    common = np.result_type(wanted.dtype, tests.dtype)
    tests = tests.astype(common)
    padded = FUNCTIONS[np.sort](_padded(trace, tests), 0)
    if not padded.shape[0]:
        found = np.zeros_like(wanted, bool)
    else:
        places = FUNCTIONS[np.searchsorted](padded, wanted.astype(common))
        inside = places < _count(trace, tests)
        found = inside & (padded[np.minimum(places, padded.shape[0] - 1)] == wanted)
    found = ~found if invert else found
    return dynamic(trace, found, sizes) if sizes else zero_dimensional(found)


if hasattr(np, "in1d"):

    @implements(np.in1d)
    @implements_dynamic(np.in1d)
    def in1d(ar1, ar2, assume_unique=False, invert=False, *, kind=None):
        return np.isin(_line(ar1), ar2, invert=invert)


def _trimmed(array: TracedArray, trim: str, axes: tuple[int, ...]) -> TracedArray:
    """A part between the first and the last element along these axes; of an array of zeros one without elements."""
    found = array != 0
    if isinstance(found, DynamicArray):
        found = found.filled(require_trace(found), False)
    if 0 in found.shape:
        return array[tuple(slice(0, 0) if axis in axes else slice(None) for axis in range(array.ndim))]
    is_there = np.any(found)
    for axis in axes:
        line = np.any(found, axis=tuple(d for d in range(array.ndim) if d != axis))
        first = np.argmax(line) if "f" in trim else 0
        last = line.shape[0] - np.argmax(line[::-1]) if "b" in trim else array.shape[axis]
        lead = (slice(None),) * axis
        array = array[(*lead, slice(np.where(is_there, first, 0)[()], np.where(is_there, last, 0)[()]))]
    return array


@implements(np.trim_zeros)
@implements_dynamic(np.trim_zeros)
def trim_zeros(filt, trim="fb", axis=None):
    """What lies between the first and the last element that is not zero, along each of the axes."""
    array = as_array(filt)
    trim = trim.lower()
    if trim not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    if array.ndim != 1 or axis is not None:
        return _trimmed(array, trim, normalize_axes(axis, array.ndim))
    trace = require_trace(array)
    count = array.shape[0] if isinstance(array, DynamicArray) else array.size
    nonzero = (array != 0).filled(trace, False) if isinstance(array, DynamicArray) else array != 0
    if not nonzero.shape[0]:
        return array.copy()
    (bound,) = nonzero.shape
    any_left = np.any(nonzero)
    first = np.where(any_left, np.argmax(nonzero), count)[()] if "f" in trim else 0
    last = np.where(any_left, bound - np.argmax(nonzero[::-1]), 0)[()] if "b" in trim else count
    if "f" in trim and "b" in trim:
        last = np.where(any_left, last, first)[()]
    return array[first:last]
