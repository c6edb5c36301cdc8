"""The reduction of rows: the vector dimension is reduced, in lanes that are combined at the end."""

from __future__ import annotations

from functools import partial
from math import prod

from llvmlite import ir

from ...llvm import index as indices
from ...llvm.arrays import Array, stack_array
from ...llvm.builder import Builder
from ...llvm.elementary_calls import calls_on_vectors
from ...llvm.index import Affine, Base, Component, Offsets
from ...llvm.loops import carried_loop, counted_loop
from ...llvm.module import Module, SharedFunction, align_stack, declared
from ...llvm.pieces import in_last_piece, in_one_piece, independent_loop, independent_loops, piece_bounds
from ...llvm.reductions import (
    Fold,
    Reduction,
    Store,
    identity_of,
    in_groups,
    is_divided,
    reduce_loops,
    stops_of_kept,
)
from ...llvm.types import POINTER, RegisterValue, broadcast_lanes, register_type, selected
from ..nest_samples import samples
from ..target import WIDEST_VECTOR_BYTES, Target
from ..vectors import VectorLoop, combined_lanes, tail_mask
from .row_extrema import RowExtremum
from .row_truth_words import TruthWords
from .row_truths import CountedLanes, is_decided_early
from .rows_in_lanes import PARTIAL_VECTORS, merged_in_pairs, reduced_rows, result_lanes, row_lanes
from .short_rows import emit_short_rows, has_short_rows
from .transpose import LARGEST_TILE, folded

# So many rows are taken at once, by the number of registers, where they share what they are combined with, which is loaded once
# for all of them then: their partial results take half of the registers. There are as many groups of them, at least.
_ROWS_AT_ONCE = {32: 4, 16: 2}
_LEAST_GROUPS = 8
_MOST_INSTRUCTIONS = 12
# Many rows are so many times those that make a tile; of rows that take so many bytes the end does not matter.
_MANY_TILES = 8
_LONG_ROW_BYTES = 16 << 10
# Fewer lines are combined in so few steps that a call of a function counts.
_LEAST_CALLED_LINES = 16


@samples(
    # No identity is known.
    """
    x = s32[4,33] parameter(0)
    init = s32[] parameter(1)
    ROOT largest = s32[4] reduce(x, init), dimensions={1}, to_apply=larger
    """,
    calls="""larger {
      x = s32[] parameter(0)
      y = s32[] parameter(1)
      m = s32[] abs(x)
      n = s32[] abs(y)
      ROOT z = s32[] maximum(m, n)
    }""",
)
def emit_rows(builder: ir.IRBuilder, target: Target, reduction: Reduction, store: Store) -> None:
    words = TruthWords.of(target, reduction)
    if words is not None:
        words.emit(builder, reduction, store)
        return
    if has_short_rows(builder, target, reduction):
        emit_short_rows(builder, target, reduction, store)
        return
    dimensions, kept = reduction.dimensions, reduction.kept
    if _has_many_rows(target, reduction):
        _emit_many_rows(builder, target, reduction, store)
        return
    at_once = _rows_at_once(builder, target, reduction)
    if at_once > 1 and dimensions[kept[-1]] >= _LEAST_GROUPS * at_once:
        _emit_rows_at_once(builder, target, reduction, at_once, store)
        return
    with independent_loops(builder, [dimensions[d] for d in kept], stops_of_kept(reduction)) as outer:
        fixed = dict(zip(kept, outer))
        if reduction.reduced:
            totals = _row(builder, target, reduction, fixed)
        else:
            index = tuple(fixed[d] for d in range(len(dimensions)))
            totals = reduction.combine(builder, reduction.init_values, reduction.elements(builder, index, 1), 1)
        store(outer, totals, 1, None)


