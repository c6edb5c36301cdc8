"""The reduction of columns in registers: of short rows, or of few rows. Each lane reduces its own column in order.

Rows that do not fill a register are reduced several at a time, as the longer row that they are in memory; what comes of it are
as many results for each column, which are combined at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from itertools import product
from math import gcd, prod

from llvmlite import ir

from ....hlo import Instruction
from ....hlo.operation import ELEMENTWISE, GIVEN, TUPLING
from ...llvm import index as indices
from ...llvm.arrays import Array, stack_array
from ...llvm.elementary_calls import calls_on_vectors, lanes_for_calls
from ...llvm.index import Affine, Base, Component, Index, Offsets
from ...llvm.loops import carried_loop, loop_nest
from ...llvm.pieces import in_last_piece, in_one_piece, independent_loops, piece_bounds
from ...llvm.reductions import (
    Fold,
    Reduction,
    Store,
    add_with_error,
    begins_with_elements,
    combined_in_order,
    finish_compensation,
    identity_of,
    in_groups,
    is_divided,
    is_sum_of_floats,
    reduce_loops,
    splat_identity,
    stops_of_kept,
)
from ...llvm.types import I64, RegisterValue, broadcast_lanes
from ..nest_samples import combining, samples
from ..target import Target
from ..vectors import VectorLoop, lanes_of, vector_strips

# So many rows are added up before their sum is added to the total.
RUN = 64
# The code for an element stands there several times, unless it is longer.
_MOST_INSTRUCTIONS = 12
# Vectors of columns that are reduced at the same time, at most, and, where there are several rows at a time, at least.
_MOST_VECTORS, _LEAST_VECTORS = 8, 4
# Rows that stand one behind the other, at most, and vectors of columns in which they do.
_WRITTEN_OUT, _WRITTEN_OUT_VECTORS = 16, 2
# Several rows at a time are so many times fewer than all.
_LEAST_STEPS = 8

# The elements of a row, by vector of columns.
Elements = Callable[[dict[int, Component]], list[list[RegisterValue]]]


@samples(
    """
    x = f32[2000,10] parameter(0)
    y = f32[10] parameter(1)
    b = f32[2000,10] broadcast(y), dimensions={1}
    z = f32[2000,10] subtract(x, b)
    zero = f32[] constant(0)
    ROOT sum = f32[10] reduce(z, zero), dimensions={0}, to_apply=add_f32
    """,
    """
    x = s16[3,1003,7] parameter(0)
    init = s16[] parameter(1)
    ROOT most = s16[3,7] reduce(x, init), dimensions={1}, to_apply=maximum_s16
    """,
    """
    x = s32[12,50] parameter(0)
    init = s32[] parameter(1)
    ROOT sum = s32[50] reduce(x, init), dimensions={0}, to_apply=add_s32
    """,
    # Blocks of vectors that overlap at the end; truth values as bytes.
    """
    x = s32[40,200] parameter(0)
    init = s32[] parameter(1)
    ROOT sum = s32[200] reduce(x, init), dimensions={0}, to_apply=add_s32
    """,
    """
    x = pred[20,1000] parameter(0)
    init = pred[] parameter(1)
    ROOT all = pred[1000] reduce(x, init), dimensions={0}, to_apply=and_pred
    """,
    calls=combining("add", "f32[]") + combining("maximum", "s16[]") + combining("add", "s32[]") + combining("and", "pred[]"),
)
def emit_narrow_columns(builder: ir.IRBuilder, target: Target, reduction: Reduction, store: Store) -> None:
    at_once = _rows_at_once(builder, target, reduction)
    if at_once > 1:
        _emit_rows_at_once(builder, target, reduction, at_once, store)
        return
    dimensions, kept, size = reduction.dimensions, reduction.kept, reduction.dimensions[-1]
    lanes = lanes_for_calls(builder.module, reduction.producers, lanes_of(target, reduction, size), size)
    most = _WRITTEN_OUT_VECTORS if _is_written_out(builder, reduction) else _MOST_VECTORS // reduction.count
    unroll = max(1, min(most, size // lanes)) if _is_short(builder, reduction) else 1
    with _outer_loops(builder, reduction) as outer:
        fixed = dict(zip(kept[:-1], outer))

        def column(start: Component, vectors: int, mask: ir.Value | None) -> None:
            starts = [indices.add(builder, start, number * lanes) for number in range(vectors)]
            for component, totals in zip(starts, _reduced(builder, reduction, fixed, starts, lanes, mask)):
                store((*outer, component), totals, lanes, mask)

        stop = reduction.stops.get(len(dimensions) - 1)
        vector_strips(builder, size, lanes, unroll, column, stop, not reduction.divided, overlaps=True)


def reads_rows(reduction: Reduction) -> bool:
    """Whether there are rows in memory: an argument that has more elements than the result is one for each of its elements."""
    kept = prod(reduction.dimensions[d] for d in reduction.kept)
    return any(parameter.shape.size > kept for parameter in reduction.producers.parameters)


def _is_written_out(builder: ir.IRBuilder, reduction: Reduction) -> bool:
    """Whether there are so few rows, which are computed, that one stands behind the other: what they share is computed once."""
    is_whole = not reduction.stops and not reduction.divided and reduction.reduced_count <= _WRITTEN_OUT
    return is_whole and _is_short(builder, reduction) and not reads_rows(reduction)


def _is_short(builder: ir.IRBuilder, reduction: Reduction) -> bool:
    few = len(reduction.producers.instructions) <= _MOST_INSTRUCTIONS
    return few and not calls_on_vectors(builder.module, reduction.producers)


def _outer_loops(builder: ir.IRBuilder, reduction: Reduction) -> AbstractContextManager[Index]:
    """Over what is kept in front of the columns."""
    loops, kept = loop_nest if reduction.divided else independent_loops, reduction.kept[:-1]
    return loops(builder, [reduction.dimensions[d] for d in kept], stops_of_kept(reduction, kept))


# --- several rows at a time ---


@dataclass(frozen=True)
class _RowsAtOnce(Reduction):
    """Of rows each of which is ``at_once`` rows of the arrays, as they lie; what is left of these is not reduced."""

    at_once: int = 1

    @property
    def dimensions(self) -> tuple[int, ...]:
        *outer, rows, size = super().dimensions
        return (*outer, rows // self.at_once, self.at_once * size)

    def elements(self, builder: ir.IRBuilder, index: Index, lanes: int, mask: ir.Value | None = None) -> list[RegisterValue]:
        *outer, row, column = index
        size = self.operands[0].shape.dimensions[-1]
        places = [divmod(column.base + lane, size) for lane in range(lanes)]
        first = indices.multiply_base(builder, row.base, self.at_once)
        rows, columns = (Offsets(base, offsets) for base, offsets in zip((first, 0), zip(*places)))
        return super().elements(builder, (*outer, rows, columns), lanes, mask)


def _rows_at_once(builder: ir.IRBuilder, target: Target, reduction: Reduction) -> int:
    """How many rows at a time fill some vectors; 1 where that is of no use."""
    last, reduced = len(reduction.dimensions) - 1, reduction.reduced
    if reduced != (last - 1,) or {last - 1, last} & set(reduction.stops) or not _is_short(builder, reduction):
        return 1
    if not all(map(_moves_with_rows, reduction.producers.instructions)):
        return 1
    rows, size = reduction.dimensions[-2:]
    lanes = lanes_of(target, reduction, rows * size)
    if lanes == 1:
        return 1
    vectors, at_once = size // gcd(size, lanes), lanes // gcd(size, lanes)
    more = max(1, -(-_LEAST_VECTORS // vectors))
    vectors, at_once = vectors * more, at_once * more
    registers = vectors * Fold(builder, reduction, lanes).width
    return at_once if 2 * registers <= target.vector_registers and rows >= _LEAST_STEPS * at_once else 1


def _moves_with_rows(instruction: Instruction) -> bool:
    """Whether the instruction's elements, of several rows at once, are found where the lanes have known offsets."""
    if not {ELEMENTWISE, GIVEN, TUPLING}.isdisjoint(instruction.operation.traits):
        return True
    return instruction.opcode in ("broadcast", "iota")


