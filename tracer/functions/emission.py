"""HLO operations as functions of instructions, for kernels: ``add(b, x, 1)`` takes numbers beside instructions."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import ml_dtypes
import numpy as np

from ... import hlo
from ..recording.operands import broadcast, constant, convert, full_like

Instruction = hlo.Instruction
Builder = hlo.Builder


def _unary(opcode: str) -> Callable[[Builder, Instruction], Instruction]:
    return lambda b, x: b.emit(opcode, x)


def _binary(opcode: str) -> Callable[[Builder, Any, Any], Instruction]:
    def emit(b: Builder, x: Any, y: Any) -> Instruction:
        if not isinstance(y, Instruction):
            y = full_like(b, y, x)
        elif not isinstance(x, Instruction):
            x = full_like(b, x, y)
        return b.emit(opcode, x, y)

    return emit


def _comparison(direction: str) -> Callable[[Builder, Any, Any], Instruction]:
    def emit(b: Builder, x: Any, y: Any) -> Instruction:
        if not isinstance(y, Instruction):
            y = full_like(b, y, x)
        elif not isinstance(x, Instruction):
            x = full_like(b, x, y)
        return b.emit("compare", x, y, direction=direction)

    return emit


absolute, negate, sign, sqrt, cbrt = (_unary(o) for o in ("abs", "negate", "sign", "sqrt", "cbrt"))
exp, expm1, log, log1p = (_unary(o) for o in ("exponential", "exponential-minus-one", "log", "log-plus-one"))
sine, cosine, tangent, tanh, logistic, erf = (_unary(o) for o in ("sine", "cosine", "tan", "tanh", "logistic", "erf"))
acos, asin, atan, cosh, sinh, acosh, asinh, atanh = (
    _unary(o) for o in ("acos", "asin", "atan", "cosh", "sinh", "acosh", "asinh", "atanh")
)
ceil, floor, rint = (_unary(o) for o in ("ceil", "floor", "round-nearest-even"))
real, imag, is_finite, not_, popcnt = (_unary(o) for o in ("real", "imag", "is-finite", "not", "popcnt"))
add, subtract, multiply, divide, remainder = (_binary(o) for o in ("add", "subtract", "multiply", "divide", "remainder"))
power, maximum, minimum, atan2 = (_binary(o) for o in ("power", "maximum", "minimum", "atan2"))
and_, or_, xor, shift_left = (_binary(o) for o in ("and", "or", "xor", "shift-left"))
shift_right_arithmetic, shift_right_logical = (_binary(o) for o in ("shift-right-arithmetic", "shift-right-logical"))
complex_ = _binary("complex")
eq, ne, lt, le, gt, ge = (_comparison(d) for d in ("EQ", "NE", "LT", "LE", "GT", "GE"))


def select(b: Builder, condition: Instruction, on_true: Any, on_false: Any) -> Instruction:
    """Element by element; one of the two values may be a number."""
    if not isinstance(on_true, Instruction):
        on_true = full_like(b, on_true, on_false)
    elif not isinstance(on_false, Instruction):
        on_false = full_like(b, on_false, on_true)
    return b.emit("select", condition, on_true, on_false)


def is_nan(b: Builder, x: Instruction) -> Instruction:
    return ne(b, x, x)


def conjugate(b: Builder, x: Instruction) -> Instruction:
    return complex_(b, real(b, x), negate(b, imag(b, x))) if x.shape.element_type.is_complex else x


def truth(b: Builder, operand: Instruction, value: bool) -> Instruction:
    """A pred constant in the operand's dimensions."""
    return broadcast(b, constant(b, value, hlo.PRED), operand.shape.dimensions)


def is_zero(b: Builder, x: Instruction) -> Instruction:
    return eq(b, x, 0)


def each_part(emit: Callable) -> Callable:
    """A kernel of real numbers that on complex ones works on the real and the imaginary part."""

    @wraps(emit)
    def kernel(b: Builder, x: Instruction) -> Instruction:
        if x.shape.element_type.is_complex:
            return complex_(b, emit(b, real(b, x)), emit(b, imag(b, x)))
        return emit(b, x)

    return kernel


def in_float32(emit: Callable) -> Callable:
    """A kernel of several steps that on floats of 16 bits computes in f32 and rounds once."""

    @wraps(emit)
    def kernel(b: Builder, *operands: Instruction) -> Any:
        element_type = operands[0].shape.element_type
        if not (element_type.is_float and element_type.bits < 32):
            return emit(b, *operands)
        wide = [convert(b, operand, hlo.F32) if operand.shape.element_type is element_type else operand for operand in operands]
        results = emit(b, *wide)
        if isinstance(results, tuple):
            return tuple(_narrow(b, one, element_type) for one in results)
        return _narrow(b, results, element_type)

    return kernel


def _narrow(b: Builder, x: Instruction, element_type: hlo.ElementType) -> Instruction:
    return convert(b, x, element_type) if x.shape.element_type is hlo.F32 else x


def signed_type(element_type: hlo.ElementType) -> hlo.ElementType:
    """The signed integer type as wide as a float type: that of its bits."""
    return {16: hlo.S16, 32: hlo.S32, 64: hlo.S64}[element_type.bits]


def bits_of(b: Builder, x: Instruction) -> Instruction:
    """The bits of floats as signed integers."""
    return b.emit("bitcast-convert", x, shape=x.shape.without_layout().with_element_type(signed_type(x.shape.element_type)))


def float_of(b: Builder, bits: Instruction, element_type: hlo.ElementType) -> Instruction:
    """The floats with these bits."""
    return b.emit("bitcast-convert", bits, shape=bits.shape.without_layout().with_element_type(element_type))


def sign_bit(b: Builder, x: Instruction) -> Instruction:
    """Whether the sign bit of floats is set, that of -0 and of NaN too."""
    return lt(b, bits_of(b, x), 0)


def finfo(x: Instruction) -> Any:
    """`finfo` of the operand's element type."""
    return ml_dtypes.finfo(x.shape.dtype)


def iinfo(x: Instruction) -> np.iinfo:
    return np.iinfo(x.shape.dtype)
