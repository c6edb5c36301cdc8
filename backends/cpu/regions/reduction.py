"""The reduction region: rows (the vector dimension is reduced) and columns (it is kept)."""

from __future__ import annotations

from dataclasses import replace

from llvmlite import ir

from ....compile.fused_computations import result_roots
from ....hlo import PRED, U8, Computation, make_instruction, scalar_computation
from ....hlo.ops.elementwise import AND, OR
from ...llvm.arrays import Array
from ...llvm.collapse import collapse_dimensions
from ...llvm.index import Index
from ...llvm.loops import loop_nest
from ...llvm.reductions import Reduction
from ...llvm.types import RegisterValue, to_memory
from ..nest_samples import combining, samples
from ..target import Target
from .column_reduction import emit_columns
from .loop import barriers_in_front, collapsed_stops, reshaped_arguments
from .row_reduction import emit_rows


@samples(
    """
    x = s32[2,3,400,2,30] parameter(0)
    zero = s32[] constant(0)
    ROOT sum = s32[400,2] reduce(x, zero), dimensions={0,1,4}, to_apply=add_s32
    """,
    """
    x = s32[5,0] parameter(0)
    init = s32[] parameter(1)
    ROOT sum = s32[5] reduce(x, init), dimensions={1}, to_apply=add_s32
    """,
    # No identity is known.
    """
    x = s32[40,5] parameter(0)
    init = s32[] parameter(1)
    ROOT largest = s32[5] reduce(x, init), dimensions={0}, to_apply=larger_of_columns
    """,
    calls=combining("add", "s32[]")
    + """larger_of_columns {
      x = s32[] parameter(0)
      y = s32[] parameter(1)
      m = s32[] abs(x)
      n = s32[] abs(y)
      ROOT z = s32[] maximum(m, n)
    }""",
)
def emit_reduction(builder: ir.IRBuilder, target: Target, reduction: Reduction, outputs: list[Array]) -> list[RegisterValue]:
    """Reduce into the outputs, row-major arrays; where everything is reduced, the results are returned instead."""
    dimensions = reduction.dimensions
    if any(dimensions[d] == 0 for d in reduction.kept):
        return []
    reduction, outputs = _collapse(builder, *_as_bytes(builder, reduction, outputs))
    dimensions = reduction.dimensions
    results: list[RegisterValue] = []

    def store(index: Index, values: list[RegisterValue], lanes: int, mask: ir.Value | None) -> None:
        if not outputs:
            results.extend(values)
        for number, (output, value) in enumerate(zip(outputs, values)):
            if number not in reduction.unread:
                output.store(builder, index, value, lanes, mask)

    if 0 in dimensions:
        with loop_nest(builder, [dimensions[d] for d in reduction.kept]) as index:
            store(index, reduction.init_values, 1, None)
    elif dimensions and len(dimensions) - 1 in reduction.kept:
        emit_columns(builder, target, reduction, outputs, store)
    else:
        emit_rows(builder, target, reduction, store)
    return results


def _as_bytes(builder: ir.IRBuilder, reduction: Reduction, outputs: list[Array]) -> tuple[Reduction, list[Array]]:
    """Columns of truth values in memory as the bytes that they are: these need no masks, of which there are few registers."""
    operand, operation = reduction.operands[0], reduction.to_apply.combining_operation
    is_column = bool(outputs) and len(reduction.dimensions) - 1 in reduction.kept and reduction.count == 1
    if not is_column or operand.opcode != "parameter" or operand.shape.element_type is not PRED or operation not in (AND, OR):
        return reduction, outputs
    array = reduction.bindings[operand]
    if type(array) is not Array:
        return reduction, outputs
    parameter = make_instruction("parameter", (), {"number": 0}, operand.shape.with_element_type(U8), name="bytes")
    return (
        replace(
            reduction,
            producers=Computation("bytes", (parameter,), parameter),
            arguments=[Array(array.pointer, parameter.shape)],
            init_values=[to_memory(builder, PRED, value) for value in reduction.init_values],
            to_apply=scalar_computation("and" if operation is AND else "or", U8),
        ),
        [Array(output.pointer, output.shape.with_element_type(U8)) for output in outputs],
    )


def _collapse(builder: ir.IRBuilder, reduction: Reduction, outputs: list[Array]) -> tuple[Reduction, list[Array]]:
    """The reduction with adjacent dimensions collapsed that are both reduced or both kept, as those of size 1 may be taken."""
    rank, reduced = len(reduction.dimensions), _reduced_with_ones(reduction)
    barriers = frozenset(d for d in range(rank - 1) if (d in reduced) != (d + 1 in reduced)) | barriers_in_front(
        reduction.stops
    )
    collapsed = collapse_dimensions(reduction.producers, barriers)
    if collapsed is None:
        return reduction, outputs
    computation, groups = collapsed
    reduced_groups = tuple(number for number, group in enumerate(groups) if group[0] in reduced)
    kept_sizes = tuple(
        size for number, size in enumerate(result_roots(computation)[0].shape.dimensions) if number not in reduced_groups
    )
    outputs = [Array(output.pointer, output.shape.with_dimensions(kept_sizes)) for output in outputs]
    arguments = reshaped_arguments(reduction.arguments, computation)
    stops = collapsed_stops(builder, reduction.stops, groups, reduction.dimensions)
    return replace(reduction, producers=computation, arguments=arguments, reduced=reduced_groups, stops=stops), outputs


def _reduced_with_ones(reduction: Reduction) -> frozenset[int]:
    """The dimensions that may count as reduced: of those of size 1, which change nothing, the ones behind a reduced one."""
    reduced: set[int] = set()
    sizes = reduction.dimensions
    others = [d for d in range(len(sizes)) if sizes[d] != 1 or d in reduction.stops]
    before = others[0] if others else 0
    for d in range(len(sizes)):
        before = d if d in others else before
        if before in reduction.reduced:
            reduced.add(d)
    return frozenset(reduced)
