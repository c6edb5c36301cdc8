"""The contraction region: blocked loops around a block of the result that is held in registers.

The right operand is read along its free dimension, ``lanes`` elements at a time; where that dimension does not lie
contiguously it is transposed into scratch memory first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod

from llvmlite import ir

from ....hlo import F32, F64, Builder, Instruction, Shape, scalar_computation
from ....hlo.shape import element_strides
from ...llvm import index as indices
from ...llvm.arrays import Array
from ...llvm.elementary.arithmetic import constant, fma
from ...llvm.elementwise import ElementwiseContext, convert_real
from ...llvm.index import Affine, Base, Component, Index
from ...llvm.loops import carried_loop, counted_loop, loop_nest
from ...llvm.types import (
    ComplexValue,
    RegisterValue,
    broadcast_lanes,
    integer_constant,
    is_narrow_float,
    register_bytes,
    register_type,
    round_to_type,
)
from ..target import Target
from .loop import tail_mask
from .reduction import Reduction, emit_reduction
from .transpose import emit_transpose


@dataclass(frozen=True)
class Contraction:
    """A dot's dimensions by their role: batch, rows (free in lhs), columns (free in rhs), terms (contracted)."""

    dot: Instruction
    lhs: Shape
    rhs: Shape
    batch: tuple[tuple[int, int], ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    terms: tuple[tuple[int, int], ...]


def analyze(dot: Instruction) -> Contraction:
    attributes = dot.attributes
    batch = tuple(zip(attributes["lhs_batch_dimensions"], attributes["rhs_batch_dimensions"]))
    terms = tuple(zip(attributes["lhs_contracting_dimensions"], attributes["rhs_contracting_dimensions"]))
    lhs, rhs = (operand.shape for operand in dot.operands)
    bound_left, bound_right = ({pair[side] for pair in (*batch, *terms)} for side in (0, 1))
    rows = tuple(d for d in range(lhs.rank) if d not in bound_left)
    columns = tuple(d for d in range(rhs.rank) if d not in bound_right)
    return Contraction(dot, lhs, rhs, batch, rows, columns, terms)


def _column_count(contraction: Contraction) -> int:
    return prod(contraction.rhs.dimensions[d] for d in contraction.columns)


def _reads_columns_contiguously(contraction: Contraction) -> bool:
    """Whether the columns lie side by side in memory, all of them as one run."""
    strides, expected = element_strides(contraction.rhs), 1
    for dimension in reversed(contraction.columns):
        size = contraction.rhs.dimensions[dimension]
        if size != 1 and strides[dimension] != expected:
            return False
        expected *= size
    return True


def scratch_bytes(dot: Instruction) -> int:
    """Memory for the transposed right operand, where one is needed."""
    contraction = analyze(dot)
    if _column_count(contraction) <= 1 or _reads_columns_contiguously(contraction):
        return 0
    return contraction.rhs.byte_size


def emit_contraction(
    builder: ir.IRBuilder, target: Target, dot: Instruction, lhs: Array, rhs: Array, output: Array, scratch: ir.Value | None
) -> None:
    """Compute a dot into a row-major output."""
    if dot.shape.size == 0:
        return
    contraction = analyze(dot)
    reduction = _as_reduction(contraction, lhs, rhs)
    if reduction is not None:
        rows = output.shape.with_dimensions(tuple(reduction.dimensions[d] for d in reduction.kept))
        results = emit_reduction(builder, target, reduction, [Array(output.pointer, rows)] if rows.rank else [])
        if results:
            output.store(builder, (Affine(0),) * output.shape.rank, results[0], 1)
        return
    if scratch is not None:
        contraction, rhs = _transpose_rhs(builder, target, contraction, rhs, scratch)
    _Blocks(builder, target, contraction, lhs, rhs, output).emit()


def _as_reduction(contraction: Contraction, lhs: Array, rhs: Array) -> Reduction | None:
    """A product with a vector as a multiplication and a reduction of the matrix.

    Both kinds of reduction, of rows and of columns, read the matrix as it lies in memory.
    """
    c, element_type = contraction, contraction.dot.shape.element_type
    if any(t is not element_type for t in (lhs.shape.element_type, rhs.shape.element_type)) or element_type not in (F32, F64):
        return None
    if _column_count(c) == 1:
        matrix, vector, side, free = lhs, rhs, 0, c.rows
    elif prod(lhs.shape.dimensions[d] for d in c.rows) == 1:
        matrix, vector, side, free = rhs, lhs, 1, c.columns
    else:
        return None
    kept = [pair[side] for pair in c.batch] + list(free)
    if kept != sorted(kept) or not (matrix.shape.is_row_major and vector.shape.is_row_major) or not c.terms:
        return None
    of_matrix = {pair[1 - side]: pair[side] for pair in (*c.batch, *c.terms)}
    used = sorted(of_matrix)
    vector = Array(vector.pointer, vector.shape.with_dimensions(tuple(vector.shape.dimensions[d] for d in used)))
    b = Builder("product_with_vector")
    parameters = b.parameter(matrix.shape), b.parameter(vector.shape)
    factor = b.broadcast(parameters[1], matrix.shape.dimensions, [of_matrix[d] for d in used])
    reduced = tuple(sorted(pair[side] for pair in c.terms))
    zero = constant(register_type(element_type, 1), 0.0)
    add = scalar_computation("add", element_type)
    return Reduction(b.build(b.Mul(parameters[0], factor)), [matrix, vector], [zero], reduced, add)


def _transpose_rhs(
    builder: ir.IRBuilder, target: Target, contraction: Contraction, rhs: Array, scratch: ir.Value
) -> tuple[Contraction, Array]:
    """The right operand with its dimensions in the order batch, terms, columns."""
    order = [b for _, b in contraction.batch] + [t for _, t in contraction.terms] + list(contraction.columns)
    moved = Array(scratch, rhs.shape.with_dimensions(tuple(rhs.shape.dimensions[d] for d in order)))
    place = {dimension: position for position, dimension in enumerate(order)}
    if not emit_transpose(builder, target, rhs, tuple(order), moved):
        with loop_nest(builder, moved.shape.dimensions) as index:
            source = tuple(index[place[d]] for d in range(len(order)))
            moved.store(builder, index, rhs.load(builder, source, 1), 1)
    renamed = replace(
        contraction,
        rhs=moved.shape,
        batch=tuple((left, place[right]) for left, right in contraction.batch),
        columns=tuple(place[d] for d in contraction.columns),
        terms=tuple((left, place[right]) for left, right in contraction.terms),
    )
    return renamed, moved


class _Blocks:
    """The loop nest: batch, rows, blocks of columns, and, innermost, the contracted dimensions."""

    def __init__(
        self, builder: ir.IRBuilder, target: Target, contraction: Contraction, lhs: Array, rhs: Array, output: Array
    ) -> None:
        self.builder, self.contraction = builder, contraction
        self.lhs, self.rhs, self.output = lhs, rhs, output
        self.result_type = contraction.dot.shape.element_type
        self.column_count = _column_count(contraction)
        types = (lhs.shape.element_type, rhs.shape.element_type, self.result_type)
        self.lanes = target.lanes(max(register_bytes(t) for t in types))
        if self.result_type.is_complex:
            self.lanes = max(1, self.lanes // 2)
        while self.lanes > 1 and self.lanes >= 2 * self.column_count:
            self.lanes //= 2
        rows = lhs.shape.dimensions[contraction.rows[-1]] if contraction.rows else 1
        vectors = max(1, self.column_count // self.lanes)
        accumulators = (24 if target.vector_registers >= 32 else 8) // (4 if self.result_type.is_complex else 1)
        self.block_rows, self.block_vectors = _block_shape(rows, vectors, accumulators)

    def emit(self) -> None:
        b, c = self.builder, self.contraction
        with loop_nest(b, [c.lhs.dimensions[left] for left, _ in c.batch]) as batch:
            *outer_rows, last_row = c.rows or (None,)
            with loop_nest(b, [c.lhs.dimensions[d] for d in outer_rows]) as outer:
                row_count = 1 if last_row is None else c.lhs.dimensions[last_row]
                for start, count in _strips(b, row_count, self.block_rows):

                    def rows(first: Base, count: int = count) -> None:
                        indices_ = [(*outer, *self._row(first, k, last_row)) for k in range(count)]
                        self._columns(batch, indices_)

                    start(rows)

    def _row(self, first: Base, offset: int, dimension: int | None) -> Index:
        return () if dimension is None else (Affine(indices.add_base(self.builder, first, offset)),)

    def _columns(self, batch: Index, rows: list[Index]) -> None:
        b, lanes = self.builder, self.lanes
        for start, count in _strips(b, self.column_count // lanes, self.block_vectors):

            def block(first: Base, count: int = count) -> None:
                base = indices.multiply_base(b, first, lanes)
                columns = [Affine(indices.add_base(b, base, k * lanes), int(lanes > 1)) for k in range(count)]
                self._block(batch, rows, columns, None)

            start(block)
        rest = self.column_count % lanes
        if rest:
            self._block(batch, rows, [Affine(self.column_count - rest, 1)], tail_mask(lanes, rest))

    def _block(self, batch: Index, rows: list[Index], columns: list[Affine], mask: ir.Value | None) -> None:
        """One block of the result: a register for each row and vector of columns, summed over all terms."""
        b, lanes = self.builder, self.lanes
        zero = _zero(self.result_type, lanes)
        # What does not change from term to term is added to the addresses before the loop.
        left_rows = [self.lhs.seen_from(b, self._left_index(batch, row, {})) for row in rows]
        starts = [Affine(column.base) for column in columns]
        right_columns = [self.rhs.seen_from(b, self._right_index(batch, {}, start)) for start in starts]
        lane_steps = Affine(0, columns[0].stride)

        def step(terms: dict[int, Component], sums: list[RegisterValue]) -> list[RegisterValue]:
            left_index = self._left_index(None, None, terms)
            right_index = self._right_index(None, terms, lane_steps)
            right = [self._in_result_type(array.load(b, right_index, lanes, mask), array, lanes) for array in right_columns]
            result = []
            for number, array in enumerate(left_rows):
                left = broadcast_lanes(b, self._in_result_type(array.load(b, left_index, 1), array, 1), lanes)
                for position, value in enumerate(right):
                    result.append(self._multiply_add(left, value, sums[number * len(columns) + position]))
            return result

        sums = self._over_terms(0, {}, [zero] * (len(rows) * len(columns)), step)
        flat = self._flat_output()
        for number, row in enumerate(rows):
            for position, column in enumerate(columns):
                value = sums[number * len(columns) + position]
                if is_narrow_float(self.result_type):
                    value = round_to_type(b, self.result_type, value)
                flat.store(b, (*batch, *row, column), value, lanes, mask)

    def _over_terms(
        self,
        depth: int,
        terms: dict[int, Component],
        sums: list[RegisterValue],
        step: Callable[[dict[int, Component], list[RegisterValue]], list[RegisterValue]],
    ) -> list[RegisterValue]:
        if depth == len(self.contraction.terms):
            return step(terms, sums)
        size = self.contraction.lhs.dimensions[self.contraction.terms[depth][0]]

        def iteration(number: ir.Value, carried: list[RegisterValue]) -> list[RegisterValue]:
            return self._over_terms(depth + 1, {**terms, depth: Affine(number)}, carried, step)

        return carried_loop(self.builder, 0, size, 1, sums, iteration, "terms")

    def _left_index(self, batch: Index | None, row: Index | None, terms: dict[int, Component]) -> Index:
        """An index into the left operand; what is None, and terms left out, are 0."""
        c, index = self.contraction, dict.fromkeys(range(self.lhs.shape.rank), indices.ZERO)
        index.update({left: component for (left, _), component in zip(c.batch, batch or ())})
        index.update(zip(c.rows, row or ()))
        index.update({c.terms[depth][0]: component for depth, component in terms.items()})
        return tuple(index.values())

    def _right_index(self, batch: Index | None, terms: dict[int, Component], column: Affine) -> Index:
        """An index into the right operand; its columns are one run in memory, addressed through the last of them."""
        c, index = self.contraction, dict.fromkeys(range(self.rhs.shape.rank), indices.ZERO)
        index.update({right: component for (_, right), component in zip(c.batch, batch or ())})
        index.update({c.terms[depth][1]: component for depth, component in terms.items()})
        if c.columns:
            index[c.columns[-1]] = column
        return tuple(index.values())

    def _in_result_type(self, value: RegisterValue, array: Array, lanes: int) -> RegisterValue:
        if isinstance(value, ComplexValue) or array.shape.element_type is self.result_type:
            return value
        context = ElementwiseContext(self.builder, self.contraction.dot, lanes)
        return convert_real(context, value, array.shape.element_type, self.result_type)

    def _multiply_add(self, left: RegisterValue, right: RegisterValue, total: RegisterValue) -> RegisterValue:
        b, kind = self.builder, self.result_type.kind
        if kind == "float":
            return fma(b, left, right, total)
        if kind == "complex":
            real = fma(b, left.real, right.real, total.real)
            imag = fma(b, left.real, right.imag, total.imag)
            return ComplexValue(fma(b, b.fneg(left.imag), right.imag, real), fma(b, left.imag, right.real, imag))
        if kind == "pred":
            return b.or_(total, b.and_(left, right))
        return b.add(total, b.mul(left, right))

    def _flat_output(self) -> Array:
        """The output with its column dimensions as one."""
        c = self.contraction
        kept = len(c.batch) + len(c.rows)
        return Array(
            self.output.pointer, self.output.shape.with_dimensions((*self.output.shape.dimensions[:kept], self.column_count))
        )


def _block_shape(rows: int, vectors: int, accumulators: int) -> tuple[int, int]:
    """Rows and vectors of a block that fits into this many accumulators.

    The more products a load serves the better; a vector comes from farther away than the scalar of a row, so tall blocks
    are better than wide ones. In a small result, blocks that cover it evenly come first: each remainder is a loop nest of
    its own to compile.
    """
    small = rows * vectors <= 16 * accumulators

    def cost(shape: tuple[int, int]) -> tuple:
        height, width = shape
        uneven = small * ((rows % height != 0) + (vectors % width != 0))
        return (height * width * 2 < min(accumulators, rows * vectors), uneven, 2 / height + 1 / width, width)

    shapes = [(h, w) for w in range(1, min(4, vectors) + 1) for h in range(1, min(rows, 8, accumulators // w) + 1)]
    return min(shapes, key=cost)


def _zero(element_type, lanes: int) -> RegisterValue:
    type_ = register_type(element_type, lanes)
    if element_type.is_complex:
        return ComplexValue(constant(type_, 0.0), constant(type_, 0.0))
    return constant(type_, 0.0) if element_type.is_float else integer_constant(type_, 0)


def _strips(builder: ir.IRBuilder, size: int, block: int):
    """(runner, count) pairs that cover [0, size): full blocks in a loop, then one smaller block."""
    whole, rest = divmod(size, block)
    strips = []
    if whole:

        def full(body: Callable[[Base], None]) -> None:
            with counted_loop(builder, whole) as number:
                body(indices.multiply_base(builder, number, block))

        strips.append((full, block))
    if rest:
        strips.append((lambda body: body(whole * block), rest))
    return strips
