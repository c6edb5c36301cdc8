"""Operators on Python's own numbers: integers of any size, exceptions where NumPy has infinities.

Source of the semantics: "Numeric Types" of Python's library reference. Messages are the interpreter's. What 64 bits cannot hold
is found out as `recording.intervals` tells.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import hlo
from ..recording.array import TracedArray, require_trace
from ..recording.errors import IntegerOverflow, LeftToPython
from ..recording.function_tables import METHODS, PYTHON_OPERATORS
from ..recording.intervals import INT64, Interval, interval_of, note_checked, require, within
from ..recording.operands import convert
from ..recording.operators import refused
from ..recording.trace import Trace
from .integer_overflow import difference_overflows, is_least, product_overflows, sum_overflows

_EXACT_AS_FLOAT: Interval = (-(2**53), 2**53)
_POSITIVE: Interval = (1, INT64[1])
_NEGATIVE: Interval = (INT64[0], -1)
_KINDS = {bool: "pred", int: "signed", float: "float", complex: "complex"}
_ORDER = ("pred", "signed", "float", "complex")


def _operates(*ufuncs: np.ufunc) -> Callable[[Callable], Callable]:
    """Decorator: the function is what the operators that are these ufuncs do with Python's numbers."""

    def declare(function: Callable) -> Callable:
        for ufunc in ufuncs:
            PYTHON_OPERATORS[ufunc] = function
        return function

    return declare


def _kind(*numbers: Any) -> str:
    """The widest of the numbers' kinds."""
    kinds = [one.element_type.kind if isinstance(one, TracedArray) else _KINDS[type(one)] for one in numbers]
    return max(kinds, key=_ORDER.index)


def _in_type(number: Any, element_type: hlo.ElementType) -> hlo.Instruction:
    if isinstance(number, TracedArray):
        return convert(number.instruction(require_trace(number)), element_type)
    return hlo.constant(number, element_type)


def _as_number(instruction: hlo.Instruction, interval: Interval | None = None) -> TracedArray:
    """A number of Python's, which lies in this interval."""
    trace = require_trace()
    if interval is not None:
        trace.program.intervals[instruction] = interval
    return TracedArray.from_instruction(trace, instruction, weak_type=True)


def _by_ufunc(ufunc: np.ufunc, *numbers: Any) -> Any:
    """The ufunc's result, as Python's number."""
    results = METHODS[np.ufunc.__call__](ufunc, numbers)
    for one in results if isinstance(results, tuple) else (results,):
        one.weak_type = True
    return results


def _as_integer(number: Any) -> Any:
    """A bool as an int."""
    if _kind(number) != "pred":
        return number
    return int(number) if isinstance(number, bool) else _as_number(_in_type(number, hlo.S64), (0, 1))


def _error(operate: Callable, *numbers: Any) -> Exception:
    """What the interpreter raises for these numbers."""
    try:
        operate(*numbers)
    except (ArithmeticError, ValueError) as error:
        return type(error)(*error.args)
    raise AssertionError(numbers)


# --- integers ---


def _integer(ufunc: np.ufunc, numbers: tuple, found: Interval, overflows: Callable[..., hlo.Instruction]) -> TracedArray:
    """The ufunc's result, which lies in the interval ``found``; where 64 bits do not hold that, ``overflows`` tells."""
    trace = require_trace(*numbers)
    if not all(map(_fits_or_is_traced, numbers)):
        require(trace, numbers, lambda: hlo.constant(True), IntegerOverflow(IntegerOverflow.MESSAGE))
        return _as_number(hlo.constant(0, hlo.S64))
    if not within(found, INT64):
        require(trace, numbers, lambda: overflows(*_integers(numbers)), IntegerOverflow(IntegerOverflow.MESSAGE))
        result = _as_number(_by_ufunc(ufunc, *numbers).instruction(trace), INT64)
        note_checked(trace, result.instruction(trace))
        return result
    return _as_number(_by_ufunc(ufunc, *numbers).instruction(trace), found)


