"""Basic indexing: reading views, writing in place.

An index is first normalized, without looking at contents, to a `Selection`: for each dimension of the array a start (an
integer, or a traced scalar), a step and a length, and which dimensions the result keeps or adds. A selection then
becomes HLO in one way for reading and one for writing. Source of the semantics: NumPy's "Indexing on ndarrays".

Integers known only at run time are wrapped when negative, and raise IndexError through the trace's error flag when out
of range. Indices that hold arrays are the subject of the other modules of this folder.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from ... import hlo
from ..recording import promotion
from ..recording.array import TracedArray, require_trace
from ..recording.errors import ConcretizationError
from ..recording.intervals import INT64, interval_of, is_traced_integer
from ..recording.operands import broadcast, has_traced, instruction_of, prepare
from ..recording.trace import Trace

Instruction = hlo.Instruction


class Range(NamedTuple):
    """The elements start, start + step, ... (``length`` of them) of a dimension; an integer index has length 1 and ``dropped``.

    ``start`` is a TracedArray where it is known at run time only.
    """

    start: Any
    step: int
    length: int
    dropped: bool


class Selection(NamedTuple):
    """What an index selects: a range for each dimension of the array.

    ``kept`` names, for each dimension of the result, a dimension of the array, or None for newaxis.
    """

    ranges: tuple[Range, ...]
    kept: tuple[int | None, ...]
    has_ellipsis: bool

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(1 if dimension is None else self.ranges[dimension].length for dimension in self.kept)


def is_basic(index: Any) -> bool:
    """Whether an index consists of integers, slices, Ellipsis and newaxis alone."""
    return all(is_basic_entry(entry) for entry in (index if isinstance(index, tuple) else (index,)))


def is_basic_entry(entry: Any) -> bool:
    if entry is None or entry is Ellipsis or isinstance(entry, slice):
        return True
    if isinstance(entry, (bool, np.bool_)):
        return False
    if isinstance(entry, TracedArray):
        return entry.shape == () and entry.element_type.is_integer
    if isinstance(entry, np.ndarray):
        return entry.ndim == 0 and entry.dtype.kind in "iu"
    return hasattr(entry, "__index__")


def select(array: TracedArray, index: Any) -> Selection:
    """The selection of a basic index. Raises IndexError as NumPy does, ConcretizationError for traced slice bounds."""
    entries = index if isinstance(index, tuple) else (index,)
    shape, rank = array.shape, len(array.shape)
    used = sum(1 for entry in entries if entry is not None and entry is not Ellipsis)
    if used > rank:
        raise IndexError(f"too many indices for array: array is {rank}-dimensional, but {used} were indexed")
    ellipses = sum(1 for entry in entries if entry is Ellipsis)
    if ellipses > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    ranges: list[Range] = []
    kept: list[int | None] = []

    def skip(count: int) -> None:
        for _ in range(count):
            kept.append(len(ranges))
            ranges.append(Range(0, 1, shape[len(ranges)], False))

    for entry in entries:
        if entry is None:
            kept.append(None)
        elif entry is Ellipsis:
            skip(rank - used)
        elif isinstance(entry, slice):
            kept.append(len(ranges))
            ranges.append(_slice(entry, shape[len(ranges)]))
        else:
            ranges.append(_integer(entry, len(ranges), shape[len(ranges)]))
    skip(rank - len(ranges))
    return Selection(tuple(ranges), tuple(kept), ellipses > 0)


def _slice(entry: slice, size: int) -> Range:
    for bound in (entry.start, entry.stop, entry.step):
        if isinstance(bound, TracedArray) and bound.known_value is None:
            raise ConcretizationError(
                bound, "as a bound of a slice",
                "Shapes have to be known while tracing. Slice with known bounds, index with a traced integer (x[i]), mask "
                "with np.where, or name the argument that the bound comes from in static_argnames.",
            )  # fmt: skip
    start, stop, step = entry.indices(size)
    return Range(start, step, len(range(start, stop, step)), False)


def _integer(entry: Any, dimension: int, size: int) -> Range:
    if isinstance(entry, TracedArray):
        # A handle of its own: the index may be rebound later, the view keeps what it was made with.
        trace = require_trace(entry)
        if size == 0:
            raise IndexError(f"index is out of bounds for axis {dimension} with size 0")
        return Range(_checked_index(trace, entry, dimension, size), 1, 1, True)
    position = operator.index(entry)
    if not -size <= position < size:
        raise IndexError(f"index {position} is out of bounds for axis {dimension} with size {size}")
    return Range(position + size if position < 0 else position, 1, 1, True)


def _checked_index(trace: Trace, entry: TracedArray, dimension: int, size: int) -> TracedArray:
    """The index as s64, wrapped where negative; the error flag is raised where it is out of range, unless it cannot be."""
    given = index = entry.instruction(trace)
    low, high = interval_of(trace, entry) if is_traced_integer(entry) else INT64
    is_positive = entry.element_type.kind == "unsigned" or low >= 0
    if entry.element_type is hlo.U64:  # its upper half would turn negative
        limit = hlo.constant(np.uint64(size))
        outside = hlo.ge(index, limit)
        index = hlo.convert(index, hlo.S64)
    else:
        index = hlo.convert(index, hlo.S64)
        is_inside = -size <= low and high < size
        if high < 0:
            index = hlo.add(index, hlo.constant(np.int64(size)))
        elif not is_positive:
            negative = hlo.lt(index, hlo.constant(np.int64(0)))
            index = hlo.select(negative, hlo.add(index, hlo.constant(np.int64(size))), index)
        if is_inside:
            return TracedArray.from_instruction(trace, index)
        outside = hlo.ge(index, hlo.constant(np.int64(size)))
        if not is_positive:
            outside = hlo.or_(outside, hlo.lt(index, hlo.constant(np.int64(0))))
    trace.add_error_flag(outside, IndexError, f"index {{}} is out of bounds for axis {dimension} with size {size}", given)
    return TracedArray.from_instruction(trace, index)


# --- reading ---


def read_basic(array: TracedArray, index: Any) -> TracedArray:
    """``array[index]``: a view, or a scalar where integers select a single element."""
    selection = select(array, index)
    if array.is_scalar and not selection.kept and not selection.has_ellipsis:
        return array
    shape = selection.shape
    if not shape and not selection.has_ellipsis:  # NumPy returns a scalar, which is a copy
        trace = require_trace(array)
        taken = take(trace, array.instruction(trace), selection)
        return TracedArray.from_instruction(trace, taken, weak_type=array.weak_type)
    if not shape and array.is_scalar:
        trace = require_trace(array)
        return TracedArray.from_instruction(trace, array.instruction(trace), is_scalar=False)
    return view(array, selection)


class Taken:
    """How a view by a basic index reads its value."""

    def __init__(self, selection: Selection) -> None:
        self.selection = selection

    def __call__(self, trace: Trace, base: Instruction) -> Instruction:
        return take(trace, base, self.selection)


def view(array: TracedArray, selection: Selection) -> TracedArray:
    """The selected elements as a view."""

    def write(trace: Trace, base: Instruction, value: Instruction) -> Instruction:
        return put(trace, base, selection, value)

    steps = array.element_strides
    strides = tuple(0 if d is None else steps[d] * selection.ranges[d].step for d in selection.kept)
    return TracedArray.view_of(array, selection.shape, Taken(selection), write, strides)


def take(trace: Trace, base: Instruction, selection: Selection) -> Instruction:
    """The selected elements, in the selection's shape."""
    sizes, ranges = base.shape.dimensions, selection.ranges
    if any(isinstance(r.start, TracedArray) for r in ranges):
        starts, sizes, ranges = _block(trace, ranges, sizes)
        base = hlo.dynamic_slice(base, *starts, sizes=sizes)
    if any(r.length != size for r, size in zip(ranges, sizes)):
        base = hlo.emit("slice", base, slice=tuple([_forward(r) for r in ranges]))
    reversed_ = [dimension for dimension, r in enumerate(ranges) if r.step < 0 and r.length > 1]
    if reversed_:
        base = hlo.reverse(base, dimensions=tuple(reversed_))
    return hlo.reshape(base, selection.shape)


