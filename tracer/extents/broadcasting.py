"""Operands of sizes that are known at run time only, broadcast together as NumPy does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import hlo
from ..recording.array import TracedArray
from ..recording.dynamic_array import DynamicArray, Sizes, same_value
from ..recording.operands import as_strong, as_traced
from ..recording.trace import Trace

Instruction = hlo.Instruction


def as_array(value: Any) -> TracedArray:
    """A value as a traced array, Python's numbers as int64, float64 or complex128."""
    return value if isinstance(value, DynamicArray) else as_strong(value)


def dimensions_of(value: Any) -> tuple[int, ...]:
    """The bounds of an operand."""
    if isinstance(value, DynamicArray):
        return value.bounds.dimensions
    return value.shape if isinstance(value, TracedArray) else np.shape(value)


def fail_if(trace: Trace, condition: Instruction, message: str, exception: type[Exception] = ValueError) -> None:
    trace.add_error_flag(condition, exception, message)


# What is raised of operands that do not fit together.
Mismatch = tuple[type[Exception], str]
_OF_OPERANDS: Mismatch = (ValueError, "operands could not be broadcast together")


def broadcast_together(trace: Trace, values: Sequence[Any], mismatch: Mismatch = _OF_OPERANDS) -> tuple[list[Any], Sizes]:
    """The operands, as arrays of the bounds, and the sizes of the dynamic dimensions of what they are broadcast to.

    Sizes that are not known to be equal are compared when the program runs: what is raised then is a ``mismatch``.
    """
    rank = max(len(dimensions_of(value)) for value in values)
    results = [value.padded(trace) if isinstance(value, DynamicArray) else value for value in values]
    sizes: Sizes = {}
    for d in range(rank):
        places = []  # the operand's number, its dimension, its bound, its size where that is dynamic
        for number, value in enumerate(values):
            dimensions = dimensions_of(value)
            own = d - rank + len(dimensions)
            if own < 0:
                continue
            size = value.sizes(trace).get(own) if isinstance(value, DynamicArray) else None
            if size is not None or dimensions[own] != 1:
                places.append((number, own, dimensions[own], size))
        dynamic = [place for place in places if place[3] is not None]
        if not dynamic:
            continue
        static = [bound for _, _, bound, size in places if size is None]
        if not static and all(same_value(dynamic[0][3], size) for _, _, _, size in dynamic):
            sizes[d] = dynamic[0][3]
            bound = max(bound for _, _, bound, _ in dynamic)
            for number, own, had, _ in dynamic:
                results[number] = with_bound(results[number], own, had, bound)
            continue
        sizes |= _agreed(trace, places, results, d, mismatch)
    return results, sizes


def _agreed(trace: Trace, places: list[tuple], results: list[Any], dimension: int, mismatch: Mismatch) -> Sizes:
    """Sizes of a dimension that are not known to be equal: those that are 1 are stretched, the others must be one."""
    exception, message = mismatch
    one = hlo.constant(np.int32(1))
    static = {bound for _, _, bound, size in places if size is None}
    if len(static) > 1:
        raise exception(f"{message}: sizes {sorted(static)} of dimension {dimension}")
    if static:
        (bound,) = static
        common: Instruction = hlo.constant(np.int32(bound))
    else:
        bound = max(bound for _, _, bound, _ in places)
        common = one
        for _, _, _, size in places:
            common = hlo.select(hlo.eq(common, one), size, common)
    for number, own, had, size in places:
        if size is None:
            continue
        is_one = hlo.eq(size, one)
        different = hlo.and_(hlo.not_(is_one), hlo.ne(size, common))
        fail_if(trace, different, f"{message}: sizes that are known at run time differ", exception)
        array = with_bound(results[number], own, had, bound)
        if had and bound:
            first = results[number][(slice(None),) * own + (slice(0, 1),)]
            stretched = np.broadcast_to(first, array.shape).instruction(trace)
            predicate = hlo.broadcast(is_one, array.shape, ())
            chosen = hlo.select(predicate, stretched, array.instruction(trace))
            array = TracedArray.from_instruction(trace, chosen, is_scalar=False)
        results[number] = array
    return {} if static else {dimension: common}


def with_bound(array: Any, dimension: int, had: int, bound: int) -> Any:
    """An array cut or padded along a dimension."""
    if had == bound:
        return array
    if had > bound:
        return array[(slice(None),) * dimension + (slice(0, bound),)]
    array = as_traced(array)
    return np.pad(array, [(0, bound - had if d == dimension else 0) for d in range(array.ndim)])