def _rows_at_once(builder: ir.IRBuilder, target: Target, reduction: Reduction) -> int:
    """How many rows are taken at once, next to each other along the last dimension that is kept."""
    dimensions, producers, last = reduction.dimensions, reduction.producers, len(reduction.dimensions) - 1
    if not reduction.kept or reduction.divided or {reduction.kept[-1], last} & set(reduction.stops):
        return 1
    # What has fewer elements than there are may be the same in all rows.
    shares = any(p.shape.rank and p.shape.size < prod(dimensions) for p in producers.parameters)
    if not shares or len(producers.instructions) > _MOST_INSTRUCTIONS or calls_on_vectors(builder.module, producers):
        return 1
    identity = identity_of(reduction)
    if identity is None or Fold(builder, reduction, 1).width > 1 or reduction.operands[0].shape.element_type.is_complex:
        return 1
    is_decided = is_decided_early(reduction.to_apply, reduction.operands[0], reduction.reduced, identity)
    if is_decided or CountedLanes.of(target, reduction, dimensions[last]) is not None or row_lanes(target, reduction) == 1:
        return 1
    return _ROWS_AT_ONCE[target.vector_registers]


def _emit_rows_at_once(builder: ir.IRBuilder, target: Target, reduction: Reduction, at_once: int, store: Store) -> None:
    kept = reduction.kept
    along = kept[-1]
    whole, rest = divmod(reduction.dimensions[along], at_once)
    with independent_loops(builder, [reduction.dimensions[d] for d in kept[:-1]], stops_of_kept(reduction, kept[:-1])) as outer:
        fixed = dict(zip(kept[:-1], outer))

        def rows(first: Base, count: int) -> None:
            places = [Affine(indices.add_base(builder, first, number)) for number in range(count)]
            for place, lanes in zip(places, reduced_rows(builder, target, reduction, fixed, [{along: p} for p in places])):
                store((*outer, place), _of_whole_row(builder, target, reduction, lanes), 1, None)

        with independent_loop(builder, whole) as number:
            rows(indices.multiply_base(builder, number, at_once), at_once)
        if rest:
            with in_one_piece(builder):
                rows(whole * at_once, rest)


def _of_whole_row(
    builder: ir.IRBuilder, target: Target, reduction: Reduction, lanes: list[RegisterValue]
) -> list[RegisterValue]:
    """The results of a row, of those in its lanes."""
    totals = combined_lanes(builder, lanes, result_lanes(target, reduction), partial(reduction.combine, builder))
    return totals if reduction.divided else reduction.combine(builder, reduction.init_values, totals, 1)


def _row(builder: ir.IRBuilder, target: Target, reduction: Reduction, fixed: dict[int, Component]) -> list[RegisterValue]:
    """The results of one row."""
    init, last = reduction.init_values, len(reduction.dimensions) - 1
    if identity_of(reduction) is not None:
        (lanes,) = reduced_rows(builder, target, reduction, fixed)
        return _of_whole_row(builder, target, reduction, lanes)

    def row(index: dict[int, Component], so_far: list[RegisterValue]) -> list[RegisterValue]:
        lanes = _row_of_elements(builder, target, reduction, index)
        totals = combined_lanes(builder, lanes, result_lanes(target, reduction), partial(reduction.combine, builder))
        return totals if reduction.divided else reduction.combine(builder, so_far, totals, 1)

    return reduce_loops(builder, reduction, [d for d in reduction.reduced if d != last], fixed, init, row)


def _has_many_rows(target: Target, reduction: Reduction) -> bool:
    """Whether there are many rows that are not so long that it does not matter what is done at the end of one."""
    dimensions, last = reduction.dimensions, len(reduction.dimensions) - 1
    if reduction.reduced != (last,) or last == 0 or last - 1 in reduction.stops or reduction.divided:
        return False
    lanes, row_bytes = result_lanes(target, reduction), dimensions[last] * reduction.operands[0].shape.element_type.byte_size
    return 1 < lanes <= LARGEST_TILE and dimensions[last - 1] >= _MANY_TILES * lanes and row_bytes <= _LONG_ROW_BYTES


