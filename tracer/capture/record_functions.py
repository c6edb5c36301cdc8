"""NumPy's functions that move records, put them in order, or look for equal ones; those of texts in fields likewise.

What moves elements is given their positions; the records are gathered by what it makes of these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..recording.array import TracedArray
from ..recording.function_tables import DYNAMIC, FUNCTIONS
from ..recording.operands import as_traced
from .calls.dispatch import call
from .structured_arrays import FUNCTIONS_OF_RECORDS, StructuredArray, constant, filled, is_structured, not_implemented, of_rows
from .text_fields import TextArray, as_python, of_one_width
from .texts.deferred import Deferred

Records = StructuredArray | TextArray

# Which arguments hold elements of what the result has.
_MOVING: dict[Callable, tuple[int, ...]] = {
    **dict.fromkeys((
        np.column_stack, np.concatenate, np.delete, np.hstack, np.repeat, np.resize, np.roll, np.stack, np.take,
        np.take_along_axis, np.tile, np.vstack,
    ), (0,)),
    np.append: (0, 1), np.choose: (1,), np.compress: (1,), np.extract: (1,), np.insert: (0, 2), np.select: (1, 2),
    np.where: (1, 2),
}  # fmt: skip
# Those that take equal elements for one, and by which elements they are.
_SETS: dict[Callable, tuple[int, ...]] = {
    np.unique: (0,), np.intersect1d: (0, 1), np.isin: (0, 1), np.setdiff1d: (0, 1), np.setxor1d: (0, 1), np.union1d: (0, 1),
}  # fmt: skip


class _Table:
    """The records that are given to a function, one behind another, and the positions of each."""

    def __init__(self, function: Callable, given: Sequence[Any], first: Records) -> None:
        if isinstance(first, TextArray):
            parts = of_one_width(given)
            kind = "U" if first.dtype.kind == "U" else "S"
            self.form: Any = np.dtype(f"{kind}{parts[0].shape[-1]}")
        else:
            records = [_records(function, one, first.dtype) for one in given]
            dtype = np.result_type(*[one.dtype for one in records])
            self.form = first.form._replace(dtype=dtype, is_record=False)
            parts = [one.numbers if one.dtype == dtype else one.astype(dtype).numbers for one in records]
        flat = [part.reshape((-1, part.shape[-1])) for part in map(as_traced, parts)]
        self.numbers = flat[0] if len(flat) == 1 else np.concatenate(flat)
        self.positions, start = [], 0
        for part, lines in zip(parts, flat):
            count = lines.shape[0]
            positions = _range(count) + start
            self.positions.append(positions.reshape(part.shape[:-1]) if part.ndim != 2 else positions)
            start = start + count

    def at(self, positions: Any) -> Any:
        if isinstance(positions, (list, tuple)):
            return type(positions)(map(self.at, positions))
        numbers = self.numbers[positions]
        if isinstance(self.form, np.dtype):
            return TextArray(numbers, self.form).of(numbers, not getattr(positions, "is_scalar", False))
        return StructuredArray(numbers, self.form._replace(is_record=bool(getattr(positions, "is_scalar", False))))


def _range(count: Any) -> Any:
    return FUNCTIONS[np.arange](count) if isinstance(count, int) else DYNAMIC[np.arange](count)


def _records(function: Callable, value: Any, dtype: np.dtype) -> StructuredArray:
    if isinstance(value, StructuredArray):
        return value
    if isinstance(value, (np.ndarray, np.void)) and value.dtype.names is not None:
        return constant(np.asarray(value))
    if isinstance(value, tuple):
        return of_rows(FUNCTIONS[np.zeros], [value], dtype)[0]
    if isinstance(value, list):
        return of_rows(FUNCTIONS[np.zeros], value, dtype)
    raise not_implemented(f"np.{function.__name__} with a {type(value).__name__} among the elements")


def _is_records(value: Any) -> bool:
    return isinstance(value, Records) or isinstance(value, (np.ndarray, np.void)) and value.dtype.names is not None


def _first_of(values: Sequence[Any]) -> Records | None:
    for value in values:
        found = _first_of(value) if type(value) in (list, tuple) else value if isinstance(value, Records) else None
        if found is not None:
            return found
    return None


def _with_positions(
    function: Callable, places: Sequence[int], args: tuple, kwargs: dict, numbered: Callable[[_Table], Sequence[Any]]
) -> tuple[_Table, Any]:
    """The records of a call, and what the function makes of numbers in their place."""
    given: list[Any] = []

    def noted(value: Any) -> Callable[[Sequence[Any]], Any]:
        if type(value) in (list, tuple) and any(map(_is_records, value)):
            parts = [noted(one) for one in value]
            return lambda numbers: type(value)([part(numbers) for part in parts])
        given.append(value)
        place = len(given) - 1
        return lambda numbers: numbers[place]

    if function is np.select and len(args) < 3:
        raise not_implemented("np.select without a default")
    elements = {place: noted(args[place]) for place in places if place < len(args)}
    first = _first_of([args[place] for place in elements])
    if first is None:
        raise not_implemented(f"np.{function.__name__}, other than of elements,")
    table = _Table(function, given, first)
    numbers = numbered(table)
    args = tuple([elements[place](numbers) if place in elements else one for place, one in enumerate(args)])
    return table, function(*args, **kwargs)


def _moving(function: Callable, places: Sequence[int]) -> Callable:
    def run(*args: Any, **kwargs: Any) -> Any:
        table, found = _with_positions(function, places, args, kwargs, lambda table: table.positions)
        return table.at(found)

    return run


def _of_sets(function: Callable, places: Sequence[int]) -> Callable:
    """Equal records are one number, by which they are in order."""

    def run(*args: Any, **kwargs: Any) -> Any:
        places_in_order: list[Any] = []

        def ranks(table: _Table) -> list[Any]:
            order = _in_order(_keys_of_lines(table))
            is_new = table.at(order[1:]) != table.at(order[:-1])
            in_order = np.concatenate([np.zeros(1, np.int64), np.cumsum(is_new)])
            places_in_order.append((order, in_order))
            ranks = in_order[np.argsort(order)]
            return [ranks[positions] for positions in table.positions]

        table, found = _with_positions(function, places, args, kwargs, ranks)
        if function is np.isin:
            return found
        [(order, in_order)] = places_in_order
        if not isinstance(found, tuple):
            return table.at(order[np.searchsorted(in_order, found)])
        return table.at(order[np.searchsorted(in_order, found[0])]), *found[1:]

    return run


# --- order ---


def _keys_of_lines(table: _Table) -> list[Any]:
    if isinstance(table.form, np.dtype):
        return _keys(TextArray(table.numbers, table.form))
    return _keys(StructuredArray(table.numbers, table.form))


def _keys(array: Records, order: Any = None) -> list[Any]:
    """What orders such an array of one axis: first by the first key."""
    if isinstance(array, TextArray):
        return [array.codes[..., place] for place in range(array.codes.shape[-1])]
    names = [order] if isinstance(order, str) else list(order or ())
    for name in names:
        if name not in array.dtype.names:
            raise ValueError(f"unknown field name: {name}")
    keys: list[Any] = []
    for name in dict.fromkeys([*names, *array.dtype.names]):  # those that are not named decide among equal ones
        extra = array.dtype[name].shape
        values = array[name]
        for place in np.ndindex(extra):
            part = values[(..., *place)] if place else values
            keys += [part] if isinstance(part, TracedArray) else _keys(part)
    return keys


def _in_order(keys: Sequence[Any]) -> Any:
    return np.lexsort(tuple(keys[::-1]))


def _argsort(a: Records, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    if a.ndim != 1 or axis not in (-1, 0):
        raise not_implemented("a sort along one of several axes")
    return _in_order(_keys(a, order))


def _sort(a: Records, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Records:
    return a[_argsort(a, axis, kind, order)]


def _lexsort(keys: Sequence[Any], axis: int = -1) -> Any:
    parts: list[Any] = []
    for key in keys:
        parts += _keys(key)[::-1] if isinstance(key, Records) else [key]
    return np.lexsort(tuple(parts), axis)


# --- made like others, and views ---


def _like(function: Callable, fill: Any = None) -> Callable:
    make = FUNCTIONS[function]

    def made(prototype: Any, dtype: Any = None, *args: Any, shape: Any = None, **kwargs: Any) -> Any:
        if args or {*kwargs} - {"subok"} or not isinstance(prototype, StructuredArray):
            raise not_implemented(f"np.{function.__name__}_like with further arguments, or of a field of texts,")
        dtype = prototype.dtype if dtype is None else dtype
        shape = prototype.shape if shape is None else shape
        return filled(make, shape, dtype, fill) if is_structured(dtype) else make(shape, dtype)

    return made


def _expanded(a: Records, axis: Any) -> Records:
    axes = axis if isinstance(axis, tuple) else (axis,)
    count = a.ndim + len(axes)
    places = {one % count for one in axes}
    return a[tuple([None if place in places else slice(None) for place in range(count)])]


def _squeezed(a: Records, axis: Any = None) -> Records:
    axes = [place for place, size in enumerate(a.shape) if size == 1] if axis is None else np.atleast_1d(axis) % a.ndim
    return a[tuple([0 if place in axes else slice(None) for place in range(a.ndim)])]


def _flipped(m: Records, axis: Any = None) -> Records:
    axes = range(m.ndim) if axis is None else {place % m.ndim for place in np.atleast_1d(axis)}
    return m[tuple([slice(None, None, -1 if place in axes else None) for place in range(m.ndim)])]


def _split(function: Callable) -> Callable:
    def run(ary: Records, indices_or_sections: Any, axis: int = 0) -> list[Any]:
        numbers = ary.codes if isinstance(ary, TextArray) else ary.numbers
        parts = function(numbers, indices_or_sections, axis % ary.ndim)
        if isinstance(ary, TextArray):
            return [TextArray(part, ary.dtype) for part in parts]
        return [StructuredArray(part, ary.form) for part in parts]

    return run


def _equal(a1: Any, a2: Any) -> Any:
    return a1.shape == a2.shape and np.array_equal(a1 == a2, np.ones(a1.shape, bool))


FUNCTIONS_OF_RECORDS |= {
    **{function: _moving(function, places) for function, places in _MOVING.items()},
    **{function: _of_sets(function, places) for function, places in _SETS.items()},
    np.argsort: _argsort,
    np.array_equal: _equal,
    np.atleast_1d: lambda a: a if a.ndim else a.reshape(1),
    np.copy: lambda a, order="K", subok=False: a.copy(),
    np.empty_like: _like(np.empty),
    np.expand_dims: _expanded,
    np.array_split: _split(np.array_split),
    np.flip: _flipped,
    np.flipud: lambda m: m[::-1],
    np.lexsort: _lexsort,
    np.ndim: lambda a: a.ndim,
    np.ones_like: _like(np.ones, 1),
    np.ravel: lambda a, order="C": a.ravel(),
    np.reshape: lambda a, shape: a.reshape(shape),
    np.shape: lambda a: a.shape,
    np.size: lambda a, axis=None: a.size if axis is None else a.shape[axis],
    np.sort: _sort,
    np.split: _split(np.split),
    np.squeeze: _squeezed,
    np.transpose: lambda a, axes=None: a.transpose(*(axes or ())),
    np.zeros_like: _like(np.zeros),
}


# --- methods ---


def _tolist(self: StructuredArray) -> Any:
    """Tuples of Python's numbers; subarrays stay arrays."""
    fields = [self[name] for name in self.dtype.names]
    extra = [len(self.dtype[name].shape) for name in self.dtype.names]
    if self.ndim > 1:
        return [_tolist(self[place]) for place in range(len(self))]
    lists = [field.copy() if more else _as_python(field) for field, more in zip(fields, extra)]
    return call(list, call(zip, *lists)) if self.ndim else tuple(lists)


def _as_python(value: Any) -> Any:
    return as_python(value) if isinstance(value, Deferred) else value.tolist()


def _item(self: StructuredArray, *index: Any) -> Any:
    if self.size != 1 and not index:
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    return _tolist(self[index[0] if len(index) == 1 else index] if index else self.ravel()[0] if self.ndim else self)


StructuredArray.tolist, StructuredArray.item = _tolist, _item  # type: ignore[attr-defined]


def _method(function: Callable) -> Callable:
    return lambda self, *args, **kwargs: FUNCTIONS_OF_RECORDS[function](self, *args, **kwargs)


for _kind in (StructuredArray, TextArray):
    for _function in (np.argsort, np.repeat, np.squeeze, np.take):
        setattr(_kind, _function.__name__, _method(_function))
    _kind.compress = lambda self, condition, axis=None: FUNCTIONS_OF_RECORDS[np.compress](condition, self, axis)  # type: ignore[attr-defined]