def _block(
    trace: Trace, ranges: tuple[Range, ...], sizes: tuple[int, ...]
) -> tuple[list[Instruction], tuple[int, ...], tuple[Range, ...]]:
    """What ranges that begin at traced positions span: where it begins, its sizes, and the ranges within it."""
    starts, spans, within = [], [], []
    for r, size in zip(ranges, sizes):
        if isinstance(r.start, TracedArray):
            start, size = r.start.instruction(trace), max(0, abs(r.step) * (r.length - 1) + 1)
            starts.append(start if r.step > 0 else hlo.subtract(start, size - 1))
            r = r._replace(start=0 if r.step > 0 else size - 1)
        else:
            starts.append(hlo.constant(np.int64(0)))
        spans.append(size)
        within.append(r)
    return starts, tuple(spans), tuple(within)


def _forward(r: Range) -> tuple[int, int, int]:
    """The range as HLO's slice has it, lowest element first: start, limit, positive stride."""
    if r.length == 0:
        return 0, 0, 1
    last = r.start + r.step * (r.length - 1)
    low, high = min(r.start, last), max(r.start, last)
    return low, high + 1, abs(r.step) if r.length > 1 else 1


def require_index_types(index: Any) -> None:
    for entry in index if isinstance(index, tuple) else (index,):
        may_be_one = is_basic_entry(entry) or isinstance(entry, (list, tuple, range, bool, np.bool_)) or hasattr(entry, "dtype")
        if not may_be_one or isinstance(entry, (np.ndarray, np.generic, TracedArray)) and entry.dtype.kind not in "iub":
            raise no_index(entry)


