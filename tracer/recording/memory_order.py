"""The order in which NumPy lays out the arrays that its functions return.

In HLO all of them are row-major. NumPy keeps the order of the operands ("K"), and it decides whether ``reshape`` or ``ravel``
of a result is a view or a copy, and so what writing to it changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...hlo.shape import row_major_strides
from .array import TracedArray, require_trace


def order_named(order: str | None, default: str = "K") -> str:
    """The memory order of this name, in either case. Raises ValueError where it is none.

    >>> order_named("f"), order_named(None, "C")
    ('F', 'C')
    """
    if order is None:
        return default
    if not isinstance(order, str):
        raise TypeError(f"order must be str, not {type(order).__name__}")
    if order.upper() not in ("C", "F", "A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    return order.upper()


def laid_out(result: TracedArray, operands: Iterable[Any], order: str = "K", as_copy: bool = False) -> TracedArray:
    """The result, a fresh array, with the strides that NumPy gives an elementwise function's of these operands.

    operands: traced or other arrays, and scalars; they broadcast to the result's shape. as_copy: those of a copy, of
    ``zeros_like``, and of joined arrays, for which an axis with a stride of 0 is an innermost one.
    """
    order = order_named(order)
    result.unusual_strides = None  # and not those of an argument that it is a copy of
    if result.ndim < 2 or order == "C":
        return result
    usual = ((), result.shape)
    if order == "K" and all(
        [type(one) is TracedArray and one.unusual_strides is None and one.shape in usual for one in operands]
    ):
        return result
    if result.is_dynamic or any(isinstance(one, TracedArray) and one.is_dynamic for one in operands):
        return result
    layouts = [_layout(operand) for operand in operands if np.ndim(operand)]
    if order == "F" or order == "A" and layouts and all(_is_column_major(*layout) for layout in layouts):
        axes: Sequence[int] = range(result.ndim)
    elif order == "A" or all(sizes == result.shape and steps == row_major_strides(sizes) for sizes, steps in layouts):
        return result
    else:
        found = _copied_innermost_first if as_copy else innermost_first
        axes = found([_broadcast(layout, result.ndim, as_copy) for layout in layouts], result.ndim)
    return in_axes_order(result, axes)


def in_axes_order(result: TracedArray, axes: Sequence[int]) -> TracedArray:
    """The result, a fresh array, with its axes in this order in memory, the innermost one first."""
    placed, step = [0] * result.ndim, 1
    for axis in axes:
        placed[axis] = step
        step *= result.shape[axis]
    result.unusual_strides = None if tuple(placed) == row_major_strides(result.shape) else tuple(placed)
    return result


def reduced_from(result: TracedArray, array: Any, axes: Sequence[int]) -> TracedArray:
    """The result of a reduction along these axes, which are left out of it or have size 1, with the strides of NumPy's."""
    if result.ndim < 2 or not isinstance(array, TracedArray) or array.unusual_strides is None:
        return result
    order = innermost_first([strides_told(array)], array.ndim)
    if result.ndim < array.ndim:
        kept = [axis for axis in range(array.ndim) if axis not in axes]
        order = [kept.index(axis) for axis in order if axis in kept]
    return in_axes_order(result, order)


def fresh(array: TracedArray) -> TracedArray:
    """The same elements in an array of their own, row-major."""
    trace = require_trace(array)
    return TracedArray.from_instruction(trace, array.instruction(trace), is_scalar=False)


def in_order_of(result: TracedArray, array: Any) -> TracedArray:
    """The result, a fresh array, column-major where the array is so and not row-major: what NumPy makes by ``flags.fnc``."""
    return laid_out(result, (), "F" if is_column_major_alone(array) else "C")


def axes_in_memory(array: Any) -> list[int]:
    """The axes of an array, that with the largest steps in memory first.

    >>> axes_in_memory(np.ones((2, 3, 4)).transpose(1, 2, 0))
    [2, 0, 1]
    """
    layout = _layout(array)
    return innermost_first([_broadcast(layout, len(layout[0]))], len(layout[0]))[::-1]


