"""Arrays of records (``np.zeros(n, dtype=[("x", "f8"), ("v", "f8", (3,))])``): one array of numbers.

That has an axis more, along which the fields of a record lie as they do in NumPy's memory: as elements, where all are of one
type, and else as bytes. A field is a view of it, so what is written to one is in the array. Fields of texts are views, too, as
the code points of these (`text_fields`).
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
from .lists.runs import is_open_list
from .loops.iteration import ArrayRows, Lazy, Rows
from .outside.surroundings import Surroundings
from .text_fields import TextArray, with_last_axis


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


_BYTE = np.dtype(np.uint8)


def number_type(dtype: np.dtype) -> np.dtype:
    """The type of the numbers that a record is made of: that of all fields, or bytes. Raises NotImplementedError."""
    kinds = set(_scalar_types(dtype, ""))
    (kind,) = kinds if len(kinds) == 1 else (_BYTE,)
    offsets = [offset for _, offset in _places(dtype)]
    if dtype.itemsize % kind.itemsize or any(offset % kind.itemsize for offset in offsets):
        return _BYTE
    return kind


def _scalar_types(dtype: np.dtype, path: str) -> Iterator[np.dtype]:
    for name, (part, *_) in dtype.fields.items():
        part, where = part.base, f"{path}{name}"
        if part.hasobject:
            raise NotImplementedError(f"a structured array with the field {where!r} of type {part} is not implemented")
        if part.names is not None:
            yield from _scalar_types(part, f"{where}.")
        elif part.kind == "U" and part.isnative:
            yield np.dtype(np.uint32)
        else:
            yield part if part.kind in "iufc" and is_of_processor(part) else _BYTE


def is_of_processor(dtype: np.dtype) -> bool:
    """Whether the program has numbers of this type, in their byte order."""
    return dtype.isnative and dtype != np.longdouble and dtype != np.clongdouble


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
        return self._at(self.numbers[with_last_axis(index)], index)

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
        if isinstance(value, (np.void, np.ndarray)) and value.dtype.names is not None:
            value = constant(np.asarray(value))
        if isinstance(value, list):
            value = of_rows(FUNCTIONS[np.zeros], value, self.dtype)
        if isinstance(value, StructuredArray) and value.dtype == self.dtype:
            self.numbers[with_last_axis(index)] = value.numbers
            return
        whole = StructuredArray(self.numbers, self.form._replace(is_record=False))
        for name, one in zip(self.dtype.names, self._for_each_field(value)):
            whole[name][index] = one

    def _for_each_field(self, value: Any) -> Iterator[Any]:
        """What is assigned to the fields, by their position, as NumPy does."""
        count = len(self.dtype.names)
        if isinstance(value, StructuredArray):
            if len(value.dtype.names) != count:
                raise ValueError("structures must have the same size")
            return (value[name] for name in value.dtype.names)
        if isinstance(value, tuple):
            if len(value) != count:
                raise ValueError(f"could not assign tuple of length {len(value)} to structure with {count} fields.")
            return iter(value)
        if np.ndim(value):
            extra = [(None,) * len(self.dtype[name].shape) for name in self.dtype.names]
            return (value[(..., *axes)] for axes in extra)
        return iter([value] * count)

    def _field(self, name: str) -> Any:
        if name not in self.dtype.fields:
            raise ValueError(f"no field of name {name}")
        dtype, offset, *_ = self.dtype.fields[name]
        unit = self.numbers.dtype.itemsize
        part = self.numbers[..., offset // unit : (offset + dtype.itemsize) // unit]
        base, dimensions = dtype.base, dtype.shape
        if base.kind in "US":
            codes = part.view(np.uint32 if base.kind == "U" else _BYTE) if base.isnative else _in_other_order(part, np.uint32)
            codes = codes.reshape((*self.shape, *dimensions, base.itemsize // codes.dtype.itemsize))
            return TextArray(codes, base)[()] if self.form.is_record else TextArray(codes, base)
        if base.kind in "mMV" and base.names is None or base.newbyteorder("=") in (np.longdouble, np.clongdouble):
            raise NotImplementedError(
                f"the field {name!r} of a structured array, of type {base}, is not implemented: "
                f"let it be an argument of its own, f(table, table[{name!r}])"
            )
        if base.names is not None:
            numbers = part.reshape((*self.shape, *dimensions, part.shape[-1] // max(1, int(np.prod(dimensions)))))
            return StructuredArray(numbers, Form(base, self.form.is_record and not dimensions, self.form.has_attributes))
        if base.kind == "b":
            part = _as_bools(part)
        elif not base.isnative:
            part = _in_other_order(part, base)
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
        raise not_implemented(f".{name}")

    def __eq__(self, other: Any) -> Any:
        return self._compared(other)

    def __ne__(self, other: Any) -> Any:
        return ~self._compared(other)

    def _compared(self, other: Any) -> Any:
        if isinstance(other, (np.void, np.ndarray)) and other.dtype.names is not None:
            other = constant(np.asarray(other))
        if not isinstance(other, StructuredArray) or other.dtype.names != self.dtype.names:
            raise not_implemented("a comparison with another type")
        found: Any = True
        for name in self.dtype.names:
            same = self[name] == other[name]
            extra = tuple(range(-len(self.dtype[name].shape), 0))
            found = (np.all(same, axis=extra) if extra else same) & found
        return found

    def copy(self, order: str = "C") -> StructuredArray:
        return StructuredArray(self.numbers.copy(), self.form)

    def astype(self, dtype: Any, *args: Any, copy: bool = True) -> StructuredArray:
        dtype = np.dtype(dtype)
        if args or dtype.names is None:
            raise not_implemented(".astype with a dtype without fields, or with further arguments,")
        if dtype == self.dtype:
            return self.copy() if copy else self
        found = filled(FUNCTIONS[np.zeros], self.shape, dtype)
        found[...] = self
        return found

    def view(self, *args: Any, **kwargs: Any) -> Any:
        wanted = [*args, *kwargs.values()]
        if wanted == [np.recarray] and not self.form.is_record:
            dtype = np.dtype((np.record, self.dtype))
            return StructuredArray(self.numbers, self.form._replace(dtype=dtype, has_attributes=True))
        if wanted == [np.ndarray]:
            return StructuredArray(self.numbers, self.form._replace(has_attributes=False))
        if len(wanted) != 1 or isinstance(wanted[0], type) and issubclass(wanted[0], np.ndarray):
            raise not_implemented(".view as a subclass of ndarray")
        dtype = np.dtype(wanted[0])
        if dtype.names is not None and dtype.itemsize == self.itemsize and number_type(dtype) == self.numbers.dtype:
            return StructuredArray(self.numbers, self.form._replace(dtype=dtype))
        if dtype.base != self.numbers.dtype or self.ndim == 0 or dtype.shape and dtype.itemsize != self.itemsize:
            raise not_implemented(".view with another dtype")
        if dtype.shape:
            return self.numbers.reshape((*self.shape, *dtype.shape))
        return self.numbers.reshape((*self.shape[:-1], self.shape[-1] * self.numbers.shape[-1]))

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
        self.numbers[...] = np.sort(self, axis, kind, order, stable=stable).numbers

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


def not_implemented(what: str) -> NotImplementedError:
    return NotImplementedError(f"{what} of a structured array is not implemented; its fields are arrays, a['x']")


def _in_other_order(part: TracedArray, kind: Any) -> TracedArray:
    """A view of bytes as the numbers that they are in the other byte order; of complex ones each half is one."""
    kind = np.dtype(kind).newbyteorder("=")
    size = kind.itemsize // 2 if kind.kind == "c" else kind.itemsize

    def turned(base: hlo.Instruction) -> hlo.Instruction:
        *sizes, count = base.shape.dimensions
        pieces = hlo.reshape(base, (*sizes, count // size, size))
        return hlo.reshape(hlo.reverse(pieces, dimensions=(len(sizes) + 1,)), (*sizes, count))

    return _view(part, hlo.U8, turned, turned).view(kind)


def _as_bools(part: TracedArray) -> TracedArray:
    """A view of bytes that are 0 and 1."""
    return _view(part, hlo.PRED, lambda base: hlo.convert(base, hlo.PRED), lambda value: hlo.convert(value, hlo.U8))


def _view(part: TracedArray, kind: hlo.ElementType, read: Callable, write: Callable) -> TracedArray:
    """A view of bytes as other elements, one for each."""

    def read_from(trace: Any, base: hlo.Instruction) -> hlo.Instruction:
        return read(base)

    def written_to(trace: Any, base: hlo.Instruction, value: hlo.Instruction) -> hlo.Instruction:
        return write(value)

    if isinstance(part, DynamicArray):
        return DynamicArray.view_on(part, part.bounds.with_element_type(kind), read_from, written_to)
    return TracedArray.view_of(part, part.shape, read_from, written_to, part.unusual_strides, kind)


# --- made, and handed in and out ---


_OF_RECORDS = (StructuredArray, TextArray)


def are_among(values: Sequence[Any]) -> bool:
    """Whether there is such an array, or a field of texts, among values, or in a list of theirs."""
    return any(isinstance(one, _OF_RECORDS) or type(one) in (list, tuple) and are_among(one) for one in values)


# What NumPy's functions do with such arrays, and with texts in fields.
FUNCTIONS_OF_RECORDS: dict[Callable, Callable] = {}


def call_with_fields(function: Callable, args: tuple, kwargs: dict) -> Any:
    """A call of NumPy's, which has such arrays among its arguments, or in a list of them."""
    if isinstance(function, np.ufunc):
        return function(*args, **kwargs)
    if function not in FUNCTIONS_OF_RECORDS:
        raise not_implemented(f"np.{getattr(function, '__name__', function)}")
    return FUNCTIONS_OF_RECORDS[function](*args, **kwargs)


TextArray.__array_function__ = StructuredArray.__array_function__  # type: ignore[attr-defined]


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
    numbers = _numbers(np.ascontiguousarray(array), form.dtype)
    numbers = as_traced(np.array(numbers.reshape((*array.shape, numbers.shape[-1]))))
    return StructuredArray(numbers, form)


def of_rows(make: Callable, rows: Sequence[Any], dtype: Any) -> StructuredArray:
    """``np.array(rows, dtype)``, of tuples with traced values."""
    if is_open_list(rows):
        raise not_implemented("np.array of a list whose length the program decides")
    if not has_traced(rows):
        return constant(np.array(rows, dtype))
    found = filled(make, len(rows), dtype)
    for place, row in enumerate(rows):
        if not isinstance(row, (tuple, StructuredArray)):
            raise not_implemented(f"np.array of a {type(row).__name__} among the records")
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
    if numbers.strides[-1] != numbers.itemsize:
        numbers = numbers.copy()
    found = numbers.view(np.dtype((np.void, form.dtype.itemsize)))[..., 0].view(form.dtype)
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
