"""What calls Python functions for the elements or rows of arrays, and iterators over elements."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ...recording.array import TracedArray, require_trace
from ...recording.dynamic_array import DynamicArray
from ...recording.errors import LeftToPython
from ...recording.operands import as_strong, as_traced, broadcast_shapes, has_traced, require
from ..items import getitem
from ..lists.mapping import mapped
from ..lists.runs import is_open_list
from ..loops.iteration import ArrayRows, Indices, ListRows, Rows, Zip
from ..outside.surroundings import current_surroundings
from .dispatch import call
from .meanings import implements

implements(np.vectorize)(np.vectorize)


@implements(np.vectorize.__call__)
def vectorized(plain: np.vectorize, *args: Any, **kwargs: Any) -> Any:
    """A call of what `numpy.vectorize` has made of a function, here or outside."""
    if not isinstance(plain.pyfunc, Callable):  # np.vectorize(otypes=...), which is a decorator
        return plain(*args, **kwargs)
    function = plain.pyfunc
    if (surroundings := current_surroundings()) is not None:
        function = surroundings.functions.held(plain, "pyfunc")
    if not has_traced(list(args)) and not has_traced(list(kwargs.values())):
        seen = functools.partial(call, function)
        return np.vectorize(seen, plain.otypes, None, plain.excluded, plain.cache, plain.signature)(*args, **kwargs)
    names = [*range(len(args)), *kwargs]
    given = dict(zip(names, (*args, *kwargs.values())))
    loops = [name for name in names if name not in plain.excluded]
    cores = _cores(plain.signature, len(loops)) if plain.signature is not None else [0] * len(loops)
    arrays = [given[name] if isinstance(given[name], DynamicArray) else as_traced(given[name]) for name in loops]
    if any(one.ndim < core for one, core in zip(arrays, cores)):
        raise ValueError("an argument has fewer dimensions than the signature of np.vectorize asks for")
    shape, rows = _rows_of(arrays, cores)

    def of_elements(values: tuple) -> Any:
        whole = {**given, **dict(zip(loops, values))}
        return call(function, *[whole[name] for name in range(len(args))], **{name: whole[name] for name in kwargs})

    found = mapped(of_elements, Zip(rows))
    if is_open_list(found):
        return _joined(plain.otypes, found, shape, 0)
    if found and isinstance(found[0], tuple):
        count = len(found[0])
        parts = [mapped(lambda row, number=number: row[number], ListRows(found)) for number in range(count)]
        return tuple([_joined(plain.otypes, part, shape, number) for number, part in enumerate(parts)])
    return _joined(plain.otypes, found, shape, 0)


def _joined(otypes: str | None, found: list, shape: tuple[int, ...], number: int) -> Any:
    made = call(np.array, found)
    if is_open_list(found) and made.ndim > 1:
        raise NotImplementedError(
            "np.vectorize of a function that returns a tuple, of an array whose size is known at run time only"
        )
    made = call(np.astype, made, np.dtype(otypes[number])) if otypes else _in_type_of_first(made, found)
    return made if len(shape) == 1 else call(np.reshape, made, (*shape, *made.shape[1:]))


def _in_type_of_first(made: Any, found: list) -> Any:
    """What is made of all results, as an array of the type that the first one has; where others are decides Python."""
    first = getitem(found, 0) if isinstance(made, TracedArray) else None
    if not isinstance(first, TracedArray) or not first.is_scalar:
        return made
    if first.exact is None:
        return made if (kind := as_strong(first).dtype) == made.dtype else call(np.astype, made, kind)
    trace = require_trace()
    for place, one in enumerate(first.exact.values):
        if as_strong(one).dtype != made.dtype:
            is_this = (first.exact.number == place).instruction(trace)
            trace.add_error_flag(is_this, LeftToPython, "np.vectorize of a function whose first result is of another type")
    return made


def _rows_of(arrays: list, cores: list[int]) -> tuple[tuple, list[ArrayRows]]:
    """What the arrays have in common besides their cores, and the cores, as rows."""
    if any(isinstance(one, DynamicArray) for one in arrays):
        if any(cores):
            raise NotImplementedError(
                "np.vectorize with a signature of an array whose size is known at run time only is not implemented"
            )
        arrays = np.broadcast_arrays(*arrays)
        shape = arrays[0].shape
        require(arrays[0].size > 0, ValueError, "cannot call `vectorize` on size 0 inputs unless `otypes` is set")
        return shape, [ArrayRows(one.reshape(-1)) for one in arrays]
    shape = broadcast_shapes(*[one.shape[: one.ndim - core] for one, core in zip(arrays, cores)])
    if 0 in shape:
        raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
    inner = [one.shape[one.ndim - core :] for one, core in zip(arrays, cores)]
    return shape, [ArrayRows(np.broadcast_to(one, (*shape, *own)).reshape((-1, *own))) for one, own in zip(arrays, inner)]


def _cores(signature: str, count: int) -> list[int]:
    """The number of dimensions that each argument of a signature has, as of ``(n,k),(k)->(n)``."""
    parts = re.findall(r"\(([^)]*)\)", signature.partition("->")[0])
    if len(parts) != count:
        raise TypeError(f"wrong number of positional arguments: expected {len(parts)}, got {count}")
    return [len(part.split(",")) if part.strip() else 0 for part in parts]


@implements(np.apply_along_axis)
def apply_along_axis(func1d: Callable, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    if not isinstance(arr, TracedArray):
        return np.apply_along_axis(func1d, axis, arr, *args, **kwargs)
    rows = np.moveaxis(arr, axis, -1)
    outer = rows.shape[:-1]
    message = "Cannot apply_along_axis when any iteration dimensions are 0"
    for size in outer:
        if isinstance(size, TracedArray):
            require(size > 0, ValueError, message)
        elif not size:
            raise ValueError(message)
    if len(outer) > 1 and any(isinstance(size, TracedArray) for size in outer):
        raise NotImplementedError("np.apply_along_axis over several dimensions, one of a size that is known at run time only")
    lines = rows if len(outer) == 1 else rows.reshape((-1, rows.shape[-1]))
    made = call(np.array, mapped(lambda row: call(func1d, row, *args, **kwargs), ArrayRows(lines)))
    made = made if len(outer) == 1 else made.reshape((*outer, *made.shape[1:]))
    inner = made.ndim - len(outer)
    position = axis % arr.ndim
    places = [position + one for one in range(inner)]
    return np.moveaxis(made, [len(outer) + one for one in range(inner)], places) if inner else made


@implements(np.fromfunction)
def fromfunction(function: Callable, shape: Any, *, dtype: Any = float, like: Any = None, **kwargs: Any) -> Any:
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    if any(isinstance(size, TracedArray) and size.known_value is None for size in sizes):
        places = [call(np.arange, size, dtype=dtype) for size in sizes]
        return call(function, *call(np.meshgrid, *places, indexing="ij"), **kwargs)
    return call(function, *call(np.indices, shape, dtype=dtype), **kwargs)


@implements(np.ndenumerate)
def ndenumerate(arr: Any) -> Any:
    if not isinstance(arr, TracedArray):
        return np.ndenumerate(arr)
    return Zip([Indices(arr.shape), ArrayRows(arr.reshape(-1))])


class Pieces(Rows):
    """The parts of an array between places whose number the program decides."""

    def __init__(self, array: Any, places: TracedArray) -> None:
        self._array = array
        self._bounds = np.concatenate([np.zeros(1, np.int64), places, np.reshape(as_strong(array.shape[0]), (1,))])
        self.length = self._bounds.shape[0] - 1

    def element(self, position: Any) -> Any:
        return self._array[self._bounds[position] : self._bounds[position + 1]]

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            raise NotImplementedError(
                "a slice of what np.split gives, in a number that the program decides, is not implemented"
            )
        return self.element(np.where(position < 0, position + self.length, position)[()])


def _split(function: Callable) -> Callable:
    def implementation(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
        if isinstance(indices_or_sections, DynamicArray) and indices_or_sections.ndim == 1 and axis == 0:
            return Pieces(ary if isinstance(ary, TracedArray) else as_traced(ary), indices_or_sections)
        return function(ary, indices_or_sections, axis)

    return implementation


for _function in (np.split, np.array_split):
    implements(_function)(_split(_function))
