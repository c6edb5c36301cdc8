"""Loops over the elements of arrays that collect results: scan and map."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import hlo
from ..recording import pytree
from ..recording.array import TracedArray
from ..recording.current_trace import current_trace
from ..recording.errors import CarryTypeError
from ..recording.trace import Storage, Trace
from .bodies import copied_state, function_place, is_constant, traced_leaf
from .loops import counted_loop


def scan(
    body_fun: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any = None, length: int | None = None, reverse: bool = False
) -> tuple[Any, Any]:
    """``carry, y = body_fun(carry, x)`` for each x along the first axis of xs; the last carry and all y stacked.

    init: the first carry; it keeps its type as the state of `while_loop` does. xs: an array or container of arrays with the
    same first dimension n, or None together with ``length`` = n. reverse: from the last element to the first; y still stands
    where its x does. Where n is 0 the results y are not known, and ValueError is raised.

    >>> scan(lambda total, x: (total + x, total), 0, np.array([1, 2, 3]))
    (np.int64(6), array([0, 1, 3]))
    """
    outer = current_trace()
    leaves, structure = pytree.flatten(xs)
    count = _length(leaves, pytree.leaf_paths(structure, "xs"), length)
    if outer is None:
        return _plain_scan(body_fun, init, leaves, structure, count, reverse)
    arrays = [traced_leaf(leaf, path, "scan") for leaf, path in zip(leaves, pytree.leaf_paths(structure, "xs"))]
    collected: dict[str, Any] = {}

    def body(counter: Any, carry: Any) -> Any:
        trace = current_trace()
        position = counter.instruction(trace)
        if reverse:
            position = hlo.subtract(count - 1, position)
        elements = [_element(trace, array, position) for array in arrays]
        carry, y = _pair(body_fun(carry, pytree.unflatten(structure, elements)), body_fun)
        y_leaves, y_structure = pytree.flatten(y)
        paths = pytree.leaf_paths(y_structure, "y")
        buffers = [
            leaf if is_constant(leaf) else store_row(outer, trace, traced_leaf(leaf, path, "scan"), position, count)
            for leaf, path in zip(y_leaves, paths)
        ]
        collected["ys"] = (y_structure, buffers)  # recorded again, the loop fills other buffers
        return carry

    carry = counted_loop(outer, "scan", 0, count, body, init, function_place(body_fun))
    y_structure, buffers = collected["ys"]
    ys = [TracedArray(buffer, buffer.instruction.shape) if isinstance(buffer, Storage) else buffer for buffer in buffers]
    return carry, pytree.unflatten(y_structure, ys)


def map(function: Callable[[Any], Any], xs: Any) -> Any:
    """``function(x)`` for each x along the first axis of xs, stacked.

    xs and results are arrays or containers of arrays, as for `scan`. The function runs once for each element; use NumPy's own
    operations on whole arrays where they can do the same.

    >>> map(lambda x: x * x, np.array([1, 2, 3]))
    array([1, 4, 9])
    """
    return scan(lambda _, x: (None, function(x)), None, xs)[1]


def _length(leaves: list[Any], paths: list[str], length: int | None) -> int:
    counts = {}
    for leaf, path in zip(leaves, paths):
        shape = getattr(leaf, "shape", ())
        if not shape:
            raise ValueError(f"scan: {path} must have at least one dimension to go along, got a scalar")
        counts[path] = shape[0]
    if length is not None:
        counts["length"] = operator.index(length)
    if not counts:
        raise ValueError("scan: without arrays in xs, length is required")
    if len(set(counts.values())) > 1:
        raise ValueError(
            f"scan: all first dimensions must agree, got {', '.join(f'{path}: {n}' for path, n in counts.items())}"
        )
    count = next(iter(counts.values()))
    if count < 1:
        raise ValueError("scan: at least one element is required, because the results' types are not known otherwise")
    return count


def _plain_scan(
    body_fun: Callable[..., Any], carry: Any, leaves: list[Any], structure: pytree.Structure, count: int, reverse: bool
) -> tuple[Any, Any]:
    carry = copied_state(carry)
    rows = []
    y_structure = None
    for position in reversed(range(count)) if reverse else range(count):
        carry, y = _pair(
            body_fun(carry, copied_state(pytree.unflatten(structure, [leaf[position] for leaf in leaves]))), body_fun
        )
        row, y_structure = pytree.flatten(y)
        rows.append(row)
    if reverse:
        rows.reverse()
    columns = [column[0] if is_constant(column[0]) else np.stack(column) for column in zip(*rows)]
    return carry, pytree.unflatten(y_structure, columns)


def _pair(result: Any, body_fun: Callable[..., Any]) -> tuple[Any, Any]:
    if not isinstance(result, tuple) or len(result) != 2:
        given = (
            f"a tuple of {len(result)}"
            if isinstance(result, tuple)
            else f"a value of {getattr(result, 'run_time_type', type(result)).__name__}"
        )
        raise CarryTypeError(
            f"scan: the body function, {function_place(body_fun)}, must return (carry, y), it returned {given}"
        )
    return result


def _element(trace: Trace, array: Any, position: hlo.Instruction) -> Any:
    """Element ``position``, known to be in range, along the first axis."""
    zero = hlo.constant(np.int64(0))
    starts = [position, *[zero] * (len(array.shape) - 1)]
    row = hlo.dynamic_slice(array.instruction(trace), *starts, sizes=(1, *array.shape[1:]))
    return TracedArray.from_instruction(trace, hlo.reshape(row, array.shape[1:]))


def store_row(outer: Trace, trace: Trace, array: Any, position: hlo.Instruction, count: int) -> Storage:
    """Write the array as row ``position`` of a new buffer outside of the loop, which so becomes part of the loop's state."""
    value = array.instruction(trace)
    with outer.builder:
        zero = hlo.constant(np.zeros((), array.dtype))
        buffer = Storage(outer, hlo.broadcast(zero, (count, *array.shape), ()))
    row = hlo.reshape(value, (1, *array.shape))
    starts = [position, *[hlo.constant(np.int64(0))] * len(array.shape)]
    trace.write(buffer, hlo.dynamic_update_slice(trace.read(buffer), row, *starts))
    trace.filled.add(buffer)
    return buffer
