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
from ...llvm.loops import counted_loop, loop_nest
from ...llvm.pieces import in_last_piece, in_one_piece, independent_loop, independent_loops, loop_of_piece, piece_bounds
from ...llvm.reductions import (
    Fold,
    Reduction,
    Store,
    add_with_error,
    begins_with_elements,
    finish_compensation,
    is_divided,
    is_sum_of_floats,
    reduce_loops,
    splat_identity,
    stops_of_kept,
)
from ...llvm.types import RegisterValue, broadcast_lanes
from ..nest_samples import combining, samples
from ..target import Target
from ..vectors import VectorLoop, blocks_up_to, elements_behind, lanes_of
from .narrow_columns import RUN, emit_narrow_columns, reads_rows

# Rows up to this long, or so few rows, are reduced in registers; others in pieces of the output that stay in the first-level
# cache.
_REGISTER_COLUMN_BYTES = 1 << 10
_REGISTER_ROWS = 16
_PIECE_BYTES = 1 << 14
# Of rows that are longer when they are read, each is on pages of memory of its own.
_PAGE_BYTES = 1 << 12
# As many blocks of rows are in a piece, at least, since each piece writes its own results.
_LEAST_BLOCKS = 2


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
    # Few rows, and rows that are not in memory.
    """
    x = f32[2,3,35] parameter(0)
    zero = f32[] constant(0)
    ROOT sum = f32[35] reduce(x, zero), dimensions={0,1}, to_apply=add_f32
    """,
    """
    x = f32[70] parameter(0)
    y = f32[1000] parameter(1)
    first = f32[70,1000] broadcast(x), dimensions={0}
    second = f32[70,1000] broadcast(y), dimensions={1}
    product = f32[70,1000] multiply(first, second)
    zero = f32[] constant(0)
    ROOT sum = f32[1000] reduce(product, zero), dimensions={0}, to_apply=add_f32
    """,
    """
    x = s16[70,1000] parameter(0)
    init = s16[] parameter(1)
    ROOT most = s16[1000] reduce(x, init), dimensions={0}, to_apply=maximum_s16
    """,
    # Short rows of results, of long rows.
    """
    x = f64[70,1000] parameter(0)
    y = pred[70,1000] compare(x, x), direction=NE
    false = pred[] constant(false)
    ROOT any = pred[1000] reduce(y, false), dimensions={0}, to_apply=or_pred
    """,
    calls=combining("add", "f32[]") + combining("maximum", "s16[]") + combining("or", "pred[]"),
)
def emit_columns(builder: ir.IRBuilder, target: Target, reduction: Reduction, outputs: list[Array], store: Store) -> None:
    """Reduce columns, each of them into the outputs, or by ``store``."""
    read = (i.shape.element_type.byte_size for i in reduction.producers.instructions if not i.shape.is_tuple)
    size, written = reduction.dimensions[-1], outputs[0].shape.element_type.byte_size
    is_long = size * written > _REGISTER_COLUMN_BYTES or size * max(read) > _PAGE_BYTES
    if reduction.reduced_count > _REGISTER_ROWS and is_long and reads_rows(reduction):
        _emit_wide_columns(builder, target, reduction, outputs)
    else:
        emit_narrow_columns(builder, target, reduction, store)