def broadcast_order(arrays: Sequence[Any], rank: int) -> list[int]:
    """The axes of what arrays broadcast to, in the order in which NumPy's iterator goes over them: the innermost one first."""
    return innermost_first([_broadcast(_layout(array), rank) for array in arrays], rank)


Layout = tuple[tuple[int, ...], tuple[int, ...]]  # sizes, and elements to step over


def _layout(operand: Any) -> Layout:
    if isinstance(operand, TracedArray):
        return operand.shape, operand.element_strides
    operand = np.asarray(operand)
    return operand.shape, tuple(step // max(1, operand.itemsize) for step in operand.strides)


Strides = Sequence[int | None]


def strides_told(array: Any) -> Strides:
    """The strides of an array's axes, None for those that tell nothing about an order."""
    layout = _layout(array)
    return _broadcast(layout, len(layout[0]))


def _broadcast(layout: Layout, rank: int, zeros_tell: bool = False) -> Strides:
    """The strides in an array of this rank, None along dimensions of one element, and where one is 0 and that tells nothing."""
    told = [None if size == 1 or not (step or zeros_tell) else step for size, step in zip(*layout)]
    return (None,) * (rank - len(layout[0])) + tuple(told)


def is_contiguous(array: Any, order: str) -> bool:
    """Whether an array, traced or not, lies in memory row-major ("C") or column-major ("F"), without gaps.

    >>> is_contiguous(np.ones((2, 3)).T, "F"), is_contiguous(np.ones((2, 3))[:, ::2], "C")
    (True, False)
    """
    sizes, strides = _layout(array)
    if order == "C":
        sizes, strides = sizes[::-1], strides[::-1]
    return 0 in sizes or _is_column_major(sizes, strides)


def is_column_major_alone(array: Any) -> bool:
    """Whether an array lies column-major, and not row-major as well: ``flags.fnc``.

    >>> is_column_major_alone(np.ones((2, 3)).T), is_column_major_alone(np.ones(3))
    (True, False)
    """
    return is_contiguous(array, "F") and not is_contiguous(array, "C")


def _is_column_major(sizes: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    wanted = row_major_strides(sizes[::-1])[::-1]
    return all(size == 1 or one == other for size, one, other in zip(sizes, strides, wanted))


def innermost_first(strides: Sequence[Strides], rank: int) -> list[int]:
    """The axes in the order of NumPy's iterator: by insertion, an axis goes inside of those along which steps are larger.

    Where operands disagree, or say nothing, the axes stay as they are in row-major order. Source:
    ``npyiter_find_best_axis_ordering`` of NumPy.
    """
    axes: list[int] = []
    for axis in reversed(range(rank)):
        place = len(axes)
        for position in reversed(range(len(axes))):
            inner = _goes_inside(strides, axis, axes[position])
            if inner is None:
                continue
            if not inner:
                break
            place = position
        axes.insert(place, axis)
    return axes


def _copied_innermost_first(strides: Sequence[Strides], rank: int) -> list[int]:
    """The axes in the order of NumPy's copies, the innermost one first: by insertion, beginning with the first axis.

    Source: ``PyArray_CreateMultiSortedStridePerm`` of NumPy.
    """
    axes: list[int] = []  # the outermost one first
    for axis in range(rank):
        place = len(axes)
        for position in reversed(range(len(axes))):
            outside = _goes_inside(strides, axes[position], axis)
            if outside is None:
                continue
            if not outside:
                break
            place = position
        axes.insert(place, axis)
    return axes[::-1]


def _goes_inside(strides: Sequence[Strides], axis: int, other: int) -> bool | None:
    """Whether all operands that tell have smaller steps along the axis than along the other one; None where none tells."""
    found: bool | None = None
    for steps in strides:
        own, others = steps[axis], steps[other]
        if own is not None and others is not None:
            if abs(others) <= abs(own):
                found = False
            elif found is None:
                found = True
    return found