def _emit_many_rows(builder: ir.IRBuilder, target: Target, reduction: Reduction, store: Store) -> None:
    """As many rows at a time as there are lanes: the lanes of all of them are turned, and combined at once."""
    kept, last, lanes = reduction.kept, len(reduction.dimensions) - 1, row_lanes(target, reduction)
    at_once = min(lanes, _rows_at_once(builder, target, reduction))
    init = [broadcast_lanes(builder, value, lanes) for value in reduction.init_values]
    lines = [stack_array(builder, operand.shape.with_dimensions((lanes, lanes))) for operand in reduction.operands]

    def several(fixed: dict[int, Component], places: list[dict[int, Component]]) -> list[list[RegisterValue]]:
        if identity_of(reduction) is None:
            return [_row_of_elements(builder, target, reduction, {**fixed, **place}) for place in places]
        return reduced_rows(builder, target, reduction, fixed, places)

    with independent_loops(builder, [reduction.dimensions[d] for d in kept[:-1]], stops_of_kept(reduction, kept[:-1])) as outer:

        def rows(component: Affine, lanes: int, mask: ir.Value | None) -> None:
            with counted_loop(builder, lanes // at_once, "line") as number:
                first = indices.multiply_base(builder, number, at_once)
                numbers = [indices.add_base(builder, first, line) for line in range(at_once)]
                places = [Affine(indices.add(builder, component, line).base) for line in numbers]
                for line, totals in zip(numbers, several(dict(zip(kept[:-1], outer)), [{kept[-1]: p} for p in places])):
                    for array, value in zip(lines, totals):
                        array.store(builder, (Affine(line), Affine(0, 1)), value, lanes)
            totals = reduction.combine(builder, init, _folded_lines(builder, reduction, lines), lanes)
            store((*outer, component), totals, lanes, mask)

        VectorLoop(builder, lanes, in_place=False, independent=True).emit(reduction.dimensions[last - 1], rows)


def _folded_lines(builder: ir.IRBuilder, reduction: Reduction, lines: list[Array]) -> list[RegisterValue]:
    """The elements of each line combined, a line a lane, by a function of all programs where that is one operation."""
    lanes, applied = lines[0].shape.dimensions[0], reduction.to_apply

    def fold(builder: ir.IRBuilder, lines: list[Array]) -> list[RegisterValue]:
        loaded = [[array.load(builder, (Affine(n), Affine(0, 1)), lanes) for n in range(lanes)] for array in lines]
        return folded(
            builder, [list(line) for line in zip(*loaded)], lambda *values: reduction.combine(builder, *values, lanes)
        )

    element_type = lines[0].shape.element_type
    is_usual = applied.combining_operation is not None and applied.root.operands == applied.parameters
    is_shared = is_usual and not applied.root.attributes and (element_type.is_float or element_type.is_integer)
    if not is_shared or lanes < _LEAST_CALLED_LINES or not isinstance(builder.module, Module):
        return fold(builder, lines)

    def define(function: ir.Function) -> None:
        align_stack(function, WIDEST_VECTOR_BYTES)
        inside = Builder(function.append_basic_block("entry"))
        (total,) = fold(inside, [Array(function.args[0], lines[0].shape)])
        inside.ret(total)

    kind = ir.FunctionType(register_type(element_type, lanes), [POINTER])
    name = f"phlox.fold.{applied.root.opcode}.{lanes}.{element_type}"
    return [builder.call(declared(builder.module, SharedFunction(name, kind, define)), [lines[0].pointer])]


def _row_of_elements(
    builder: ir.IRBuilder, target: Target, reduction: Reduction, index: dict[int, Component]
) -> list[RegisterValue]:
    """As reduced_rows of one, where no identity is known: the partial results begin as elements."""
    extremum = RowExtremum.of(target, reduction)
    if extremum is not None:
        return extremum.find(builder, reduction, index)
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
    (partial,) = merged_in_pairs(fold, partials)

    def rest() -> list[RegisterValue]:
        end = size // lanes * lanes
        through = carried_loop(
            builder, done, end, lanes, partial, lambda base, partial: fold.step(partial, load(base)), "vector"
        )
        if end == size:
            return through
        mask = tail_mask(lanes, size - end)
        others = fold.step(through, load(end, mask=mask))
        return [selected(builder, mask, new, old) for new, old in zip(others, through)]

    if done == size:
        return partial
    return list(in_last_piece(builder, partial, rest)) if is_divided(reduction, last) else rest()
