"""Kernels of arithmetic ufuncs, with NumPy's signs, zeros and errors.

Source of the semantics: NumPy's reference of each ufunc, and for floor division and remainder of floats the algorithm
that Python's language reference prescribes (the quotient is floored, the remainder has the divisor's sign).
"""

from __future__ import annotations

import numpy as np

from ... import hlo
from ...hlo.ops.elementwise import MAXIMUM, MINIMUM
from ..recording.function_tables import kernel
from ..recording.operands import full_like, scalar_value
from . import complex_numbers
from .emission import (
    absolute,
    add,
    and_,
    complex_,
    conjugate,
    convert,
    divide,
    each_part,
    eq,
    floor,
    ge,
    gt,
    imag,
    in_float32,
    is_finite,
    is_nan,
    is_zero,
    le,
    lt,
    maximum,
    minimum,
    multiply,
    ne,
    negate,
    not_,
    or_,
    power,
    real,
    remainder,
    rint,
    select,
    sign,
    subtract,
    truth,
    xor,
)  # fmt: skip
from .floating_point import copysign, truncate

Instruction = hlo.Instruction
Builder = hlo.Builder


@kernel(np.add)
def _(b: Builder, x: Instruction, y: Instruction) -> Instruction:
    return or_(b, x, y) if x.shape.element_type is hlo.PRED else add(b, x, y)


@kernel(np.multiply)
def _(b, x, y):
    return and_(b, x, y) if x.shape.element_type is hlo.PRED else multiply(b, x, y)


kernel(np.subtract)(subtract)


@kernel(np.negative)
def _(b, x):
    return negate(b, x)


@kernel(np.positive)
def _(b, x):
    return x


@kernel(np.absolute, np.fabs)
def _(b, x):
    return x if x.shape.element_type.kind in ("pred", "unsigned") else absolute(b, x)


@kernel(np.conjugate)
def _(b, x):
    return conjugate(b, x)


@kernel(np.square)
def _(b, x):
    return and_(b, x, x) if x.shape.element_type is hlo.PRED else multiply(b, x, x)


@kernel(np.sign)
def _(b, x):
    kind = x.shape.element_type.kind
    if kind == "unsigned":
        return minimum(b, x, 1)
    if kind == "float":  # NumPy's sign of -0 is +0, HLO's is -0
        return select(b, is_zero(b, x), 0, sign(b, x))
    return sign(b, x)


@kernel(np.true_divide)
def _(b, x, y):
    return complex_numbers.quotient(b, x, y) if x.shape.element_type.is_complex else divide(b, x, y)


@kernel(np.reciprocal)
def _(b, x):
    if x.shape.element_type.is_complex:
        return complex_numbers.reciprocal(b, x)
    one = full_like(b, 1, x)
    if not x.shape.element_type.is_integer:
        return divide(b, one, x)
    # The quotient by zero is what the conversion of infinity gives in C: the least of the wide types, 0 of the narrow ones.
    element_type = x.shape.element_type
    at_zero = np.iinfo(element_type.dtype).min if element_type.bits >= 32 else 0
    return select(b, is_zero(b, x), at_zero, divide(b, one, x))


# --- floor division and remainder ---


def _floor_divide_integers(b: Builder, x: Instruction, y: Instruction) -> Instruction:
    divisor = scalar_value(y)
    quotient = divide(b, x, y)
    if x.shape.element_type.kind == "unsigned":
        return quotient if divisor else select(b, is_zero(b, y), 0, quotient)
    rest = remainder(b, x, y)
    if divisor is not None and divisor > 0:
        inexact = lt(b, rest, 0)
    else:
        inexact = and_(b, ne(b, rest, 0), ne(b, lt(b, rest, 0), lt(b, y, 0)))
    floored = subtract(b, quotient, convert(b, inexact, x.shape.element_type))
    return floored if divisor else select(b, is_zero(b, y), 0, floored)


