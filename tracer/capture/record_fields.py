"""`numpy.lib.recfunctions`: records with other fields, of arrays with fields that the program has.

Which fields a result has NumPy's own functions say, of arrays of no records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib import recfunctions

from ..recording.array import TracedArray
from ..recording.function_tables import FUNCTIONS
from ..recording.operands import as_traced, has_traced
from .calls.dispatch import call
from .calls.meanings import implements
from .structured_arrays import StructuredArray, are_among, constant, filled, not_implemented
from .text_fields import TextArray


def _leaves(array: Any) -> list[Any]:
    """The numbers that records are made of, as columns."""
    if not isinstance(array, StructuredArray):
        return [array[..., place] for place in range(array.shape[-1])]
    found: list[Any] = []
    for name in array.dtype.names:
        field, extra = array[name], array.dtype[name].shape
        for place in np.ndindex(extra):
            part = field[(..., *place)] if place else field
            if isinstance(part, TextArray):
                raise not_implemented("np.structured_to_unstructured with texts")
            found += _leaves(part) if isinstance(part, StructuredArray) else [part]
    return found


def structured_to_unstructured(arr: Any, dtype: Any = None, copy: bool = False, casting: str = "unsafe") -> Any:
    """A view where all fields are of one type and lie one behind another, as NumPy's is."""
    example = recfunctions.structured_to_unstructured(np.zeros(0, arr.dtype), dtype, copy, casting)
    numbers, wanted = arr.numbers, example.dtype
    if numbers.dtype == wanted and numbers.shape[-1] == example.shape[-1]:
        return numbers.copy() if copy else numbers
    return np.stack([column.astype(wanted) for column in _leaves(arr)], axis=-1)


def unstructured_to_structured(
    arr: Any, dtype: Any = None, names: Any = None, align: bool = False, copy: bool = False, casting: str = "unsafe"
) -> StructuredArray:
    arr = as_traced(arr)
    example = np.zeros((*(0 for _ in arr.shape[:-1]), arr.shape[-1]), arr.dtype)
    wanted = recfunctions.unstructured_to_structured(example, dtype, names, align, copy, casting).dtype
    found, place = filled(FUNCTIONS[np.zeros], arr.shape[:-1], wanted), 0

    def fill(records: StructuredArray) -> None:
        nonlocal place
        for name in records.dtype.names:
            field, extra = records[name], records.dtype[name].shape
            for index in np.ndindex(extra):
                if isinstance(field, StructuredArray):
                    fill(field[(..., *index)])
                else:
                    field[(..., *index)] = arr[..., place]
                    place += 1

    fill(found)
    return found


def _like(dtype: np.dtype, source: StructuredArray, kept: dict[str, str]) -> StructuredArray:
    """Records of a dtype whose fields are those of others, by their names there."""
    found = filled(FUNCTIONS[np.zeros], source.shape, dtype)
    for name, before in kept.items():
        found[name] = source[before]
    return found


def _own(base: StructuredArray) -> dict[str, str]:
    return {name: name for name in base.dtype.names}


def append_fields(
    base: StructuredArray, names: Any, data: Any, dtypes: Any = None, fill_value: Any = -1, usemask: bool = True,
    asrecarray: bool = False,
) -> StructuredArray:  # fmt: skip
    if usemask:
        raise NotImplementedError("append_fields that makes masked arrays of records is not implemented; set usemask=False")
    names, data = ([names], [data]) if isinstance(names, str) else (names, data)
    data = [call(np.asarray, one) for one in data]
    _require_as_long(base, data)
    given = [np.zeros(0, one.dtype) for one in data]
    dtype = recfunctions.append_fields(np.zeros(0, base.dtype), names, given, dtypes, fill_value, False).dtype
    found = _like(dtype, base, _own(base))
    for name, one in zip(names, data):
        found[name] = one
    return _finished(found, asrecarray)


def _require_as_long(first: Any, others: Sequence[Any]) -> None:
    for one in others:
        if len(one.shape) != 1 or one.shape[0] is not first.shape[0] and not one.shape[0] == first.shape[0]:
            raise not_implemented("np.append_fields and merge_arrays with arrays of another length")


