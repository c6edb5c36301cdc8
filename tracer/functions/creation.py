"""Functions that make arrays: filled, counted, diagonal, copied.

They serve ``np.zeros_like(x)`` and the like, ``np.zeros(..., like=x)``, and `phlox.numpy`; what they make is HLO
(broadcast, iota), not a constant held in memory.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import hlo
from ..indexing.basic import assigned_value
from ..recording import promotion
from ..recording.array import TracedArray, as_index, require_trace
from ..recording.function_tables import DYNAMIC, FUNCTIONS, implements
from ..recording.memory_order import fresh, is_contiguous, laid_out, order_named
from ..recording.operands import (
    as_safe_elements,
    as_size,
    as_traced,
    broadcast,
    class_of,
    convert,
    has_traced,
    instruction_of,
    prepare,
    require_element,
    require_out,
    result,
    sequence,
    settled,
    shape_argument,
)
from .dates import has_dates, known_as_dates
from .shape_manipulation import reshaped

Instruction = hlo.Instruction

_MOST_BYTES = 2**47  # what processors of 64 bits have addresses for, as systems give them to processes


def require_cpu(device: Any) -> None:
    if device not in (None, "cpu"):
        raise ValueError(f'Device not understood. Only "cpu" is allowed, but received: {device}')


def filled(shape: tuple[int, ...], value: Any, dtype: Any) -> TracedArray:
    """An array of this shape, all elements equal to value (a number or a traced array that broadcasts)."""
    trace, dtype = require_trace(value), promotion.native(dtype)
    require_addresses(shape, dtype)
    operand = instruction_of(trace, value, hlo.element_type_of(dtype))
    return TracedArray.from_instruction(trace, broadcast(operand, shape), is_scalar=False)


def require_addresses(shape: tuple[int, ...], dtype: np.dtype) -> None:
    """Raises MemoryError or ValueError, NumPy's own, for an array that no process has so many addresses for.

    The program itself might never need the memory, and would go over what is no array for years.
    """
    if math.prod(shape) * dtype.itemsize > _MOST_BYTES:
        np.empty(shape, dtype)


def _filler(value: Any):
    def implementation(shape, dtype=None, order="C", *, device=None, like=None):
        require_cpu(device)
        if has_traced(shape):
            return DYNAMIC[np.full](shape, value, np.float64 if dtype is None else dtype, order)
        return laid_out(filled(shape_argument(shape), value, np.float64 if dtype is None else dtype), (), order)

    return implementation


def _filler_like(value: Any):
    def implementation(a, dtype=None, order="K", subok=True, shape=None, *, device=None):
        require_cpu(device)
        return full_like(a, value, dtype, order, shape=shape)

    return implementation


implements(np.zeros, np.empty)(_filler(0))
implements(np.ones)(_filler(1))
implements(np.zeros_like, np.empty_like)(_filler_like(0))
implements(np.ones_like)(_filler_like(1))


@implements(np.full)
def full(shape, fill_value, dtype=None, order="C", *, device=None, like=None):
    require_cpu(device)
    if has_traced(shape):
        return DYNAMIC[np.full](shape, fill_value, dtype, order)
    fill_value = _filling(fill_value)
    made = filled(shape_argument(shape), fill_value, np.dtype(class_of(fill_value)) if dtype is None else dtype)
    return laid_out(made, (), order)


def _filling(value: Any) -> Any:
    """What an array is filled with: a Python float is float64, complex is complex128; both become integers without a word."""
    value = prepare(value)
    kind = class_of(value)
    if kind not in (float, complex):
        return value
    trace = require_trace()
    return TracedArray.from_instruction(trace, instruction_of(trace, value, hlo.element_type_of(kind)), is_scalar=False)


@implements(np.full_like)
def full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    require_cpu(device)
    a = as_traced(a)
    sizes = a.shape if shape is None else shape_argument(shape)
    made = filled(sizes, _filling(fill_value), a.dtype if dtype is None else dtype)
    return laid_out(made, (a,) if len(sizes) == a.ndim else (), order, as_copy=True)


# --- copies ---


@implements(np.copy)
def copy(a, order="K", subok=False):
    """A fresh array, never a scalar."""
    a = as_traced(a)
    return laid_out(fresh(a), (a,), order, as_copy=True)


@implements(np.array)
def array(object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0, ndmax=0, like=None):
    """``np.array(..., like=traced)`` and ``phlox.numpy.array``; sequences may hold traced values."""
    if ndmax and np.ndim(object) > ndmax:
        raise NotImplementedError(f"np.array of more dimensions than {ndmax=} is not implemented: it would hold objects")
    return _as_array(object, dtype, order, copy, ndmin)


@implements(np.asarray, np.asanyarray)
def asarray(a, dtype=None, order=None, *, device=None, copy=None, like=None):
    """The array itself where it is traced and fits; of an ndarray a view that cannot be written."""
    require_cpu(device)
    return _as_array(a, dtype, order, copy)


@implements(np.ascontiguousarray)
def ascontiguousarray(a, dtype=None, *, like=None):
    return _as_array(a, dtype, "C", None, 1)


@implements(np.asfortranarray)
def asfortranarray(a, dtype=None, *, like=None):
    return _as_array(a, dtype, "F", None, 1)


@implements(np.require)
def require(a, dtype=None, requirements=None, *, like=None):
    """``WRITEABLE`` and ``OWNDATA`` copy where the array cannot be written, or is a view; ``ALIGNED`` always holds."""
    wanted = {str(one).upper() for one in ([requirements] if isinstance(requirements, str) else requirements or ())}
    column_major, row_major = wanted & {"F", "F_CONTIGUOUS", "FORTRAN"}, wanted & {"C", "C_CONTIGUOUS", "CONTIGUOUS"}
    others = {"A", "ALIGNED", "W", "WRITEABLE", "O", "OWNDATA", "E", "ENSUREARRAY"}
    if unknown := wanted - column_major - row_major - others:
        raise KeyError(sorted(unknown)[0])
    if column_major and row_major:
        raise ValueError('Cannot specify both "C" and "F" order')
    order = "F" if column_major else "C" if row_major else "A"
    made = _as_array(a, dtype, order, None)
    borrowed = wanted & {"O", "OWNDATA"} and made.base is not None
    return copy(made, order) if borrowed or wanted & {"W", "WRITEABLE"} and not made.is_writeable else made


def _as_array(value: Any, dtype: Any, order: str | None, copied: bool | None, ndmin: int = 0) -> TracedArray:
    """The value as an array: itself where it is one of this dtype and order, else a copy.

    A copy too where ``copied`` is true; where it is false, and one is needed, ValueError. What is captured is not copied, but
    cannot be written.
    """
    order, copied = order_named(order), whether_copied(copied)
    made = _converted(value, dtype)
    captured = isinstance(value, np.ndarray) and value.dtype == made.dtype
    same = (made is value or captured) and not made.is_scalar
    if copied or not same or order in "CF" and not is_contiguous(value, order):
        if copied is not None and not copied:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        made = laid_out(fresh(made), () if isinstance(value, (list, tuple)) else (value,), order, as_copy=True)
    elif captured:
        made = TracedArray.view_of(made, made.shape, lambda trace, base: base, None, made.element_strides)
    return made[(None,) * (ndmin - made.ndim)] if made.ndim < ndmin else made


def whether_copied(copy: Any) -> Any:
    """``copy`` as True, False or None, where it is a member of NumPy's own enumeration of these."""
    return _COPIES[copy] if isinstance(copy, _CopyMode) else copy


