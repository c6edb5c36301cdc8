"""The reduction of rows: the vector dimension is reduced, in lanes that are combined at the end."""

from __future__ import annotations

from functools import partial

from llvmlite import ir

from ...llvm import index as indices
from ...llvm.arrays import stack_array
from ...llvm.branches import replaced_if
from ...llvm.elementary_calls import calls_on_vectors, vector_part
from ...llvm.index import Affine, Component, Offsets
from ...llvm.loops import carried_loop, counted_loop
from ...llvm.pieces import in_last_piece, independent_loops, piece_bounds
from ...llvm.reductions import (
    Fold,
    Reduction,
    Store,
    add_with_error,
    finish_compensation,
    identity_of,
    in_groups,
    is_divided,
    is_sum_of_floats,
    reduce_loops,
    splat_identity,
    stops_of_kept,
)
from ...llvm.types import ComplexValue, RegisterValue, broadcast_lanes
from ..nest_samples import combining, samples
from ..target import Target
from ..vectors import VectorLoop, combined_lanes, lanes_of, tail_mask, whole_lanes
from .row_truths import CountedLanes, SearchedLanes, are_all, is_decided_early, until_decided
from .short_rows import emit_short_rows, has_short_rows
from .transpose import LARGEST_TILE, turned

# This many vectors of partial results, so that one addition need not wait for another.
PARTIAL_VECTORS = 4
# A row whose result does not change any more is left behind a block of about as many bytes.
DECIDED_AFTER = 1024
# A sum is carried with compensation beyond this many additions a lane: the error of the lanes' sums stays that of one block.
BLOCK_STEPS = 32
# A row that is divided among threads has as many blocks.
_DIVIDED_BLOCKS = 64
# Many rows are so many times those that make a tile; of rows that take so many bytes the end does not matter.
_MANY_TILES = 8
_LONG_ROW_BYTES = 16 << 10


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
    # No identity is known.
    """
    x = s32[4,33] parameter(0)
    init = s32[] parameter(1)
    ROOT largest = s32[4] reduce(x, init), dimensions={1}, to_apply=larger
    """,
    calls=combining("add", "f32[]")
    + combining("minimum", "f64[]")
    + """larger {
      x = s32[] parameter(0)
      y = s32[] parameter(1)
      m = s32[] abs(x)
      n = s32[] abs(y)
      ROOT z = s32[] maximum(m, n)
    }""",
)
def emit_rows(builder: ir.IRBuilder, target: Target, reduction: Reduction, store: Store) -> None:
    if has_short_rows(builder, target, reduction):
        emit_short_rows(builder, target, reduction, store)
        return
    dimensions, kept = reduction.dimensions, reduction.kept
    if _has_many_rows(target, reduction):
        _emit_many_rows(builder, target, reduction, store)
        return
    with independent_loops(builder, [dimensions[d] for d in kept], stops_of_kept(reduction)) as outer:
        fixed = dict(zip(kept, outer))
        if reduction.reduced:
            totals = _row(builder, target, reduction, fixed)
        else:
            index = tuple(fixed[d] for d in range(len(dimensions)))
            totals = reduction.combine(builder, reduction.init_values, reduction.elements(builder, index, 1), 1)
        store(outer, totals, 1, None)


def _row(builder: ir.IRBuilder, target: Target, reduction: Reduction, fixed: dict[int, Component]) -> list[RegisterValue]:
    """The results of one row."""
    init, last = reduction.init_values, len(reduction.dimensions) - 1

    def scalars(lanes: list[RegisterValue]) -> list[RegisterValue]:
        return combined_lanes(builder, lanes, _result_lanes(target, reduction), partial(reduction.combine, builder))

    if identity_of(reduction) is not None:
        totals = scalars(_vector_row(builder, target, reduction, fixed))
        return totals if reduction.divided else reduction.combine(builder, init, totals, 1)

    def row(index: dict[int, Component], so_far: list[RegisterValue]) -> list[RegisterValue]:
        totals = scalars(_row_of_elements(builder, target, reduction, index))
        return totals if reduction.divided else reduction.combine(builder, so_far, totals, 1)

    return reduce_loops(builder, reduction, [d for d in reduction.reduced if d != last], fixed, init, row)