def no_index(entry: Any) -> IndexError:
    """What NumPy says of an array that is no index, and of anything else."""
    if isinstance(entry, np.ndarray) or isinstance(entry, TracedArray) and not entry.is_scalar:
        return IndexError("arrays used as indices must be of integer (or boolean) type")
    return IndexError(
        "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid indices"
    )


# --- writing ---


def write_basic(array: TracedArray, index: Any, value: Any) -> None:
    """``array[index] = value``, the value broadcast and converted as NumPy does."""
    selection = select(array, index)
    trace = require_trace(array)
    converted = assigned_value(trace, value, selection.shape, array.element_type)
    array.set_value(put(trace, array.instruction(trace), selection, converted))


def assigned_value(trace: Trace, value: Any, shape: tuple[int, ...], element_type: hlo.ElementType) -> Instruction:
    """A value as it is stored in an array: converted without a casting rule, leading dimensions of size 1 dropped, broadcast.

    Raises ValueError where it cannot be broadcast, TypeError for complex numbers of Python's stored as real ones.
    """
    value = prepare(value)
    if promotion.scalar_class(value) is complex and not element_type.is_complex and element_type is not hlo.PRED:
        raise TypeError("float() argument must be a string or a real number, not 'complex'")
    if type(value) is float and element_type.kind in ("signed", "unsigned"):
        value = int(value)
    elif type(value) in (int, float, complex, bool) and element_type is hlo.PRED:
        value = bool(value)
    operand = instruction_of(trace, value, element_type)
    dimensions = operand.shape.dimensions
    while len(dimensions) > len(shape) and dimensions[0] == 1:
        dimensions = dimensions[1:]
    fits = len(dimensions) <= len(shape)
    fits = fits and all(size in (1, shape[len(shape) - len(dimensions) + d]) for d, size in enumerate(dimensions))
    if not fits:
        given = str(operand.shape.dimensions).replace(" ", "")
        raise ValueError(f"could not broadcast input array from shape {given} into shape {str(shape).replace(' ', '')}")
    return broadcast(hlo.reshape(operand, dimensions), shape)


def put(trace: Trace, base: Instruction, selection: Selection, value: Instruction) -> Instruction:
    """The base with the selected elements replaced by a value of the selection's shape."""
    sizes, ranges = base.shape.dimensions, selection.ranges
    block_sizes = tuple(r.length for r in ranges)
    if 0 in block_sizes:
        return base
    value = hlo.reshape(value, block_sizes)
    reversed_ = [dimension for dimension, r in enumerate(ranges) if r.step < 0 and r.length > 1]
    if reversed_:
        value = hlo.reverse(value, dimensions=reversed_)
    if block_sizes == sizes:
        return value
    spread = [dimension for dimension, r in enumerate(ranges) if abs(r.step) > 1 and r.length > 1]
    if spread:
        return _put_spread(trace, base, ranges, value)
    starts, _, within = _block(trace, ranges, sizes)
    for dimension, r in enumerate(within):
        if not isinstance(ranges[dimension].start, TracedArray):
            starts[dimension] = hlo.constant(np.int64(_forward(r)[0]))
    return hlo.dynamic_update_slice(base, value, *starts)