_CopyMode = vars(np)["_CopyMode"]
_COPIES = {_CopyMode.ALWAYS: True, _CopyMode.NEVER: False, _CopyMode.IF_NEEDED: None}


def _converted(value: Any, dtype: Any) -> TracedArray:
    if isinstance(value, (list, tuple)):
        value = sequence(value, dtype)
    elif dtype is not None and type(value) in (complex, TracedArray):
        require_element(hlo.element_type_of(promotion.native(dtype)), value)
    kind = np.dtype(class_of(value)) if dtype is None else promotion.native(dtype)
    return as_traced(value, kind)


@implements(np.astype)
def astype(x, dtype, /, *, copy=True, device=None):
    require_cpu(device)
    return as_traced(x).astype(dtype, copy=copy)


@implements(np.copyto)
def copyto(dst, src, casting="same_kind", where=True):
    dst, src = require_out(dst), prepare(src)
    promotion.require_cast(class_of(src), dst.dtype, casting, "array data" if np.ndim(src) else "scalar")
    trace = require_trace(dst)
    value = assigned_value(trace, src, dst.shape, dst.element_type)
    if where is not True:
        mask = broadcast(instruction_of(trace, prepare(where), hlo.PRED), dst.shape)
        value = hlo.select(mask, value, dst.instruction(trace))
    dst.set_value(value)


