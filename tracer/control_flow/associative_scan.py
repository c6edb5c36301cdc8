"""Scans of associative operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..recording import pytree
from ..recording.current_trace import current_trace
from ..recording.errors import CarryTypeError
from .bodies import function_place
from .scan import scan


def associative_scan(fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """``elems`` combined up to each position: element i is ``fn(... fn(fn(x0, x1), x2) ..., xi)``.

    fn: an associative operation on arrays or containers of arrays like elems, of any size along the axis, which it keeps; it
    returns the same structure, shapes and dtypes. elems: an array or container of arrays of one size along the axis. reverse:
    from the last element to the first; results still stand where their elements do.

    In which order pairs are combined is left open, and results are rounded accordingly. Raises ValueError where sizes along the
    axis differ, or an array has no such axis, CarryTypeError where fn changes structures, shapes or dtypes.

    >>> associative_scan(np.maximum, np.array([1, 3, 2, 5, 4]))
    array([1, 3, 3, 5, 5])
    >>> associative_scan(np.add, np.array([[1, 2], [3, 4]]), reverse=True, axis=1)
    array([[3, 2],
           [7, 4]])
    """
    leaves, structure = pytree.flatten(elems)
    axes = _axes(leaves, pytree.leaf_paths(structure, "elems"), axis)
    if not leaves or leaves[0].shape[axes[0]] < 2:
        return pytree.unflatten(structure, [np.copy(leaf) for leaf in leaves])

    def combine(first: list[Any], second: list[Any]) -> list[Any]:
        found, given = pytree.flatten(fn(pytree.unflatten(structure, first), pytree.unflatten(structure, second)))
        if given != structure:
            _refuse(fn, pytree.structure_text(structure), pytree.structure_text(given))
        for one, other in zip(found, second):
            if (getattr(one, "dtype", None), np.shape(one)) != (other.dtype, other.shape):
                _refuse(fn, _described(other), _described(one))
        return found

    combined = _by_halves if current_trace() is None else _by_elements
    return pytree.unflatten(structure, combined(combine, leaves, axes, reverse))


# What combines two lists of arrays.
Combine = Callable[[list[Any], list[Any]], list[Any]]


def _refuse(fn: Callable[..., Any], required: str, given: str) -> None:
    raise CarryTypeError(f"associative_scan: the operation, {function_place(fn)}, must return {required}, it returned {given}")


def _described(value: Any) -> str:
    dtype = getattr(value, "dtype", type(value).__name__)
    return f"{dtype}[{','.join(map(str, np.shape(value)))}]"


def _axes(leaves: list[Any], paths: list[str], axis: int) -> list[int]:
    """The axis from the front, for each of the arrays."""
    sizes = {}
    for leaf, path in zip(leaves, paths):
        shape = getattr(leaf, "shape", ())
        if not -len(shape) <= axis < len(shape):
            raise ValueError(f"associative_scan: {path} must have an axis {axis}, got an array of {len(shape)} dimensions")
        sizes[path] = shape[axis]
    if len(set(sizes.values())) > 1:
        given = ", ".join(f"{path}: {size}" for path, size in sizes.items())
        raise ValueError(f"associative_scan: all sizes along axis {axis} must agree, got {given}")
    return [axis % leaf.ndim for leaf in leaves]


def _by_elements(combine: Combine, arrays: list[Any], axes: list[int], reverse: bool) -> list[Any]:
    """In a loop: on one core no order of the work is faster, as each element is read once."""
    first, others = (slice(-1, None), slice(-1)) if reverse else (slice(1), slice(1, None))
    rows = [np.moveaxis(array, axis, 0) for array, axis in zip(arrays, axes)]

    def body(before: list[Any], row: list[Any]) -> tuple[list[Any], list[Any]]:
        found = combine(before, [np.expand_dims(one, axis) for one, axis in zip(row, axes)])
        return found, [np.moveaxis(one, axis, 0)[0] for one, axis in zip(found, axes)]

    start = [np.moveaxis(row[first], 0, axis) for row, axis in zip(rows, axes)]
    _, found = scan(body, start, [row[others] for row in rows], reverse=reverse)
    results = []
    for row, further, axis in zip(rows, found, axes):
        parts = (further, row[first]) if reverse else (row[first], further)
        results.append(np.moveaxis(np.concatenate(parts), 0, axis))
    return results


def _by_halves(combine: Combine, arrays: list[Any], axes: list[int], reverse: bool) -> list[Any]:
    """With few calls of the operation, for the interpreter: neighbours are combined, these are scanned, and what is between."""
    if reverse:
        flipped = [np.flip(array, axis) for array, axis in zip(arrays, axes)]
        found = _by_halves(combine, flipped, axes, False)
        return [np.flip(array, axis) for array, axis in zip(found, axes)]
    count = arrays[0].shape[axes[0]]
    if count < 2:
        return arrays

    def some(arrays: list[Any], start: int, stop: int | None = None, step: int | None = None) -> list[Any]:
        return [array[(slice(None),) * axis + (slice(start, stop, step),)] for array, axis in zip(arrays, axes)]

    odd = _by_halves(combine, combine(some(arrays, 0, count - 1, 2), some(arrays, 1, None, 2)), axes, False)
    results = [np.empty_like(array) for array in arrays]
    even = combine(some(odd, 0, (count - 1) // 2), some(arrays, 2, None, 2)) if count > 2 else some(arrays, count)
    for parts, places in ((some(arrays, 0, 1), (0, 1, 1)), (even, (2, None, 2)), (odd, (1, None, 2))):
        for part, target in zip(parts, some(results, *places)):
            target[...] = part
    return results
