"""Arrays made in sizes that are known at run time only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import hlo
from ..recording.array import TracedArray, as_index, require_trace
from ..recording.dynamic_array import Sizes, dynamic
from ..recording.function_tables import FUNCTIONS, implements_dynamic
from ..recording.operands import as_traced, class_of, prepare
from ..recording.promotion import result_dtype
from ..recording.trace import Trace
from .bounds import bounded, require_known_at_run_time, size_of_shape
from .broadcasting import fail_if


def bounds_of_shape(trace: Trace, shape: Any) -> tuple[tuple[int, ...], Sizes]:
    """The bounds of a shape, and the sizes that are known at run time only."""
    if isinstance(shape, TracedArray) and not shape.is_dynamic and shape.ndim:
        given: Any = [shape[d] for d in range(shape.shape[0])]
    else:
        given = shape if isinstance(shape, (list, tuple)) else (shape,)
    found = [size_of_shape(trace, size, "as a size of a shape") for size in given]
    return tuple(bound for bound, _ in found), {d: size for d, (_, size) in enumerate(found) if size is not None}


def _in_shape(function: Callable) -> Callable:
    @implements_dynamic(function)
    def implementation(shape: Any, *rest: Any, **arguments: Any) -> TracedArray:
        trace = require_trace()
        bounds, sizes = bounds_of_shape(trace, shape)
        made = FUNCTIONS[function](bounds, *rest, **arguments)
        return dynamic(trace, made, sizes) if sizes else made

    return implementation


zeros, ones, empty, full = map(_in_shape, (np.zeros, np.ones, np.empty, np.full))


@implements_dynamic(np.arange)
def arange(start_or_stop, /, stop=None, step=1, dtype=None, *, device=None, like=None):
    """start + i * step, for as many i as there are below the stop."""
    trace = require_trace()
    start, stop = (0, start_or_stop) if stop is None else (start_or_stop, stop)
    start, stop, step = (prepare(one) for one in (start, stop, step))
    for one in (start, stop, step):
        require_known_at_run_time(trace, one, "as a bound of arange")
    if any(np.dtype(class_of(one)).kind == "f" for one in (start, stop, step)):
        return _between_floats(trace, start, stop, step, dtype)
    if not isinstance(step, TracedArray) and step == 0:
        raise ZeroDivisionError("division by zero")
    if isinstance(step, TracedArray):
        fail_if(trace, (step == 0).instruction(trace), "division by zero", ZeroDivisionError)
    first, last, by = (as_traced(one).astype(np.int64) for one in (start, stop, step))
    by = np.where(by == 0, 1, by)[()]
    room = last - first
    count = np.where(by > 0, np.maximum(room + by - 1, 0) // by, np.maximum(-room - by - 1, 0) // -by)[()]
    plain = not isinstance(start, TracedArray) and start == 0 and not isinstance(step, TracedArray) and step == 1
    bound, size = bounded(trace, (last if plain else count).instruction(trace))
    kind = _type_of_range(start, stop, step) if dtype is None else np.dtype(dtype)
    positions = TracedArray.from_instruction(trace, hlo.iota(hlo.Shape(hlo.S64, (bound,)), 0), is_scalar=False)
    return dynamic(trace, (positions * by + first).astype(kind), {0: size})


def _type_of_range(*bounds: Any) -> np.dtype:
    return result_dtype([np.dtype(np.intp), *map(class_of, bounds)])


def _between_floats(trace: Trace, start: Any, stop: Any, step: Any, dtype: Any) -> TracedArray:
    """As NumPy computes it: the length is a quotient rounded up, the difference of the first two elements is the step."""
    difference = stop - start
    quotient = as_traced(difference / step).astype(np.float64).instruction(trace)
    # Where the quotient is too small to be told from 0, there is one element if it is positive.
    is_one = as_traced((difference != 0) & ((difference > 0) == (step > 0))).instruction(trace)
    count = hlo.select(hlo.and_(hlo.eq(quotient, 0.0), is_one), 1.0, hlo.maximum(hlo.ceil(quotient), 0.0))
    fail_if(trace, hlo.ne(quotient, quotient), "arange: cannot compute length")
    fail_if(trace, hlo.ge(count, 2.0**31), "Maximum allowed size exceeded")
    bound, size = bounded(trace, hlo.convert(count, hlo.S64))
    kind = _type_of_range(start, stop, step) if dtype is None else np.dtype(dtype)
    first, second = (as_traced(one).astype(kind) for one in (start, start + step))
    positions = hlo.iota(hlo.Shape(hlo.element_type_of(kind), (bound,)), 0)
    numbers = TracedArray.from_instruction(trace, positions, is_scalar=False)
    # The first one by itself: the step may be infinite.
    found = np.where(numbers == 0, first, numbers * (second - first) + first)
    return dynamic(trace, found, {0: size})


@implements_dynamic(np.linspace)
def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    """Between two numbers; as NumPy computes it."""
    trace = require_trace(num)
    start, stop = as_traced(start), as_traced(stop)
    if start.ndim or stop.ndim or axis not in (0, -1):
        num = as_index(num, "as the number of samples between arrays")
        return np.linspace(start, stop, num, endpoint, retstep, dtype, axis, device=device)
    require_known_at_run_time(trace, num, "as a number of samples")
    fail_if(trace, (num < 0).instruction(trace), "Number of samples must be non-negative.")
    kind = result_dtype([start.dtype_class, stop.dtype_class, float])
    start, stop = start.astype(kind), stop.astype(kind)
    steps = num - 1 if endpoint else num
    delta = stop - start
    step = np.where(steps > 0, delta / np.where(steps > 0, steps, 1), np.asarray(np.nan, kind)[()])[()].astype(kind)
    positions = arange(num)
    samples = np.where(steps > 0, positions.astype(kind) * step, positions.astype(kind) * delta) + start
    if endpoint:
        samples = np.where((positions == steps) & (num > 1), stop, samples)
    if dtype is not None and np.issubdtype(dtype, np.integer):
        samples = np.floor(samples)
    samples = samples.astype(kind if dtype is None else dtype)
    return (samples, step) if retstep else samples
