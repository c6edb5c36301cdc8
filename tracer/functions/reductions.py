"""Reductions: sum, product, extrema, any and all, positions of extrema, and ``reduce`` of every associative ufunc.

NumPy's accumulation types hold: small integers and booleans are summed in int64 or uint64, halves in float32 (rounded
once at the end). The order of summation is the backend's.
"""

from __future__ import annotations

from functools import cache, partial
from math import prod
from typing import Any

import numpy as np

from ... import hlo
from ..recording import promotion
from ..recording.array import TracedArray
from ..recording.cast_errors import handling
from ..recording.function_tables import UFUNCS, implements, implements_method, ufunc_kernel
from ..recording.memory_order import reduced_from
from ..recording.operands import (
    as_traced,
    broadcast,
    broadcast_shapes,
    convert,
    instruction_of,
    normalize_axes,
    normalize_axis,
    require_no_bool,
    require_out,
    result,
    store,
    value,
)
from ..recording.trace import Trace
from . import arithmetic
from .floating_point_errors import flag_errors_of_reduction
from .folds import reduced_in_order
from .powers import require_nonnegative_behind_first

Instruction = hlo.Instruction
_NO_VALUE = np._NoValue


@implements_method(np.ufunc.reduce)
def reduce_ufunc(
    ufunc: np.ufunc,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = _NO_VALUE,
    where: Any = True,
) -> TracedArray:
    """``ufunc.reduce``: combines the elements along the axes (None: all).

    Those of ufuncs that are not associative are combined in order. Raises ValueError for an empty reduction of a ufunc without
    identity (maximum, minimum).
    """
    kernel = UFUNCS.get(ufunc) or ufunc_kernel(ufunc)
    if ufunc.nin != 2 or ufunc.nout != 1:
        raise ValueError("reduce only supported for binary functions")
    require_no_bool(axis)
    trace, operand = value(array)
    axes = () if not operand.shape.rank and axis in (0, -1) else normalize_axes(axis, operand.shape.rank)
    if out is not None and dtype is None and not ufunc.types[0].endswith("?"):
        dtype = require_out(out[0] if isinstance(out, tuple) else out).dtype
    kind = promotion.resolve_reduction(ufunc, operand.shape.dtype, dtype)
    element_type = hlo.element_type_of(kind)
    sizes = operand.shape.dimensions
    if ufunc.identity is None and initial in (_NO_VALUE, None) and prod(sizes[axis] for axis in axes) == 0:
        raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
    if where is not True and ufunc.identity is None and initial in (_NO_VALUE, None):
        raise ValueError(
            f"reduction operation '{ufunc.__name__}' does not have an identity, so to use a where mask one has to specify "
            "'initial'"
        )
    wide = accumulation_type(ufunc, element_type)
    operand = convert(convert(operand, element_type), wide)
    if kernel.identity is None:
        if where is not True:
            raise NotImplementedError(
                f"np.{ufunc.__name__}.reduce with where= is not implemented: the ufunc is not associative"
            )
        initial = ufunc.identity if initial is _NO_VALUE else initial
        start = None if initial is None else instruction_of(trace, initial, wide)
        if ufunc is np.power:
            require_nonnegative_behind_first(trace, operand, axes, int(start is None))
        return finish(trace, reduced_in_order(ufunc, operand, axes, start), sizes, axes, keepdims, out, array)
    operand = masked(trace, operand, where, kernel.identity(wide.dtype))
    start = None if initial in (_NO_VALUE, None) else instruction_of(trace, initial, wide)
    reduced = reduce_instruction(ufunc, operand, axes, start)
    if handling(trace):
        flag_errors_of_reduction(trace, ufunc, operand, reduced, axes)
    reduced = convert(reduced, hlo.element_type_of(_result_dtype(ufunc, element_type)))
    return finish(trace, reduced, sizes, axes, keepdims, out, array)


def accumulation_type(ufunc: np.ufunc, element_type: hlo.ElementType) -> hlo.ElementType:
    """The type in which elements are combined: sums and products of floats of 16 bits in f32."""
    sums = ufunc in (np.add, np.multiply, np.logaddexp, np.logaddexp2, np.hypot)
    return hlo.F32 if sums and element_type.is_float and element_type.bits < 32 else element_type


def _result_dtype(ufunc: np.ufunc, element_type: hlo.ElementType) -> np.dtype:
    return promotion.resolve(ufunc, (element_type.dtype, element_type.dtype))[-1]


def masked(trace: Trace, operand: Instruction, where: Any, identity: Any) -> Instruction:
    """The operand with the identity where the mask does not hold."""
    if where is True or where is _NO_VALUE:
        return operand
    if isinstance(where, TracedArray) and where.is_dynamic:
        raise NotImplementedError("where= whose size is known at run time only, of an array of known sizes")
    shape = operand.shape.dimensions
    mask = instruction_of(trace, where if isinstance(where, TracedArray) else np.asarray(where, bool), hlo.PRED)
    if broadcast_shapes(shape, mask.shape.dimensions) != shape:
        raise ValueError(f"non-broadcastable operand: where has shape {mask.shape.dimensions}, the array {shape}")
    return hlo.select(broadcast(mask, shape), operand, hlo.full_like(operand, identity))


