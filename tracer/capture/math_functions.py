"""The functions of ``math`` and ``cmath``: they take and return Python's numbers, and raise where NumPy has NaN, infinities."""

from __future__ import annotations

import cmath
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import hlo
from ..recording.array import TracedArray, require_trace
from ..recording.errors import name_of_type, no_integer
from ..recording.function_tables import SPECIAL_KERNELS
from ..recording.operands import has_traced
from .calls.meanings import MEANINGS, implements
from .conversions import converted, integer_of, is_open
from .distribution import each
from .texts.deferred import asked

_MATH = {
    "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "expm1": np.expm1,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "fabs": np.abs,
    "atan2": np.arctan2, "pow": np.power, "fmod": np.fmod, "copysign": np.copysign, "degrees": np.degrees,
    "radians": np.radians, "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "exp2": np.exp2, "cbrt": np.cbrt,
}  # fmt: skip
_INTEGERS = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}
_CMATH = {
    "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "log10": np.log10, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "phase": np.angle, "isnan": np.isnan, "isinf": np.isinf,
    "isfinite": np.isfinite,
}  # fmt: skip


def _is_infinite(x: hlo.Instruction) -> hlo.Instruction:
    return hlo.eq(hlo.abs(x), np.inf)


def _became_infinite(value: hlo.Instruction, *numbers: hlo.Instruction) -> hlo.Instruction:
    found = _is_infinite(value)
    for number in numbers:
        found = hlo.and_(found, hlo.is_finite(number))
    return found


def _became_nan(value: hlo.Instruction, *numbers: hlo.Instruction) -> hlo.Instruction:
    found = hlo.ne(value, value)
    for number in numbers:
        found = hlo.and_(found, hlo.eq(number, number))
    return found


# Where math raises, by the result and the numbers: of numbers that raise the error, and when they do.
_ERRORS: dict[str, list[tuple[tuple[float, ...], Callable[..., hlo.Instruction]]]] = {
    "sqrt": [((-1.0,), lambda _, x: hlo.lt(x, 0.0))],
    "log1p": [((-1.0,), lambda _, x: hlo.le(x, -1.0))],
    "acosh": [((0.0,), lambda _, x: hlo.lt(x, 1.0))],
    "atanh": [((1.0,), lambda _, x: hlo.ge(hlo.abs(x), 1.0))],
    "pow": [
        ((0.0, -1.0), lambda _, x, y: hlo.and_(hlo.eq(x, 0.0), hlo.and_(hlo.lt(y, 0.0), hlo.is_finite(y)))),
        ((-1.0, 0.5), _became_nan),
        ((10.0, 400.0), _became_infinite),
    ],
    "fmod": [((1.0, 0.0), _became_nan)],
    **{name: [((0.0,), lambda _, x: hlo.le(x, 0.0))] for name in ("log", "log2", "log10")},
    **{name: [((2.0,), lambda _, x: hlo.gt(hlo.abs(x), 1.0))] for name in ("asin", "acos")},
    **{name: [((math.inf,), lambda _, x: _is_infinite(x))] for name in ("sin", "cos", "tan")},
    **{name: [((1e4,), _became_infinite)] for name in ("exp", "exp2", "expm1", "sinh", "cosh")},
    "gamma": [
        ((-1.0,), lambda _, x: hlo.or_(hlo.eq(x, -np.inf), hlo.and_(hlo.le(x, 0.0), hlo.eq(x, hlo.floor(x))))),
        ((200.0,), _became_infinite),
    ],
    "lgamma": [
        ((-1.0,), lambda _, x: hlo.and_(hlo.is_finite(x), hlo.and_(hlo.le(x, 0.0), hlo.eq(x, hlo.floor(x))))),
        ((1e308,), _became_infinite),
    ],
}


def _error(function: Callable, *numbers: Any) -> Exception:
    """What the interpreter raises for these numbers."""
    try:
        function(*numbers)
    except (ArithmeticError, ValueError) as error:
        return type(error)(*error.args)
    raise AssertionError((function, numbers))


def _floats(numbers: tuple) -> list[hlo.Instruction]:
    trace = require_trace()
    found = []
    for one in numbers:
        if isinstance(one, TracedArray):
            if one.element_type.is_complex:
                raise TypeError("must be real number, not complex")
            found.append(converted(one, hlo.F64).instruction(trace))
        else:
            found.append(hlo.constant(float(one), hlo.F64))
    return found


