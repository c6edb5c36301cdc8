"""Running sums, products and extrema: ``accumulate`` of ufuncs."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ... import hlo
from ...compile.scan_steps import running_step
from ..recording import promotion
from ..recording.array import TracedArray
from ..recording.function_tables import UFUNCS, implements, implements_method, ufunc_kernel
from ..recording.memory_order import laid_out
from ..recording.operands import as_traced, convert, normalize_axis, require_no_bool, result, store, value
from .folds import accumulated
from .powers import require_nonnegative_behind_first
from .reductions import accumulation_type, combiner, exact_identity

Instruction = hlo.Instruction


@implements_method(np.ufunc.accumulate)
def accumulate_ufunc(ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> TracedArray:
    """``ufunc.accumulate``: element i of the result combines the elements 0 to i along the axis."""
    kernel = UFUNCS.get(ufunc) or ufunc_kernel(ufunc)
    if ufunc.nin != 2 or ufunc.nout != 1:
        raise ValueError("accumulate only supported for binary functions")
    require_no_bool(axis)
    trace, operand = value(array)
    if operand.shape.rank == 0:
        raise TypeError("cannot accumulate on a scalar")
    axis = normalize_axis(single_axis("accumulate", axis, operand.shape.rank), operand.shape.rank)
    kind = promotion.resolve_reduction(ufunc, operand.shape.dtype, dtype)
    element_type = hlo.element_type_of(kind)
    operand = convert(convert(operand, element_type), accumulation_type(ufunc, element_type))
    if ufunc is np.power:
        require_nonnegative_behind_first(trace, operand, (axis,), 1)
    if kernel.identity is None:
        scanned = accumulated(ufunc, operand, axis)
    else:
        scanned = scan_instruction(ufunc, operand, axis)
    whole = result(trace, convert(scanned, element_type))
    return store(out, laid_out(whole, (array,) if isinstance(array, TracedArray) else ()))


def single_axis(method: str, axis: Any, rank: int) -> Any:
    """The axis of a method that works along one: None stands for all, a tuple may name one."""
    axes = tuple(range(rank)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if len(axes) != 1:
        raise ValueError(f"{method} does not allow multiple axes")
    return axes[0]


def scan_instruction(ufunc: np.ufunc, operand: Instruction, axis: int) -> Instruction:
    """The operand's slices, each combined with all before it."""
    sizes, element_type = operand.shape.dimensions, operand.shape.element_type
    if sizes[axis] == 0:
        return operand
    rest = sizes[:axis] + sizes[axis + 1 :]
    init = hlo.broadcast_in_dim(hlo.constant(exact_identity(ufunc, element_type), element_type), rest, ())
    step = _step(ufunc, element_type, rest)
    return hlo.get_tuple_element(hlo.scan(operand, init, dimensions=(axis,), num_carries=1, to_apply=step), 0)


@lru_cache(maxsize=256)
def _step(ufunc: np.ufunc, element_type: hlo.ElementType, dimensions: tuple[int, ...]) -> hlo.Computation:
    return running_step(combiner(ufunc, element_type), dimensions)


def _scan(ufunc: np.ufunc, a: Any, axis: Any, dtype: Any, out: Any) -> TracedArray:
    a = as_traced(a)
    if axis is None or a.ndim == 0:
        if axis is not None:
            normalize_axis(axis, 1)
        a, axis = a.reshape(-1), 0
    return accumulate_ufunc(ufunc, a, axis, dtype, out)


@implements(np.cumsum)
def cumsum(a, axis=None, dtype=None, out=None):
    return _scan(np.add, a, axis, dtype, out)


@implements(np.cumprod)
def cumprod(a, axis=None, dtype=None, out=None):
    return _scan(np.multiply, a, axis, dtype, out)


def _cumulative(ufunc: np.ufunc, x: Any, axis: Any, dtype: Any, out: Any, include_initial: bool) -> TracedArray:
    x = as_traced(x)
    if axis is None:
        if x.ndim > 1:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        axis = 0
    if x.ndim == 0:
        x = x.reshape(1)
    total = accumulate_ufunc(ufunc, x, axis, dtype)
    if include_initial:
        shape = list(total.shape)
        shape[normalize_axis(axis, total.ndim)] = 1
        first = np.full_like(total, UFUNCS[ufunc].identity(total.dtype), shape=tuple(shape))
        total = np.concatenate([first, total], axis)
    return store(out, total)


if hasattr(np, "cumulative_sum"):

    @implements(np.cumulative_sum)
    def cumulative_sum(x, /, *, axis=None, dtype=None, out=None, include_initial=False):
        return _cumulative(np.add, x, axis, dtype, out, include_initial)

    @implements(np.cumulative_prod)
    def cumulative_prod(x, /, *, axis=None, dtype=None, out=None, include_initial=False):
        return _cumulative(np.multiply, x, axis, dtype, out, include_initial)
