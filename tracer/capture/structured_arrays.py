"""Arrays of records with numeric fields (``np.zeros(n, dtype=[("x", "f8"), ("v", "f8", (3,))])``): one array of numbers.

That has an axis more, along which the fields of a record lie as they do in NumPy's memory: as elements, where all are of one
type, and else as bytes. A field is a view of it, so what is written to one is in the array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import hlo
from ..outside.guards import SameForm
from ..outside.paths import MISSING, Derived, Path
from ..recording import pytree
from ..recording.array import TracedArray
from ..recording.device_arrays import ArrayOnDevice
from ..recording.dynamic_array import DynamicArray
from ..recording.function_tables import FUNCTIONS
from ..recording.operands import as_traced, has_traced
from .loops.iteration import ArrayRows, Lazy, Rows
from .outside.surroundings import Surroundings


class Form(NamedTuple):
    """What is known of such an array: its dtype, whether it is a record and no array, and whether fields are attributes."""

    dtype: np.dtype
    is_record: bool = False
    has_attributes: bool = False


def is_structured(dtype: Any) -> bool:
    """Whether this is a dtype with fields, or says one."""
    if not isinstance(dtype, (np.dtype, list, dict, str)):
        return False
    try:
        return bool(np.dtype(dtype).names)
    except TypeError:
        return False


def number_type(dtype: np.dtype) -> np.dtype:
    """The type of the numbers that a record is made of: that of all fields, or bytes. Raises NotImplementedError."""
    kinds = set(_scalar_types(dtype, ""))
    (kind,) = kinds if len(kinds) == 1 else (np.dtype(np.uint8),)
    offsets = [offset for _, offset in _places(dtype)]
    if kind.kind == "b" or dtype.itemsize % kind.itemsize or any(offset % kind.itemsize for offset in offsets):
        return np.dtype(np.uint8)
    return kind


def _scalar_types(dtype: np.dtype, path: str) -> Iterator[np.dtype]:
    for name, (part, *_) in dtype.fields.items():
        part, where = part.base, f"{path}{name}"
        if part.names is not None:
            yield from _scalar_types(part, f"{where}.")
        elif part.kind not in "biufc" or not part.isnative or part == np.longdouble or part == np.clongdouble:
            raise NotImplementedError(
                f"a structured array with the field {where!r} of type {part} is not implemented: fields are numbers, in the "
                "byte order of the processor"
            )
        else:
            yield part


def _places(dtype: np.dtype) -> Iterator[tuple[str, int]]:
    return ((name, dtype.fields[name][1]) for name in dtype.names)


class StructuredArray(Lazy):
    """``numbers[..., k]`` are what the records at ``...`` are made of, in order."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, numbers: TracedArray, form: Form) -> None:
        self.numbers, self.form = numbers, form
        self._fields: dict[str, Any] = {}

    dtype = property(lambda self: self.form.dtype)
    shape = property(lambda self: self.numbers.shape[:-1])
    ndim = property(lambda self: self.numbers.ndim - 1)
    size = property(lambda self: self.numbers.size // self.numbers.shape[-1])
    itemsize = property(lambda self: self.dtype.itemsize)
    nbytes = property(lambda self: self.size * self.dtype.itemsize)
    T = property(lambda self: self.transpose())

    def __len__(self) -> int:
        if self.form.is_record:
            return len(self.dtype.names)
        return len(self.numbers) if self.ndim else len(np.zeros(()))  # raises

    def __bool__(self) -> bool:
        if self.size == 1:
            raise NotImplementedError("the truth of a record is not implemented; compare its fields")
        return bool(np.zeros(self.shape, self.dtype))  # raises where there are several

    def __iter__(self) -> Iterator[Any]:
        return iter([self[place] for place in (self.dtype.names if self.form.is_record else range(len(self)))])

    def rows(self) -> Rows | None:
        return None if self.form.is_record else _Records(self)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, str):
            if index not in self._fields:
                self._fields[index] = self._field(index)
            return self._fields[index]
        if isinstance(index, list) and index and all(isinstance(name, str) for name in index):
            return StructuredArray(self.numbers, self.form._replace(dtype=self.dtype[index]))
        if self.form.is_record:
            return self[self.dtype.names[index]]
        return self._at(self.numbers[_with_last_axis(index)], index)

    def _at(self, numbers: TracedArray, index: Any) -> StructuredArray:
        parts = index if isinstance(index, tuple) else (index,)
        is_record = numbers.ndim == 1 and not any(part is Ellipsis for part in parts)
        return StructuredArray(numbers, self.form._replace(is_record=is_record))

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, str):
            if value is not self._fields.get(index):  # behind ``a["x"] += 1`` it is
                StructuredArray(self.numbers, self.form._replace(is_record=False))[index][...] = value
            return
        if self.form.is_record and isinstance(index, (int, np.integer)):
            self[self.dtype.names[index]] = value
            return
        part = self[index]
        if isinstance(value, (np.void, np.ndarray)) and value.dtype.names is not None:
            value = constant(np.asarray(value))
        if isinstance(value, list) and not has_traced(value):
            value = constant(np.array(value, self.dtype))
        if isinstance(value, StructuredArray):
            self._put(part, index, value)
        elif isinstance(value, tuple):
            self._require_places(index)
            if len(value) != len(self.dtype.names):
                raise ValueError(
                    f"could not assign tuple of length {len(value)} to structure with {len(self.dtype.names)} fields."
                )
            for name, one in zip(self.dtype.names, value):
                part[name] = one
        elif not isinstance(value, list) and np.ndim(value) == 0:
            self._require_places(index)
            for name in self.dtype.names:
                part[name] = value
        else:
            raise NotImplementedError(
                f"an assignment of a {type(value).__name__} to a structured array is not implemented; assign to its fields, "
                "a['x'][...] = values"
            )

    def _require_places(self, index: Any) -> None:
        """Raises where what is indexed is a copy, whose fields are not this array's."""
        parts = index if isinstance(index, tuple) else (index,)
        if any(isinstance(part, (list, np.ndarray, TracedArray)) and getattr(part, "ndim", 1) for part in parts):
            raise NotImplementedError(
                "an assignment of numbers or tuples to records of a structured array that a mask or an array of positions "
                "chooses is not implemented; assign to each field, a['x'][mask] = value"
            )

    def _put(self, part: StructuredArray, index: Any, value: StructuredArray) -> None:
        if value.dtype == self.dtype:
            self.numbers[_with_last_axis(index)] = value.numbers
            return
        self._require_places(index)
        if len(value.dtype.names) != len(self.dtype.names):
            raise ValueError("structures must have the same size")
        for name, other in zip(self.dtype.names, value.dtype.names):  # by position, as NumPy does
            part[name] = value[other]

    def _field(self, name: str) -> Any:
        if name not in self.dtype.fields:
            raise ValueError(f"no field of name {name}")
        dtype, offset, *_ = self.dtype.fields[name]
        unit = self.numbers.dtype.itemsize
        part = self.numbers[..., offset // unit : (offset + dtype.itemsize) // unit]
        base, dimensions = dtype.base, dtype.shape
        if base.names is not None:
            numbers = part.reshape((*self.shape, *dimensions, part.shape[-1] // max(1, int(np.prod(dimensions)))))
            return StructuredArray(numbers, Form(base, self.form.is_record and not dimensions, self.form.has_attributes))
        if base.kind == "b":
            part = _as_bools(part)
        elif base != part.dtype:
            part = part.view(base)
        if not dimensions:
            return part[0] if self.form.is_record else part[..., 0]
        return part if len(dimensions) == 1 else part.reshape((*self.shape, *dimensions))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self.form.has_attributes and name in self.dtype.names:
            return self[name]
        raise _not_implemented(f".{name}")

    def __eq__(self, other: Any) -> Any:
        return self._compared(other)

    def __ne__(self, other: Any) -> Any:
        return ~self._compared(other)

    def _compared(self, other: Any) -> Any:
        if isinstance(other, (np.void, np.ndarray)) and other.dtype.names is not None:
            other = constant(np.asarray(other))
        if not isinstance(other, StructuredArray) or other.dtype.names != self.dtype.names:
            raise _not_implemented("a comparison with another type")
        found: Any = True
        for name in self.dtype.names:
            same = self[name] == other[name]
            extra = tuple(range(-len(self.dtype[name].shape), 0))
            found = (np.all(same, axis=extra) if extra else same) & found
        return found

    def copy(self, order: str = "C") -> StructuredArray:
        return StructuredArray(self.numbers.copy(), self.form)

    def item(self, *index: Any) -> Any:
        raise _not_implemented(".item")

    def view(self, *args: Any, **kwargs: Any) -> StructuredArray:
        wanted = [*args, *kwargs.values()]
        if wanted == [np.recarray] and not self.form.is_record:
            dtype = np.dtype((np.record, self.dtype))
            return StructuredArray(self.numbers, self.form._replace(dtype=dtype, has_attributes=True))
        raise _not_implemented(".view with another dtype")

    def reshape(self, *shape: Any) -> StructuredArray:
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        return StructuredArray(self.numbers.reshape((*sizes, self.numbers.shape[-1])), self.form)

    def ravel(self) -> StructuredArray:
        return self.reshape(-1)

    def flatten(self) -> StructuredArray:
        return self.reshape(-1).copy()

    def transpose(self, *axes: Any) -> StructuredArray:
        axes = axes[0] if len(axes) == 1 and isinstance(axes[0], tuple) else axes or tuple(reversed(range(self.ndim)))
        order = [axis % self.ndim for axis in axes]
        return StructuredArray(self.numbers.transpose(*order, self.ndim), self.form)

    def fill(self, value: Any) -> None:
        self[...] = value

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
        self.numbers[...] = _sorted(self, axis, order).numbers

    def argsort(self, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
        if kind not in ("stable", "mergesort") and not stable:
            raise NotImplementedError(
                "argsort of a structured array whose order of equal records is left open is not implemented; kind='stable' is"
            )
        return _places_in_order(self, axis, order)

    def __array_function__(self, function: Callable, types: Any, args: tuple, kwargs: dict) -> Any:
        return call_with_fields(function, args, kwargs)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if ufunc in (np.equal, np.not_equal) and method == "__call__" and not kwargs:
            first, second = inputs if isinstance(inputs[0], StructuredArray) else inputs[::-1]
            return first == second if ufunc is np.equal else first != second
        raise np.exceptions.DTypePromotionError(f"ufunc {ufunc.__name__!r} did not contain a loop for structured arrays")


class _Records(Rows):
    def __init__(self, array: StructuredArray) -> None:
        self.array, self.numbers, self.length = array, ArrayRows(array.numbers), array.shape[0]

    def element(self, position: Any) -> Any:
        numbers = self.numbers.element(position)
        return StructuredArray(numbers, self.array.form._replace(is_record=numbers.ndim == 1))


def _not_implemented(what: str) -> NotImplementedError:
    return NotImplementedError(f"{what} of a structured array is not implemented; its fields are arrays, a['x']")


def _with_last_axis(index: Any) -> Any:
    parts = index if isinstance(index, tuple) else (index,)
    return (*parts, slice(None)) if any(part is Ellipsis for part in parts) else index


def _as_bools(part: TracedArray) -> TracedArray:
    """A view of bytes that are 0 and 1."""

    def read(trace: Any, base: hlo.Instruction) -> hlo.Instruction:
        return hlo.convert(base, hlo.PRED)

    def write(trace: Any, base: hlo.Instruction, value: hlo.Instruction) -> hlo.Instruction:
        return hlo.convert(value, hlo.U8)

    if isinstance(part, DynamicArray):
        return DynamicArray.view_on(part, part.bounds.with_element_type(hlo.PRED), read, write)
    return TracedArray.view_of(part, part.shape, read, write, element_type=hlo.PRED)


# --- made, and handed in and out ---


def are_among(values: Sequence[Any]) -> bool:
    """Whether there is such an array among values, or in a list of theirs."""
    return any(isinstance(one, StructuredArray) or type(one) in (list, tuple) and are_among(one) for one in values)


def call_with_fields(function: Callable, args: tuple, kwargs: dict) -> Any:
    """A call of NumPy's, which has such arrays among its arguments, or in a list of them."""
    if isinstance(function, np.ufunc):
        return function(*args, **kwargs)
    if function not in _FUNCTIONS:
        raise _not_implemented(f"np.{getattr(function, '__name__', function)}")
    return _FUNCTIONS[function](*args, **kwargs)


def filled(make: Callable, shape: Any, dtype: Any, fill: Any = None) -> StructuredArray:
    """What a function makes of a shape, such as `np.zeros`; all fields of it then have a value."""
    dtype = np.dtype(dtype)
    kind = number_type(dtype)
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    found = StructuredArray(make((*sizes, dtype.itemsize // kind.itemsize), kind), Form(dtype))
    if fill is not None:
        found[...] = fill
    return found


def constant(array: np.ndarray) -> StructuredArray:
    """A known array, as the program has it."""
    form = Form(array.dtype, has_attributes=isinstance(array, np.recarray))
    numbers = as_traced(np.array(_numbers(np.ascontiguousarray(array), form.dtype).reshape((*array.shape, -1))))
    return StructuredArray(numbers, form)


def of_rows(make: Callable, rows: Sequence[Any], dtype: Any) -> StructuredArray:
    """``np.array(rows, dtype)``, of tuples with traced values."""
    found = filled(make, len(rows), dtype)
    for place, row in enumerate(rows):
        if not isinstance(row, (tuple, StructuredArray)):
            raise _not_implemented(f"np.array of a {type(row).__name__} among the records")
        found[place] = row
    return found


def of_fields(make: Callable, arrays: Sequence[Any], dtype: np.dtype) -> StructuredArray:
    """What `np.rec.fromarrays` makes of arrays, one for each field."""
    found = filled(make, arrays[0].shape[: arrays[0].ndim - len(dtype[0].shape)], dtype)
    for name, one in zip(dtype.names, arrays, strict=True):
        if one.shape != (*found.shape, *dtype[name].shape):
            raise ValueError(f"array-shape mismatch in array {dtype.names.index(name)} ({name!r})")
        found[name] = one
    return found.view(np.recarray)


def _numbers(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The memory of an array, as numbers with an axis more."""
    kind = number_type(dtype)
    whole = np.asarray(array).view(np.dtype((np.void, dtype.itemsize)))
    return whole[..., None].view(kind)  # along an axis of one element, whatever the strides are


def _apart(value: np.ndarray | np.void) -> tuple[Form, tuple[np.ndarray]]:
    dtype = value.dtype
    is_record = isinstance(value, np.void)
    form = Form(dtype, is_record, isinstance(value, (np.recarray, np.record)))
    array = np.asarray(value) if is_record else value
    return form, (_numbers(array, dtype),)


def type_of(value: StructuredArray) -> type:
    """What NumPy has in its place."""
    if value.form.is_record:
        return np.record if value.form.has_attributes else np.void
    return np.recarray if value.form.has_attributes else np.ndarray


def _together(form: Form, children: Sequence[Any]) -> Any:
    (numbers,) = children
    if isinstance(numbers, ArrayOnDevice):
        numbers = numbers.to_host()  # records lie on no device
    if not isinstance(numbers, np.ndarray):
        return StructuredArray(numbers, form)
    found = np.ndarray(numbers.shape[:-1], form.dtype, numbers if numbers.flags.c_contiguous else numbers.copy())
    if form.has_attributes:
        found = found.view(np.recarray)
    return found[()] if form.is_record else found


pytree.register_pytree(StructuredArray, lambda array: ((array.numbers,), array.form), _together)
pytree.register_structured(StructuredArray, _apart)


def _from_outside(surroundings: Surroundings, value: np.ndarray, path: Path) -> Any:
    """What the traced function sees of an array from outside; one that has no numbers is looked at as what else is there."""
    try:
        form, (numbers,) = _apart(value)
    except NotImplementedError:
        return surroundings.opaque(value, path)

    def make() -> StructuredArray:
        surroundings.guard(SameForm(path, _form_key, _form_key(value)))
        return StructuredArray(surroundings.handle(numbers, Derived(path, _numbers_of)), form)

    return surroundings.in_parts(value, path, make)


def _numbers_of(value: Any) -> Any:
    return _apart(value)[1][0] if _form_key(value) is not None else MISSING


def _form_key(value: Any) -> Any:
    """What code is made for of an array with fields, None for what is none."""
    return (type(value), value.dtype) if isinstance(value, np.ndarray) and value.dtype.names is not None else None


Surroundings.structured = staticmethod(_from_outside)


# --- functions ---


def _places_in_order(array: StructuredArray, axis: Any, order: Any) -> Any:
    names = [order] if isinstance(order, str) else list(order or ())
    for name in names:
        if name not in array.dtype.names:
            raise ValueError(f"unknown field name: {name}")
    if axis not in (-1, 0) or array.ndim != 1:
        raise _not_implemented("a sort along one of several axes")
    keys: list[Any] = []
    for name in dict.fromkeys([*names, *array.dtype.names]):  # those that are not named decide among equal ones
        if array.dtype[name].base.names is not None:
            raise _not_implemented("a sort by fields that are structured")
        values = array[name]
        keys += [values[(slice(None), *place)] for place in np.ndindex(array.dtype[name].shape)]
    return np.lexsort(tuple(keys[::-1]))


def _sorted(array: StructuredArray, axis: Any, order: Any) -> StructuredArray:
    return array[_places_in_order(array, axis, order)]


def _like(function: Callable, fill: Any = None) -> Callable:
    make = FUNCTIONS[function]

    def made(prototype: StructuredArray, dtype: Any = None, *args: Any, shape: Any = None, **kwargs: Any) -> Any:
        if args or {*kwargs} - {"subok"}:
            raise _not_implemented(f"np.{function.__name__}_like with further arguments")
        return filled(make, prototype.shape if shape is None else shape, prototype.dtype if dtype is None else dtype, fill)

    return made


def _concatenated(arrays: Sequence[Any], axis: int = 0) -> StructuredArray:
    arrays = [constant(one) if isinstance(one, np.ndarray) and one.dtype.names is not None else one for one in arrays]
    first = arrays[0]
    if not all(isinstance(one, StructuredArray) and one.dtype == first.dtype for one in arrays) or axis < 0:
        raise _not_implemented("np.concatenate with arrays of another dtype, or with a negative axis,")
    return StructuredArray(np.concatenate([one.numbers for one in arrays], axis), first.form)


_FUNCTIONS: dict[Callable, Callable] = {
    np.sort: lambda a, axis=-1, kind=None, order=None, *, stable=None: _sorted(a, axis, order),
    np.argsort: lambda a, *args, **kwargs: a.argsort(*args, **kwargs),
    np.copy: lambda a, order="K", subok=False: a.copy(),
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: a.ndim,
    np.size: lambda a, axis=None: a.size if axis is None else a.shape[axis],
    np.ravel: lambda a, order="C": a.ravel(),
    np.reshape: lambda a, shape: a.reshape(shape),
    np.transpose: lambda a, axes=None: a.transpose(*(axes or ())),
    np.take: lambda a, indices: a[indices],
    np.compress: lambda condition, a: a[condition],
    np.flip: lambda m: m[::-1],
    np.concatenate: _concatenated,
    np.append: lambda arr, values: _concatenated([arr, values]),
    np.hstack: lambda tup: _concatenated(tup),
    np.zeros_like: _like(np.zeros),
    np.empty_like: _like(np.empty),
    np.ones_like: _like(np.ones, 1),
    np.array_equal: lambda a1, a2: a1.shape == a2.shape and np.array_equal(a1 == a2, np.ones(a1.shape, bool)),
}
