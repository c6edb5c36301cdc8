"""Elements combined in their order, one after the other: ufuncs that are not associative, and parts that start anew."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ... import hlo
from ..recording.function_tables import ufunc_kernel
from ..recording.operands import broadcast, convert

Instruction = hlo.Instruction


def folded(ufunc: np.ufunc, operand: Instruction, starts: Instruction, axis: int) -> Instruction:
    """Each slice, combined with those before it back to the last one that starts anew.

    The operand has the type of the results; starts, pred of the same shape, is true at the first slice.
    """
    sizes, element_type = operand.shape.dimensions, operand.shape.element_type
    rest = sizes[:axis] + sizes[axis + 1 :]
    init = hlo.full(hlo.Shape(element_type, rest), 0)
    step = _step(ufunc, element_type, rest)
    return hlo.get_tuple_element(hlo.scan(operand, starts, init, dimensions=(axis,), num_carries=1, to_apply=step), 0)


@lru_cache(maxsize=256)
def _step(ufunc: np.ufunc, element_type: hlo.ElementType, dimensions: tuple[int, ...]) -> hlo.Computation:
    def step(x: Instruction, starts: Instruction, carry: Instruction) -> Instruction:
        total = hlo.select(starts, x, convert(ufunc_kernel(ufunc).emit(carry, x), element_type))
        return hlo.tuple(total, total)

    shape = hlo.Shape(element_type, dimensions)
    return hlo.computation(f"folded_{ufunc.__name__}", [shape, shape.with_element_type(hlo.PRED), shape], step)


@lru_cache(maxsize=256)
def _combining_step(ufunc: np.ufunc, element_type: hlo.ElementType, dimensions: tuple[int, ...]) -> hlo.Computation:
    shape = hlo.Shape(element_type, dimensions)

    def step(x: Instruction, carry: Instruction) -> Instruction:
        return convert(ufunc_kernel(ufunc).emit(carry, x), element_type)

    return hlo.computation(f"combined_{ufunc.__name__}", [shape, shape], step)


def accumulated(ufunc: np.ufunc, operand: Instruction, axis: int) -> Instruction:
    """The slices of a dimension, each combined with all before it, in order."""
    if not operand.shape.dimensions[axis]:
        return operand
    first = hlo.eq(hlo.iota(operand.shape.without_layout().with_element_type(hlo.S64), axis), 0)
    return folded(ufunc, operand, first, axis)


def reduced_in_order(ufunc: np.ufunc, operand: Instruction, axes: tuple[int, ...], initial: Instruction | None) -> Instruction:
    """All slices of a dimension combined in order, behind the initial one if there is any."""
    if len(axes) > 1:
        raise ValueError(f"reduction operation '{ufunc.__name__}' is not reorderable, so at most one axis may be specified")
    if not axes and initial is not None:
        return convert(
            ufunc_kernel(ufunc).emit(broadcast(initial, operand.shape.dimensions), operand), operand.shape.element_type
        )
    if not axes:
        return operand
    (axis,) = axes
    sizes, element_type = operand.shape.dimensions, operand.shape.element_type
    rest = sizes[:axis] + sizes[axis + 1 :]
    if initial is None:
        first = hlo.slice(operand, [0] * len(sizes), [1 if d == axis else size for d, size in enumerate(sizes)])
        operand = hlo.slice(operand, [int(d == axis) for d in range(len(sizes))], sizes)
        initial = hlo.reshape(first, rest)
    else:
        initial = hlo.broadcast_in_dim(initial, rest, ())
    step = _combining_step(ufunc, element_type, rest)
    return hlo.scan(operand, initial, dimensions=(axis,), num_carries=1, to_apply=step)