def row_lanes(target: Target, reduction: Reduction) -> int:
    """The lanes of a row: where no identity is known, no more than there are elements."""
    size = reduction.dimensions[-1]
    lanes = lanes_of(target, reduction, size)
    return lanes if identity_of(reduction) is not None else whole_lanes(lanes, size)


def _result_lanes(target: Target, reduction: Reduction) -> int:
    """The lanes of partial results: of truth values that are counted there is one count."""
    counted = CountedLanes.of(target, reduction, reduction.dimensions[-1])
    return row_lanes(target, reduction) if counted is None else 1


def _has_many_rows(target: Target, reduction: Reduction) -> bool:
    """Whether there are many rows that are not so long that it does not matter what is done at the end of one."""
    dimensions, last = reduction.dimensions, len(reduction.dimensions) - 1
    if reduction.reduced != (last,) or last == 0 or last - 1 in reduction.stops or reduction.divided:
        return False
    lanes, row_bytes = _result_lanes(target, reduction), dimensions[last] * reduction.operands[0].shape.element_type.byte_size
    return 1 < lanes <= LARGEST_TILE and dimensions[last - 1] >= _MANY_TILES * lanes and row_bytes <= _LONG_ROW_BYTES


def _emit_many_rows(builder: ir.IRBuilder, target: Target, reduction: Reduction, store: Store) -> None:
    """As many rows at a time as there are lanes: the lanes of all of them are turned, and combined at once."""
    kept, last, lanes = reduction.kept, len(reduction.dimensions) - 1, row_lanes(target, reduction)
    row = _row_of_elements if identity_of(reduction) is None else _vector_row
    init = [broadcast_lanes(builder, value, lanes) for value in reduction.init_values]
    lines = [stack_array(builder, operand.shape.with_dimensions((lanes, lanes))) for operand in reduction.operands]

    def combine(low: list[RegisterValue], high: list[RegisterValue]) -> list[RegisterValue]:
        return reduction.combine(builder, low, high, lanes)

    with independent_loops(builder, [reduction.dimensions[d] for d in kept[:-1]], stops_of_kept(reduction, kept[:-1])) as outer:

        def rows(component: Affine, lanes: int, mask: ir.Value | None) -> None:
            with counted_loop(builder, lanes, "line") as number:
                place = Affine(indices.add_base(builder, component.base, number))
                totals = row(builder, target, reduction, dict(zip(kept, (*outer, place))))
                for array, value in zip(lines, totals):
                    array.store(builder, (Affine(number), Affine(0, 1)), value, lanes)
            loaded = [[array.load(builder, (Affine(n), Affine(0, 1)), lanes) for n in range(lanes)] for array in lines]
            parts = [list(part) for part in zip(*(turned(builder, of_operand) for of_operand in loaded))]
            while len(parts) > 1:
                half = len(parts) // 2
                parts = [combine(low, high) for low, high in zip(parts[:half], parts[half:])]
            store((*outer, component), combine(init, parts[0]), lanes, mask)

        VectorLoop(builder, lanes, in_place=False, independent=True).emit(reduction.dimensions[last - 1], rows)


