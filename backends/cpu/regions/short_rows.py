"""The reduction of short rows: many at once, each lane has the result of its own row.

The rows are read as they lie and turned in registers, so that what is combined are vectors of their first elements, of their
second ones, and so on; no lanes are left to be combined at the end. Where an identity fills the vectors up, elements of a row
are combined with each other while they are turned, which halves the registers that are left to be turned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from itertools import chain

from llvmlite import ir

from ....hlo import PRED, U8, Instruction
from ...llvm import index as indices
from ...llvm.arrays import LARGEST_STEP, Array, lanes_constant
from ...llvm.elemental import ElementalEmitter
from ...llvm.elementary_calls import calls_on_vectors
from ...llvm.index import Affine, Index
from ...llvm.pieces import independent_loops
from ...llvm.reductions import (
    Fold,
    Reduction,
    Store,
    extremum_of_floats,
    identity_of,
    splat_identity,
    stops_of_kept,
)
from ...llvm.types import I1, RegisterValue, broadcast_lanes, from_memory, to_memory
from ..nest_samples import combining, samples
from ..target import Target
from ..vectors import VectorLoop, lanes_of, tail_mask
from .transpose import LARGEST_TILE, interleaved, turned

# Longer rows fill several vectors by themselves.
_MOST_VECTORS = 2
# The code for an element stands there as often as it takes to turn a tile.
_MOST_INSTRUCTIONS = 12


def has_short_rows(builder: ir.IRBuilder, target: Target, reduction: Reduction) -> bool:
    """Whether a reduction is one of many short rows, and little is done for an element."""
    dimensions, last = reduction.dimensions, len(reduction.dimensions) - 1
    if reduction.reduced != (last,) or last == 0 or reduction.divided or last in reduction.stops:
        return False
    size, rows, lanes = dimensions[last], dimensions[last - 1], _lanes(target, reduction)
    return (
        1 < lanes <= rows
        and 1 < size <= max(LARGEST_STEP, _MOST_VECTORS * lanes)
        and len(reduction.producers.instructions) <= _MOST_INSTRUCTIONS
        and not calls_on_vectors(builder.module, reduction.producers)
    )


def _lanes(target: Target, reduction: Reduction) -> int:
    """The lanes, of different rows."""
    *_, rows, size = reduction.dimensions
    if size <= LARGEST_STEP:
        return lanes_of(target, reduction, rows)
    return min(LARGEST_TILE, lanes_of(target, reduction, size))


@samples(
    """
    x = f32[5,100,3] parameter(0)
    zero = f32[] constant(0)
    ROOT sum = f32[5,100] reduce(x, zero), dimensions={2}, to_apply=add_f32
    """,
    """
    x = f64[1000,10] parameter(0)
    init = f64[] parameter(1)
    ROOT most = f64[1000] reduce(x, init), dimensions={1}, to_apply=maximum_f64
    """,
    calls=combining("add", "f32[]") + combining("maximum", "f64[]"),
)
def emit_short_rows(builder: ir.IRBuilder, target: Target, reduction: Reduction, store: Store) -> None:
    dimensions, last, kept = reduction.dimensions, len(reduction.dimensions) - 1, reduction.kept
    lanes = _lanes(target, reduction)
    fold = Fold(builder, reduction, lanes, in_order=last)
    init = [broadcast_lanes(builder, value, lanes) for value in reduction.init_values]
    halves = _is_combined_while_turned(reduction)
    with independent_loops(builder, [dimensions[d] for d in kept[:-1]], stops_of_kept(reduction, kept[:-1])) as outer:

        def rows(component: Affine, lanes: int, mask: ir.Value | None) -> None:
            def elements(operand: Instruction) -> list[RegisterValue]:
                return _elements(builder, reduction, operand, (*outer, component), lanes)

            if halves:
                state = _combined_while_turned(builder, reduction, fold, (*outer, component), lanes)
            else:
                first, *others = zip(*map(elements, reduction.operands))
                state = fold.begin(list(first))
                for following in others:
                    state = fold.step(state, list(following))
            store((*outer, component), reduction.combine(builder, init, fold.finish(state), lanes), lanes, mask)

        loop = VectorLoop(builder, lanes, in_place=False, independent=True)
        loop.emit(dimensions[last - 1], rows, reduction.stops.get(last - 1))


def _is_combined_while_turned(reduction: Reduction) -> bool:
    """Whether what is carried is one number, and an identity takes the place of elements that rows have not."""
    is_turned = reduction.dimensions[-1] > LARGEST_STEP and reduction.operands[0].opcode != "iota"
    if not is_turned or reduction.count > 1 or identity_of(reduction) is None or extremum_of_floats(reduction) is not None:
        return False
    element_type = reduction.operands[0].shape.element_type
    return element_type is not PRED and not element_type.is_complex


def _combined_while_turned(
    builder: ir.IRBuilder, reduction: Reduction, fold: Fold, rows: Index, lanes: int
) -> list[RegisterValue]:
    """The results of so many rows, as `turned`, of which each stage makes two lines of two; here these are made one.

    There is no first stage, since half a vector of one row and half a one of another are loaded beside each other.
    """
    (operand,), size, half = reduction.operands, reduction.dimensions[-1], lanes // 2
    neutral = splat_identity(operand.shape.element_type, identity_of(reduction), lanes)
    line, both = _lines(builder, reduction, operand, rows, half), lanes_constant(range(lanes))

    def merged(one: RegisterValue, other: RegisterValue) -> RegisterValue:
        return fold.merged([one], [other])[0]

    def two_rows(number: int) -> RegisterValue:
        starts = range(0, size, half)
        parts = [builder.shuffle_vector(line(number, start), line(number + half, start), both) for start in starts]
        if size % half:
            given = ir.Constant(ir.VectorType(I1, lanes), [I1(int(lane % half < size % half)) for lane in range(lanes)])
            parts[-1] = builder.select(given, parts[-1], neutral)
        return reduce(merged, parts)

    lines = [two_rows(number) for number in range(half)]
    while len(lines) > 1:
        pairs = zip(lines[: len(lines) // 2], lines[len(lines) // 2 :])
        lines = [merged(*interleaved(builder, *pair, lanes=half)) for pair in pairs]
    return lines


def _elements(
    builder: ir.IRBuilder, reduction: Reduction, operand: Instruction, rows: Index, lanes: int
) -> list[RegisterValue]:
    """The elements of so many rows, a vector for each of their positions in the row.

    Truth values are turned as the bytes that they are in memory.
    """
    size, element_type = reduction.dimensions[-1], operand.shape.element_type
    emitter = ElementalEmitter(builder, lanes, reduction.bindings)
    if size <= LARGEST_STEP or operand.opcode == "iota":
        return [emitter.emit(operand, (*rows, Affine(position))) for position in range(size)]
    line = _lines(builder, reduction, operand, rows, lanes)

    def tile(start: int) -> list[RegisterValue]:
        lines = turned(builder, [line(number, start) for number in range(lanes)])
        return [from_memory(builder, element_type, value) for value in lines] if element_type is PRED else lines

    return list(chain.from_iterable(map(tile, range(0, size, lanes))))[:size]


def _lines(
    builder: ir.IRBuilder, reduction: Reduction, operand: Instruction, rows: Index, lanes: int
) -> Callable[[int, int], RegisterValue]:
    """What gives a vector of the elements of a row from one on, of the row with a number among the rows."""
    size, element_type = reduction.dimensions[-1], operand.shape.element_type
    emitter = ElementalEmitter(builder, lanes, reduction.bindings)
    (*outer, first), array = rows, reduction.bindings.get(operand)

    def line(number: int, start: int) -> RegisterValue:
        mask = tail_mask(lanes, size - start) if start + lanes > size else None
        place = (*outer, Affine(indices.add_base(builder, first.base, number)), Affine(start, 1))
        if element_type is not PRED:
            return emitter.emit(operand, place, mask)
        if isinstance(array, Array):
            return replace(array, shape=array.shape.with_element_type(U8)).load(builder, place, lanes, mask)
        return to_memory(builder, element_type, emitter.emit(operand, place, mask))

    return line
