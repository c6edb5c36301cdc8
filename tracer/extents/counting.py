"""Results whose sizes follow from the contents of integers: repeat, bincount."""

from __future__ import annotations

import operator

import numpy as np

from ... import hlo
from ..indexing.index_arrays import second, selection_along, taken
from ..recording.array import TracedArray, require_trace
from ..recording.dynamic_array import DynamicArray, dynamic
from ..recording.function_tables import FUNCTIONS, implements, implements_dynamic
from ..recording.guessed_bounds import FIRST_GUESS
from ..recording.operands import normalize_axis, require, require_same_shape
from .bounds import bounded, require_known_at_run_time
from .broadcasting import as_array, fail_if, with_bound
from .creation import zeros


@implements_dynamic(np.repeat, np.ndarray.repeat)
def repeat(a, repeats, axis=None):
    """Element i of the result is that whose repetitions, with those before it, are the first to be more than i."""
    a = as_array(a)
    if axis is None:
        a, axis = np.ravel(a), 0
    axis = normalize_axis(axis, a.ndim)
    if isinstance(repeats, (int, np.integer)) and repeats > 0:
        return _repeat_equally(a, int(repeats), axis)
    repeats = as_array(repeats)
    if repeats.element_type.kind not in ("signed", "unsigned", "pred"):
        raise TypeError(f"Cannot cast array data from {repeats.dtype!r} to dtype('int64') according to the rule 'safe'")
    trace = require_trace(a, repeats)
    require_known_at_run_time(trace, repeats, "as a number of repetitions")
    is_dynamic = isinstance(a, DynamicArray) and axis in a.sizes(trace)
    if isinstance(repeats, DynamicArray) or is_dynamic:
        line = a.shape[axis] if not is_dynamic else None
        ones = np.zeros(line, np.int64) if line is not None else zeros((a.shape[axis],), np.int64)
        repeats = ones + repeats
    else:
        if repeats.ndim > 1 or repeats.ndim == 1 and repeats.shape[0] not in (1, a.shape[axis]):
            raise ValueError(f"operands could not be broadcast together with shape ({a.shape[axis]},) {repeats.shape}")
        repeats = np.broadcast_to(repeats, (a.shape[axis],))
    padded = a.padded(trace) if isinstance(a, DynamicArray) else a
    counts = (repeats.filled(trace, 0) if isinstance(repeats, DynamicArray) else repeats).astype(np.int64)
    if not padded.shape[axis]:
        return a.copy()
    fail_if(trace, np.any(counts < 0).instruction(trace), "repeats may not contain negative values.")
    ends = np.cumsum(np.maximum(counts, 0))
    bound, size = bounded(trace, ends[-1].instruction(trace), max(64, 4 * padded.shape[axis]))
    # Where each one begins its number is written, one without repetitions where the next one writes over it; a running maximum
    # fills what follows. The narrower, the more of them in a vector.
    narrow = hlo.S32 if max(bound, padded.shape[axis]) < 2**31 else hlo.S64
    starts = np.minimum(ends - counts, bound).astype(narrow.dtype)
    scattered = hlo.scatter(
        hlo.full(hlo.Shape(narrow, (bound,)), 0), starts.instruction(trace),
        hlo.iota(hlo.Shape(narrow, (padded.shape[axis],)), 0), update_window_dims=(), inserted_window_dims=(0,),
        scatter_dims_to_operand_dims=(0,), index_vector_dim=1, to_apply=second(narrow),
    )  # fmt: skip
    numbers = np.maximum.accumulate(TracedArray.from_instruction(trace, scattered, is_scalar=False)).instruction(trace)
    others = {d: one for d, one in (a.sizes(trace) if isinstance(a, DynamicArray) else {}).items() if d != axis}
    return dynamic(trace, taken(trace, selection_along(padded, axis, numbers)), {**others, axis: size})


