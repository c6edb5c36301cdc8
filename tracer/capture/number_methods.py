"""Methods and attributes that numbers have and arrays do not, and what arrays hand out as Python's objects."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import hlo
from ..recording.array import TracedArray, require_trace
from ..recording.function_tables import ATTRIBUTES, filling, implements_dynamic, implements_method
from ..recording.intervals import note_interval
from .calls.dispatch import call
from .calls.meanings import implements
from .coded_arrays import CodedArray, as_python
from .conversions import number_of
from .journals import note_all_made
from .lists.mapping import mapped
from .loops.iteration import rows_of
from .loops.stacked_rows import lists_of
from .texts.deferred import Deferred, bytes_of, is_open

attribute = filling(ATTRIBUTES)


@attribute("is_integer")
def _(number: TracedArray) -> Callable:
    def is_integer() -> Any:
        if not number.element_type.is_float:
            return True
        trace = require_trace(number)
        x = number.instruction(trace)
        whole = hlo.and_(hlo.is_finite(x), hlo.eq(x, hlo.floor(x)))
        return TracedArray.from_instruction(trace, whole, weak_type=True)

    return is_integer


@attribute("bit_length")
def _(number: TracedArray) -> Callable:
    def bit_length() -> Any:
        trace = require_trace(number)
        magnitude = hlo.abs(hlo.convert(number.instruction(trace), hlo.S64))
        return _small_integer(trace, hlo.subtract(64, hlo.count_leading_zeros(hlo.convert(magnitude, hlo.U64))), 64)

    return bit_length


@attribute("bit_count")
def _(number: TracedArray) -> Callable:
    def bit_count() -> Any:
        if not number.weak_type:
            return np.bitwise_count(number)
        trace = require_trace(number)
        magnitude = hlo.abs(hlo.convert(number.instruction(trace), hlo.S64))
        return _small_integer(trace, hlo.popcnt(hlo.convert(magnitude, hlo.U64)), 63)

    return bit_count


def _small_integer(trace: Any, instruction: hlo.Instruction, greatest: int) -> TracedArray:
    found = TracedArray.from_instruction(trace, hlo.convert(instruction, hlo.S64), weak_type=True)
    note_interval(trace, found, (0, greatest))
    return found


@attribute("numerator")
def _(number: TracedArray) -> Any:
    return number + 0 if number.element_type is hlo.PRED else number


@attribute("denominator")
def _(number: TracedArray) -> Any:
    return 1 if number.weak_type else number.run_time_type(1)


def _made_when_run(name: str) -> None:
    """A method whose result is known when the program runs, and can be printed and returned."""

    @attribute(name)
    def _(number: TracedArray) -> Callable:
        return lambda *args, **kwargs: Deferred(lambda value: getattr(value, name)(*args, **kwargs), number)


for _name in ("hex", "as_integer_ratio"):
    _made_when_run(_name)


@attribute("to_bytes")
def _(number: TracedArray) -> Callable:
    # It may overflow, which handlers find: so the number becomes known.
    return lambda *args, **kwargs: operator.index(number).to_bytes(*args, **kwargs)


@implements_dynamic(np.ndarray.item)
@implements_method(np.ndarray.item)
def item(array: TracedArray, *index: Any) -> Any:
    """The element as Python's number."""
    if array.is_dynamic:
        return _item_of_any_size(array, *index)
    if index:
        index = index[0] if isinstance(index[0], tuple) else index
        array = array[index] if len(index) == array.ndim else array.reshape(-1)[index]
    if array.size != 1:
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    known = array.known_value
    return number_of(array.reshape(())) if known is None else np.asarray(known).item()


def _item_of_any_size(array: TracedArray, *index: Any) -> Any:
    if index:
        index = index[0] if isinstance(index[0], tuple) else index
        return number_of(array[index] if len(index) > 1 else array.ravel()[index[0]])
    trace = require_trace(array)
    message = "can only convert an array of size 1 to a Python scalar"
    trace.add_error_flag(hlo.ne(array.size.instruction(trace), 1), ValueError, message)
    return number_of(array.ravel()[0])


@implements_dynamic(np.ndarray.tolist)
@implements_method(np.ndarray.tolist)
def tolist(array: TracedArray) -> Any:
    """Lists of Python's numbers, one inside of the other."""
    known = array.known_value
    if known is not None:
        return np.asarray(known).tolist()
    if array.ndim and not array.is_dynamic and array.element_type is not hlo.U64 and array.size:
        return _numbers(array)
    return mapped(lambda row: call(tolist, row), rows_of(array)) if array.ndim else number_of(array)


def _numbers(array: TracedArray) -> list[Any]:
    """The elements as Python's numbers, in lists: rows of one array, which loops go over at once."""
    trace = require_trace(array)
    kind = {"pred": hlo.PRED, "float": hlo.F64, "complex": hlo.C128}.get(array.element_type.kind, hlo.S64)
    numbers = TracedArray.from_instruction(trace, hlo.convert(array.instruction(trace), kind), is_scalar=False)
    found = lists_of(numbers, of_python=True)
    note_all_made(found)
    return found


@implements_method(np.ndarray.tobytes)
def tobytes(array: TracedArray, order: str = "C") -> Any:
    if order == "C":
        return Deferred(np.generic.tobytes if array.is_scalar else np.ndarray.tobytes, array)
    return Deferred(bytes_of, array, order)


@implements(bytes)
def bytes_(*args: Any, **kwargs: Any) -> Any:
    """Of an array the memory, of other values what Python makes of them."""
    if len(args) == 1 and isinstance(args[0], TracedArray) and not args[0].is_scalar and not kwargs:
        return Deferred(bytes_of, args[0])
    if len(args) == 1 and type(args[0]) in (list, tuple) and is_open(args[0]):
        return Deferred(bytes, args[0])
    return bytes(*args, **kwargs)


def _tolist_of_coded(array: CodedArray) -> Any:
    """Lists of Python's texts, in their order; of a size that the program decides, a list of as many."""
    if array.codes.is_dynamic and array.dtype.kind in "mM":
        raise NotImplementedError("tolist of an array of dates whose size is known at run time only is not implemented")
    if array.ndim != 1:
        return [_tolist_of_coded(one) for one in array] if array.ndim else array.item()
    return mapped(as_python, rows_of(array)) if array.codes.is_dynamic else [as_python(one) for one in array]


CodedArray.tolist = _tolist_of_coded
