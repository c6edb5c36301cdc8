"""Rows reduced in lanes, from an identity on: in blocks of vectors, and what is left behind the last block."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from ...llvm import index as indices
from ...llvm.branches import replaced_if
from ...llvm.elementary_calls import calls_on_vectors, vector_part
from ...llvm.index import Affine, Base, Component
from ...llvm.loops import carried_loop
from ...llvm.pieces import in_last_piece, piece_bounds
from ...llvm.reductions import (
    Fold,
    Reduction,
    add_with_error,
    finish_compensation,
    identity_of,
    in_groups,
    is_divided,
    is_sum_of_floats,
    reduce_loops,
    splat_identity,
)
from ...llvm.types import RegisterValue, selected
from ..nest_samples import combining, samples
from ..target import Target
from ..vectors import lanes_of, tail_mask, whole_lanes
from .row_extrema import RowExtremum
from .row_truths import CountedLanes, SearchedLanes, are_all, is_decided_early, until_decided

# This many vectors of partial results, so that one addition need not wait for another.
PARTIAL_VECTORS = 4
# A row whose result does not change any more is left behind a block of about as many bytes.
_DECIDED_AFTER = 1024
# A sum is carried with compensation beyond this many additions a lane: the error of the lanes' sums stays that of one block.
_BLOCK_STEPS = 32
# A row that is divided among threads has as many blocks.
_DIVIDED_BLOCKS = 64

# What a row is reduced to so far: for each row as many values as its state has. And the index of a row, but for its own place.
State = list[RegisterValue]
RowIndex = dict[int, Component]


def row_lanes(target: Target, reduction: Reduction) -> int:
    """The lanes of a row: where no identity is known, no more than there are elements."""
    size = reduction.dimensions[-1]
    lanes = lanes_of(target, reduction, size)
    return lanes if identity_of(reduction) is not None else whole_lanes(lanes, size)


def result_lanes(target: Target, reduction: Reduction) -> int:
    """The lanes of partial results: of truth values that are counted there is one count."""
    if RowExtremum.of(target, reduction) is not None:
        return 1
    counted = CountedLanes.of(target, reduction, reduction.dimensions[-1])
    return row_lanes(target, reduction) if counted is None else 1


def merged_in_pairs(fold: Fold, states: list[State]) -> list[State]:
    """One state of several, by as few merges behind each other as there can be."""
    while len(states) > 1:
        pairs = zip(states[::2], states[1::2])
        states = [*[fold.merged(one, other) for one, other in pairs], *states[len(states) // 2 * 2 :]]
    return states


@samples(
    """
    x = f32[3,5,1003] parameter(0)
    zero = f32[] constant(0)
    ROOT sum = f32[5] reduce(x, zero), dimensions={0,2}, to_apply=add_f32
    """,
    """
    x = f64[20] parameter(0)
    init = f64[] parameter(1)
    ROOT least = f64[] reduce(x, init), dimensions={0}, to_apply=minimum_f64
    """,
    # The result is that of the first element that is true.
    """
    x = pred[2,5000] parameter(0)
    no = pred[] constant(false)
    ROOT some = pred[2] reduce(x, no), dimensions={1}, to_apply=or_pred
    """,
    calls=combining("add", "f32[]") + combining("minimum", "f64[]") + combining("or", "pred[]"),
)
def reduced_rows(
    builder: ir.IRBuilder, target: Target, reduction: Reduction, fixed: RowIndex, places: Sequence[RowIndex] = ({},)
) -> list[State]:
    """The lanes that rows of one operand are reduced to: their indices are ``fixed``, but for what ``places`` say of each row.

    Each has registers of its own, so that its results are those of the row alone.
    """
    return _Rows(builder, target, reduction, places).reduced(fixed)


class _Rows:
    """Rows that are reduced at once, next to each other in each step."""

    def __init__(self, builder: ir.IRBuilder, target: Target, reduction: Reduction, places: Sequence[RowIndex]) -> None:
        self.builder, self.target, self.reduction, self.places = builder, target, reduction, places
        self.last = last = len(reduction.dimensions) - 1
        self.size, identity = reduction.dimensions[last], identity_of(reduction)
        self.counted = CountedLanes.of(target, reduction, self.size)
        self.lanes = row_lanes(target, reduction) if self.counted is None else self.counted.lanes
        self.group = PARTIAL_VECTORS * self.lanes
        self.element_type, lanes_of_results = reduction.operands[0].shape.element_type, result_lanes(target, reduction)
        self.neutral = splat_identity(self.element_type, identity, lanes_of_results)
        self.is_divided = is_divided(reduction, last)
        self.is_compensated = is_sum_of_floats(reduction) and reduction.reduced_count // self.group > _BLOCK_STEPS
        # An element that is not the identity leaves no other result.
        is_decided = is_decided_early(reduction.to_apply, reduction.operands[0], reduction.reduced, identity)
        self.is_decidable = len(places) == 1 and is_decided
        self.calls_on_groups = lanes_of_results > 1 and calls_on_vectors(builder.module, reduction.producers)
        self.fold = Fold(builder, reduction, lanes_of_results)
        self.first = self.fold.begin([self.neutral])
        if self.is_compensated:
            self.first = [self.neutral, splat_identity(self.element_type, 0.0, self.lanes)]

    def reduced(self, fixed: RowIndex) -> list[State]:
        builder, reduction = self.builder, self.reduction
        outer = [d for d in reduction.reduced if d != self.last]
        state = reduce_loops(builder, reduction, outer, fixed, self.first * len(self.places), self._row)
        of_rows = in_groups(state, len(self.first))
        return [[finish_compensation(builder, *one)] if self.is_compensated else self.fold.finish(one) for one in of_rows]

    # --- elements ---

    def _indices(self, index: RowIndex, components: Sequence[Component]) -> list[tuple[Component, ...]]:
        """Of these components of each row."""
        rows = [{**index, **place, self.last: component} for place in self.places for component in components]
        return [tuple(row[d] for d in range(self.last + 1)) for row in rows]

    def _vectors(self, index: RowIndex, component: Component, mask: ir.Value | None = None) -> list[RegisterValue]:
        """A vector of each row."""
        builder, full = self.builder, self._indices(index, [component])
        if self.counted is not None:
            return [self.counted.count(builder, self.reduction, one, mask) for one in full]
        values = [value for (value,) in self.reduction.elements_at(builder, full, self.lanes, mask)]
        return values if mask is None else [selected(builder, mask, value, self.neutral) for value in values]

    def _group(self, index: RowIndex, base: Base) -> list[RegisterValue]:
        """PARTIAL_VECTORS vectors next to each other, of each row."""
        builder, reduction, lanes, numbers = self.builder, self.reduction, self.lanes, range(PARTIAL_VECTORS)
        if self.calls_on_groups:
            full = self._indices(index, [Affine(base, 1)])
            values = [value for (value,) in reduction.elements_at(builder, full, self.group)]
            return [vector_part(builder, value, number * lanes, lanes) for value in values for number in numbers]
        parts = [self._component(indices.add_base(builder, base, number * lanes)) for number in numbers]
        if self.counted is not None:
            loaded = [self._vectors(index, part) for part in parts]
            return [one[row] for row in range(len(self.places)) for one in loaded]
        # At once, so that what is the same along a row is computed once.
        return [value for (value,) in reduction.elements_at(builder, self._indices(index, parts), lanes)]

    def _component(self, base: Base) -> Affine:
        return Affine(base, 1 if self.lanes > 1 else 0)

    def _up_to(self, size: int, start: Base = 0) -> Base:
        """The end of so many elements behind the start, or in front of it where the row stops."""
        stop = self.reduction.stops.get(self.last)
        return size if stop is None else indices.least(self.builder, self.builder.sub(stop, indices.i64(start)), size)

    # --- states ---

    def _accumulated(self, state: State, part: State) -> State:
        """The state with a part, of each row, that has been folded by itself."""
        pairs = zip(in_groups(state, len(self.first)), in_groups(part, self.fold.width))
        if self.is_compensated:
            return [value for one, other in pairs for value in add_with_error(self.builder, *one, *other)]
        return [value for one, other in pairs for value in self.fold.merged(one, other)]

    def _with_vectors(self, state: State, index: RowIndex, component: Component, mask: ir.Value | None = None) -> State:
        vectors = self._vectors(index, component, mask)
        return self._accumulated(state, [value for vector in vectors for value in self.fold.begin([vector])])

    def _block(self, index: RowIndex, start: Base, steps: int) -> State:
        """The combination of ``steps`` groups."""
        builder, fold = self.builder, self.fold

        def group(number: ir.Value, states: State) -> State:
            elements = self._group(index, indices.add_base(builder, number, start))
            pairs = zip(in_groups(states, fold.width), elements)
            return [value for state, element in pairs for value in fold.step(state, [element])]

        end = self._up_to(steps * self.group, start)
        begin = fold.begin([self.neutral]) * PARTIAL_VECTORS * len(self.places)
        states = carried_loop(builder, 0, end, self.group, begin, group, "row", steps * self.group)
        of_rows = in_groups(states, fold.width * PARTIAL_VECTORS)
        return [value for one in of_rows for value in merged_in_pairs(fold, in_groups(one, fold.width))[0]]

    # --- rows ---

    def _row(self, index: RowIndex, state: State) -> State:
        if not self.is_decidable or self.is_divided or self.size <= self.group:
            return self._from(0, index, state)
        state = self._accumulated(state, self._block(index, 0, 1))
        is_open = are_all(self.builder, state[0], self.neutral)
        return replaced_if(self.builder, is_open, state, lambda: self._from(self.group, index, state))

    def _from(self, done: int, index: RowIndex, state: State) -> State:
        """With what is behind the first elements: in blocks, whose number threads divide, and what is behind the last one."""
        steps = self._block_steps(self.size - done)
        blocks = (self.size - done) // (steps * self.group)
        if blocks:
            state = self._with_blocks(done, blocks, steps, index, state)
            done += blocks * steps * self.group
        if not self.is_divided:
            return self._with_last(done, index, state)
        if done == self.size:
            return state
        return list(in_last_piece(self.builder, state, lambda: self._with_last(done, index, state)))

    def _block_steps(self, size: int) -> int:
        """The groups of a block of so many elements."""
        blocks_wanted = _DIVIDED_BLOCKS if self.is_divided else 1
        steps = _BLOCK_STEPS if self.is_compensated else max(1, size // (self.group * blocks_wanted))
        if self.is_decidable:
            steps = max(1, min(steps, _DECIDED_AFTER // (self.group * self.element_type.byte_size)))
        return steps

    def _with_blocks(self, done: int, blocks: int, steps: int, index: RowIndex, state: State) -> State:
        builder, step = self.builder, steps * self.group

        def block(number: ir.Value, carried: State) -> State:
            return self._accumulated(carried, self._block(index, number, steps))

        end = done + blocks * step
        first, past, most = done, self._up_to(end), blocks
        if self.is_divided:
            first, past, most = piece_bounds(builder, blocks)
            first, past = (indices.multiply_base(builder, base, step) for base in (first, past))
        if not self.is_decidable or blocks == 1:
            return carried_loop(builder, first, past, step, state, block, "block", most if self.is_divided else end)
        search = SearchedLanes.of(self.target, self.reduction, self.size, step)
        if search is None:
            return until_decided(builder, self.neutral, first, past, step, state, block, most)
        return search.run(builder, self.reduction, index, first, past, step, state, block, most)

    def _with_last(self, done: int, index: RowIndex, state: State) -> State:
        """With what is left of the row behind the blocks: groups, vectors, and a part of one."""
        builder, lanes = self.builder, self.lanes
        groups = (self.size - done) // self.group
        if groups:
            state = self._accumulated(state, self._block(index, done, groups))
            done += groups * self.group
        end = done + (self.size - done) // lanes * lanes
        if done < end:

            def vector(number: ir.Value, carried: State) -> State:
                return self._with_vectors(carried, index, self._component(number))

            state = carried_loop(builder, done, self._up_to(end), lanes, state, vector, "vector", end)
        if end < self.size:
            state = self._with_vectors(state, index, Affine(end, 1), tail_mask(lanes, self.size - end))
        return state
