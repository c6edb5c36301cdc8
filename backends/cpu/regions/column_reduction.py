"""The reduction of columns: the vector dimension is kept, and each lane reduces its own column in order.

A long sum of floats is made of the sums of short runs, which are added with their rounding errors kept.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from llvmlite import ir

from ...llvm import index as indices
from ...llvm.arrays import Array, stack_array
from ...llvm.elementary_calls import calls_on_vectors, lanes_for_calls
from ...llvm.index import Affine, Base, Component, Index
from ...llvm.loops import carried_loop, counted_loop, loop_nest
from ...llvm.pieces import in_last_piece, in_one_piece, independent_loop, independent_loops, loop_of_piece, piece_bounds
from ...llvm.reductions import (
    Reduction,
    Store,
    add_with_error,
    finish_compensation,
    is_divided,
    is_sum_of_floats,
    reduce_loops,
    splat_identity,
    stops_of_kept,
)
from ...llvm.types import I64, RegisterValue, broadcast_lanes
from ..nest_samples import combining, samples
from ..target import Target
from ..vectors import VectorLoop, blocks_up_to, elements_behind, lanes_of, vector_strips

# Rows up to this long are reduced in registers; longer ones in pieces of the output that stay in the first-level cache.
_REGISTER_COLUMN_BYTES = 1 << 10
_PIECE_BYTES = 1 << 14
# As many blocks of rows are in a piece, at least, since each piece writes its own results.
_LEAST_BLOCKS = 2
# So many rows are added up before their sum is added to the total.
_RUN = 64


@samples(
    """
    x = f32[70,9] parameter(0)
    zero = f32[] constant(0)
    ROOT sum = f32[9] reduce(x, zero), dimensions={0}, to_apply=add_f32
    """,
    # Rows too long for registers.
    """
    x = f32[3,70,1000] parameter(0)
    zero = f32[] constant(0)
    ROOT sum = f32[3,1000] reduce(x, zero), dimensions={1}, to_apply=add_f32
    """,
    """
    x = s16[70,1000] parameter(0)
    init = s16[] parameter(1)
    ROOT most = s16[1000] reduce(x, init), dimensions={0}, to_apply=maximum_s16
    """,
    calls=combining("add", "f32[]") + combining("maximum", "s16[]"),
)
def emit_columns(builder: ir.IRBuilder, target: Target, reduction: Reduction, outputs: list[Array], store: Store) -> None:
    """Reduce columns, each of them into the outputs, or by ``store``."""
    if reduction.reduced and reduction.dimensions[-1] * outputs[0].shape.element_type.byte_size > _REGISTER_COLUMN_BYTES:
        _emit_wide_columns(builder, target, reduction, outputs)
    else:
        _emit_narrow_columns(builder, target, reduction, store)


def _emit_narrow_columns(builder: ir.IRBuilder, target: Target, reduction: Reduction, store: Store) -> None:
    """Columns of short rows: the accumulators stay in registers."""
    dimensions, kept = reduction.dimensions, reduction.kept
    size = dimensions[-1]
    lanes = lanes_for_calls(builder.module, reduction.producers, lanes_of(target, reduction, size), size)
    simple = len(reduction.producers.instructions) <= 12 and not calls_on_vectors(builder.module, reduction.producers)
    unroll = 1 if not simple or reduction.count > 1 else max(1, min(8, size // lanes))
    loops = loop_nest if reduction.divided else independent_loops
    with loops(builder, [dimensions[d] for d in kept[:-1]], stops_of_kept(reduction, kept[:-1])) as outer:

        def column(start: Component, vectors: int, mask: ir.Value | None) -> None:
            starts = [indices.add(builder, start, number * lanes) for number in range(vectors)]
            init = [broadcast_lanes(builder, value, lanes) for value in reduction.init_values]

            def accumulate(index: dict[int, Component], values: list[RegisterValue]) -> list[RegisterValue]:
                results = []
                for number, component in enumerate(starts):
                    full = tuple(component if d == len(dimensions) - 1 else index[d] for d in range(len(dimensions)))
                    group = values[number * reduction.count : (number + 1) * reduction.count]
                    results += reduction.combine(builder, group, reduction.elements(builder, full, lanes, mask), lanes)
                return results

            fixed = dict(zip(kept[:-1], outer))
            if is_sum_of_floats(reduction) and reduction.reduced_count > _RUN:
                totals = _sum_of_runs(builder, reduction, fixed, init * vectors, lanes, accumulate)
            else:
                totals = reduce_loops(builder, reduction, list(reduction.reduced), fixed, init * vectors, accumulate)
            for number, component in enumerate(starts):
                group = totals[number * reduction.count : (number + 1) * reduction.count]
                store((*outer, component), group, lanes, mask)

        stop = reduction.stops.get(len(dimensions) - 1)
        vector_strips(builder, size, lanes, unroll, column, stop, independent=not reduction.divided)


def _sum_of_runs(
    builder: ir.IRBuilder,
    reduction: Reduction,
    fixed: dict[int, Component],
    init: list[RegisterValue],
    lanes: int,
    accumulate: Callable[[dict[int, Component], list[RegisterValue]], list[RegisterValue]],
) -> list[RegisterValue]:
    """The sums of several vectors of columns, each sum made of runs."""
    element_type, count = reduction.operands[0].shape.element_type, len(init)
    neutral, zero = (splat_identity(element_type, value, lanes) for value in (-0.0, 0.0))
    *outer_reduced, innermost = reduction.reduced
    size = reduction.dimensions[innermost]

    def runs(index: dict[int, Component], state: list[RegisterValue]) -> list[RegisterValue]:
        def run(start: ir.Value, state: list[RegisterValue]) -> list[RegisterValue]:
            bounds = start, _end(builder, start, size)
            values = reduce_loops(builder, reduction, [innermost], index, [neutral] * count, accumulate, bounds)
            sums = [add_with_error(builder, *pair, value) for *pair, value in zip(state[:count], state[count:], values)]
            return [total for total, _ in sums] + [error for _, error in sums]

        start, stop, most = 0, indices.least(builder, reduction.stops.get(innermost, size), size), size
        if is_divided(reduction, innermost):
            start, stop, most = piece_bounds(builder, -(-size // _RUN))
            start, stop = (indices.multiply_base(builder, base, _RUN) for base in (start, stop))
        return carried_loop(builder, start, stop, _RUN, state, run, "runs", most)

    state = reduce_loops(builder, reduction, outer_reduced, fixed, [neutral] * count + [zero] * count, runs)
    totals = [finish_compensation(builder, *pair) for pair in zip(state[:count], state[count:])]
    return [reduction.combine(builder, [first], [total], lanes)[0] for first, total in zip(init, totals)]


def _end(builder: ir.IRBuilder, start: ir.Value, size: int) -> Base:
    """The end of the run that begins here."""
    end = builder.add(start, I64(_RUN))
    return end if size % _RUN == 0 else indices.least(builder, end, size)


def _emit_wide_columns(builder: ir.IRBuilder, target: Target, reduction: Reduction, outputs: list[Array]) -> None:
    """Columns of long rows: the accumulators stay in the output, a piece of it at a time, and whole rows stream by.

    Reading a few columns of each row would touch a new page of memory at every step.
    """
    dimensions, kept, size = reduction.dimensions, reduction.kept, reduction.dimensions[-1]
    by_runs = is_sum_of_floats(reduction) and reduction.reduced_count > _RUN
    piece_bytes = _PIECE_BYTES // 2 if by_runs else _PIECE_BYTES
    piece = min(size, piece_bytes // outputs[0].shape.element_type.byte_size)
    loops = loop_nest if reduction.divided else independent_loops
    with loops(builder, [dimensions[d] for d in kept[:-1]], stops_of_kept(reduction, kept[:-1])) as outer:
        fixed = dict(zip(kept[:-1], outer))
        whole, rest = divmod(size, piece)
        stop = reduction.stops.get(len(dimensions) - 1)
        loop = counted_loop if reduction.divided else independent_loop
        with loop(builder, whole, "piece", blocks_up_to(builder, stop, piece, whole)) as number:
            first = indices.multiply_base(builder, number, piece)
            _Piece(builder, target, reduction, outputs, outer, first, piece).emit(fixed, by_runs)
        if rest:
            with nullcontext() if reduction.divided else in_one_piece(builder):
                _Piece(builder, target, reduction, outputs, outer, whole * piece, rest).emit(fixed, by_runs)


class _Piece:
    """Some columns of the output, next to each other."""

    def __init__(
        self,
        builder: ir.IRBuilder,
        target: Target,
        reduction: Reduction,
        outputs: list[Array],
        outer: Index,
        first: Base,
        count: int,
    ) -> None:
        self.builder, self.reduction, self.outputs = builder, reduction, outputs
        self.outer, self.first, self.count = outer, first, count
        stop = elements_behind(builder, reduction.stops.get(len(reduction.dimensions) - 1), first)
        self.stop = None if stop is None else indices.least(builder, stop, count)
        self.lanes = lanes_of(target, reduction, reduction.dimensions[-1])
        self.rows_at_once = 4 if len(reduction.producers.instructions) <= 12 else 1
        if calls_on_vectors(builder.module, reduction.producers):
            self.lanes, self.rows_at_once = lanes_for_calls(builder.module, reduction.producers, self.lanes, count), 1

    def emit(self, fixed: dict[int, Component], by_runs: bool) -> None:
        b, reduction = self.builder, self.reduction
        *outer_reduced, innermost = reduction.reduced
        size = reduction.dimensions[innermost]
        if not by_runs:
            self._fill(reduction.init_values)
            reduce_loops(b, reduction, outer_reduced, fixed, [], lambda index, none: self._all_rows(index, innermost))
            return
        totals = self._sums_in_memory()

        def runs(index: dict[int, Component], nothing: list[RegisterValue]) -> list[RegisterValue]:
            whole, rest = divmod(size, _RUN)
            if whole:
                stop = blocks_up_to(b, reduction.stops.get(innermost), _RUN, whole)
                with self._loop_over(innermost, whole, "runs", stop) as number:
                    self._run(index, innermost, indices.multiply_base(b, number, _RUN), _RUN, totals)
            if rest:
                self._at_the_end(innermost, lambda: self._run(index, innermost, whole * _RUN, rest, totals))
            return nothing

        reduce_loops(b, reduction, outer_reduced, fixed, [], runs)
        init = broadcast_lanes(b, reduction.init_values[0], self.lanes)

        def finish(component: Component, lanes: int, mask: ir.Value | None) -> None:
            pair = [array.load(b, (component,), lanes, mask) for array in totals]
            (value,) = reduction.combine(b, [init], [finish_compensation(b, *pair)], lanes)
            self.outputs[0].store(b, self._place(component), value, lanes, mask)

        self._over_columns(finish)

    def _loop_over(self, dimension: int, size: int, name: str, stop: ir.Value | None) -> AbstractContextManager[Base]:
        """A loop over blocks of a dimension, or over those that belong to a piece."""
        if not is_divided(self.reduction, dimension):
            return counted_loop(self.builder, size, name, stop)
        return loop_of_piece(self.builder, size, name, stop, _LEAST_BLOCKS)

    def _at_the_end(self, dimension: int, emit: Callable[[], None]) -> None:
        """Emit what follows these loops, for the last piece."""
        if is_divided(self.reduction, dimension):
            in_last_piece(self.builder, [], lambda: emit() or [])
        else:
            emit()

    def _run(self, index: dict[int, Component], dimension: int, start: Base, count: int, totals: list[Array]) -> None:
        """Add the sum of a few rows, made in the output, to the totals."""
        b = self.builder
        self._fill([splat_identity(self.reduction.operands[0].shape.element_type, -0.0, 1)])
        self._rows(index, dimension, start, count)

        def add(component: Component, lanes: int, mask: ir.Value | None) -> None:
            pair = [array.load(b, (component,), lanes, mask) for array in totals]
            value = self.outputs[0].load(b, self._place(component), lanes, mask)
            for array, part in zip(totals, add_with_error(b, *pair, value)):
                array.store(b, (component,), part, lanes, mask)

        self._over_columns(add)

    def _sums_in_memory(self) -> list[Array]:
        """The sums so far, none, and their errors."""
        b, shape = self.builder, self.outputs[0].shape.with_dimensions((self.count,))
        arrays = [stack_array(b, shape) for _ in range(2)]

        def clear(component: Component, lanes: int, mask: ir.Value | None) -> None:
            for array, value in zip(arrays, (-0.0, 0.0)):
                array.store(b, (component,), splat_identity(shape.element_type, value, lanes), lanes, mask)

        self._over_columns(clear)
        return arrays

    def _fill(self, values: list[RegisterValue]) -> None:
        vectors = [broadcast_lanes(self.builder, value, self.lanes) for value in values]

        def store(component: Component, lanes: int, mask: ir.Value | None) -> None:
            for output, vector in zip(self.outputs, vectors):
                output.store(self.builder, self._place(component), vector, lanes, mask)

        self._over_columns(store)

    def _all_rows(self, index: dict[int, Component], dimension: int) -> list[RegisterValue]:
        """Combine all rows with the output, several at a time."""
        whole, rest = divmod(self.reduction.dimensions[dimension], self.rows_at_once)
        if whole:
            stop = blocks_up_to(self.builder, self.reduction.stops.get(dimension), self.rows_at_once, whole)
            with self._loop_over(dimension, whole, "rows", stop) as number:
                first = indices.multiply_base(self.builder, number, self.rows_at_once)
                self._rows_at_once(index, dimension, first, self.rows_at_once)
        if rest:
            start = whole * self.rows_at_once
            self._at_the_end(dimension, lambda: self._rows_at_once(index, dimension, start, rest))
        return []

    def _rows(self, index: dict[int, Component], dimension: int, start: Base, count: int) -> None:
        """Combine so many rows with the output, several at a time."""
        b = self.builder
        whole, rest = divmod(count, self.rows_at_once)
        stop = elements_behind(b, self.reduction.stops.get(dimension), start)
        if whole:
            with counted_loop(b, whole, "rows", blocks_up_to(b, stop, self.rows_at_once, whole)) as number:
                first = indices.add_base(b, start, indices.multiply_base(b, number, self.rows_at_once))
                self._rows_at_once(index, dimension, first, self.rows_at_once)
        if rest:
            self._rows_at_once(index, dimension, indices.add_base(b, start, whole * self.rows_at_once), rest)

    def _rows_at_once(self, index: dict[int, Component], dimension: int, first: Base, count: int) -> None:
        positions = [Affine(indices.add_base(self.builder, first, k)) for k in range(count)]
        self._over_columns(lambda *place: self._combine([{**index, dimension: p} for p in positions], *place))

    def _combine(self, rows: list[dict[int, Component]], component: Component, lanes: int, mask: ir.Value | None) -> None:
        b, rank = self.builder, len(self.reduction.dimensions)
        column = indices.add(b, component, self.first)
        values = [output.load(b, self._place(component), lanes, mask) for output in self.outputs]
        for row in rows:
            index = tuple(column if d == rank - 1 else row[d] for d in range(rank))
            values = self.reduction.combine(b, values, self.reduction.elements(b, index, lanes, mask), lanes)
        for output, value in zip(self.outputs, values):
            output.store(b, self._place(component), value, lanes, mask)

    def _place(self, component: Component) -> Index:
        return (*self.outer, indices.add(self.builder, component, self.first))

    def _over_columns(self, body: Callable[[Component, int, ir.Value | None], None]) -> None:
        VectorLoop(self.builder, self.lanes, in_place=True).emit(self.count, body, self.stop)