def _repeat_equally(a: DynamicArray, count: int, axis: int) -> TracedArray:
    trace = require_trace(a)
    padded, sizes = a.padded(trace), a.sizes(trace)
    if axis in sizes:
        sizes[axis] = hlo.multiply(sizes[axis], count)
    numbers = FUNCTIONS[np.arange](padded.shape[axis] * count) // count
    return dynamic(trace, np.take(padded, numbers, axis), sizes)


@implements(np.bincount)
@implements_dynamic(np.bincount)
def bincount(x, /, weights=None, minlength=0):
    """How often each integer occurs; as many as the greatest one asks for."""
    x = as_array(x)
    trace = require_trace(x, weights)
    if x.ndim != 1:
        raise ValueError("object too deep for desired array" if x.ndim else "object of too small depth for desired array")
    if x.element_type.kind not in ("signed", "unsigned", "pred") or x.element_type is hlo.U64:
        raise TypeError(f"Cannot cast array data from {x.dtype!r} to dtype('int64') according to the rule 'safe'")
    if isinstance(minlength, TracedArray):
        require_known_at_run_time(trace, minlength, "as a least number of counts")
    else:
        minlength = operator.index(minlength)
    require(minlength >= 0, ValueError, "'minlength' must not be negative")
    if weights is not None:
        weights = as_array(weights).astype(np.float64)
        require_same_shape(x, weights, ValueError, "The weights and list don't have the same length.")
        if isinstance(weights, DynamicArray) or isinstance(x, DynamicArray):
            weights = weights + np.zeros_like(x, np.float64)
            weights = weights.filled(trace, 0) if isinstance(weights, DynamicArray) else weights
    numbers = (x.filled(trace, 0) if isinstance(x, DynamicArray) else x).astype(np.int64)
    if weights is not None:
        weights = with_bound(weights, 0, weights.shape[0], numbers.shape[0])
    if not numbers.shape[0]:
        return zeros(minlength, np.int64) if isinstance(minlength, TracedArray) else FUNCTIONS[np.zeros](minlength, np.int64)
    whole = dynamic(trace, numbers, x.sizes(trace)) if isinstance(x, DynamicArray) else numbers
    # Read without a sign, negative numbers are the largest ones: one pass finds these, and how many counts there are.
    largest = np.max(whole.astype(np.uint64), initial=0)
    fail_if(trace, (largest > np.uint64(2**63 - 1)).instruction(trace), "'list' argument must have no negative elements")
    largest = largest.astype(np.int64)
    length = np.maximum(np.where(x.size > 0, largest + 1, 0), minlength)[()]
    most = {8: 256, 16: 65536}.get(x.element_type.bits)
    least = 0 if isinstance(minlength, TracedArray) else minlength
    known = None if isinstance(x, DynamicArray) else x.known_value  # then so is the size
    if known is not None and least is minlength:
        bound, size = max(int(np.max(known, initial=-1)) + 1, least), None
    elif most is not None and least is minlength and max(most, least) <= 65536:
        bound, size = max(most, least), hlo.convert(length.instruction(trace), hlo.S32)
    else:
        bound, size = bounded(trace, length.instruction(trace), max(FIRST_GUESS, least))
    # The narrower, the more of them in a vector, and in the cache.
    narrow = np.int32 if max(bound, numbers.shape[0]) < 2**31 else np.int64
    # What is below 0, or not below the bound, lies outside, and counts nothing.
    places = np.where(np.ones_like(x, bool).filled(trace, False), numbers, bound) if whole is not numbers else numbers
    values = np.ones_like(numbers, narrow) if weights is None else weights
    total = hlo.scatter(
        FUNCTIONS[np.zeros]((bound,), values.dtype).instruction(trace), places.instruction(trace), values.instruction(trace),
        update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), index_vector_dim=1,
        to_apply=hlo.scalar_computation("add", values.element_type),
    )  # fmt: skip
    total = hlo.convert(total, hlo.S64) if weights is None else total
    return dynamic(trace, total, {0: size}) if size is not None else TracedArray.from_instruction(trace, total, is_scalar=False)