@implements(np.putmask)
def putmask(a, /, mask, values):
    """Values that are not as many as the elements are repeated."""
    if not isinstance(a, TracedArray):
        raise TypeError("putmask: first argument must be an array")
    values = as_safe_elements(a.element_type, values)
    if np.size(mask) != a.size:
        raise ValueError("putmask: mask and data must be the same size")
    shape = values.shape if isinstance(values, TracedArray) else np.shape(values)
    if shape not in ((), (1,), a.shape):
        values = FUNCTIONS[np.resize](as_traced(values), a.shape)
    mask = prepare(mask)
    given = mask.shape if isinstance(mask, TracedArray) else np.shape(mask)
    copyto(a, values, "unsafe", mask if given == a.shape else reshaped(as_traced(mask), a.shape))


# --- ranges ---


def iota(shape: tuple[int, ...], dimension: int, element_type: hlo.ElementType) -> Instruction:
    require_trace()
    return hlo.iota(hlo.Shape(element_type, shape), dimension)


@implements(np.arange)
def arange(start=None, stop=None, step=1, dtype=None, *, device=None, like=None):
    """Where the bounds or the step are traced the size is known at run time only."""
    require_cpu(device)
    if start is stop is None:
        raise TypeError("arange() requires stop to be specified.")
    start, stop = (0, start) if stop is None else (0 if start is None else start, stop)
    if has_dates((start, stop, step)) or dtype is not None and np.dtype(dtype).kind in "mM":
        return np.arange(*map(known_as_dates, (start, stop, step)), dtype=dtype)
    bounds = start, stop, step = [settled(bound, "as a bound of arange") for bound in (start, stop, step)]
    if has_traced(bounds):
        return DYNAMIC[np.arange](start, stop, step, dtype)
    quotient = (stop - start) / step
    if quotient != quotient:
        raise ValueError("arange: cannot compute length")
    if quotient >= 2**63:
        raise ValueError("Maximum allowed size exceeded")
    if quotient == 0 and stop != start:  # it is too small to be told from 0, or the step is infinite
        count = int(math.copysign(1, quotient) > 0)
    else:
        count = math.ceil(max(0, quotient))
    classes = [np.dtype(np.intp), *(np.dtype(class_of(bound)) for bound in bounds)]
    kind = np.result_type(*classes) if dtype is None else promotion.native(dtype)
    return _arithmetic(start, step, count, kind)


def _arithmetic(start: Any, step: Any, count: int, dtype: Any) -> TracedArray:
    """start + i * step, as NumPy computes it: the first two elements are converted, their difference is the step."""
    trace = require_trace()
    kind = np.dtype(dtype)
    require_addresses((count,), kind)
    if kind == np.dtype(bool):
        if count > 2:
            raise TypeError("arange() is only supported for booleans when the result has at most length 2.")
        return as_traced(np.arange(start, start + step * count, step).astype(bool))
    element_type = hlo.element_type_of(kind)
    first, second = (np.asarray(one).astype(kind)[()] for one in (start, start + step))
    positions = hlo.iota(hlo.Shape(element_type, (count,)), 0)
    difference = second - first
    if difference != 1 and count > 1:
        positions = hlo.multiply(positions, broadcast(hlo.constant(difference, element_type), (count,)))
    if first != 0:
        positions = hlo.add(positions, broadcast(hlo.constant(first, element_type), (count,)))
    return result(trace, positions)