def _emit_rows_at_once(builder: ir.IRBuilder, target: Target, reduction: Reduction, at_once: int, store: Store) -> None:
    *_, rows, size = reduction.dimensions
    longer = _RowsAtOnce(**{field.name: getattr(reduction, field.name) for field in fields(reduction)}, at_once=at_once)
    lanes = lanes_of(target, reduction, rows * size)
    starts = [Affine(start, 1) for start in range(0, at_once * size, lanes)]
    narrow = lanes_of(target, reduction, size)
    with _outer_loops(builder, reduction) as outer, nullcontext() if outer or reduction.divided else in_one_piece(builder):
        fixed = dict(zip(reduction.kept[:-1], outer))
        arrays = [stack_array(builder, operand.shape.with_dimensions((at_once, size))) for operand in reduction.operands]
        for start, totals in zip(starts, _reduced(builder, longer, fixed, starts, lanes, None, with_init=False)):
            for array, value in zip(arrays, totals):
                Array(array.pointer, array.shape.with_dimensions((at_once * size,))).store(builder, (start,), value, lanes)

        def finish(component: Component, lanes: int, mask: ir.Value | None) -> None:
            def result_of_row(number: Base) -> list[RegisterValue]:
                return [array.load(builder, (Affine(number), component), lanes, mask) for array in arrays]

            def row(number: ir.Value, totals: list[RegisterValue]) -> list[RegisterValue]:
                elements = reduction.elements(builder, (*outer, Affine(number), component), lanes, mask)
                return reduction.combine(builder, totals, elements, lanes)

            totals = combined_in_order(builder, reduction, at_once, result_of_row, lanes)
            done = rows // at_once * at_once

            def rest() -> list[RegisterValue]:
                return carried_loop(builder, done, rows, 1, totals, row, "rest")

            if done < rows:
                totals = list(in_last_piece(builder, totals, rest)) if reduction.divided else rest()
            if not reduction.divided:
                totals = reduction.combine(builder, _in_lanes(builder, reduction.init_values, lanes), totals, lanes)
            store((*outer, component), totals, lanes, mask)

        VectorLoop(builder, narrow, in_place=False).emit(size, finish)