def _put_spread(trace: Trace, base: Instruction, ranges: tuple[Range, ...], value: Instruction) -> Instruction:
    """Writing with steps: the value is spread over the block that the ranges span, which selects it or keeps what was there."""
    dynamic = any(isinstance(r.start, TracedArray) for r in ranges)
    starts, sizes, ranges = _block(trace, ranges, base.shape.dimensions)
    block = hlo.dynamic_slice(base, *starts, sizes=sizes) if dynamic else base
    padding = []
    for r, size in zip(ranges, sizes):
        low, limit, stride = _forward(r)
        padding.append((low, size - limit, stride - 1))
    zero = hlo.constant(0, value.shape.element_type)
    spread = hlo.pad(value, zero, padding=padding)
    everywhere = hlo.broadcast(hlo.constant(True), value.shape.dimensions, ())
    mask = hlo.pad(everywhere, hlo.constant(False), padding=padding)
    updated = hlo.select(mask, spread, block)
    return hlo.dynamic_update_slice(base, updated, *starts) if dynamic else updated


# --- kinds of index entries ---


def is_mask_entry(entry: Any) -> bool:
    """Whether an entry of an index is a boolean array (or scalar), traced or not."""
    if isinstance(entry, (bool, np.bool_)):
        return True
    if isinstance(entry, (list, tuple, range)):
        return not has_traced(entry) and np.asarray(entry).dtype == bool
    return isinstance(entry, (TracedArray, np.ndarray)) and entry.dtype == np.dtype(bool)


def with_known_masks(index: Any, counts: bool = True) -> Any:
    """The index with masks that do not depend on the call as ndarrays: how many elements they select is known.

    counts: whether this has to be known; masks from outside then become known.
    """
    if isinstance(index, tuple):
        return tuple([with_known_masks(entry, counts) for entry in index])
    if isinstance(index, TracedArray) and is_mask_entry(index):
        known = index.settled_value("as a mask") if counts else index.known_value
        return index if known is None else np.asarray(known)
    return index


def has_traced_bounds(index: Any) -> bool:
    """Whether a bound of a slice is known at run time only, and with it the size of the result."""
    for entry in index if isinstance(index, tuple) else (index,):
        if isinstance(entry, slice):
            traced = [bound for bound in (entry.start, entry.stop, entry.step) if isinstance(bound, TracedArray)]
            if any(bound.known_value is None for bound in traced):
                return True
    return False


def decides_about_sizes(index: Any) -> bool:
    """Whether the size of what an index selects is known at run time only."""
    if has_traced_bounds(index):
        return True
    for entry in index if isinstance(index, tuple) else (index,):
        if isinstance(entry, TracedArray) and (entry.is_dynamic or is_mask_entry(entry) and entry.size > 0):
            return True
    return False


def selects_all(entry: Any) -> bool:
    """Whether an entry of an index changes nothing: a whole slice, or Ellipsis."""
    return entry is Ellipsis or isinstance(entry, slice) and entry.start is entry.stop is entry.step is None


def require_mask_fits(array: TracedArray, shape: tuple[int, ...], first: int) -> None:
    """Raise IndexError unless a mask of this shape covers the array's dimensions from the first one on."""
    if first + len(shape) > array.ndim:
        raise IndexError(
            f"too many indices for array: array is {array.ndim}-dimensional, but {first + len(shape)} were indexed"
        )
    for dimension, size in enumerate(shape, first):
        require_mask_size(array, dimension, size)


def require_mask_size(array: TracedArray, dimension: int, size: int) -> None:
    """As NumPy: a mask without elements along a dimension selects nothing of any size."""
    if size and array.shape[dimension] != size:
        raise IndexError(
            f"boolean index did not match indexed array along axis {dimension}; size of axis is "
            f"{array.shape[dimension]} but size of corresponding boolean axis is {size}"
        )