def _number(instruction: hlo.Instruction) -> TracedArray:
    return TracedArray.from_instruction(require_trace(), instruction, weak_type=True)


def _checked(name: str, value: Any, numbers: list[hlo.Instruction]) -> Any:
    """The value of a function of math; where it has none the call raises what the interpreter does."""
    trace = require_trace()
    for example, test in _ERRORS.get(name, ()):
        trace.add_raise(test(value.instruction(trace), *numbers), _error(getattr(math, name), *example))
    return value


def _of_math(name: str, ufunc: np.ufunc) -> Callable:
    function = getattr(math, name)

    def implementation(*args: Any) -> Any:
        if not any(map(is_open, args)):
            return function(*args)
        numbers = _floats(args[:1] if name == "log" else args)
        found = ufunc(*map(_number, numbers))
        found.weak_type = True
        found = _checked(name, found, numbers)
        if name == "log" and len(args) == 2:
            return found / (implementation(args[1]) if is_open(args[1]) else math.log(args[1]))
        return found

    return implementation


def _to_integer(name: str, ufunc: np.ufunc) -> Callable:
    function = getattr(math, name)

    def implementation(number: Any) -> Any:
        if not is_open(number):
            return function(number)
        if number.exact is not None:
            return each(implementation, number.exact)
        if name == "trunc" and not hasattr(number.run_time_type, "__trunc__"):  # what the others take for a float
            raise TypeError(f"type {name_of_type(number.run_time_type)} doesn't define __trunc__ method")
        return integer_of(number if number.element_type.is_integer else ufunc(number))

    return implementation


def _special(name: str) -> Callable:
    """A function of math that is a ufunc of SciPy, which may not be there."""
    function, kernel = getattr(math, name), SPECIAL_KERNELS[name if name != "lgamma" else "gammaln"]

    def implementation(number: Any) -> Any:
        if not is_open(number):
            return function(number)
        numbers = _floats((number,))
        return _checked(name, _number(kernel.emit(*numbers)), numbers)

    return implementation


def _root_of_squares(function: Callable, numbers: Sequence[Any], arguments: Sequence[Any]) -> Any:
    """The same bits as CPython: the sum with what its additions and products lose, and a step of Newton's method.

    Source: Borges, "An Improved Algorithm for hypot(a,b)", 2019, as `math` has it for any number of coordinates.
    """
    if not has_traced(numbers):
        return function(*arguments)
    lengths = [hlo.abs(number) for number in _floats(tuple(numbers))]
    greatest = functools.reduce(hlo.maximum, lengths)
    if len(lengths) == 1:
        return _number(greatest)
    infinite = functools.reduce(hlo.or_, map(_is_infinite, lengths))
    is_usual = hlo.and_(hlo.gt(greatest, 0.0), hlo.is_finite(greatest))
    near_one, back = _scales(hlo.select(is_usual, greatest, 1.0))
    total, lost = hlo.constant(1.0), (hlo.constant(0.0), hlo.constant(0.0))
    for length in lengths:
        part = functools.reduce(hlo.multiply, near_one, length)
        total, lost = _with_product(total, lost, part, part)
    root = hlo.sqrt(_sum_of_parts(total, lost))
    rest = _sum_of_parts(*_with_product(total, lost, hlo.negate(root), root))
    root = hlo.add(root, hlo.divide(rest, hlo.multiply(root, 2.0)))
    found = functools.reduce(hlo.multiply, back, root)
    return _number(hlo.select(infinite, np.inf, hlo.select(is_usual, found, greatest)))


def _scales(number: hlo.Instruction) -> tuple[tuple[hlo.Instruction, ...], tuple[hlo.Instruction, ...]]:
    """Powers of two by which a positive number becomes one from 0.5 to 1, without rounding, and those that lead back."""
    is_subnormal, is_huge = hlo.lt(number, 2.0**-1022), hlo.ge(number, 2.0**1022)

    def power(of_subnormal: int, of_huge: int) -> hlo.Instruction:
        return hlo.select(is_subnormal, hlo.constant(2.0**of_subnormal), hlo.select(is_huge, hlo.constant(2.0**of_huge), 1.0))

    first, last = power(1022, -2), power(-1022, 2)
    exponent = hlo.and_(hlo.bitcast_convert(hlo.multiply(number, first), hlo.S64), 0x7FF << 52)
    half = hlo.bitcast_convert(hlo.subtract(2045 << 52, exponent), hlo.F64)
    return (first, half), (hlo.bitcast_convert(hlo.add(exponent, 1 << 52), hlo.F64), last)


