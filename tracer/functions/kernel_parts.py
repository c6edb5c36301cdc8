"""What kernels of several steps are made of: NaN and zero, bits of floats, wider types for the steps between."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import ml_dtypes
import numpy as np

from ... import hlo
from ..recording.operands import broadcast, convert

Instruction = hlo.Instruction


def is_nan(x: Instruction) -> Instruction:
    return hlo.ne(x, x)


def truth(operand: Instruction, value: bool) -> Instruction:
    """A pred constant in the operand's dimensions."""
    return broadcast(hlo.constant(value, hlo.PRED), operand.shape.dimensions)


def is_zero(x: Instruction) -> Instruction:
    return hlo.eq(x, 0)


def each_part(emit: Callable) -> Callable:
    """A kernel of real numbers that on complex ones works on the real and the imaginary part."""

    @wraps(emit)
    def kernel(x: Instruction) -> Instruction:
        if x.shape.element_type.is_complex:
            return hlo.complex(emit(hlo.real(x)), emit(hlo.imag(x)))
        return emit(x)

    return kernel


def in_float32(emit: Callable) -> Callable:
    """A kernel of several steps that on floats of 16 bits computes in f32 and rounds once."""

    @wraps(emit)
    def kernel(*operands: Instruction) -> Any:
        element_type = operands[0].shape.element_type
        if not (element_type.is_float and element_type.bits < 32):
            return emit(*operands)
        wide = [convert(operand, hlo.F32) if operand.shape.element_type is element_type else operand for operand in operands]
        results = emit(*wide)
        if isinstance(results, tuple):
            return tuple(_narrow(one, element_type) for one in results)
        return _narrow(results, element_type)

    return kernel


def _narrow(x: Instruction, element_type: hlo.ElementType) -> Instruction:
    return convert(x, element_type) if x.shape.element_type is hlo.F32 else x


def signed_type(element_type: hlo.ElementType) -> hlo.ElementType:
    """The signed integer type as wide as a float type: that of its bits."""
    return {16: hlo.S16, 32: hlo.S32, 64: hlo.S64}[element_type.bits]


def bits_of(x: Instruction) -> Instruction:
    """The bits of floats as signed integers."""
    return hlo.bitcast_convert(x, signed_type(x.shape.element_type))


def float_of(bits: Instruction, element_type: hlo.ElementType) -> Instruction:
    """The floats with these bits."""
    return hlo.bitcast_convert(bits, element_type)


def sign_bit(x: Instruction) -> Instruction:
    """Whether the sign bit of floats is set, that of -0 and of NaN too."""
    return hlo.lt(bits_of(x), 0)


def finfo(x: Instruction) -> Any:
    """`finfo` of the operand's element type."""
    return ml_dtypes.finfo(x.shape.dtype)


def iinfo(x: Instruction) -> np.iinfo:
    return np.iinfo(x.shape.dtype)
