"""The contraction region: what a dot multiplies and sums, and in which form it is emitted.

A product with a vector becomes a reduction of the matrix. Other products go through register blocks
(contraction_blocks.py), which read the right operand along its free dimension, and the left one along the contracted ones;
where these do not lie contiguously the operand is transposed into scratch memory first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from llvmlite import ir

from .... import hlo
from ....compile.contraction import (
    Contraction,
    contraction_of,
    reads_columns_contiguously,
    reads_terms_contiguously,
)
from ....compile.fused_computations import as_computation
from ....hlo import F32, F64, Instruction, scalar_computation
from ...llvm.arithmetic import constant
from ...llvm.arrays import Array
from ...llvm.index import Affine, Base
from ...llvm.pieces import independent_loops
from ...llvm.reductions import Reduction
from ...llvm.types import I8, I64, register_type
from ..arena import ALIGNMENT
from ..nest_samples import samples
from ..nests import EmitNest, Nest, emits_nest
from .contraction_bytes import emit_blocks
from .contraction_panels import panel_bytes
from .contraction_terms import emit_parts, parts_bytes
from .parts import emit_in_parts, has_few_results
from .reduction import emit_reduction
from .transpose import emit_transpose

# The cache lines of more terms than these, one for each that lies far from the others, do not stay in the first-level cache
# until the next rows; transposing the operand pays if so many columns use it.
_STRIDED_TERMS = (24 << 10) // 64
_TRANSPOSED_COLUMNS = 64


def scratch_bytes(dot: Instruction) -> int:
    """Memory for transposed operands, parts of the results and a packed panel of the right operand, as they are needed."""
    contraction = contraction_of(dot)
    return sum(_transposed_bytes(contraction)) + _aligned(_parts_bytes(contraction)) + panel_bytes(contraction)


def _parts_bytes(contraction: Contraction) -> int:
    return parts_bytes(contraction) if _side_of_matrix(contraction) is None else 0


def own_bytes(dot: Instruction) -> int:
    """The part of it that is for the panel."""
    return panel_bytes(contraction_of(dot))


def divides(dot: Instruction) -> bool:
    """Whether it is the results that are divided, and not the terms of a few."""
    contraction = contraction_of(dot)
    side = _side_of_matrix(contraction)
    if not dot.shape.size:
        return True
    if side is None:
        return not parts_bytes(contraction)
    return not has_few_results(
        (contraction.lhs, contraction.rhs)[side], tuple(sorted(pair[side] for pair in contraction.terms))
    )


def transposition_before(dot: Instruction) -> list[EmitNest]:
    """What transposes operands, where that is needed."""
    contraction = contraction_of(dot)
    is_needed = dot.shape.size and any(_transposed_bytes(contraction)) and _side_of_matrix(contraction) is None
    return [_emit_transposition] if is_needed else []


def _transposed_bytes(contraction: Contraction) -> tuple[int, int]:
    """Memory for the transposed left operand, and for the right one; 0 for one that is read where it lies."""
    if contraction.column_count <= 1:
        return 0, 0
    left = 0 if _reads_left_operand(contraction) else _aligned(contraction.lhs.byte_size)
    return left, 0 if reads_columns_contiguously(contraction) else _aligned(contraction.rhs.byte_size)


def _reads_left_operand(contraction: Contraction) -> bool:
    """Whether the left operand is read where it lies: its terms do so side by side, or are few, or few columns use it."""
    is_rarely_read = contraction.term_count <= _STRIDED_TERMS or contraction.column_count < _TRANSPOSED_COLUMNS
    return is_rarely_read or reads_terms_contiguously(contraction)


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


@samples(
    """
    x = f32[37,50] parameter(0)
    y = f32[50,130] parameter(1)
    ROOT dot = f32[37,130] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    """,
    # A right operand that is transposed first, and one that is packed then.
    """
    x = f64[5,7,30] parameter(0)
    y = f64[5,20,30] parameter(1)
    ROOT dot = f64[5,7,20] dot(x, y), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={2}
    """,
    """
    x = f32[20,100] parameter(0)
    y = f32[90,100] parameter(1)
    ROOT dot = f32[20,90] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}
    """,
    # A left operand that is transposed first, and one that a batch lies in.
    """
    x = f64[400,21] parameter(0)
    y = f64[400,70] parameter(1)
    ROOT dot = f64[21,70] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}
    """,
    """
    x = f32[500,2,9] parameter(0)
    y = f32[2,66,500] parameter(1)
    ROOT dot = f32[2,9,66] dot(x, y), lhs_batch_dims={1}, lhs_contracting_dims={0}, rhs_batch_dims={0}, rhs_contracting_dims={2}
    """,
    """
    x = f64[30,20,9] parameter(0)
    y = f64[20,30,64] parameter(1)
    ROOT dot = f64[9,64] dot(x, y), lhs_contracting_dims={0,1}, rhs_contracting_dims={1,0}
    """,
    # Products with a vector: of rows, and of columns, these also in parts.
    """
    x = f32[1003] parameter(0)
    y = f32[1003,130] parameter(1)
    ROOT dot = f32[130] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}
    """,
    """
    x = f32[40,130] parameter(0)
    y = f32[130] parameter(1)
    ROOT dot = f32[40] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    """,
    """
    x = f64[40] parameter(0)
    y = f64[40,130] parameter(1)
    ROOT dot = f64[130] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}
    """,
    """
    x = s32[3,4,7] parameter(0)
    y = s32[7,5,6] parameter(1)
    ROOT dot = s32[3,4,5,6] dot(x, y), lhs_contracting_dims={2}, rhs_contracting_dims={0}
    """,
)
@emits_nest("dot", scratch=scratch_bytes, weight=10, divides=divides, own=own_bytes, before=transposition_before)
def emit_contraction(nest: Nest) -> None:
    """Compute a dot into a row-major output."""
    builder, target, dot = nest.builder, nest.target, nest.instruction
    (lhs, rhs), (output,) = nest.operands, nest.outputs
    if dot.shape.size == 0:
        return
    contraction = contraction_of(dot)
    reduction = _as_reduction(contraction, lhs, rhs, nest.stops)
    if reduction is not None:
        rows = output.shape.with_dimensions(tuple(reduction.dimensions[d] for d in reduction.kept))
        if not divides(dot) and not nest.stops and nest.regions.is_divided(nest.work):
            result = [Array(output.pointer, rows)]
            emit_in_parts(builder, nest.regions, as_computation(dot), reduction, result, nest.work)
            return
        results = emit_reduction(builder, target, reduction, [Array(output.pointer, rows)] if rows.rank else [])
        if results:
            output.store(builder, (Affine(0),) * output.shape.rank, results[0], 1)
        return
    for side, memory in _transposed_memory(nest, contraction):
        contraction, moved, _ = _transposed(contraction, (lhs, rhs)[side], memory, side)
        lhs, rhs = (lhs, moved) if side else (moved, rhs)
    if not divides(dot) and not nest.stops:

        def emit(builder: ir.IRBuilder, operands: list[Array], panel: ir.Value | None, sums: Array, *chunks: Base) -> None:
            emit_blocks(builder, target, contraction, (*operands, sums), panel, chunks=chunks)

        memory = builder.gep(nest.scratch, [I64(sum(_transposed_bytes(contraction_of(dot))))], source_etype=I8)
        emit_parts(nest, contraction, [lhs, rhs], memory, emit, output)
        return
    emit_blocks(builder, target, contraction, (lhs, rhs, output), nest.own, nest.stops)


def _as_reduction(contraction: Contraction, lhs: Array, rhs: Array, stops: Mapping[int, ir.Value]) -> Reduction | None:
    """A product with a vector as a multiplication and a reduction of the matrix.

    Both kinds of reduction, of rows and of columns, read the matrix as it lies in memory.
    """
    side = _side_of_matrix(contraction)
    if side is None:
        return None
    c, element_type = contraction, contraction.dot.shape.element_type
    matrix, vector, free = (rhs, lhs, c.columns) if side else (lhs, rhs, c.rows)
    kept = [pair[side] for pair in c.batch] + list(free)
    of_result = [*range(len(c.batch)), *range(len(c.batch) + side * len(c.rows), c.dot.shape.rank)]
    stops = {d: stops[number] for number, d in zip(of_result, kept) if number in stops}
    of_matrix = {pair[1 - side]: pair[side] for pair in (*c.batch, *c.terms)}
    used = sorted(of_matrix)
    vector = Array(vector.pointer, vector.shape.with_dimensions(tuple(vector.shape.dimensions[d] for d in used)))
    places = [of_matrix[d] for d in used]
    product = hlo.computation(
        "product_with_vector",
        [matrix.shape, vector.shape],
        lambda matrix, vector: hlo.multiply(matrix, hlo.broadcast(vector, matrix.shape.dimensions, places)),
    )
    reduced = tuple(sorted(pair[side] for pair in c.terms))
    zero = constant(register_type(element_type, 1), 0.0)
    add = scalar_computation("add", element_type)
    return Reduction(product, [matrix, vector], [zero], reduced, add, stops, contracts=True)


def _side_of_matrix(contraction: Contraction) -> int | None:
    """Which operand is the matrix of a product with a vector that can be a reduction: the left one (0) or the right one (1)."""
    c, element_type = contraction, contraction.dot.shape.element_type
    if any(t is not element_type for t in (c.lhs.element_type, c.rhs.element_type)) or element_type not in (F32, F64):
        return None
    if c.column_count != 1 and c.row_count != 1:
        return None
    side, free = (0, c.rows) if c.column_count == 1 else (1, c.columns)
    kept = [pair[side] for pair in c.batch] + list(free)
    return side if c.terms and kept == sorted(kept) else None


def _transposed_memory(nest: Nest, contraction: Contraction) -> Iterator[tuple[int, ir.Value]]:
    """Which operands are transposed, the left one (0) or the right one (1), and where they lie then."""
    offset = 0
    for side, size in enumerate(_transposed_bytes(contraction)):
        if size:
            yield side, nest.builder.gep(nest.scratch, [I64(offset)], source_etype=I8)
        offset += size


def _emit_transposition(nest: Nest) -> None:
    builder, contraction = nest.builder, contraction_of(nest.instruction)
    for side, memory in _transposed_memory(nest, contraction):
        operand = nest.operands[side]
        _, moved, order = _transposed(contraction, operand, memory, side)
        if not emit_transpose(builder, nest.target, operand, tuple(order), moved):
            place = {dimension: position for position, dimension in enumerate(order)}
            with independent_loops(builder, moved.shape.dimensions) as index:
                source = tuple(index[place[d]] for d in range(len(order)))
                moved.store(builder, index, operand.load(builder, source, 1), 1)


def _transposed(contraction: Contraction, operand: Array, memory: ir.Value, side: int) -> tuple[Contraction, Array, list[int]]:
    """The left operand with its dimensions in the order batch, rows, terms; or the right one: batch, terms, columns."""
    batch, terms = ([pair[side] for pair in pairs] for pairs in (contraction.batch, contraction.terms))
    order = [*batch, *terms, *contraction.columns] if side else [*batch, *contraction.rows, *terms]
    moved = Array(memory, operand.shape.with_dimensions(tuple(operand.shape.dimensions[d] for d in order)))
    place = {dimension: position for position, dimension in enumerate(order)}

    def renamed(pairs: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
        return tuple((left, place[right]) if side else (place[left], right) for left, right in pairs)

    free = tuple(place[d] for d in (contraction.columns if side else contraction.rows))
    changed = replace(contraction, batch=renamed(contraction.batch), terms=renamed(contraction.terms))
    changed = replace(changed, rhs=moved.shape, columns=free) if side else replace(changed, lhs=moved.shape, rows=free)
    return changed, moved, order
