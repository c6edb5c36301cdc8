"""The contraction region: what a dot multiplies and sums, and in which form it is emitted.

A product with a vector becomes a reduction of the matrix. Other products go through register blocks
(contraction_blocks.py), which read the right operand along its free dimension; where that does not lie contiguously it is
transposed into scratch memory first.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from llvmlite import ir

from .... import hlo
from ....compile.contraction import Contraction, contraction_of, reads_columns_contiguously
from ....hlo import F32, F64, Instruction, scalar_computation
from ...llvm.arithmetic import constant
from ...llvm.arrays import Array
from ...llvm.index import Affine
from ...llvm.loops import loop_nest
from ...llvm.reductions import Reduction
from ...llvm.types import I8, I64, register_type
from ..arena import ALIGNMENT
from ..nest_samples import samples
from ..nests import Nest, emits_nest
from ..target import Target
from .contraction_blocks import Blocks, panel_bytes
from .reduction import emit_reduction
from .transpose import emit_transpose


def scratch_bytes(dot: Instruction) -> int:
    """Memory for the transposed right operand and for a packed panel of it, where they are needed."""
    contraction = contraction_of(dot)
    return _transposed_bytes(contraction) + panel_bytes(contraction)


def _transposed_bytes(contraction: Contraction) -> int:
    if contraction.column_count <= 1 or reads_columns_contiguously(contraction):
        return 0
    return -(-contraction.rhs.byte_size // ALIGNMENT) * ALIGNMENT


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
    # Products with a vector: of rows, and of columns.
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
@emits_nest("dot", scratch=scratch_bytes, weight=10)
def emit_contraction(nest: Nest) -> None:
    """Compute a dot into a row-major output."""
    builder, target, dot, scratch = nest.builder, nest.target, nest.instruction, nest.scratch
    (lhs, rhs), (output,) = nest.operands, nest.outputs
    if dot.shape.size == 0:
        return
    contraction = contraction_of(dot)
    reduction = _as_reduction(contraction, lhs, rhs)
    if reduction is not None:
        rows = output.shape.with_dimensions(tuple(reduction.dimensions[d] for d in reduction.kept))
        results = emit_reduction(builder, target, reduction, [Array(output.pointer, rows)] if rows.rank else [])
        if results:
            output.store(builder, (Affine(0),) * output.shape.rank, results[0], 1)
        return
    transposed = _transposed_bytes(contraction)
    panel = None
    if panel_bytes(contraction):
        panel = builder.gep(scratch, [I64(transposed)], source_etype=I8)
    if transposed:
        contraction, rhs = _transpose_rhs(builder, target, contraction, rhs, scratch)
    Blocks(builder, target, contraction, lhs, rhs, output, panel).emit()


def _as_reduction(contraction: Contraction, lhs: Array, rhs: Array) -> Reduction | None:
    """A product with a vector as a multiplication and a reduction of the matrix.

    Both kinds of reduction, of rows and of columns, read the matrix as it lies in memory.
    """
    c, element_type = contraction, contraction.dot.shape.element_type
    if any(t is not element_type for t in (lhs.shape.element_type, rhs.shape.element_type)) or element_type not in (F32, F64):
        return None
    if c.column_count == 1:
        matrix, vector, side, free = lhs, rhs, 0, c.rows
    elif prod(lhs.shape.dimensions[d] for d in c.rows) == 1:
        matrix, vector, side, free = rhs, lhs, 1, c.columns
    else:
        return None
    kept = [pair[side] for pair in c.batch] + list(free)
    if kept != sorted(kept) or not c.terms:
        return None
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
    return Reduction(product, [matrix, vector], [zero], reduced, add)


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
