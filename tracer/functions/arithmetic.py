"""Kernels of arithmetic ufuncs, with NumPy's signs, zeros and errors.

Source of the semantics: NumPy's reference of each ufunc, and for floor division and remainder of floats the algorithm
that Python's language reference prescribes (the quotient is floored, the remainder has the divisor's sign).
"""

from __future__ import annotations

import numpy as np

from ... import hlo
from ...hlo.ops.elementwise import MAXIMUM, MINIMUM
from ..recording.function_tables import kernel
from ..recording.operands import scalar_value
from . import complex_numbers
from .floating_point import copysign, truncate
from .kernel_parts import each_part, in_float32, is_nan, is_zero, truth

Instruction = hlo.Instruction


@kernel(np.add)
def _(x: Instruction, y: Instruction) -> Instruction:
    return hlo.or_(x, y) if x.shape.element_type is hlo.PRED else hlo.add(x, y)


@kernel(np.multiply)
def _(x, y):
    return hlo.and_(x, y) if x.shape.element_type is hlo.PRED else hlo.multiply(x, y)


kernel(np.subtract)(hlo.subtract)


@kernel(np.negative)
def _(x):
    return hlo.negate(x)


@kernel(np.positive)
def _(x):
    return x


@kernel(np.absolute, np.fabs)
def _(x):
    return x if x.shape.element_type.kind in ("pred", "unsigned") else hlo.abs(x)


@kernel(np.conjugate)
def _(x):
    return hlo.conjugate(x)


@kernel(np.square)
def _(x):
    return hlo.and_(x, x) if x.shape.element_type is hlo.PRED else hlo.multiply(x, x)


@kernel(np.sign)
def _(x):
    kind = x.shape.element_type.kind
    if kind == "unsigned":
        return hlo.minimum(x, 1)
    if kind == "float":  # NumPy's sign of -0 is +0, HLO's is -0
        return hlo.select(is_zero(x), 0, hlo.sign(x))
    return hlo.sign(x)


@kernel(np.true_divide)
def _(x, y):
    return complex_numbers.quotient(x, y) if x.shape.element_type.is_complex else hlo.divide(x, y)


@kernel(np.reciprocal)
def _(x):
    if x.shape.element_type.is_complex:
        return complex_numbers.reciprocal(x)
    if not x.shape.element_type.is_integer:
        return hlo.divide(hlo.full_like(x, 1), x)
    # The quotient by zero is what the conversion of infinity gives in C: the least of the wide types, 0 of the narrow ones.
    element_type = x.shape.element_type
    at_zero = np.iinfo(element_type.dtype).min if element_type.bits >= 32 else 0
    is_unit = hlo.eq(x, 1) if element_type.kind == "unsigned" else hlo.eq(hlo.abs(x), 1)
    return hlo.select(is_unit, x, hlo.select(is_zero(x), at_zero, hlo.full_like(x, 0)))


# --- floor division and remainder ---


def _floor_divide_integers(x: Instruction, y: Instruction) -> Instruction:
    divisor = scalar_value(y)
    quotient = hlo.divide(x, y)
    if x.shape.element_type.kind == "unsigned":
        return quotient if divisor else hlo.select(is_zero(y), 0, quotient)
    rest = hlo.remainder(x, y)
    if divisor is not None and divisor > 0:
        inexact = hlo.lt(rest, 0)
    else:
        inexact = hlo.and_(hlo.ne(rest, 0), hlo.ne(hlo.lt(rest, 0), hlo.lt(y, 0)))
    floored = hlo.subtract(quotient, hlo.convert(inexact, x.shape.element_type))
    return floored if divisor else hlo.select(is_zero(y), 0, floored)