def _integers(numbers: tuple) -> list[hlo.Instruction]:
    return [_in_type(number, hlo.S64) for number in numbers]


def _fits_or_is_traced(number: Any) -> bool:
    return not isinstance(number, int) or within((number, number), INT64)


def _require_integers(ufunc: np.ufunc, *numbers: Any) -> None:
    if _kind(*numbers) not in ("pred", "signed"):
        refused(ufunc, [one.run_time_type if isinstance(one, TracedArray) else type(one) for one in numbers])


def _corners(operate: Callable, first: Interval, second: Interval) -> Interval:
    values = [operate(x, y) for x in first for y in second]
    return min(values), max(values)


def _power_overflows(x: hlo.Instruction, y: hlo.Instruction) -> hlo.Instruction:
    return hlo.ge(hlo.power(hlo.abs(hlo.convert(x, hlo.F64)), hlo.convert(y, hlo.F64)), 2.0**63)


def _shift_overflows(x: hlo.Instruction, y: hlo.Instruction) -> hlo.Instruction:
    there_and_back = hlo.shift_right_arithmetic(hlo.shift_left(x, y), y)
    return hlo.and_(hlo.ne(x, 0), hlo.or_(hlo.gt(y, 63), hlo.ne(there_and_back, x)))


_RING = {
    np.add: (operator.add, sum_overflows),
    np.subtract: (operator.sub, difference_overflows),
    np.multiply: (operator.mul, product_overflows),
}


@_operates(*_RING)
def _(ufunc, x, y):
    if _kind(x, y) not in ("pred", "signed"):
        return _by_ufunc(ufunc, x, y)
    x, y = _as_integer(x), _as_integer(y)
    operate, overflows = _RING[ufunc]
    trace = require_trace(x, y)
    found = _corners(operate, interval_of(trace, x), interval_of(trace, y))
    return _integer(ufunc, (x, y), found, overflows)


@_operates(np.negative, np.absolute, np.positive, np.invert)
def _(ufunc, x):
    x = _as_integer(x)
    if ufunc is np.invert and _kind(x) in ("float", "complex"):
        raise TypeError(f"bad operand type for unary ~: '{_kind(x)}'")
    if _kind(x) != "signed":
        return _by_ufunc(ufunc, x)
    low, high = interval_of(require_trace(x), x)
    found = {
        np.negative: (-high, -low),
        np.absolute: (max(low, -high, 0), max(-low, high)),
        np.positive: (low, high),
        np.invert: (~high, ~low),
    }
    return _integer(ufunc, (x,), found[ufunc], is_least)


@_operates(np.bitwise_and, np.bitwise_or, np.bitwise_xor)
def _(ufunc, x, y):
    _require_integers(ufunc, x, y)
    if _kind(x, y) != "signed":
        return _by_ufunc(ufunc, x, y)
    x, y = _as_integer(x), _as_integer(y)
    trace = require_trace(x, y)
    intervals = interval_of(trace, x), interval_of(trace, y)
    bits = max((~bound if bound < 0 else bound).bit_length() for interval in intervals for bound in interval)
    signs = [interval[0] < 0 for interval in intervals]
    negative = all(signs) if ufunc is np.bitwise_and else any(signs)
    return _integer(ufunc, (x, y), (-(1 << bits) if negative else 0, (1 << bits) - 1), lambda x, y: hlo.constant(True))


@_operates(np.left_shift, np.right_shift)
def _(ufunc, x, y):
    _require_integers(ufunc, x, y)
    x, y = _as_integer(x), _as_integer(y)
    trace = require_trace(x, y)
    values, counts = interval_of(trace, x), interval_of(trace, y)
    if counts[0] < 0:
        error = _error(operator.lshift, 1, -1)
        require(trace, (y,), lambda: hlo.lt(*_integers((y, 0))), error, (0, INT64[1]))
        counts = 0, max(counts[1], 0)
    if ufunc is np.right_shift:
        return _integer(ufunc, (x, y), (min(values[0], 0), max(values[1], 0)), _shift_overflows)
    found = _corners(operator.lshift, values, counts) if counts[1] <= 128 else (INT64[0], 1 << 128)
    return _integer(ufunc, (x, y), found, _shift_overflows)