def _with_product(total: hlo.Instruction, lost: tuple, x: hlo.Instruction, y: hlo.Instruction) -> tuple[hlo.Instruction, tuple]:
    """A sum from 1 on with x * y, and what has been lost of products and of sums with what is lost now."""
    (x_high, x_low), (y_high, y_low) = _halves(x), _halves(y)
    high, across = hlo.multiply(x_high, y_high), hlo.add(hlo.multiply(x_high, y_low), hlo.multiply(x_low, y_high))
    product = hlo.add(high, across)
    of_product = hlo.add(hlo.add(hlo.subtract(high, product), across), hlo.multiply(x_low, y_low))
    found = hlo.add(total, product)
    return found, (hlo.add(lost[0], of_product), hlo.add(lost[1], hlo.add(hlo.subtract(total, found), product)))


def _halves(x: hlo.Instruction) -> tuple[hlo.Instruction, hlo.Instruction]:
    """Two numbers of 26 bits that together are x. Source: Dekker, "A floating-point technique for extending the precision"."""
    scaled = hlo.multiply(x, 2.0**27 + 1)
    high = hlo.subtract(scaled, hlo.subtract(scaled, x))
    return high, hlo.subtract(x, high)


def _sum_of_parts(total: hlo.Instruction, lost: tuple) -> hlo.Instruction:
    return hlo.add(hlo.subtract(total, 1.0), hlo.add(*lost))


@implements(math.hypot)
def hypot(*coordinates: Any) -> Any:
    return _root_of_squares(math.hypot, coordinates, coordinates)


@implements(math.dist)
def dist(p: Any, q: Any) -> Any:
    """The points may be arrays or sequences."""
    first, second = list(p), list(q)
    if len(first) != len(second):
        raise ValueError("both points must have the same number of dimensions")
    if not first or not has_traced([*first, *second]):
        return math.dist(first, second)
    differences = [hlo.subtract(*_floats(pair)) for pair in zip(first, second)]
    return _root_of_squares(math.dist, [_number(one) for one in differences], (p, q))


@implements(math.lcm)
def lcm(*integers: Any) -> Any:
    return _folded(math.lcm, np.lcm, 1, integers)


@implements(math.gcd)
def gcd(*integers: Any) -> Any:
    return _folded(math.gcd, np.gcd, 0, integers)


def _folded(function: Callable, ufunc: np.ufunc, start: int, integers: tuple[Any, ...]) -> Any:
    if not any(map(is_open, integers)):
        return function(*integers)
    found: Any = start
    for one in integers:
        if isinstance(one, TracedArray) and not one.element_type.is_integer:
            raise no_integer(one)
        found = ufunc(found, one)
    found.weak_type = True
    return found


@implements(math.isclose)
def isclose(a: Any, b: Any, *, rel_tol: float = 1e-09, abs_tol: float = 0.0) -> Any:
    if not is_open(a) and not is_open(b):
        return math.isclose(a, b, rel_tol=rel_tol, abs_tol=abs_tol)
    x, y = _floats((a, b))
    difference = hlo.abs(hlo.subtract(x, y))
    relative = hlo.multiply(hlo.maximum(hlo.abs(x), hlo.abs(y)), float(rel_tol))
    near = hlo.le(difference, hlo.maximum(relative, float(abs_tol)))
    return _number(hlo.or_(hlo.eq(x, y), hlo.and_(near, hlo.is_finite(difference))))


@implements(math.remainder)
def remainder(x: Any, y: Any) -> Any:
    """What is left of x by the multiple of y that is nearest, of two the even one; without rounding."""
    if not is_open(x) and not is_open(y):
        return math.remainder(x, y)
    number, divisor = _floats((x, y))
    invalid = hlo.or_(_is_infinite(number), hlo.eq(divisor, 0.0))
    nothing = hlo.or_(hlo.ne(number, number), hlo.ne(divisor, divisor))
    require_trace().add_raise(hlo.and_(invalid, hlo.not_(nothing)), _error(math.remainder, 1.0, 0.0))
    size, step = hlo.abs(number), hlo.abs(divisor)
    below = hlo.remainder(size, step)
    above = hlo.subtract(step, below)
    even = hlo.subtract(below, hlo.multiply(2.0, hlo.remainder(hlo.multiply(0.5, hlo.subtract(size, below)), step)))
    found = hlo.select(hlo.lt(below, above), below, hlo.select(hlo.gt(below, above), hlo.negate(above), even))
    found = hlo.select(_is_infinite(divisor), number, hlo.multiply(_one_with_sign_of(number), found))
    return _number(hlo.select(nothing, hlo.add(number, divisor), found))