def _emit_wide_columns(builder: ir.IRBuilder, target: Target, reduction: Reduction, outputs: list[Array]) -> None:
    """Columns of long rows: the accumulators stay in the output, a piece of it at a time, and whole rows stream by.

    Reading a few columns of each row would touch a new page of memory at every step.
    """
    dimensions, kept, size = reduction.dimensions, reduction.kept, reduction.dimensions[-1]
    by_runs = is_sum_of_floats(reduction) and reduction.reduced_count > RUN
    piece_bytes = _PIECE_BYTES // (2 if by_runs else reduction.count)
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
        self.rows_at_once = 8 if len(reduction.producers.instructions) <= 12 else 1
        if calls_on_vectors(builder.module, reduction.producers):
            self.lanes, self.rows_at_once = lanes_for_calls(builder.module, reduction.producers, self.lanes, count), 1

    def emit(self, fixed: dict[int, Component], by_runs: bool) -> None:
        b, reduction = self.builder, self.reduction
        *outer_reduced, innermost = reduction.reduced
        size = reduction.dimensions[innermost]
        if begins_with_elements(reduction):
            self._rows_in_order(fixed, innermost)
            return
        if not by_runs:
            self._fill(reduction.init_values)
            reduce_loops(b, reduction, outer_reduced, fixed, [], lambda index, none: self._all_rows(index, innermost))
            return
        totals = self._sums_in_memory()

        def runs(index: dict[int, Component], nothing: list[RegisterValue]) -> list[RegisterValue]:
            whole, rest = divmod(size, RUN)
            if whole:
                stop = blocks_up_to(b, reduction.stops.get(innermost), RUN, whole)
                with self._loop_over(innermost, whole, "runs", stop) as number:
                    self._run(index, innermost, indices.multiply_base(b, number, RUN), RUN, totals)
            if rest:
                self._at_the_end(innermost, lambda: self._run(index, innermost, whole * RUN, rest, totals))
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

    def _rows_in_order(self, fixed: dict[int, Component], dimension: int) -> None:
        """As `_all_rows`, but the first rows are not combined with anything; the init values enter at the end."""
        b, reduction = self.builder, self.reduction
        size = reduction.dimensions[dimension]
        at_once = min(self.rows_at_once, size)
        whole, rest = divmod(size, at_once)
        start, stop, most = piece_bounds(b, whole, _LEAST_BLOCKS) if reduction.divided else (0, whole, whole)
        self._rows_at_once(fixed, dimension, indices.multiply_base(b, start, at_once), at_once, is_first=True)
        if most > 1:
            with counted_loop(b, most, "rows", indices.i64(stop), indices.add_base(b, start, 1)) as number:
                self._rows_at_once(fixed, dimension, indices.multiply_base(b, number, at_once), at_once)
        if rest:
            self._at_the_end(dimension, lambda: self._rows_at_once(fixed, dimension, whole * at_once, rest))
        if reduction.divided:
            return
        init = [broadcast_lanes(b, value, self.lanes) for value in reduction.init_values]

        def finish(component: Component, lanes: int, mask: ir.Value | None) -> None:
            values = [output.load(b, self._place(component), lanes, mask) for output in self.outputs]
            for output, value in zip(self.outputs, reduction.combine(b, init, values, lanes)):
                output.store(b, self._place(component), value, lanes, mask)

        self._over_columns(finish)

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

    def _rows_at_once(
        self, index: dict[int, Component], dimension: int, first: Base, count: int, is_first: bool = False
    ) -> None:
        rows = [{**index, dimension: Affine(indices.add_base(self.builder, first, k))} for k in range(count)]
        self._over_columns(lambda *place: self._combine(rows, is_first, *place))

    def _combine(
        self,
        rows: list[dict[int, Component]],
        is_first: bool,
        component: Component,
        lanes: int,
        mask: ir.Value | None,
    ) -> None:
        """Combine some columns of these rows with what is in the output, unless they are the first."""
        b, reduction, rank = self.builder, self.reduction, len(self.reduction.dimensions)
        column = indices.add(b, component, self.first)
        places = [tuple(column if d == rank - 1 else row[d] for d in range(rank)) for row in rows]
        elements = [reduction.elements(b, place, lanes, mask) for place in places]
        so_far = [] if is_first else [[output.load(b, self._place(component), lanes, mask) for output in self.outputs]]
        first, *others = [*so_far, *elements]
        fold = Fold(b, reduction, lanes, reduction.reduced[0] if begins_with_elements(reduction) else None)
        state = fold.begin(first)
        for group in others:
            state = fold.step(state, group)
        for output, value in zip(self.outputs, fold.finish(state)):
            output.store(b, self._place(component), value, lanes, mask)

    def _place(self, component: Component) -> Index:
        return (*self.outer, indices.add(self.builder, component, self.first))

    def _over_columns(self, body: Callable[[Component, int, ir.Value | None], None]) -> None:
        VectorLoop(self.builder, self.lanes, in_place=True).emit(self.count, body, self.stop)