# --- division ---

_DIVISIONS = {
    np.true_divide: operator.truediv, np.floor_divide: operator.floordiv, np.remainder: operator.mod, np.divmod: divmod,
}  # fmt: skip


@_operates(*_DIVISIONS)
def _(ufunc, x, y):
    if _kind(x, y) == "complex" and ufunc is not np.true_divide:
        raise TypeError(_refusal(_DIVISIONS[ufunc], x, y))
    x, y = _as_integer(x), _as_integer(y)
    trace, kind = require_trace(x, y), _kind(x, y)
    _require_nonzero(trace, y, _error(_DIVISIONS[ufunc], {"signed": 1, "float": 1.0, "complex": 1j}[kind], 0))
    if kind != "signed":
        return _by_ufunc(ufunc, x, y)
    dividends, divisors = interval_of(trace, x), interval_of(trace, y)
    if ufunc is np.true_divide:
        _require_exact(trace, x, y)
        return _by_ufunc(ufunc, x, y)
    largest = max(map(abs, dividends))
    quotients = (-largest, largest)
    if dividends[0] >= 0 and divisors[0] > 0:
        quotients = dividends[0] // divisors[1], dividends[1] // divisors[0]
    rests = (0 if divisors[0] > 0 else min(divisors[0] + 1, 0), 0 if divisors[1] < 0 else max(divisors[1] - 1, 0))
    if ufunc is np.remainder:
        return _integer(ufunc, (x, y), rests, is_least)
    if ufunc is np.floor_divide:
        return _integer(ufunc, (x, y), quotients, _quotient_overflows)
    return (
        _integer(np.floor_divide, (x, y), quotients, _quotient_overflows),
        _integer(np.remainder, (x, y), rests, is_least),
    )


def _quotient_overflows(x: hlo.Instruction, y: hlo.Instruction) -> hlo.Instruction:
    return hlo.and_(is_least(x), hlo.eq(y, -1))


def _refusal(operate: Callable, x: Any, y: Any) -> str:
    names = [{"pred": "bool", "signed": "int"}.get(_kind(one), _kind(one)) for one in (x, y)]
    sign = {operator.floordiv: "//", operator.mod: "%", operator.matmul: "@", divmod: "divmod()"}[operate]
    return f"unsupported operand type(s) for {sign}: '{names[0]}' and '{names[1]}'"


def _require_nonzero(trace: Trace, number: Any, error: Exception) -> None:
    """A divisor that may be 0 raises the error where it is."""
    if not isinstance(number, TracedArray):
        if number == 0:
            raise error
        return
    if number.element_type.is_integer:
        interval = interval_of(trace, number)
        if within(interval, _POSITIVE) or within(interval, _NEGATIVE):
            return
    trace.add_raise(hlo.eq(number.instruction(trace), 0), error)


def _require_exact(trace: Trace, *numbers: Any) -> None:
    """All integers among these are to be the same as floats."""
    low, high = _EXACT_AS_FLOAT
    error = IntegerOverflow("a Python integer beyond 2**53 meets a float; make the arguments that it comes from static")
    for number in numbers:
        if _kind(number) != "signed" or within(interval_of(trace, number), _EXACT_AS_FLOAT):
            continue
        if not isinstance(number, TracedArray):
            if int(float(number)) != number:
                require(trace, numbers, lambda: hlo.constant(True), error)
            continue

        def inexact(number: Any = number) -> hlo.Instruction:
            (integer,) = _integers((number,))
            return hlo.or_(hlo.lt(integer, low), hlo.gt(integer, high))

        require(trace, (number,), inexact, error, _EXACT_AS_FLOAT)