def _remainder_integers(b: Builder, x: Instruction, y: Instruction) -> Instruction:
    divisor = scalar_value(y)
    rest = remainder(b, x, y)
    if x.shape.element_type.kind == "unsigned":
        return rest if divisor else select(b, is_zero(b, y), 0, rest)
    if divisor is not None and divisor > 0:
        adjusted = select(b, lt(b, rest, 0), add(b, rest, y), rest)
    else:
        other_sign = and_(b, ne(b, rest, 0), ne(b, lt(b, rest, 0), lt(b, y, 0)))
        adjusted = select(b, other_sign, add(b, rest, y), rest)
    return adjusted if divisor else select(b, is_zero(b, y), 0, adjusted)


@in_float32
def _divmod_floats(b: Builder, x: Instruction, y: Instruction) -> tuple[Instruction, Instruction]:
    """The floored quotient and the remainder with the divisor's sign; by zero, x / y and NaN."""
    rest = remainder(b, x, y)
    quotient = divide(b, subtract(b, x, rest), y)
    nonzero = ne(b, rest, 0)
    other_sign = and_(b, nonzero, ne(b, lt(b, rest, 0), lt(b, y, 0)))
    zero_rest = copysign(b, full_like(b, 0, y), y)
    adjusted = select(b, nonzero, select(b, other_sign, add(b, rest, y), rest), zero_rest)
    quotient = select(b, other_sign, subtract(b, quotient, 1), quotient)
    floored = floor(b, quotient)
    floored = select(b, gt(b, subtract(b, quotient, floored), 0.5), add(b, floored, 1), floored)
    ratio = divide(b, x, y)
    floored = select(b, ne(b, quotient, 0), floored, copysign(b, full_like(b, 0, ratio), ratio))
    by_zero = is_zero(b, y)
    return select(b, by_zero, ratio, floored), select(b, by_zero, rest, adjusted)


@kernel(np.floor_divide)
def _(b, x, y):
    return _floor_divide_integers(b, x, y) if x.shape.element_type.is_integer else _divmod_floats(b, x, y)[0]


@kernel(np.remainder)
def _(b, x, y):
    return _remainder_integers(b, x, y) if x.shape.element_type.is_integer else _divmod_floats(b, x, y)[1]


@kernel(np.divmod)
def _(b, x, y):
    if x.shape.element_type.is_integer:
        return _floor_divide_integers(b, x, y), _remainder_integers(b, x, y)
    return _divmod_floats(b, x, y)


@kernel(np.fmod)
def _(b, x, y):
    rest = remainder(b, x, y)
    if x.shape.element_type.is_integer and not scalar_value(y):
        return select(b, is_zero(b, y), 0, rest)
    return rest


@kernel(np.power, np.float_power)
def _(b, x, y):
    return power(b, x, y)


@kernel(np.heaviside)
def _(b, x, at_zero):
    step = select(b, gt(b, x, 0), full_like(b, 1, x), select(b, lt(b, x, 0), 0, x))
    return select(b, is_zero(b, x), at_zero, step)


@kernel(np.hypot)
def _(b, x, y):
    element_type = x.shape.element_type
    if element_type.bits < 32:
        x, y = convert(b, x, hlo.F32), convert(b, y, hlo.F32)
    return convert(b, absolute(b, complex_(b, x, y)), element_type)


# --- comparison ---


def _lexicographic(b: Builder, x: Instruction, y: Instruction, direction: str) -> Instruction:
    """Order of complex numbers: by real, then by imaginary part; false where a part that decides is NaN."""
    strict, at_tie = {"LT": (lt, lt), "LE": (lt, le), "GT": (gt, gt), "GE": (gt, ge)}[direction]
    x_real, x_imag, y_real, y_imag = real(b, x), imag(b, x), real(b, y), imag(b, y)
    ordered = and_(b, eq(b, x_imag, x_imag), eq(b, y_imag, y_imag))
    first = and_(b, strict(b, x_real, y_real), ordered)
    return or_(b, first, and_(b, eq(b, x_real, y_real), at_tie(b, x_imag, y_imag)))


def compare(b: Builder, x: Instruction, y: Instruction, direction: str) -> Instruction:
    """NumPy's comparison of operands of equal dimensions; signed with unsigned integers compares their values."""
    left, right = x.shape.element_type, y.shape.element_type
    if left is right:
        if left.is_complex and direction not in ("EQ", "NE"):
            return _lexicographic(b, x, y, direction)
        return b.emit("compare", x, y, direction=direction)
    # NumPy has loops for int64 with uint64 alone. A negative number is less than every unsigned one.
    if right.kind == "signed":
        return compare(b, y, x, {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}.get(direction, direction))
    negative = lt(b, x, 0)
    below = b.emit("compare", convert(b, x, right), y, direction=direction)
    if direction in ("LT", "LE", "NE"):
        return or_(b, negative, below)
    return and_(b, not_(b, negative), below)