def _one_with_sign_of(number: hlo.Instruction) -> hlo.Instruction:
    return np.copysign(1.0, _number(number)).instruction(require_trace())


@implements(math.modf)
def modf(number: Any) -> Any:
    if not is_open(number):
        return math.modf(number)
    (x,) = _floats((number,))
    parts = np.modf(_number(x))
    for part in parts:
        part.weak_type = True
    return parts


# --- cmath ---


def _complex(value: Any) -> TracedArray:
    if isinstance(value, TracedArray):
        return converted(value, hlo.C128)
    return _number(hlo.constant(complex(value), hlo.C128))


def _is_nan(z: hlo.Instruction) -> hlo.Instruction:
    return hlo.ne(z, z)


def _of_cmath(name: str, ufunc: Callable) -> Callable:
    function = getattr(cmath, name)

    def implementation(z: Any, *base: Any) -> Any:
        if not is_open(z) and not any(map(is_open, base)):
            return function(z, *base)
        number = _complex(z)
        found = ufunc(number)
        found.weak_type = True
        if found.element_type.is_complex:
            _check_complex(name, number, found)
        return found / implementation(*base) if base else found

    return implementation


def _check_complex(name: str, number: TracedArray, found: TracedArray) -> None:
    trace = require_trace()
    z, value = number.instruction(trace), found.instruction(trace)
    finite = hlo.and_(hlo.is_finite(hlo.real(z)), hlo.is_finite(hlo.imag(z)))
    infinite = hlo.or_(_is_infinite(hlo.real(value)), _is_infinite(hlo.imag(value)))
    overflows = name in ("exp", "sin", "cos", "sinh", "cosh")
    error = _error(cmath.exp, 1e4) if overflows else _error(cmath.log, 0)
    trace.add_raise(hlo.and_(finite, infinite), error)
    if overflows:
        trace.add_raise(hlo.and_(_is_nan(value), hlo.not_(_is_nan(z))), _error(cmath.exp, complex(0, math.inf)))


@implements(cmath.polar)
def polar(z: Any) -> Any:
    return (abs(_complex(z)), cmath_phase(z)) if is_open(z) else cmath.polar(z)


@implements(cmath.rect)
def rect(r: Any, phi: Any) -> Any:
    if not is_open(r) and not is_open(phi):
        return cmath.rect(r, phi)
    length, angle = _floats((r, phi))
    return _number(hlo.complex(hlo.multiply(length, hlo.cosine(angle)), hlo.multiply(length, hlo.sine(angle))))


for _name in ("erf", "erfc", "gamma", "lgamma"):
    if _name in SPECIAL_KERNELS or _name == "lgamma" and "gammaln" in SPECIAL_KERNELS:
        implements(getattr(math, _name))(_special(_name))
# The others Python computes when the program runs, with an example of what they return.
_BY_PYTHON = {
    "comb": 0, "perm": 0, "factorial": 0, "isqrt": 0, "frexp": (0.5, 0), "ldexp": 0.5, "nextafter": 0.5, "ulp": 0.5,
    "gamma": 0.5, "lgamma": 0.5, "erf": 0.5, "erfc": 0.5,
}  # fmt: skip
for _name, _example in _BY_PYTHON.items():
    if getattr(math, _name) not in MEANINGS:
        implements(getattr(math, _name))(functools.partial(asked, getattr(math, _name), _example))
for _name, _ufunc in _MATH.items():
    implements(getattr(math, _name))(_of_math(_name, _ufunc))
for _name, _ufunc in _INTEGERS.items():
    implements(getattr(math, _name))(_to_integer(_name, _ufunc))
for _name, _ufunc in _CMATH.items():
    implements(getattr(cmath, _name))(_of_cmath(_name, _ufunc))
cmath_phase = _of_cmath("phase", np.angle)