# How the other number is compared that is to take the place of an extremum.
_WITHOUT_NAN = {np.fmax: "GT", np.fmin: "LT"}


def _better_number(x: Instruction, y: Instruction, direction: str) -> Instruction:
    """fmax or fmin of floats, of zeros either: the order in which a reduction combines them is nobody's."""
    return hlo.select(hlo.eq(x, x), hlo.select(hlo.compare(y, x, direction=direction), y, x), y)


@cache
def combiner(ufunc: np.ufunc, element_type: hlo.ElementType) -> hlo.Computation:
    """The scalar computation of the ufunc's kernel, as a reduction's ``to_apply``."""
    scalar, emit = hlo.Shape(element_type), UFUNCS[ufunc].emit
    if ufunc in _WITHOUT_NAN and element_type.is_float:
        emit = partial(_better_number, direction=_WITHOUT_NAN[ufunc])
    name = f"{ufunc.__name__}_{element_type.name}"
    return hlo.computation(name, [scalar, scalar], lambda a, b: convert(emit(a, b), element_type))


def exact_identity(ufunc: np.ufunc, element_type: hlo.ElementType) -> Any:
    """What changes no element, not the sign of a zero either."""
    if ufunc is np.add and not element_type.is_integer and element_type is not hlo.PRED:
        return complex(-0.0, -0.0) if element_type.is_complex else -0.0
    return UFUNCS[ufunc].identity(element_type.dtype)


def reduce_instruction(
    ufunc: np.ufunc, operand: Instruction, axes: tuple[int, ...], start: Instruction | None = None
) -> Instruction:
    """The reduced dimensions are dropped; ``start`` is combined with the result where it is given."""
    element_type = operand.shape.element_type
    if axes:
        identity = UFUNCS[ufunc].identity(element_type.dtype) if start is None else exact_identity(ufunc, element_type)
        identity = hlo.constant(identity, element_type)
        operand = hlo.reduce(operand, identity, dimensions=axes, to_apply=combiner(ufunc, element_type))
    if start is None:
        return operand
    shape = broadcast_shapes(start.shape.dimensions, operand.shape.dimensions)
    return UFUNCS[ufunc].emit(broadcast(start, shape), broadcast(operand, shape))


def finish(
    trace: Trace,
    reduced: Instruction,
    sizes: tuple[int, ...],
    axes: tuple[int, ...],
    keepdims: Any,
    out: Any = None,
    array: Any = None,
) -> TracedArray:
    """The result of a reduction as an array: dimensions of size 1 kept if wanted, written to ``out`` if given.

    Its strides follow from those of the array that is reduced, where that is given.
    """
    if keepdims is True or (keepdims is not _NO_VALUE and keepdims):
        reduced = hlo.reshape(reduced, [1 if axis in axes else size for axis, size in enumerate(sizes)])
    return store(out, reduced_from(result(trace, reduced), array, axes))


def _reduction(ufunc: np.ufunc, takes_dtype: bool):
    if takes_dtype:

        def implementation(a, axis=None, dtype=None, out=None, keepdims=_NO_VALUE, initial=_NO_VALUE, where=True):
            return reduce_ufunc(ufunc, a, axis, dtype, out, keepdims, initial, True if where is _NO_VALUE else where)
    else:

        def implementation(a, axis=None, out=None, keepdims=_NO_VALUE, initial=_NO_VALUE, where=True):
            return reduce_ufunc(ufunc, a, axis, None, out, keepdims, initial, True if where is _NO_VALUE else where)

    return implementation


implements(np.sum)(_reduction(np.add, True))
implements(np.prod)(_reduction(np.multiply, True))
implements(np.max, np.amax)(_reduction(np.maximum, False))
implements(np.min, np.amin)(_reduction(np.minimum, False))


@implements(np.all)
def all_(a, axis=None, out=None, keepdims=_NO_VALUE, *, where=_NO_VALUE):
    return reduce_ufunc(np.logical_and, a, axis, None, out, keepdims, where=True if where is _NO_VALUE else where)


@implements(np.any)
def any_(a, axis=None, out=None, keepdims=_NO_VALUE, *, where=_NO_VALUE):
    return reduce_ufunc(np.logical_or, a, axis, None, out, keepdims, where=True if where is _NO_VALUE else where)


@implements(np.ptp)
def ptp(a, axis=None, out=None, keepdims=_NO_VALUE):
    a = as_traced(a)
    difference = np.subtract(
        reduce_ufunc(np.maximum, a, axis, keepdims=keepdims), reduce_ufunc(np.minimum, a, axis, keepdims=keepdims)
    )
    return store(out, difference, "same_kind")


