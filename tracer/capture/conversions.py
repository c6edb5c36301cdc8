"""``int``, ``float``, ``complex``, ``bool`` and ``round`` of traced values: Python's own numbers."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ... import hlo
from ..functions.dates import known_as_dates
from ..recording.array import TracedArray, require_trace
from ..recording.errors import IntegerOverflow, name_of_type
from ..recording.intervals import note_interval
from ..recording.operands import ARRAYS_ARE_NUMBERS, as_traced, instruction_of
from .branches import truth
from .calls.meanings import implements
from .distribution import condition, each, truth_of, type_when_run
from .special_methods import special_method
from .texts.deferred import Deferred, asked
from .truths import not_

_OUT_OF_RANGE = IntegerOverflow("a float becomes a Python integer beyond 64 bits, which the program does not compute with")
_SPLITTER = 2.0**27 + 1  # halves of a double, by Dekker


def is_open(value: Any) -> bool:
    """Whether this is a traced value that is not known."""
    return isinstance(value, TracedArray) and value.known_value is None


def converted(value: TracedArray, element_type: hlo.ElementType) -> TracedArray:
    """A Python number of this type; arrays of one element are taken as Python does."""
    trace = require_trace(value)
    number = hlo.convert(_scalar(value), element_type) if value.exact is None else instruction_of(trace, value, element_type)
    return TracedArray.from_instruction(trace, number, weak_type=True)


def _scalar(value: TracedArray) -> hlo.Instruction:
    if value.ndim and not ARRAYS_ARE_NUMBERS:
        raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
    if value.size != 1:
        raise TypeError("only length-1 arrays can be converted to Python scalars")
    return hlo.reshape(value.instruction(require_trace(value)), ())


def integer_of(value: TracedArray) -> TracedArray:
    """``int(value)``: what is no integer loses its fraction, and the call raises what Python raises for NaN and infinities."""
    trace, number = require_trace(value), _scalar(value)
    kind = number.shape.element_type
    if kind.is_float:
        number = hlo.convert(number, hlo.F64)
        trace.add_error_flag(hlo.ne(number, number), ValueError, "cannot convert float NaN to integer")
        infinite = hlo.eq(hlo.abs(number), np.inf)
        trace.add_error_flag(infinite, OverflowError, "cannot convert float infinity to integer")
        trace.add_raise(hlo.or_(hlo.ge(number, 2.0**63), hlo.lt(number, -(2.0**63))), _OUT_OF_RANGE)
    elif kind is hlo.U64:
        trace.add_raise(hlo.gt(number, 2**63 - 1), _OUT_OF_RANGE)
    found = TracedArray.from_instruction(trace, hlo.convert(number, hlo.S64), weak_type=True)
    if kind.is_integer and kind.bits < 64:
        limits = np.iinfo(kind.dtype)
        note_interval(trace, found, (int(limits.min), int(limits.max)))
    return found


def number_of(value: TracedArray) -> TracedArray:
    """What ``value.item()`` is, of an array of one element."""
    kind = value.element_type.kind
    if kind in ("signed", "unsigned"):
        return value if value.weak_type else integer_of(value)
    return converted(value, {"pred": hlo.PRED, "float": hlo.F64, "complex": hlo.C128}[kind])


def _date(kind: type) -> Any:
    return lambda *args, **kwargs: kind(*map(known_as_dates, args), **kwargs)


for _kind in (np.datetime64, np.timedelta64):
    implements(_kind)(_date(_kind))


@implements(int)
def int_(*args: Any, **kwargs: Any) -> Any:
    if args and isinstance(args[0], Deferred):
        return asked(int, 0, *args, *kwargs.values())
    if len(args) == 1 and is_open(args[0]):
        if args[0].element_type.is_complex:
            kind = "complex" if args[0].weak_type else args[0].dtype.type.__name__
            raise TypeError(f"int() argument must be a string, a bytes-like object or a real number, not '{kind}'")
        if args[0].exact is not None:
            return each(int_, args[0].exact)
        return args[0] if _is_integer(args[0]) else integer_of(args[0])
    return int(*args, **kwargs)


def _is_integer(value: TracedArray) -> bool:
    return value.weak_type and value.element_type.is_integer


@implements(float)
def float_(*args: Any) -> Any:
    if args and (method := special_method(args[0], "__float__")) is not None:
        found = method()
        if not issubclass(kind := type_when_run(found), float):
            raise TypeError(f"{type(args[0]).__name__}.__float__ returned non-float (type {name_of_type(kind)})")
        return float_(found)
    if args and isinstance(args[0], Deferred):
        return asked(float, 0.0, *args)
    if not args or not is_open(args[0]):
        return float(*args)
    if args[0].weak_type and args[0].element_type.is_complex:
        raise TypeError("float() argument must be a string or a real number, not 'complex'")
    return converted(args[0], hlo.F64)


@implements(complex)
def complex_(*args: Any, **kwargs: Any) -> Any:
    if len(args) == 2 and (is_open(args[0]) or is_open(args[1])):
        real, imaginary = (converted(one if isinstance(one, TracedArray) else as_traced(one), hlo.C128) for one in args)
        if any(kind.element_type.is_complex for kind in args if isinstance(kind, TracedArray)):
            return real + imaginary * 1j
        trace = require_trace(real)
        parts = [hlo.real(one.instruction(trace)) for one in (real, imaginary)]
        return TracedArray.from_instruction(trace, hlo.complex(*parts), weak_type=True)
    return converted(args[0], hlo.C128) if args and is_open(args[0]) else complex(*args, **kwargs)


@implements(bool)
def bool_(*args: Any) -> Any:
    if args and (decides := condition(args[0])) is not args[0]:
        return truth_of(decides)
    if args and isinstance(args[0], TracedArray) and truth(args[0]) is None:
        return converted(not_(not_(args[0])), hlo.PRED)
    return bool(*args)


@implements(round)
def round_(number: Any, ndigits: int | None = None) -> Any:
    if not is_open(number):
        return round(number) if ndigits is None else round(number, ndigits)
    if number.exact is not None:
        return each(lambda one: round_(one, ndigits), number.exact)
    ndigits = None if ndigits is None else operator.index(ndigits)
    if number.weak_type and number.element_type is hlo.PRED:
        return round_(number + 0, ndigits)
    if not hasattr(number.run_time_type, "__round__"):
        raise TypeError(f"type {name_of_type(number.run_time_type)} doesn't define __round__ method")
    if _is_integer(number):
        return number if ndigits is None or ndigits >= 0 else _rounded_integer(number, 10**-ndigits)
    if ndigits is None:
        return number_of(number) if number.element_type.is_integer else integer_of(np.rint(number))
    if not number.weak_type or not number.element_type.is_float:
        return np.round(number, ndigits)
    trace = require_trace(number)
    rounded = _rounded_float(number.instruction(trace), ndigits)
    return TracedArray.from_instruction(trace, rounded, weak_type=True)


def _rounded_integer(number: Any, unit: int) -> Any:
    """The multiple of the unit that is next to an integer, of two the even one."""
    rest = number % unit
    goes_up = (rest * 2 > unit) | (rest * 2 == unit) & (number // unit % 2 == 1)
    return number - rest + goes_up * unit


def _rounded_float(x: hlo.Instruction, digits: int) -> hlo.Instruction:
    """Correctly rounded, as the digits of the number say that it is; ``np.round`` rounds a product that is rounded already."""
    if abs(digits) > 22:
        raise NotImplementedError(f"round(x, {digits}) of a traced float is not implemented: -22 to 22 digits are")
    scale = 10.0 ** abs(digits)
    if digits < 0:
        rest = hlo.remainder(x, scale)  # which is exact
        whole = hlo.subtract(x, rest)
        is_odd = hlo.ne(hlo.remainder(hlo.divide(whole, scale), 2.0), 0.0)
        twice = hlo.multiply(hlo.abs(rest), 2.0)
        goes_on = hlo.or_(hlo.gt(twice, scale), hlo.and_(hlo.eq(twice, scale), is_odd))
        found = hlo.add(whole, hlo.select(goes_on, hlo.multiply(hlo.sign(x), scale), 0.0))
        found = hlo.select(hlo.eq(found, 0.0), hlo.multiply(x, 0.0), found)  # with the sign of x
        return hlo.select(hlo.is_finite(x), found, x)
    product = hlo.multiply(x, scale)
    lost = _lost_in_product(x, scale, product)
    nearest = hlo.round_nearest_even(product)
    difference = hlo.subtract(product, nearest)
    # What the product has lost matters where it seems to lie in the middle, or lies there by it.
    is_odd = hlo.ne(hlo.remainder(nearest, 2.0), 0.0)
    up = hlo.or_(hlo.and_(hlo.eq(difference, 0.5), hlo.gt(lost, 0.0)), hlo.and_(is_odd, hlo.eq(lost, 0.5)))
    down = hlo.or_(hlo.and_(hlo.eq(difference, -0.5), hlo.lt(lost, 0.0)), hlo.and_(is_odd, hlo.eq(lost, -0.5)))
    nearest = hlo.select(up, hlo.add(nearest, 1.0), hlo.select(down, hlo.subtract(nearest, 1.0), nearest))
    return hlo.select(hlo.lt(hlo.abs(product), 2.0**53), hlo.divide(nearest, scale), x)


def _lost_in_product(x: hlo.Instruction, y: float, product: hlo.Instruction) -> hlo.Instruction:
    """x * y - product, exactly."""
    spread = hlo.multiply(x, _SPLITTER)
    x_high = hlo.subtract(spread, hlo.subtract(spread, x))
    x_low = hlo.subtract(x, x_high)
    y_high = y * _SPLITTER - (y * _SPLITTER - y)
    y_low = y - y_high
    found = hlo.subtract(hlo.multiply(x_high, y_high), product)
    for one, other in ((x_high, y_low), (x_low, y_high), (x_low, y_low)):
        found = hlo.add(found, hlo.multiply(one, other))
    return found