def _comparison(ufunc: np.ufunc, direction: str) -> None:
    kernel(ufunc)(lambda b, x, y: compare(b, x, y, direction))


for _ufunc, _direction in (
    (np.equal, "EQ"), (np.not_equal, "NE"), (np.less, "LT"), (np.less_equal, "LE"), (np.greater, "GT"), (np.greater_equal,
    "GE"),
):  # fmt: skip
    _comparison(_ufunc, _direction)


def least(dtype: np.dtype):
    """What maximum starts from. NumPy orders complex numbers, too."""
    return complex(-np.inf, -np.inf) if dtype.kind == "c" else MAXIMUM.identity(hlo.element_type_of(dtype))


def greatest(dtype: np.dtype):
    """What minimum starts from."""
    return complex(np.inf, np.inf) if dtype.kind == "c" else MINIMUM.identity(hlo.element_type_of(dtype))


def _nan(dtype: np.dtype, otherwise):
    return np.nan if dtype.kind in "fcV" else otherwise(dtype)


def _extremum(b, x, y, emit, direction):
    if x.shape.element_type is hlo.PRED:
        return (or_ if direction == "GE" else and_)(b, x, y)
    if x.shape.element_type.is_complex:
        return select(b, or_(b, is_nan(b, x), compare(b, x, y, direction)), x, y)
    return emit(b, x, y)


def _extremum_without_nan(b, x, y, emit, direction):
    if x.shape.element_type.kind not in ("float", "complex"):
        return _extremum(b, x, y, emit, direction)
    return select(b, is_nan(b, y), x, select(b, is_nan(b, x), y, _extremum(b, x, y, emit, direction)))


kernel(np.maximum, identity=least)(lambda b, x, y: _extremum(b, x, y, maximum, "GE"))
kernel(np.minimum, identity=greatest)(lambda b, x, y: _extremum(b, x, y, minimum, "LE"))
kernel(np.fmax, identity=lambda dtype: _nan(dtype, least))(lambda b, x, y: _extremum_without_nan(b, x, y, maximum, "GE"))
kernel(np.fmin, identity=lambda dtype: _nan(dtype, greatest))(lambda b, x, y: _extremum_without_nan(b, x, y, minimum, "LE"))


# --- logic ---


def _logical(emit):
    return lambda b, *operands: emit(b, *(convert(b, operand, hlo.PRED) for operand in operands))


kernel(np.logical_and)(_logical(and_))
kernel(np.logical_or)(_logical(or_))
kernel(np.logical_xor)(_logical(xor))
kernel(np.logical_not)(_logical(not_))


def _either_part(b, x, test):
    if x.shape.element_type.is_complex:
        return or_(b, test(b, real(b, x)), test(b, imag(b, x)))
    return test(b, x)


@kernel(np.isnan)
def _(b, x):
    return is_nan(b, x) if x.shape.element_type.kind in ("float", "complex") else truth(b, x, False)


@kernel(np.isinf)
def _(b, x):
    if x.shape.element_type.kind not in ("float", "complex"):
        return truth(b, x, False)
    return _either_part(b, x, lambda b, part: eq(b, absolute(b, part), np.inf))


@kernel(np.isfinite)
def _(b, x):
    element_type = x.shape.element_type
    if element_type.is_complex:
        return and_(b, is_finite(b, real(b, x)), is_finite(b, imag(b, x)))
    return is_finite(b, x) if element_type.is_float else truth(b, x, True)


# --- rounding ---


def _rounding(ufunc: np.ufunc, emit) -> None:
    kernel(ufunc)(lambda b, x: emit(b, x) if x.shape.element_type.kind in ("float", "complex") else x)


_rounding(np.rint, each_part(rint))
_rounding(np.floor, floor)
_rounding(np.ceil, lambda b, x: b.emit("ceil", x))
_rounding(np.trunc, truncate)
