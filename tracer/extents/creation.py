"""Arrays made in sizes that are known at run time only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import hlo
from ..recording.array import TracedArray, require_trace
from ..recording.dynamic_array import Sizes, dynamic
from ..recording.function_tables import FUNCTIONS, implements_dynamic
from ..recording.operands import as_traced, prepare
from ..recording.trace import Trace
from .bounds import bounded, require_known_at_run_time, size_of_shape
from .broadcasting import fail_if


def bounds_of_shape(trace: Trace, shape: Any, purpose: str = "as a size of a shape") -> tuple[tuple[int, ...], Sizes]:
    """The bounds of a shape, and the sizes that are known at run time only."""
    if isinstance(shape, TracedArray) and not shape.is_dynamic and shape.ndim:
        given: Any = [shape[d] for d in range(shape.shape[0])]
    else:
        given = shape if isinstance(shape, (list, tuple)) else (shape,)
    found = [size_of_shape(trace, size, purpose) for size in given]
    return tuple(bound for bound, _ in found), {d: size for d, (_, size) in enumerate(found) if size is not None}


def _in_shape(function: Callable) -> Callable:
    @implements_dynamic(function)
    def implementation(shape: Any, *rest: Any, **arguments: Any) -> TracedArray:
        trace = require_trace()
        bounds, sizes = bounds_of_shape(trace, shape)
        return dynamic(trace, FUNCTIONS[function](bounds, *rest, **arguments), sizes)

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
        if isinstance(one, TracedArray) and not one.element_type.is_integer:
            raise NotImplementedError("np.arange between traced floats is not implemented: use integers, or np.linspace")
    if not isinstance(step, TracedArray) and step == 0:
        raise ZeroDivisionError("division by zero")
    if isinstance(step, TracedArray):
        fail_if(trace, (step == 0).instruction(trace), "division by zero", ZeroDivisionError)
    first, last, by = (as_traced(one).astype(np.int64) for one in (start, stop, step))
    by = np.where(by == 0, 1, by)[()]
    room = last - first
    count = np.where(by > 0, np.maximum(room + by - 1, 0) // by, np.maximum(-room - by - 1, 0) // -by)[()]
    plain = not isinstance(start, TracedArray) and start == 0 and not isinstance(step, TracedArray) and step == 1
    wanted = last.instruction(trace) if plain else count.instruction(trace)
    bound, size = bounded(trace, wanted if plain else count.instruction(trace))
    kind = np.result_type(*(one for one in (start, stop, step))) if dtype is None else np.dtype(dtype)
    positions = TracedArray.from_instruction(trace, hlo.iota(hlo.Shape(hlo.S64, (bound,)), 0), is_scalar=False)
    return dynamic(trace, (positions * by + first).astype(kind), {0: size})