@implements(np.linspace)
def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    """The bounds may be traced."""
    require_cpu(device)
    if isinstance(num, TracedArray) and num.known_value is None:
        return DYNAMIC[np.linspace](start, stop, num, endpoint, retstep, dtype, axis)
    num = as_index(num, "as a number of samples")
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    start, stop = as_traced(start), as_traced(stop)
    kind = np.result_type(promotion.result_dtype([start.dtype_class, stop.dtype_class]), np.float64)
    if not start.weak_type or not stop.weak_type:
        kind = promotion.result_dtype([start.dtype_class, stop.dtype_class, float])
    start, stop = start.astype(kind), stop.astype(kind)
    steps = num - 1 if endpoint else num
    rank = np.broadcast_shapes(start.shape, stop.shape)
    delta = stop - start
    positions = as_traced(_arithmetic(0, 1, num, np.float64)).astype(kind)
    positions = positions.reshape((num,) + (1,) * len(rank))
    step = delta / steps if steps > 0 else np.full_like(delta, np.nan)
    if steps > 0:  # a step that is too small to be told from 0 is computed otherwise
        samples = np.where(np.any(step == 0), positions / steps * delta, positions * step)
    else:
        samples = positions * delta
    samples = samples + start
    if endpoint and num > 1:
        samples[-1] = stop
    if axis:
        samples = np.moveaxis(samples, 0, axis)
    if dtype is not None and np.issubdtype(dtype, np.integer):
        samples = np.floor(samples)
    samples = samples if dtype is None else samples.astype(dtype)
    return (samples, step) if retstep else samples


@implements(np.logspace)
def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    """The bounds may be traced; the number of samples must be known."""
    if np.ndim(base):
        bounds = [as_traced(one) for one in (start, stop, base)]
        rank = len(np.broadcast_shapes(*(one.shape for one in bounds)))
        start, stop, base = (one[(None,) * (rank - one.ndim)] for one in bounds)
        base = np.expand_dims(base, axis)
    powers = np.power(base, linspace(start, stop, num, endpoint, axis=axis))
    return powers if dtype is None else powers.astype(dtype)


# --- grids ---


@implements(np.meshgrid)
def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    arrays = [as_traced(x) for x in xi]
    rank = len(arrays)
    places = list(range(rank))
    if indexing == "xy" and rank > 1:
        places[0], places[1] = 1, 0
    sizes = [1] * rank
    for place, x in zip(places, arrays):
        sizes[place] = x.size
    grids = []
    for place, x in zip(places, arrays):
        grid = reshaped(x, tuple(x.size if dimension == place else 1 for dimension in range(rank)))
        grid = grid if sparse else np.broadcast_to(grid, tuple(sizes))
        grids.append(fresh(grid) if copy else grid)
    return grids if sparse and not copy else tuple(grids)


def indices(dimensions, dtype=int, sparse=False):
    """As `np.indices`; for `phlox.numpy` (NumPy's own has no array argument to intercept)."""
    sizes = shape_argument(dimensions)
    trace = require_trace()
    grids = [result(trace, convert(iota(sizes, axis, hlo.S64), hlo.element_type_of(dtype))) for axis in range(len(sizes))]
    if sparse:
        return tuple(
            grid[tuple(slice(None) if d == axis else slice(0, 1) for d in range(len(sizes)))] for axis, grid in enumerate(grids)
        )
    return np.stack(grids) if grids else filled((0,), 0, dtype)


@implements(np.vander)
def vander(x, N=None, increasing=False):
    x = as_traced(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    count = len(x) if N is None else as_size(N)
    kind = np.promote_types(x.dtype, int)
    columns = [np.ones_like(x, dtype=kind)]
    for _ in range(1, count):
        columns.append(columns[-1] * x)
    columns = columns[:count]
    return np.stack(columns if increasing else columns[::-1], axis=1) if count else filled((len(x), 0), 0, kind)