def _finished(found: StructuredArray, asrecarray: bool) -> Any:
    return found.view(np.recarray) if asrecarray else found


def drop_fields(base: StructuredArray, drop_names: Any, usemask: bool = True, asrecarray: bool = False) -> Any:
    dtype = recfunctions.drop_fields(np.zeros(0, base.dtype), drop_names).dtype
    if any(base.dtype[name].names is not None for name in base.dtype.names):
        raise not_implemented("np.drop_fields of fields that are structured")
    return _finished(_like(dtype, base, {name: name for name in dtype.names}), asrecarray)


def rename_fields(base: StructuredArray, namemapper: dict[str, str]) -> StructuredArray:
    dtype = recfunctions.rename_fields(np.zeros(0, base.dtype), namemapper).dtype
    return StructuredArray(base.numbers, base.form._replace(dtype=dtype))


def repack_fields(a: StructuredArray, align: bool = False, recurse: bool = False) -> StructuredArray:
    return a.astype(recfunctions.repack_fields(a.dtype, align, recurse), copy=False)


def require_fields(array: StructuredArray, required_dtype: Any) -> StructuredArray:
    dtype = np.dtype(required_dtype)
    return _like(dtype, array, {name: name for name in dtype.names if name in array.dtype.names})


def merge_arrays(
    seqarrays: Sequence[Any], fill_value: Any = -1, flatten: bool = False, usemask: bool = False, asrecarray: bool = False
) -> StructuredArray:
    if usemask:
        raise NotImplementedError("merge_arrays that makes masked arrays of records is not implemented")
    arrays = [one if isinstance(one, StructuredArray) else call(np.asarray, one) for one in seqarrays]
    _require_as_long(arrays[0], arrays)
    given = tuple([np.zeros(1, one.dtype) for one in arrays])
    dtype = recfunctions.merge_arrays(given, fill_value, flatten, usemask, asrecarray).dtype
    found, names = filled(FUNCTIONS[np.zeros], arrays[0].shape, dtype), iter(dtype.names)
    for one in arrays:
        if isinstance(one, StructuredArray) and flatten:
            for part in one.dtype.names:
                found[next(names)] = one[part]
        else:
            found[next(names)] = one
    return _finished(found, asrecarray)


def stack_arrays(
    arrays: Any, defaults: Any = None, usemask: bool = True, asrecarray: bool = False, autoconvert: bool = False
) -> StructuredArray:
    if isinstance(arrays, StructuredArray):
        return arrays
    if usemask and len(arrays) > 1:
        raise NotImplementedError("stack_arrays that makes masked arrays of records is not implemented; set usemask=False")
    if not all(isinstance(one, StructuredArray) and one.dtype == arrays[0].dtype for one in arrays):
        raise not_implemented("np.stack_arrays with other fields in one of them")
    return _finished(np.concatenate(list(arrays)), asrecarray)


_FUNCTIONS = (
    append_fields, drop_fields, merge_arrays, rename_fields, repack_fields, require_fields, stack_arrays,
    structured_to_unstructured, unstructured_to_structured,
)  # fmt: skip


def _with_traced(name: str, function: Callable) -> Callable:
    original = getattr(recfunctions, name)

    def implementation(*args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        if not are_among(given) and not has_traced(given):
            return original(*args, **kwargs)
        first, *others = args
        if isinstance(first, np.ndarray) and first.dtype.names is not None:
            first = constant(first)
        if not isinstance(first, (StructuredArray, TracedArray, list, tuple)):
            raise NotImplementedError(f"{name} of a {type(first).__name__} with traced values is not implemented")
        return function(first, *others, **kwargs)

    return implementation


for _function in _FUNCTIONS:
    implements(getattr(recfunctions, _function.__name__))(_with_traced(_function.__name__, _function))


@implements(np.rec.array)
def rec_array(obj: Any, *args: Any, copy: bool = True, **kwargs: Any) -> Any:
    if not isinstance(obj, StructuredArray):
        return np.rec.array(obj, *args, copy=copy, **kwargs)
    if args or kwargs:
        raise not_implemented("np.rec.array with further arguments")
    return (obj.copy() if copy else obj).view(np.recarray)
