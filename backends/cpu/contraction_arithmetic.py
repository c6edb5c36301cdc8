"""Products and sums of the elements of a contraction, in registers."""

from __future__ import annotations

from llvmlite import ir

from ...hlo import ElementType
from ..llvm.arithmetic import constant, multiply_add
from ..llvm.types import ComplexValue, RegisterValue, integer_constant, register_type


def zero(element_type: ElementType, lanes: int) -> RegisterValue:
    type_ = register_type(element_type, lanes)
    if element_type.is_complex:
        return ComplexValue(constant(type_, 0.0), constant(type_, 0.0))
    return constant(type_, 0.0) if element_type.is_float else integer_constant(type_, 0)


def multiplied_and_added(
    b: ir.IRBuilder, element_type: ElementType, left: RegisterValue, right: RegisterValue, total: RegisterValue
) -> RegisterValue:
    """The sum of the total and a product, in the element type."""
    kind = element_type.kind
    if kind == "float":
        return multiply_add(b, left, right, total)
    if kind == "complex":
        real = multiply_add(b, left.real, right.real, total.real)
        imag = multiply_add(b, left.real, right.imag, total.imag)
        return ComplexValue(multiply_add(b, b.fneg(left.imag), right.imag, real), multiply_add(b, left.imag, right.real, imag))
    if kind == "pred":
        return b.or_(total, b.and_(left, right))
    return b.add(total, b.mul(left, right))
