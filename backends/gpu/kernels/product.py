"""Products as kernels see them: dimensions by their role, and how far each walks in both operands and in the output.

An element of the left operand lies at the sum of a step for its row, one for its term, and one for its batch. So a dot of any
layout, and a convolution without padding, is one form, and nothing is copied before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from llvmlite import ir

from ....compile.contraction import Contraction
from ....hlo import F32, ElementType, Instruction
from ...llvm import arithmetic
from ...llvm.conversion import convert_value
from ...llvm.elementwise import ElementwiseContext
from ...llvm.types import I32, I64, ComplexValue, RegisterValue, integer_constant, register_type
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


def exchanged(product: Product) -> Product:
    """The product with its operands in the other order: rows are columns."""

    def swapped(axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
        return tuple([Axis(axis.size, (axis.steps[1], axis.steps[0], axis.steps[2])) for axis in axes])

    return Product(*map(swapped, (product.batch, product.columns, product.rows, product.terms)))


def has_its_rows_side_by_side(product: Product) -> bool:
    """Whether elements of a column of the output are neighbours, and those of a row are not."""
    return _last_step(product.columns) != 1 and _last_step(product.rows) == 1


def columns_at_once(product: Product, count: int, parts: int = 1) -> int:
    """As many neighbouring columns as may be stored at once, of ``count``, at multiples of as many; one if not all of these."""
    columns = product.columns
    if not columns or columns[-1].steps[2] != 1 or columns[-1].size % count:
        return 1
    steps = [axis.steps[2] for axis in (*product.batch, *product.rows, *columns[:-1])]
    if parts > 1:
        steps.append(prod(product.sizes[:3]))
    return 1 if any(step % count for step in steps) else count


def _last_step(axes: tuple[Axis, ...]) -> int:
    return axes[-1].steps[2] if axes else 0


def laid_out(product: Product, steps: list[tuple[int, int, int]]) -> Product | None:
    """The product with an output of another layout; None where a dimension of the product has no one step in it.

    ``steps`` has each dimension of the output, from the last one: its size, and the steps along it as they are and as they
    are to be.
    """

    def split(axis: Axis) -> list[Axis] | None:
        parts: list[Axis] = []
        left, (of_left, of_right, step) = axis.size, axis.steps
        while left > 1:
            found = [one for one in steps if step % one[1] == 0 and step < one[0] * one[1]]
            if not found:
                return None
            size, old, new = found[-1]
            count = min(left, size * old // step)
            if left % count or size * old % step:
                return None
            parts.append(Axis(count, (of_left, of_right, step // old * new)))
            left, of_left, of_right, step = left // count, of_left * count, of_right * count, step * count
        return parts[::-1]

    roles = []
    for axes in (product.batch, product.rows, product.columns):
        parts = [split(axis) for axis in axes]
        if any(one is None for one in parts):
            return None
        roles.append(_merged([axis for one in parts for axis in one or ()]))
    return Product(*roles, product.terms)


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
                totals[side] = b.add(totals[side], b.mul(part, step if isinstance(step, ir.Value) else I64(step)))
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