def _remainder_integers(x: Instruction, y: Instruction) -> Instruction:
    divisor = scalar_value(y)
    rest = hlo.remainder(x, y)
    if x.shape.element_type.kind == "unsigned":
        return rest if divisor else hlo.select(is_zero(y), 0, rest)
    if divisor is not None and divisor > 0:
        adjusted = hlo.select(hlo.lt(rest, 0), hlo.add(rest, y), rest)
    else:
        other_sign = hlo.and_(hlo.ne(rest, 0), hlo.ne(hlo.lt(rest, 0), hlo.lt(y, 0)))
        adjusted = hlo.select(other_sign, hlo.add(rest, y), rest)
    return adjusted if divisor else hlo.select(is_zero(y), 0, adjusted)


@in_float32
def _divmod_floats(x: Instruction, y: Instruction) -> tuple[Instruction, Instruction]:
    """The floored quotient and the remainder with the divisor's sign; by zero, x / y and NaN."""
    rest = hlo.remainder(x, y)
    quotient = hlo.divide(hlo.subtract(x, rest), y)
    nonzero = hlo.ne(rest, 0)
    other_sign = hlo.and_(nonzero, hlo.ne(hlo.lt(rest, 0), hlo.lt(y, 0)))
    zero_rest = copysign(hlo.full_like(y, 0), y)
    adjusted = hlo.select(nonzero, hlo.select(other_sign, hlo.add(rest, y), rest), zero_rest)
    quotient = hlo.select(other_sign, hlo.subtract(quotient, 1), quotient)
    floored = hlo.floor(quotient)
    floored = hlo.select(hlo.gt(hlo.subtract(quotient, floored), 0.5), hlo.add(floored, 1), floored)
    ratio = hlo.divide(x, y)
    floored = hlo.select(hlo.ne(quotient, 0), floored, copysign(hlo.full_like(ratio, 0), ratio))
    by_zero = is_zero(y)
    return hlo.select(by_zero, ratio, floored), hlo.select(by_zero, rest, adjusted)


@kernel(np.floor_divide)
def _(x, y):
    return _floor_divide_integers(x, y) if x.shape.element_type.is_integer else _divmod_floats(x, y)[0]


@kernel(np.remainder)
def _(x, y):
    return _remainder_integers(x, y) if x.shape.element_type.is_integer else _divmod_floats(x, y)[1]


@kernel(np.divmod)
def _(x, y):
    if x.shape.element_type.is_integer:
        return _floor_divide_integers(x, y), _remainder_integers(x, y)
    return _divmod_floats(x, y)


@kernel(np.fmod)
def _(x, y):
    rest = hlo.remainder(x, y)
    if x.shape.element_type.is_integer and not scalar_value(y):
        return hlo.select(is_zero(y), 0, rest)
    return rest


@kernel(np.power, np.float_power)
def _(x, y):
    return hlo.power(x, y)


@kernel(np.heaviside)
def _(x, at_zero):
    step = hlo.select(hlo.gt(x, 0), hlo.full_like(x, 1), hlo.select(hlo.lt(x, 0), 0, x))
    return hlo.select(is_zero(x), at_zero, step)


@kernel(np.hypot)
def _(x, y):
    element_type = x.shape.element_type
    if element_type.bits < 32:
        x, y = hlo.convert(x, hlo.F32), hlo.convert(y, hlo.F32)
    return hlo.convert(hlo.abs(hlo.complex(x, y)), element_type)


# --- comparison ---


def _lexicographic(x: Instruction, y: Instruction, direction: str) -> Instruction:
    """Order of complex numbers: by real, then by imaginary part; false where a part that decides is NaN."""
    strict, at_tie = {"LT": (hlo.lt, hlo.lt), "LE": (hlo.lt, hlo.le), "GT": (hlo.gt, hlo.gt), "GE": (hlo.gt, hlo.ge)}[direction]
    x_real, x_imag, y_real, y_imag = hlo.real(x), hlo.imag(x), hlo.real(y), hlo.imag(y)
    ordered = hlo.and_(hlo.eq(x_imag, x_imag), hlo.eq(y_imag, y_imag))
    first = hlo.and_(strict(x_real, y_real), ordered)
    return hlo.or_(first, hlo.and_(hlo.eq(x_real, y_real), at_tie(x_imag, y_imag)))


