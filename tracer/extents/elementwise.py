"""Ufuncs, and other functions that work element by element, of arrays whose sizes are known at run time only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import hlo
from ..functions.dates import has_dates, known_as_dates
from ..functions.selection import python_bool
from ..recording import promotion
from ..recording.array import TracedArray, require_trace
from ..recording.cast_errors import handling
from ..recording.dynamic_array import DynamicArray, Sizes, dynamic, same_value, valid
from ..recording.function_tables import CONTRACTIONS, DYNAMIC, FUNCTIONS, implements_dynamic
from ..recording.operands import prepare
from ..recording.trace import Trace
from .broadcasting import as_array, broadcast_together, dimensions_of, fail_if, with_bound

Instruction = hlo.Instruction


@implements_dynamic(np.ufunc.__call__)
def call_ufunc(ufunc: np.ufunc, inputs: tuple, out: Any = None, **arguments: Any) -> Any:
    """``ufunc(*inputs, ...)``, computed on all elements of the bounds."""
    if ufunc in CONTRACTIONS or ufunc.signature is not None:
        implementation = DYNAMIC.get(ufunc)
        if implementation is None:
            raise NotImplementedError(
                f"np.{ufunc.__name__} of an array whose size is known at run time only is not implemented"
            )
        return implementation(*inputs, out=out, **arguments)
    inputs, out = inputs[: ufunc.nin], out if len(inputs) == ufunc.nin else inputs[ufunc.nin :]
    outputs = () if out is None else out if isinstance(out, tuple) else (out,)
    inputs = tuple(prepare(value) for value in inputs)
    if has_dates(inputs):
        return ufunc(*map(known_as_dates, inputs), out=out, **arguments)
    where = prepare(arguments.pop("where", True))
    trace = require_trace(*inputs)
    padded, sizes = broadcast_together(trace, (*inputs, where))
    mask = padded.pop()
    if sizes:  # what stands behind the size is no error: a negative exponent, a division by 0
        numbers = range(len(padded)) if handling(trace) else (1,) if ufunc in (np.power, np.float_power) else ()
        shape = np.broadcast_shapes(*map(dimensions_of, padded))
        for number in numbers:
            padded[number] = _one_behind(trace, padded[number], shape, sizes)
    results = ufunc(*padded, **arguments)
    if mask is not True:
        promotion.require_cast(np.result_type(mask), np.dtype(bool), "safe", "array data")
    results = results if isinstance(results, tuple) else (results,)
    found = [dynamic(trace, one, sizes) if sizes else one for one in results]
    for position, one in enumerate(outputs):
        if one is not None:
            casting = arguments.get("casting", "same_kind")
            found[position] = stored(trace, ufunc, one, results[position], sizes, casting, mask)
    return found[0] if len(found) == 1 else tuple(found)


def _one_behind(trace: Any, operand: Any, shape: tuple[int, ...], sizes: Sizes) -> Any:
    if not isinstance(operand, TracedArray) or not operand.ndim:
        return operand
    return np.where(valid(trace, shape, sizes), operand, np.ones((), operand.dtype)[()])


def stored(
    trace: Trace, function: Callable, out: Any, value: TracedArray, sizes: Sizes, casting: str, mask: Any = True
) -> TracedArray:
    """Write a result, padded, with these sizes, to ``out``, where the mask holds.

    ValueError is raised where it does not fit, when the program runs where that is known only then.
    """
    message = f"non-broadcastable output operand of {function.__name__} does not match the shape of the result"
    bounds, own = dimensions_of(out), out.sizes(trace) if isinstance(out, DynamicArray) else {}
    if len(bounds) != value.ndim:
        raise ValueError(message)
    promotion.require_cast(value.dtype, out.dtype, casting, f"ufunc '{function.__name__}' output")
    mask = mask if mask is True else np.broadcast_to(as_array(mask), value.shape)
    for d, bound in enumerate(bounds):
        sides = [known.get(d, hlo.constant(np.int32(size))) for known, size in ((own, bound), (sizes, value.shape[d]))]
        if d not in own and d not in sizes and bound != value.shape[d]:
            raise ValueError(message)
        if (d in own or d in sizes) and not same_value(*sides):
            fail_if(trace, hlo.ne(*sides), message)
        value = with_bound(value, d, value.shape[d], bound)
        mask = mask if mask is True else with_bound(mask, d, mask.shape[d], bound)
    if mask is not True:
        value = np.where(mask, value.astype(out.dtype), out.padded(trace) if own else out)
    out.set_value(dynamic(trace, value.astype(out.dtype), own).recorded(trace))
    return out


def _mapped(function: Callable) -> Callable:
    """A function of arrays that are broadcast together: on all elements of the bounds."""

    def implementation(*arrays: Any, **arguments: Any) -> Any:
        arrays = tuple(prepare(value) for value in arrays)
        trace = require_trace(*arrays)
        padded, sizes = broadcast_together(trace, arrays)
        return dynamic(trace, FUNCTIONS[function](*padded, **arguments), sizes)

    return implementation


for _function in (
    np.isclose,
    np.isposinf,
    np.isneginf,
    np.iscomplex,
    np.isreal,
    np.real,
    np.imag,
    np.angle,
    np.sinc,
):
    implements_dynamic(_function)(_mapped(_function))


def _of_first(function: Callable) -> Callable:
    """A function whose result depends on each element of the first array alone; the others are no arrays."""

    def implementation(array: DynamicArray, *rest: Any, **arguments: Any) -> Any:
        trace = require_trace(array)
        return dynamic(trace, FUNCTIONS[function](array.padded(trace), *rest, **arguments), array.sizes(trace))

    return implementation


for _function in (np.round, np.around, np.fix):
    implements_dynamic(_function)(_of_first(_function))


@implements_dynamic(np.copy)
def copy_of(a, order="K", subok=False):
    return _of_first(np.copy)(a)


def _like(function: Callable) -> Callable:
    made = _of_first(function)

    def implementation(*arguments: Any, shape: Any = None, order: str = "K", subok: bool = True, **others: Any) -> Any:
        if shape is None:
            return made(*arguments, **others)
        array, *rest = arguments
        given = [others.pop("fill_value")] if "fill_value" in others else rest[:1] if function is np.full_like else []
        dtype = others.pop("dtype", None) or next(iter(rest[len(given) :]), None)
        create = getattr(np, function.__name__.removesuffix("_like"))
        return FUNCTIONS[create](shape, *given, dtype=array.dtype if dtype is None else dtype, **others)

    return implementation


for _function in (np.zeros_like, np.ones_like, np.empty_like, np.full_like):
    implements_dynamic(_function)(_like(_function))


@implements_dynamic(np.nan_to_num)
def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    found = _mapped(np.nan_to_num)(x, nan=nan, posinf=posinf, neginf=neginf)
    if copy:
        return found
    x[...] = found
    return x


def _part(function: Callable) -> Callable:
    def implementation(array: DynamicArray) -> Any:
        if function is np.real and not array.element_type.is_complex:
            return array

        def read(trace: Any, base: Instruction) -> Instruction:
            return hlo.real(base) if function is np.real else hlo.imag(base)

        def write(trace: Any, base: Instruction, value: Instruction) -> Instruction:
            return hlo.complex(value, hlo.imag(base)) if function is np.real else hlo.complex(hlo.real(base), value)

        if not array.element_type.is_complex:
            return np.zeros_like(array)
        kind = hlo.element_type_of(np.zeros(0, array.dtype).real.dtype)
        return DynamicArray.view_on(array, array.bounds.with_element_type(kind), read, write)

    return implementation


implements_dynamic(np.real)(_part(np.real))
implements_dynamic(np.imag)(_part(np.imag))


@implements_dynamic(np.ndarray.copy)
def copy(array, order="C"):
    return DYNAMIC[np.copy](array)


@implements_dynamic(np.ndarray.astype)
def astype(array, dtype, order="K", casting="unsafe", subok=True, copy=True):
    if hlo.as_dtype(dtype).kind in "mM":
        return known_as_dates(array).astype(dtype)
    if not copy and hlo.as_dtype(dtype) == array.dtype:
        return array
    trace = require_trace(array)
    return dynamic(trace, array.padded(trace).astype(dtype, casting=casting), array.sizes(trace))


@implements_dynamic(np.ndarray.conj, np.ndarray.conjugate)
def conj(array):
    return np.conjugate(array) if array.element_type.is_complex else array


@implements_dynamic(np.ndarray.clip)
def clip_method(array, min=None, max=None, out=None, **keywords):
    return clip(array, min, max, out, **keywords)


@implements_dynamic(np.clip)
def clip(a, a_min=None, a_max=None, out=None, *, min=None, max=None, **keywords):
    if not (min is max is None) and not (a_min is a_max is None):
        raise ValueError("Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is forbidden.")
    lower, upper = (one if one is not None else other for one, other in ((a_min, min), (a_max, max)))
    if keywords.keys() - {"casting", "order", "subok"}:
        raise NotImplementedError("np.clip with dtype= or where= of an array whose size is known at run time only")
    trace = require_trace(a, lower, upper)
    places = [position for position, one in enumerate((a, lower, upper)) if one is not None]
    padded, sizes = broadcast_together(trace, [(a, lower, upper)[position] for position in places])
    given = dict(zip(places, padded))
    return dynamic(trace, FUNCTIONS[np.clip](given[0], given.get(1), given.get(2)), sizes)


@implements_dynamic(np.where)
def where(condition, x=np._NoValue, y=np._NoValue, /):
    """With three arguments; with one, as np.nonzero."""
    if x is np._NoValue and y is np._NoValue:
        return np.nonzero(condition)
    return _mapped(np.where)(condition, x, y)


@implements_dynamic(np.allclose)
def allclose(a, b, rtol=1.0e-5, atol=1.0e-8, equal_nan=False):
    return python_bool(np.all(np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)))


@implements_dynamic(np.iscomplexobj)
def iscomplexobj(x):
    return x.element_type.is_complex


@implements_dynamic(np.isrealobj)
def isrealobj(x):
    return not x.element_type.is_complex


@implements_dynamic(np.result_type)
def result_type(*arrays_and_dtypes):
    return np.result_type(*(one.dtype if isinstance(one, DynamicArray) else one for one in arrays_and_dtypes))