def _row_of_elements(
    builder: ir.IRBuilder, target: Target, reduction: Reduction, index: dict[int, Component]
) -> list[RegisterValue]:
    """As _vector_row, where no identity is known: the partial results begin as elements."""
    dimensions, last = reduction.dimensions, len(reduction.dimensions) - 1
    size, lanes = dimensions[last], row_lanes(target, reduction)
    vectors = min(PARTIAL_VECTORS, size // lanes)
    group = vectors * lanes
    fold = Fold(builder, reduction, lanes, in_order=last)

    def load(base: indices.Base, number: int = 0, mask: ir.Value | None = None) -> list[RegisterValue]:
        """A vector of the group that begins at the base: by offsets, of which positions are made in one step."""
        offsets = tuple(range(number * lanes, (number + 1) * lanes))
        place = Offsets(base, offsets) if lanes > 1 else Affine(indices.add_base(builder, base, number))
        full = tuple(place if d == last else index[d] for d in range(len(dimensions)))
        return reduction.elements(builder, full, lanes, mask)

    def load_group(base: indices.Base) -> list[list[RegisterValue]]:
        return [load(base, number) for number in range(vectors)]

    def whole(base: ir.Value, carried: list[RegisterValue]) -> list[RegisterValue]:
        partials = zip(in_groups(carried, reduction.count), load_group(base))
        return [value for partial, elements in partials for value in fold.step(partial, elements)]

    done = size // group * group
    start, stop, most = 0, done, done
    if is_divided(reduction, last):
        start, stop, most = piece_bounds(builder, size // group)
        start, stop = (indices.multiply_base(builder, base, group) for base in (start, stop))
    first = [value for elements in load_group(start) for value in elements]
    second = indices.add_base(builder, start, group)
    partials = in_groups(carried_loop(builder, second, stop, group, first, whole, "row", most), reduction.count)
    (partial,) = _merged_in_pairs(fold, partials)

    def rest() -> list[RegisterValue]:
        end = size // lanes * lanes
        through = carried_loop(
            builder, done, end, lanes, partial, lambda base, partial: fold.step(partial, load(base)), "vector"
        )
        if end == size:
            return through
        mask = tail_mask(lanes, size - end)
        others = fold.step(through, load(end, mask=mask))
        return [_select(builder, mask, new, old) for new, old in zip(others, through)]

    if done == size:
        return partial
    return list(in_last_piece(builder, partial, rest)) if is_divided(reduction, last) else rest()


def _merged_in_pairs(fold: Fold, states: list[list[RegisterValue]]) -> list[list[RegisterValue]]:
    while len(states) > 1:
        pairs = zip(states[::2], states[1::2])
        states = [*[fold.merged(one, other) for one, other in pairs], *states[len(states) // 2 * 2 :]]
    return states


def _vector_row(
    builder: ir.IRBuilder,
    target: Target,
    reduction: Reduction,
    fixed: dict[int, Component],
) -> list[RegisterValue]:
    """Reduce one row, in lanes."""
    dimensions, last = reduction.dimensions, len(reduction.dimensions) - 1
    size, identity = dimensions[last], identity_of(reduction)
    counted = CountedLanes.of(target, reduction, size)
    lanes = row_lanes(target, reduction) if counted is None else counted.lanes
    element_type, result_lanes = reduction.operands[0].shape.element_type, _result_lanes(target, reduction)
    neutral = splat_identity(element_type, identity, result_lanes)
    outer_reduced = [d for d in reduction.reduced if d != last]
    compensated = is_sum_of_floats(reduction) and reduction.reduced_count // (lanes * PARTIAL_VECTORS) > BLOCK_STEPS
    # An element that is not the identity leaves no other result.
    decidable = is_decided_early(reduction.to_apply, reduction.operands[0], reduction.reduced, identity)

    fold = Fold(builder, reduction, result_lanes)

    def load(index: dict[int, Component], component: Component, mask: ir.Value | None = None) -> RegisterValue:
        full = tuple(component if d == last else index[d] for d in range(len(dimensions)))
        if counted is not None:
            return counted.count(builder, reduction, full, mask)
        (value,) = reduction.elements(builder, full, lanes, mask)
        return value if mask is None else _select(builder, mask, value, neutral)

    wide = result_lanes > 1 and calls_on_vectors(builder.module, reduction.producers)

    def load_group(index: dict[int, Component], base: indices.Base) -> list[RegisterValue]:
        """PARTIAL_VECTORS vectors next to each other."""
        if wide:
            full = tuple(Affine(base, 1) if d == last else index[d] for d in range(len(dimensions)))
            (value,) = reduction.elements(builder, full, PARTIAL_VECTORS * lanes)
            return [vector_part(builder, value, k * lanes, lanes) for k in range(PARTIAL_VECTORS)]
        step = 1 if lanes > 1 else 0
        return [load(index, Affine(indices.add_base(builder, base, k * lanes), step)) for k in range(PARTIAL_VECTORS)]

    stop = reduction.stops.get(last)

    def up_to(size: int, start: indices.Base = 0) -> indices.Base:
        """The end of so many elements behind the start, or in front of it where the row stops."""
        return size if stop is None else indices.least(builder, builder.sub(stop, indices.i64(start)), size)

    def block(index: dict[int, Component], start: indices.Base, steps: int) -> list[RegisterValue]:
        """The combination of ``steps`` groups of PARTIAL_VECTORS vectors."""
        stride = PARTIAL_VECTORS * lanes

        def iteration(number: ir.Value, states: list[RegisterValue]) -> list[RegisterValue]:
            elements = load_group(index, indices.add_base(builder, number, start))
            return [
                value
                for state, element in zip(in_groups(states, fold.width), elements)
                for value in fold.step(state, [element])
            ]

        end = up_to(steps * stride, start)
        begin = fold.begin([neutral]) * PARTIAL_VECTORS
        states = carried_loop(builder, 0, end, stride, begin, iteration, "row", steps * stride)
        return _merged_in_pairs(fold, in_groups(states, fold.width))[0]

    def accumulate(state: list[RegisterValue], part: list[RegisterValue]) -> list[RegisterValue]:
        return add_with_error(builder, *state, *part) if compensated else fold.merged(state, part)

    group, divides = PARTIAL_VECTORS * lanes, is_divided(reduction, last)

    def row(index: dict[int, Component], state: list[RegisterValue]) -> list[RegisterValue]:
        if not decidable or divides or size <= group:
            return rest_of_row(index, state, 0)
        state = accumulate(state, block(index, 0, 1))
        return replaced_if(builder, are_all(builder, state[0], neutral), state, lambda: rest_of_row(index, state, group))

    def rest_of_row(index: dict[int, Component], state: list[RegisterValue], done: int) -> list[RegisterValue]:
        blocks_wanted = _DIVIDED_BLOCKS if divides else 1
        steps = BLOCK_STEPS if compensated else max(1, (size - done) // (group * blocks_wanted))
        if decidable:
            steps = max(1, min(steps, DECIDED_AFTER // (group * element_type.byte_size)))
        blocks = (size - done) // (steps * group)
        if blocks:

            def whole(number: ir.Value, carried: list[RegisterValue]) -> list[RegisterValue]:
                return accumulate(carried, block(index, number, steps))

            end = done + blocks * steps * group
            first, past, most = done, up_to(end), blocks
            if divides:
                first, past, most = piece_bounds(builder, blocks)
                first, past = (indices.multiply_base(builder, base, steps * group) for base in (first, past))
            bounds = first, past, steps * group
            if decidable and blocks > 1:
                search = SearchedLanes.of(target, reduction, size, steps * group)
                if search is None:
                    state = until_decided(builder, neutral, *bounds, state, whole, most)
                else:
                    state = search.run(builder, reduction, index, *bounds, state, whole, most)
            else:
                state = carried_loop(builder, *bounds, state, whole, "block", most if divides else end)
            done = end
        if not divides:
            return last_of_row(index, state, done)
        return list(in_last_piece(builder, state, lambda: last_of_row(index, state, done))) if done < size else state

    def last_of_row(index: dict[int, Component], state: list[RegisterValue], done: int) -> list[RegisterValue]:
        """What is left of the row behind the blocks."""
        groups = (size - done) // group
        if groups:
            state = accumulate(state, block(index, done, groups))
            done += groups * group
        singles = (size - done) // lanes
        if singles:

            def single(number: ir.Value, carried: list[RegisterValue]) -> list[RegisterValue]:
                return accumulate(carried, fold.begin([load(index, Affine(number, 1 if lanes > 1 else 0))]))

            end = done + singles * lanes
            state = carried_loop(builder, done, up_to(end), lanes, state, single, "vector", end)
            done += singles * lanes
        if done < size:
            state = accumulate(state, fold.begin([load(index, Affine(done, 1), tail_mask(lanes, size - done))]))
        return state

    state = [neutral, splat_identity(element_type, 0.0, lanes)] if compensated else fold.begin([neutral])
    state = reduce_loops(builder, reduction, outer_reduced, fixed, state, row)
    return [finish_compensation(builder, *state)] if compensated else fold.finish(state)


def _select(builder: ir.IRBuilder, mask: ir.Value, value: RegisterValue, otherwise: RegisterValue) -> RegisterValue:
    if isinstance(value, ComplexValue):
        return ComplexValue(*(builder.select(mask, v, o) for v, o in zip(value, otherwise)))
    return builder.select(mask, value, otherwise)