def compare(x: Instruction, y: Instruction, direction: str) -> Instruction:
    """NumPy's comparison of operands of equal dimensions; signed with unsigned integers compares their values."""
    left, right = x.shape.element_type, y.shape.element_type
    if left is right:
        if left.is_complex and direction not in ("EQ", "NE"):
            return _lexicographic(x, y, direction)
        return hlo.compare(x, y, direction=direction)
    # NumPy has loops for int64 with uint64 alone. A negative number is less than every unsigned one.
    if right.kind == "signed":
        return compare(y, x, {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}.get(direction, direction))
    negative = hlo.lt(x, 0)
    below = hlo.compare(hlo.convert(x, right), y, direction=direction)
    if direction in ("LT", "LE", "NE"):
        return hlo.or_(negative, below)
    return hlo.and_(hlo.not_(negative), below)


def _comparison(ufunc: np.ufunc, direction: str) -> None:
    kernel(ufunc)(lambda x, y: compare(x, y, direction))


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


def _extremum(x, y, emit, direction):
    if x.shape.element_type is hlo.PRED:
        return (hlo.or_ if direction == "GE" else hlo.and_)(x, y)
    if x.shape.element_type.is_complex:
        return hlo.select(hlo.or_(is_nan(x), compare(x, y, direction)), x, y)
    return emit(x, y)


def _extremum_without_nan(x, y, emit, direction):
    if x.shape.element_type.kind not in ("float", "complex"):
        return _extremum(x, y, emit, direction)
    return hlo.select(is_nan(y), x, hlo.select(is_nan(x), y, _extremum(x, y, emit, direction)))


kernel(np.maximum, identity=least)(lambda x, y: _extremum(x, y, hlo.maximum, "GE"))
kernel(np.minimum, identity=greatest)(lambda x, y: _extremum(x, y, hlo.minimum, "LE"))
kernel(np.fmax, identity=lambda dtype: _nan(dtype, least))(lambda x, y: _extremum_without_nan(x, y, hlo.maximum, "GE"))
kernel(np.fmin, identity=lambda dtype: _nan(dtype, greatest))(lambda x, y: _extremum_without_nan(x, y, hlo.minimum, "LE"))


# --- logic ---


def _logical(emit):
    return lambda *operands: emit(*(hlo.convert(operand, hlo.PRED) for operand in operands))


kernel(np.logical_and)(_logical(hlo.and_))
kernel(np.logical_or)(_logical(hlo.or_))
kernel(np.logical_xor)(_logical(hlo.xor))
kernel(np.logical_not)(_logical(hlo.not_))


def _either_part(x, test):
    if x.shape.element_type.is_complex:
        return hlo.or_(test(hlo.real(x)), test(hlo.imag(x)))
    return test(x)


@kernel(np.isnan)
def _(x):
    return is_nan(x) if x.shape.element_type.kind in ("float", "complex") else truth(x, False)


@kernel(np.isinf)
def _(x):
    if x.shape.element_type.kind not in ("float", "complex"):
        return truth(x, False)
    return _either_part(x, lambda part: hlo.eq(hlo.abs(part), np.inf))


@kernel(np.isfinite)
def _(x):
    element_type = x.shape.element_type
    if element_type.is_complex:
        return hlo.and_(hlo.is_finite(hlo.real(x)), hlo.is_finite(hlo.imag(x)))
    return hlo.is_finite(x) if element_type.is_float else truth(x, True)


# --- rounding ---


def _rounding(ufunc: np.ufunc, emit) -> None:
    kernel(ufunc)(lambda x: emit(x) if x.shape.element_type.kind in ("float", "complex") else x)


_rounding(np.rint, each_part(hlo.round_nearest_even))
_rounding(np.floor, hlo.floor)
_rounding(np.ceil, lambda x: hlo.ceil(x))
_rounding(np.trunc, truncate)