# --- powers ---


@_operates(np.matmul)
def _(ufunc, x, y):
    raise TypeError(_refusal(operator.matmul, x, y))


@_operates(np.power)
def _(ufunc, x, y):
    x, y = _as_integer(x), _as_integer(y)
    trace, kind = require_trace(x, y), _kind(x, y)
    if kind == "complex":
        return _by_ufunc(ufunc, x, y)
    if kind == "float":
        return _float_power(trace, x, y)
    bases, exponents = interval_of(trace, x), interval_of(trace, y)
    if exponents[1] < 0:
        _require_nonzero(trace, x, _error(operator.pow, 0.0, -1))
        return _float_power(trace, _as_number(_in_type(x, hlo.F64)), _as_number(_in_type(y, hlo.F64)))
    if exponents[0] < 0:
        error = IntegerOverflow("a negative power of a Python integer is a float; compute the power of float(...) of it")
        require(trace, (y,), lambda: hlo.lt(*_integers((y, 0))), error)
        exponents = 0, exponents[1]
    largest = max(map(abs, bases))
    bound = largest ** min(exponents[1], 64) if largest > 1 else 1
    return _integer(ufunc, (x, y), (0 if bases[0] >= 0 else -bound, bound), _power_overflows)


def _float_power(trace: Trace, x: Any, y: Any) -> TracedArray:
    """Python raises where the result is infinite and the operands are not, and makes a complex number of a negative base.

    As what comes behind such a number is not compiled, it makes the call.
    """
    found = METHODS[np.ufunc.__call__](np.square, (x,)) if type(y) in (int, float) and y == 2 else _by_ufunc(np.power, x, y)
    base, exponent, value = _in_type(x, hlo.F64), _in_type(y, hlo.F64), found.instruction(trace)
    finite = hlo.and_(hlo.is_finite(base), hlo.is_finite(exponent))
    fixed = y if not isinstance(y, TracedArray) else None
    if fixed is None or fixed < 0:
        at_zero = hlo.and_(hlo.eq(base, 0), hlo.lt(exponent, 0))
        trace.add_raise(at_zero, _error(operator.pow, 0.0, -1.0))
    if fixed is None or not float(fixed).is_integer():
        is_complex = hlo.and_(finite, hlo.ne(value, value))
        trace.add_error_flag(is_complex, LeftToPython, "a power of a negative float is a complex number")
    if fixed is None or not 0 <= fixed <= 1:
        overflow = hlo.and_(finite, hlo.eq(hlo.abs(value), np.inf))
        trace.add_raise(overflow, _error(operator.pow, 1e300, 2.0))
    return _as_number(value)


# --- comparison ---

_COMPARISONS = {
    np.equal: operator.eq, np.not_equal: operator.ne, np.less: operator.lt, np.less_equal: operator.le,
    np.greater: operator.gt, np.greater_equal: operator.ge,
}  # fmt: skip


@_operates(*_COMPARISONS)
def _(ufunc, x, y):
    x, y = _as_integer(x), _as_integer(y)
    trace, kinds = require_trace(x, y), {_kind(x), _kind(y)}
    if "complex" in kinds and ufunc not in (np.equal, np.not_equal):
        sign = {np.less: "<", np.less_equal: "<=", np.greater: ">", np.greater_equal: ">="}[ufunc]
        raise TypeError(f"'{sign}' not supported between instances of 'complex' and 'complex'")
    if kinds == {"signed"}:
        for number in (x, y):
            if not _fits_or_is_traced(number):
                at_limit = 1 if number > 0 else -1
                ordered = (0, at_limit) if number is y else (at_limit, 0)
                return _as_number(hlo.constant(_COMPARISONS[ufunc](*ordered), hlo.PRED))
    elif len(kinds) > 1:
        _require_exact(trace, x, y)
    return _by_ufunc(ufunc, x, y)