# --- vectors of columns ---


def _reduced(
    builder: ir.IRBuilder,
    reduction: Reduction,
    fixed: dict[int, Component],
    starts: list[Component],
    lanes: int,
    mask: ir.Value | None,
    with_init: bool = True,
) -> list[list[RegisterValue]]:
    """The results of several vectors of columns; without the init values they begin with the identity, or with elements."""
    last = len(reduction.dimensions) - 1

    def elements(index: dict[int, Component]) -> list[list[RegisterValue]]:
        places = [tuple(start if d == last else index[d] for d in range(last + 1)) for start in starts]
        return [reduction.elements(builder, place, lanes, mask) for place in places]

    if begins_with_elements(reduction):
        init = reduction.init_values if with_init and not reduction.divided else []
        return _column_of_elements(builder, reduction, fixed, elements, _in_lanes(builder, init, lanes), lanes)
    identity = identity_of(reduction)
    if with_init or identity is None:
        init = _in_lanes(builder, reduction.init_values, lanes)
    else:
        init = [splat_identity(reduction.operands[0].shape.element_type, identity, lanes)]
    if is_sum_of_floats(reduction) and reduction.reduced_count > RUN:
        return _sum_of_runs(builder, reduction, fixed, [init] * len(starts), lanes, elements)
    fold = Fold(builder, reduction, lanes)
    return _folded(builder, reduction, fixed, fold, [init] * len(starts), elements)