@implements(np.count_nonzero)
def count_nonzero(a, axis=None, *, keepdims=False):
    a = as_traced(a)
    return reduce_ufunc(np.add, a if a.element_type is hlo.PRED else a.astype(bool), axis, np.int64, keepdims=keepdims)


# --- positions of extrema ---


@cache
def _position_computation(element_type: hlo.ElementType, kind: hlo.ElementType, largest: bool) -> hlo.Computation:
    """Of two values with their positions, the better one: NaN beats numbers, the lower position breaks ties."""

    def better(best: Instruction, best_position: Instruction, other: Instruction, position: Instruction) -> Instruction:
        is_better = arithmetic.compare(best, other, "GT" if largest else "LT")
        is_as_good = arithmetic.compare(best, other, "GE" if largest else "LE")
        if element_type.kind in ("float", "complex"):
            best_nan, other_nan = (hlo.ne(x, x) for x in (best, other))
            is_better = hlo.or_(is_better, hlo.and_(best_nan, hlo.not_(other_nan)))
            is_as_good = hlo.or_(is_as_good, best_nan)
        keep = hlo.select(hlo.lt(best_position, position), is_as_good, is_better)
        return hlo.tuple(hlo.select(keep, best, other), hlo.select(keep, best_position, position))

    shapes = [hlo.Shape(one) for one in (element_type, kind, element_type, kind)]
    return hlo.computation(f"{'argmax' if largest else 'argmin'}_{element_type.name}", shapes, better)


def position_of_extremum(a: Any, axis: Any, out: Any, keepdims: Any, largest: bool) -> TracedArray:
    require_no_bool(axis)
    trace, operand = value(a)
    name = "argmax" if largest else "argmin"
    original = operand.shape.dimensions
    if axis is None:
        axes = tuple(range(operand.shape.rank))
        operand = hlo.reshape(operand, (operand.shape.size,))
        axis = 0
    else:
        if operand.shape.rank == 0:
            normalize_axis(axis, 1)
            operand, original = hlo.reshape(operand, (1,)), (1,)
            axis, axes, keepdims = 0, (0,), False
        else:
            axis = normalize_axis(axis, operand.shape.rank)
            axes = (axis,)
    sizes = operand.shape.dimensions
    if sizes[axis] == 0:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    dimensions = [d for d in range(len(sizes)) if sizes[d] != 1 or d == axis]
    found = _positions(hlo.reshape(operand, [sizes[d] for d in dimensions]), dimensions.index(axis), largest)
    found = hlo.reshape(found, [size for d, size in enumerate(sizes) if d != axis])
    return store(out, finish(trace, found, original, axes, keepdims), stands_for_it=True)


# So many positions along a dimension, and what they stand for is read twice rather than carried beside them.
_LONG = 64


def _positions(operand: Instruction, axis: int, largest: bool) -> Instruction:
    """The first position of the largest or smallest element along a dimension that is not empty."""
    sizes, element_type = operand.shape.dimensions, operand.shape.element_type
    kind = hlo.S32 if sizes[axis] <= np.iinfo(np.int32).max else hlo.S64  # the narrower, the more of them in a vector
    positions = hlo.iota(hlo.Shape(kind, sizes), axis)
    ufunc = np.maximum if largest else np.minimum
    worst = hlo.constant(UFUNCS[ufunc].identity(element_type.dtype), element_type)
    # The worst value starts at the last of all positions, so that it loses every tie with an element.
    last = int(np.iinfo(kind.dtype).max)
    if element_type is hlo.PRED:
        wanted = operand if largest else hlo.not_(operand)
    elif element_type.is_integer and element_type.bits <= 8 and sizes[axis] >= _LONG:
        to_apply = hlo.scalar_computation("maximum" if largest else "minimum", element_type)
        best = hlo.reduce(operand, worst, dimensions=(axis,), to_apply=to_apply)
        kept = tuple(d for d in range(len(sizes)) if d != axis)
        wanted = hlo.eq(operand, hlo.broadcast(best, sizes, kept))
    else:
        to_apply = _position_computation(element_type, kind, largest)
        both = hlo.reduce(operand, positions, worst, hlo.constant(last, kind), dimensions=(axis,), to_apply=to_apply)
        return hlo.convert(hlo.get_tuple_element(both, 1), hlo.S64)
    first = hlo.select(wanted, positions, last)
    first = hlo.reduce(first, hlo.constant(last, kind), dimensions=(axis,), to_apply=hlo.scalar_computation("minimum", kind))
    # All truth values may be the same.
    first = hlo.select(hlo.lt(first, sizes[axis]), first, 0) if element_type is hlo.PRED else first
    return hlo.convert(first, hlo.S64)


@implements(np.argmax)
def argmax(a, axis=None, out=None, *, keepdims=_NO_VALUE):
    return position_of_extremum(a, axis, out, keepdims, True)


@implements(np.argmin)
def argmin(a, axis=None, out=None, *, keepdims=_NO_VALUE):
    return position_of_extremum(a, axis, out, keepdims, False)
