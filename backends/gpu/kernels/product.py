"""Products as kernels see them: dimensions by their role, and how far each walks in both operands and in the output.

An element of the left operand lies at the sum of a step for its row, one for its term, and one for its batch. So a dot of any
layout, and a convolution without padding, is one form, and nothing is copied before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from llvmlite import ir

from ....compile.contraction import Contraction
from ....hlo import F32, ElementType, Instruction, Shape
from ...llvm import arithmetic
from ...llvm.arrays import Array
from ...llvm.conversion import convert_value
from ...llvm.elementwise import ElementwiseContext
from ...llvm.index import Affine
from ...llvm.types import I32, I64, ComplexValue, RegisterValue, integer_constant, register_type, round_to_type
from ..kernel import wide


@dataclass(frozen=True)
class Axis:
    """A dimension that several of left operand, right operand and output have; ``steps`` are elements, 0 where one has not."""

    size: int
    steps: tuple[int, int, int]


@dataclass(frozen=True)
class Product:
    """What is multiplied and summed, as dimensions by their role."""

    batch: tuple[Axis, ...]
    rows: tuple[Axis, ...]
    columns: tuple[Axis, ...]
    terms: tuple[Axis, ...]

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """How many batches, rows, columns and terms there are."""
        return tuple([prod(axis.size for axis in axes) for axes in (self.batch, self.rows, self.columns, self.terms)])


def product_of(contraction: Contraction, strides: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]) -> Product:
    """The roles of a contraction's dimensions; ``strides`` are those of its operands and its output, in elements."""
    left, right, output = strides
    lhs, rhs = contraction.lhs.dimensions, contraction.rhs.dimensions
    of_output = iter(output)
    batch = [Axis(lhs[a], (left[a], right[b], next(of_output))) for a, b in contraction.batch]
    rows = [Axis(lhs[d], (left[d], 0, next(of_output))) for d in contraction.rows]
    columns = [Axis(rhs[d], (0, right[d], next(of_output))) for d in contraction.columns]
    terms = [Axis(lhs[a], (left[a], right[b], 0)) for a, b in contraction.terms]
    return Product(*map(_merged, (batch, rows, columns, terms)))


def _merged(axes: list[Axis]) -> tuple[Axis, ...]:
    """Neighbouring dimensions that all walk as one; those of size 1 left out."""
    merged: list[Axis] = []
    for axis in axes:
        if axis.size == 1:
            continue
        if merged and merged[-1].steps == tuple([step * axis.size for step in axis.steps]):
            merged[-1] = Axis(merged[-1].size * axis.size, axis.steps)
        else:
            merged.append(axis)
    return tuple(merged)


def dense_output(product: Product) -> Product:
    """The product with an output whose elements lie side by side, by batch, row and column."""
    step, axes = 1, []
    for axis in reversed((*product.batch, *product.rows, *product.columns)):
        axes.append(Axis(axis.size, (*axis.steps[:2], step)))
        step *= axis.size
    axes.reverse()
    first, last = len(product.batch), len(product.batch) + len(product.rows)
    return Product(tuple(axes[:first]), tuple(axes[first:last]), tuple(axes[last:]), product.terms)


def narrow(b: ir.IRBuilder, number: ir.Value, limit: int) -> ir.Value:
    """A number below a limit, with 32 bits where these are enough: they are divided several times as fast."""
    return b.trunc(number, I32) if limit < 1 << 31 and number.type == I64 else number


def offsets_of(b: ir.IRBuilder, number: ir.Value, axes: tuple[Axis, ...]) -> list[ir.Value]:
    """How far from the beginning of left operand, right operand and output the element of this number is, i64 each."""
    totals: list[ir.Value] = [I64(0)] * 3
    for position, axis in reversed(list(enumerate(axes))):
        if position == 0:
            part = number
        else:
            part, number = b.urem(number, number.type(axis.size)), b.udiv(number, number.type(axis.size))
        part = wide(b, part)
        for side, step in enumerate(axis.steps):
            if step:
                totals[side] = b.add(totals[side], b.mul(part, I64(step)))
    return totals


def constant_offsets(number: int, axes: tuple[Axis, ...]) -> list[int]:
    """The same of a number that is known."""
    totals = [0] * 3
    for axis in reversed(axes):
        number, part = divmod(number, axis.size)
        totals = [total + part * step for total, step in zip(totals, axis.steps)]
    return totals


# --- the arithmetic of sums of products ---


def sum_type(result: ElementType) -> ElementType:
    """The type in which products are added up: narrow floats are rounded once, at the end."""
    return F32 if result.is_float and result.bits < 32 else result


def as_factor(
    b: ir.IRBuilder, instruction: Instruction, value: RegisterValue, element_type: ElementType, lanes: int
) -> RegisterValue:
    """An operand's element as the result's type."""
    target = instruction.shape.element_type
    if element_type is target:
        return value
    return convert_value(ElementwiseContext(b, instruction, lanes), value, element_type, target)


def zero(result: ElementType) -> RegisterValue:
    """A sum of nothing."""
    type_ = register_type(result, 1)
    if result.is_complex:
        return ComplexValue(arithmetic.constant(type_, 0.0), arithmetic.constant(type_, 0.0))
    return arithmetic.constant(type_, 0.0) if result.is_float else integer_constant(type_, 0)


def multiply_add(
    b: ir.IRBuilder, result: ElementType, left: RegisterValue, right: RegisterValue, total: RegisterValue
) -> RegisterValue:
    """The product of two factors, added to a sum."""
    if result.kind == "float":
        return arithmetic.multiply_add(b, left, right, total)
    if result.kind == "complex":
        real = arithmetic.multiply_add(b, left.real, right.real, total.real)
        imag = arithmetic.multiply_add(b, left.real, right.imag, total.imag)
        negated = b.fneg(left.imag)
        return ComplexValue(
            arithmetic.multiply_add(b, negated, right.imag, real), arithmetic.multiply_add(b, left.imag, right.real, imag)
        )
    if result.kind == "pred":
        return b.or_(total, b.and_(left, right))
    return b.add(total, b.mul(left, right))


def add(b: ir.IRBuilder, result: ElementType, one: RegisterValue, other: RegisterValue) -> RegisterValue:
    """The sum of two sums."""
    if result.kind == "float":
        return b.fadd(one, other)
    if result.kind == "complex":
        return ComplexValue(b.fadd(one.real, other.real), b.fadd(one.imag, other.imag))
    return b.or_(one, other) if result.kind == "pred" else b.add(one, other)


def store_sum(b: ir.IRBuilder, array: Array, offset: ir.Value, value: RegisterValue, lanes: int = 1) -> None:
    """Store a sum, or sums that lie side by side, so many elements from the beginning of an array of any shape."""
    element_type = array.shape.element_type
    size = lanes * element_type.byte_size if lanes > 1 else 0
    flat = Array(array.pointer, Shape(element_type, (max(1, array.shape.size),)), vector_alignment=size)
    if not element_type.is_complex:
        value = round_to_type(b, element_type, value)
    flat.store(b, (Affine(offset, 1 if lanes > 1 else 0),), value, lanes)