def _column_of_elements(
    builder: ir.IRBuilder,
    reduction: Reduction,
    fixed: dict[int, Component],
    elements: Elements,
    init: list[RegisterValue],
    lanes: int,
) -> list[list[RegisterValue]]:
    """The results, begun with the elements of the first row; init values, if there are any, enter at the end."""
    (dimension,), size = reduction.reduced, reduction.dimensions[reduction.reduced[0]]
    start, stop, _ = piece_bounds(builder, size) if reduction.divided else (0, size, size)
    first, bounds = elements({**fixed, dimension: Affine(start)}), (indices.add_base(builder, start, 1), stop)
    fold = Fold(builder, reduction, lanes, in_order=dimension)
    totals = _folded(builder, reduction, fixed, fold, first, elements, bounds)
    return [reduction.combine(builder, init, total, lanes) for total in totals] if init else totals


def _folded(
    builder: ir.IRBuilder,
    reduction: Reduction,
    fixed: dict[int, Component],
    fold: Fold,
    first: list[list[RegisterValue]],
    elements: Elements,
    bounds: tuple[Base, Base] | None = None,
) -> list[list[RegisterValue]]:
    """What comes first in several vectors of columns, and all rows, or those within the bounds, taken into it."""

    def accumulate(index: dict[int, Component], states: list[RegisterValue]) -> list[RegisterValue]:
        pairs = zip(in_groups(states, fold.width), elements(index))
        return [value for state, group in pairs for value in fold.step(state, group)]

    states = [value for group in first for value in fold.begin(group)]
    if bounds is None and _is_written_out(builder, reduction):
        for place in product(*(range(reduction.dimensions[d]) for d in reduction.reduced)):
            states = accumulate({**fixed, **dict(zip(reduction.reduced, map(Affine, place)))}, states)
    else:
        states = reduce_loops(builder, reduction, list(reduction.reduced), fixed, states, accumulate, bounds)
    return [fold.finish(state) for state in in_groups(states, fold.width)]


def _sum_of_runs(
    builder: ir.IRBuilder,
    reduction: Reduction,
    fixed: dict[int, Component],
    init: list[list[RegisterValue]],
    lanes: int,
    elements: Elements,
) -> list[list[RegisterValue]]:
    """The sums of several vectors of columns, each sum made of runs."""
    element_type, count = reduction.operands[0].shape.element_type, len(init)
    neutral, zero = (splat_identity(element_type, value, lanes) for value in (-0.0, 0.0))
    *outer_reduced, innermost = reduction.reduced
    size = reduction.dimensions[innermost]

    def accumulate(index: dict[int, Component], sums: list[RegisterValue]) -> list[RegisterValue]:
        return [reduction.combine(builder, [total], group, lanes)[0] for total, group in zip(sums, elements(index))]

    def runs(index: dict[int, Component], state: list[RegisterValue]) -> list[RegisterValue]:
        def run(start: ir.Value, state: list[RegisterValue]) -> list[RegisterValue]:
            bounds = start, _end(builder, start, size)
            values = reduce_loops(builder, reduction, [innermost], index, [neutral] * count, accumulate, bounds)
            sums = [add_with_error(builder, *pair, value) for *pair, value in zip(state[:count], state[count:], values)]
            return [total for total, _ in sums] + [error for _, error in sums]

        start, stop, most = 0, indices.least(builder, reduction.stops.get(innermost, size), size), size
        if is_divided(reduction, innermost):
            start, stop, most = piece_bounds(builder, -(-size // RUN))
            start, stop = (indices.multiply_base(builder, base, RUN) for base in (start, stop))
        return carried_loop(builder, start, stop, RUN, state, run, "runs", most)

    state = reduce_loops(builder, reduction, outer_reduced, fixed, [neutral] * count + [zero] * count, runs)
    totals = [finish_compensation(builder, *pair) for pair in zip(state[:count], state[count:])]
    return [reduction.combine(builder, first, [total], lanes) for first, total in zip(init, totals)]


def _end(builder: ir.IRBuilder, start: ir.Value, size: int) -> Base:
    """The end of the run that begins here."""
    end = builder.add(start, I64(RUN))
    return end if size % RUN == 0 else indices.least(builder, end, size)


def _in_lanes(builder: ir.IRBuilder, values: list[RegisterValue], lanes: int) -> list[RegisterValue]:
    return [broadcast_lanes(builder, value, lanes) for value in values]
